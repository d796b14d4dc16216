;;;; The agent's port to the Lisps that Swank knows: evaluation and compilation.

(in-package #:cl-mcp-agent)

(implement call-recording-warnings (function note &optional note-redefinition)
  (declare (ignore note-redefinition))
  (let ((output *error-output*))
    (handler-bind ((warning (lambda (condition)
                              ;; What WARN prints where the program has bound the stream is the program's.
                              (when (and (eq output *error-output*) (find-restart 'muffle-warning condition))
                                (funcall note condition)
                                (muffle-warning condition)))))
      (funcall function))))

(implement expand-everywhere (form)
  (backend macroexpand-all form))

;;; Printing

(implement nodes-searched ()
  3000)

;;; Time and memory

(implement clock-readings ()
  (flet ((microseconds (time)
           (floor (* 1000000 time) internal-time-units-per-second)))
    (values (microseconds (get-internal-real-time)) (microseconds (get-internal-run-time)) 0 0)))

(implement quick-readings ()
  (values (floor (* 1000000000 (get-internal-real-time)) internal-time-units-per-second) 0))

#+abcl
(implement heap-readings ()
  (let ((runtime (java:jstatic "getRuntime" "java.lang.Runtime")))
    (values (- (java:jcall "totalMemory" runtime) (java:jcall "freeMemory" runtime))
            (java:jcall "maxMemory" runtime))))

(implement collect-garbage ()
  #+(or ecl abcl) (ext:gc)
  nil)

