;;; eglot_client.el --- Drives Eglot against `marvin lsp' -*- lexical-binding: t; -*-

;; Without a plugin, as a person would; writes what came of it to a file, as one line of JSON.
;; Usage, on a terminal: emacs -nw -Q -l eglot_client.el MARVIN FILE RESULT

;;; Code:

(require 'eglot)
(require 'cl-lib)

(setq eglot-confirm-server-edits nil
      eglot-events-buffer-config '(:size 0)
      make-backup-files nil
      create-lockfiles nil
      use-short-answers t)

(defvar eglot-client-arguments command-line-args-left)
(setq command-line-args-left nil)
(defvar eglot-client-pages nil "Buffers of pages that were read.")

(defun eglot-client-leave (result)
  "Write RESULT down and end Emacs."
  (write-region (concat (json-serialize result) "\n") nil (nth 2 eglot-client-arguments) nil 'silent)
  (set-buffer-modified-p nil)
  (kill-emacs 0))

(defun eglot-client-wait (what condition)
  "Let Emacs go on until CONDITION gives a value, and give it; WHAT is awaited."
  (let ((deadline (+ (float-time) 60)) value)
    (while (not (setq value (funcall condition)))
      (when (> (float-time) deadline)
        (eglot-client-leave (list :missing what
                                  :messages (with-current-buffer "*Messages*" (buffer-string)))))
      (sit-for 0.6))
    value))

(defun eglot-client-act (title)
  "Choose the code action TITLE at point."
  (let* ((actions (eglot-code-actions (line-beginning-position) (line-end-position)))
         (action (cl-find title actions :test #'equal :key (lambda (each) (plist-get each :title)))))
    (eglot-execute (eglot-current-server) action)))

(defun eglot-client-page (what)
  "The text of a page that was not there before; WHAT is awaited."
  (let ((page (eglot-client-wait
               what (lambda ()
                      (cl-find-if (lambda (buffer)
                                    (and (buffer-file-name buffer)
                                         (not (memq buffer eglot-client-pages))
                                         (get-buffer-window buffer)
                                         (string-suffix-p ".md" (buffer-file-name buffer))))
                                  (buffer-list))))))
    (push page eglot-client-pages)
    (string-trim (with-current-buffer page (buffer-string)))))

(defun eglot-client-run ()
  "What a person does."
  (pcase-let* ((`(,marvin ,file ,_) eglot-client-arguments)
               (eglot-server-programs `(((text-mode prog-mode) . (,marvin "lsp"))))
               (result nil) (code nil) (before nil))
    (setq code (find-file file))
    (python-mode)
    (call-interactively #'eglot)
    (eglot-client-wait "the server" #'eglot-current-server)
    (search-forward "result -= price")
    (eglot-client-act "Marvin: Explain")
    (setq result (plist-put result :explained (eglot-client-page "the explanation")))
    ;; What was typed and not saved is what Marvin works on.
    (with-current-buffer code
      (save-excursion
        (goto-char (point-min))
        (search-forward "wants to buy")
        (replace-match "buys"))
      (undo-boundary)
      (setq before (buffer-string))
      (eglot-client-act "Marvin: Fix")
      (eglot-client-wait "the fix" (lambda () (not (equal before (buffer-string)))))
      (setq result (plist-put result :fixed (buffer-string)))
      (setq result (plist-put result :saved (if (buffer-modified-p) :false t)))
      (undo-boundary)
      (let ((last-command nil)) (undo))
      (setq result (plist-put result :undone (if (equal before (buffer-string)) t :false)))
      (undo-boundary)
      (let ((last-command nil)) (undo-redo))
      (save-buffer)
      (eglot-client-act "Marvin: Commit message"))
    (setq result (plist-put result :message (eglot-client-page "the commit message")))
    (eglot-client-leave result)))

(run-with-timer
 0.1 nil
 (lambda ()
   (condition-case problem
       (eglot-client-run)
     (error (eglot-client-leave (list :failed (error-message-string problem)
                                      :messages (with-current-buffer "*Messages*" (buffer-string))))))))

;;; eglot_client.el ends here
