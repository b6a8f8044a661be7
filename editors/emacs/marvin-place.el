;;; marvin-place.el --- Points that stay with what they are on  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A buffer that lists things, each of which has a text property, is written anew when one of them comes or goes.  Where
;; a point was on one of them it is on the same one then, so that a key means what it meant when it was pressed.

;;; Code:

(defun marvin-place-beginning (property &optional position)
  "Where what POSITION, or point, is on begins, as text PROPERTY tells."
  (let ((position (or position (point))))
    (if (and (> position (point-min))
             (eq (get-text-property position property) (get-text-property (1- position) property)))
        (previous-single-property-change position property nil (point-min))
      position)))

(defun marvin-place-all (property name)
  "Conses of the names of all that has text PROPERTY and their beginnings.
NAME is a function of the value of the property."
  (let ((at (point-min)) (all nil))
    (while (< at (point-max))
      (when-let* ((value (get-text-property at property)))
        (push (cons (funcall name value) at) all))
      (setq at (next-single-property-change at property nil (point-max))))
    (nreverse all)))

(defun marvin-place-go (property name wanted)
  "Go to what is called WANTED by NAME, of the values of text PROPERTY."
  (when-let* ((found (assoc wanted (marvin-place-all property name))))
    (goto-char (cdr found))))

(defun marvin-place-redraw (property name draw)
  "Call DRAW, which writes the current buffer anew, and put all points back.
Each is as far behind the beginning of what it was on as before, going by the
names that NAME gives of the values of text PROPERTY; where that is gone, or was
nothing, it is at the beginning of the buffer, which is not on anything."
  (let* ((place (lambda (position)
                  (when-let* ((value (and (< position (point-max)) (get-text-property position property))))
                    (cons (funcall name value) (- position (marvin-place-beginning property position))))))
         (here (funcall place (point)))
         (windows (mapcar (lambda (window) (cons window (funcall place (window-point window))))
                          (get-buffer-window-list nil nil t))))
    (funcall draw)
    (let* ((all (marvin-place-all property name))
           (back (lambda (place)
                   (let ((beginning (cdr (assoc (car place) all))))
                     (if (and place beginning) (min (+ beginning (cdr place)) (point-max)) (point-min))))))
      (goto-char (funcall back here))
      (pcase-dolist (`(,window . ,place) windows)
        (set-window-point window (funcall back place))))))

(provide 'marvin-place)
;;; marvin-place.el ends here
