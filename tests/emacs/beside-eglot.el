;;; beside-eglot.el --- Marvin beside Eglot and a real language server  -*- lexical-binding: t; -*-

;;; Code:

(require 'eglot)
(load (expand-file-name "beside.el" (file-name-directory load-file-name)))

(setq eglot-server-programs `((python-mode . ,beside-language-server))
      eglot-events-buffer-config '(:size 0)
      eglot-confirm-server-edits nil)

(defun beside-eglot-names ()
  "The functions that the language server finds, in the lines in which the buffer has them."
  (eglot--signal-textDocument/didChange)
  (let ((found (append (jsonrpc-request (eglot-current-server) :textDocument/documentSymbol
                                        (list :textDocument (eglot--TextDocumentIdentifier)))
                       nil)))
    (mapcar (lambda (symbol)
              (let* ((name (plist-get symbol :name))
                     (range (or (plist-get symbol :selectionRange) (plist-get (plist-get symbol :location) :range))))
                (should (equal (1+ (plist-get (plist-get range :start) :line))
                               (save-excursion
                                 (goto-char (point-min))
                                 (search-forward (format "def %s" name))
                                 (line-number-at-pos))))
                name))
            (sort found (lambda (one other)
                          (< (beside-eglot-line one) (beside-eglot-line other)))))))

(defun beside-eglot-line (symbol)
  "The line of SYMBOL."
  (plist-get (plist-get (or (plist-get symbol :range) (plist-get (plist-get symbol :location) :range)) :start) :line))

(ert-deftest marvin-eglot-and-marvin-have-the-same-text-and-eglot-gives-symbols ()
  (driving-in-repository
    (let ((code (driving-open "shop/basket.py")))
      (with-current-buffer code
        (python-mode)
        (call-interactively #'eglot)
        (driving-wait "Eglot" #'eglot-current-server))
      (unwind-protect
          (progn
            (beside-both code #'beside-eglot-names)
            (with-current-buffer code
              ;; An edit of the language server's is one that Marvin sees.
              (goto-char (point-min))
              (search-forward "def by_person")
              (eglot-rename "by_somebody")
              (should (equal (beside-eglot-names) '("total" "by_marvin" "by_somebody")))
              (should (equal (beside-marvins-text code) (buffer-string)))
              (should-not imenu--index-alist)
              (let (found)
                (marvin-symbol-find (marvin-current-server) "by_" (lambda (symbols) (setq found symbols)))
                (driving-wait "the symbols" (lambda () found))
                (should (equal (sort (mapcar #'marvin-symbol-name found) #'string<) '("by_marvin" "by_somebody")))
                (let ((object (marvin-symbol-object (car (sort found (lambda (one other)
                                                                      (string< (marvin-symbol-name one)
                                                                               (marvin-symbol-name other))))))))
                  (should (equal (plist-get (plist-get (plist-get object :range) :start) :line)
                                 (save-excursion (goto-char (point-min)) (search-forward "def by_marvin")
                                                 (1- (line-number-at-pos)))))))))
        (with-current-buffer code (eglot-shutdown (eglot-current-server)))))))

;;; beside-eglot.el ends here
