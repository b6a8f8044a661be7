;;; marvin-hidden.el --- Characters that cannot be seen  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What the person decides on is shown with all that is in it: what is invisible, looks like a blank or reorders others
;; is written as \u{202E}, by its number.

;;; Code:

(require 'seq)
(require 'subr-x)

(defun marvin-hidden-p (character)
  "Whether CHARACTER is invisible, looks like a blank, or acts on others."
  (or (memq character '(#x34f #x115f #x1160 #x17b4 #x17b5 #x2800 #x3164 #xffa0))
      (<= #xfe00 character #xfe0f)
      (<= #x180b character #x180f)
      (<= #xe0000 character #xe0fff)
      (memq (get-char-code-property character 'general-category) '(Cc Cf Cs Co Cn Zl Zp Zs))))

(defun marvin-hidden-number (character)
  "CHARACTER written out."
  (format "\\u{%X}" character))

(defun marvin-hidden-shown (text)
  "TEXT with every invisible or misleading character written out."
  (replace-regexp-in-string
   "[^\n\t -~]+"
   (lambda (match)
     (if (seq-some #'marvin-hidden-p match)
         (mapconcat (lambda (character)
                      (if (marvin-hidden-p character)
                          (propertize (marvin-hidden-number character) 'font-lock-face 'error)
                        (string character)))
                    match "")
       match))
   text t t))

(defun marvin-hidden-edit (prompt text)
  "TEXT as the person edits it after PROMPT.
What hides in it is written out on the screen and, where something of that
stays, once more before it is taken."
  (let ((edited (read-string prompt (mapconcat #'marvin-hidden--covered text ""))))
    (unless (or (equal edited (marvin-hidden-shown edited))
                (yes-or-no-p (format "With what hides written out it is: %s\nIs that meant? " (marvin-hidden-shown edited))))
      (user-error "Nothing was answered"))
    edited))

(defun marvin-hidden--covered (character)
  "CHARACTER as a text that can be edited, on the screen as it is written out."
  (if (or (eq character ?\n) (not (marvin-hidden-p character)))
      (string character)
    ;; What is typed behind it must not be covered too.
    (propertize (string character) 'rear-nonsticky t 'display (marvin-hidden-number character))))

(provide 'marvin-hidden)
;;; marvin-hidden.el ends here
