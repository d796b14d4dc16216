;;;; The agent's port to SBCL: evaluation and compilation: the unit, the form and the place being compiled, the policy.

(in-package #:cl-mcp-agent)

(implement call-in-compilation-unit (function)
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

(defconstant +told-variables-kept+ 1000)
(sb-ext:defglobal *told-variables* (make-hash-table :test #'eq :synchronized t)
  "The undeclared variables that have been reported while they had a value.")

(defun undeclared-variable-p (symbol anew)
  "True if SYMBOL is not a variable, and if it has a value, given by SETF, then only the first time, unless ANEW is true."
  (and (eq :unknown (sb-int:info :variable :kind symbol))
       (or (not (boundp symbol))
           (progn
             (when (>= (hash-table-count *told-variables*) +told-variables-kept+)
               (clrhash *told-variables*))
             (or (not (shiftf (gethash symbol *told-variables*) t)) anew)))))

(defun still-undefined-p (name kind anew)
  (ecase kind
    (:function (not (fboundp name)))
    (:variable (or (not (symbolp name)) (undeclared-variable-p name anew)))
    (:type t)))

(implement undefined-names (limit &optional anew)
  (loop with more = 0
        for warning in (if (boundp 'sb-c::*undefined-warnings*)
                           (reverse sb-c::*undefined-warnings*)
                           '())
        for name = (sb-c::undefined-warning-name warning)
        for kind = (sb-c::undefined-warning-kind warning)
        for context = (first-context warning)
        for place = (and (plusp limit) (place-of-context context))
        when (still-undefined-p name kind (or anew place))
          if (plusp limit)
            collect (list (if (eq kind :variable) 'warning 'style-warning)
                          name
                          (string-downcase kind)
                          (and (typep context 'sb-c::compiler-error-context)
                               (sb-c::compiler-error-context-original-form context))
                          place)
              into names
              and do (decf limit)
          else
            do (incf more)
        finally (return (values names more))))

(implement forget-undefined-names (file)
  (when (boundp 'sb-c::*undefined-warnings*)
    (setf sb-c::*undefined-warnings*
          (remove file sb-c::*undefined-warnings* :test #'equal
                                                  :key (lambda (warning) (file-of-context (first-context warning)))))))

(defun first-context (warning)
  "Return the compiler's position at the first reference that WARNING, of an undefined name, is about."
  ;; SBCL keeps a few, the latest first.
  (first (last (sb-c::undefined-warning-warnings warning))))

(defun file-of-context (context)
  "Return the name of the file that CONTEXT, the compiler's position, is in, or NIL."
  (let ((file (and (typep context 'sb-c::compiler-error-context)
                   (sb-c::compiler-error-context-file-name context))))
    (and (typep file '(or string pathname))
         (namestring file))))

(defun place-of-context (context)
  "Return as file:line:column the place in a file of CONTEXT, the compiler's position, or NIL. If it cannot be found
exactly, return file:line of the top-level form."
  (let ((file (file-of-context context)))
    (and file
         (let* ((position (sb-c::compiler-error-context-file-position context))
                (place (source-text file (if (integerp position) position nil))))
           (or (and (integerp position)
                    (ignore-errors (place-in-form (native-source file) position (steps-of-context context))))
               place)))))

(defun steps-of-context (context)
  "Return the steps from the top-level form to the part that CONTEXT is about."
  ;; (STEP ... NUMBER-OF-THE-FORM), the last step first.
  (reverse (butlast (sb-c::compiler-error-context-original-source-path context))))

(defun place-in-form (native position steps)
  "Return as file:line:column the place of what STEPS lead to in the form that is read from POSITION of the file NATIVE on; or
NIL."
  (let* ((text (text-of-file native position))
         (start (place-of-part (places-in-text text 0) steps))
         (newline (and start (position #\newline text :end start :from-end t))))
    (multiple-value-bind (line next-line before) (lines-at native position)
      (declare (ignore next-line))
      (and start
           line
           (format nil "~a:~d:~d" native
                   (+ line (count #\newline text :end start))
                   (if newline (- start newline) (+ 1 before start)))))))

(defvar *reading-failure* nil
  "What the compiler reports where it met the condition that is noted: an error of reading, if that was in #.")

(implement place-being-compiled (condition)
  (let* ((failure (find-if (lambda (failure) (typep failure 'stream-error)) (list condition *reading-failure*)))
         (stream (and failure (stream-error-stream failure))))
    (cond ((typep stream 'sb-impl::form-tracking-stream)
           (let ((file (ignore-errors (namestring (pathname stream)))))
             ;; An unfinished form began elsewhere than it ended.
             (multiple-value-bind (position start) (reading-position stream)
               (and file
                    ;; POSITION is behind what was read last, which may be a stray parenthesis.
                    (source-text file (if (typep condition 'end-of-file) start (and position (max 0 (1- position)))))))))
          (t
           (place-of-context (ignore-errors (sb-c::find-error-context nil)))))))

(implement reading-failure (condition)
  (flet ((of-file-p (failure)
           (and (typep failure '(or reader-error end-of-file sb-int:stream-decoding-error))
                (typep (stream-error-stream failure) 'sb-impl::form-tracking-stream)
                failure)))
    ;; Slots of a condition that the user has made may be unbound.
    (ignore-errors
     (or (and (typep condition 'sb-int:encapsulated-condition)
              (of-file-p (sb-int:encapsulated-condition condition)))
         (of-file-p condition)))))

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

;;; SBCL notes that it takes an undefined name for a function when it first compiles a call of it. From then on EVAL gets the
;;; function itself instead of compiling the call: the error is one of SYMBOL-FUNCTION, without the call and its restarts.
;;; Source: SB-IMPL::SIMPLE-EVAL-IN-LEXENV.

(implement note-call-to-evaluate (form)
  (when (and (consp form)
             (symbolp (first form))
             (not (fboundp (first form)))
             (eq :assumed (sb-int:info :function :where-from (first form))))
    (sb-int:clear-info :function :kind (first form))))

(implement call-with-default-policy (function)
  (let ((sb-c::*policy* *default-policy*))
    (funcall function)))
