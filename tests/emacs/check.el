;;; check.el --- Byte-compiles, and reads as checkdoc and package-lint do  -*- lexical-binding: t; -*-

;; Usage: emacs -Q --batch -l tests/emacs/check.el
;; Ends with 1, and a line for each problem, unless editors/emacs is clean.  What is compiled goes to a temporary folder.

;;; Code:

(require 'bytecomp)
(require 'checkdoc)

(defvar check-folder (expand-file-name "../../editors/emacs/" (file-name-directory load-file-name)))
(defvar check-problems 0 "How many problems there are.")

(defun check-say (format &rest arguments)
  "Say that there is a problem, by FORMAT and ARGUMENTS."
  (setq check-problems (1+ check-problems))
  (message "%s" (apply #'format format arguments)))

(add-to-list 'load-path check-folder)
(dolist (package (file-expand-wildcards (expand-file-name "../site-lisp/elpa-src/*" data-directory)))
  (add-to-list 'load-path package))
(dolist (package (file-expand-wildcards (expand-file-name "../../site-lisp/elpa-src/*" data-directory)))
  (add-to-list 'load-path package))

(setq checkdoc-verb-check-experimental-flag nil)
(let* ((files (directory-files check-folder t "\\`marvin.*\\.el\\'"))
       (compiled (make-temp-file "marvin-check" t))
       (byte-compile-error-on-warn nil)
       (byte-compile-dest-file-function
        (lambda (file) (expand-file-name (concat (file-name-base file) ".elc") compiled)))
       (checkdoc-create-error-function
        (lambda (text start _end &optional _unfixable)
          (check-say "%s:%s: checkdoc: %s" (buffer-name) (if start (line-number-at-pos start) "?") text)
          nil)))
  (unwind-protect
      (dolist (file files)
        (with-current-buffer (get-buffer-create "*Compile-Log*")
          (let ((inhibit-read-only t)) (erase-buffer)))
        (unless (byte-compile-file file)
          (check-say "%s: does not compile" file))
        (with-current-buffer "*Compile-Log*"
          (goto-char (point-min))
          (while (re-search-forward "\\(?:Warning\\|Error\\): .*" nil t)
            (check-say "%s: %s" (file-name-nondirectory file) (match-string 0))))
        (with-current-buffer (find-file-noselect file)
          (checkdoc-current-buffer t)))
    (delete-directory compiled t))
  (if (not (require 'package-lint nil t))
      (check-say "package-lint is not installed: tests/e2e/install-emacs.sh has it")
    (setq package-lint-main-file (expand-file-name "marvin.el" check-folder))
    (dolist (file files)
      (with-current-buffer (find-file-noselect file)
        (pcase-dolist (`(,line ,_column ,kind ,text) (package-lint-buffer))
          ;; Debian's package-lint is older than Emacs 28.
          (unless (string-match-p "uninstallable in all released Emacs versions" text)
            (check-say "%s:%d: package-lint: %s: %s" (buffer-name) line kind text)))))))

(message "%d problems" check-problems)
(kill-emacs (if (zerop check-problems) 0 1))

;;; check.el ends here
