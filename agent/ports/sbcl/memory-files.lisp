;;;; The agent's port to SBCL: compiling without effect, in files in memory.

(in-package #:cl-mcp-agent)

;;; The source of a compilation without effect is a file in memory, and so is its output.

(defun make-memory-file (name)
  "Return a descriptor of a file without a name, or signal an error."
  (let ((descriptor (c-call "memfd_create" sb-alien:int sb-alien:c-string name
                            sb-alien:unsigned-int +memory-close-on-exec+)))
    (when (minusp descriptor)
      (error "The kernel made no file in memory."))
    descriptor))

(defun name-of-descriptor (descriptor)
  (make-pathname :directory '(:absolute "proc" "self" "fd") :name (format nil "~d" descriptor)
                 ;; Nothing is to be added to it.
                 :type :unspecific :version nil
                 :defaults #p"/"))

(defun write-memory-file (descriptor text)
  (let ((stream (sb-sys:make-fd-stream descriptor :output t :buffering :full :auto-close nil
                                                  :external-format '(:utf-8 :replacement #\?))))
    (write-string text stream)
    (finish-output stream)))

(defun compile-memory-file (source compiled note)
  "Compile the file at the descriptor SOURCE into that at COMPILED. Returns whether all was well, or the condition that
ended the compilation if NOTE failed for it."
  (labels ((compile-it ()
             (handler-bind ((sb-ext:compiler-note (lambda (condition)
                                                    (funcall note condition)
                                                    (muffle-warning condition))))
               (not (nth-value 2 (compile-file (name-of-descriptor source)
                                               :output-file (name-of-descriptor compiled)
                                               :external-format :utf-8)))))
           (removes-p (condition)
             ;; COMPILE-FILE removes what it has written when it fails; here there is nothing to remove.
             (and (typep condition 'file-error)
                  (equal (princ-to-string (file-error-pathname condition))
                         (namestring (name-of-descriptor compiled)))))
           (give-up (condition)
             ;; The debugger is still this function; an error in here would enter it again.
             (return-from compile-memory-file
               (handler-case (progn (unless (removes-p condition)
                                      (funcall note condition))
                                    nil)
                 (serious-condition () condition)))))
    (call-with-debugger #'compile-it #'give-up)))

(implement compile-text (text note finish)
  (let ((source (make-memory-file "source"))
        (compiled (make-memory-file "compiled"))
        (*compile-print* nil)
        (*compile-verbose* nil))
    (unwind-protect
         (progn
           (write-memory-file source text)
           (let ((outcome (call-recording-warnings (lambda () (compile-memory-file source compiled note)) note)))
             (when (typep outcome 'condition)
               (error outcome))
             (funcall (the function finish))
             outcome))
      (close-descriptors (list source compiled)))))
