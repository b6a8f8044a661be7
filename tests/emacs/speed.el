;;; speed.el --- How long the main loop is held up  -*- lexical-binding: t; -*-

;; A timer is to fire every few milliseconds; the longest time between two firings is how long a key would have waited.

;;; Code:

(require 'driving)

(defmacro speed-measuring (&rest body)
  "Do BODY and give the longest time for which no timer could fire."
  `(let* ((longest 0) (last (float-time))
          (timer (run-at-time 0 0.004 (lambda ()
                                        (let ((now (float-time)))
                                          (setq longest (max longest (- now last)) last now)))))
          (gc-cons-threshold (* 64 1024 1024)))
     (garbage-collect)
     (setq last (float-time))
     (unwind-protect (progn ,@body) (cancel-timer timer))
     longest))

(ert-deftest marvin-50000-tokens-and-the-main-loop ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (let ((longest (speed-measuring
                      (driving-say "Much")
                      (driving-sees "word49999")
                      (driving-idle))))
        (message "50,000 tokens: %.0f ms at most" (* 1000 longest))))))

(ert-deftest marvin-an-edit-of-1000-lines-and-the-main-loop ()
  (driving-in-repository
    (with-temp-file "long.txt"
      (dotimes (number 1000) (insert (format "line %d\n" number))))
    (let ((text (driving-open "long.txt")) (chat (driving-chat)) longest)
      (with-current-buffer text (driving-wait "the document" #'marvin-document-known-p))
      (with-current-buffer chat
        (setq longest (speed-measuring (driving-say "Rewrite") (driving-idle))))
      (message "1,000 lines: %.0f ms at most" (* 1000 longest))
      (with-current-buffer text
        (should (string-prefix-p "0 line\n1 line\n" (buffer-string)))))))

;;; speed.el ends here
