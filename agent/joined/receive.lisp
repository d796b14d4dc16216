;;;; Takes the source of the agent in pieces, for an image that cannot read the server's files, and loads it after the last
;;;; one. Sent as text before anything of the agent's is there, so it names only symbols of COMMON-LISP.

(lambda (install hash first last text)
  (let ((pieces (intern "*PIECES*" *package*)))
    (set pieces (cons text (if first '() (symbol-value pieces))))
    (if last
        (let ((source (with-output-to-string (out)
                        (dolist (piece (reverse (symbol-value pieces)))
                          (write-string piece out)))))
          (set pieces '())
          (funcall install hash (lambda ()
                                  (with-compilation-unit (:override t)
                                    (load (make-string-input-stream source))))))
        :ok)))
