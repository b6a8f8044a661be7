;;; beside.el --- Marvin in a buffer that has another client of LSP too  -*- lexical-binding: t; -*-

;;; Code:

(require 'driving)

(defvar beside-language-server
  (list (expand-file-name "pyright-langserver" (file-name-directory (getenv "MARVIN_TEST_PYTHON"))) "--stdio"))

(defun beside-marvins-text (code)
  "The text of CODE as Marvin's server has it: what it tells the model of the buffer."
  (with-current-buffer (driving-chat)
    (marvin-add-buffer (buffer-name code))
    (driving-say "Hello")
    (driving-sees "[show] Context: ")
    (driving-idle)
    (goto-char (point-min))
    (search-forward "[show] Context: ")
    (let* ((block (get-text-property (line-beginning-position) 'marvin-heading)) (text (marvin-transcript-text block)))
      (string-match "```[^\n]*\n\\(\\(?:.\\|\n\\)*?\\)```" text)
      (match-string 1 text))))

(defun beside-both (code names)
  "Let Marvin and a person write in CODE in turns; NAMES gives what the language server finds there each time.
Both servers must have the buffer's text in the end."
  (with-current-buffer code
    (marvin-start)
    (driving-wait "the document" #'marvin-document-known-p)
    (goto-char (point-max))
    (insert "\n\ndef by_person() -> str:\n    return \"🌍\"\n")
    (should (equal (funcall names) '("total" "by_person"))))
  (with-current-buffer (driving-chat)
    (driving-say "Declare")
    (driving-idle))
  (with-current-buffer code
    (driving-sees "def by_marvin")
    (should (equal (funcall names) '("total" "by_marvin" "by_person")))
    (goto-char (point-min))
    (search-forward "\"\"\"\n")
    (insert "# by person, above all\n")
    (should (equal (funcall names) '("total" "by_marvin" "by_person")))
    (should (equal (beside-marvins-text code) (buffer-string)))))

(provide 'beside)
;;; beside.el ends here
