;;; marvin-call.el --- Tool calls, as folded blocks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A line says what is done, how it ended and how long it took; below it, folded, is what came of it.

;;; Code:

(require 'marvin-transcript)

(defconst marvin-call--widest 50 "Columns in which a heading says what a tool does; all of it is below.")

(defun marvin-call-started (call title)
  "Show CALL, an item or an event, of which TITLE says what it does."
  (let* ((name (plist-get call :name)) (input (plist-get call :input)) (title (or title ""))
         (what (cond ((string-empty-p title) name)
                     ((string-prefix-p name title) title)
                     (t (format "%s: %s" name title))))
         (short (truncate-string-to-width (string-join (split-string what) " ") marvin-call--widest nil nil t))
         (block (marvin-transcript-add
                 (list 'tool (or (plist-get call :toolCallId) (plist-get call :id)))
                 (concat short ": running")
                 (if (stringp input)
                     (concat input "\n")
                   (mapconcat (lambda (pair) (format "%s: %s\n" (substring (symbol-name (car pair)) 1) (cadr pair)))
                              (seq-partition input 2) ""))
                 t)))
    (unless (equal short what)
      (setf (marvin-block-about block) what))
    block))

(defun marvin-call-title (input)
  "What the arguments INPUT of a tool call are about: the first that is a text."
  (if (stringp input) input (seq-find #'stringp input)))

(defun marvin-call-finished (block result output &optional diff)
  "Show in BLOCK that a tool call has ended with RESULT.
OUTPUT, or a DIFF in its place, is shown."
  (let ((code (plist-get result :exitCode)) (duration (plist-get result :durationMs)))
    (marvin-transcript-rename
     block (format "%s: %s%s%s, %s" (string-remove-suffix ": running" (marvin-transcript-label block))
                   (pcase (plist-get result :status)
                     ("ok" "done") ("error" "failed") (status status))
                   (if duration (concat " in " (marvin-call-duration duration)) "")
                   (if code (format ", exit code %d" code) "")
                   (marvin-call-lines (or diff output))))
    (marvin-transcript-replace
     block (concat (and (marvin-block-about block) (concat (marvin-block-about block) "\n\n"))
                   (string-trim-right (if diff (marvin-markdown-diff diff) output) "\n")))))

(defun marvin-call-duration (milliseconds)
  "MILLISECONDS in words."
  (cond ((< milliseconds 1000) (format "%d ms" milliseconds))
        ((< milliseconds 60000) (format "%.1f s" (/ milliseconds 1000.0)))
        (t (format "%d min %d s" (/ milliseconds 60000) (/ (mod milliseconds 60000) 1000)))))

(defun marvin-call-lines (text)
  "How many lines TEXT has, in words."
  (marvin-call-count (length (split-string text "\n" t)) "line"))

(defun marvin-call-count (count what)
  "COUNT of WHAT, in words."
  (format "%s %s%s" (if (zerop count) "no" count) what (if (= count 1) "" "s")))

(provide 'marvin-call)
;;; marvin-call.el ends here
