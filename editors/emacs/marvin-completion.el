;;; marvin-completion.el --- @file, #symbol and /command in a prompt  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Files and commands are the server's to know, symbols are Emacs' (`marvin-symbol').  Both are asked without waiting;
;; completion goes on when they have answered.

;;; Code:

(require 'marvin-symbol)

(defvar-local marvin-completion--candidates nil "The last completion: (TEXT-UP-TO-POINT . ITEMS).")
(defvar-local marvin-completion--symbols nil "The symbols that were offered here, by what stands in the prompt.")

(defun marvin-completion-at-point ()
  "Complete @file, #symbol and /command at point, as far as is known.
What is not known yet is asked for, and completion goes on once it is."
  (let ((input marvin-transcript--input))
    (when (and input (>= (point) input))
      (let* ((beg (save-excursion (skip-chars-backward "^ \t\n" input) (point)))
             (text (buffer-substring-no-properties input (point)))
             (word (buffer-substring-no-properties beg (point))))
        (when (string-match-p "\\`[@#/]" word)
          (if (equal text (car marvin-completion--candidates))
              (marvin-completion--table beg (cdr marvin-completion--candidates))
            (marvin-completion--ask text word)
            nil))))))

(defun marvin-completion--table (beg items)
  "What `completion-at-point-functions' give for ITEMS from BEG on."
  (list beg (point)
        (lambda (string predicate action)
          ;; They are matched already; a table of its own rules would lose some.
          (pcase action
            ('metadata '(metadata (category . marvin) (display-sort-function . identity)))
            (_ (let ((completion-regexp-list nil))
                 (complete-with-action action (mapcar (lambda (item) (plist-get item :insertText)) items)
                                       string predicate)))))
        :annotation-function
        (lambda (candidate)
          (let ((item (seq-find (lambda (item) (equal candidate (plist-get item :insertText))) items)))
            (format "  %s" (or (plist-get item :detail) (plist-get item :kind) ""))))))

(defun marvin-completion--ask (text word)
  "Ask how TEXT, which is typed up to point and ends with WORD, can be completed."
  (let* ((buffer (current-buffer)) (session marvin-chat--session) (server (marvin-session-server session)))
    (if (string-prefix-p "#" word)
        (marvin-symbol-find server (substring word 1)
                            (lambda (symbols)
                              (when (buffer-live-p buffer)
                                (with-current-buffer buffer
                                  (marvin-completion--offer text (marvin-completion--items symbols))))))
      (marvin-session-ask
       session 'marvin/complete
       (list :text text :cursor (if (equal (marvin-server-encoding server) "utf-16")
                                    (/ (length (encode-coding-string text 'utf-16le)) 2)
                                  (length text)))
       (lambda (result)
         (when (buffer-live-p buffer)
           (with-current-buffer buffer
             (marvin-completion--offer text (append (plist-get result :items) nil)))))))))

(defun marvin-completion--offer (text items)
  "Go on with the completion of TEXT by ITEMS, unless something else is typed now."
  (when (and (>= (point) marvin-transcript--input)
             (equal text (buffer-substring-no-properties marvin-transcript--input (point))))
    (setq marvin-completion--candidates (cons text items))
    (cond ((null items) (message "Marvin: nothing completes this"))
          ((and (null (cdr items)) (string-suffix-p (plist-get (car items) :insertText) text))
           (message "Marvin: this is %s" (or (plist-get (car items) :detail) "complete")))
          (t (marvin--interact #'marvin-completion--go-on (current-buffer))))))

(defun marvin-completion--go-on (buffer)
  "Complete at point unless the person is no longer in BUFFER."
  (when (eq buffer (window-buffer))
    (completion-at-point)))

;;; Symbols

(defun marvin-completion--items (symbols)
  "SYMBOLS as items like those of the server; one name in two files is told apart."
  (let ((root default-directory) (seen nil))
    (unless marvin-completion--symbols
      (setq marvin-completion--symbols (make-hash-table :test #'equal)))
    (mapcar (lambda (symbol)
              (let* ((name (concat "#" (marvin-symbol-name symbol)))
                     (text (if (member name seen)
                               (format "%s@%s" name (file-relative-name (marvin-symbol-path symbol) root))
                             name)))
                (push name seen)
                (puthash text symbol marvin-completion--symbols)
                (list :insertText text :detail (marvin-symbol-detail symbol root))))
            symbols)))

(defun marvin-completion-objects (text)
  "The context of the symbols in TEXT, as the protocol's objects, each once."
  (let ((at 0) (symbols nil))
    (while (and marvin-completion--symbols (string-match "#[^ \t\n]+" text at))
      (setq at (match-end 0))
      (let* ((word (match-string 0 text))
             (symbol (or (gethash word marvin-completion--symbols)
                         (gethash (string-trim-right word "[].,;:!?)'\"]+") marvin-completion--symbols))))
        (when (and symbol (not (memq symbol symbols)))
          (push symbol symbols))))
    (delq nil (mapcar #'marvin-symbol-object (nreverse symbols)))))

(provide 'marvin-completion)
;;; marvin-completion.el ends here
