;;;; Builds the agent's core:
;;;;
;;;;     sbcl --noinform --no-sysinit --no-userinit --non-interactive --load build.lisp -- OUT.core
;;;;
;;;; The files of the agent, in order, are listed in files.txt beside this file. They may as well
;;;; be concatenated in that order with this file at the end, and the result be given to --load.

(cl:in-package #:common-lisp-user)

(setf *compile-print* nil
      *compile-verbose* nil
      *load-verbose* nil)

(unless (find-package "CL-MCP-AGENT")
  (let ((here (or *load-truename* *default-pathname-defaults*)))
    (handler-bind ((style-warning (lambda (condition)
                                    (format *error-output* "~&~a: ~a~%" (type-of condition) condition)
                                    (muffle-warning condition)))
                   (warning #'error))
      (with-open-file (list (merge-pathnames "files.txt" here))
        (with-compilation-unit ()
          (loop for name = (read-line list nil)
                while name
                do (load (merge-pathnames name here))))))))

(in-package #:cl-mcp-agent)

(prepare-image)
(in-package #:common-lisp-user)
(cl-mcp-agent::save-image (first (last sb-ext:*posix-argv*)) nil)
