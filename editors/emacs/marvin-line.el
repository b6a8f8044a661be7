;;; marvin-line.el --- Lines that are too long to be shown  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Emacs is slow to show a line of very many characters, wherever in it point is.  Of such a line only the beginning
;; comes into a conversation; all of it is kept behind a button.

;;; Code:

(defconst marvin-line--longest 2000 "Characters of a line that are shown.")

(defun marvin-line-fit (text column cut button)
  "How TEXT is shown behind COLUMN characters of its line, and what is cut then.
It is a cons of a string and of the rest of its last line, or nil: a list of
strings, the latest first, to be given as CUT when more of that line comes.
BUTTON is a function that gives, for such a rest, the text that stands for it.
Text with the property `marvin-whole' is never cut."
  (if (or (string-empty-p text) (get-text-property 0 'marvin-whole text)
          (and (null cut) (<= (+ column (length text)) marvin-line--longest)))
      (cons text nil)
    (let ((shown nil) (at 0))
      (while (< at (length text))
        (let* ((newline (string-search "\n" text at)) (end (or newline (length text)))
               (room (- marvin-line--longest column)))
          (cond (cut
                 ;; In place: the button has this list.
                 (setcdr cut (cons (car cut) (cdr cut)))
                 (setcar cut (substring text at end)))
                ((<= (- end at) room) (push (substring text at end) shown))
                (t (setq cut (list (substring text (+ at room) end)))
                   (push (substring text at (+ at room)) shown)
                   (push (propertize (funcall button cut) 'marvin-cut cut) shown)))
          (when newline
            (push "\n" shown)
            (setq cut nil column 0))
          (setq at (1+ end))))
      (cons (apply #'concat (nreverse shown)) cut))))

(defun marvin-line-whole (beg end)
  "The text between BEG and END of the current buffer, with what was cut of it."
  (let ((parts nil) (at beg))
    (while (< at end)
      (let ((cut (get-text-property at 'marvin-cut)) (next (next-single-property-change at 'marvin-cut nil end)))
        (push (if cut (marvin-line--rest cut) (buffer-substring-no-properties at next)) parts)
        (setq at next)))
    (apply #'concat (nreverse parts))))

(defun marvin-line--rest (cut)
  "The text of CUT, the rest of a line."
  (apply #'concat (reverse cut)))

(defun marvin-line-show (cut)
  "Show CUT, the rest of a line, in a buffer in which that is not slow."
  (with-current-buffer (get-buffer-create "*marvin line*")
    (let ((inhibit-read-only t))
      (erase-buffer)
      (special-mode)
      (setq-local truncate-lines t bidi-display-reordering nil)
      (insert (marvin-line--rest cut))
      (goto-char (point-min)))
    (pop-to-buffer (current-buffer))))

(provide 'marvin-line)
;;; marvin-line.el ends here
