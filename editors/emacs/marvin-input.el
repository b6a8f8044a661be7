;;; marvin-input.el --- What is typed to Marvin  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The end of a conversation's buffer: what goes along as context, and the text that is being typed, with its history
;; and completion.  Nothing that was typed is lost: neither when it is not taken nor when the buffer is killed.

;;; Code:

(require 'marvin-session)
(require 'marvin-transcript)

(defvar marvin-chat--session)

(defvar marvin-input-history nil
  "What was sent, in all conversations, the latest first.")

(defvar marvin-input--kept (make-hash-table :test #'equal)
  "What was typed and not sent in buffers now killed, by session ids.")

(defvar-local marvin-input-context nil
  "What goes along with the next prompt: a list of (LABEL . FUNCTION).
FUNCTION gives an object of the protocol when it is sent, or nil if
there is nothing any more.")

(defvar-local marvin-input--place nil "Which entry of the history is shown, from 0; nil for none.")
(defvar-local marvin-input--typed nil "What was typed before the history was shown.")
(defvar-local marvin-input--candidates nil "The last completion: (TEXT-UP-TO-POINT . ITEMS).")

(defun marvin-input-begin ()
  "Put the prompt below the conversation."
  (marvin-input--draw))

(defun marvin-input--draw ()
  "Show the context and the prompt."
  (let ((offset (- (point) marvin-transcript--input)))
    (marvin-input--draw-above)
    (when (>= offset 0)
      (goto-char (+ marvin-transcript--input offset)))))

(defun marvin-input--draw-above ()
  "Write the context and the prompt above the input."
  (marvin-transcript--writing
    (delete-region marvin-transcript--end marvin-transcript--input)
    (goto-char marvin-transcript--end)
    (let ((beg (point)))
      (insert (if marvin-input-context
                  (format "Context: %s\n" (mapconcat #'car marvin-input-context ", "))
                "")
              "You> ")
      (add-text-properties beg (point)
                           '(read-only t front-sticky (read-only) rear-nonsticky t
                                       field marvin-prompt font-lock-face bold)))
    (set-marker marvin-transcript--input (point))))

(defun marvin-input-text ()
  "What is typed."
  (buffer-substring-no-properties marvin-transcript--input (point-max)))

(defun marvin-input--set (text)
  "Let TEXT be what is typed."
  (delete-region marvin-transcript--input (point-max))
  (goto-char (point-max))
  (insert text))

(defun marvin-input-sent (text)
  "TEXT was sent: the input is empty again."
  (setq marvin-input-history (cons text (delete text marvin-input-history))
        marvin-input--place nil
        marvin-input-context nil)
  (marvin-input--set "")
  (marvin-input--draw))

(defun marvin-input-put-back (text context)
  "TEXT with CONTEXT was not taken: put it before what was typed since."
  (setq marvin-input-context (append context marvin-input-context))
  (marvin-input--draw)
  (save-excursion
    (goto-char marvin-transcript--input)
    (insert text (if (string-empty-p (marvin-input-text)) "" "\n")))
  (goto-char (point-max)))

(defun marvin-input-keep (id)
  "Keep what is typed for the session ID."
  (unless (string-blank-p (marvin-input-text))
    (puthash id (marvin-input-text) marvin-input--kept)))

(defun marvin-input-restore (id)
  "Put back what was kept for the session ID."
  (when-let* ((text (gethash id marvin-input--kept)))
    (remhash id marvin-input--kept)
    (marvin-input--set text)))

;;; History

(defun marvin-input-previous (count)
  "Show the prompt that was sent COUNT prompts before."
  (interactive "p")
  (let ((place (+ (or marvin-input--place -1) count)))
    (unless marvin-input--place
      (setq marvin-input--typed (marvin-input-text)))
    (cond ((>= place (length marvin-input-history)) (user-error "There is no earlier prompt"))
          ((< place -1) (user-error "There is no later prompt"))
          ((= place -1) (setq marvin-input--place nil) (marvin-input--set marvin-input--typed))
          (t (setq marvin-input--place place) (marvin-input--set (nth place marvin-input-history))))))

(defun marvin-input-next (count)
  "Show the prompt that was sent COUNT prompts later."
  (interactive "p")
  (marvin-input-previous (- count)))

;;; Completion

(defun marvin-input-completion ()
  "Complete @file, #symbol and /command at point, when the server has said how.
It is asked when it has not, and completion goes on once it answers."
  (let ((input marvin-transcript--input))
    (when (and input (>= (point) input))
      (let* ((beg (save-excursion (skip-chars-backward "^ \t\n" input) (point)))
             (text (buffer-substring-no-properties input (point)))
             (word (buffer-substring-no-properties beg (point))))
        (when (string-match-p "\\`[@#/]" word)
          (if (equal text (car marvin-input--candidates))
              (marvin-input--table beg (cdr marvin-input--candidates))
            (marvin-input--ask text)
            nil))))))

(defun marvin-input--table (beg items)
  "What `completion-at-point-functions' give for ITEMS from BEG on."
  (list beg (point)
        (lambda (string predicate action)
          ;; The server has matched them; a table of its own rules would lose some.
          (pcase action
            ('metadata '(metadata (category . marvin) (display-sort-function . identity)))
            (_ (let ((completion-regexp-list nil))
                 (complete-with-action action (mapcar (lambda (item) (plist-get item :insertText)) items)
                                       string predicate)))))
        :annotation-function
        (lambda (candidate)
          (let ((item (seq-find (lambda (item) (equal candidate (plist-get item :insertText))) items)))
            (format "  %s" (or (plist-get item :detail) (plist-get item :kind) ""))))))

(defun marvin-input--ask (text)
  "Ask the server how TEXT, which is typed up to point, can be completed."
  (let ((buffer (current-buffer)) (session marvin-chat--session))
    (marvin-session-ask
     session 'marvin/complete
     (list :text text :cursor (if (equal (marvin-server-encoding (marvin-session-server session)) "utf-16")
                                  (/ (length (encode-coding-string text 'utf-16le)) 2)
                                (length text)))
     (lambda (result)
       (when (buffer-live-p buffer)
         (with-current-buffer buffer
           (when (and (>= (point) marvin-transcript--input)
                      (equal text (buffer-substring-no-properties marvin-transcript--input (point))))
             (setq marvin-input--candidates (cons text (append (plist-get result :items) nil)))
             (if (cdr marvin-input--candidates)
                 (when (eq buffer (window-buffer))
                   (completion-at-point))
               (message "Marvin: nothing completes this")))))))))

;;; Context

(defun marvin-input-add (label function)
  "Let what FUNCTION gives go along with the next prompt, shown as LABEL."
  (setq marvin-input-context (append marvin-input-context (list (cons label function))))
  (marvin-input--draw))

(defun marvin-input-objects ()
  "The context as the protocol's objects."
  (delq nil (mapcar (lambda (item) (funcall (cdr item))) marvin-input-context)))

(defun marvin-input-remove-context (label)
  "Let the item LABEL of the context not go along."
  (interactive (list (if (cdr marvin-input-context)
                         (completing-read "Leave out: " (mapcar #'car marvin-input-context) nil t)
                       (or (caar marvin-input-context) (user-error "There is no context")))))
  (setq marvin-input-context (assoc-delete-all label (copy-sequence marvin-input-context)))
  (marvin-input--draw))

(defun marvin-input-add-file (file)
  "Let FILE go along; an image is sent as one."
  (interactive "fFile: ")
  (let* ((path (expand-file-name file))
         (type (cdr (assoc (downcase (or (file-name-extension path) ""))
                           '(("png" . "image/png") ("jpg" . "image/jpeg") ("jpeg" . "image/jpeg")
                             ("gif" . "image/gif") ("webp" . "image/webp"))))))
    (when (file-remote-p path)
      (user-error "Marvin works on local files only"))
    (marvin-input-add
     (file-relative-name path)
     (lambda ()
       (cond ((not (file-readable-p path)) nil)
             (type (list :type "image" :mimeType type
                         :data (with-temp-buffer
                                 (set-buffer-multibyte nil)
                                 (insert-file-contents-literally path)
                                 (base64-encode-region (point-min) (point-max) t)
                                 (buffer-string))))
             (t (list :type "file" :uri (marvin-path-to-uri path))))))))

(defun marvin-input-add-buffer (buffer)
  "Let all text of BUFFER go along."
  (interactive "bBuffer: ")
  (let ((buffer (get-buffer buffer)))
    (marvin-input-add (buffer-name buffer) (lambda () (marvin-input--buffer-object buffer)))))

(defun marvin-input--buffer-object (buffer)
  "The context of all text of BUFFER; nil when it was killed."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (if (marvin-document-known-p)
          (list :type "buffer" :uri (marvin-document-uri) :version (marvin-document-flush))
        (list :type "text" :title (buffer-name) :text (marvin-document--text))))))

(defun marvin-input-region-object (buffer beg end)
  "The context of BUFFER between the markers BEG and END.
Nil when it was killed."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (if (marvin-document-known-p)
          (list :type "selection" :uri (marvin-document-uri) :version (marvin-document-flush)
                :range (marvin-document-range beg end))
        (list :type "text" :title (buffer-name) :text (marvin-document--text beg end))))))

(provide 'marvin-input)
;;; marvin-input.el ends here
