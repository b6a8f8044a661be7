;;; marvin-action.el --- One thing to be done with code  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Explain, fix, write tests and the like for the region, or for the whole file where none is active.  Each has a
;; conversation of its own, so that what was going on elsewhere is not disturbed.

;;; Code:

(require 'marvin-chat)

(declare-function flymake-diagnostics "flymake" (&optional beg end))
(declare-function flymake-diagnostic-beg "flymake" (diag))
(declare-function flymake-diagnostic-end "flymake" (diag))
(declare-function flymake-diagnostic-text "flymake" (diag &optional parts))
(declare-function flymake-diagnostic-type "flymake" (diag))

(defvar marvin-action--waiting (make-hash-table :test #'equal)
  "By the ids of turns, lists (FUNCTION TEXT): it is called with the answer.")

(defun marvin-action--start (action &optional instruction options then)
  "Do ACTION, the protocol's word, with the region or the whole file.
INSTRUCTION says more.  OPTIONS are those of the session; THEN is called
with the answer, else the conversation is shown."
  (unless buffer-file-name
    (user-error "Marvin needs a file for this: save the buffer in the project first"))
  (let* ((server (marvin-current-server)) (buffer (current-buffer))
         (beg (and (use-region-p) (copy-marker (region-beginning))))
         (end (and beg (copy-marker (region-end)))))
    (marvin-session-new
     server (append (list :title (format "%s %s" action (file-name-nondirectory buffer-file-name))) options)
     (lambda (session)
       (if (not (buffer-live-p buffer))
           (message "Marvin: the buffer is gone")
         (with-current-buffer buffer
           (marvin-document-open)
           (let ((params (append (list :action action)
                                 (if (marvin-document-known-p)
                                     (list :uri (marvin-document-uri) :version (marvin-document-flush))
                                   (list :uri (marvin-path-to-uri buffer-file-name)))
                                 (and beg (list :range (marvin-document-range beg end)))
                                 (and instruction (list :instruction instruction)))))
             (marvin-action--send session params then))))))))

(defun marvin-action--send (session params then)
  "Do the one-shot PARAMS in SESSION; THEN is as in `marvin-action--start'."
  (unless then
    (display-buffer (marvin-chat--make session)))
  (marvin-session-ask session 'marvin/oneShot params
                      (lambda (result)
                        (when then
                          (puthash (plist-get result :turnId) (list then nil) marvin-action--waiting)))))

(defun marvin-action--hear (session turn event)
  "Pass on the answer of TURN of SESSION when EVENT ends it."
  (when-let* ((entry (gethash turn marvin-action--waiting)))
    (pcase (plist-get event :type)
      ("message.finished"
       (let ((message (plist-get event :message)))
         (when (equal (plist-get message :role) "assistant")
           (setf (cadr entry) (mapconcat (lambda (part) (if (equal (plist-get part :type) "text")
                                                            (plist-get part :text) ""))
                                         (plist-get message :parts) "")))))
      ("turn.finished"
       (remhash turn marvin-action--waiting)
       (if (equal (plist-get event :stopReason) "completed")
           (funcall (car entry) (string-trim (or (cadr entry) "")))
         (message "Marvin: %s" (or (plist-get (plist-get event :error) :message)
                                   (plist-get event :stopReason)))
         (display-buffer (marvin-chat-buffer session)))))))

;;;###autoload
(defun marvin-ask (question)
  "Ask QUESTION about the region or the file."
  (interactive (list (read-string "Ask about this: ")))
  (marvin-action--start "ask" question))

;;;###autoload
(defun marvin-explain ()
  "Explain the region or the file."
  (interactive)
  (marvin-action--start "explain"))

;;;###autoload
(defun marvin-fix ()
  "Fix what is wrong in the region or the file.
What Flymake shows there is told."
  (interactive)
  (marvin-action--start "fix" (marvin-action--problems)))

(defun marvin-action--problems ()
  "What Flymake says about the region or the file, as text or nil."
  (when (bound-and-true-p flymake-mode)
    (when-let* ((problems (if (use-region-p)
                              (flymake-diagnostics (region-beginning) (region-end))
                            (flymake-diagnostics))))
      (concat "The editor shows these problems there:\n"
              (mapconcat (lambda (problem)
                           (format "- line %d: %s: %s"
                                   (line-number-at-pos (flymake-diagnostic-beg problem) t)
                                   (string-remove-prefix ":" (symbol-name (flymake-diagnostic-type problem)))
                                   (flymake-diagnostic-text problem)))
                         problems "\n")))))

;;;###autoload
(defun marvin-write-tests ()
  "Write tests for the region or the file."
  (interactive)
  (marvin-action--start "test"))

;;;###autoload
(defun marvin-document ()
  "Write the documentation that the region or the file lacks."
  (interactive)
  (marvin-action--start "document"))

;;;###autoload
(defun marvin-refactor ()
  "Make the region or the file simpler without changing what it does."
  (interactive)
  (marvin-action--start "refactor"))

;;;###autoload
(defun marvin-edit (instruction)
  "Change the region or the file as INSTRUCTION says, once you agree."
  (interactive (list (read-string "Change this: ")))
  (marvin-action--start "refactor" (format "What is to be done, above all: %s" instruction) '(:mode "review")))

;;;###autoload
(defun marvin-commit-message ()
  "Write the message of a commit of what is staged, or of all changes.
It is put at point.
Meant for a buffer in which a commit message is edited; elsewhere the
message is shown and put into the kill ring."
  (interactive)
  (let* ((server (marvin-current-server)) (buffer (current-buffer))
         (place (and (derived-mode-p 'log-edit-mode 'text-mode) (not buffer-read-only)
                     (not (derived-mode-p 'marvin-chat-mode)) (point-marker))))
    (marvin-session-new
     server '(:title "Commit message")
     (lambda (session)
       (message "Marvin writes the commit message")
       (marvin-action--send
        session (list :action "commitMessage"
                      :uri (marvin-path-to-uri (directory-file-name (marvin-server-root server))))
        (lambda (text)
          (if (not (and place (buffer-live-p buffer)))
              (progn (kill-new text)
                     (message "%s" text))
            (with-current-buffer buffer
              (save-excursion
                (goto-char place)
                (undo-boundary)
                (condition-case oops
                    (insert text)
                  (error (kill-new text)
                         (message "Marvin: %s; the message is in the kill ring" (error-message-string oops))))
                (undo-boundary))))))))))

(defun marvin-action--preview (session _turn event)
  "Show the review when EVENT proposes a change and SESSION is shown."
  (when (and (equal (plist-get event :type) "patch.proposed")
             (when-let* ((buffer (marvin-chat--buffer session))) (get-buffer-window buffer)))
    ;; Its window is not selected: what is being typed is not meant for it.
    (display-buffer (marvin-diff-buffer session))))

(add-hook 'marvin-session-event-functions #'marvin-action--hear)
(add-hook 'marvin-session-event-functions #'marvin-action--preview)

(provide 'marvin-action)
;;; marvin-action.el ends here
