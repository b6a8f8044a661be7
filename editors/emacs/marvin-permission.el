;;; marvin-permission.el --- Questions before something is done  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A question waits, as a card in its conversation and in a buffer of its own, until somebody answers it; nothing else
;; waits for it in Emacs.  The card shows all that the answer would cover.

;;; Code:

(require 'marvin-session)
(require 'marvin-transcript)

(defface marvin-permission '((t :inherit warning))
  "What asks for an answer."
  :group 'marvin)

(defconst marvin-permission--answers
  '(("allowOnce" ?y "Allow once" "Allowed once") ("allowSession" ?s "Allow for this session" "Allowed for this session")
    ("allowEdited" ?e "Edit, then allow" "Allowed after an edit") ("deny" ?d "Deny" "Denied")
    ("reason" ?r "Deny, with a reason" nil) ("denyAndStop" ?q "Deny and stop the turn" "Denied, and the turn stopped"))
  "The answers: the protocol's word, the key, its name, and what became of it.
A denial with a reason is one of ours.")

(defvar marvin-permission-card-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map marvin-transcript-map)
    (dolist (answer marvin-permission--answers)
      (let ((decision (car answer)))
        (define-key map (vector (cadr answer))
                    (lambda () (interactive) (marvin-permission-answer-here decision)))))
    map)
  "Keys on the card of a question.")

(defconst marvin-permission--edge (concat (propertize " " 'face '(:inherit marvin-permission :inverse-video t)) " ")
  "What the lines of a card begin with on the screen.")

(defun marvin-permission-visible (text)
  "TEXT with every invisible or misleading character written out."
  (replace-regexp-in-string
   "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\x061c\x115f\x1160\x180e\x200b-\x200f\x2028-\x202e\x2060-\x206f\x3164\xfe00-\xfe0f\xfeff\xffa0\xfff9-\xfffb\xe0000-\xe0fff]"
   (lambda (match) (propertize (format "\\u{%X}" (aref match 0)) 'font-lock-face 'error))
   text t t))

(defconst marvin-permission--indent 13 "Columns before the text of a field.")

(defun marvin-permission--line (label text)
  "A field of a card: LABEL and TEXT, whose lines stand below each other."
  (let ((indent (make-string marvin-permission--indent ?\s)))
    (propertize (concat (propertize (format "  %-11s" (concat label ":")) 'font-lock-face 'bold)
                        (string-replace "\n" (concat "\n" indent)
                                        (string-trim-right (marvin-permission-visible text) "\n"))
                        "\n")
                'wrap-prefix (concat marvin-permission--edge indent))))

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
                (marvin-permission--line "Command" (or (plist-get command :revealed) (plist-get command :display)))
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
             (marvin-permission--line "Change" (concat "\n" (marvin-markdown-diff diff))))
           (marvin-permission--buttons session permission))))
    (propertize card 'line-prefix marvin-permission--edge 'keymap marvin-permission-card-map
                'marvin-question (cons session permission))))

(defun marvin-permission--buttons (session permission)
  "The answers that PERMISSION of SESSION takes.
Those that allow are on the left, those that deny on the right."
  (let* ((taken (seq-filter (lambda (answer) (marvin-permission--takes-p permission (car answer)))
                            marvin-permission--answers))
         (allow (seq-filter (lambda (answer) (string-prefix-p "allow" (car answer))) taken))
         (deny (seq-difference taken allow))
         (lines nil))
    (while (or allow deny)
      (let ((left (pop allow)) (right (pop deny)))
        (push (concat "  " (if left (marvin-permission--button session permission left) "")
                      (if right
                          (concat (make-string (- 32 (if left (+ 4 (length (nth 2 left))) 0)) ?\s)
                                  (marvin-permission--button session permission right))
                        "")
                      "\n")
              lines)))
    (string-trim-right (apply #'concat (nreverse lines)) "\n")))

(defun marvin-permission--takes-p (permission decision)
  "Whether PERMISSION can be answered with DECISION."
  (seq-contains-p (plist-get permission :options) (if (equal decision "reason") "deny" decision)))

(defun marvin-permission--kind (permission)
  "What PERMISSION is about."
  (pcase (plist-get permission :kind)
    ("command" "run this command") ("edit" "make this change") ("protectedPath" "touch a protected file")
    ("outsidePath" "leave the project") ("network" "use the network")
    ("trust" "take this from the project") (kind (or kind "go on"))))

(defun marvin-permission--button (session permission answer)
  "The button of ANSWER to PERMISSION of SESSION."
  (marvin-transcript-button (format "[%c] %s" (nth 1 answer) (nth 2 answer))
                            (lambda () (marvin-permission-answer session permission (car answer)))
                            (nth 2 answer)))

(defun marvin-permission-subject (permission)
  "What PERMISSION was asked for, in a line."
  (let ((command (plist-get permission :command)))
    (marvin-permission-visible
     (or (plist-get command :revealed) (plist-get command :display) (plist-get permission :title)))))

(defun marvin-permission-outcome (decision)
  "DECISION, the protocol's word, in words."
  (or (nth 3 (assoc decision marvin-permission--answers)) decision))

;;; Answering

(defun marvin-permission-answer (session permission decision)
  "Answer PERMISSION of SESSION with DECISION.
An edited command, and a reason, are read from the minibuffer first."
  (let* ((command (and (equal decision "allowEdited")
                       (read-string "Run instead: " (plist-get (plist-get permission :command) :display))))
         (note (and (equal decision "reason") (read-string "Reason (the model reads it): "))))
    (marvin-request (marvin-session-server session) 'marvin/permission/answer
                    (append (list :permissionId (plist-get permission :id) :decision (if note "deny" decision))
                            (and command (list :command command))
                            (and note (not (string-blank-p note)) (list :note note)))
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
    (if (marvin-permission--takes-p permission decision)
        (marvin-permission-answer session permission decision)
      (user-error "This question does not take that answer"))))

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
  (setq-local truncate-lines nil word-wrap t))

(defun marvin-permission--draw ()
  "Show the questions that are open now in the current buffer."
  (let ((inhibit-read-only t) (open (marvin-permission-open)) (line (line-number-at-pos)))
    (erase-buffer)
    (if (null open)
        (insert "No question is open.  Press q to leave.\n")
      (pcase-dolist (`(,session . ,permission) open)
        (insert (format "Conversation: %s\n" (marvin-session-title session))
                (marvin-permission-card session permission) "\n\n")))
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
