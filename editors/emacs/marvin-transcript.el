;;; marvin-transcript.el --- The blocks of a conversation  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A conversation's buffer is blocks of read-only text, one for each message, thought, tool call, question or change,
;; and the input below them.  A block can grow at its end, be replaced, and be folded; the input, its undo list and the
;; point of every window stay as they are.

;;; Code:

(require 'button)
(require 'cl-lib)
(require 'marvin-line)
(require 'marvin-markdown)

(defface marvin-fold '((t :inherit shadow))
  "Headings of what is folded: thinking, and what tools did."
  :group 'marvin)

(cl-defstruct (marvin-block (:constructor marvin-block--make) (:copier nil))
  "The block KEY from START to END; after its heading BODY begins.
FOLD is an overlay that hides the body, where there is one.  PROPERTIES go
onto all text of the body.  SINCE is when the block was made, in seconds,
ABOUT what its maker wants to remember.  CUT has the rest of the last line
where that is too long to be shown, as `marvin-line-fit' has it."
  key start body end fold properties (since (float-time)) about cut)

(defvar-local marvin-transcript--blocks nil "The blocks by their keys, which are compared by `equal'.")
(defvar-local marvin-transcript--end nil "Marker: where the next block begins, and what is below the blocks.")
(defvar-local marvin-transcript--input nil "Marker: where the input begins.")

(defvar marvin-transcript-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map button-map)
    (define-key map (kbd "RET") #'marvin-transcript-push)
    (define-key map (kbd "TAB") #'marvin-transcript-tab)
    (define-key map (kbd "<backtab>") #'backward-button)
    (define-key map "n" #'marvin-transcript-next)
    (define-key map "p" #'marvin-transcript-previous)
    map)
  "Keys on a block, in addition to those of the conversation.")

(defun marvin-transcript-button (label function &optional what face)
  "A button LABEL, in FACE, that calls FUNCTION with no argument.
WHAT says what it does, for whoever points at it."
  ;; The category is what makes it a button; the usual one would bring its own face.
  (propertize label 'button (list 'marvin) 'category 'marvin-button 'action (lambda (_) (funcall function)) 'follow-link t
              'help-echo what 'mouse-face 'highlight 'font-lock-face (or face 'button)
              'keymap marvin-transcript-map))

(defmacro marvin-transcript--writing (&rest body)
  "Do BODY, which changes text above the input, beside what the person does."
  (declare (indent 0) (debug t))
  `(let ((marvin--size (buffer-size)) (inhibit-read-only t))
     (let ((buffer-undo-list t))
       (save-excursion
         (save-restriction
           (widen)
           ,@body)))
     (marvin-transcript--shift-undo (- (buffer-size) marvin--size))))

(defun marvin-transcript--shift-undo (by)
  "Move what the undo list says about the input BY characters.
An undo that goes on knows the list by its conses, so they stay the same."
  (unless (or (eq buffer-undo-list t) (zerop by))
    (let ((shifted (make-hash-table :test #'eq)))
      (marvin-transcript--shift buffer-undo-list by shifted)
      ;; That of an undo in a region is a list of its own.
      (when (and (eq last-command 'undo) (consp pending-undo-list) (eq (current-buffer) (window-buffer)))
        (marvin-transcript--shift pending-undo-list by shifted)))))

(defun marvin-transcript--shift (undo-list by shifted)
  "Move the entries of UNDO-LIST, but those in SHIFTED, BY characters, in place."
  (while (and (consp undo-list) (not (gethash undo-list shifted)))
    (puthash undo-list t shifted)
    (let ((entry (car undo-list)))
      (pcase entry
        ((pred integerp) (setcar undo-list (+ entry by)))
        ((pred (lambda (entry) (gethash entry shifted))))
        (`(,(pred stringp) . ,(and at (pred integerp))) (setcdr entry (if (< at 0) (- at by) (+ at by))))
        (`(,(and beg (pred integerp)) . ,(and end (pred integerp))) (setcar entry (+ beg by)) (setcdr entry (+ end by)))
        ((or `(nil ,_ ,_ . ,range) `(apply ,(pred integerp) . ,range))
         (setcar range (+ (car range) by))
         (if (consp (cdr range)) (setcar (cdr range) (+ (cadr range) by)) (setcdr range (+ (cdr range) by)))))
      (when (consp entry)
        (puthash entry t shifted)))
    (setq undo-list (cdr undo-list))))

(defun marvin-transcript-begin ()
  "Make the current buffer an empty conversation, but keep the input."
  (setq marvin-transcript--blocks (make-hash-table :test #'equal))
  (if marvin-transcript--end
      (marvin-transcript--writing
        (remove-overlays (point-min) marvin-transcript--end)
        (delete-region (point-min) marvin-transcript--end))
    (setq marvin-transcript--end (copy-marker (point-min))
          marvin-transcript--input (copy-marker (point-max)))))

(defun marvin-transcript-find (key)
  "The block with KEY, or nil."
  (gethash key marvin-transcript--blocks))

(defun marvin-transcript--locked (text &optional properties)
  "TEXT as it is inserted: read-only, with PROPERTIES."
  (apply #'propertize text 'read-only t 'front-sticky '(read-only) 'rear-nonsticky t properties))

(defun marvin-transcript-add (key heading text &optional folds properties)
  "Add a block with KEY, a HEADING line and TEXT below it.
It is hidden at first if FOLDS, and such blocks stand close together.
PROPERTIES are those of TEXT.  HEADING is an empty string where there is none."
  (let ((block (marvin-block--make
                :key key
                :properties (append (if (plist-member properties 'keymap) properties
                                      (append (list 'keymap marvin-transcript-map) properties))
                                    (and folds '(line-prefix "  " wrap-prefix "  "))))))
    (marvin-transcript--writing
      (goto-char marvin-transcript--end)
      (unless (or (bobp) (and folds (get-text-property (1- (point)) 'marvin-folds)))
        (insert (marvin-transcript--locked "\n" '(marvin-gap t))))
      (setf (marvin-block-start block) (copy-marker (point)))
      (insert (if folds
                  (marvin-transcript--fold-heading block heading t)
                (marvin-transcript--heading block heading)))
      (setf (marvin-block-body block) (copy-marker (point))
            (marvin-block-end block) (copy-marker (point)))
      (insert (marvin-transcript--locked "\n" (and folds '(marvin-folds t))))
      (set-marker marvin-transcript--end (point))
      (when folds
        (let ((fold (make-overlay (1- (marvin-block-body block)) (marvin-block-end block) nil t t)))
          (overlay-put fold 'marvin-fold block)
          (overlay-put fold 'isearch-open-invisible
                       (lambda (_) (marvin-transcript--fold block nil)))
          (overlay-put fold 'invisible 'marvin)
          (setf (marvin-block-fold block) fold)))
      (puthash key block marvin-transcript--blocks)
      (marvin-transcript--insert block text))
    block))

(defun marvin-transcript--heading (block heading)
  "HEADING as a line of BLOCK; its own faces stay."
  (if (string-empty-p heading)
      ""
    (let ((line (marvin-transcript--locked (concat heading "\n") (list 'marvin-heading block))))
      (unless (get-text-property 0 'font-lock-face heading)
        (put-text-property 0 (length line) 'font-lock-face 'marvin-heading line))
      (unless (get-text-property 0 'keymap heading)
        (put-text-property 0 (length line) 'keymap marvin-transcript-map line))
      line)))

(defun marvin-transcript--fold-heading (block heading hides)
  "HEADING as a line of BLOCK, whose text is shown unless it HIDES."
  (marvin-transcript--heading
   block
   (propertize (marvin-transcript-button (concat (if hides "[show] " "[hide] ") heading)
                                         (lambda () (marvin-transcript-toggle block))
                                         "Show or hide what belongs to it" 'marvin-fold)
               'wrap-prefix "       ")))

(defun marvin-transcript--insert (block text)
  "Insert TEXT at the end of BLOCK; what is too long of a line is behind a button."
  (goto-char (marvin-block-end block))
  (let ((column (- (point) (max (marvin-block-body block) (save-excursion (forward-line 0) (point))))))
    (pcase-let ((`(,shown . ,cut) (marvin-line-fit text column (marvin-block-cut block) #'marvin-transcript--cut-button)))
      (setf (marvin-block-cut block) cut)
      (insert (marvin-transcript--locked shown (marvin-block-properties block)))))
  (set-marker (marvin-block-end block) (point)))

(defun marvin-transcript--cut-button (rest)
  "The button for the REST of a line, which is not shown."
  (marvin-transcript-button "[show the rest of this line]" (lambda () (marvin-line-show rest))
                            "Show it in a buffer of its own"))

(defun marvin-transcript-append (block text)
  "Let BLOCK grow by TEXT."
  (marvin-transcript--writing
    (marvin-transcript--insert block text)))

(defun marvin-transcript-text (block)
  "The text of BLOCK."
  (marvin-line-whole (marvin-block-body block) (marvin-block-end block)))

(defun marvin-transcript-replace (block text)
  "Put TEXT in the place of all text of BLOCK."
  (marvin-transcript--writing
    (delete-region (marvin-block-body block) (marvin-block-end block))
    (setf (marvin-block-cut block) nil)
    (marvin-transcript--insert block text)))

(defun marvin-transcript-rename (block heading)
  "Give BLOCK another HEADING."
  (let ((fold (marvin-block-fold block)))
    (marvin-transcript--writing
      (goto-char (marvin-block-start block))
      (delete-region (point) (1- (marvin-block-body block)))
      (insert (substring (if fold
                             (marvin-transcript--fold-heading block heading (overlay-get fold 'invisible))
                           (marvin-transcript--heading block heading))
                         0 -1)))))

(defun marvin-transcript-label (block)
  "The heading of BLOCK, without what says whether it is folded."
  (let ((line (buffer-substring-no-properties (marvin-block-start block) (1- (marvin-block-body block)))))
    (if (marvin-block-fold block) (substring line (length "[show] ")) line)))

(defun marvin-transcript-remove (key)
  "Remove the block with KEY."
  (when-let* ((block (marvin-transcript-find key)))
    (remhash key marvin-transcript--blocks)
    (marvin-transcript--writing
      (when (marvin-block-fold block)
        (delete-overlay (marvin-block-fold block)))
      (let ((start (marker-position (marvin-block-start block))))
        (delete-region (if (and (> start (point-min)) (get-text-property (1- start) 'marvin-gap)) (1- start) start)
                       (1+ (marvin-block-end block)))))))

(defun marvin-transcript-last-p (block)
  "Whether BLOCK is the last one."
  (= (1+ (marvin-block-end block)) marvin-transcript--end))

(defun marvin-transcript-folded-p (block)
  "Whether the text of BLOCK is hidden."
  (and (marvin-block-fold block) (overlay-get (marvin-block-fold block) 'invisible)))

(defun marvin-transcript--fold (block hides)
  "Hide the text of BLOCK if HIDES, else show it."
  (overlay-put (marvin-block-fold block) 'invisible (and hides 'marvin))
  (marvin-transcript-rename block (marvin-transcript-label block)))

;;; Commands

(defun marvin-transcript-toggle (block)
  "Hide or show the text of BLOCK; point stays in its line."
  (let ((column (current-column)))
    (marvin-transcript--fold block (not (marvin-transcript-folded-p block)))
    (goto-char (marvin-block-start block))
    (move-to-column column)))

(defun marvin-transcript-push ()
  "Push the button at point; where there is none, go to the input."
  (interactive)
  (unless (push-button)
    (goto-char (point-max))))

(defun marvin-transcript-tab ()
  "Show or hide what belongs to the heading at point, else go to the next button."
  (interactive)
  (let ((block (get-text-property (line-beginning-position) 'marvin-heading)))
    (cond ((and block (marvin-block-fold block)) (marvin-transcript-toggle block))
          ((next-button (point)) (forward-button 1))
          (t (goto-char (point-max))))))

(defun marvin-transcript-next ()
  "Go to the next heading, or to the input."
  (interactive)
  (end-of-line)
  (let ((next (next-single-property-change (point) 'marvin-heading)))
    (when (and next (not (get-text-property next 'marvin-heading)))
      (setq next (next-single-property-change next 'marvin-heading)))
    (goto-char (or next (point-max)))))

(defun marvin-transcript-previous ()
  "Go to the previous heading."
  (interactive)
  (beginning-of-line)
  (let ((previous (previous-single-property-change (point) 'marvin-heading)))
    (when previous
      (goto-char (1- previous))
      (unless (get-text-property (point) 'marvin-heading)
        (goto-char (or (previous-single-property-change (point) 'marvin-heading) (point-min)))
        (backward-char (if (bobp) 0 1)))
      (beginning-of-line))))

(provide 'marvin-transcript)
;;; marvin-transcript.el ends here
