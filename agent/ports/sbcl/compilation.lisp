;;;; The agent's port to SBCL: evaluation and compilation: the unit, the form and the place being compiled, the policy.

(in-package #:cl-mcp-agent)

(implement call-in-compilation-unit (function)
  (declare (type function function))
  ;; What WITH-COMPILATION-UNIT binds, without the summary it prints at the end.
  (with-new-unit-counters
    (let ((sb-c::*undefined-warnings* nil)
          (sb-c::*argument-mismatch-warnings* nil)
          ;; A count for TIME. Unless it is bound, each evaluation writes the page that its symbol is on.
          (sb-impl::*eval-calls* 0))
      (handler-bind ((sb-kernel:parse-unknown-type
                       (lambda (condition)
                         (sb-c::note-undefined-reference
                          (sb-kernel:parse-unknown-type-specifier condition) :type))))
        (funcall function)))))

(defun still-undefined-p (name kind)
  (ecase kind
    (:function (not (fboundp name)))
    (:variable (not (and (symbolp name)
                         (or (boundp name)
                             (not (eq :unknown (sb-int:info :variable :kind name)))))))
    (:type t)))

(implement undefined-names ()
  (loop for warning in (if (boundp 'sb-c::*undefined-warnings*)
                           (reverse sb-c::*undefined-warnings*)
                           '())
        for name = (sb-c::undefined-warning-name warning)
        for kind = (sb-c::undefined-warning-kind warning)
        when (still-undefined-p name kind)
          collect (list (if (eq kind :variable) 'warning 'style-warning)
                        name
                        (string-downcase kind)
                        (let ((context (first (sb-c::undefined-warning-warnings warning))))
                          (and (typep context 'sb-c::compiler-error-context)
                               (sb-c::compiler-error-context-original-form context)))
                        (place-of-context (first (sb-c::undefined-warning-warnings warning))))))

(defun place-of-context (context)
  "Return as file:line the top-level form that CONTEXT, where the compiler was, is in, or NIL."
  (let ((file (and (typep context 'sb-c::compiler-error-context)
                   (sb-c::compiler-error-context-file-name context))))
    (and (typep file '(or string pathname))
         (let ((position (sb-c::compiler-error-context-file-position context)))
           (source-text (namestring file) (and (integerp position) position) nil)))))

(implement place-being-compiled (condition)
  (let ((stream (and (typep condition 'stream-error) (stream-error-stream condition))))
    (cond ((typep stream 'sb-impl::form-tracking-stream)
           (let ((file (ignore-errors (namestring (pathname stream)))))
             ;; An unfinished form began elsewhere than it ended.
             (multiple-value-bind (position start) (reading-position stream)
               (and file
                    (source-text file (if (typep condition 'end-of-file) start position) nil)))))
          (t
           (place-of-context (ignore-errors (sb-c::find-error-context nil)))))))

(implement form-function (form)
  (eval `(sb-int:named-lambda compiled-form () ,form)))

(implement form-being-compiled ()
  (let ((context (ignore-errors (sb-c::find-error-context nil))))
    (and (typep context 'sb-c::compiler-error-context)
         (list (sb-c::compiler-error-context-original-form context)))))

(implement reading-position (stream)
  (if (typep stream 'sb-impl::form-tracking-stream)
      (values (characters-read stream)
              (or (sb-impl::form-tracking-stream-form-start-char-pos stream) 0))
      nil))

(implement named-lambda-form (name lambda-list body)
  `(sb-int:named-lambda ,name ,lambda-list ,@body))

(defvar *default-policy* sb-c::*policy*)

(implement call-with-default-policy (function)
  (declare (type function function))
  (let ((sb-c::*policy* *default-policy*))
    (funcall function)))
