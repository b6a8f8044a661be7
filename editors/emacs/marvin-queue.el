;;; marvin-queue.el --- What is to be done soon, in slices  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What the servers say is put into one queue and worked off in slices of a few milliseconds, so that typing goes on.
;; Nothing asks the person meanwhile: a question that nobody expects would take what is being typed for its answer.

;;; Code:

(require 'cl-lib)

(defconst marvin--slice 0.012
  "Seconds that are worked in one go on what the servers said.")

(defvar marvin--arrived nil "Calls to be made, the latest first.")
(defvar marvin--due nil "Calls to be made before those in `marvin--arrived', the next first.")
(defvar marvin--timer nil "The timer that works them off.")

(defmacro marvin--unasked (&rest body)
  "Do BODY, in which what would ask the person signals an error instead."
  (declare (indent 0) (debug t))
  `(cl-letf ((inhibit-interaction t)
             (use-dialog-box nil)
             ((symbol-function 'ask-user-about-lock)
              (lambda (_file owner) (error "It is locked by %s" owner)))
             ((symbol-function 'ask-user-about-supersession-threat)
              (lambda (_file) (error "Its file was changed on disk"))))
     ,@body))

(defun marvin--later (function &rest arguments)
  "Call FUNCTION with ARGUMENTS soon, after all that was said before."
  (push (cons function arguments) marvin--arrived)
  (unless marvin--timer
    (setq marvin--timer (run-at-time 0 nil #'marvin--work))))

(defun marvin--work ()
  "Make calls of the queue until the slice is over or a key was pressed."
  (setq marvin--timer nil)
  (let ((end (+ (float-time) marvin--slice)) (goes-on t))
    (marvin--unasked
      (while (and goes-on (or marvin--due marvin--arrived))
        (unless marvin--due
          (setq marvin--due (nreverse marvin--arrived) marvin--arrived nil))
        (let ((call (pop marvin--due)))
          (with-demoted-errors "Marvin: %S"
            (apply (car call) (cdr call))))
        (setq goes-on (and (< (float-time) end) (not (input-pending-p)))))))
  (when (and (or marvin--due marvin--arrived) (not marvin--timer))
    (setq marvin--timer (run-at-time 0.002 nil #'marvin--work))))

(defun marvin--interact (function &rest arguments)
  "Call FUNCTION with ARGUMENTS outside the queue: it may ask the person."
  (apply #'run-at-time 0 nil
         (lambda (&rest arguments)
           (if (active-minibuffer-window)
               (message "Marvin: finish the minibuffer first, then do this again")
             (apply function arguments)))
         arguments))

(provide 'marvin-queue)
;;; marvin-queue.el ends here
