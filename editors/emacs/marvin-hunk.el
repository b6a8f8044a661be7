;;; marvin-hunk.el --- Where hunks are in their files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The lines of a file, as Emacs has it just now, and the place of a hunk, applied or not, among them.

;;; Code:

(require 'marvin-uri)
(require 'seq)
(require 'subr-x)

(defun marvin-hunk-lines (edit)
  "The lines of the file of EDIT, with their ends, as Emacs has it."
  (let ((text (marvin-hunk--text edit)))
    (and text (vconcat (marvin-hunk--split text)))))

(defun marvin-hunk--split (text)
  "The lines of TEXT with their ends."
  (let ((lines nil) (start 0))
    (while (string-match "[^\n]*\n\\|[^\n]+\\'" text start)
      (push (match-string 0 text) lines)
      (setq start (match-end 0)))
    (nreverse lines)))

(defun marvin-hunk--text (edit)
  "The text of the file of EDIT as it is in Emacs, or on disk.
Nil when there is none."
  (let* ((path (marvin-uri-to-path (or (plist-get edit :newUri) (plist-get edit :uri))))
         (buffer (find-buffer-visiting path)))
    (cond (buffer (with-current-buffer buffer
                    (save-restriction (widen) (buffer-substring-no-properties (point-min) (point-max)))))
          ((file-readable-p path) (with-temp-buffer (insert-file-contents path) (buffer-string))))))

(defun marvin-hunk-holds-p (lines start wanted)
  "Whether LINES has the lines WANTED from line START, which counts from 1."
  (let ((from (1- start)) (bare (lambda (line) (string-trim-right line "[\r\n]+"))))
    (and lines wanted (>= from 0) (<= (+ from (length wanted)) (length lines))
         (equal (mapcar bare wanted)
                (mapcar bare (seq-subseq lines from (+ from (length wanted))))))))

(defun marvin-hunk-place (hunk lines)
  "Where HUNK, applied or not, begins in LINES, from 0, or nil."
  (cond ((marvin-hunk-holds-p lines (plist-get hunk :newStart) (plist-get hunk :newLines))
         (1- (plist-get hunk :newStart)))
        ((marvin-hunk-holds-p lines (plist-get hunk :oldStart) (plist-get hunk :oldLines))
         (1- (plist-get hunk :oldStart)))))

(provide 'marvin-hunk)
;;; marvin-hunk.el ends here
