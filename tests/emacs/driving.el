;;; driving.el --- What the suites share  -*- lexical-binding: t; -*-

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'marvin)

(setq make-backup-files nil create-lockfiles nil auto-save-default nil
      marvin-command (list (getenv "MARVIN_TEST_COMMAND") "lsp"))

(defconst driving-seconds 60 "How long anything may take, as in tests/patience.py.")

(setq marvin--patience driving-seconds)

(defun driving-wait (what condition)
  "Let Emacs go on until CONDITION gives a value, and give it; WHAT is awaited."
  (let ((deadline (+ (float-time) driving-seconds)) value)
    (while (not (setq value (funcall condition)))
      (when (> (float-time) deadline)
        (error "Waited in vain for %s; messages: %s" what
               (with-current-buffer (messages-buffer) (buffer-substring (max 1 (- (point-max) 1500)) (point-max)))))
      (accept-process-output nil 0.01))
    value))

(defmacro driving-in-repository (&rest body)
  "Do BODY in a copy of the repository, with `default-directory' there; Marvin is ended afterwards."
  (declare (indent 0))
  `(let* ((folder (make-temp-file "marvin" t))
          (default-directory (file-name-as-directory (expand-file-name "repository" folder))))
     (copy-directory (getenv "MARVIN_TEST_REPOSITORY") default-directory nil nil t)
     (unwind-protect
         (progn ,@body)
       (driving-end)
       (delete-directory folder t))))

(defun driving-end ()
  "End all servers and forget all."
  (maphash (lambda (_ server) (marvin-server-stop server)) marvin-servers)
  (driving-wait "the end" (lambda ()
                            (cl-every (lambda (server) (memq (marvin-server-state server) '(stopped failed)))
                                      (hash-table-values marvin-servers))))
  (dolist (buffer (buffer-list))
    (when (or (buffer-file-name buffer) (string-prefix-p "*marvin" (buffer-name buffer)))
      (with-current-buffer buffer
        (set-buffer-modified-p nil)
        (kill-buffer))))
  (clrhash marvin-servers)
  (clrhash marvin-session--latest))

(defun driving-open (file)
  "Visit FILE of the repository as Python, and give its buffer."
  (with-current-buffer (find-file-noselect file)
    (current-buffer)))

(defun driving-chat (&optional options)
  "Begin a conversation with OPTIONS, and give its buffer."
  (let (session)
    (marvin-session-new (marvin-current-server) options (lambda (made) (setq session made)))
    (driving-wait "a session" (lambda () session))
    (marvin-chat-show session)
    (current-buffer)))

(defun driving-say (text &optional buffer)
  "Type and send TEXT in the conversation BUFFER, or the current one."
  (with-current-buffer (or buffer (current-buffer))
    (goto-char (point-max))
    (insert text)
    (marvin-chat-send)))

(defun driving-sees (text)
  "Wait until the current buffer has TEXT."
  (let ((buffer (current-buffer)))
    (driving-wait (format "%S" text)
                  (lambda ()
                    (with-current-buffer buffer
                      (save-excursion (goto-char (point-min)) (search-forward text nil t)))))))

(defun driving-idle ()
  "Wait until no turn runs in the current conversation."
  (let ((session marvin-chat--session))
    (driving-wait "the end of the turn"
                  (lambda () (and (marvin-session-last-turn session) (not (marvin-session-turn session)))))))

(defun driving-shown ()
  "The text of the current conversation above the input."
  (buffer-substring-no-properties (point-min) marvin-transcript--end))

(defun driving-file (name)
  "The text of the file NAME."
  (with-temp-buffer (insert-file-contents name) (buffer-string)))

(provide 'driving)
;;; driving.el ends here
