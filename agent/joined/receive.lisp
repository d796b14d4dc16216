;;;; Takes the source of the agent in pieces, for an image that cannot read the server's files, and loads it after the last
;;;; one. Sent as text before anything of the agent's is there, so it names only symbols of COMMON-LISP.

(lambda (hash first last text)
  (let ((pieces (intern "*PIECES*" *package*)))
    (flet ((symbol-of-agent (name)
             (and (find-package "CL-MCP-AGENT") (find-symbol name "CL-MCP-AGENT")))
           (load-source (source)
             (let ((*compile-print* nil) (*compile-verbose* nil) (*load-verbose* nil) (*load-print* nil)
                   (*error-output* (make-broadcast-stream))
                   (*standard-output* (make-broadcast-stream))
                   (*package* *package*)
                   (*readtable* (copy-readtable nil)))
               (handler-bind ((warning #'muffle-warning))
                 (with-compilation-unit (:override t)
                   (load (make-string-input-stream source)))))))
      (set pieces (cons text (if first '() (symbol-value pieces))))
      (cond ((not last)
             :ok)
            (t
             (let ((refusal (symbol-of-agent "LEAVE-IMAGE-REFUSAL"))
                   (leave (symbol-of-agent "LEAVE-IMAGE"))
                   (source (with-output-to-string (out)
                             (dolist (piece (reverse (symbol-value pieces)))
                               (write-string piece out)))))
               (set pieces '())
               (handler-case
                   (let ((sentence (and refusal (fboundp refusal) (funcall refusal))))
                     (cond (sentence
                            (list :failed sentence))
                           (t
                            (when (and leave (fboundp leave))
                              (funcall leave))
                            (load-source source)
                            (set (intern "*HASH*" "CL-MCP-AGENT") hash)
                            :loaded)))
                 (error (condition)
                   (list :failed (substitute #\space #\newline (princ-to-string condition)))))))))))
