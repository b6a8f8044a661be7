;;; marvin-events.el --- What the turns of sessions tell  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Events are taken into their session, in order and without gaps, and then passed on to what shows it.

;;; Code:

(require 'marvin-session)

(cl-defmethod marvin-notified ((_method (eql 'marvin/turn/events)) server params)
  "SERVER tells events of a turn in PARAMS."
  (when-let* ((session (gethash (plist-get params :sessionId) (marvin-server-sessions server))))
    (if (marvin-session-loading session)
        (push params (marvin-session-held session))
      (marvin-events--hear session params))))

(defun marvin-events--hear (session params)
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
        (marvin-events--note session (plist-get params :turnId) event)
        (with-demoted-errors "Marvin: %S"
          (run-hook-with-args 'marvin-session-event-functions session (plist-get params :turnId) event)))))))

(defun marvin-events--held (session _result)
  "Hear what came while SESSION was being loaded."
  (let ((held (nreverse (marvin-session-held session))))
    (setf (marvin-session-held session) nil)
    (dolist (params held)
      (marvin-events--hear session params))))

(defun marvin-events--note (session turn event)
  "Note in SESSION what EVENT of TURN changes."
  (let ((is-news t))
    (pcase (plist-get event :type)
      ("turn.started"
       (setf (marvin-session-turn session) turn
             (marvin-session-queued session) (assoc-delete-all turn (marvin-session-queued session))))
      ("turn.finished"
       (setf (marvin-session-queued session) (assoc-delete-all turn (marvin-session-queued session)))
       (when (equal turn (marvin-session-turn session))
         ;; What the turn has not taken is a draft now, unless it becomes a turn of its own.
         (when (and (marvin-session-steering session) (not (equal (plist-get event :stopReason) "completed")))
           (marvin--later #'marvin-session-load (marvin-session-server session) (marvin-session-id session)))
         (setf (marvin-session-last-turn session) turn
               (marvin-session-turn session) nil
               (marvin-session-steering session) nil)
         (marvin-session-measure session))
       (marvin-document-refresh (marvin-session-server session)))
      ("message.finished"
       (let ((message (plist-get event :message)))
         (unless (equal (plist-get message :role) "tool")
           (setf (marvin-session-last-item session) (plist-get message :id)))
         (when (equal (plist-get message :role) "user")
           (marvin-session--begun session turn message)
           (setf (marvin-session-steering session)
                 (remove (marvin-session-text message) (marvin-session-steering session))))))
      ("compaction" (setf (marvin-session-last-item session) (plist-get event :id)))
      ("tool.finished" (marvin-document-refresh (marvin-session-server session)))
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
      ("patch.resolved" (marvin-events--settle session event))
      (_ (setq is-news nil)))
    (when is-news (marvin-session--tell session))))

(defun marvin-events--settle (session event)
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
                              (marvin-events--unsettled patch settled)
                            patch))
                        (marvin-session-patches session))))))

(defun marvin-events--unsettled (patch settled)
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
                                   (marvin-session-permissions session))
                            (equal (mapcar #'car (marvin-session--queued result))
                                   (mapcar #'car (marvin-session-queued session)))))
             (marvin-session-load server (marvin-session-id session))))
         #'ignore)))))

;; After those who show what was loaded.
(add-hook 'marvin-session-loaded-functions #'marvin-events--held 90)

(provide 'marvin-events)
;;; marvin-events.el ends here
