;;; init.el --- The least that Marvin needs in an init file  -*- lexical-binding: t; -*-

;;; Code:

(add-to-list 'load-path (expand-file-name "../../editors/emacs" (file-name-directory load-file-name)))
(require 'marvin)
(global-set-key (kbd "C-c m") marvin-command-map)

;;; init.el ends here
