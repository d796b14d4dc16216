;;;; From a clean start: in a Lisp of its own, which ends afterwards, a system is compiled and loaded from its sources; and what
;;;; the session has to say about the result.

(in-package #:cl-mcp-agent)

(define-session-variable *last-failures* '()
  "(SYSTEM TEST ...): the tests that failed when the tests of SYSTEM were last run, as text.")

(defun whole-name (name)
  "Return NAME, of a function or variable, as text that has its package."
  (let ((*package* (find-package "KEYWORD")))
    (name-text name)))

(defun use-throw-away-outputs (name folder)
  "Have ASDF put the compiled files of the system NAME into FOLDER; others stay where they are."
  (let ((root (namestring (asdf:system-source-directory (asdf:find-system name)))))
    (flet ((below (root)
             (list root :**/ :*.*.*)))
      (asdf:initialize-output-translations
       `(:output-translations
         ,@(loop for foreign in *foreign-directories*
                 for directory = (concatenate 'string root foreign "/")
                 collect (list (below directory) (list :user-cache (string-left-trim "/" directory) :**/ :*.*.*)))
         (,(below root) ,(below (namestring folder)))
         :inherit-configuration)))))

(defun throw-away-folder (process)
  (uiop:ensure-directory-pathname (merge-pathnames (format nil "cl-mcp-clean-~a" process) (uiop:temporary-directory))))

(defun delete-left-folders ()
  "Delete the folders of clean runs that were killed."
  (dolist (folder (ignore-errors (uiop:subdirectories (uiop:temporary-directory))))
    (let* ((name (first (last (pathname-directory folder))))
           (process (and (stringp name)
                         (prefix-p "cl-mcp-clean-" name)
                         (parse-integer name :start (length "cl-mcp-clean-") :junk-allowed t))))
      (when (and process (not (probe-file (format nil "/proc/~d/" process))))
        (ignore-errors (uiop:delete-directory-tree folder :validate t))))))

(defun call-from-sources (name clean function)
  "Call FUNCTION, which loads the system NAME; if CLEAN is true, without its compiled files and leaving none."
  (if (not clean)
      (funcall function)
      (let ((folder (throw-away-folder (process-id))))
        (delete-left-folders)
        (use-throw-away-outputs name folder)
        (unwind-protect (funcall function)
          (ignore-errors (uiop:delete-directory-tree folder :validate t :if-does-not-exist :ignore))))))

(defun undefined-part (failures)
  "Return the part of a reply about the names that are undefined after the load, or were in FAILURES of tests."
  (list :undefined
        (remove-duplicates
         (append (loop for (nil name) in (ignore-errors (undefined-names 100 t))
                       collect (whole-name name))
                 (loop for failure in failures
                       when (getf failure :undefined)
                         collect (getf failure :undefined)))
         :test #'string=)))

(defun plain-test-name (text)
  "Return TEXT, the name of a test, without its package: that depends on the current one."
  (string-upcase (plain-token text)))

(define-operation :compare-results (&key system failures undefined)
  (with-agent-syntax ()
    (destructuring-bind (&optional last-system &rest here) *last-failures*
      (let ((known (equal last-system system)))
        (flet ((only (some others)
                 (and known (set-difference some others :key #'plain-test-name :test #'string=))))
          (list *id* :ok
                :only-there (only failures here)
                :only-here (only here failures)
                :still-defined (loop for name in undefined
                                     for symbol = (find-named-symbol name (session-package))
                                     when (and symbol (fboundp (if (setf-name-p name) `(setf ,symbol) symbol)))
                                       collect name)))))))
