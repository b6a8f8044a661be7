;;; marvin-chat.el --- Conversations with Marvin  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The buffer of a conversation: what its session tells, as blocks of `marvin-transcript', and the input at the end.

;;; Code:

(require 'marvin-session)
(require 'marvin-permission)
(require 'marvin-diff)
(require 'marvin-transcript)
(require 'marvin-input)

(defvar-local marvin-chat--session nil "The session that this buffer shows.")
(defvar-local marvin-chat--cursor nil "Where the items before those that are shown begin.")

(defvar marvin-chat-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'marvin-chat-send)
    (define-key map (kbd "C-c C-c") #'marvin-chat-send)
    (define-key map (kbd "C-c C-s") #'marvin-chat-steer)
    (define-key map (kbd "C-c C-k") #'marvin-chat-cancel)
    (define-key map (kbd "C-j") #'newline)
    (define-key map (kbd "TAB") #'completion-at-point)
    (define-key map (kbd "M-p") #'marvin-input-previous)
    (define-key map (kbd "M-n") #'marvin-input-next)
    (define-key map (kbd "C-c C-a") #'marvin-answer)
    (define-key map (kbd "C-c C-r") #'marvin-chat-review)
    (define-key map (kbd "C-c C-x") #'marvin-input-remove-context)
    (define-key map (kbd "C-c C-f") #'marvin-input-add-file)
    (define-key map (kbd "C-c C-b") #'marvin-input-add-buffer)
    (define-key map (kbd "C-c C-p") #'marvin-transcript-previous)
    (define-key map (kbd "C-c C-n") #'marvin-transcript-next)
    (define-key map (kbd "C-c C-o") #'marvin-chat-older)
    map)
  "Keys of a conversation.")

(define-derived-mode marvin-chat-mode text-mode "Marvin"
  "A conversation with Marvin."
  (setq-local font-lock-defaults '(marvin-markdown-keywords t))
  (setq-local scroll-conservatively 101)
  (setq-local bidi-paragraph-direction 'left-to-right)
  (setq-local header-line-format '(:eval (marvin-chat--header)))
  ;; The server matches in its own way; what it offers is not to be filtered away.
  (setq-local completion-styles '(basic substring flex))
  (add-to-invisibility-spec '(marvin . t))
  ;; Words of a dictionary, which text modes may complete, are not meant here.
  (setq-local completion-at-point-functions '(marvin-input-completion))
  (add-hook 'kill-buffer-hook #'marvin-chat--keep-draft nil t)
  (visual-line-mode 1)
  (marvin-transcript-begin)
  (marvin-input-begin))

;;; Which buffer

(defun marvin-chat--buffer (session)
  "The buffer that shows SESSION, or nil."
  (seq-find (lambda (buffer) (eq session (buffer-local-value 'marvin-chat--session buffer))) (buffer-list)))

(defun marvin-chat--make (session)
  "The buffer for SESSION, made when there is none."
  (or (marvin-chat--buffer session)
      (with-current-buffer (generate-new-buffer (marvin-chat--name session))
        (marvin-chat-mode)
        (setq marvin-chat--session session
              default-directory (marvin-server-root (marvin-session-server session)))
        (marvin-input-restore (marvin-session-id session))
        (current-buffer))))

(defun marvin-chat--name (session)
  "What the buffer of SESSION is called."
  (format "*marvin: %s*" (marvin-session-title session)))

(defun marvin-chat--keep-draft ()
  "Keep what is typed and not sent when the buffer is killed."
  (when marvin-chat--session
    (marvin-input-keep (marvin-session-id marvin-chat--session))))

(defun marvin-chat-show (session)
  "Show SESSION; it is loaded when it is not shown yet."
  (marvin-session-use session)
  (let ((is-new (null (marvin-chat--buffer session))))
    (pop-to-buffer (marvin-chat--make session))
    (goto-char (point-max))
    (when is-new
      (marvin-session-load (marvin-session-server session) (marvin-session-id session)))))

(defun marvin-chat-session ()
  "The session that is meant here: this buffer's, or the project's latest."
  (or marvin-chat--session marvin-diff--session
      (marvin-session-latest (marvin-current-server))
      (user-error "There is no conversation in this project yet: M-x marvin")))

(defun marvin-chat--header ()
  "What stands above a conversation."
  (when-let* ((session marvin-chat--session))
    (let* ((info (marvin-session-info session)) (queued (length (marvin-session-queued session)))
           (state (marvin-server-state (marvin-session-server session))))
      (replace-regexp-in-string
       "%" "%%"
       (string-join
        (delq nil (list (format " %s" (marvin-session-title session))
                        (format "%s" (plist-get info :model))
                        (format "mode %s" (plist-get info :mode))
                        (pcase state
                          ('ready (cond ((marvin-session-permissions session) "ASKS: C-c C-a")
                                        ((marvin-session-busy-p session) "at work")
                                        (t "ready")))
                          (_ (format "server %s" state)))
                        (and (> queued 0) (format "%d queued" queued))
                        (and (marvin-session-patches session) "changes to review: C-c C-r")))
        " | ")
       t t))))

;;; Commands

(defun marvin-chat-send ()
  "Send the input; while a turn runs it is queued.  On a button, push it."
  (interactive)
  (if (< (point) marvin-transcript--input)
      (unless (push-button)
        (goto-char (point-max)))
    (marvin-chat--say 'queue)))

(defun marvin-chat-steer ()
  "Hand the input to the turn that runs, before its next round."
  (interactive)
  (marvin-chat--say 'steer))

(defun marvin-chat--say (when-busy)
  "Send the input; WHEN-BUSY says what happens to it while a turn runs."
  (let ((buffer (current-buffer)) (text (marvin-input-text)) (context marvin-input-context))
    (when (string-blank-p text)
      (user-error "Type something first"))
    (let ((objects (marvin-input-objects)))
      (marvin-input-sent text)
      (goto-char (point-max))
      (marvin-session-say
       marvin-chat--session text objects when-busy
       (lambda (problem)
         (marvin-show-problem problem)
         (if (buffer-live-p buffer)
             (with-current-buffer buffer
               (marvin-input-put-back text context))
           (kill-new text)))))))

(defun marvin-chat-cancel ()
  "Cancel the turn that runs; what has arrived stays.
With none, cancel what is queued."
  (interactive)
  (let* ((session (marvin-chat-session)) (queued (car (marvin-session-queued session))))
    (cond ((marvin-session-busy-p session) (marvin-session-cancel session))
          (queued (marvin-session-cancel session queued))
          (t (message "Marvin: nothing runs here")))))

(defun marvin-chat-review ()
  "Review the changes of this conversation that nobody has decided about."
  (interactive)
  (marvin-diff-review marvin-chat--session))

(defun marvin-chat-older ()
  "Show the whole conversation, from its beginning on, up to a thousand items."
  (interactive)
  (unless marvin-chat--cursor
    (user-error "All of this conversation is shown"))
  (let ((session marvin-chat--session))
    (marvin-session-ask session 'marvin/session/load '(:limit 1000)
                        (lambda (result) (marvin-session--take session result)))))

;;; What the session tells

(defun marvin-chat--loaded (session result)
  "Show SESSION as RESULT of session/load has it."
  (when-let* ((buffer (marvin-chat--buffer session)))
    (with-current-buffer buffer
      (marvin-transcript-begin)
      (setq marvin-chat--cursor (plist-get result :cursor))
      (when marvin-chat--cursor
        (marvin-transcript-add 'older "There is more above: C-c C-o" ""))
      (seq-doseq (item (plist-get result :items))
        (marvin-chat--item item))
      (when-let* ((partial (plist-get result :partial)))
        (let ((id (plist-get partial :messageId)))
          (when-let* ((thought (plist-get partial :thought)))
            (marvin-chat--grow (list 'thought id) "[+] Thinking" thought))
          (marvin-chat--grow (list 'message id) "Marvin" (plist-get partial :text))))
      (dolist (permission (marvin-session-permissions session))
        (marvin-chat--question session permission))
      (dolist (draft (marvin-session-drafts session))
        (marvin-chat--draft draft)))))

(defun marvin-chat--item (item)
  "Show ITEM of a session that was loaded."
  (let ((id (plist-get item :id)))
    (pcase (plist-get item :kind)
      ("message" (marvin-chat--message (plist-get item :message)))
      ("toolCall"
       (marvin-transcript-add
        (list 'tool id)
        (format "[+] Tool %s: %s" (plist-get item :name) (plist-get item :status))
        (concat (marvin-chat--arguments (plist-get item :input)) (plist-get item :output)) t))
      ("patch" (marvin-chat--patch (plist-get item :patch) "Changed"))
      ("notice" (marvin-chat--notice id item)))))

(defun marvin-chat--arguments (input)
  "INPUT, the arguments of a tool call, as lines."
  (if (stringp input)
      (concat input "\n")
    (mapconcat (lambda (pair)
                 (format "%s: %s\n" (substring (symbol-name (car pair)) 1) (cadr pair)))
               (seq-partition input 2) "")))

(defun marvin-chat--hear (session turn event)
  "Show EVENT of TURN in the buffer of SESSION."
  (when-let* ((buffer (marvin-chat--buffer session)))
    (with-current-buffer buffer
      (marvin-chat--event session turn event))))

(defun marvin-chat--event (session turn event)
  "Show EVENT of TURN of SESSION in the current buffer."
  (let ((message (list 'message (plist-get event :messageId)))
        (thought (list 'thought (plist-get event :messageId)))
        (tool (list 'tool (plist-get event :toolCallId))))
    (pcase (plist-get event :type)
      ("message.delta" (marvin-chat--grow message "Marvin" (plist-get event :text)))
      ("message.finished" (marvin-chat--message (plist-get event :message)))
      ("thought.delta" (marvin-chat--grow thought "[+] Thinking" (plist-get event :text)))
      ("thought.finished" (marvin-chat--whole thought "[+] Thinking" (plist-get event :text)))
      ("tool.started"
       (marvin-transcript-add tool
                              (format "[+] Tool %s: %s: running" (plist-get event :name) (plist-get event :title))
                              (marvin-chat--arguments (plist-get event :input)) t))
      ("tool.output"
       (when-let* ((block (marvin-transcript-find tool)))
         (marvin-transcript-append block (plist-get event :text))))
      ("tool.finished" (marvin-chat--tool-finished tool event))
      ("permission.requested" (marvin-chat--question session (plist-get event :permission)))
      ("permission.resolved" (marvin-chat--answered event))
      ("patch.proposed" (marvin-chat--patch (plist-get event :patch) "Proposed"))
      ("patch.applied" (marvin-chat--patch (plist-get event :patch) "Changed"))
      ("patch.resolved" (marvin-chat--resolved event))
      ("notice" (marvin-chat--notice (cl-gensym) event))
      ("turn.finished" (marvin-chat--finished turn event)))))

(defun marvin-chat--grow (key heading text)
  "Let the block with KEY grow by TEXT; a new one gets HEADING."
  (let ((block (marvin-transcript-find key)))
    (if block
        (marvin-transcript-append block text)
      (marvin-transcript-add key heading text (eq (car key) 'thought)
                             (and (eq (car key) 'message) '(marvin-markdown t))))))

(defun marvin-chat--whole (key heading text)
  "Let the block with KEY have TEXT; a new one gets HEADING."
  (let ((block (marvin-transcript-find key)))
    (cond ((null block) (marvin-chat--grow key heading text))
          ((not (equal text (marvin-transcript-text block))) (marvin-transcript-replace block text)))
    (when (eq (car key) 'message)
      (marvin--later #'marvin-chat--colour (current-buffer) (marvin-transcript-find key)))))

(defun marvin-chat--colour (buffer block)
  "Colour the code of BLOCK in BUFFER."
  (when (and (buffer-live-p buffer) (marker-buffer (marvin-block-body block)))
    (with-current-buffer buffer
      (marvin-transcript--writing
        (with-silent-modifications
          (marvin-markdown-code (marvin-block-body block) (marvin-block-end block)))))))

(defun marvin-chat--message (message)
  "Show MESSAGE, whole."
  (let* ((parts (plist-get message :parts))
         (text (mapconcat (lambda (part)
                            (pcase (plist-get part :type)
                              ("text" (plist-get part :text))
                              ("image" (format "[image, %s]" (plist-get part :mimeType)))
                              (_ "")))
                          parts ""))
         (id (plist-get message :id))
         (thought (seq-find (lambda (part) (equal (plist-get part :type) "thinking")) parts)))
    (when (and thought (not (marvin-transcript-find (list 'thought id))))
      (marvin-chat--whole (list 'thought id) "[+] Thinking" (plist-get thought :text)))
    (unless (or (string-empty-p text) (equal (plist-get message :role) "tool"))
      (marvin-chat--whole (list 'message id)
                          (if (equal (plist-get message :role) "user") "You" "Marvin")
                          text))))

(defun marvin-chat--tool-finished (key event)
  "Show the result of the tool call with KEY in EVENT."
  (when-let* ((block (marvin-transcript-find key)))
    (let* ((heading (buffer-substring-no-properties (marvin-block-start block) (1- (marvin-block-body block))))
           (diff (plist-get (plist-get event :details) :diff))
           (code (plist-get event :exitCode)))
      (marvin-transcript-rename
       key (format "%s: %s, %d ms%s" (string-remove-suffix ": running" heading) (plist-get event :status)
                   (plist-get event :durationMs) (if code (format ", exit code %d" code) "")))
      (marvin-transcript-replace block (or diff (plist-get event :output) "")))))

(defun marvin-chat--question (session permission)
  "Show the card of PERMISSION, a question of SESSION."
  (unless (marvin-transcript-find (list 'question (plist-get permission :id)))
    (marvin-transcript-add (list 'question (plist-get permission :id)) ""
                           (marvin-permission-card session permission) nil
                           (list 'keymap (make-composed-keymap marvin-permission-card-map marvin-transcript-map)))))

(defun marvin-chat--answered (event)
  "Put the answer in EVENT in the place of the question's card."
  (let ((key (list 'question (plist-get event :permissionId))))
    (when-let* ((block (marvin-transcript-find key)))
      (let* ((permission (cdr (get-text-property (marvin-block-body block) 'marvin-question)))
             (text (format "Question: %s\nAnswer: %s, by %s"
                           (marvin-permission-visible
                            (or (plist-get (plist-get permission :command) :display)
                                (plist-get permission :title)))
                           (plist-get event :decision) (plist-get event :by))))
        (setf (marvin-block-properties block) (list 'keymap marvin-transcript-map))
        (marvin-transcript-replace block text)))))

(defun marvin-chat--patch (patch verb)
  "Show PATCH, which is what VERB says."
  (let ((key (list 'patch (plist-get patch :id)))
        (text (mapconcat
               (lambda (edit)
                 (let ((count (lambda (side) (seq-reduce #'+ (mapcar (lambda (hunk) (length (plist-get hunk side)))
                                                                     (plist-get edit :hunks))
                                                         0))))
                   (format "%s: +%d -%d lines" (plist-get edit :path)
                           (funcall count :newLines) (funcall count :oldLines))))
               (plist-get patch :edits) "\n")))
    (marvin-transcript-remove key)
    (marvin-transcript-add key (format "%s: %s (C-c C-r reviews it)" verb (plist-get patch :title)) text)))

(defun marvin-chat--resolved (event)
  "Show what was decided about a patch in EVENT."
  (when-let* ((block (marvin-transcript-find (list 'patch (plist-get event :patchId)))))
    (marvin-transcript-append
     block
     (concat (format "\n%d kept, %d rejected, by %s" (length (plist-get event :kept))
                     (length (plist-get event :rejected)) (plist-get event :by))
             (mapconcat (lambda (rejection)
                          (if-let* ((reason (plist-get rejection :reason))) (format "\nReason: %s" reason) ""))
                        (plist-get event :rejected) "")))))

(defun marvin-chat--notice (id notice)
  "Show NOTICE in a block with ID."
  (marvin-transcript-add (list 'notice id) (format "Notice (%s)" (plist-get notice :level))
                         (plist-get notice :text)))

(defun marvin-chat--finished (turn event)
  "Say how TURN has ended, as EVENT has it, unless it was just done."
  (let ((why (plist-get event :stopReason)))
    (unless (equal why "completed")
      (marvin-transcript-add (list 'end turn)
                             (pcase why
                               ("cancelled" "Cancelled") ("denied" "Stopped: denied") ("failed" "Failed")
                               ("roundLimit" "Stopped: too many rounds") ("budget" "Stopped: the cost limit")
                               (_ (format "Stopped: %s" why)))
                             (or (plist-get (plist-get event :error) :message) "")))))

(defun marvin-chat--draft (draft)
  "Offer DRAFT, a prompt that was never started."
  (let* ((session marvin-chat--session) (buffer (current-buffer)) (id (plist-get draft :id))
         (text (mapconcat (lambda (part) (or (plist-get part :text) ""))
                          (plist-get (plist-get draft :message) :parts) ""))
         (drop (lambda ()
                 (marvin-session-cancel session id)
                 (with-current-buffer buffer
                   (marvin-transcript-remove (list 'draft id)))))
         (button (lambda (label function)
                   (make-text-button label nil 'action (lambda (_) (funcall function)) 'help-echo nil)
                   label)))
    (marvin-transcript-add
     (list 'draft id) "Never started"
     (concat text "\n"
             (funcall button (copy-sequence "[Take it into the input]")
                      (lambda () (funcall drop) (marvin-input-put-back text nil)))
             "  "
             (funcall button (copy-sequence "[Drop it]") drop)))))

(defun marvin-chat--changed (session)
  "Keep the name and the header of SESSION's buffer right."
  (when-let* ((buffer (marvin-chat--buffer session)))
    (with-current-buffer buffer
      (let ((name (marvin-chat--name session)))
        (unless (string-prefix-p name (buffer-name))
          (rename-buffer name t)))
      (force-mode-line-update))))

(add-hook 'marvin-session-loaded-functions #'marvin-chat--loaded)
(add-hook 'marvin-session-event-functions #'marvin-chat--hear)
(add-hook 'marvin-session-changed-functions #'marvin-chat--changed)

(provide 'marvin-chat)
;;; marvin-chat.el ends here
