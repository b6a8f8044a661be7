;;; safety-tests.el --- Nothing is written, told or asked that should not be  -*- lexical-binding: t; -*-

;;; Code:

(require 'driving)

(defmacro safety-with-document (&rest body)
  "Do BODY in the buffer of shop/basket.py, which the server knows, with a conversation in the buffer CHAT."
  (declare (indent 0))
  `(driving-in-repository
     (let ((code (driving-open "shop/basket.py")) (chat (driving-chat)))
       (with-current-buffer code
         (driving-wait "the document" #'marvin-document-known-p)
         ,@body))))

(defun safety-fix (chat)
  "Have the model fix the file in the conversation CHAT, and wait for the end."
  (with-current-buffer chat
    (driving-say "Fix total")
    (driving-idle)))

(defun safety-edit (version)
  "Ask for an edit of the first character of the current buffer as VERSION, and give why it is not made, or nil."
  (let ((place '(:line 0 :character 0)))
    (plist-get (marvin-asked 'workspace/applyEdit marvin-document--server
                             `(:edit (:documentChanges
                                      [(:textDocument (:uri ,(marvin-document-uri) :version ,version)
                                        :edits [(:range (:start ,place :end ,place) :newText "# edited\n")])])))
               :failureReason)))

(ert-deftest marvin-a-change-lands-where-it-belongs-after-typing-in-an-indirect-buffer ()
  (safety-with-document
    (let ((indirect (make-indirect-buffer code "indirect")))
      (with-current-buffer indirect
        (goto-char (point-min))
        (insert "# one\n# two\n# three\n"))
      (should (string-match-p "changed meanwhile" (safety-edit marvin-document--version)))
      (safety-fix chat)
      (should (string-match-p "\\`# one\n# two\n# three\n\"\"\"What" (buffer-string)))
      (should (string-match-p "^        result [+]= price\n    return result$" (buffer-string)))
      (should (string-match-p "^def total" (buffer-string)))
      (kill-buffer indirect))))

