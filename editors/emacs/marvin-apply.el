;;; marvin-apply.el --- Edits and saves that the server asks for  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; An edit is made in the buffer of its document as one undo step, and not at all where the buffer is not as the server
;; believes it to be.

;;; Code:

(require 'marvin-document)

(cl-defmethod marvin-capabilities ((_what (eql 'workspace)))
  "Edits are made."
  '(:applyEdit t :workspaceEdit (:documentChanges t) :workspaceFolders t))

(cl-defmethod marvin-asked ((_method (eql 'workspace/applyEdit)) _server params)
  "Make the edit in PARAMS, and answer whether that was done."
  (let* ((changes (append (plist-get (plist-get params :edit) :documentChanges) nil))
         (problem (seq-some #'marvin-apply--obstacle changes)))
    (unless problem
      (condition-case oops
          (dolist (change changes)
            (marvin-apply--edit change))
        (error (setq problem (error-message-string oops)))))
    (if problem
        (list :applied :json-false :failureReason problem)
      (list :applied t))))

(defun marvin-apply--obstacle (change)
  "Why CHANGE, an LSP TextDocumentEdit, cannot be made; nil when it can."
  (let* ((document (plist-get change :textDocument))
         (buffer (and document (marvin-document--find (plist-get document :uri)))))
    (cond
     ((null document) "only texts of documents are changed here")
     ((null buffer) (format "%s is not open" (plist-get document :uri)))
     (t (with-current-buffer buffer (marvin-apply--obstacle-here (plist-get document :version)))))))

(defun marvin-apply--obstacle-here (version)
  "Why the current buffer cannot be changed as its VERSION; nil when it can."
  (let ((owner (and create-lockfiles (not (buffer-modified-p)) (file-locked-p buffer-file-name))))
    (cond
     (buffer-read-only (format "%s is read-only" (buffer-name)))
     ((stringp owner) (format "%s is locked by %s" (buffer-name) owner))
     ((progn (marvin-document-take-from-disk) (marvin-document-untold-p))
      (marvin--later #'marvin-document--flush-later (current-buffer))
      (format "%s was changed meanwhile" (buffer-name)))
     ((not (equal version marvin-document--version)) (format "%s has another version" (buffer-name))))))

(defun marvin-apply--edit (change)
  "Make CHANGE, an LSP TextDocumentEdit, as one undo step."
  (with-current-buffer (marvin-document--find (plist-get (plist-get change :textDocument) :uri))
    (undo-boundary)
    (let ((group (prepare-change-group)) done)
      (unwind-protect
          (progn
            (activate-change-group group)
            (save-excursion
              (save-restriction
                (widen)
                (when (> (length (plist-get change :edits)) marvin-document--most-changes)
                  (setq marvin-document--changes 'whole))
                (dolist (edit (marvin-apply--places (plist-get change :edits)))
                  (pcase-let ((`(,beg ,end ,text) edit))
                    (goto-char beg)
                    ;; Text first, so that markers and windows at the place stay near it.
                    (insert text)
                    (delete-region (point) (+ (point) (- end beg)))))))
            (setq done t)
            (undo-amalgamate-change-group group))
        (if done (accept-change-group group) (cancel-change-group group))))
    (undo-boundary)
    ;; Not from here: the answer comes first, and a filter must not wait for the pipe.
    (marvin--later #'marvin-document--flush-later (current-buffer))))

(defun marvin-apply--places (edits)
  "EDITS as lists (BEG END TEXT), the last in the buffer first."
  (sort (mapcar (lambda (edit)
                  (let ((range (plist-get edit :range)))
                    (list (marvin-document-point (plist-get range :start))
                          (marvin-document-point (plist-get range :end))
                          (plist-get edit :newText))))
                (reverse (append edits nil)))
        (lambda (one other) (> (car one) (car other)))))

(cl-defmethod marvin-asked ((_method (eql 'marvin/document/save)) _server params)
  "Save the documents in PARAMS, and answer which are on disk now."
  (list :saved (vconcat (seq-filter #'marvin-apply--save (plist-get params :uris)))))

(defun marvin-apply--save (uri)
  "Save the document URI, and give whether it is on disk.
It is not saved when its file was changed meanwhile, when it has changes that
the server does not know, or when its coding system lacks a character."
  (when-let* ((buffer (marvin-document--find uri)))
    (with-current-buffer buffer
      (when (and (verify-visited-file-modtime buffer)
                 (file-writable-p buffer-file-name)
                 (not (marvin-document-untold-p))
                 (marvin-apply--encodable-p))
        (let ((save-silently t))
          (with-demoted-errors "Marvin: %S"
            (save-buffer 0)))
        (not (buffer-modified-p))))))

(defun marvin-apply--encodable-p ()
  "Whether the current buffer can be saved in its own coding system."
  (save-restriction
    (widen)
    (or (null buffer-file-coding-system)
        (null (unencodable-char-position (point-min) (point-max) buffer-file-coding-system)))))

(provide 'marvin-apply)
;;; marvin-apply.el ends here
