;;;; Quicklisp, if it is installed: loading its systems and searching them. Its functions are called by name,
;;;; because Quicklisp is absent when the agent is compiled.

(in-package #:cl-mcp-agent)

(defparameter *quicklisp-installer* #p"/usr/share/common-lisp/source/quicklisp/quicklisp.lisp"
  "The installer's path in the package cl-quicklisp of Debian and Ubuntu.")

(defun quicklisp-setup-file ()
  "Return the file that loads Quicklisp into the session; qlot's installation comes first."
  (let ((home (or (qlot-directory) (quicklisp-home))))
    (and home (probe-file (merge-pathnames "setup.lisp" home)))))

(defun quicklisp-here-p ()
  "Load Quicklisp if it is installed but not loaded. Return true if it is available."
  (or (find-package "QUICKLISP-CLIENT")
      (let ((setup (quicklisp-setup-file)))
        (when setup
          (call-noting-packages (lambda () (load setup)))
          (find-package "QUICKLISP-CLIENT")))))

(defun refuse-without-quicklisp ()
  (list *id* :refused
        (format nil "Quicklisp is not installed: there is no setup.lisp in ~~/quicklisp, and none is loaded.~@
                     ~:[To install it, load its installer, beta.quicklisp.org/quicklisp.lisp,~;~
                     To install it, load its installer, ~:*~a,~] and call (quicklisp-quickstart:install).~@
                     Systems that are on this machine need no Quicklisp: list-systems shows them, ~
                     load-system loads them."
                (let ((installer (probe-file *quicklisp-installer*)))
                  (and installer (native-name installer))))))

(defun quicklisp-systems ()
  "List the systems of all dists, as Quicklisp's own objects."
  (ask "PROVIDED-SYSTEMS" "QL-DIST" t))

(defun quicklisp-system-name (system)
  (or (ask "NAME" "QL-DIST" system) ""))

(defun known-to-quicklisp-p (name)
  (or (not (absent-system-p name))
      (ask "FIND-SYSTEM" "QL-DIST" name)))

(defun refuse-unknown-to-quicklisp (name)
  (let ((near (near-strings name (mapcar #'quicklisp-system-name (quicklisp-systems)))))
    (list *id* :refused
          (format nil "Quicklisp has no system ~a, and this machine has none.~
                       ~@[~%Did you mean ~{~a~^ or ~}?~]"
                  name (some-of near 0 +names-offered+)))))

(define-operation :quickload (arguments)
  (let ((name (string-downcase (getf arguments :system))))
    (cond ((not (quicklisp-here-p)) (refuse-without-quicklisp))
          ((not (known-to-quicklisp-p name)) (refuse-unknown-to-quicklisp name))
          (t
           (let ((before (asdf:already-loaded-systems))
                 (quickload (find-symbol "QUICKLOAD" "QUICKLISP-CLIENT")))
             (with-loading ()
               (call-as-evaluation
                (lambda ()
                  (setf *current-form* (list `(,quickload ,name :prompt nil)))
                  (call-quietly
                   (lambda ()
                     (evaluate-with-retry
                      `(,quickload ,name :prompt nil :verbose ,(getf arguments :verbose))))))
                arguments
                (lambda () (loaded-part name before)))))))))

(defun quicklisp-entry (system)
  "Return (NAME RELEASE DIST INSTALLED LOADED) for SYSTEM of Quicklisp's."
  (flet ((text (object)
           (let ((name (ask "NAME" "QL-DIST" object)))
             (if (stringp name) name ""))))
    (let ((name (text system))
          (release (ask "RELEASE" "QL-DIST" system)))
      (list name
            (let ((prefix (ask "PREFIX" "QL-DIST" release)))
              (if (stringp prefix) prefix (text release)))
            (text (ask "DIST" "QL-DIST" system))
            (and (ask "INSTALLEDP" "QL-DIST" system) t)
            (and (asdf:component-loaded-p name) t)))))

(define-operation :quicklisp-search (arguments)
  (if (not (quicklisp-here-p))
      (refuse-without-quicklisp)
      (let* ((pattern (getf arguments :pattern))
             (all (quicklisp-systems))
             (found (sort (remove-if-not (lambda (system)
                                           (search pattern (quicklisp-system-name system)
                                                   :test #'char-equal))
                                         all)
                          #'string< :key #'quicklisp-system-name)))
        (list *id* :ok
              :total (length found)
              :systems (loop for system in found
                             repeat (getf arguments :count 50)
                             collect (quicklisp-entry system))
              :near (if (or found (null pattern))
                        '()
                        (let ((near (near-strings pattern (mapcar #'quicklisp-system-name all))))
                          (some-of near 0 +names-offered+)))))))
