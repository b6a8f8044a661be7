;;; marvin-chat.el --- Conversations with Marvin  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The buffer of a conversation: what its session tells, as `marvin-show' writes it, and the input at the end.

;;; Code:

(require 'marvin-completion)
(require 'marvin-context)
(require 'marvin-events)
(require 'marvin-header)
(require 'marvin-input)
(require 'marvin-questions)
(require 'marvin-show)

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
    (define-key map (kbd "C-c C-x") #'marvin-remove-context)
    (define-key map (kbd "C-c C-f") #'marvin-add-file)
    (define-key map (kbd "C-c C-b") #'marvin-add-buffer)
    (define-key map (kbd "C-c C-i") #'marvin-add-image)
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
  (setq-local header-line-format '(:eval (marvin-header marvin-chat--session)))
  ;; The server matches in its own way; what it offers is not to be filtered away.
  (setq-local completion-styles '(basic substring flex))
  (add-to-invisibility-spec 'marvin)
  ;; Words of a dictionary, which text modes may complete, are not meant here.
  (setq-local completion-at-point-functions '(marvin-completion-at-point))
  (add-hook 'kill-buffer-hook #'marvin-chat--keep-draft nil t)
  (add-hook 'pre-command-hook #'marvin-permission-look nil t)
  (visual-line-mode 1)
  (marvin-context-setup)
  (marvin-transcript-begin)
  (marvin-input-draw))

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
        (marvin-input-draw)
        (marvin-input-restore (marvin-session-id session))
        (current-buffer))))

(defun marvin-chat--name (session)
  "What the buffer of SESSION is called."
  (format "*marvin: %s*" (truncate-string-to-width (marvin-session-title session) 30 nil nil t)))

(defun marvin-chat--keep-draft ()
  "Keep what is typed and not sent when the buffer is killed."
  (when marvin-chat--session
    (marvin-input-keep (marvin-session-id marvin-chat--session))))

(defun marvin-chat-buffer (session)
  "The buffer that shows SESSION, which is loaded when there is none yet."
  (or (marvin-chat--buffer session)
      (prog1 (marvin-chat--make session)
        (marvin-session-load (marvin-session-server session) (marvin-session-id session)))))

(defun marvin-chat-show (session)
  "Go to SESSION; it is loaded when it is not shown yet."
  (marvin-session-use session)
  (pop-to-buffer (marvin-chat-buffer session))
  (goto-char (point-max)))

(defun marvin-chat-shower ()
  "A function of a session that is to be shown once the server has answered.
It goes there only if no key was pressed since now: what the person types is not
meant for a window that comes up meanwhile."
  (let ((keys num-input-keys))
    (lambda (session)
      (if (= keys num-input-keys)
          (marvin-chat-show session)
        (marvin-session-use session)
        (display-buffer (marvin-chat-buffer session))))))

(defun marvin-chat-session ()
  "The session that is meant here: this buffer's, or the project's latest."
  (or marvin-chat--session marvin-diff--session
      (marvin-session-latest (marvin-current-server))
      (user-error "There is no conversation in this project yet: M-x marvin")))

;;; Commands

(defun marvin-chat-send ()
  "Send the input; while a turn runs it is queued.  On a button, push it."
  (interactive)
  (if (< (point) marvin-transcript--input)
      (marvin-transcript-push)
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
    (let ((objects (append (marvin-context-objects) (marvin-completion-objects text))))
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
  "Cancel what is at work; what has arrived stays.
With none, cancel what is queued."
  (interactive)
  (let* ((session (marvin-chat-session)) (queued (car (marvin-session-queued session))))
    (cond ((marvin-session-busy-p session) (marvin-session-cancel session))
          (queued (marvin-session-cancel session (car queued)))
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
      (setq marvin-chat--cursor (plist-get result :cursor))
      (marvin-show-loaded session result))))

(defun marvin-chat--hear (session turn event)
  "Show EVENT of TURN in the buffer of SESSION."
  (when-let* ((buffer (marvin-chat--buffer session)))
    (with-current-buffer buffer
      (marvin-show-event session turn event))))

(defun marvin-chat--changed (session)
  "Keep the name and the header of SESSION's buffer right."
  (when-let* ((buffer (marvin-chat--buffer session)))
    (with-current-buffer buffer
      (let ((name (marvin-chat--name session)))
        (unless (string-prefix-p name (buffer-name))
          (rename-buffer name t)))
      (marvin-input-draw)
      (force-mode-line-update))))

(defun marvin-chat--server-changed ()
  "Keep all conversations right after a server's state has changed."
  (mapc #'marvin-chat--changed (marvin-sessions)))

(add-hook 'marvin-server-changed-hook #'marvin-chat--server-changed)
(add-hook 'marvin-session-loaded-functions #'marvin-chat--loaded)
(add-hook 'marvin-session-event-functions #'marvin-chat--hear)
(add-hook 'marvin-session-changed-functions #'marvin-chat--changed)

(provide 'marvin-chat)
;;; marvin-chat.el ends here
