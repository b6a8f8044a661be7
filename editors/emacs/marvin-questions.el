;;; marvin-questions.el --- The open questions of all conversations  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A list of cards, the oldest first.  A key acts on the card at point, which stays on it whatever comes or goes.

;;; Code:

(require 'marvin-permission)
(require 'text-property-search)

(defvar marvin-questions-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'marvin-questions-next)
    (define-key map "p" #'marvin-questions-previous)
    map)
  "Keys of the list of questions.")

(defconst marvin-questions--card-map
  (make-composed-keymap marvin-questions-mode-map marvin-permission-card-map)
  "Keys on a card in the list of questions.")

(define-derived-mode marvin-questions-mode special-mode "Marvin questions"
  "The open questions of all conversations."
  (setq-local bidi-paragraph-direction 'left-to-right)
  (setq-local truncate-lines nil truncate-partial-width-windows nil word-wrap t)
  (add-hook 'pre-command-hook #'marvin-permission-look nil t))

;;;###autoload
(defun marvin-answer ()
  "Show the open questions of all conversations, to be answered there."
  (interactive)
  (unless (marvin-permission-open)
    (user-error "Marvin asks nothing at the moment"))
  (pop-to-buffer (get-buffer-create "*marvin questions*"))
  (unless (derived-mode-p 'marvin-questions-mode)
    (marvin-questions-mode))
  (marvin-questions--redraw)
  (unless (get-text-property (point) 'marvin-question)
    (goto-char (point-min))
    (marvin-questions-next)))

(defun marvin-questions-next ()
  "Go to the next question."
  (interactive)
  (when-let* ((found (text-property-search-forward 'marvin-question nil nil t)))
    (goto-char (prop-match-beginning found))))

(defun marvin-questions-previous ()
  "Go to the previous question."
  (interactive)
  (text-property-search-backward 'marvin-question nil nil t))

(defun marvin-questions--redraw ()
  "Show what is open now; points stay on their questions."
  (marvin-place-redraw 'marvin-question #'marvin-permission-name #'marvin-questions--draw))

(defun marvin-questions--draw ()
  "Write the questions that are open now into the current buffer."
  (let ((inhibit-read-only t) (open (marvin-permission-open)))
    (erase-buffer)
    (if (null open)
        (insert "No question is open.  Press q to leave.\n")
      (pcase-dolist (`(,session . ,permission) open)
        (insert (format "Conversation: %s\n" (marvin-session-title session))
                (propertize (marvin-permission-card session permission) 'keymap marvin-questions--card-map)
                "\n\n")))))

(defun marvin-questions--changed (session)
  "Keep the buffer of questions right after a change of SESSION."
  (ignore session)
  (when-let* ((buffer (get-buffer "*marvin questions*")))
    (with-current-buffer buffer
      (marvin-questions--redraw))))

(add-hook 'marvin-session-changed-functions #'marvin-questions--changed)

(provide 'marvin-questions)
;;; marvin-questions.el ends here
