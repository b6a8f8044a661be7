;;; symbol-tests.el --- #name in a prompt, and pictures  -*- lexical-binding: t; -*-

;;; Code:

(require 'driving)

(defun symbol-found (query)
  "The names that are found for QUERY, with what is said of them."
  (let (found)
    (marvin-symbol-find (marvin-current-server) query (lambda (symbols) (setq found (or symbols 'none))))
    (driving-wait "the symbols" (lambda () found))
    (and (listp found)
         (mapcar (lambda (symbol) (cons (marvin-symbol-name symbol) (marvin-symbol-detail symbol default-directory)))
                 found))))

(ert-deftest marvin-a-symbol-is-completed-and-goes-along-as-its-lines ()
  (driving-in-repository
    (let ((code (driving-open "shop/basket.py")) (chat (driving-chat)))
      (with-current-buffer code (driving-wait "the document" #'marvin-document-known-p))
      (with-current-buffer chat
        (insert "Explain #tot")
        (completion-at-point)
        (driving-wait "the symbol" (lambda () (equal (marvin-input-text) "Explain #total")))
        (insert ", please")
        (let ((object (car (marvin-completion-objects (marvin-input-text)))))
          (should (equal (plist-get object :type) "selection"))
          (should (equal (plist-get object :range) '(:start (:line 3 :character 0) :end (:line 9 :character 0)))))
        (marvin-chat-send)
        (driving-sees "[show] Context: Selected in shop/basket.py")
        (driving-idle)))))

(ert-deftest marvin-the-same-name-in-two-files-is-told-apart ()
  (driving-in-repository
    (with-temp-file "shop/cart.py" (insert "class Cart:\n    def total(self):\n        return 0\n"))
    (let ((code (driving-open "shop/basket.py")) (chat (driving-chat)))
      (with-current-buffer (driving-open "shop/cart.py")
        (driving-wait "the documents" (lambda () (and (marvin-document-known-p)
                                                      (with-current-buffer code (marvin-document-known-p))))))
      (should (equal (symbol-found "TOT") '(("total" . "def, shop/basket.py:4") ("total" . "def, shop/cart.py:2"))))
      (should (equal (symbol-found "cart") '(("Cart" . "class, shop/cart.py:1"))))
      (should-not (symbol-found "nothing-like-that"))
      (with-current-buffer chat
        (insert "#total")
        (completion-at-point)
        (driving-wait "an offer" (lambda () marvin-completion--symbols))
        (should (equal (sort (hash-table-keys marvin-completion--symbols) #'string<) '("#total" "#total@shop/cart.py")))
        (should (equal (plist-get (plist-get (car (marvin-completion-objects "#total@shop/cart.py")) :range) :start)
                       '(:line 1 :character 0)))))))

(ert-deftest marvin-a-symbol-of-a-buffer-that-was-killed-is-left-out ()
  (driving-in-repository
    (let ((code (driving-open "shop/basket.py")) (chat (driving-chat)))
      (with-current-buffer code (driving-wait "the document" #'marvin-document-known-p))
      (with-current-buffer chat
        (insert "#total")
        (completion-at-point)
        (driving-wait "an offer" (lambda () marvin-completion--symbols))
        (kill-buffer code)
        (should-not (marvin-completion-objects "#total"))))))

;;; Pictures

(defconst symbol-tests-picture
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
  "A PNG of one pixel, in base64.")

(defun symbol-tests-write-picture ()
  "Write the picture into pixel.png."
  (let ((coding-system-for-write 'binary))
    (with-temp-file "pixel.png"
      (set-buffer-multibyte nil)
      (insert (base64-decode-string symbol-tests-picture)))))

(ert-deftest marvin-a-picture-from-a-file-goes-along-and-is-told ()
  (driving-in-repository
    (symbol-tests-write-picture)
    (with-current-buffer (driving-chat)
      (should-error (marvin-add-image "README.md") :type 'user-error)
      (marvin-add-image "pixel.png")
      (should (equal (marvin-context-objects) (list (list :type "image" :mimeType "image/png" :data symbol-tests-picture))))
      (driving-say "What is this?")
      (driving-sees "You\nWhat is this?\n[picture, image/png, ")
      (driving-idle))))

(ert-deftest marvin-a-file-that-is-dropped-goes-along ()
  (driving-in-repository
    (symbol-tests-write-picture)
    (with-current-buffer (driving-chat)
      (dnd-handle-one-url (selected-window) 'copy (concat "file://" (expand-file-name "pixel.png")))
      (should (equal (mapcar (lambda (object) (plist-get object :type)) (marvin-context-objects)) '("image"))))))

(ert-deftest marvin-a-picture-that-was-copied-goes-along ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (marvin-context--yanked 'image/png (base64-decode-string symbol-tests-picture))
      (should (equal (marvin-context-objects) (list (list :type "image" :mimeType "image/png" :data symbol-tests-picture))))
      (should-error (marvin-context--yanked 'image/tiff "x") :type 'user-error)
      (when (boundp 'yank-media--registered-handlers)
        (should (assoc "image/.*" yank-media--registered-handlers))))))

(ert-deftest marvin-remote-files-do-not-go-along-and-nobody-is-connected-to ()
  (driving-in-repository
    (with-current-buffer (driving-chat)
      (dolist (file '("/ssh:nowhere:/tmp/pixel.png" "/sudo::/etc/passwd"))
        (should (string-match-p "local files"
                                (cadr (should-error (marvin-add-file file) :type 'user-error))))
        (should-not marvin-input-context)
        (should-not (string-match-p "tramp" (mapconcat #'buffer-name (buffer-list) " ")))))))

;;; symbol-tests.el ends here
