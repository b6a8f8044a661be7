;;; client-tests.el --- The server, and the documents it sees  -*- lexical-binding: t; -*-

;;; Code:

(require 'driving)

(ert-deftest marvin-a-program-that-is-not-there-is-told-with-the-option-to-set ()
  (driving-in-repository
    (let* ((marvin-command '("no-such-marvin" "lsp"))
           (problem (should-error (marvin-start) :type 'user-error)))
      (should (string-match-p "no-such-marvin.*exec-path.*marvin-command" (cadr problem))))))

(ert-deftest marvin-remote-files-are-refused-clearly ()
  (dolist (remote '("/ssh:nowhere:/tmp/" "/sudo::/etc/"))
    (let* ((default-directory remote)
           (problem (should-error (marvin-start) :type 'user-error)))
      (should (string-match-p (concat "local files.*" (regexp-quote (substring remote 1 5))) (cadr problem))))))

(ert-deftest marvin-a-program-that-is-no-server-is-told-and-not-started-again ()
  (driving-in-repository
    (let ((marvin-command '("false")) (server nil))
      (marvin-start)
      (setq server (gethash (marvin-project-root) marvin-servers))
      (driving-wait "the failure" (lambda () (eq (marvin-server-state server) 'failed)))
      (should (string-match-p "exit code 1" (marvin-server-problem server))))))

(ert-deftest marvin-what-is-typed-is-told-in-pieces ()
  (driving-in-repository
    (with-current-buffer (driving-open "shop/basket.py")
      (marvin-start)
      (driving-wait "the server" #'marvin-document-known-p)
      (goto-char (point-max))
      (insert "# 🌍 é\n")
      (search-backward "é")
      (replace-match "ü")
      (delete-region (point-min) (+ (point-min) 3))
      (let ((text (buffer-string)))
        (marvin-document-flush)
        (should-not marvin-document--changes)
        (with-current-buffer (driving-chat)
          (driving-say "Run true")
          (driving-sees "Question"))
        (should (equal text (buffer-string)))))))

(ert-deftest marvin-an-edit-is-made-in-the-buffer-as-one-undo-step-and-not-saved ()
  (driving-in-repository
    (let* ((code (driving-open "shop/basket.py")) (chat (driving-chat)) before)
      (with-current-buffer code
        (buffer-enable-undo)
        (driving-wait "the document" #'marvin-document-known-p)
        (goto-char (point-max))
        (insert "# typed and not saved 🌍\n")
        (undo-boundary)
        (setq before (buffer-string)))
      (with-current-buffer chat
        (driving-say "Fix it")
        (driving-idle)
        (driving-sees "Changed shop/basket.py: 1 line added, 1 removed"))
      (with-current-buffer code
        (should (equal (buffer-string) (string-replace "result -= price" "result += price" before)))
        (should (buffer-modified-p))
        (should (string-match-p "result -= price" (driving-file buffer-file-name)))
        (let ((last-command nil)) (undo))
        (should (equal (buffer-string) before))))))

(ert-deftest marvin-a-command-sees-what-marvin-wrote ()
  (driving-in-repository
    (let ((code (driving-open "shop/basket.py")) (chat (driving-chat)))
      (with-current-buffer code (driving-wait "the document" #'marvin-document-known-p))
      (with-current-buffer chat
        (driving-say "Fix it")
        (driving-idle)
        (driving-say "Run grep -c 'result += price' shop/basket.py")
        (driving-sees "Question")
        (marvin-permission-answer marvin-chat--session (car (marvin-session-permissions marvin-chat--session)) "allowOnce")
        (driving-sees "Allowed once by you: grep")
        (driving-sees "Done.")
        (driving-sees "exit code 0"))
      (should-not (buffer-modified-p code)))))

(ert-deftest marvin-a-file-that-a-command-changes-is-shown ()
  (driving-in-repository
    (let ((code (driving-open "README.md")) (chat (driving-chat)))
      (with-current-buffer chat
        (driving-say "Run echo changed >> README.md")
        (driving-sees "Question")
        (marvin-permission-answer marvin-chat--session (car (marvin-session-permissions marvin-chat--session)) "allowOnce")
        (driving-sees "Done."))
      (with-current-buffer code
        (driving-sees "changed")))))

(ert-deftest marvin-a-buffer-that-is-killed-while-a-turn-runs-is-written-nowhere-else ()
  (driving-in-repository
    (let ((code (driving-open "shop/basket.py")) (chat (driving-chat)))
      (with-current-buffer code (driving-wait "the document" #'marvin-document-known-p))
      (kill-buffer code)
      (with-current-buffer chat
        (driving-say "Fix it")
        (driving-idle))
      (should (string-match-p "result [+]= price" (driving-file "shop/basket.py"))))))

(ert-deftest marvin-a-server-that-dies-is-started-again-and-the-conversation-goes-on ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (driving-say "Hello")
      (driving-sees "You said: Hello")
      (driving-idle)
      (let* ((server (marvin-session-server marvin-chat--session)) (connection (marvin-server-connection server)))
        (signal-process (jsonrpc--process connection) 'KILL)
        (driving-wait "another server"
                      (lambda () (and (eq (marvin-server-state server) 'ready)
                                      (not (eq connection (marvin-server-connection server))))))
        (driving-say "Again")
        (driving-sees "You said: Again")
        (driving-idle)
        (should (equal (driving-shown)
                       "You\nHello\n\nMarvin\nYou said: Hello\n\nYou\nAgain\n\nMarvin\nYou said: Again\n"))))))

(ert-deftest marvin-stop-and-restart-keep-the-conversation ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (let ((server (marvin-session-server marvin-chat--session)))
        (marvin-stop)
        (driving-wait "the stop" (lambda () (eq (marvin-server-state server) 'stopped)))
        (marvin-restart)
        (driving-wait "the start" (lambda () (eq (marvin-server-state server) 'ready)))
        (driving-say "Hello")
        (driving-sees "You said: Hello")))))

;;; client-tests.el ends here
