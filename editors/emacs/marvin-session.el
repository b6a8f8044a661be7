;;; marvin-session.el --- Sessions as Emacs knows them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A session is one stored conversation.  What its turns tell is taken in here first, in order and without gaps, and
;; then passed on to whatever shows it: the chat, questions, reviews, the mode line.

;;; Code:

(require 'marvin-document)

(cl-defstruct (marvin-session (:constructor marvin-session--make) (:copier nil))
  "The session ID of SERVER; INFO is the server's own object.
TURN runs, LAST-TURN has run; QUEUED are ids of turns that wait.  PERMISSIONS
and PATCHES are those that are open, the oldest first; REVIEWED are ids of
patches that were decided on.  DRAFTS are prompts
that were never started.  LAST-ITEM is the id of the latest message, SEQ
counts what was taken in; HELD is what came while the session was LOADING."
  id server info (seq 0) loading held turn last-turn queued permissions patches reviewed drafts last-item usage cost)

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
  "Whether a turn runs in SESSION, here or in another process."
  (or (marvin-session-turn session) (eq (plist-get (marvin-session-info session) :busy) t)))

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
  (let ((items (plist-get result :items))
        (held (nreverse (marvin-session-held session))))
    (setf (marvin-session-seq session) (or (plist-get result :seq) 0)
          (marvin-session-loading session) nil
          (marvin-session-held session) nil
          (marvin-session-turn session) (plist-get result :turnId)
          (marvin-session-queued session) nil
          (marvin-session-permissions session) (append (plist-get result :openPermissions) nil)
          (marvin-session-patches session) (append (plist-get result :pendingPatches) nil)
          (marvin-session-drafts session) (append (plist-get result :drafts) nil)
          (marvin-session-last-item session) (marvin-session--last-id items))
    (run-hook-with-args 'marvin-session-loaded-functions session result)
    (marvin-session--tell session)
    (dolist (params held)
      (marvin-session--hear session params))))

(defun marvin-session--last-id (items)
  "The id of the last message among ITEMS, a vector."
  (plist-get (seq-find (lambda (item) (equal (plist-get item :kind) "message")) (reverse items)) :id))

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
     (when (equal (plist-get result :state) "queued")
       (push (plist-get result :turnId) (marvin-session-queued session))
       (marvin-session--tell session)))
   on-error))

