;;;; Loads the agent into the image, if the image can read the server's files: the compiled agent, or its source, which is
;;;; compiled first, or loaded as it is where there is no name for a compiled file. Sent as text before anything of the
;;;; agent's is there, so it names only symbols of COMMON-LISP.

(lambda (install hash fasl source token-file token)
  (labels ((text-of (file)
             (with-open-file (stream file :external-format :utf-8)
               (let* ((text (make-string (file-length stream))))
                 (subseq text 0 (read-sequence text stream)))))
           (same-machine-p ()
             (ignore-errors (string= token (string-right-trim '(#\newline) (text-of token-file)))))
           ;; The source is the agent's files, one after the other. Each may need those before it while it is compiled.
           (pieces (text)
             (let ((mark (format nil "~%(in-package #:cl-mcp-agent)~%"))
                   (start 0)
                   (pieces '()))
               (loop
                 (let ((end (search mark text :start2 (min (length text) (1+ start)))))
                   (push (subseq text start end) pieces)
                   (if end
                       (setf start end)
                       (return (nreverse pieces)))))))
           (append-file (from to)
             (with-open-file (in from :element-type '(unsigned-byte 8))
               (let ((octets (make-array (file-length in) :element-type '(unsigned-byte 8))))
                 (read-sequence octets in)
                 (with-open-file (out to :element-type '(unsigned-byte 8) :direction :output :if-exists :append
                                         :if-does-not-exist :create)
                   (write-sequence octets out)))))
           (compile-pieces ()
             (let ((whole (format nil "~a.~36r.new" fasl (random (expt 36 8) (make-random-state t)))))
               (loop for piece in (pieces (text-of source))
                     for number from 0
                     do (let* ((file (format nil "~a.~d.lisp" whole number)))
                          (with-open-file (stream file :direction :output :if-exists :supersede :external-format :utf-8)
                            (write-string piece stream))
                          (let ((compiled (compile-file file :external-format :utf-8)))
                            (load compiled)
                            (append-file compiled whole)
                            (delete-file compiled)
                            (delete-file file))))
               (rename-file whole (merge-pathnames fasl (make-pathname :type :unspecific)))))
           (load-agent ()
             (cond ((string= "" fasl)
                    (load source :external-format :utf-8))
                   ((probe-file fasl)
                    (load fasl))
                   (t
                    (with-compilation-unit (:override t)
                      (compile-pieces))))))
    (if (same-machine-p)
        (funcall install hash #'load-agent)
        :elsewhere)))
