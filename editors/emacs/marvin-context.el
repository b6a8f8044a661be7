;;; marvin-context.el --- What goes along with a prompt  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Files, pictures, buffers, regions and problems that the person adds to the next prompt.  Each is read when the prompt
;; is sent, so that it is as it is then.

;;; Code:

(require 'dnd)
(require 'marvin-input)

(declare-function flymake-diagnostics "flymake" (&optional beg end))
(declare-function flymake-diagnostic-beg "flymake" (diag))
(declare-function flymake-diagnostic-end "flymake" (diag))
(declare-function flymake-diagnostic-text "flymake" (diag &optional parts))
(declare-function flymake-diagnostic-type "flymake" (diag))
(declare-function marvin-chat--make "marvin-chat" (session))
(declare-function marvin-chat-session "marvin-chat" ())
(declare-function yank-media-handler "yank-media" (types handler))

(defconst marvin-context--pictures
  '(("png" . "image/png") ("jpg" . "image/jpeg") ("jpeg" . "image/jpeg") ("gif" . "image/gif") ("webp" . "image/webp"))
  "The types of pictures that models take, by the ends of their files' names.")

(defun marvin-context-add (label function)
  "Let what FUNCTION gives go along with the next prompt, shown as LABEL.
It is the prompt of this conversation, or of the project's latest."
  (with-current-buffer (marvin-chat--make (marvin-chat-session))
    (setq marvin-input-context (append marvin-input-context (list (cons label function))))
    (marvin-input-draw)
    (unless (get-buffer-window)
      (message "Marvin: %s goes along with the next prompt" label))))

(defun marvin-context-objects ()
  "The context of this conversation as the protocol's objects."
  (delq nil (mapcar (lambda (item) (funcall (cdr item))) marvin-input-context)))

(defun marvin-remove-context (label)
  "Let the item LABEL of the context not go along."
  (interactive (list (if (cdr marvin-input-context)
                         (completing-read "Leave out: " (mapcar #'car marvin-input-context) nil t)
                       (or (caar marvin-input-context) (user-error "There is no context")))))
  (marvin-input-remove label))

;;; Files and pictures

(defun marvin-add-file (file)
  "Let FILE go along with the next prompt; a picture is sent as one."
  (interactive "fFile: ")
  (let* ((path (marvin-context--local file)) (type (marvin-context--picture-type path)))
    (marvin-context-add
     (file-relative-name path)
     (lambda ()
       (cond ((not (file-readable-p path)) nil)
             (type (marvin-context--picture type (with-temp-buffer
                                                   (set-buffer-multibyte nil)
                                                   (insert-file-contents-literally path)
                                                   (buffer-string))))
             (t (list :type "file" :uri (marvin-path-to-uri path))))))))

(defun marvin-add-image (file)
  "Let FILE, a picture, go along with the next prompt.
With Emacs 29 and newer, \\[yank-media] in a conversation adds the one that
was copied."
  (interactive (list (read-file-name "Picture: " nil nil t nil
                                     (lambda (name) (or (file-directory-p name) (marvin-context--picture-type name))))))
  (unless (marvin-context--picture-type file)
    (user-error "%s is no picture that models take: they take %s" (file-name-nondirectory file)
                (mapconcat #'car marvin-context--pictures ", ")))
  (marvin-add-file file))

(defun marvin-context--local (file)
  "The whole name of FILE, which must not be remote."
  (let ((path (expand-file-name file)))
    (when (file-remote-p path)
      (user-error "Marvin works on local files, and %s is remote: run Emacs with Marvin over there" path))
    path))

(defun marvin-context--picture-type (file)
  "The MIME type of the picture FILE, going by its name, or nil."
  (cdr (assoc (downcase (or (file-name-extension file) "")) marvin-context--pictures)))

(defun marvin-context--picture (type bytes)
  "The protocol's object for the picture BYTES of TYPE."
  (list :type "image" :mimeType type :data (base64-encode-string bytes t)))

(defun marvin-context--yanked (type bytes)
  "Let the copied picture BYTES of TYPE, a symbol, go along."
  (unless (rassoc (symbol-name type) marvin-context--pictures)
    (user-error "Models do not take pictures of the type %s" type))
  (marvin-context-add (format "copied picture, %s" (file-size-human-readable (length bytes) 'si " " "B"))
                      (lambda () (marvin-context--picture (symbol-name type) bytes))))

(defun marvin-context--dropped (url _action)
  "Let the file of URL, which was dropped here, go along."
  (marvin-add-file (or (dnd-get-local-file-name url t) (user-error "There is no local file %s" url)))
  'private)

(defun marvin-context-setup ()
  "Let pictures be yanked and files be dropped in this conversation."
  (setq-local dnd-protocol-alist (cons '("^file:" . marvin-context--dropped) dnd-protocol-alist))
  (when (fboundp 'yank-media-handler)
    (yank-media-handler "image/.*" #'marvin-context--yanked)))

;;; Buffers, regions and problems

(defun marvin-add-buffer (buffer)
  "Let all text of BUFFER go along with the next prompt."
  (interactive "bBuffer: ")
  (let ((buffer (get-buffer buffer)))
    (marvin-context-add (buffer-name buffer) (lambda () (marvin-context--buffer buffer)))))

(defun marvin-context--buffer (buffer)
  "The context of all text of BUFFER; nil when it was killed."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (if (marvin-document-known-p)
          (list :type "buffer" :uri (marvin-document-uri) :version (marvin-document-flush))
        (list :type "text" :title (buffer-name) :text (marvin-document--text))))))

;;;###autoload
(defun marvin-add-region (beg end)
  "Let the text from BEG to END go along with the next prompt."
  (interactive "r")
  (let ((buffer (current-buffer)) (beg (copy-marker beg)) (end (copy-marker end)))
    (marvin-context-add (format "%s:%d-%d" (buffer-name) (line-number-at-pos beg t) (line-number-at-pos end t))
                        (lambda () (marvin-context-region buffer beg end)))))

(defun marvin-context-region (buffer beg end)
  "The context of BUFFER between the markers BEG and END.
Nil when it was killed."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (if (marvin-document-known-p)
          (list :type "selection" :uri (marvin-document-uri) :version (marvin-document-flush)
                :range (marvin-document-range beg end))
        (list :type "text" :title (buffer-name) :text (marvin-document--text beg end))))))

;;;###autoload
(defun marvin-add-diagnostics ()
  "Let what Flymake says about this buffer go along with the next prompt."
  (interactive)
  (unless (and (bound-and-true-p flymake-mode) (flymake-diagnostics))
    (user-error "Flymake shows no problem in this buffer"))
  (let ((buffer (current-buffer)))
    (marvin-context-add (format "problems of %s" (buffer-name)) (lambda () (marvin-context--problems buffer)))))

(defun marvin-context--problems (buffer)
  "The context of what Flymake says about BUFFER; nil when it was killed."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (list :type "diagnostics" :uri (marvin-path-to-uri buffer-file-name)
            :items (vconcat
                    (mapcar (lambda (problem)
                              (list :range (marvin-document-range (flymake-diagnostic-beg problem)
                                                                  (flymake-diagnostic-end problem))
                                    :severity (pcase (flymake-diagnostic-type problem)
                                                ((or :error 'flymake-error) 1) ((or :warning 'flymake-warning) 2) (_ 3))
                                    :message (flymake-diagnostic-text problem)))
                            (flymake-diagnostics)))))))

(provide 'marvin-context)
;;; marvin-context.el ends here
