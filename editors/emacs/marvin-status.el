;;; marvin-status.el --- Which sessions, and how they stand  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Choosing and managing conversations, their mode and model, what they cost, and the mode line.

;;; Code:

(require 'marvin-chat)

(defcustom marvin-in-mode-line t
  "Whether the mode line says what Marvin does, and that it asks."
  :type 'boolean
  :group 'marvin)

;;; Conversations

(defun marvin-status--choose (prompt query then)
  "Let a session of this project be chosen with PROMPT.
THEN is called with the server and the server's object of the session.
Only those in which QUERY, unless it is nil, was said are offered."
  (let ((server (marvin-current-server)))
    (marvin-request
     server 'marvin/session/list
     (append (list :cwd (directory-file-name (marvin-server-root server)) :limit 200)
             (and query (list :query query)))
     (lambda (result)
       (let ((infos (append (plist-get result :sessions) nil)))
         (if (null infos)
             (message "Marvin: there is no such conversation in this project")
           (marvin--interact #'marvin-status--choose-among prompt server infos then)))))))

(defun marvin-status--choose-among (prompt server infos then)
  "Let one of INFOS, sessions of SERVER, be chosen with PROMPT for THEN."
  (let* ((labels (mapcar (lambda (info)
                           (cons (format "%s  %s%s%s"
                                         (substring (plist-get info :updatedAt) 0 16)
                                         (if (string-empty-p (plist-get info :title)) "New conversation"
                                           (plist-get info :title))
                                         (if (eq (plist-get info :busy) t)
                                             (format "  (%s)" (or (plist-get info :activity) "at work"))
                                           "")
                                         (propertize (concat " " (plist-get info :id)) 'invisible t))
                                 info))
                         infos))
         (table (lambda (string predicate action)
                  (if (eq action 'metadata)
                      '(metadata (display-sort-function . identity))
                    (complete-with-action action labels string predicate))))
         (chosen (completing-read prompt table nil t)))
    (when-let* ((info (cdr (assoc chosen labels))))
      (funcall then server info))))

;;;###autoload
(defun marvin-resume (query)
  "Go on with an earlier conversation of this project.
With a prefix argument, QUERY is asked for: words that were said in it."
  (interactive (list (and current-prefix-arg (read-string "Words that were said: "))))
  (marvin-status--choose "Conversation: " query
                         (lambda (server info)
                           (marvin-chat-show (marvin-session--known server info)))))

(defun marvin-rename (title)
  "Call this conversation TITLE."
  (interactive (list (read-string "Title: " (marvin-session-title (marvin-chat-session)))))
  (marvin-status--update (marvin-chat-session) (list :title title)))

(defun marvin-archive ()
  "List this conversation only when words of it are looked for."
  (interactive)
  (marvin-status--update (marvin-chat-session) '(:archived t)))

(defun marvin-status--update (session change)
  "Make CHANGE to SESSION."
  (marvin-session-ask session 'marvin/session/update change
                      (lambda (result)
                        (setf (marvin-session-info session) (plist-get result :session))
                        (marvin-session--tell session))))

(defun marvin-fork ()
  "Begin a conversation that shares what was said in this one so far."
  (interactive)
  (let ((session (marvin-chat-session)) (show (marvin-chat-shower)))
    (marvin-session-ask session 'marvin/session/fork nil
                        (lambda (result)
                          (funcall show (marvin-session--known (marvin-session-server session)
                                                               (plist-get result :session)))))))

(defun marvin-delete ()
  "Delete this conversation, for good."
  (interactive)
  (let ((session (marvin-chat-session)))
    (when (yes-or-no-p (format "Delete the conversation \"%s\"? " (marvin-session-title session)))
      (marvin-session-ask session 'marvin/session/delete nil
                          (lambda (_)
                            (remhash (marvin-session-id session)
                                     (marvin-server-sessions (marvin-session-server session)))
                            (when-let* ((buffer (marvin-chat--buffer session)))
                              (kill-buffer buffer)))))))

;;; Options

(defun marvin-status--set (name session)
  "Let a value of the option NAME of SESSION be chosen."
  (marvin-session-ask
   session 'marvin/config/get nil
   (lambda (result)
     (let* ((option (seq-find (lambda (option) (equal name (plist-get option :name))) (plist-get result :options)))
            (choices (mapcar (lambda (choice) (plist-get choice :value)) (plist-get option :choices))))
       (marvin--interact #'marvin-status--set-to session name (plist-get option :value) choices)))))

(defun marvin-status--set-to (session name value choices)
  "Let the option NAME of SESSION, now VALUE, be one of CHOICES."
  (let ((chosen (completing-read (format "%s (now %s): " (capitalize name) value) choices nil
                                 (and choices (not (equal name "model"))))))
    (unless (string-empty-p chosen)
      (marvin-session-ask session 'marvin/config/set (list :name name :value chosen)
                          (lambda (_)
                            (setf (marvin-session-info session)
                                  (plist-put (copy-sequence (marvin-session-info session))
                                             (intern (concat ":" name)) chosen))
                            (marvin-session--tell session)
                            (message "Marvin: %s is %s" name chosen))))))

(defun marvin-set-mode ()
  "Choose what Marvin may do here: plan, review, auto or full."
  (interactive)
  (marvin-status--set "mode" (marvin-chat-session)))

(defun marvin-set-thinking ()
  "Choose how much the model thinks here."
  (interactive)
  (marvin-status--set "thinking" (marvin-chat-session)))

(defun marvin-set-provider ()
  "Choose who answers here."
  (interactive)
  (marvin-status--set "provider" (marvin-chat-session)))

(defun marvin-set-model ()
  "Choose the model that answers here; any name is taken."
  (interactive)
  (let ((session (marvin-chat-session)))
    (marvin-request
     (marvin-session-server session) 'marvin/models/list nil
     (lambda (result)
       (let ((models (seq-mapcat (lambda (provider)
                                   (mapcar (lambda (model) (plist-get model :id)) (plist-get provider :models)))
                                 (plist-get result :providers))))
         (marvin--interact #'marvin-status--set-to session "model"
                           (plist-get (marvin-session-info session) :model) models))))))

(defun marvin-usage ()
  "Say what this conversation has used and cost."
  (interactive)
  (marvin-session-ask
   (marvin-chat-session) 'marvin/usage/get nil
   (lambda (result)
     (let ((tokens (plist-get result :tokens)) (cost (plist-get result :costUsd)) (size (plist-get result :contextSize)))
       (message "Marvin: %d tokens in (%d from the cache), %d out; context %d%s; %s"
                (plist-get tokens :input) (plist-get tokens :cacheRead) (plist-get tokens :output)
                (plist-get result :contextUsed) (if size (format " of %d" size) "")
                (if cost (format "$%.4f" cost) "price unknown"))))))

;;; The mode line

(defun marvin-mode-line ()
  "What Marvin does, in a few words; empty where it is off."
  (let ((asked (length (marvin-permission-open))) (states nil)
        (work (delete-dups (delq nil (mapcar #'marvin-session-work (marvin-sessions))))))
    (maphash (lambda (_ server) (push (marvin-server-state server) states)) marvin-servers)
    (cond ((> asked 0)
           (propertize (format " Marvin asks (%d)" asked) 'face 'marvin-permission
                       'help-echo "M-x marvin-answer" 'mouse-face 'mode-line-highlight
                       'keymap (let ((map (make-sparse-keymap)))
                                 (define-key map [mode-line mouse-1] #'marvin-answer)
                                 (define-key map [mode-line mouse-2] #'marvin-answer)
                                 map)))
          ((memq 'failed states)
           (propertize " Marvin failed" 'face 'error
                       'help-echo (concat (mapconcat #'identity
                                                     (delq nil (mapcar #'marvin-server-problem
                                                                       (hash-table-values marvin-servers)))
                                                     "\n")
                                          "\nM-x marvin-restart")))
          ((seq-some #'marvin-session-patches (seq-filter (lambda (session)
                                                            (equal (plist-get (marvin-session-info session) :mode)
                                                                   "review"))
                                                          (marvin-sessions)))
           (propertize " Marvin proposes" 'face 'marvin-permission 'help-echo "M-x marvin-review"))
          (work (concat " Marvin " (if (cdr work) "at work" (car work))))
          ((memq 'starting states) " Marvin starts")
          ((memq 'ready states) " Marvin")
          (t ""))))

(defun marvin-status--changed (&rest _)
  "Keep the mode line right."
  (when marvin-in-mode-line
    (add-to-list 'mode-line-misc-info '(:eval (marvin-mode-line)) t))
  (force-mode-line-update t))

(add-hook 'marvin-server-changed-hook #'marvin-status--changed)
(add-hook 'marvin-session-changed-functions #'marvin-status--changed)

(provide 'marvin-status)
;;; marvin-status.el ends here
