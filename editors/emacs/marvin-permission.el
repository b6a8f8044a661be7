;;; marvin-permission.el --- Questions before something is done  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A question waits, as a card in its conversation and in a buffer of its own, until somebody answers it; nothing else
;; waits for it in Emacs.  The card shows all that the answer would cover.

;;; Code:

(require 'marvin-hidden)
(require 'marvin-place)
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

(defconst marvin-permission--indent 13 "Columns before the text of a field.")

(defun marvin-permission--line (label text)
  "A field of a card: LABEL and TEXT, whose lines stand below each other."
  (let ((indent (make-string marvin-permission--indent ?\s)))
    (propertize (concat (propertize (format "  %-11s" (concat label ":")) 'font-lock-face 'bold)
                        (string-replace "\n" (concat "\n" indent)
                                        (string-trim-right (marvin-hidden-shown text) "\n"))
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
                (marvin-permission--line
                 "Command" (string-replace "\t" (propertize (marvin-hidden-number ?\t) 'font-lock-face 'error)
                                           (or (plist-get command :revealed) (plist-get command :display))))
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
    (propertize card 'line-prefix marvin-permission--edge 'keymap marvin-permission-card-map 'marvin-whole t
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
                            (lambda () (marvin-permission--answer-seen session permission (car answer)))
                            (nth 2 answer)))

(defun marvin-permission-subject (permission)
  "What PERMISSION was asked for, in a line."
  (let ((command (plist-get permission :command)))
    (marvin-hidden-shown
     (or (plist-get command :revealed) (plist-get command :display) (plist-get permission :title)))))

(defun marvin-permission-outcome (decision)
  "DECISION, the protocol's word, in words."
  (or (nth 3 (assoc decision marvin-permission--answers)) decision))

;;; What was seen

(defvar-local marvin-permission--seen nil
  "Alist of ids of questions, and how much of their cards was on the screen.
It is counted in characters from the card's beginning, without a gap.")

(defun marvin-permission-name (question)
  "The id of QUESTION, a cons of a session and a permission."
  (plist-get (cdr question) :id))

(defun marvin-permission-look ()
  "Note how much of the questions in the current buffer is on the screen now."
  (when (marvin-permission-open)
    (dolist (window (get-buffer-window-list nil nil 'visible))
      (let ((at (window-start window)) (end (min (window-end window t) (point-max))))
        (while (< at end)
          (let ((question (get-text-property at 'marvin-question))
                (next (next-single-property-change at 'marvin-question nil end)))
            (when question
              (let* ((beginning (marvin-place-beginning 'marvin-question at))
                     (id (marvin-permission-name question))
                     (seen (alist-get id marvin-permission--seen 0 nil #'equal)))
                (when (<= (- at beginning) seen)
                  (setf (alist-get id marvin-permission--seen nil nil #'equal) (max seen (- next beginning))))))
            (setq at next)))))))

(defun marvin-permission--unseen (permission)
  "Where what was not yet on the screen of the card of PERMISSION here begins.
Nil when all of it was, or when it is not here."
  (marvin-permission-look)
  (let* ((id (plist-get permission :id))
         (beginning (cdr (assoc id (marvin-place-all 'marvin-question #'marvin-permission-name))))
         (seen (alist-get id marvin-permission--seen 0 nil #'equal)))
    (and beginning
         (< (+ beginning seen) (next-single-property-change beginning 'marvin-question nil (point-max)))
         (+ beginning seen))))

(defun marvin-permission--answer-seen (session permission decision)
  "Answer PERMISSION of SESSION with DECISION, if all was on the screen.
Where something that a yes covers was not, that is shown instead."
  (let ((unseen (and (string-prefix-p "allow" decision) (marvin-permission--unseen permission)))
        (window (get-buffer-window)))
    (if (null unseen)
        (marvin-permission-answer session permission decision)
      (goto-char unseen)
      (when window
        (set-window-start window unseen)
        (set-window-point window unseen))
      (user-error "Read on first: %s of the question not seen yet"
                  (let ((lines (count-lines unseen (next-single-property-change unseen 'marvin-question nil (point-max)))))
                    (format "%d line%s" lines (if (= lines 1) "" "s")))))))

;;; Answering

(defun marvin-permission-answer (session permission decision)
  "Answer PERMISSION of SESSION with DECISION.
An edited command, and a reason, are read from the minibuffer first."
  (let* ((command (and (equal decision "allowEdited")
                       (marvin-hidden-edit "Run instead: " (plist-get (plist-get permission :command) :display))))
         (note (and (equal decision "reason") (read-string "Reason (the model reads it): "))))
    (marvin-request (marvin-session-server session) 'marvin/permission/answer
                    (append (list :permissionId (plist-get permission :id) :decision (if note "deny" decision))
                            (and command (list :command command))
                            (and note (not (string-blank-p note)) (list :note note)))
                    (lambda (result)
                      (unless (eq (plist-get result :accepted) t)
                        (message "Marvin: this was answered before"))))))

(defun marvin-permission--here ()
  "The session and the question at point."
  (or (get-text-property (point) 'marvin-question)
      (user-error "There is no question here")))

(defun marvin-permission-answer-here (decision)
  "Answer the question at point with DECISION."
  (pcase-let ((`(,session . ,permission) (marvin-permission--here)))
    (if (marvin-permission--takes-p permission decision)
        (marvin-permission--answer-seen session permission decision)
      (user-error "This question does not take that answer"))))

(defvar marvin-permission--order nil "The ids of the open questions, the oldest first.")

(defun marvin-permission-open ()
  "All open questions, the oldest first, as conses of a session and a permission."
  (let* ((open (seq-mapcat (lambda (session)
                             (mapcar (lambda (permission) (cons (plist-get permission :id) (cons session permission)))
                                     (marvin-session-permissions session)))
                           (marvin-sessions)))
         (ids (mapcar #'car open)))
    (setq marvin-permission--order
          (append (seq-intersection marvin-permission--order ids) (seq-difference ids marvin-permission--order)))
    (mapcar (lambda (id) (cdr (assoc id open))) marvin-permission--order)))

(defun marvin-permission--announce (_session _turn event)
  "Say that EVENT is a question."
  (when (equal (plist-get event :type) "permission.requested")
    (message "Marvin asks: %s?  M-x marvin-answer"
             (truncate-string-to-width
              (marvin-hidden-shown (plist-get (plist-get event :permission) :title)) 60 nil nil t))))

(add-hook 'marvin-session-event-functions #'marvin-permission--announce)

(provide 'marvin-permission)
;;; marvin-permission.el ends here
