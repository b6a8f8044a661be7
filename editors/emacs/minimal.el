;;; minimal.el --- The least that Marvin needs in an init file  -*- lexical-binding: t; no-byte-compile: t; -*-

;;; Commentary:

;; emacs -Q -l "$(marvin path emacs)/minimal.el" FILE

;;; Code:

(add-to-list 'load-path (file-name-directory load-file-name))
(require 'marvin)
(global-set-key (kbd "C-c m") marvin-command-map)

;;; minimal.el ends here
