;;; marvin-input.el --- What is typed to Marvin  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The end of a conversation's buffer: what waits and what goes along, and the text that is being typed, with its
;; history.  Nothing that was typed is lost: neither when it is not taken nor when the buffer is killed.

;;; Code:

(require 'marvin-session)
(require 'marvin-transcript)

(defvar marvin-chat--session)

(defvar marvin-input-history nil
  "What was sent, in all conversations, the latest first.")

(defvar marvin-input--kept (make-hash-table :test #'equal)
  "What was typed and not sent in buffers now killed, by session ids.")

(defvar-local marvin-input-context nil
  "What goes along with the next prompt: a list of (LABEL . FUNCTION).
FUNCTION gives an object of the protocol when it is sent, or nil if
there is nothing any more.")

(defvar-local marvin-input--drawn nil "What stands above the input.")
(defvar-local marvin-input--place nil "Which entry of the history is shown, from 0; nil for none.")
(defvar-local marvin-input--typed nil "What was typed before the history was shown.")

(defface marvin-input-bar '((t :inherit header-line :extend t))
  "The line above what is typed."
  :group 'marvin)

(defun marvin-input-draw ()
  "Write what waits, the context and how to send above the input.
Nothing is written where that is there already."
  (let* ((session marvin-chat--session)
         (lines (append
                 (mapcar (lambda (text) (format "Handed over: %s" (marvin-input--short text)))
                         (and session (marvin-session-steering session)))
                 (mapcar (lambda (queued) (marvin-input--queued session queued))
                         (and session (marvin-session-queued session)))
                 (and marvin-input-context
                      (list (concat "Context: " (mapconcat #'marvin-input--item marvin-input-context ", "))))))
         (text (concat "\n" (mapconcat (lambda (line) (concat line "\n")) lines "") (marvin-input--bar session))))
    (unless (equal text marvin-input--drawn)
      (setq marvin-input--drawn text)
      (marvin-transcript--writing
        ;; The last character stays: points of windows stand behind it.
        (goto-char marvin-transcript--end)
        (if (< (point) marvin-transcript--input)
            (delete-region (point) (1- marvin-transcript--input))
          (insert "\n")
          (set-marker marvin-transcript--input (point))
          (backward-char))
        (insert text)
        (add-text-properties marvin-transcript--end marvin-transcript--input
                             '(read-only t front-sticky (read-only) rear-nonsticky t field marvin-prompt))
        (put-text-property (1- marvin-transcript--input) marvin-transcript--input 'font-lock-face 'marvin-input-bar)))))

(defun marvin-input--bar (session)
  "What can be done in the input of SESSION, in a line."
  (propertize
   (substring-no-properties
    (substitute-command-keys
     (cond ((or (null session) (eq (marvin-server-state (marvin-session-server session)) 'starting))
            "Your message; Marvin is being started")
           ((not (eq (marvin-server-state (marvin-session-server session)) 'ready))
            "Your message; Marvin is not running: \\[marvin-restart]")
           ((marvin-session-busy-p session)
            "Your message: \\<marvin-chat-mode-map>\\[marvin-chat-send] queues it, \\[marvin-chat-steer] hands it over now, \\[marvin-chat-cancel] cancels")
           (t "Your message: \\<marvin-chat-mode-map>\\[marvin-chat-send] sends, \\[newline] new line, \\[completion-at-point] completes @file #symbol /command"))))
   'font-lock-face 'marvin-input-bar))

(defun marvin-input--short (text)
  "TEXT in one line that is not too long."
  (truncate-string-to-width (string-join (split-string text) " ") 60 nil nil t))

(defun marvin-input--queued (session queued)
  "A line about QUEUED, a turn of SESSION that waits."
  (concat "Queued: " (marvin-input--short (cdr queued)) " "
          (marvin-transcript-button "[cancel]" (lambda () (marvin-session-cancel session (car queued))))))

(defun marvin-input--item (item)
  "What is shown of ITEM of the context."
  (concat (car item) " " (marvin-transcript-button "[remove]" (lambda () (marvin-input-remove (car item))))))

(defun marvin-input-remove (label)
  "Let the item LABEL of the context not go along."
  (setq marvin-input-context (assoc-delete-all label (copy-sequence marvin-input-context)))
  (marvin-input-draw))

(defun marvin-input-text ()
  "What is typed."
  (buffer-substring-no-properties marvin-transcript--input (point-max)))

(defun marvin-input--set (text)
  "Let TEXT be what is typed."
  (delete-region marvin-transcript--input (point-max))
  (goto-char (point-max))
  (insert text))

(defun marvin-input-sent (text)
  "TEXT was sent: the input is empty again."
  (setq marvin-input-history (cons text (delete text marvin-input-history))
        marvin-input--place nil
        marvin-input-context nil)
  (marvin-input--set "")
  (marvin-input-draw))

(defun marvin-input-put-back (text context)
  "TEXT with CONTEXT was not taken: put it before what was typed since."
  (setq marvin-input-context (append context marvin-input-context))
  (marvin-input-draw)
  (save-excursion
    (goto-char marvin-transcript--input)
    (insert text (if (string-empty-p (marvin-input-text)) "" "\n")))
  (goto-char (point-max)))

(defun marvin-input-keep (id)
  "Keep what is typed for the session ID."
  (unless (string-blank-p (marvin-input-text))
    (puthash id (marvin-input-text) marvin-input--kept)))

(defun marvin-input-restore (id)
  "Put back what was kept for the session ID."
  (when-let* ((text (gethash id marvin-input--kept)))
    (remhash id marvin-input--kept)
    (marvin-input--set text)))

;;; History

(defun marvin-input-previous (count)
  "Show the prompt that was sent COUNT prompts before."
  (interactive "p")
  (let ((place (+ (or marvin-input--place -1) count)))
    (unless marvin-input--place
      (setq marvin-input--typed (marvin-input-text)))
    (cond ((>= place (length marvin-input-history)) (user-error "There is no earlier prompt"))
          ((< place -1) (user-error "There is no later prompt"))
          ((= place -1) (setq marvin-input--place nil) (marvin-input--set marvin-input--typed))
          (t (setq marvin-input--place place) (marvin-input--set (nth place marvin-input-history))))))

(defun marvin-input-next (count)
  "Show the prompt that was sent COUNT prompts later."
  (interactive "p")
  (marvin-input-previous (- count)))

(provide 'marvin-input)
;;; marvin-input.el ends here
