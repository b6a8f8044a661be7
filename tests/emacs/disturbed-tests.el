;;; disturbed-tests.el --- What a person does to files meanwhile  -*- lexical-binding: t; -*-

;;; Code:

(require 'driving)

(defun disturbed-text (file)
  "The text of FILE on disk, or nil."
  (and (file-exists-p file) (with-temp-buffer (insert-file-contents file) (buffer-string))))

(defmacro disturbed-during-a-turn (&rest body)
  "Do BODY in the buffer CODE of shop/basket.py while a turn is about to change that file, and let the turn end.
CHAT is the conversation; what BODY gives is a function that is called in the end."
  (declare (indent 0))
  `(driving-in-repository
     (let ((code (driving-open "shop/basket.py")) (chat (driving-chat)) (old (disturbed-text "shop/basket.py")) then)
       (with-current-buffer code (driving-wait "the document" #'marvin-document-known-p))
       (with-current-buffer chat
         (driving-say "Wait")
         (driving-sees "Question")
         (with-current-buffer code (setq then (progn ,@body)))
         (marvin-permission-answer marvin-chat--session (car (marvin-session-permissions marvin-chat--session)) "allowOnce")
         (driving-idle)
         (funcall then old code)))))

(defun disturbed-fixed (text)
  "TEXT as it is after the change."
  (string-replace "result -= price" "result += price" text))

(ert-deftest marvin-a-buffer-killed-during-a-turn-is-changed-on-disk ()
  (disturbed-during-a-turn
    (kill-buffer)
    (lambda (old _) (should (equal (disturbed-text "shop/basket.py") (disturbed-fixed old))))))

(ert-deftest marvin-a-buffer-that-visits-another-file-meanwhile-is-left-alone ()
  (disturbed-during-a-turn
    (set-visited-file-name (expand-file-name "other.py") t)
    (lambda (old code)
      (should (equal (disturbed-text "shop/basket.py") (disturbed-fixed old)))
      (should-not (file-exists-p "shop/other.py"))
      (should (equal (with-current-buffer code (buffer-string)) old)))))

(ert-deftest marvin-a-file-that-is-renamed-during-a-turn-is-not-made-again ()
  (disturbed-during-a-turn
    (let ((new (expand-file-name "renamed.py")))
      (rename-file buffer-file-name new)
      (set-visited-file-name new t t))
    (lambda (old code)
      (should-not (file-exists-p "shop/basket.py"))
      (should (equal (disturbed-text "shop/renamed.py") old))
      (should (equal (with-current-buffer code (buffer-string)) old))
      (driving-sees "failed"))))

(ert-deftest marvin-a-file-that-is-deleted-during-a-turn-is-changed-in-its-buffer-alone ()
  (disturbed-during-a-turn
    (delete-file buffer-file-name)
    (lambda (old code)
      (should-not (file-exists-p "shop/basket.py"))
      (should (member (with-current-buffer code (buffer-string)) (list old (disturbed-fixed old)))))))

(ert-deftest marvin-a-conversation-killed-during-a-turn-does-not-end-it ()
  (disturbed-during-a-turn
    (let ((session (buffer-local-value 'marvin-chat--session chat)))
      (run-at-time 0.1 nil (lambda () (kill-buffer chat)))
      (lambda (old code)
        (driving-wait "the end" (lambda () (not (buffer-live-p chat))))
        (driving-wait "the turn" (lambda () (not (marvin-session-busy-p session))))
        (should (equal (with-current-buffer code (buffer-string)) (disturbed-fixed old)))))))

;;; While a review is open

(defmacro disturbed-during-a-review (&rest body)
  "Do BODY in the buffer of shop/basket.py, which was changed and is reviewed, reject the change, and let that be done.
It gives a function that is called in the end, with the text before the change and the buffer."
  (declare (indent 0))
  `(driving-in-repository
     (let ((code (driving-open "shop/basket.py")) (chat (driving-chat)) (old (disturbed-text "shop/basket.py")) then)
       (with-current-buffer code (driving-wait "the document" #'marvin-document-known-p))
       (with-current-buffer chat
         (driving-say "Fix it")
         (driving-idle)
         (marvin-diff-review marvin-chat--session))
       (let ((review (window-buffer)))
         (with-current-buffer code (setq then (progn ,@body)))
         (with-current-buffer review
           (goto-char (point-min))
           (re-search-forward "^@@")
           (marvin-diff-reject "" (marvin-diff--here))
           (driving-wait "what comes of it"
                         (lambda () (save-excursion (goto-char (point-min))
                                                    (re-search-forward "not done\\|Nothing waits" nil t)))))
         (funcall then old code)))))

(ert-deftest marvin-a-buffer-killed-during-a-review-leaves-the-file-as-it-is ()
  (disturbed-during-a-review
    (set-buffer-modified-p nil)
    (kill-buffer)
    (lambda (old _) (should (equal (disturbed-text "shop/basket.py") old)))))

(ert-deftest marvin-a-buffer-saved-and-killed-during-a-review-is-taken-back-on-disk ()
  (disturbed-during-a-review
    (save-buffer)
    (kill-buffer)
    (lambda (old _) (should (equal (disturbed-text "shop/basket.py") old)))))

(ert-deftest marvin-a-file-renamed-during-a-review-keeps-its-text ()
  (disturbed-during-a-review
    (save-buffer)
    (let ((new (expand-file-name "renamed.py")))
      (rename-file buffer-file-name new)
      (set-visited-file-name new t t))
    (lambda (old code)
      (should-not (file-exists-p "shop/basket.py"))
      (should (equal (disturbed-text "shop/renamed.py") (disturbed-fixed old)))
      (should (equal (with-current-buffer code (buffer-string)) (disturbed-fixed old))))))

(ert-deftest marvin-a-file-deleted-during-a-review-is-not-made-again ()
  (disturbed-during-a-review
    (save-buffer)
    (delete-file buffer-file-name)
    (kill-buffer)
    (lambda (_ _)
      (should-not (file-exists-p "shop/basket.py"))
      (with-current-buffer (window-buffer)
        (when (derived-mode-p 'marvin-diff-mode)
          (goto-char (point-min))
          (when (re-search-forward "^@@" nil t)
            (should-error (marvin-diff-visit) :type 'user-error)))))))

;;; disturbed-tests.el ends here
