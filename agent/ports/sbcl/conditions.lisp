;;;; The agent's port to SBCL: conditions, handlers and restarts, and the replacement of SBCL's debugger.

(in-package #:cl-mcp-agent)

(defvar *debugger* nil)

(defun enter-agent (condition hook)
  "Give CONDITION to the user's *DEBUGGER-HOOK* as the standard says, then to the agent."
  (declare (ignore hook))
  (let ((hook *debugger-hook*))
    (when hook
      (let ((*debugger-hook* nil))
        (funcall hook condition hook))))
  (funcall (the function *debugger*) condition))

(defun instead-of-the-debugger (condition)
  "Stand in for SBCL's debugger when user code has put *INVOKE-DEBUGGER-HOOK* out of action."
  (funcall *debugger* condition))

(defun leave-debugger ()
  "Do nothing instead of SBCL's DISABLE-DEBUGGER, with which a script begins. It would have the next error in the same
request end the process, and the debugger is the agent."
  nil)

(implement call-with-debugger (function debugger)
  (let ((*debugger* debugger)
        (sb-ext:*invoke-debugger-hook* #'enter-agent)
        ;; Error handlers that signal errors are ordinary; endless recursion fills the stack.
        (sb-kernel:*maximum-error-depth* 1000000))
    (call-sparing-image function)))

(implement stop-in-debugger (condition)
  (let ((sb-debug:*stack-top-hint* 'invoke-debugger))
    (invoke-debugger condition)))

(implement handlers-now ()
  sb-kernel:*handler-clusters*)

(implement call-with-handlers (handlers function)
  (let ((sb-kernel:*handler-clusters* handlers))
    (funcall function)))

(implement call-without-handlers (function)
  (call-with-handlers sb-kernel::**initial-handler-clusters** function))

(implement standing-for (class)
  (let* ((name (class-name class))
         (package (symbol-package name)))
    (cond ((eq name 'heap-nearly-full)
           (find-class 'sb-kernel::heap-exhausted-error))
          ((or (eq package #.(find-package "CL-MCP-AGENT"))
               (and package
                    (eql 0 (search "SB-" (package-name package)))
                    (or (eql 0 (search "SIMPLE-" (symbol-name name)))
                        (subtypep class 'warning))))
           (standard-ancestor class))
          (t class))))

(implement original-condition (condition)
  (if (typep condition 'sb-int:compiled-program-error)
      (let ((entry (find (sb-kernel::program-error-message condition) *compiler-errors*
                         :key #'first :test #'equal)))
        (values (if entry (second entry) condition) (third entry) (sb-kernel::program-error-source condition)))
      condition))

(implement storage-kind (condition)
  (typecase condition
    (sb-kernel::heap-exhausted-error :heap)
    (sb-sys:memory-fault-error nil)
    (storage-condition :stack)))

(implement call-misuse (condition)
  (typecase condition
    (sb-pcl::no-applicable-method-error :methods)
    (sb-int:simple-program-error
     (let ((control (simple-condition-format-control condition))
           (named (first (simple-condition-format-arguments condition))))
       (cond ((not (stringp control)) nil)
             ((some (lambda (beginning) (eql 0 (search beginning control)))
                    '("invalid number of arguments" "odd number of &KEY"))
              (let ((colon (position #\: control)))
                (values :arguments
                        nil
                        (or (if (integerp named) named nil)
                            (and colon (parse-integer control :start (1+ colon) :junk-allowed t))))))
             ;; The compiler has seen that the call is wrong: the function is not called.
             ((search "called with invalid number of arguments" control)
              (values :arguments (if (and (consp named) (symbolp (first named)) (string= "XEP" (first named)))
                                     (second named)
                                     named)))
             ((and (search "requires at least" control) (typep named 'generic-function))
              (values :arguments (sb-mop:generic-function-name named))))))
    (program-error
     (when (string= "UNKNOWN-KEYWORD-ARGUMENT" (type-of condition))
       :arguments))))

(implement deadline-passed-p (condition)
  (typep condition 'sb-sys:deadline-timeout))

(implement time-limit-passed-p (condition)
  ;; Its subclasses are signalled by what waits, and not by a timer.
  (eq 'sb-ext:timeout (type-of condition)))

(implement slot-misuse (condition)
  (let ((type (type-of condition)))
    (cond ((string= "INITARG-ERROR" type)
           (values :initarg (slot-value condition 'class)))
          ((and (string= "MISSING-SLOT" type) (typep condition 'simple-condition))
           ;; What was attempted, the slot, the object.
           (values :slot (class-of (third (simple-condition-format-arguments condition))))))))

(implement lock-violated (condition)
  (when (typep condition 'sb-ext:package-lock-violation)
    (values (find-package (package-error-package condition))
            (and (typep condition 'sb-ext:symbol-package-locked-error)
                 (sb-ext:package-locked-error-symbol condition)))))

(implement class-missing-p (condition)
  (string= "CLASS-NOT-FOUND-ERROR" (type-of condition)))

(implement untested-restarts (condition)
  (let ((restarts '()))
    (sb-kernel::map-restarts (lambda (restart) (push restart restarts)) condition nil)
    (nreverse restarts)))

(implement restart-lambda-list (restart)
  (function-lambda-list (sb-kernel::restart-function restart)))

(implement restart-argument (restart value)
  (let ((name (restart-name restart)))
    (cond ((not (and name (implementation-name-p name)))
           value)
          ((string= "CALL-FORM" name)
           ;; It evaluates its argument.
           (list 'quote value))
          ((and (string= "REPLACE-FUNCTION" name) (functionp value))
           (let ((symbol (make-symbol "REPLACEMENT")))
             (setf (fdefinition symbol) value)
             symbol))
          (t value))))

;;; Some SBCLs, 2.2.9 among them, go on with the next form of a file where LOAD offers to evaluate the one that failed again.

(defun load-restart-p (restart)
  "True if RESTART is LOAD's own RETRY. Its report is not asked: any restart may be called so."
  (let* ((report (sb-kernel::restart-report-function restart))
         (name (and (functionp report) (sb-kernel:%fun-name report))))
    (and (string= "RETRY" (restart-name restart))
         (consp name)
         (list-length name)
         (find "LOAD-AS-SOURCE" name :test (lambda (wanted part) (and (symbolp part) (string= wanted part))))
         t)))

(defvar *times-loaded* 0)

(defun load-retries-p ()
  "True if LOAD evaluates a form again as it says."
  (let ((*times-loaded* 0))
    (handler-bind ((error (lambda (condition)
                            (let ((restart (find-if #'load-restart-p (compute-restarts condition))))
                              (when restart
                                (invoke-restart restart))))))
      (let ((*error-output* (make-broadcast-stream)))
        (load (make-string-input-stream
               "(when (= 1 (incf cl-mcp-agent::*times-loaded*)) (error \"once\"))"))))
    (> *times-loaded* 1)))

(defparameter *load-retries* (load-retries-p))

(implement idle-restart-p (restart)
  (and (not *load-retries*)
       (load-restart-p restart)))
