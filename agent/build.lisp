;;;; Builds the agent's core:
;;;;
;;;;     sbcl --noinform --no-sysinit --no-userinit --non-interactive --load build.lisp -- OUT.core
;;;;
;;;; files.txt, beside this file, lists the agent's files in order. Alternatively, concatenate them
;;;; in that order, with this file at the end, and pass the result to --load.

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
