;;; marvin-turns.el --- Turns taken back, and done again  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What a turn changed in files is shown as a diff first; nothing is changed before the person agrees.

;;; Code:

(require 'marvin-chat)

(defun marvin-undo-turn (&optional choose)
  "Take back, after showing it, what the last turn changed in files.
With a prefix argument, CHOOSE the turn."
  (interactive "P")
  (marvin-turns--take 'marvin/turn/undo "Take this back? " choose))

(defun marvin-redo-turn (&optional choose)
  "Do again what was taken back of the last turn, after showing it.
With a prefix argument, CHOOSE the turn."
  (interactive "P")
  (marvin-turns--take 'marvin/turn/redo "Do this again? " choose))

(defun marvin-turns--take (method question choose)
  "Show what METHOD would do to a turn, ask QUESTION, and do it.
It is the last turn unless the person is to CHOOSE."
  (let* ((session (marvin-chat-session))
         (turns (or (marvin-session-turns session) (user-error "This conversation has no turn that can be named")))
         (turn (if choose (marvin-turns--choose turns) (caar turns))))
    (marvin-document-flush-all (marvin-session-server session))
    (marvin-session-ask session method (list :turnId turn :dryRun t)
                        (lambda (result)
                          (marvin--interact #'marvin-turns--take-shown session method turn question result)))))

(defun marvin-turns--choose (turns)
  "The id of one of TURNS, conses of ids and prompts, that the person chooses."
  (let* ((number (1+ (length turns)))
         (labels (mapcar (lambda (turn)
                           (cons (format "%d: %s" (setq number (1- number))
                                         (truncate-string-to-width (string-join (split-string (cdr turn)) " ")
                                                                   70 nil nil t))
                                 (car turn)))
                         turns))
         (table (lambda (string predicate action)
                  (if (eq action 'metadata)
                      '(metadata (display-sort-function . identity))
                    (complete-with-action action labels string predicate)))))
    (cdr (assoc (completing-read "Turn: " table nil t) labels))))

(defun marvin-turns--take-shown (session method turn question result)
  "Do METHOD to TURN of SESSION after showing RESULT and asking QUESTION."
  (let ((buffer (get-buffer-create "*marvin turn*")) (preview (plist-get result :preview)))
    (if (string-empty-p (or preview ""))
        (message "Marvin: %s" (string-join (append (or (plist-get result :notes) ["nothing is to be changed"]) nil) "; "))
      (with-current-buffer buffer
        (let ((inhibit-read-only t))
          (erase-buffer)
          (insert preview)
          (diff-mode)
          (setq buffer-read-only t)
          (goto-char (point-min))))
      (display-buffer buffer)
      (when (yes-or-no-p question)
        (marvin-session-ask session method (list :turnId turn)
                            (lambda (result) (marvin-turns--taken session result)))))))

(defun marvin-turns--taken (session result)
  "Show what was changed, as RESULT of a turn's undo or redo in SESSION has it."
  (marvin-document-refresh (marvin-session-server session))
  (message "Marvin: %s changed%s" (marvin-call-count (length (plist-get result :applied)) "file")
           (mapconcat (lambda (failed)
                        (format "; %s left alone: %s" (plist-get failed :path) (plist-get failed :reason)))
                      (plist-get result :failed) "")))

(provide 'marvin-turns)
;;; marvin-turns.el ends here
