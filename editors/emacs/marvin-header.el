;;; marvin-header.el --- The line above a conversation  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; How a session stands: its title, state, mode, model, context and cost, each of which can be clicked to change it.

;;; Code:

(require 'marvin-session)

(defconst marvin-header--least-title 12 "Columns that the title has at least.")

(defun marvin-header (session)
  "The header line of SESSION; an empty one where there is none yet."
  (if (null session)
      ""
    (let* ((facts (delq nil (append (list (marvin-header--state session)) (marvin-header--facts session))))
           (rest (mapconcat #'identity facts " | "))
           (room (max marvin-header--least-title (- (window-width) (string-width rest) 4))))
      (replace-regexp-in-string
       "%" "%%"
       (concat " " (marvin-header--link (truncate-string-to-width (marvin-session-title session) room nil nil t)
                                        'marvin-rename 'bold)
               " | " rest)
       t t))))

(defun marvin-header--link (text command &optional face)
  "TEXT, in FACE, that does COMMAND when it is clicked."
  (propertize text 'face face 'mouse-face 'highlight
              'help-echo (format "mouse-1: %s" command)
              ;; No `local-map': a button at point would go before it, and have one click taken for the other.
              'keymap (let ((map (make-sparse-keymap)))
                        (define-key map [header-line mouse-1] command)
                        (define-key map [header-line mouse-2] command)
                        map)))

(defun marvin-header--state (session)
  "What SESSION does now."
  (let* ((server (marvin-session-server session)) (state (marvin-server-state server)))
    (cond ((eq state 'failed)
           (marvin-header--link (format "server failed: %s" (marvin-server-problem server)) 'marvin-restart 'error))
          ((not (eq state 'ready)) (marvin-header--link (format "server %s" state) 'marvin-restart 'error))
          ((marvin-session-permissions session)
           (marvin-header--link (substitute-command-keys "asks: \\<marvin-chat-mode-map>\\[marvin-answer]")
                                'marvin-answer 'marvin-permission))
          ((marvin-session-work session) (marvin-header--link (marvin-session-work session) 'marvin-cancel 'success))
          (t "ready"))))

(defun marvin-header--facts (session)
  "What else is to be known of SESSION, the most important first."
  (let* ((info (marvin-session-info session)) (usage (marvin-session-usage session))
         (used (plist-get usage :contextUsed)) (size (plist-get usage :contextSize)) (cost (plist-get usage :costUsd))
         (queued (length (marvin-session-queued session))) (is-used (and used (> used 0))))
    (list (and (> queued 0) (format "%d queued" queued))
          (and (marvin-session-patches session)
               (marvin-header--link (substitute-command-keys "review: \\<marvin-chat-mode-map>\\[marvin-chat-review]")
                                    'marvin-review 'marvin-permission))
          (marvin-header--link (format "mode %s" (plist-get info :mode)) 'marvin-set-mode)
          (marvin-header--link (format "%s" (plist-get info :model)) 'marvin-set-model)
          (and is-used
               (marvin-header--link
                (if size (format "context %d%% of %s" (round (* 100.0 used) (max 1 size)) (marvin-header--tokens size))
                  (format "context %s" (marvin-header--tokens used)))
                'marvin-usage))
          (and is-used (marvin-header--link (if cost (format "$%.2f" cost) "price unknown") 'marvin-usage)))))

(defun marvin-header--tokens (count)
  "COUNT of tokens, in few characters."
  (cond ((< count 1000) (format "%d" count))
        ((< count 1000000) (format "%dk" (round count 1000)))
        (t (format "%.1fM" (/ count 1000000.0)))))

(provide 'marvin-header)
;;; marvin-header.el ends here
