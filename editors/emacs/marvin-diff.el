;;; marvin-diff.el --- Review of changes, hunk by hunk  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A buffer like that of `diff-mode' with the hunks of a conversation that nobody has decided about.  What is open is
;; the server's to know: a review goes on after either side was started again.

;;; Code:

(require 'marvin-hunk)
(require 'marvin-place)
(require 'marvin-session)
(require 'diff-mode)
(require 'ediff)

(defconst marvin-diff--context 3 "Lines that are shown around a hunk.")

(defvar-local marvin-diff--session nil "The session whose changes are reviewed here.")
(defvar-local marvin-diff--shown nil "The patches that the buffer shows.")
(defvar-local marvin-diff--outcomes nil "Alist of ids of hunks and what became of them.")

(defvar marvin-diff-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'diff-hunk-next)
    (define-key map "p" #'diff-hunk-prev)
    (define-key map "k" #'marvin-diff-keep)
    (define-key map "r" #'marvin-diff-reject)
    (define-key map "K" #'marvin-diff-keep-all)
    (define-key map "R" #'marvin-diff-reject-all)
    (define-key map "e" #'marvin-diff-ediff)
    (define-key map (kbd "RET") #'marvin-diff-visit)
    (define-key map "g" #'marvin-diff-redraw)
    (define-key map "q" #'quit-window)
    map)
  "Keys of a review.")

(defvar diff-mode-read-only)

(define-derived-mode marvin-diff-mode diff-mode "Marvin review"
  "Changes of a conversation that wait for a decision."
  (setq buffer-read-only t)
  (setq-local bidi-paragraph-direction 'left-to-right)
  ;; `diff-mode' puts keys of its own before all others in a read-only buffer, each Emacs in its way.
  (setq-local minor-mode-overriding-map-alist nil)
  (setq-local diff-mode-read-only nil)
  (setq header-line-format
        (substitute-command-keys
         "\\<marvin-diff-mode-map>\\[diff-hunk-next]/\\[diff-hunk-prev] next/previous, \\[marvin-diff-keep] keep, \\[marvin-diff-reject] reject with a reason, \\[marvin-diff-keep-all]/\\[marvin-diff-reject-all] all, \\[marvin-diff-ediff] ediff of the file")))

(defun marvin-diff-review (session)
  "Review the open changes of SESSION."
  (unless (marvin-session-patches session)
    (user-error "No change waits for a decision in this conversation"))
  (pop-to-buffer (marvin-diff-buffer session)))