(defun marvin-session-cancel (session &optional turn)
  "Cancel TURN of SESSION, or the one that runs."
  (marvin-session-ask session 'marvin/turn/cancel (and turn (list :turnId turn))))

;;; What is told

(cl-defmethod marvin-notified ((_method (eql 'marvin/turn/events)) server params)
  "SERVER tells events of a turn in PARAMS."
  (when-let* ((session (gethash (plist-get params :sessionId) (marvin-server-sessions server))))
    (if (marvin-session-loading session)
        (push params (marvin-session-held session))
      (marvin-session--hear session params))))

(defun marvin-session--hear (session params)
  "Take the events in PARAMS into SESSION, unless they are known.
After a gap load it."
  (let ((seq (plist-get params :seq)) (next (1+ (marvin-session-seq session))))
    (cond
     ((< seq next))
     ((> seq next)
      (push params (marvin-session-held session))
      (marvin-session-load (marvin-session-server session) (marvin-session-id session)))
     (t
      (setf (marvin-session-seq session) seq)
      (seq-doseq (event (plist-get params :events))
        (marvin-session--note session (plist-get params :turnId) event)
        (with-demoted-errors "Marvin: %S"
          (run-hook-with-args 'marvin-session-event-functions session (plist-get params :turnId) event)))))))

(defun marvin-session--note (session turn event)
  "Note in SESSION what EVENT of TURN changes."
  (let ((is-news t))
    (pcase (plist-get event :type)
      ("turn.started"
       (setf (marvin-session-turn session) turn
             (marvin-session-queued session) (delete turn (marvin-session-queued session))))
      ("turn.finished"
       (setf (marvin-session-last-turn session) turn
             (marvin-session-queued session) (delete turn (marvin-session-queued session)))
       (when (equal turn (marvin-session-turn session))
         (setf (marvin-session-turn session) nil))
       (marvin-document-refresh (marvin-session-server session)))
      ("message.finished"
       (let ((message (plist-get event :message)))
         (unless (equal (plist-get message :role) "tool")
           (setf (marvin-session-last-item session) (plist-get message :id)))))
      ("tool.finished" (marvin-document-refresh (marvin-session-server session)))
      ("usage"
       (setf (marvin-session-usage session) (plist-get event :usage)
             (marvin-session-cost session) (plist-get event :costUsd)))
      ("permission.requested"
       (setf (marvin-session-permissions session)
             (append (marvin-session-permissions session) (list (plist-get event :permission)))))
      ("permission.resolved"
       (setf (marvin-session-permissions session)
             (marvin-session--without (plist-get event :permissionId) (marvin-session-permissions session))))
      ((or "patch.proposed" "patch.applied")
       (let ((patch (plist-get event :patch)))
         ;; One that was proposed is applied after its review; nothing of it is open by that.
         (unless (member (plist-get patch :id) (marvin-session-reviewed session))
           (setf (marvin-session-patches session)
                 (append (marvin-session--without (plist-get patch :id) (marvin-session-patches session))
                         (list patch))))))
      ("patch.resolved" (marvin-session--settle session event))
      (_ (setq is-news nil)))
    (when is-news (marvin-session--tell session))))

(defun marvin-session--without (id objects)
  "OBJECTS but the one with this ID."
  (seq-remove (lambda (object) (equal id (plist-get object :id))) objects))

(defun marvin-session--settle (session event)
  "Leave out of SESSION's patches the hunks that EVENT has decided."
  (let* ((settled (append (plist-get event :kept)
                          (mapcar (lambda (each) (plist-get each :hunkId)) (plist-get event :rejected))
                          nil))
         (id (plist-get event :patchId)))
    (push id (marvin-session-reviewed session))
    (setf (marvin-session-patches session)
          (delq nil
                (mapcar (lambda (patch)
                          (if (equal id (plist-get patch :id))
                              (marvin-session--unsettled patch settled)
                            patch))
                        (marvin-session-patches session))))))

(defun marvin-session--unsettled (patch settled)
  "PATCH with those hunks alone that are not in SETTLED, a list of ids.
Nil if there are none."
  (let ((edits (delq nil
                     (mapcar (lambda (edit)
                               (let ((hunks (seq-remove (lambda (hunk) (member (plist-get hunk :id) settled))
                                                        (append (plist-get edit :hunks) nil))))
                                 (when hunks
                                   (plist-put (copy-sequence edit) :hunks (vconcat hunks)))))
                             (plist-get patch :edits)))))
    (when edits
      (plist-put (copy-sequence patch) :edits (vconcat edits)))))

(cl-defmethod marvin-notified ((_method (eql 'marvin/session/changed)) server params)
  "SERVER tells in PARAMS that a session has changed."
  (let* ((info (plist-get params :session))
         (session (gethash (plist-get info :id) (marvin-server-sessions server))))
    (when session
      (setf (marvin-session-info session) info)
      (marvin-session--tell session)
      (unless (or (marvin-session-turn session) (marvin-session-loading session))
        (marvin-session-ask
         session 'marvin/session/load '(:limit 2)
         (lambda (result)
           ;; What was done here is known already.
           (unless (or (marvin-session-turn session)
                       (and (equal (marvin-session--last-id (plist-get result :items))
                                   (marvin-session-last-item session))
                            (equal (append (plist-get result :openPermissions) nil)
                                   (marvin-session-permissions session))))
             (marvin-session-load server (marvin-session-id session))))
         #'ignore)))))

(add-hook 'marvin-server-ready-functions #'marvin-session--reload-all t)

(provide 'marvin-session)
;;; marvin-session.el ends here
