;;;; Quicklisp, if it is installed: loading its systems and searching them. Its functions are called by name,
;;;; because Quicklisp is absent when the agent is compiled.

(in-package #:cl-mcp-agent)

(defparameter *quicklisp-installer* #p"/usr/share/common-lisp/source/quicklisp/quicklisp.lisp"
  "The installer's path in the package cl-quicklisp of Debian and Ubuntu.")

(defun quicklisp-setup-file ()
  "Return the file that loads Quicklisp into the session; qlot's installation comes first."
  (let ((home (or (qlot-directory) (quicklisp-home))))
    (and home (probe-file (merge-pathnames "setup.lisp" home)))))

(defun need-quicklisp ()
  "Load Quicklisp if it is installed but not loaded; refuse if it is not installed."
  (unless (find-package "QUICKLISP-CLIENT")
    (let ((setup (quicklisp-setup-file)))
      (when setup
        (call-noting-packages (lambda () (load setup))))
      (unless (find-package "QUICKLISP-CLIENT")
        (refuse "Quicklisp is not installed: there is no setup.lisp in ~~/quicklisp, and none is loaded.~@
                 ~:[To install it, load its installer, beta.quicklisp.org/quicklisp.lisp,~;~
                 To install it, load its installer, ~:*~a,~] and call (quicklisp-quickstart:install).~@
                 Systems that are on this machine need no Quicklisp: list-systems shows them, ~
                 load-system loads them."
                (uiop:native-namestring (probe-file *quicklisp-installer*)))))))

(defun quicklisp-systems ()
  "List the systems of all dists, as Quicklisp's own objects."
  (ask "PROVIDED-SYSTEMS" "QL-DIST" t))

(defun quicklisp-name (object)
  "Return the name of OBJECT, a system, a release or a dist of Quicklisp's."
  (let ((name (ask "NAME" "QL-DIST" object)))
    (if (stringp name) name "")))

(defun near-quicklisp-systems (name systems)
  "List the names of SYSTEMS that are similar to NAME."
  (some-of (near-strings name (mapcar #'quicklisp-name systems)) 0 +names-offered+))

(defun need-known-to-quicklisp (name)
  "Refuse if neither this machine nor Quicklisp has a system NAME."
  (unless (or (not (absent-system-p name))
              (ask "FIND-SYSTEM" "QL-DIST" name))
    (refuse "Quicklisp has no system ~a, and this machine has none.~@[~%~a~]"
            name (offer (near-quicklisp-systems name (quicklisp-systems))))))

(define-operation :quickload (&rest arguments &key system verbose)
  (need-quicklisp)
  (let ((name (string-downcase system))
        (before (asdf:already-loaded-systems))
        (quickload (find-symbol "QUICKLOAD" "QUICKLISP-CLIENT")))
    (need-known-to-quicklisp name)
    (with-loading (name)
      (call-as-evaluation
       (lambda ()
         (setf *current-form* (list `(,quickload ,name :prompt nil)))
         (call-quietly
          (lambda ()
            (evaluate-with-retry `(,quickload ,name :prompt nil :verbose ,verbose)))))
       arguments
       (lambda () (append (loaded-part name before) (load-effects-part)))))))

(defun quicklisp-entry (system)
  "Return (NAME RELEASE DIST INSTALLED LOADED) for SYSTEM of Quicklisp's."
  (let* ((name (quicklisp-name system))
         (release (ask "RELEASE" "QL-DIST" system))
         (prefix (ask "PREFIX" "QL-DIST" release)))
    (list name
          (if (stringp prefix) prefix (quicklisp-name release))
          (quicklisp-name (ask "DIST" "QL-DIST" system))
          (and (ask "INSTALLEDP" "QL-DIST" system) t)
          (and (asdf:component-loaded-p name) t))))

(define-operation :quicklisp-search (&key pattern (count 50))
  (need-quicklisp)
  (let* ((all (quicklisp-systems))
         (found (sort (remove-if-not (lambda (name) (search pattern name :test #'char-equal)) all :key #'quicklisp-name)
                      #'string< :key #'quicklisp-name)))
    (list *id* :ok
          :total (length found)
          :systems (mapcar #'quicklisp-entry (some-of found 0 count))
          :near (if (or found (null pattern)) '() (near-quicklisp-systems pattern all)))))
