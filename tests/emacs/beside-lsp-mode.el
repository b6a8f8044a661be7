;;; beside-lsp-mode.el --- Marvin beside lsp-mode and a real language server  -*- lexical-binding: t; -*-

;;; Code:

(dolist (package (file-expand-wildcards (expand-file-name "../../site-lisp/elpa-src/*" data-directory)))
  (add-to-list 'load-path package))
(require 'lsp-mode)
(load (expand-file-name "beside.el" (file-name-directory load-file-name)))

(setq lsp-auto-guess-root t lsp-enable-snippet nil lsp-enable-file-watchers nil lsp-keep-workspace-alive nil
      lsp-session-file (expand-file-name "lsp-session" "~") lsp-server-install-dir (expand-file-name "lsp-servers" "~")
      lsp-auto-configure nil lsp-client-packages nil lsp-restart 'ignore)
(lsp-register-client
 (make-lsp-client :new-connection (lsp-stdio-connection beside-language-server)
                  :major-modes '(python-mode) :server-id 'beside :priority 9))

(defun beside-lsp-mode-names ()
  "The functions that the language server finds, in their order."
  (let ((found (append (lsp-request "textDocument/documentSymbol"
                                    (list :textDocument (list :uri (lsp--buffer-uri))))
                       nil)))
    (mapcar #'car
            (sort (mapcar (lambda (symbol)
                            (cons (gethash "name" symbol)
                                  (gethash "line" (gethash "start" (gethash "range" (or (gethash "location" symbol)
                                                                                       symbol))))))
                          found)
                  (lambda (one other) (< (cdr one) (cdr other)))))))

(ert-deftest marvin-lsp-mode-and-marvin-have-the-same-text ()
  (driving-in-repository
    (let ((code (driving-open "shop/basket.py")))
      (with-current-buffer code
        (python-mode)
        (lsp)
        (driving-wait "lsp-mode" (lambda () (and (lsp-workspaces)
                                                 (eq 'initialized (lsp--workspace-status (car (lsp-workspaces))))))))
      (unwind-protect
          (beside-both code #'beside-lsp-mode-names)
        (with-current-buffer code (lsp-workspace-shutdown (car (lsp-workspaces))))))))

;;; beside-lsp-mode.el ends here
