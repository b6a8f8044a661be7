;;; marvin-session.el --- Sessions as Emacs knows them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A session is one stored conversation.  What its turns tell is taken in by `marvin-events', and then passed on to
;; whatever shows it: the chat, questions, reviews, the mode line.

;;; Code:

(require 'marvin-document)

(cl-defstruct (marvin-session (:constructor marvin-session--make) (:copier nil))
  "The session ID of SERVER; INFO is the server's own object.
TURN runs, LAST-TURN has run; TURNS are conses of the ids of those that have
begun and their prompts, the latest first; QUEUED are such of turns that
wait, the next first; STEERING are prompts that were handed to the turn and
that it has not taken.  PERMISSIONS and PATCHES are those that are open, the
oldest first; REVIEWED are ids of patches that were decided on.  DRAFTS are
prompts that were never started.  LAST-ITEM is the id of the latest message,
USAGE the answer of usage/get.  SEQ counts what was taken in; HELD is what
came while the session was LOADING."
  id server info (seq 0) loading held turn last-turn turns queued steering permissions patches reviewed drafts
  last-item usage)

(defvar marvin-session-event-functions nil
  "Functions of a session, the id of a turn, and an event of it.")

(defvar marvin-session-loaded-functions nil
  "Functions of a session and the result of its session/load.")

(defvar marvin-session-changed-functions nil
  "Functions of a session of which something has changed.")

(defvar marvin-session--latest (make-hash-table :test #'equal)
  "The session that was used last, by the root of its project.")

(defun marvin-sessions ()
  "All sessions that were begun or loaded here."
  (let (all)
    (maphash (lambda (_ server)
               (maphash (lambda (_ session) (push session all)) (marvin-server-sessions server)))
             marvin-servers)
    all))

(defun marvin-session-latest (server)
  "The session of SERVER that was used last, or nil."
  (let ((session (gethash (marvin-server-root server) marvin-session--latest)))
    (and session (gethash (marvin-session-id session) (marvin-server-sessions server)) session)))

(defun marvin-session-use (session)
  "Make SESSION the one that was used last in its project."
  (puthash (marvin-server-root (marvin-session-server session)) session marvin-session--latest))

(defun marvin-session-title (session)
  "What SESSION is called."
  (let ((title (plist-get (marvin-session-info session) :title)))
    (if (or (null title) (string-empty-p title)) "New conversation" title)))

(defun marvin-session-busy-p (session)
  "Whether something is at work in SESSION, here or in another process."
  (or (marvin-session-turn session) (eq (plist-get (marvin-session-info session) :busy) t)))

(defun marvin-session-work (session)
  "What is at work in SESSION, in a word or two; nil if nothing is."
  (and (marvin-session-busy-p session)
       (or (plist-get (marvin-session-info session) :activity) "at work")))

(defun marvin-session--known (server info)
  "The session of SERVER that INFO, the server's object, is about.
It is made when it is not known."
  (let* ((id (plist-get info :id))
         (session (or (gethash id (marvin-server-sessions server))
                      (puthash id (marvin-session--make :id id :server server)
                               (marvin-server-sessions server)))))
    (setf (marvin-session-info session) info)
    session))

(defun marvin-session--tell (session)
  "Tell that something of SESSION has changed."
  (run-hook-with-args 'marvin-session-changed-functions session))

;;; Requests

(defun marvin-session-ask (session method &optional params on-result on-error)
  "Ask SESSION's server for METHOD with PARAMS and the session's id.
ON-RESULT and ON-ERROR are as in `marvin-request'."
  (marvin-request (marvin-session-server session) method
                  (append (list :sessionId (marvin-session-id session)) params)
                  on-result on-error))

(defun marvin-session-new (server options then)
  "Begin a session of SERVER with the plist OPTIONS, and call THEN with it."
  (marvin-request server 'marvin/session/new
                  (append (list :cwd (directory-file-name (marvin-server-root server))) options)
                  (lambda (result)
                    (let ((session (marvin-session--known server (plist-get result :session))))
                      (marvin-session-use session)
                      (funcall then session)))))

(defun marvin-session-load (server id &optional then)
  "Load the session ID of SERVER, again if it is known, and call THEN with it."
  (when-let* ((session (gethash id (marvin-server-sessions server))))
    (setf (marvin-session-loading session) t))
  (marvin-request server 'marvin/session/load (list :sessionId id)
                  (lambda (result)
                    (let ((session (marvin-session--known server (plist-get result :session))))
                      (marvin-session--take session result)
                      (when then (funcall then session))))
                  (lambda (problem)
                    (when-let* ((session (gethash id (marvin-server-sessions server))))
                      (setf (marvin-session-loading session) nil))
                    (marvin-show-problem problem))))

