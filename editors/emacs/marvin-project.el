;;; marvin-project.el --- The folder in which Marvin works  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The root of a project, as `project-current' has it, else the folder itself.

;;; Code:

(require 'project)
(require 'seq)

(defun marvin-project-root (&optional directory)
  "The root of the project that DIRECTORY, or the current one, is in.
Without a project it is the directory itself."
  (let ((directory (expand-file-name (or directory default-directory))))
    (when-let* ((remote (file-remote-p directory)))
      (user-error "Marvin works on local files, and %s is remote: run Emacs with Marvin over there" remote))
    (let ((project (project-current nil directory)))
      (file-name-as-directory (expand-file-name (if project (project-root project) directory))))))

(defun marvin-project-ask (root)
  "Ask whether ROOT is to be a project where it is the home folder or all there is.
Signal an error unless the person says so."
  (when (seq-some (lambda (folder) (file-equal-p root folder)) '("~/" "/"))
    (unless (yes-or-no-p (format "There is no project here.  Let Marvin work in all of %s? " root))
      (user-error "Go to a project first, or make one by `git init'"))))

(provide 'marvin-project)
;;; marvin-project.el ends here
