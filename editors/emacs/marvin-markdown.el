;;; marvin-markdown.el --- How Markdown looks in a conversation  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Only text with the property `marvin-markdown' is looked at: what tools print may look like Markdown and is none.
;; Lines are fontified as they are shown; a block of code gets its language's own faces once it is whole.

;;; Code:

(require 'diff-mode)
(require 'seq)

(defface marvin-heading '((t :inherit font-lock-function-name-face :weight bold))
  "Headings of Markdown, and of a conversation."
  :group 'marvin)

(defface marvin-code '((t :inherit font-lock-constant-face))
  "Code of which the language is not known."
  :group 'marvin)

(defface marvin-fence '((t :inherit shadow))
  "The lines around a block of code."
  :group 'marvin)

(defconst marvin-markdown--most-code 8000
  "Longer blocks of code get one face: to colour them would hold up typing.")

(defun marvin-markdown--matcher (regexp)
  "A function that finds REGEXP as font lock wants it, in prose alone."
  (lambda (limit)
    (let (found)
      (while (and (not found) (re-search-forward regexp limit t))
        (setq found (and (get-text-property (match-beginning 0) 'marvin-markdown)
                         (not (get-text-property (match-beginning 0) 'marvin-code)))))
      found)))

(defconst marvin-markdown-keywords
  `((,(marvin-markdown--matcher "^ *```.*$") 0 'marvin-fence t)
    (,(marvin-markdown--matcher "^#\\{1,6\\} .*$") 0 'marvin-heading)
    (,(marvin-markdown--matcher "`[^`\n]+`") 0 'marvin-code)
    (,(marvin-markdown--matcher "\\*\\*[^*\n]+\\*\\*") 0 'bold append)
    (,(marvin-markdown--matcher "\\_<_[^_\n]+_\\_>") 0 'italic append)
    (,(marvin-markdown--matcher "^ *\\(?:[-*+]\\|[0-9]+[.)]\\) ") 0 'font-lock-keyword-face)
    (,(marvin-markdown--matcher "^> .*$") 0 'font-lock-comment-face append)
    (,(marvin-markdown--matcher "\\[[^]\n]+\\]([^)\n]+)") 0 'link append))
  "Font lock keywords for prose.")

(defun marvin-markdown-code (beg end)
  "Give the blocks of code between BEG and END the faces of their languages."
  (save-excursion
    (goto-char beg)
    (while (re-search-forward "^ *```+ *\\([[:alnum:]+#-]*\\).*\n" end t)
      (let ((mode (marvin-markdown--mode (match-string-no-properties 1)))
            (from (point))
            (to (if (re-search-forward "^ *```+ *$" end t) (match-beginning 0) end)))
        (put-text-property from to 'marvin-code t)
        (put-text-property from to 'font-lock-face 'marvin-code)
        (when (and mode (< (- to from) marvin-markdown--most-code))
          (marvin-markdown--colour from to mode))))))

(defun marvin-markdown--colour (beg end mode)
  "Give the code between BEG and END the faces of the major mode MODE.
What the code says of Emacs, and the person's hooks, have no effect."
  (let ((code (buffer-substring-no-properties beg end)) (faces nil)
        (enable-local-variables nil) (enable-local-eval nil) (enable-dir-local-variables nil))
    (with-temp-buffer
      (insert code)
      (with-demoted-errors "Marvin: %S"
        (delay-mode-hooks (funcall mode))
        (font-lock-ensure))
      (let ((at (point-min)))
        (while (< at (point-max))
          (let ((next (next-single-property-change at 'face nil (point-max))))
            (push (list (1- at) (1- next) (get-text-property at 'face)) faces)
            (setq at next)))))
    (pcase-dolist (`(,from ,to ,face) faces)
      (put-text-property (+ beg from) (+ beg to) 'font-lock-face (or face 'default)))))

(defun marvin-markdown-diff (diff)
  "The text DIFF with the faces of `diff-mode'."
  (mapconcat (lambda (line)
               (propertize line 'font-lock-face
                           (cond ((string-match-p "\\`\\(---\\|[+][+][+]\\) " line) 'diff-file-header)
                                 ((string-prefix-p "+" line) 'diff-added)
                                 ((string-prefix-p "-" line) 'diff-removed)
                                 ((string-prefix-p "@" line) 'diff-hunk-header)
                                 (t 'diff-context))))
             (split-string diff "\n") "\n"))

(defconst marvin-markdown--modes
  '(c-mode c++-mode java-mode python-mode sh-mode js-mode css-mode emacs-lisp-mode scheme-mode ruby-mode perl-mode
    sql-mode makefile-mode pascal-mode fortran-mode awk-mode asm-mode diff-mode conf-mode conf-toml-mode html-mode
    sgml-mode go-mode rust-mode typescript-mode lua-mode php-mode haskell-mode swift-mode kotlin-mode scala-mode)
  "Modes that only colour, and that may be loaded for that.
Others ask, fetch or show something, and which mode it is says the model.")

(defun marvin-markdown--mode (language)
  "The major mode for LANGUAGE, as written after a fence, or nil.
It is one of `marvin-markdown--modes', or a mode for programs that is loaded."
  (let* ((name (pcase (downcase language)
                 ((or "bash" "shell" "zsh") "sh") ((or "elisp" "lisp") "emacs-lisp")
                 ((or "javascript" "jsx" "json") "js") ("ts" "typescript") ("py" "python") ("rb" "ruby") ("cpp" "c++")
                 ("patch" "diff") ("toml" "conf-toml") ((or "ini" "properties") "conf") ("xml" "sgml") ("make" "makefile")
                 ("rs" "rust") (other other)))
         (mode (intern-soft (concat name "-mode"))))
    (and mode (fboundp mode)
         (or (memq mode marvin-markdown--modes) (provided-mode-derived-p mode 'prog-mode))
         mode)))

(provide 'marvin-markdown)
;;; marvin-markdown.el ends here