(defun marvin-session--take (session result)
  "Take RESULT, of session/load, for what SESSION is."
  (let ((items (plist-get result :items)))
    (setf (marvin-session-seq session) (or (plist-get result :seq) 0)
          (marvin-session-loading session) nil
          (marvin-session-turn session) (plist-get result :turnId)
          (marvin-session-queued session) (marvin-session--queued result)
          (marvin-session-steering session) nil
          (marvin-session-permissions session) (append (plist-get result :openPermissions) nil)
          (marvin-session-patches session) (append (plist-get result :pendingPatches) nil)
          (marvin-session-drafts session) (append (plist-get result :drafts) nil)
          (marvin-session-last-item session) (marvin-session--last-id items))
    (seq-doseq (item items)
      (marvin-session--begun session (plist-get item :turnId) (plist-get item :message)))
    (run-hook-with-args 'marvin-session-loaded-functions session result)
    (marvin-session--tell session)
    (marvin-session-measure session)))

(defun marvin-session--queued (result)
  "The turns that wait by RESULT, of session/load, with their prompts."
  (mapcar (lambda (queued) (cons (plist-get queued :turnId) (marvin-session-text (plist-get queued :message))))
          (plist-get result :queued)))

(defun marvin-session--begun (session turn message)
  "Note the prompt of TURN of SESSION, where MESSAGE is the first that it has."
  (when (and turn (equal (plist-get message :role) "user") (not (assoc turn (marvin-session-turns session))))
    (push (cons turn (marvin-session-text message)) (marvin-session-turns session))))

(defun marvin-session-text (message)
  "The text of MESSAGE, without what an editor has added to it."
  (mapconcat (lambda (part)
               (if (and (equal (plist-get part :type) "text") (null (plist-get part :label))) (plist-get part :text) ""))
             (plist-get message :parts) ""))

(defun marvin-session-added (message)
  "The parts of MESSAGE that an editor has added to it."
  (seq-filter (lambda (part) (plist-get part :label)) (plist-get message :parts)))

(defun marvin-session-measure (session)
  "Ask what SESSION has used, and tell once it is known."
  (marvin-session-ask session 'marvin/usage/get nil
                      (lambda (result)
                        (setf (marvin-session-usage session) result)
                        (marvin-session--tell session))
                      #'ignore))

(defun marvin-session--last-id (items)
  "The id of the last message or compaction among ITEMS, a vector."
  (plist-get (seq-find (lambda (item) (member (plist-get item :kind) '("message" "compaction"))) (reverse items)) :id))

(defun marvin-session--reload-all (server)
  "Load the sessions of SERVER, which is ready again."
  (maphash (lambda (id session)
             (setf (marvin-session-turn session) nil)
             (marvin-session-load server id))
           (marvin-server-sessions server)))

(defun marvin-session-say (session text context when-busy on-error)
  "Say TEXT in SESSION with CONTEXT, a list of the protocol's objects.
WHEN-BUSY is queue, steer or reject; ON-ERROR gets the problem if it
was not taken, and the text is still the person's then."
  (marvin-session-use session)
  (marvin-document-flush-all (marvin-session-server session))
  (marvin-session-ask
   session 'marvin/turn/start
   (append (list :input (vector (list :type "text" :text text))
                 :clientTurnId (format "%x-%x" (random most-positive-fixnum) (random most-positive-fixnum))
                 :whenBusy (symbol-name when-busy))
           (and context (list :context (vconcat context))))
   (lambda (result)
     (pcase (plist-get result :state)
       ("queued" (setf (marvin-session-queued session)
                       (append (marvin-session-queued session) (list (cons (plist-get result :turnId) text)))))
       ("steered" (setf (marvin-session-steering session)
                        (append (marvin-session-steering session) (list text)))))
     (marvin-session--tell session))
   on-error))

(defun marvin-session-drop (session draft)
  "Drop the prompt DRAFT of SESSION, an id: it will not be offered again."
  (setf (marvin-session-drafts session) (marvin-session--without draft (marvin-session-drafts session)))
  (marvin-session-cancel session draft))

(defun marvin-session--without (id objects)
  "OBJECTS but the one with this ID."
  (seq-remove (lambda (object) (equal id (plist-get object :id))) objects))

(defun marvin-session-cancel (session &optional turn)
  "Cancel TURN of SESSION, or the one that runs."
  (marvin-session-ask session 'marvin/turn/cancel (and turn (list :turnId turn))))

(add-hook 'marvin-server-ready-functions #'marvin-session--reload-all t)

(provide 'marvin-session)
;;; marvin-session.el ends here
