;;; marvin-symbol.el --- Symbols of a project, for #name  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The names in the open buffers of a project, as Imenu has them, and those that a language server of Eglot's knows.
;; Nothing waits: each buffer is looked at in a slice of the queue, and language servers are asked and not waited for.

;;; Code:

(require 'imenu)
(require 'marvin-context)

(declare-function eglot-current-server "eglot" ())

(cl-defstruct (marvin-symbol (:copier nil))
  "A symbol NAME of KIND at POSITION in BUFFER, or in the lines from LINE to LAST of the file PATH."
  name kind buffer position path line last)

(defconst marvin-symbol--largest 300000 "Characters of a buffer that is still looked through.")
(defconst marvin-symbol--most 200 "How many symbols are offered at once.")
(defconst marvin-symbol--patience 2 "Seconds after which a language server is not waited for.")
(defconst marvin-symbol--kinds
  '((2 . "module") (5 . "class") (6 . "method") (7 . "property") (8 . "field") (10 . "enum") (11 . "interface")
    (12 . "function") (13 . "variable") (14 . "constant") (23 . "struct"))
  "Kinds of symbols, by LSP's numbers.")

(defvar-local marvin-symbol--index nil "The symbols of this buffer: (TICK . LIST).")

(defun marvin-symbol-find (server query then)
  "Call THEN with the symbols of SERVER's project whose names have QUERY in them.
The names that begin with it come first."
  (let* ((buffers (marvin-documents server)) (found nil) (is-over nil)
         (asked (marvin-symbol--language-servers buffers))
         (left (+ (length buffers) (length asked)))
         (end (lambda ()
                (unless is-over
                  (setq is-over t)
                  (funcall then (marvin-symbol--best query found)))))
         (take (lambda (symbols)
                 (setq found (append found symbols) left (1- left))
                 (when (<= left 0) (funcall end)))))
    (if (zerop left)
        (funcall end)
      (run-at-time marvin-symbol--patience nil end)
      (dolist (buffer buffers)
        (marvin--later (lambda () (funcall take (marvin-symbol--of-buffer buffer)))))
      (dolist (each asked)
        (marvin-symbol--ask each query take)))))

(defun marvin-symbol--best (query symbols)
  "Those of SYMBOLS whose names have QUERY in them, the best first and each once."
  (let* ((case-fold-search t)
         (fits (seq-filter (lambda (symbol) (string-match-p (regexp-quote query) (marvin-symbol-name symbol)))
                           (seq-uniq symbols #'marvin-symbol--same-p)))
         (rank (lambda (symbol)
                 (let ((name (marvin-symbol-name symbol)))
                   (concat (if (string-prefix-p query name t) "a" "b") name "\0" (marvin-symbol-path symbol))))))
    (seq-take (seq-sort-by rank #'string< fits) marvin-symbol--most)))

(defun marvin-symbol--same-p (one other)
  "Whether ONE and OTHER are the same symbol, whoever named them."
  (and (equal (marvin-symbol-name one) (marvin-symbol-name other))
       (equal (marvin-symbol-path one) (marvin-symbol-path other))))

;;; Imenu

(defun marvin-symbol--of-buffer (buffer)
  "The symbols of BUFFER, where that is cheap to say."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (let ((tick (buffer-chars-modified-tick)))
        (unless (eql tick (car marvin-symbol--index))
          (let ((index (marvin-symbol--imenu)))
            (when (listp index)
              (setq marvin-symbol--index (cons tick (marvin-symbol--flat index nil nil))))))
        (cdr marvin-symbol--index)))))

(defun marvin-symbol--imenu ()
  "Imenu's index of the current buffer; t where a key was pressed meanwhile.
A mode that asks its language server is not asked: it would wait."
  (if (or (bound-and-true-p eglot--managed-mode) (bound-and-true-p lsp-mode)
          (> (buffer-size) marvin-symbol--largest))
      imenu--index-alist
    (while-no-input
      (ignore-errors
        (save-excursion
          (save-restriction
            (widen)
            (funcall imenu-create-index-function)))))))

(defun marvin-symbol--flat (index group whole)
  "The symbols of INDEX.
GROUP is the name of the part that it is, WHOLE that of its symbol."
  (seq-mapcat
   (lambda (entry)
     (pcase entry
       (`(,name . ,(and place (or (pred integerp) (pred markerp))))
        (let ((position (if (markerp place) (marker-position place) place)))
          (when (and position (> position 0))
            (pcase-let ((`(,bare . ,kind) (marvin-symbol--name (if (string-prefix-p "*" name) (or whole name) name))))
              (list (make-marvin-symbol :name bare :kind (or kind group) :buffer (current-buffer)
                                        :position (copy-marker position) :path buffer-file-name))))))
       (`(,name . ,(and inner (pred consp) (guard (consp (car inner)))))
        (marvin-symbol--flat inner (cdr (marvin-symbol--name name)) name))))
   index))

(defun marvin-symbol--name (name)
  "NAME of an index without what it says of the kind, and that kind or nil.
A name of several words is written as one."
  (if (string-match "\\`\\(.+?\\) (\\([^)]*\\))\\'" name)
      (cons (match-string 1 name) (match-string 2 name))
    (cons (string-join (split-string name) "-") nil)))

;;; Language servers

(defun marvin-symbol--language-servers (buffers)
  "The servers that Eglot has for BUFFERS."
  (and (fboundp 'eglot-current-server)
       (delete-dups (delq nil (mapcar (lambda (buffer) (with-current-buffer buffer (eglot-current-server))) buffers)))))

(defun marvin-symbol--ask (language-server query take)
  "Ask LANGUAGE-SERVER for symbols like QUERY, and call TAKE with them."
  (jsonrpc-async-request
   language-server :workspace/symbol (list :query query) :timeout marvin-symbol--patience
   :success-fn (lambda (result) (marvin--later take (delq nil (mapcar #'marvin-symbol--told result))))
   :error-fn (lambda (_) (funcall take nil))
   :timeout-fn (lambda () (funcall take nil))))

(defun marvin-symbol--told (information)
  "The symbol of INFORMATION, LSP's object, where it is in a local file."
  (let* ((location (plist-get information :location)) (range (plist-get location :range))
         (uri (plist-get location :uri)))
    (when (and range (string-prefix-p "file://" uri))
      (make-marvin-symbol :name (plist-get information :name)
                          :kind (alist-get (plist-get information :kind) marvin-symbol--kinds)
                          :path (marvin-uri-to-path uri)
                          :line (1+ (plist-get (plist-get range :start) :line))
                          :last (1+ (plist-get (plist-get range :end) :line))))))

;;; What goes along

(defun marvin-symbol-detail (symbol root)
  "Where SYMBOL is, in words, seen from the folder ROOT."
  (let ((line (or (marvin-symbol-line symbol)
                  (and (buffer-live-p (marvin-symbol-buffer symbol))
                       (with-current-buffer (marvin-symbol-buffer symbol)
                         (line-number-at-pos (marvin-symbol-position symbol) t))))))
    (format "%s%s:%s" (if (marvin-symbol-kind symbol) (concat (marvin-symbol-kind symbol) ", ") "")
            (file-relative-name (marvin-symbol-path symbol) root) (or line "?"))))

(defun marvin-symbol-object (symbol)
  "The context of SYMBOL as the protocol's object, or nil where it is gone."
  (let* ((path (marvin-symbol-path symbol))
         (buffer (if (buffer-live-p (marvin-symbol-buffer symbol)) (marvin-symbol-buffer symbol)
                   (find-buffer-visiting path))))
    (cond
     (buffer (pcase-let ((`(,beg . ,end) (marvin-symbol--bounds symbol buffer)))
               (marvin-context-region buffer beg end)))
     ((and (marvin-symbol-line symbol) (file-readable-p path))
      (with-temp-buffer
        (insert-file-contents path)
        (pcase-let ((`(,beg . ,end) (marvin-symbol--bounds symbol (current-buffer))))
          (list :type "text" :title (format "#%s, %s:%d" (marvin-symbol-name symbol) path (marvin-symbol-line symbol))
                :text (buffer-substring-no-properties beg end))))))))

(defun marvin-symbol--bounds (symbol buffer)
  "Where SYMBOL begins and ends in BUFFER: whole lines."
  (with-current-buffer buffer
    (save-excursion
      (save-restriction
        (widen)
        (goto-char (point-min))
        (if (marvin-symbol-position symbol)
            (goto-char (marvin-symbol-position symbol))
          (forward-line (1- (marvin-symbol-line symbol))))
        (let* ((beg (line-beginning-position))
               (told (progn (goto-char beg)
                            (forward-line (- (or (marvin-symbol-last symbol) 0) (or (marvin-symbol-line symbol) 0)))
                            (line-end-position)))
               (seen (progn (goto-char beg)
                            (or (ignore-errors (end-of-line) (end-of-defun) (point)) beg))))
          (cons beg (max told seen)))))))

(provide 'marvin-symbol)
;;; marvin-symbol.el ends here
