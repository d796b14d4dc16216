;;;; Completion of arguments: the names that begin with a given prefix.

(in-package #:cl-mcp-agent)

(defconstant +names-completed+ 100)

(defun shown-name (name)
  "Return NAME, of a package or system, in lower case; unchanged if it contains lower-case letters."
  (if (some #'lower-case-p name) name (string-downcase name)))

(defun shown-symbol-name (name)
  "Return NAME, of a symbol, as describe-symbol accepts it: in lower case, or between bars."
  (if (some (lambda (character)
              (or (lower-case-p character) (find character " :|'()")))
            name)
      (concatenate 'string "|" name "|")
      (string-downcase name)))

(defun symbol-names-like (prefix package-name)
  "List the names of the package's symbols that begin with PREFIX: the exported ones, or if there are none,
its internal ones. Without PACKAGE-NAME, list symbols accessible in the session's package."
  (let* ((prefix (string-left-trim "|" prefix))
         (package (if package-name (find-meant-package package-name) (session-package)))
         (exported '())
         (others '()))
    (when package
      (do-symbols (symbol package)
        (when (prefix-p prefix (symbol-name symbol))
          (if (exported-from-p symbol package)
              (push (symbol-name symbol) exported)
              (when (or (null package-name) (eq package (symbol-package symbol)))
                (push (symbol-name symbol) others))))))
    (mapcar #'shown-symbol-name (or exported others))))

(defun package-names-like (prefix)
  (loop for package in (list-all-packages)
        when (prefix-p prefix (package-name package))
          collect (shown-name (package-name package))))

(defun system-names-like (prefix)
  (remove-if-not (lambda (name)
                   (and (stringp name) (prefix-p prefix name)))
                 (append (asdf:already-loaded-systems) (systems-in-sight))))

(define-operation :complete-names (&key prefix type package)
  (let* ((names (cond ((equal type "symbols") (symbol-names-like prefix package))
                      ((equal type "packages") (package-names-like prefix))
                      (t (system-names-like prefix))))
         (names (sort (remove-duplicates names :test #'string=) #'shorter-name-p)))
    (list *id* :ok :total (length names)
                   :names (some-of names 0 +names-completed+))))
