;;; marvin-uri.el --- Names of files as the protocol has them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Paths of local files, and their URIs.

;;; Code:

(require 'subr-x)
(require 'url-util)

(defun marvin-path-to-uri (path)
  "The URI of the file PATH."
  (concat "file://" (url-hexify-string (encode-coding-string (expand-file-name path) 'utf-8)
                                       url-path-allowed-chars)))

(defun marvin-uri-to-path (uri)
  "The path of the file with this URI."
  (decode-coding-string (url-unhex-string (string-remove-prefix "file://" uri)) 'utf-8))

(provide 'marvin-uri)
;;; marvin-uri.el ends here