(ert-deftest marvin-what-no-hook-tells-of-is-told-whole ()
  (safety-with-document
    (let ((inhibit-modification-hooks t)) (insert "# unheard\n"))
    (insert "# heard\n")
    (should (eq marvin-document--changes 'whole))
    (add-hook 'after-change-functions
              (lambda (&rest _) (let ((inhibit-modification-hooks t)) (save-excursion (goto-char (point-max)) (insert "# more\n"))))
              nil t)
    (marvin-document-flush)
    (insert "# again\n")
    (should (marvin-document-untold-p))
    (should (eq marvin-document--changes 'whole))))

(ert-deftest marvin-killing-a-clone-leaves-the-document-open ()
  (safety-with-document
    (goto-char (point-max))
    (insert "# not saved\n")
    (let ((on-disk (driving-file "basket.py")) (clone (save-window-excursion (clone-indirect-buffer "clone" nil))))
      (with-current-buffer clone
        (should-not marvin-document--server)
        (goto-char (point-max))
        (insert "# typed in the clone\n"))
      (kill-buffer clone)
      (should (marvin-document-known-p))
      (should (memq #'marvin-document--after-change after-change-functions))
      (safety-fix chat)
      (should (string-match-p "result [+]= price\n.*\n# not saved\n# typed in the clone\n" (buffer-string)))
      (should (equal on-disk (driving-file "basket.py"))))))

(ert-deftest marvin-what-is-encrypted-on-disk-is-not-told ()
  (safety-with-document
    (set-visited-file-name (expand-file-name "authinfo.gpg") t)
    (should-not (marvin-document-known-p))))

(ert-deftest marvin-a-file-that-another-has-locked-is-refused-with-the-reason ()
  (safety-with-document
    (let ((create-lockfiles t))
      (make-symbolic-link "somebody@elsewhere.1234:5678" (expand-file-name ".#basket.py"))
      (should (string-match-p "locked by somebody" (safety-edit marvin-document--version)))
      (should-not (buffer-modified-p))
      (should-not (string-match-p "edited" (buffer-string))))))

(ert-deftest marvin-a-file-that-was-changed-on-disk-is-read-before-it-is-edited ()
  (safety-with-document
    (let ((version marvin-document--version))
      (write-region "# from elsewhere\n" nil "basket.py" nil 'quiet)
      (set-file-times "basket.py" (time-add (current-time) 10))
      (should (string-match-p "another version" (safety-edit version)))
      (should (equal (buffer-string) "# from elsewhere\n"))
      (should-not (safety-edit marvin-document--version)))))

(ert-deftest marvin-a-character-that-the-coding-system-lacks-is-not-asked-about-on-saving ()
  (safety-with-document
    (set-buffer-file-coding-system 'latin-1)
    (goto-char (point-max))
    (insert "# 5 €\n")
    (marvin-document-flush)
    (should-not (marvin-apply--save (marvin-document-uri)))
    (should (buffer-modified-p))
    (delete-region (- (point-max) 6) (point-max))
    (marvin-document-flush)
    (should (marvin-apply--save (marvin-document-uri)))))

(ert-deftest marvin-nothing-that-a-server-says-can-ask ()
  (let (problem)
    (marvin--later (lambda () (condition-case oops (yes-or-no-p "Really? ") (error (setq problem oops)))))
    (driving-wait "the refusal" (lambda () problem))
    (should (eq (car problem) 'inhibited-interaction))))

;;; What is typed is meant for what it was typed into

(ert-deftest marvin-a-conversation-that-comes-up-after-a-key-was-pressed-is-not-selected ()
  (driving-in-repository
    (switch-to-buffer (driving-open "shop/basket.py"))
    (goto-char (point-min))
    (marvin)
    (execute-kbd-macro "x")
    (driving-wait "the conversation" (lambda () (cdr (window-list))))
    (should (equal buffer-file-name (expand-file-name "basket.py")))
    (should (eq (current-buffer) (window-buffer)))
    (should (eq (char-after (point-min)) ?x))))

(defun safety-ask (command)
  "Begin a conversation in which the model asks to run COMMAND, and give its buffer."
  (with-current-buffer (save-window-excursion (driving-chat))
    (driving-say (concat "Run " command))
    (driving-sees "Question")
    (current-buffer)))

(ert-deftest marvin-a-key-answers-the-question-that-point-was-on-whatever-comes-or-goes ()
  (driving-in-repository
    (let* ((first (safety-ask "touch first")) (session (buffer-local-value 'marvin-chat--session first)))
      (marvin-answer)
      (search-forward "touch")
      (safety-ask "touch second")
      (driving-sees "touch second")
      (should (looking-at-p " first"))
      (should (< (point) (save-excursion (search-forward "touch second"))))
      (marvin-permission-answer session (car (marvin-session-permissions session)) "deny")
      (driving-wait "one question" (lambda () (= 1 (length (marvin-permission-open)))))
      (should (bobp))
      (should-not (get-text-property (point) 'marvin-question))
      (should-error (marvin-permission-answer-here "allowOnce") :type 'user-error)
      (execute-kbd-macro "nd")
      (driving-sees "No question is open")
      (should-not (or (file-exists-p "first") (file-exists-p "second"))))))

(ert-deftest marvin-an-edited-command-in-which-something-hides-is-asked-about-again ()
  (driving-in-repository
    (with-current-buffer (safety-ask "touch a\u200bb")
      (let ((use-short-answers nil))
        (switch-to-buffer (current-buffer))
        (goto-char (point-min))
        (search-forward "Question:")
        (ignore-errors (execute-kbd-macro (kbd "e RET no RET")))
        (should (marvin-session-permissions marvin-chat--session))
        (search-forward "Directory")
        (execute-kbd-macro (kbd "e RET yes RET"))
        (driving-idle)
        (should (file-exists-p "a\u200bb"))))))

(ert-deftest marvin-what-hides-is-covered-while-it-is-edited ()
  (should (equal (get-text-property 1 'display (mapconcat #'marvin-hidden--covered "a\u202eb" "")) "\\u{202E}"))
  (should (equal (substring-no-properties (marvin-hidden-shown "a\u3000b\u2800é漢")) "a\\u{3000}b\\u{2800}é漢")))

;;; Reviews

(ert-deftest marvin-a-review-that-is-opened-again-keeps-its-keys ()
  (driving-in-repository
    (let ((chat (driving-chat)))
      (safety-fix chat)
      (dotimes (_ 2)
        (marvin-diff-review (buffer-local-value 'marvin-chat--session chat))
        (should (eq (key-binding "k") #'marvin-diff-keep))
        (should (eq (key-binding "r") #'marvin-diff-reject))))))

(ert-deftest marvin-a-reason-is-for-the-hunk-that-it-was-begun-on ()
  (driving-in-repository
    (let* ((chat (driving-chat)) (session (buffer-local-value 'marvin-chat--session chat)) review)
      (safety-fix chat)
      (marvin-diff-review session)
      (setq review (current-buffer))
      (search-forward "+        result")
      (with-current-buffer chat
        (setf (marvin-session-last-turn session) nil)
        (driving-say "Declare")
        (driving-idle))
      (should (looking-at-p " [+]= price"))
      (should (string-match-p "by_marvin" (buffer-string)))
      (let ((minibuffer-setup-hook (list (lambda () (with-current-buffer review (goto-char (point-max)))))))
        (execute-kbd-macro (kbd "r because RET")))
      (with-current-buffer chat (driving-sees "Reason: because"))
      (driving-wait "the rest" (lambda () (not (string-match-p "result [+]= price" (buffer-string)))))
      (should (string-match-p "by_marvin" (buffer-string)))
      (with-temp-buffer
        (insert-file-contents "shop/basket.py")
        (should (string-match-p "result -= price" (buffer-string)))))))

(ert-deftest marvin-two-conversations-of-one-title-have-reviews-of-their-own ()
  (driving-in-repository
    (let ((one (driving-chat '(:title "Same"))) (other (driving-chat '(:title "Same"))))
      (safety-fix one)
      (with-current-buffer other (driving-say "Declare") (driving-idle))
      (let ((reviews (mapcar (lambda (chat) (marvin-diff-buffer (buffer-local-value 'marvin-chat--session chat)))
                             (list one other))))
        (should (string-match-p "result" (with-current-buffer (car reviews) (buffer-string))))
        (should (string-match-p "by_marvin" (with-current-buffer (cadr reviews) (buffer-string))))))))

;;; Modes, folders and servers

(ert-deftest marvin-a-fence-runs-only-modes-that-colour ()
  (require 'org)
  (dolist (language '("org" "tar" "image" "archive" "doc-view" "nxml" "server" ""))
    (should-not (marvin-markdown--mode language)))
  (should (eq (marvin-markdown--mode "py") 'python-mode))
  (should (eq (marvin-markdown--mode "diff") 'diff-mode)))

(ert-deftest marvin-the-home-folder-is-a-project-only-if-the-person-says-so ()
  (with-temp-buffer
    (switch-to-buffer (current-buffer))
    (setq default-directory (file-name-as-directory (expand-file-name "~")))
    (let ((use-short-answers nil) problem)
      (should-error (execute-kbd-macro (kbd "M-x marvin-start RET no RET")) :type 'user-error)
      (should (zerop (hash-table-count marvin-servers)))
      (marvin--later (lambda () (condition-case oops (marvin-start) (error (setq problem oops)))))
      (driving-wait "the refusal" (lambda () problem))
      (should (zerop (hash-table-count marvin-servers))))))

(ert-deftest marvin-a-server-that-never-answers-has-failed ()
  (driving-in-repository
    (let ((marvin-command '("sleep" "60")) (marvin--patience 0.5))
      (marvin-start)
      (let ((server (marvin-current-server)))
        (driving-wait "the failure" (lambda () (eq (marvin-server-state server) 'failed)))
        (should (string-match-p "sleep 60' did not answer" (marvin-server-problem server)))))))

(ert-deftest marvin-why-a-server-failed-is-seen-last-and-in-the-header ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (let* ((session marvin-chat--session) (server (marvin-session-server session))
             (result "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"capabilities\":{\"experimental\":{\"marvin\":{\"protocolVersion\":2}}}}}"))
        (marvin-server-stop server)
        (driving-wait "the stop" (lambda () (eq (marvin-server-state server) 'stopped)))
        (let ((marvin-command (list "sh" "-c" (format "printf 'Content-Length: %d\\r\\n\\r\\n%s'; read line"
                                                      (length result) result))))
          (marvin-server-start server)
          (driving-wait "the end" (lambda () (null (marvin-server-connection server))))
          (with-current-buffer (messages-buffer)
            (driving-wait "the last words"
                          (lambda () (save-excursion
                                       (goto-char (point-max))
                                       (search-backward "Server exited")
                                       (search-forward "another version" nil t)))))
          (should (string-match-p "failed: it speaks another version" (marvin-header session)))
          (should (string-match-p "another version"
                                  (get-text-property 1 'help-echo (marvin-mode-line)))))))))

;;; Undo and long lines

(ert-deftest marvin-an-undo-goes-on-where-it-was-after-an-answer-came ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (buffer-enable-undo)
      (dolist (word '("one" " two" " three"))
        (goto-char (point-max))
        (insert word)
        (undo-boundary))
      (let ((last-command nil)) (undo))
      (should (equal (marvin-input-text) "one two"))
      (marvin-transcript-add 'answer "Marvin" "Something was said meanwhile.")
      (undo-boundary)
      (let ((last-command 'undo)) (undo))
      (should (equal (marvin-input-text) "one"))
      (marvin-transcript-append (marvin-transcript-find 'answer) "  And more.")
      (undo-boundary)
      (let ((last-command 'undo)) (undo))
      (should (equal (marvin-input-text) ""))
      (undo-boundary)
      (let ((last-command nil)) (undo))
      (should (equal (marvin-input-text) "one")))))

(ert-deftest marvin-of-a-very-long-line-the-beginning-is-shown-and-all-is-kept ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (let* ((long (apply #'concat (mapcar (lambda (number) (format "%07d" number)) (number-sequence 1 40000))))
             (text (concat "before\n" long "\nbetween\n" long long)) (at 0)
             (block (marvin-transcript-add 'long "Marvin" "")))
        (while (< at (length text))
          (marvin-transcript-append block (substring text at (min (length text) (+ at 4096))))
          (setq at (+ at 4096)))
        (should (equal (marvin-transcript-text block) text))
        (should (< (apply #'max (mapcar #'length (split-string (buffer-string) "\n"))) 2100))
        (should (string-match-p "\nbetween\n" (driving-shown)))
        (goto-char (point-min))
        (search-forward "[show the rest")
        (push-button)
        (with-current-buffer "*marvin line*"
          (should (equal (buffer-string) (substring long 2000)))
          (kill-buffer))
        (marvin-transcript-replace block "short")
        (should (equal (marvin-transcript-text block) "short"))))))

;;; safety-tests.el ends here