(defun marvin-diff-buffer (session)
  "The buffer with the open changes of SESSION, with point on one of them."
  (with-current-buffer
      (or (marvin-diff--shows session)
          (generate-new-buffer (format "*marvin review: %s*" (marvin-session-title session))))
    (unless (derived-mode-p 'marvin-diff-mode)
      (marvin-diff-mode)
      (setq marvin-diff--session session
            default-directory (marvin-server-root (marvin-session-server session))))
    (marvin-diff-redraw)
    (unless (marvin-diff--at-p)
      (goto-char (or (cdar (marvin-place-all 'marvin-hunk #'marvin-diff--name)) (point-min))))
    (current-buffer)))

(defun marvin-diff--shows (session)
  "The buffer in which SESSION is reviewed, or nil."
  (seq-find (lambda (buffer) (eq session (buffer-local-value 'marvin-diff--session buffer))) (buffer-list)))

(defun marvin-diff-redraw ()
  "Show what is open now; points stay on their hunks."
  (interactive)
  (marvin-place-redraw 'marvin-hunk #'marvin-diff--name #'marvin-diff--draw))

(defun marvin-diff--draw ()
  "Write what is open now into the current buffer."
  (let ((inhibit-read-only t))
    (erase-buffer)
    (setq marvin-diff--shown (marvin-session-patches marvin-diff--session))
    (dolist (patch (marvin-session-patches marvin-diff--session))
      (seq-doseq (edit (plist-get patch :edits))
        (marvin-diff--insert-edit patch edit)))
    (when (= (buffer-size) 0)
      (insert "Nothing waits for a decision any more.  Press q to leave.\n"))
    (set-buffer-modified-p nil)))

(defun marvin-diff--insert-edit (patch edit)
  "Insert the open hunks of EDIT of PATCH."
  (let ((path (plist-get edit :path)) (kind (plist-get edit :kind)) (beg (point))
        (lines (marvin-hunk-lines edit)))
    (insert (if (equal kind "add") "--- /dev/null\n" (format "--- a/%s\n" path))
            (if (equal kind "delete") "+++ /dev/null\n"
              (format "+++ b/%s\n" (or (plist-get edit :newPath) path))))
    (seq-doseq (hunk (plist-get edit :hunks))
      (marvin-diff--insert-hunk patch hunk lines))
    (put-text-property beg (point) 'marvin-edit edit)))

(defun marvin-diff--insert-hunk (patch hunk lines)
  "Insert HUNK of PATCH; LINES are those of the file as it is."
  (let* ((old (append (plist-get hunk :oldLines) nil)) (new (append (plist-get hunk :newLines) nil))
         (at (marvin-hunk-place hunk lines))
         (there (and at (if (marvin-hunk-holds-p lines (plist-get hunk :newStart) new) new old)))
         (before (and at (seq-subseq lines (max 0 (- at marvin-diff--context)) at)))
         (after (and at (let ((end (+ at (length there))))
                          (seq-subseq lines end (min (length lines) (+ end marvin-diff--context))))))
         (beg (point)))
    (insert (format "@@ -%d,%d +%d,%d @@ %s\n"
                    (- (plist-get hunk :oldStart) (length before)) (+ (length before) (length old) (length after))
                    (- (plist-get hunk :newStart) (length before)) (+ (length before) (length new) (length after))
                    (or (alist-get (plist-get hunk :id) marvin-diff--outcomes nil nil #'equal) "open")))
    (marvin-diff--insert-lines " " before)
    (marvin-diff--insert-lines "-" old)
    (marvin-diff--insert-lines "+" new)
    (marvin-diff--insert-lines " " after)
    (put-text-property beg (point) 'marvin-hunk (cons (plist-get patch :id) hunk))))

(defun marvin-diff--insert-lines (mark lines)
  "Insert LINES, each after MARK."
  (seq-doseq (line lines)
    (insert mark (string-remove-suffix "\r" (string-remove-suffix "\n" line)) "\n")
    (unless (string-suffix-p "\n" line)
      (insert "\\ No newline at end of file\n"))))

;;; Deciding

(defun marvin-diff--at-p ()
  "The id of the patch and the hunk at point, or nil."
  (get-text-property (point) 'marvin-hunk))

(defun marvin-diff--here ()
  "The id of the patch and the hunk at point."
  (or (marvin-diff--at-p) (user-error "There is no hunk here")))

(defun marvin-diff--name (here)
  "What tells HERE, the id of a patch and a hunk of it, from all others."
  (cons (car here) (plist-get (cdr here) :id)))

(defun marvin-diff--next ()
  "The name of the hunk that follows the one at point, or of the first."
  (let ((names (mapcar #'car (marvin-place-all 'marvin-hunk #'marvin-diff--name))))
    (or (cadr (member (marvin-diff--name (marvin-diff--at-p)) names)) (car names))))

(defun marvin-diff--resolve (patch-id accept reject)
  "Accept and reject hunks of the patch PATCH-ID.
ACCEPT is a vector of ids, REJECT one of rejections.  Where that was the hunk at
point, the next one follows."
  (let ((buffer (current-buffer)) (next (marvin-diff--next)))
    (marvin-document-flush-all (marvin-session-server marvin-diff--session))
    (marvin-request
     (marvin-session-server marvin-diff--session) 'marvin/patch/resolve
     (list :patchId patch-id :accept accept :reject reject)
     (lambda (result)
       (when (buffer-live-p buffer)
         (with-current-buffer buffer
           (seq-doseq (failed (plist-get result :failed))
             (setf (alist-get (plist-get failed :hunkId) marvin-diff--outcomes nil nil #'equal)
                   (format "not done: %s" (plist-get failed :reason)))
             (message "Marvin: a hunk was left as it is: %s" (plist-get failed :reason)))
           (marvin-diff-redraw)
           (unless (marvin-diff--at-p)
             (marvin-place-go 'marvin-hunk #'marvin-diff--name next))))))))

(defun marvin-diff-keep ()
  "Keep the hunk at point."
  (interactive)
  (pcase-let ((`(,patch . ,hunk) (marvin-diff--here)))
    (marvin-diff--resolve patch (vector (plist-get hunk :id)) [])))

(defun marvin-diff-reject (reason here)
  "Reject HERE, the id of a patch and a hunk of it; the model reads REASON.
Interactively it is the hunk that point was on when the command was given."
  (interactive (let ((here (marvin-diff--here)))
                 (list (read-string "Reason (the model reads it; empty for none): ") here)))
  (marvin-diff--resolve (car here) [] (vector (marvin-diff--rejection (cdr here) reason))))

(defun marvin-diff--rejection (hunk reason)
  "The protocol's object that rejects HUNK for REASON."
  (append (list :hunkId (plist-get hunk :id))
          (and (not (string-blank-p reason)) (list :reason reason))))

(defun marvin-diff-keep-all ()
  "Keep all hunks."
  (interactive)
  (dolist (patch marvin-diff--shown)
    (marvin-diff--resolve (plist-get patch :id)
                          (vconcat (mapcar (lambda (hunk) (plist-get hunk :id)) (marvin-diff--hunks patch))) [])))

(defun marvin-diff-reject-all (reason patches)
  "Reject all hunks of PATCHES, those shown here; the model reads REASON."
  (interactive (let ((patches marvin-diff--shown))
                 (list (read-string "Reason for all (the model reads it; empty for none): ") patches)))
  (dolist (patch patches)
    (marvin-diff--resolve (plist-get patch :id) []
                          (vconcat (mapcar (lambda (hunk) (marvin-diff--rejection hunk reason))
                                           (marvin-diff--hunks patch))))))

(defun marvin-diff--hunks (patch)
  "All hunks of PATCH."
  (seq-mapcat (lambda (edit) (append (plist-get edit :hunks) nil)) (plist-get patch :edits)))

;;; Elsewhere

(defun marvin-diff-visit ()
  "Go to the place of the hunk at point in its file."
  (interactive)
  (let* ((hunk (cdr (marvin-diff--here)))
         (edit (get-text-property (point) 'marvin-edit))
         (at (marvin-hunk-place hunk (marvin-hunk-lines edit)))
         (path (marvin-uri-to-path (or (plist-get edit :newUri) (plist-get edit :uri)))))
    (unless (or (find-buffer-visiting path) (file-exists-p path))
      (user-error "%s is not there any more" (plist-get edit :path)))
    (find-file-other-window path)
    (widen)
    (goto-char (point-min))
    (forward-line (or at (1- (plist-get hunk :newStart))))))

(defun marvin-diff-ediff ()
  "Compare the file at point without and with its open hunks, by `ediff'."
  (interactive)
  (let* ((edit (or (get-text-property (point) 'marvin-edit) (user-error "There is no file here")))
         (lines (or (marvin-hunk-lines edit) []))
         (name (plist-get edit :path)))
    (marvin-diff--compare
     (marvin-diff--side edit (format "*%s without*" name) lines :newStart :newLines :oldLines)
     (marvin-diff--side edit (format "*%s with*" name) lines :oldStart :oldLines :newLines))))

(defun marvin-diff--compare (without with)
  "Compare the buffers WITHOUT and WITH by `ediff'; they go when it is left."
  (let* ((windows (current-window-configuration))
         (leave (lambda ()
                  (set-window-configuration windows)
                  (mapc #'kill-buffer (list without with)))))
    (ediff-buffers without with
                   (list (lambda () (add-hook 'ediff-after-quit-hook-internal leave nil t))))))

(defun marvin-diff--side (edit name lines start there wanted)
  "A buffer NAME with LINES, in which the hunks of EDIT are WANTED.
START and THERE say where and what they are when they are not."
  (let ((lines (append lines nil)))
    (dolist (hunk (reverse (append (plist-get edit :hunks) nil)))
      (let ((from (1- (plist-get hunk start))) (is (plist-get hunk there)))
        (when (or (and (seq-empty-p is) (<= from (length lines)))
                  (marvin-hunk-holds-p lines (1+ from) is))
          (setq lines (append (seq-take lines from) (append (plist-get hunk wanted) nil)
                              (seq-drop lines (+ from (length is))))))))
    (with-current-buffer (get-buffer-create name)
      (let ((inhibit-read-only t) (enable-local-variables nil) (buffer-file-name (plist-get edit :path)))
        (erase-buffer)
        (apply #'insert lines)
        (delay-mode-hooks (set-auto-mode)))
      (set-buffer-modified-p nil)
      (setq buffer-read-only t)
      (current-buffer))))

(defun marvin-diff--changed (session)
  "Keep the review of SESSION right."
  (when-let* ((buffer (marvin-diff--shows session)))
    (with-current-buffer buffer
      (unless (eq (marvin-session-patches session) marvin-diff--shown)
        (marvin-diff-redraw)))))

(defun marvin-diff--announce (_session _turn event)
  "Say that EVENT is a change that waits for a decision."
  (when (equal (plist-get event :type) "patch.proposed")
    (message "Marvin proposes: %s.  M-x marvin-review" (plist-get (plist-get event :patch) :title))))

(add-hook 'marvin-session-changed-functions #'marvin-diff--changed)
(add-hook 'marvin-session-event-functions #'marvin-diff--announce)

(provide 'marvin-diff)
;;; marvin-diff.el ends here
