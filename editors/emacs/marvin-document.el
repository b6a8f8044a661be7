;;; marvin-document.el --- Documents that the server sees  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The buffers of a project in which Marvin is on, told to its server as LSP has it, beside whatever Eglot or lsp-mode
;; tell theirs.

;;; Code:

(require 'marvin-client)

(defconst marvin-document--most-changes 50
  "With more changes than these at once the whole text is told.")

(defconst marvin-document--most-characters 5000000
  "A buffer with more text than this is not told: its file is read instead.")

(defvar-local marvin-document--server nil "The server that knows this buffer.")
(defvar-local marvin-document--path nil "The file under whose name it knows it.")
(defvar-local marvin-document--version 0 "The version that it was told last; it never gets smaller.")
(defvar-local marvin-document--changes nil
  "Changes not yet told, the latest first.
`whole' when the whole text is to be told.")
(defvar-local marvin-document--before nil
  "The change that is about to happen: (BEG END START END-POSITION).")
(defvar-local marvin-document--tick 0 "What `buffer-chars-modified-tick' was after the last change that was heard of.")
(defvar-local marvin-document--timer nil "The timer that will tell the changes.")

(defconst marvin-document--variables
  '(marvin-document--server marvin-document--path marvin-document--version marvin-document--changes
    marvin-document--before marvin-document--tick marvin-document--timer)
  "The variables of a buffer that is a document.")

(defconst marvin-document--hooks
  ;; Other hooks may change the text, and no hook tells of that: ours are the last before a change and the first after it.
  '((before-change-functions marvin-document--before-change 95) (after-change-functions marvin-document--after-change -95)
    (after-save-hook marvin-document--saved) (after-revert-hook marvin-document--reverted)
    (after-set-visited-file-name-hook marvin-document--renamed) (kill-buffer-hook marvin-document-close)
    (clone-indirect-buffer-hook marvin-document--cloned))
  "The hooks of a buffer that is a document, with their functions and depths.")

