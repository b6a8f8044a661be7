;;; marvin-jobs.el --- What runs beside turns  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The jobs of a project's server, in a list that follows them.

;;; Code:

(require 'marvin-client)
(require 'tabulated-list)

(defvar-local marvin-jobs--server nil "The server whose jobs are listed here.")
(defvar-local marvin-jobs--all nil "The jobs: the server's own objects.")

(defvar marvin-jobs-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "k" #'marvin-jobs-cancel)
    (define-key map (kbd "RET") #'marvin-jobs-result)
    map)
  "Keys of the list of jobs.")

(define-derived-mode marvin-jobs-mode tabulated-list-mode "Marvin jobs"
  "What Marvin does in a project beside turns."
  (setq tabulated-list-format [("State" 10 t) ("Kind" 10 t) ("Next run" 17 t) ("Title" 0 t)]
        tabulated-list-padding 1)
  (add-hook 'tabulated-list-revert-hook #'marvin-jobs--ask nil t)
  (tabulated-list-init-header))

;;;###autoload
(defun marvin-jobs ()
  "List what Marvin does in this project beside turns."
  (interactive)
  (let* ((server (marvin-current-server))
         (buffer (get-buffer-create (format "*marvin jobs: %s*" (file-name-nondirectory
                                                                 (directory-file-name (marvin-server-root server)))))))
    (with-current-buffer buffer
      (marvin-jobs-mode)
      (setq marvin-jobs--server server
            default-directory (marvin-server-root server))
      (marvin-jobs--ask))
    (pop-to-buffer buffer)))

(defun marvin-jobs--ask (&optional method params)
  "Ask METHOD, or for the list, with PARAMS, and show the jobs that come back."
  (let ((buffer (current-buffer)))
    (marvin-request marvin-jobs--server (or method 'marvin/job/list) params
                    (lambda (result)
                      (when (buffer-live-p buffer)
                        (with-current-buffer buffer
                          (setq marvin-jobs--all (append (plist-get result :jobs) nil))
                          (marvin-jobs--draw)))))))

(defun marvin-jobs--draw ()
  "Show the jobs in the current buffer."
  (setq tabulated-list-entries
        (mapcar (lambda (job)
                  (list (plist-get job :id)
                        (vector (plist-get job :state) (plist-get job :kind)
                                (if-let* ((next (plist-get job :nextRunAt)))
                                    (format-time-string "%F %R" (date-to-time next))
                                  "")
                                (plist-get job :title))))
                marvin-jobs--all))
  (tabulated-list-print t)
  (when (null marvin-jobs--all)
    (let ((inhibit-read-only t))
      (insert "Nothing runs beside turns in this project.  Press g to look again, q to leave.\n"))))

(defun marvin-jobs--here ()
  "The job at point."
  (or (seq-find (lambda (job) (equal (plist-get job :id) (tabulated-list-get-id))) marvin-jobs--all)
      (user-error "There is no job here")))

(defun marvin-jobs-cancel ()
  "Cancel the job at point."
  (interactive)
  (let ((job (marvin-jobs--here)))
    (when (yes-or-no-p (format "Cancel \"%s\"? " (plist-get job :title)))
      (marvin-jobs--ask 'marvin/job/cancel (list :jobId (plist-get job :id))))))

(defun marvin-jobs-result ()
  "Show what came of the job at point."
  (interactive)
  (message "%s" (or (plist-get (marvin-jobs--here) :result) "Nothing has come of it yet")))

(cl-defmethod marvin-notified ((_method (eql 'marvin/job/changed)) server params)
  "Keep the list of SERVER's jobs right; PARAMS have one that has changed."
  (let ((job (plist-get params :job)))
    (dolist (buffer (buffer-list))
      (when (eq server (buffer-local-value 'marvin-jobs--server buffer))
        (with-current-buffer buffer
          (let ((same (lambda (other) (equal (plist-get other :id) (plist-get job :id)))))
            (setq marvin-jobs--all
                  (if (seq-some same marvin-jobs--all)
                      (mapcar (lambda (other) (if (funcall same other) job other)) marvin-jobs--all)
                    (append marvin-jobs--all (list job)))))
          (marvin-jobs--draw))))))

(provide 'marvin-jobs)
;;; marvin-jobs.el ends here
