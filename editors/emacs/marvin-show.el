;;; marvin-show.el --- What a session tells, as blocks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Items of a loaded session and events of its turns, written into the current buffer, a conversation.

;;; Code:

(require 'marvin-call)
(require 'marvin-diff)
(require 'marvin-permission)
(require 'marvin-transcript)

(declare-function marvin-chat-older "marvin-chat" ())
(declare-function marvin-input-put-back "marvin-input" (text context))

(defface marvin-person '((t :inherit (bold font-lock-keyword-face) :overline t :extend t))
  "The heading of what the person says."
  :group 'marvin)

(defface marvin-model '((t :inherit (bold font-lock-function-name-face)))
  "The heading of what the model says."
  :group 'marvin)

(defun marvin-show-loaded (session result)
  "Show SESSION as RESULT of session/load has it, and nothing else."
  (marvin-transcript-begin)
  (when (plist-get result :cursor)
    (marvin-transcript-add
     'older "" (marvin-transcript-button "[Show what came before this]" #'marvin-chat-older)))
  (seq-doseq (item (plist-get result :items))
    (marvin-show--item item))
  (when-let* ((partial (plist-get result :partial)))
    (let ((id (plist-get partial :messageId)))
      (when-let* ((thought (plist-get partial :thought)))
        (marvin-show--grow (list 'thought id) thought))
      (marvin-show--grow (list 'message id) (plist-get partial :text))))
  (dolist (patch (marvin-session-patches session))
    (marvin-show--patch session patch (if (equal (plist-get (marvin-session-info session) :mode) "review") "Proposed"
                                        "Changed")))
  (dolist (permission (marvin-session-permissions session))
    (marvin-show--question session permission))
  (dolist (draft (marvin-session-drafts session))
    (marvin-show--draft session draft)))

(defun marvin-show--item (item)
  "Show ITEM of a session that was loaded."
  (pcase (plist-get item :kind)
    ("message" (marvin-show--message (plist-get item :message)))
    ("toolCall"
     (let* ((output (or (plist-get item :output) ""))
            (block (marvin-call-started item (or (plist-get item :title) (marvin-call-title (plist-get item :input))))))
       (unless (equal (plist-get item :status) "running")
         (marvin-call-finished block item output))))
    ("compaction" (marvin-show--compaction (plist-get item :compaction)))))

(defun marvin-show-event (session turn event)
  "Show EVENT of TURN of SESSION."
  (let ((message (list 'message (plist-get event :messageId)))
        (thought (list 'thought (plist-get event :messageId)))
        (tool (marvin-transcript-find (list 'tool (plist-get event :toolCallId)))))
    (pcase (plist-get event :type)
      ("message.delta" (marvin-show--grow message (plist-get event :text)))
      ("message.finished" (marvin-show--message (plist-get event :message)))
      ("thought.delta" (marvin-show--grow thought (plist-get event :text)))
      ("thought.finished" (marvin-show--thought thought (plist-get event :text)))
      ("tool.started" (marvin-call-started event (plist-get event :title)))
      ("tool.output" (when tool (marvin-transcript-append tool (plist-get event :text))))
      ("tool.finished"
       (when tool
         (marvin-call-finished tool event (plist-get event :output) (plist-get (plist-get event :details) :diff))))
      ("permission.requested" (marvin-show--question session (plist-get event :permission)))
      ("permission.resolved" (marvin-show--answered event))
      ("patch.proposed" (marvin-show--patch session (plist-get event :patch) "Proposed"))
      ("patch.applied" (marvin-show--patch session (plist-get event :patch) "Changed"))
      ("patch.resolved" (marvin-show--resolved event))
      ("notice" (marvin-show--notice turn event))
      ("compaction" (marvin-show--compaction event))
      ("turn.finished" (marvin-show--finished session turn event)))))

;;; Messages and thoughts

(defun marvin-show--grow (key text)
  "Let the message or thought KEY of the model grow by TEXT."
  (let ((block (marvin-transcript-find key)))
    (cond (block (marvin-transcript-append block text))
          ((eq (car key) 'thought) (marvin-transcript-add key "Thinking" text t))
          (t (marvin-transcript-add key (propertize "Marvin" 'font-lock-face 'marvin-model) text nil
                                    '(marvin-markdown t))))))

(defun marvin-show--thought (key text)
  "Let TEXT be the whole thought KEY; say how long it took where that was seen."
  (let* ((block (marvin-transcript-find key)) (seconds (and block (- (float-time) (marvin-block-since block)))))
    (cond ((null block) (setq block (marvin-transcript-add key "Thought" text t)))
          ((not (equal text (marvin-transcript-text block))) (marvin-transcript-replace block text)))
    (marvin-transcript-rename
     block (format "Thought%s, %s" (if seconds (concat " for " (marvin-call-duration (* 1000 seconds))) "")
                   (marvin-call-lines text)))))

(defun marvin-show--message (message)
  "Show MESSAGE, whole."
  (pcase (plist-get message :role)
    ("user" (marvin-show--said message))
    ("assistant" (marvin-show--answer message))))

(defun marvin-show--said (message)
  "Show MESSAGE, of the person, and what an editor has added to it."
  (let ((key (list 'message (plist-get message :id))))
    (unless (marvin-transcript-find key)
      ;; What was done between turns is told to the model as if the person had said it.
      (marvin-transcript-add key (if (string-prefix-p "[Marvin:" (marvin-session-text message))
                                     (propertize "Told to the model" 'font-lock-face 'marvin-fold)
                                   (propertize "You" 'font-lock-face 'marvin-person))
                             (concat (marvin-session-text message)
                                     (mapconcat #'marvin-show--picture (plist-get message :parts) ""))
                             nil '(marvin-markdown t))
      (marvin-show--colour-later key)
      (dolist (part (marvin-session-added message))
        (marvin-transcript-add (list 'added (cl-gensym))
                               (format "Context: %s, %s" (plist-get part :label) (marvin-call-lines (plist-get part :text)))
                               (string-trim (plist-get part :text)) t)))))

(defun marvin-show--answer (message)
  "Show MESSAGE, of the model."
  (let* ((id (plist-get message :id)) (key (list 'message id)) (block (marvin-transcript-find key))
         (text (marvin-session-text message))
         (thought (seq-find (lambda (part) (equal (plist-get part :type) "thinking")) (plist-get message :parts))))
    (when (and thought (not (marvin-transcript-find (list 'thought id))))
      (marvin-show--thought (list 'thought id) (plist-get thought :text)))
    (unless (string-empty-p text)
      (cond ((null block) (marvin-show--grow key text))
            ((not (equal text (marvin-transcript-text block))) (marvin-transcript-replace block text)))
      (marvin-show--colour-later key))))

(defun marvin-show--picture (part)
  "The picture in PART of a message as text; it is seen where Emacs can show it."
  (if (not (equal (plist-get part :type) "image"))
      ""
    (let* ((bytes (base64-decode-string (plist-get part :data)))
           (label (format "[picture, %s, %s]" (plist-get part :mimeType)
                          (file-size-human-readable (length bytes) 'si " " "B")))
           (picture (and (display-images-p) (create-image bytes nil t :max-width 400 :max-height 300))))
      (concat "\n" (if picture (propertize label 'display picture) label)))))

(defun marvin-show--colour-later (key)
  "Colour the code of the block KEY as soon as there is time."
  (marvin--later #'marvin-show--colour (current-buffer) (marvin-transcript-find key)))

(defun marvin-show--colour (buffer block)
  "Colour the code of BLOCK in BUFFER."
  (when (and (buffer-live-p buffer) (marker-buffer (marvin-block-body block)))
    (with-current-buffer buffer
      (marvin-transcript--writing
        (with-silent-modifications
          (marvin-markdown-code (marvin-block-body block) (marvin-block-end block)))))))

;;; Questions, changes and the rest

(defun marvin-show--question (session permission)
  "Show the card of PERMISSION, a question of SESSION."
  (unless (marvin-transcript-find (list 'question (plist-get permission :id)))
    (marvin-transcript-add (list 'question (plist-get permission :id)) ""
                           (marvin-permission-card session permission) nil
                           (list 'keymap (make-composed-keymap marvin-permission-card-map marvin-transcript-map)))))

(defun marvin-show--answered (event)
  "Put the answer in EVENT in the place of the question's card."
  (when-let* ((block (marvin-transcript-find (list 'question (plist-get event :permissionId)))))
    (let ((permission (cdr (get-text-property (marvin-block-body block) 'marvin-question))) (by (plist-get event :by)))
      (setf (marvin-block-properties block) (list 'keymap marvin-transcript-map))
      (marvin-transcript-replace
       block (format "%s by %s: %s" (marvin-permission-outcome (plist-get event :decision))
                     (if (equal by "person") "you" by) (marvin-permission-subject permission))))))

(defun marvin-show--patch (session patch verb)
  "Show PATCH of SESSION, which is what VERB says."
  (let ((key (list 'patch (plist-get patch :id)))
        (count (lambda (edit side)
                 (seq-reduce #'+ (mapcar (lambda (hunk) (length (plist-get hunk side))) (plist-get edit :hunks)) 0))))
    (marvin-transcript-remove key)
    (marvin-transcript-add
     key ""
     (concat
      (mapconcat (lambda (edit)
                   (format "%s %s: %s added, %s removed\n" verb (or (plist-get edit :newPath) (plist-get edit :path))
                           (marvin-call-count (funcall count edit :newLines) "line")
                           (funcall count edit :oldLines)))
                 (plist-get patch :edits) "")
      (marvin-transcript-button "[Review]" (lambda () (marvin-diff-review session)) "Keep or reject it, hunk by hunk")))))

(defun marvin-show--resolved (event)
  "Show what was decided about a patch in EVENT."
  (when-let* ((block (marvin-transcript-find (list 'patch (plist-get event :patchId)))))
    (marvin-transcript-append
     block
     (concat (format "\nReviewed by %s: %d kept, %d rejected"
                     (if (equal (plist-get event :by) "person") "you" (plist-get event :by))
                     (length (plist-get event :kept)) (length (plist-get event :rejected)))
             (mapconcat (lambda (rejection)
                          (if-let* ((reason (plist-get rejection :reason))) (format "\nReason: %s" reason) ""))
                        (plist-get event :rejected) "")))))

(defun marvin-show--notice (turn notice)
  "Show NOTICE of TURN, below the one before it where they are of a kind."
  (let* ((level (plist-get notice :level)) (key (list 'notice turn level)) (block (marvin-transcript-find key)))
    (if (and block (marvin-transcript-last-p block))
        (marvin-transcript-append block (concat "\n" (plist-get notice :text)))
      (marvin-transcript-add key (propertize (capitalize level) 'font-lock-face
                                             (pcase level ("error" 'error) ("warning" 'warning) (_ 'marvin-fold)))
                             (plist-get notice :text)))))

(defun marvin-show--compaction (compaction)
  "Show COMPACTION: what the model reads in the place of what is above, folded."
  (let* ((message (plist-get compaction :message)) (note (plist-get compaction :note))
         (key (list 'compaction (plist-get compaction :id)))
         (heading (format "%s (%s → %s tokens)"
                          (if (equal (plist-get compaction :reason) "undo")
                              "Summary taken back"
                            (concat (marvin-call-count (plist-get compaction :replaced) "earlier message") " summarised"))
                          (marvin-show--grouped (plist-get compaction :tokensBefore))
                          (marvin-show--grouped (plist-get compaction :tokensAfter)))))
    (if message
        (marvin-transcript-add
         key heading
         (concat (and note (format "No model wrote it: %s\n\n" note))
                 (mapconcat (lambda (part) (or (plist-get part :text) "")) (plist-get message :parts) ""))
         t '(marvin-markdown t))
      (marvin-transcript-add key "" heading nil '(font-lock-face marvin-fold)))))

(defun marvin-show--grouped (number)
  "NUMBER with a comma between the thousands."
  (let ((text (number-to-string number)))
    (while (string-match "\\`\\([0-9]+\\)\\([0-9]\\{3\\}\\)" text)
      (setq text (replace-match "\\1,\\2" t nil text)))
    text))

(defun marvin-show--finished (session turn event)
  "Say how TURN of SESSION has ended, as EVENT has it, unless it was just done."
  (let ((why (plist-get event :stopReason)))
    (unless (equal why "completed")
      (marvin-transcript-add (list 'end turn)
                             (propertize (pcase why
                                           ("cancelled" (if (equal turn (marvin-session-last-turn session)) "Cancelled"
                                                          "A queued prompt was cancelled"))
                                           ("denied" "Stopped: denied") ("failed" "Failed")
                                           ("roundLimit" "Stopped: too many rounds") ("budget" "Stopped: the cost limit")
                                           (_ (format "Stopped: %s" why)))
                                         'font-lock-face 'warning)
                             (or (plist-get (plist-get event :error) :message) "")))))

(defun marvin-show--draft (session draft)
  "Offer DRAFT of SESSION, a prompt that was never started."
  (let* ((buffer (current-buffer)) (id (plist-get draft :id)) (message (plist-get draft :message))
         (text (marvin-session-text message))
         (drop (lambda ()
                 (marvin-session-drop session id)
                 (with-current-buffer buffer
                   (marvin-transcript-remove (list 'draft id))))))
    (marvin-transcript-add
     (list 'draft id) "Never started"
     (concat text "\n"
             (marvin-transcript-button
              "[Take it into the input]"
              (lambda ()
                (funcall drop)
                (marvin-input-put-back text (mapcar #'marvin-show--added (marvin-session-added message)))))
             "  "
             (marvin-transcript-button "[Drop it]" drop)))))

(defun marvin-show--added (part)
  "PART of a prompt, which an editor had added to it, to go along again."
  (cons (plist-get part :label)
        (lambda () (list :type "text" :title (plist-get part :label) :text (plist-get part :text)))))

(provide 'marvin-show)
;;; marvin-show.el ends here
