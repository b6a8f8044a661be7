;;; marvin.el --- An assistant that lives in the editor  -*- lexical-binding: t; -*-

;; Author: The Marvin authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience
;; URL: https://marvin-assistant.invalid
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Marvin answers questions about a project, changes its files and runs commands, each as far as it is allowed to.
;; It needs the program `marvin', which brings this package along; the project has no public address yet, hence the URL,
;; which is nobody's.  M-x marvin begins a conversation.  No key is taken: bind `marvin-command-map' to
;; one of yours, as in (global-set-key (kbd "C-c m") marvin-command-map).
;;
;; How it is made.  What the server of a project says (`marvin-client') is taken into sessions (`marvin-session',
;; `marvin-events'), which tell those who show something: the conversation (`marvin-chat', in which `marvin-show' writes
;; the blocks of `marvin-transcript', with `marvin-input' at its end), the questions (`marvin-permission', `marvin-questions') and the review
;; (`marvin-diff').  What goes along with a prompt is `marvin-context' and `marvin-symbol'.  The buffers of the project are
;; told to the server by `marvin-document', and changed for it by `marvin-apply'.  Nothing waits for an answer.

;;; Code:

(require 'marvin-action)
(require 'marvin-apply)
(require 'marvin-chat)
(require 'marvin-jobs)
(require 'marvin-status)
(require 'marvin-turns)

;;;###autoload
(defun marvin (&optional new)
  "Go to the latest conversation of this project; begin one if there is none.
With a prefix argument, NEW, begin one in any case."
  (interactive "P")
  (let* ((server (marvin-current-server)) (session (and (not new) (marvin-session-latest server))))
    (if session
        (marvin-chat-show session)
      (marvin-session-new server nil (marvin-chat-shower)))))

;;;###autoload
(defun marvin-start ()
  "Start Marvin for this project, so that it sees its buffers."
  (interactive)
  (marvin-current-server))

(defun marvin-stop ()
  "End Marvin in this project: turns are cancelled, and what was said is kept."
  (interactive)
  (if-let* ((server (gethash (marvin-project-root) marvin-servers)))
      (marvin-server-stop server)
    (message "Marvin does not run in this project")))

(defun marvin-restart ()
  "End Marvin in this project and start it again; conversations go on."
  (interactive)
  (if-let* ((server (gethash (marvin-project-root) marvin-servers)))
      (marvin-server-stop server (lambda () (marvin-server-start server)))
    (marvin-start)))

(defun marvin-review ()
  "Review the open changes of the latest conversation that has any."
  (interactive)
  (let ((sessions (seq-filter #'marvin-session-patches (marvin-sessions))))
    (marvin-diff-review
     (or (car (memq (or marvin-chat--session (marvin-session-latest (marvin-current-server))) sessions))
         (car sessions)
         (user-error "No change waits for a decision")))))

(defun marvin-cancel ()
  "Cancel the turn that runs in the latest conversation."
  (interactive)
  (marvin-chat-cancel))

;;;###autoload
(defvar marvin-command-map
  (let ((map (make-sparse-keymap)))
    (define-key map "m" #'marvin)
    (define-key map "a" #'marvin-answer)
    (define-key map "r" #'marvin-review)
    (define-key map "k" #'marvin-cancel)
    (define-key map "s" #'marvin-resume)
    (define-key map "q" #'marvin-ask)
    (define-key map "e" #'marvin-explain)
    (define-key map "f" #'marvin-fix)
    (define-key map "t" #'marvin-write-tests)
    (define-key map "d" #'marvin-document)
    (define-key map "R" #'marvin-refactor)
    (define-key map "i" #'marvin-edit)
    (define-key map "c" #'marvin-commit-message)
    (define-key map "+" #'marvin-add-region)
    (define-key map "j" #'marvin-jobs)
    (define-key map "u" #'marvin-undo-turn)
    (define-key map "U" #'marvin-redo-turn)
    map)
  "Marvin's commands, to be bound to a key of yours.")

(provide 'marvin)
;;; marvin.el ends here
