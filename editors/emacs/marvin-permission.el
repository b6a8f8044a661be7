;;; marvin-permission.el --- Questions before something is done  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A question waits, as a card in its conversation and in a buffer of its own, until somebody answers it; nothing else
;; waits for it in Emacs.  The card shows all that the answer would cover.

;;; Code:

(require 'marvin-session)
(require 'button)

(defface marvin-permission '((t :inherit warning))
  "What asks for an answer."
  :group 'marvin)

(defconst marvin-permission--answers
  '(("allowOnce" ?y "Allow once") ("allowSession" ?s "Allow for this session") ("allowEdited" ?e "Edit, then allow")
    ("deny" ?d "Deny") ("denyAndStop" ?q "Deny and stop"))
  "What can be answered: the protocol's word, the key, and what it is called.")

(defvar marvin-permission-card-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map button-map)
    (dolist (answer marvin-permission--answers)
      (let ((decision (car answer)))
        (define-key map (vector (cadr answer))
                    (lambda () (interactive) (marvin-permission-answer-here decision)))))
    (define-key map "r" #'marvin-permission-deny-with-reason)
    map)
  "Keys on the card of a question.")

(defun marvin-permission-visible (text)
  "TEXT with every invisible or misleading character written out."
  (replace-regexp-in-string
   "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\x061c\x115f\x1160\x180e\x200b-\x200f\x2028-\x202e\x2060-\x206f\x3164\xfe00-\xfe0f\xfeff\xffa0\xfff9-\xfffb\xe0000-\xe0fff]"
   (lambda (match) (propertize (format "\\u{%X}" (aref match 0)) 'font-lock-face 'error))
   text t t))

(defun marvin-permission--line (label text)
  "A line of a card: LABEL and TEXT, whose lines stand below each other."
  (let ((indent (make-string 13 ?\s)))
    (concat (propertize (format "  %-11s" (concat label ":")) 'font-lock-face 'bold)
            (string-replace "\n" (concat "\n" indent) (string-trim-right (marvin-permission-visible text) "\n"))
            "\n")))

(defun marvin-permission-card (session permission)
  "The card of PERMISSION, a question of SESSION, with keys and buttons."
  (let* ((command (plist-get permission :command))
         (environment (plist-get command :envChanges))
         (card
          (concat
           (propertize (format "Question: %s?\n" (marvin-permission--kind permission))
                       'font-lock-face 'marvin-permission)
           (if command
               (concat
                (marvin-permission--line "Command" (plist-get command :display))
                (marvin-permission--line "Directory" (plist-get command :cwd))
                (marvin-permission--line "Shell" (plist-get command :shell))
                (marvin-permission--line "Sandbox" (or (plist-get command :sandbox) "none"))
                (when environment
                  (marvin-permission--line
                   "Environment"
                   (mapconcat (lambda (pair) (format "%s=%s" (substring (symbol-name (car pair)) 1) (cadr pair)))
                              (seq-partition environment 2) "\n")))
                (mapconcat (lambda (script)
                             (marvin-permission--line
                              "Script" (format "%s (changed in this session)\n%s" (plist-get script :path)
                                               (plist-get script :text))))
                           (plist-get command :scripts) ""))
             (marvin-permission--line "What" (plist-get permission :title)))
           (when-let* ((reason (plist-get permission :reason)))
             (marvin-permission--line "Why" reason))
           (marvin-permission--line "Asked by" (plist-get permission :decidedBy))
           (when-let* ((diff (plist-get permission :diff)))
             (marvin-permission--line "Change" diff))
           "  "
           (mapconcat (lambda (answer) (marvin-permission--button session permission answer))
                      (seq-filter (lambda (answer) (seq-contains-p (plist-get permission :options) (car answer)))
                                  marvin-permission--answers)
                      "  ")
           "  [r] Deny with a reason\n")))
    (propertize card 'keymap marvin-permission-card-map 'marvin-question (cons session permission))))

(defun marvin-permission--kind (permission)
  "What PERMISSION is about."
  (pcase (plist-get permission :kind)
    ("command" "run this command") ("edit" "make this change") ("protectedPath" "touch a protected file")
    ("outsidePath" "leave the project") ("network" "use the network")
    ("trust" "take this from the project") (kind (or kind "go on"))))

(defun marvin-permission--button (session permission answer)
  "The button of ANSWER to PERMISSION of SESSION."
  (let ((text (format "[%c] %s" (nth 1 answer) (nth 2 answer))))
    (make-text-button text nil 'action (lambda (_) (marvin-permission-answer session permission (car answer)))
                      'follow-link t 'help-echo nil)
    text))

;;; Answering

(defun marvin-permission-answer (session permission decision &optional note)
  "Answer PERMISSION of SESSION with DECISION, and NOTE for the model.
An edited command is read from the minibuffer first."
  (let* ((command (and (equal decision "allowEdited")
                       (read-string "Run instead: " (plist-get (plist-get permission :command) :display))))
         (params (append (list :permissionId (plist-get permission :id) :decision decision)
                         (and command (list :command command))
                         (and note (not (string-empty-p note)) (list :note note)))))
    (marvin-request (marvin-session-server session) 'marvin/permission/answer params
                    (lambda (result)
                      (unless (eq (plist-get result :accepted) t)
                        (message "Marvin: this was answered before"))))))

(defun marvin-permission--here ()
  "The session and the question at point, or of the only card in this buffer."
  (or (get-text-property (point) 'marvin-question)
      (user-error "There is no question here")))

(defun marvin-permission-answer-here (decision)
  "Answer the question at point with DECISION."
  (pcase-let ((`(,session . ,permission) (marvin-permission--here)))
    (if (seq-contains-p (plist-get permission :options) decision)
        (marvin-permission-answer session permission decision)
      (user-error "This question does not take that answer"))))

(defun marvin-permission-deny-with-reason ()
  "Deny the question at point, and tell the model why."
  (interactive)
  (pcase-let ((`(,session . ,permission) (marvin-permission--here)))
    (marvin-permission-answer session permission "deny" (read-string "Reason (the model reads it): "))))

(defun marvin-permission-open ()
  "All open questions, as conses of a session and a permission."
  (seq-mapcat (lambda (session)
                (mapcar (lambda (permission) (cons session permission)) (marvin-session-permissions session)))
              (marvin-sessions)))

;;;###autoload
(defun marvin-answer ()
  "Show the open questions of all conversations, to be answered there."
  (interactive)
  (unless (marvin-permission-open)
    (user-error "Marvin asks nothing at the moment"))
  (let ((buffer (get-buffer-create "*marvin questions*")))
    (with-current-buffer buffer
      (marvin-permission-mode)
      (marvin-permission--draw))
    (pop-to-buffer buffer)))

(define-derived-mode marvin-permission-mode special-mode "Marvin questions"
  "The open questions of all conversations."
  (setq-local bidi-paragraph-direction 'left-to-right)
  (setq-local truncate-lines nil))

(defun marvin-permission--draw ()
  "Show the questions that are open now in the current buffer."
  (let ((inhibit-read-only t) (open (marvin-permission-open)) (line (line-number-at-pos)))
    (erase-buffer)
    (if (null open)
        (insert "No question is open.  Press q to leave.\n")
      (pcase-dolist (`(,session . ,permission) open)
        (insert (format "Conversation: %s\n" (marvin-session-title session))
                (marvin-permission-card session permission) "\n")))
    (goto-char (point-min))
    (if (and open (= line 1)) (forward-line 1) (forward-line (1- line)))))

(defun marvin-permission--changed (session)
  "Keep the buffer of questions right after a change of SESSION."
  (ignore session)
  (when-let* ((buffer (get-buffer "*marvin questions*")))
    (with-current-buffer buffer
      (marvin-permission--draw))))

(defun marvin-permission--announce (_session _turn event)
  "Say that EVENT is a question."
  (when (equal (plist-get event :type) "permission.requested")
    (message "Marvin asks: %s?  M-x marvin-answer"
             (truncate-string-to-width
              (marvin-permission-visible (plist-get (plist-get event :permission) :title)) 60 nil nil t))))

(add-hook 'marvin-session-changed-functions #'marvin-permission--changed)
(add-hook 'marvin-session-event-functions #'marvin-permission--announce)

(provide 'marvin-permission)
;;; marvin-permission.el ends here
