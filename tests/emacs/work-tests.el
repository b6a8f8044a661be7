;;; work-tests.el --- Questions, changes and one-shots  -*- lexical-binding: t; -*-

;;; Code:

(require 'driving)
(require 'log-edit)

(defmacro driving-with-question (command &rest body)
  "Let the model ask to run COMMAND, and do BODY in the conversation, with SESSION and PERMISSION bound."
  (declare (indent 1))
  `(driving-in-repository
     (with-current-buffer (driving-chat)
       (driving-say (concat "Run " ,command))
       (driving-sees "Question: run this command?")
       (let* ((session marvin-chat--session) (permission (car (marvin-session-permissions session))))
         (ignore permission)
         ,@body))))

(ert-deftest marvin-a-card-shows-command-directory-and-rule-and-takes-keys ()
  (driving-with-question "echo 'a  b' > out"
    (should (string-match-p
             (concat "  Command:   echo 'a  b' > out\n  Directory: "
                     (regexp-quote (directory-file-name default-directory)) "\n")
             (driving-shown)))
    (should (string-match-p "  Asked by:  .*mode auto" (driving-shown)))
    (goto-char (point-min))
    (search-forward "Question")
    (call-interactively (key-binding "y"))
    (driving-sees  "Allowed once by you: echo 'a  b' > out")
    (driving-idle)
    (should (file-exists-p "out"))
    (should-not (marvin-session-permissions session))))

(ert-deftest marvin-a-question-is-seen-and-answered-from-anywhere-even-without-its-conversation ()
  (driving-with-question "touch out"
    (should (equal (substring-no-properties (marvin-mode-line)) " Marvin asks (1)"))
    (kill-buffer (current-buffer))
    (marvin-answer)
    (with-current-buffer "*marvin questions*"
      (search-forward "Directory")
      (call-interactively (key-binding "d"))
      (driving-sees "No question is open"))
    (should-not (file-exists-p "out"))
    (should-not (string-match-p "asks" (marvin-mode-line)))))

(ert-deftest marvin-a-command-is-edited-before-it-runs ()
  (driving-with-question "touch one"
    (goto-char (point-min))
    (search-forward "Question")
    (set-window-point (selected-window) (point))
    (execute-kbd-macro (kbd "e C-a C-k touch SPC two RET"))
    (driving-idle)
    (should (file-exists-p "two"))
    (should-not (file-exists-p "one"))))

(ert-deftest marvin-deny-and-stop-ends-the-turn ()
  (driving-with-question "touch out"
    (marvin-permission-answer session permission "denyAndStop")
    (driving-idle)
    (driving-sees "Stopped: denied")
    (should-not (file-exists-p "out"))))

(ert-deftest marvin-allowed-for-the-session-is-not-asked-again ()
  (driving-with-question "true"
    (marvin-permission-answer session permission "allowSession")
    (driving-idle)
    (setf (marvin-session-last-turn session) nil)
    (driving-say "Run true")
    (driving-idle)
    (should-not (marvin-session-permissions session))))

(ert-deftest marvin-what-cannot-be-seen-is-written-out ()
  (should (equal (substring-no-properties (marvin-hidden-shown "rm \u202ea\u200b\e[2J")) "rm \\u{202E}a\\u{200B}\\u{1B}[2J")))

(ert-deftest marvin-a-hunk-is-rejected-with-a-reason ()
  (driving-in-repository
    (let ((code (driving-open "shop/basket.py")) (chat (driving-chat)))
      (with-current-buffer code (driving-wait "the document" #'marvin-document-known-p))
      (with-current-buffer chat
        (driving-say "Fix it")
        (driving-idle)
        (marvin-chat-review)
        (should (derived-mode-p 'marvin-diff-mode))
        (should (eq (key-binding "k") #'marvin-diff-keep))
        (should (equal (buffer-string)
                       (concat "--- a/shop/basket.py\n+++ b/shop/basket.py\n@@ -5,5 +5,5 @@ open\n"
                               "     \"\"\"The sum of all prices, in cents.\"\"\"\n     result = 0\n"
                               "     for price in prices:\n-        result -= price\n+        result += price\n"
                               "     return result\n")))
        (marvin-diff-reject "keep the sign" (marvin-diff--here))
        (driving-sees "Nothing waits for a decision any more"))
      (with-current-buffer code
        (should (string-match-p "result -= price" (buffer-string))))
      (with-current-buffer chat
        (driving-sees "Reviewed by you: 0 kept, 1 rejected\nReason: keep the sign")))))

(ert-deftest marvin-a-proposed-change-is-made-when-it-is-kept ()
  (driving-in-repository
    (let ((code (driving-open "shop/basket.py")) (chat (driving-chat '(:mode "review"))))
      (with-current-buffer code (driving-wait "the document" #'marvin-document-known-p))
      (with-current-buffer chat
        (driving-say "Fix it")
        (driving-sees "Proposed shop/basket.py")
        (with-current-buffer code (should (string-match-p "result -= price" (buffer-string))))
        (marvin-diff-review marvin-chat--session))
      (with-current-buffer (window-buffer)
        (marvin-diff-keep)
        (driving-sees "Nothing waits"))
      (with-current-buffer chat (driving-idle))
      (with-current-buffer code (should (string-match-p "result [+]= price" (buffer-string)))))))

(ert-deftest marvin-the-whole-file-is-compared-without-and-with-the-change ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (driving-say "Fix it")
      (driving-idle)
      (let* ((edit (elt (plist-get (car (marvin-session-patches marvin-chat--session)) :edits) 0))
             (lines (marvin-hunk-lines edit))
             (without (marvin-diff--side edit "*marvin without*" lines :newStart :newLines :oldLines))
             (with (marvin-diff--side edit "*marvin with*" lines :oldStart :oldLines :newLines))
             (text (with-current-buffer with (buffer-string))))
        (should (string-match-p "result [+]= price" text))
        (should (equal (string-replace "+=" "-=" text) (with-current-buffer without (buffer-string))))))))

(ert-deftest marvin-a-review-is-there-again-after-the-conversation-was-closed ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (driving-say "Fix it")
      (driving-idle)
      (let ((session marvin-chat--session))
        (kill-buffer)
        (setf (marvin-session-patches session) nil)
        (marvin-chat-show session)
        (driving-wait "the change" (lambda () (marvin-session-patches session)))
        (marvin-diff-review session)
        (should (string-match-p "open\n" (buffer-string)))))))

(ert-deftest marvin-explain-shows-an-answer-about-the-region ()
  (driving-in-repository
    (with-current-buffer (driving-open "shop/basket.py")
      (marvin-explain)
      (driving-wait "the conversation" (lambda () (marvin-session-latest (marvin-current-server))))
      (with-current-buffer (marvin-chat--make (marvin-session-latest (marvin-current-server)))
        (driving-sees "It is about shop/basket.py")
        (driving-idle)))))

(ert-deftest marvin-fix-changes-the-buffer-and-tells-what-flymake-shows ()
  (driving-in-repository
    (with-current-buffer (driving-open "shop/basket.py")
      (add-hook 'flymake-diagnostic-functions
                (lambda (report &rest _)
                  (funcall report (list (flymake-make-diagnostic (current-buffer) 1 5 :error "the sign is wrong"))))
                nil t)
      (flymake-mode 1)
      (flymake-start)
      (driving-wait "Flymake" #'flymake-diagnostics)
      (should (equal (marvin-action--problems)
                     "The editor shows these problems there:\n- line 1: error: the sign is wrong"))
      (marvin-fix)
      (driving-sees "result += price"))))

(ert-deftest marvin-edit-shows-the-change-before-it-is-made ()
  (driving-in-repository
    (with-current-buffer (driving-open "shop/basket.py")
      (marvin-edit "add instead")
      (let ((selected (selected-window)) review)
        (driving-wait "the preview"
                      (lambda ()
                        (setq review (seq-find (lambda (buffer) (with-current-buffer buffer (derived-mode-p 'marvin-diff-mode)))
                                               (mapcar #'window-buffer (window-list))))))
        (should (eq selected (selected-window)))
        (should-not (eq review (window-buffer)))
        (should (string-match-p "result -= price" (buffer-string)))
        (with-current-buffer review (marvin-diff-keep)))
      (driving-sees "result += price"))))

(ert-deftest marvin-the-commit-message-goes-into-the-commit-buffer ()
  (driving-in-repository
    (with-temp-buffer
      (setq default-directory (file-name-directory (expand-file-name "README.md")))
      (text-mode)
      (insert "# about\n")
      (goto-char (point-min))
      (marvin-commit-message)
      (driving-sees "Add prices instead of subtracting them")
      (should (equal (buffer-string) "Add prices instead of subtracting them# about\n")))))

(ert-deftest marvin-the-mode-and-the-model-are-chosen ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (let ((completing-read-function (lambda (prompt &rest _) (if (string-prefix-p "Mode (" prompt) "plan" "other-model"))))
        (marvin-set-mode)
        (driving-wait "the mode" (lambda () (string-match-p "mode plan" (marvin-header marvin-chat--session))))
        (marvin-set-model)
        (driving-wait "the model" (lambda () (string-match-p "other-model" (marvin-header marvin-chat--session))))))))

;;; work-tests.el ends here
