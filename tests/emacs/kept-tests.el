;;; kept-tests.el --- What outlives a server or a buffer, and jobs  -*- lexical-binding: t; -*-

;;; Code:

(require 'driving)

(defun kept-kill (session)
  "Kill SESSION's server, and wait for the next one."
  (let* ((server (marvin-session-server session)) (connection (marvin-server-connection server)))
    (signal-process (jsonrpc--process connection) 'KILL)
    (driving-wait "another server"
                  (lambda () (and (eq (marvin-server-state server) 'ready)
                                  (not (eq connection (marvin-server-connection server)))
                                  (not (marvin-session-loading session))))
                  20)))

(ert-deftest marvin-a-prompt-that-was-never-started-is-offered-back ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (driving-say "Slowly")
      (driving-sees "word2 ")
      (driving-say "Next")
      (driving-sees "\nQueued: Next [cancel]\n")
      (kept-kill marvin-chat--session)
      (driving-sees "Never started\nNext\n[Take it into the input]  [Drop it]")
      (goto-char (point-min))
      (search-forward "[Take it")
      (push-button)
      (should (equal (marvin-input-text) "Next"))
      (should-not (string-match-p "Never started" (buffer-string)))
      (marvin-session-load (marvin-session-server marvin-chat--session) (marvin-session-id marvin-chat--session))
      (driving-wait "the session" (lambda () (not (marvin-session-loading marvin-chat--session))))
      (should-not (marvin-session-drafts marvin-chat--session)))))

(ert-deftest marvin-a-queued-prompt-is-cancelled-by-its-button ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (driving-say "Slowly")
      (driving-sees "word2 ")
      (driving-say "Next")
      (driving-sees "\nQueued: Next [cancel]\n")
      (goto-char (point-min))
      (search-forward "[cancel")
      (push-button)
      (driving-wait "an empty queue" (lambda () (null (marvin-session-queued marvin-chat--session))))
      (should (marvin-session-turn marvin-chat--session))
      (should-not (string-match-p "Queued:" (buffer-string)))
      (marvin-chat-cancel)
      (driving-idle))))

