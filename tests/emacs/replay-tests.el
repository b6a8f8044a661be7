;;; replay-tests.el --- The transcripts that all editors replay  -*- lexical-binding: t; -*-

;;; Code:

(require 'driving)

(defmacro driving-replay (name &rest body)
  "Let the server be the transcript NAME, with shop.py open as in it, and do BODY."
  (declare (indent 1))
  `(driving-in-repository
     (let* ((root (getenv "MARVIN_TEST_ROOT"))
            (marvin-command (list (getenv "MARVIN_TEST_PYTHON")
                                  (expand-file-name "tests/transcripts/play.py" root)
                                  (expand-file-name ,(format "tests/transcripts/%s.jsonl" name) root))))
       (with-temp-file "shop.py"
         (insert "def total(prices):\n    return sum(prices)\n\n\n"
                 "def mean(prices):\n    return total(prices) / len(prices)\n"))
       (let ((code (driving-open "shop.py")) session)
         (ignore code)
         (marvin-session-new (marvin-current-server) nil (lambda (made) (setq session made)))
         (driving-wait "the session" (lambda () session))
         (with-current-buffer (marvin-chat--make session)
           ,@body)))))

(ert-deftest marvin-replays-a-chat ()
  (driving-replay "chat"
    (driving-say "What does shop.py do?")
    (driving-sees "You\nWhat does shop.py do?")
    (driving-sees "[show] Thought")
    (driving-idle)))

(ert-deftest marvin-replays-a-question ()
  (driving-replay "question"
    (driving-say "Run the tests.")
    (driving-sees "Question: run this command?")))

(ert-deftest marvin-replays-a-review ()
  (driving-replay "review"
    (driving-say "Mean of nothing is 0.")
    (driving-sees "Proposed shop.py")
    (save-current-buffer (marvin-diff-review session))
    (with-current-buffer (window-buffer)
      (should (string-match-p "^-    return total(prices) / len(prices)\n[+].* if prices else 0$" (buffer-string)))
      (marvin-diff-reject "raise an error instead" (marvin-diff--here)))
    (driving-sees "Reason: raise an error instead")
    (driving-idle)))

(ert-deftest marvin-replays-a-turn-that-fails ()
  (driving-replay "failed"
    (driving-say "Hello")
    (driving-sees "Failed")))

;;; replay-tests.el ends here