(dolist (variable marvin-document--variables)
  (put variable 'permanent-local t))
(dolist (hook marvin-document--hooks)
  (put (cadr hook) 'permanent-local-hook t))

(cl-defmethod marvin-capabilities ((_what (eql 'textDocument)))
  "Saving is told."
  '(:synchronization (:didSave t)))

;;; Opening and closing

(defun marvin-document-known-p ()
  "Whether a server that is ready knows the current buffer."
  (and marvin-document--server (eq (marvin-server-state marvin-document--server) 'ready)))

(defun marvin-document-open ()
  "Tell the current buffer to the server of its project, if there is one."
  (when-let* ((path buffer-file-name)
              (server (and (not (marvin-document-known-p))
                           (not (file-remote-p path))
                           ;; What is encrypted on disk is nobody else's to read.
                           (not (string-match-p epa-file-name-regexp path))
                           enable-multibyte-characters
                           (< (buffer-size) marvin-document--most-characters)
                           (or (marvin-server-of path) (marvin-server-of buffer-file-truename)))))
    (when (eq (marvin-server-state server) 'ready)
      (setq marvin-document--server server
            marvin-document--path (expand-file-name path)
            marvin-document--changes nil
            marvin-document--tick (buffer-chars-modified-tick))
      (cl-incf marvin-document--version)
      (pcase-dolist (`(,hook ,function ,depth) marvin-document--hooks)
        (add-hook hook function depth t))
      (marvin-notify server 'textDocument/didOpen
                     (list :textDocument
                           (list :uri (marvin-document-uri) :languageId (marvin-document--language)
                                 :version marvin-document--version :text (marvin-document--text)))))))

(defun marvin-document-close ()
  "Tell the server that the current buffer is no document of its any more."
  (when marvin-document--server
    (marvin-notify marvin-document--server 'textDocument/didClose
                   (list :textDocument (list :uri (marvin-document-uri)))))
  (marvin-document--forget))

(defun marvin-document--forget ()
  "Leave the current buffer alone from now on."
  (setq marvin-document--server nil)
  (when marvin-document--timer
    (cancel-timer marvin-document--timer)
    (setq marvin-document--timer nil))
  (marvin-document--unhook))

(defun marvin-document--unhook ()
  "Hear no more of the current buffer."
  (pcase-dolist (`(,hook ,function) marvin-document--hooks)
    (remove-hook hook function t)))

(defun marvin-document--cloned ()
  "The current buffer shows the text of another, which alone is the document."
  (mapc #'kill-local-variable marvin-document--variables)
  (marvin-document--unhook))

(defun marvin-document--renamed ()
  "The current buffer visits another file now."
  (marvin-document-close)
  (marvin-document-open))

(defun marvin-documents (server)
  "The buffers that SERVER knows."
  (seq-filter (lambda (buffer) (eq (buffer-local-value 'marvin-document--server buffer) server))
              (buffer-list)))

(defun marvin-document--open-all (server)
  "Tell SERVER, which is ready, all buffers of its project, now and later."
  (add-hook 'find-file-hook #'marvin-document-open)
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (eq marvin-document--server server)
        (marvin-document--forget))
      (marvin-document-open))))

(defun marvin-document--find (uri)
  "The buffer that its server knows by URI, or nil."
  (let ((path (marvin-uri-to-path uri)))
    (seq-find (lambda (buffer)
                (and (buffer-local-value 'marvin-document--server buffer)
                     (equal path (buffer-local-value 'marvin-document--path buffer))))
              (buffer-list))))

(defun marvin-document-uri ()
  "The URI of the current buffer, by which its server knows it."
  (marvin-path-to-uri marvin-document--path))

(defun marvin-document--language ()
  "What LSP calls the language of the current buffer."
  (let ((name (string-remove-suffix "-ts" (string-remove-suffix "-mode" (symbol-name major-mode)))))
    (pcase name
      ("sh" "shellscript")
      ("js" "javascript")
      ((or "emacs-lisp" "lisp-interaction") "elisp")
      ((or "fundamental" "text") "plaintext")
      (_ name))))

;;; Changes

(defun marvin-document--text (&optional beg end)
  "The text of the whole buffer, or from BEG to END; raw bytes become U+FFFD."
  (save-restriction
    (widen)
    (let ((text (buffer-substring-no-properties (or beg (point-min)) (or end (point-max)))))
      (if (string-match-p "[\x3fff80-\x3fffff]" text)
          (replace-regexp-in-string "[\x3fff80-\x3fffff]" "\xfffd" text t t)
        text))))

(defun marvin-document-position (&optional position)
  "The LSP position of POSITION, or point, in the encoding that was agreed."
  (save-excursion
    (save-restriction
      (widen)
      (when position (goto-char position))
      (let* ((position (point)) (beg (marvin-document--line-beginning)))
        (list :line (1- (line-number-at-pos nil t))
              :character (if (marvin-document--utf-16-p)
                             (+ (- position beg) (marvin-document--astral beg position))
                           (- position beg)))))))

(defun marvin-document--line-beginning ()
  "Beginning of the line, fields or not."
  (let ((inhibit-field-text-motion t)) (line-beginning-position)))

(defun marvin-document--utf-16-p ()
  "Whether characters are counted in UTF-16, rather than one by one."
  (and marvin-document--server (equal (marvin-server-encoding marvin-document--server) "utf-16")))

(defun marvin-document--astral (beg end)
  "How many characters between BEG and END take two units of UTF-16."
  (save-excursion
    (goto-char beg)
    (let ((count 0))
      (while (re-search-forward "[\x10000-\x10ffff]" end t)
        (cl-incf count))
      count)))

(defun marvin-document-point (position)
  "The buffer position of the LSP POSITION; the buffer is widened."
  (save-excursion
    (goto-char (point-min))
    (forward-line (plist-get position :line))
    (let* ((inhibit-field-text-motion t) (end (line-end-position)) (left (plist-get position :character)))
      (if (not (marvin-document--utf-16-p))
          (min end (+ (point) left))
        (while (and (> left 0) (< (point) end))
          (setq left (- left (if (> (following-char) #xffff) 2 1)))
          (forward-char))
        (point)))))

(defun marvin-document-range (beg end)
  "The LSP range from BEG to END."
  (list :start (marvin-document-position beg) :end (marvin-document-position end)))

(defun marvin-document-untold-p ()
  "Whether the server was not told all changes of the current buffer.
Where text was changed and no hook said so, as when it is changed in an indirect
buffer, the whole text is to be told."
  (unless (= marvin-document--tick (buffer-chars-modified-tick))
    (setq marvin-document--changes 'whole
          marvin-document--tick (buffer-chars-modified-tick)))
  (and marvin-document--changes t))

(defun marvin-document--before-change (beg end)
  "The text from BEG to END is about to be changed."
  (marvin-document-untold-p)
  (setq marvin-document--before
        (unless (eq marvin-document--changes 'whole)
          (save-match-data
            (list beg end (marvin-document-position beg) (marvin-document-position end))))))

(defun marvin-document--after-change (beg end length)
  "The text from BEG to END has taken the place of LENGTH characters."
  (save-match-data
    (pcase marvin-document--before
      ((and `(,from ,to ,start ,finish)
            (guard (and (= from beg) (= to (+ beg length))
                        (< (length marvin-document--changes) marvin-document--most-changes))))
       (push (list :range (list :start start :end finish) :text (marvin-document--text beg end))
             marvin-document--changes))
      ;; Some modes announce more than they change; then only the whole text is certain.
      (_ (setq marvin-document--changes 'whole))))
  (setq marvin-document--before nil
        marvin-document--tick (buffer-chars-modified-tick))
  (unless marvin-document--timer
    (setq marvin-document--timer
          (run-at-time 0.15 nil #'marvin-document--flush-later (current-buffer)))))

(defun marvin-document--flush-later (buffer)
  "Tell the changes of BUFFER."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (marvin-document-flush))))

(defun marvin-document-flush ()
  "Tell the server all changes of the current buffer; give its version."
  (when marvin-document--timer
    (cancel-timer marvin-document--timer)
    (setq marvin-document--timer nil))
  (when (and (marvin-document-known-p) (marvin-document-untold-p))
    (let ((changes (if (eq marvin-document--changes 'whole)
                       (list (list :text (marvin-document--text)))
                     (reverse marvin-document--changes))))
      (setq marvin-document--changes nil)
      (cl-incf marvin-document--version)
      (marvin-notify marvin-document--server 'textDocument/didChange
                     (list :textDocument (list :uri (marvin-document-uri) :version marvin-document--version)
                           :contentChanges (vconcat changes)))))
  marvin-document--version)

(defun marvin-document-flush-all (server)
  "Tell SERVER all changes of all its documents."
  (dolist (buffer (marvin-documents server))
    (with-current-buffer buffer
      (marvin-document-flush))))

(defun marvin-document--saved ()
  "The current buffer was saved."
  (when (marvin-document-known-p)
    (marvin-document-flush)
    (marvin-notify marvin-document--server 'textDocument/didSave
                   (list :textDocument (list :uri (marvin-document-uri)) :text (marvin-document--text)))))

(defun marvin-document--reverted ()
  "The current buffer shows its file again."
  (setq marvin-document--changes 'whole)
  (marvin-document-flush))

(defun marvin-document-take-from-disk ()
  "Revert the current buffer where its file was changed and it has nothing unsaved."
  (when (and (not (buffer-modified-p))
             (file-exists-p buffer-file-name)
             (not (verify-visited-file-modtime)))
    (with-demoted-errors "Marvin: %S"
      (let ((revert-without-query '(".")) (inhibit-message t))
        (revert-buffer t t t)))))

(defun marvin-document-refresh (server)
  "Show files that were changed on disk in unmodified documents of SERVER."
  (dolist (buffer (marvin-documents server))
    (with-current-buffer buffer
      (marvin-document-take-from-disk))))

(add-hook 'marvin-server-ready-functions #'marvin-document--open-all)

(provide 'marvin-document)
;;; marvin-document.el ends here
