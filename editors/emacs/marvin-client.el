;;; marvin-client.el --- The Marvin server of a project  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One process of `marvin lsp' for each project: started, asked, told, noticed when it dies, and started again.
;; Nothing here waits for an answer.  What the server says goes through the queue of `marvin-queue'; only the server's
;; own requests are answered at once.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'marvin-project)
(require 'marvin-queue)
(require 'marvin-uri)
(require 'subr-x)

(defgroup marvin nil
  "Marvin, an assistant that lives in the editor."
  :group 'tools
  :prefix "marvin-")

(defcustom marvin-command '("marvin" "lsp")
  "The program that is Marvin's server, and its arguments.
An Emacs that was started from the desktop may lack the shell's PATH;
give the program's whole name then."
  :type '(repeat string))

(defconst marvin--deaths 3
  "A server that died so often within a minute is not started again.")

(defconst marvin--patience 20
  "Seconds after which a server that has not said what it is counts as failed.")

(cl-defstruct (marvin-server (:constructor marvin-server--make) (:copier nil))
  "The server of the project in the folder ROOT.
STATE is starting, ready, stopping, stopped or failed; then PROBLEM
says why.  WAITING are requests for when it is ready, SESSIONS those
that were begun or loaded here, by their ids, DEATHS times of deaths."
  root connection (state 'stopped) problem waiting features encoding status deaths
  (sessions (make-hash-table :test #'equal)))

(defvar marvin-servers (make-hash-table :test #'equal)
  "The servers, by the root of their project.")

(defvar marvin-server-ready-functions nil
  "Functions of a server that is ready, for the first time or again.")

(defvar marvin-server-changed-hook nil
  "Run after the state of a server has changed.")

(cl-defgeneric marvin-notified (_method _server _params)
  "Hear that SERVER notified METHOD with PARAMS."
  nil)

(cl-defgeneric marvin-asked (method _server _params)
  "Give what is to be answered to the request METHOD of SERVER with PARAMS."
  (jsonrpc-error :code -32601 :message (format "this client does not know %s" method)))

(cl-defgeneric marvin-capabilities (_what)
  "What the client can do in respect of WHAT, as LSP has it: a plist."
  nil)

;;; Which server

(defun marvin-current-server ()
  "The server for the current buffer, started when it is not there.
For the home folder, or all of the disk, the person is asked first."
  (let* ((root (marvin-project-root))
         (server (or (gethash root marvin-servers)
                     (progn
                       (marvin-project-ask root)
                       (puthash root (marvin-server--make :root root) marvin-servers)))))
    (when (memq (marvin-server-state server) '(stopped failed))
      (marvin-server-start server))
    server))

(defun marvin-server-of (path)
  "The server that runs for the project that the file PATH is in, or nil."
  (let (found)
    (maphash (lambda (root server)
               (when (and (memq (marvin-server-state server) '(starting ready))
                          (or (string-prefix-p root path)
                              (string-prefix-p (file-truename root) path))
                          (or (null found) (> (length root) (length (marvin-server-root found)))))
                 (setq found server)))
             marvin-servers)
    found))

;;; Beginning and end

(defun marvin-server-start (server)
  "Start SERVER, or say what has to be set for that."
  (let* ((default-directory (marvin-server-root server))
         (program (or (executable-find (car marvin-command))
                      (user-error "There is no program `%s' in `exec-path': set `marvin-command' to its whole name, as in (\"/home/me/.local/bin/marvin\" \"lsp\")"
                                  (car marvin-command))))
         (name (format "marvin %s" (file-name-nondirectory (directory-file-name default-directory))))
         (stderr (format "*%s stderr*" name)))
    (marvin--set-state server 'starting)
    (setf (marvin-server-problem server) nil)
    (setf (marvin-server-connection server)
          (apply #'make-instance 'jsonrpc-process-connection
                 :name name
                 :process (lambda ()
                            (make-process :name name :command (cons program (cdr marvin-command))
                                          :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                                          :stderr (get-buffer-create stderr)))
                 :request-dispatcher (lambda (_ method params) (marvin--unasked (marvin-asked method server params)))
                 :notification-dispatcher
                 (lambda (_ method params) (marvin--later #'marvin-notified method server params))
                 :on-shutdown (lambda (connection) (marvin--ended server connection))
                 ;; jsonrpc 1.0.18 gave it another name; a log would cost more than all the rest.
                 (if (slot-exists-p 'jsonrpc-connection '-events-buffer-config)
                     '(:events-buffer-config (:size 0))
                   '(:events-buffer-scrollback-size 0))))
    (marvin--send server 'initialize (marvin--introduction server)
                  (lambda (result) (marvin--begin server result))
                  (lambda (problem)
                    (unless (marvin-server-problem server)
                      (marvin--fail server (marvin-problem-text problem)))))
    (run-at-time marvin--patience nil #'marvin--give-up server (marvin-server-connection server))))

(defun marvin--give-up (server connection)
  "Let SERVER fail if it has CONNECTION and has not said what it is."
  (when (and (eq connection (marvin-server-connection server)) (eq (marvin-server-state server) 'starting))
    (marvin--fail server (format "`%s' did not answer within %d s" (string-join marvin-command " ") marvin--patience))
    (delete-process (jsonrpc--process connection))))

(defun marvin--introduction (server)
  "The params of SERVER's initialize."
  (list :processId (emacs-pid)
        :clientInfo (list :name "Emacs" :version emacs-version)
        :rootUri (marvin-path-to-uri (directory-file-name (marvin-server-root server)))
        :workspaceFolders (vector (list :uri (marvin-path-to-uri (directory-file-name (marvin-server-root server)))
                                        :name (file-name-nondirectory (directory-file-name (marvin-server-root server)))))
        :capabilities (list :general '(:positionEncodings ["utf-32" "utf-16"])
                            :workspace (marvin-capabilities 'workspace)
                            :textDocument (marvin-capabilities 'textDocument)
                            :experimental (list :marvin (list :protocolVersion 1 :documentSave (make-hash-table))))))

(defun marvin--begin (server result)
  "SERVER is ready; RESULT is what it said of itself."
  (let* ((capabilities (plist-get result :capabilities))
         (marvin (plist-get (plist-get capabilities :experimental) :marvin)))
    (if (not (eql (plist-get marvin :protocolVersion) 1))
        (progn
          (marvin--fail server "it speaks another version of the protocol: update this package, or the program")
          (marvin-server-stop server))
      (setf (marvin-server-encoding server) (or (plist-get capabilities :positionEncoding) "utf-16")
            (marvin-server-features server) (plist-get marvin :features))
      (jsonrpc-notify (marvin-server-connection server) 'initialized (make-hash-table))
      (marvin--set-state server 'ready)
      (message "Marvin is ready")
      (run-hook-with-args 'marvin-server-ready-functions server)
      (let ((waiting (nreverse (marvin-server-waiting server))))
        (setf (marvin-server-waiting server) nil)
        (dolist (request waiting)
          (apply #'marvin-request server request))))))

(defun marvin-server-stop (server &optional then)
  "End SERVER: its turns are cancelled and its questions denied.
Call THEN, a function without arguments, afterwards."
  (let ((connection (marvin-server-connection server)))
    (if (not (and connection (jsonrpc-running-p connection)))
        (when then (funcall then))
      (unless (eq (marvin-server-state server) 'failed)
        (marvin--set-state server 'stopping))
      (process-put (jsonrpc--process connection) 'marvin-then then)
      (let ((leave (lambda (&rest _)
                     (when (jsonrpc-running-p connection)
                       (jsonrpc-notify connection 'exit nil)))))
        (marvin--send server 'shutdown nil leave leave))
      (run-at-time 4 nil (lambda ()
                           (when (jsonrpc-running-p connection)
                             (delete-process (jsonrpc--process connection))))))))

(defun marvin--ended (server connection)
  "The process of SERVER with CONNECTION is gone.
Start it again unless that was meant."
  (let* ((process (jsonrpc--process connection))
         (then (process-get process 'marvin-then))
         (last-line (marvin--last-line (jsonrpc-stderr-buffer connection)))
         (how (format "exit code %s%s" (process-exit-status process)
                      (if last-line (format ": %s" last-line) ""))))
    (when (eq connection (marvin-server-connection server))
      (setf (marvin-server-connection server) nil)
      (pcase (marvin-server-state server)
        ('stopping (marvin--set-state server 'stopped))
        ('starting (marvin--fail server how))
        ('ready (marvin--died server how))
        ;; The end of the process says something of its own, and has covered why.
        ('failed (marvin--later #'marvin--tell-problem server))))
    (when then (marvin--later then))))

(defun marvin--died (server how)
  "SERVER died in the midst of its work; HOW says with what last words."
  (let* ((now (float-time))
         (deaths (cons now (seq-filter (lambda (time) (< (- now time) 60)) (marvin-server-deaths server)))))
    (setf (marvin-server-deaths server) deaths)
    (if (>= (length deaths) marvin--deaths)
        (marvin--fail server (format "it died %d times within a minute (%s)" (length deaths) how))
      (message "Marvin died (%s) and is started again; the conversation is kept" how)
      (marvin--set-state server 'starting)
      (marvin--later (lambda ()
                       (condition-case problem
                           (marvin-server-start server)
                         (user-error (marvin--fail server (error-message-string problem)))))))))

(defun marvin--fail (server problem)
  "SERVER is not there because of PROBLEM, a text.
Say so, to whoever waits as well."
  (setf (marvin-server-problem server) problem)
  (marvin--set-state server 'failed)
  (marvin--tell-problem server)
  (let ((waiting (marvin-server-waiting server)))
    (setf (marvin-server-waiting server) nil)
    (dolist (request waiting)
      (when-let* ((on-error (nth 3 request)))
        (marvin--later on-error (list :code -1 :message problem))))))

(defun marvin--tell-problem (server)
  "Say why SERVER is not there."
  (message "Marvin is not there: %s.  Then M-x marvin-restart" (marvin-server-problem server)))

(defun marvin--set-state (server state)
  "Put STATE down for SERVER, and tell."
  (setf (marvin-server-state server) state)
  (run-hooks 'marvin-server-changed-hook))

(defun marvin--last-line (buffer)
  "The last line in BUFFER that says something, or nil."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (save-excursion
        (goto-char (point-max))
        ;; Emacs itself adds a last line, about the pipe.
        (while (and (re-search-backward "[^ \t\n]" nil t)
                    (progn (beginning-of-line) (looking-at-p "Process .* stderr "))))
        (unless (looking-at-p "Process .* stderr \\|$")
          (buffer-substring-no-properties (line-beginning-position) (line-end-position)))))))

;;; Talking

(defun marvin-request (server method &optional params on-result on-error)
  "Ask SERVER for METHOD with the plist PARAMS.
ON-RESULT is called with the result, or ON-ERROR with a plist of :code,
:message and :data; without ON-ERROR the message is shown.  A server
that is being started is asked once it is ready."
  (pcase (marvin-server-state server)
    ('ready (marvin--send server method params on-result on-error))
    ('starting (push (list method params on-result (or on-error #'marvin-show-problem))
                     (marvin-server-waiting server)))
    (_ (marvin--later (or on-error #'marvin-show-problem)
                      (list :code -1 :message "Marvin is not running here: M-x marvin-restart")))))

(defun marvin--send (server method params on-result on-error)
  "Send the request METHOD to SERVER now.
PARAMS, ON-RESULT and ON-ERROR are as in `marvin-request'.  Where the process
has ended meanwhile nothing is sent: its end is dealt with as soon as Emacs
tells of it."
  (let ((connection (marvin-server-connection server)))
    (condition-case problem
        (jsonrpc-async-request
         connection method (or params (make-hash-table))
         :timeout nil
         :success-fn (lambda (result) (marvin--later (or on-result #'ignore) result))
         :error-fn (lambda (problem) (marvin--later (or on-error #'marvin-show-problem) problem)))
      (error (when (jsonrpc-running-p connection)
               (signal (car problem) (cdr problem)))))))

(defun marvin-notify (server method params)
  "Notify SERVER, when it is ready, of METHOD with PARAMS."
  (when (eq (marvin-server-state server) 'ready)
    (jsonrpc-notify (marvin-server-connection server) method params)))

(defun marvin-problem-text (problem)
  "What PROBLEM, the error of a request, says."
  (or (plist-get problem :message) "the server gave no reason"))

(defun marvin-show-problem (problem)
  "Show what PROBLEM, the error of a request, says."
  (message "Marvin: %s" (marvin-problem-text problem)))

(cl-defmethod marvin-notified ((_method (eql 'marvin/status/changed)) server params)
  "PARAMS say how SERVER is doing."
  (setf (marvin-server-status server) params)
  (when (equal (plist-get params :kind) "warning")
    (message "Marvin: %s" (plist-get params :message)))
  (run-hooks 'marvin-server-changed-hook))

(cl-defmethod marvin-notified ((_method (eql 'window/showMessage)) _server params)
  "PARAMS have a message for the person."
  (message "Marvin: %s" (plist-get params :message)))

(provide 'marvin-client)
;;; marvin-client.el ends here