(ert-deftest marvin-what-is-queued-is-shown-again-after-a-reload ()
  (driving-in-repository
    (let* ((chat (driving-chat)) (session (buffer-local-value 'marvin-chat--session chat)))
      (with-current-buffer chat
        (driving-say "Run sleep 100")
        (driving-sees "Question: run this command?")
        (driving-say "Next")
        (driving-sees "\nQueued: Next [cancel]\n")
        (driving-say "Last")
        (driving-sees "\nQueued: Next [cancel]\nQueued: Last [cancel]\n"))
      (kill-buffer chat)
      (marvin-chat-show session)
      (driving-sees "\nQueued: Next [cancel]\nQueued: Last [cancel]\n")
      (goto-char (point-min))
      (search-forward "[cancel")
      (push-button)
      (driving-sees "\nA queued prompt was cancelled\n")
      (should-not (string-match-p "Queued: Next" (buffer-string)))
      (marvin-permission-answer session (car (marvin-session-permissions session)) "deny")
      (driving-sees "You said: Last")
      (should-not (string-match-p "Queued:" (buffer-string))))))

(ert-deftest marvin-what-another-server-has-queued-is-shown-and-cancelled ()
  (driving-in-repository
    (let* ((chat (driving-chat)) (session (buffer-local-value 'marvin-chat--session chat)) (folder default-directory))
      (with-current-buffer chat
        (driving-say "Run sleep 100")
        (driving-sees "Question: run this command?")
        (driving-say "Next")
        (driving-sees "\nQueued: Next [cancel]\n"))
      (make-directory "elsewhere/.git" t)
      (let* ((default-directory (expand-file-name "elsewhere/")) (server (marvin-current-server)) theirs)
        (marvin-session-load server (marvin-session-id session) (lambda (loaded) (setq theirs loaded)))
        (driving-wait "the session" (lambda () theirs) 20)
        (marvin-chat-show theirs)
        (driving-sees "\nQueued: Next [cancel]\n")
        (with-current-buffer chat (driving-say "Last"))
        (driving-sees "\nQueued: Next [cancel]\nQueued: Last [cancel]\n")
        (goto-char (point-min))
        (search-forward "[cancel")
        (push-button)
        (driving-sees "\n\nQueued: Last [cancel]\n"))
      (let ((default-directory folder))
        (with-current-buffer chat
          (marvin-permission-answer session (car (marvin-session-permissions session)) "deny")
          (driving-sees "You said: Last")
          (should-not (string-match-p "You\nNext\\|Queued:" (buffer-string))))))))

(ert-deftest marvin-a-turn-of-an-earlier-server-is-taken-back-and-done-again ()
  (driving-in-repository
    (let ((code (driving-open "shop/basket.py")))
      (with-current-buffer (driving-chat)
        (with-current-buffer code (driving-wait "the document" #'marvin-document-known-p))
        (driving-say "Fix it")
        (driving-idle)
        (with-current-buffer code (save-buffer))
        (kept-kill marvin-chat--session)
        (should (equal (mapcar #'cdr (marvin-session-turns marvin-chat--session)) '("Fix it")))
        (should (equal (marvin-turns--choose-by (marvin-session-turns marvin-chat--session))
                       (caar (marvin-session-turns marvin-chat--session))))
        (let ((turn (caar (marvin-session-turns marvin-chat--session))))
          (pcase-dolist (`(,method ,text) '((marvin/turn/undo "result -= price") (marvin/turn/redo "result += price")))
            (let (result)
              (marvin-session-ask marvin-chat--session method (list :turnId turn) (lambda (all) (setq result all)))
              (driving-wait "the files" (lambda () result))
              (marvin-turns--taken marvin-chat--session result)
              (with-current-buffer code (driving-sees text)))))))))

(defun marvin-turns--choose-by (turns)
  "What the person chooses among TURNS: the first that is offered."
  (let ((completing-read-function (lambda (_ table &rest _) (car (all-completions "" table)))))
    (marvin-turns--choose turns)))

(ert-deftest marvin-a-review-goes-on-after-the-server-was-killed ()
  (driving-in-repository
    (let ((code (driving-open "shop/basket.py")))
      (with-current-buffer (driving-chat)
        (with-current-buffer code (driving-wait "the document" #'marvin-document-known-p))
        (driving-say "Fix it")
        (driving-idle)
        (kept-kill marvin-chat--session)
        (should (= 1 (length (marvin-session-patches marvin-chat--session))))
        (save-current-buffer (marvin-diff-review marvin-chat--session)))
      (with-current-buffer (window-buffer)
        (marvin-diff-reject "" (marvin-diff--here))
        (driving-sees "Nothing waits"))
      (with-current-buffer code (should (string-match-p "result -= price" (buffer-string)))))))

(ert-deftest marvin-an-archived-conversation-is-listed-only-by-its-words ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (driving-say "Hello")
      (driving-idle)
      (marvin-archive)
      (let ((listed (lambda (query)
                      (let (result)
                        (marvin-request (marvin-current-server) 'marvin/session/list
                                        (append (list :cwd (directory-file-name default-directory)) query)
                                        (lambda (all) (setq result all)))
                        (driving-wait "the list" (lambda () result))
                        (length (plist-get result :sessions))))))
        (driving-wait "the archive" (lambda () (zerop (funcall listed nil))))
        (should (= 1 (funcall listed '(:query "Hello"))))))))

(ert-deftest marvin-a-conversation-is-deleted-after-a-question ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (driving-say "Hello")
      (driving-idle)
      (let ((chat (current-buffer)) (use-short-answers nil))
        (execute-kbd-macro (kbd "M-x marvin-delete RET no RET"))
        (should (buffer-live-p chat))
        (execute-kbd-macro (kbd "M-x marvin-delete RET yes RET"))
        (driving-wait "the end of the buffer" (lambda () (not (buffer-live-p chat))))))))

(ert-deftest marvin-what-was-used-is-shown ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (driving-say "Hello")
      (driving-idle)
      (driving-wait "the numbers" (lambda () (string-match-p "| context [1-9][0-9]*.* | price unknown"
                                                             (marvin-header marvin-chat--session))))
      (marvin-usage)
      (driving-wait "the message" (lambda () (with-current-buffer (messages-buffer)
                                               (save-excursion
                                                 (goto-char (point-min))
                                                 (search-forward "tokens in (0 from the cache)" nil t))))))))

;;; Jobs

(ert-deftest marvin-no-jobs-are-said-to-be-none ()
  (driving-in-repository
    (marvin-jobs)
    (driving-sees "Nothing runs beside turns in this project" 20)))

(ert-deftest marvin-jobs-are-listed-followed-and-cancelled ()
  (driving-in-repository
    (let* ((root (getenv "MARVIN_TEST_ROOT"))
           (marvin-command (list (getenv "MARVIN_TEST_PYTHON") (expand-file-name "tests/transcripts/play.py" root)
                                 (expand-file-name "tests/emacs/jobs.jsonl" root))))
      (marvin-jobs)
      (driving-sees " running    review     " 20)
      (driving-sees " finished   timer " 20)
      (search-forward "Tea")
      (marvin-jobs-result)
      (goto-char (point-min))
      (search-forward "Review of shop.py")
      (execute-kbd-macro (kbd "k yes RET"))
      (driving-sees " cancelled  review "))))

;;; kept-tests.el ends here
