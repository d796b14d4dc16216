;;;; Breakpoints: which calls of a traced function match, and stopping the program at them and at steps. A stop is a
;;;; condition that goes to the debugger, so it is reported, kept and entered like an error.
;;;;
;;;; The program stops in a stand-in: a function with the name, the arguments and the variables of the traced one, which
;;;; calls it. So the first frame is that of the call, and can be examined, changed, left and called again.

(in-package #:cl-mcp-agent)

(defstruct tracing
  "How the function NAME is traced. CONDITION is a form as text, or NIL; STOP is :CALL, :RETURN or NIL; WITHIN lists
functions, one of which must be running. With METHODS the methods of a generic function are traced instead of it.
STAND-INS is an association list from the names of called functions to their STAND-INs."
  name condition stop within methods (stand-ins '()))

(defconstant +stand-ins-kept+ 500)

(defstruct stand-in
  "The replacement of a function with LAMBDA-LIST. TEST and FUNCTION get its arguments; TEST is NIL if there is no
condition. PROBLEM is a sentence if the condition cannot be compiled for this function."
  lambda-list (required 0) test function problem)

(define-condition cl-mcp:breakpoint (simple-condition)
  ())

;;; The variables of a function

(defun argument-parts (lambda-list &optional absent)
  "Return the required parameters of LAMBDA-LIST; the others as (VARIABLE FORM); and a variable for the list of other
arguments, from which each FORM takes its value, or ABSENT if it was not given."
  (let ((required '())
        (others '())
        (state :required)
        (place 0)
        (rest 'other-arguments))
    (dolist (part lambda-list)
      (let ((name (if (consp part) (first part) part)))
        (cond ((member part lambda-list-keywords)
               (setf state part))
              ((eq state :required)
               (push name required))
              ((eq state '&optional)
               (push `(,name (if (nthcdr ,place ,rest) (nth ,place ,rest) ',absent)) others)
               (incf place))
              ((member state '(&rest &body))
               (push `(,name (nthcdr ,place ,rest)) others))
              ((eq state '&key)
               (destructuring-bind (keyword variable)
                   (if (consp name) name (list (intern (symbol-name name) "KEYWORD") name))
                 (push `(,variable (key-argument ',keyword (nthcdr ,place ,rest) ',absent)) others))))))
    (values (reverse required) (reverse others) rest)))

(defun key-argument (keyword arguments absent)
  "Return the value of KEYWORD in ARGUMENTS, which need not be a property list, or ABSENT."
  (loop for (key value) on arguments by #'cddr
        when (eq key keyword)
          return value
        finally (return absent)))

(defvar *callee* nil
  "The function that the current stand-in calls.")
(defvar *stop* nil
  "The function with which the current stand-in stops.")
(defvar *variables* '()
  "The values of variables that a stand-in keeps alive so that they can be examined when it stops.")

(declaim (notinline call-callee stop-here keep-variables))
(defun call-callee (&rest arguments)
  (apply *callee* arguments))

(defun stop-here (&rest values)
  (apply *stop* values))

(defun keep-variables (&rest values)
  (setf *variables* values))

(defun name-for-values (variables)
  "Return the variable for the values that a function returned: VALUES, unless the function has that among VARIABLES."
  (if (member 'values variables :test #'eq) (make-symbol "VALUES") 'values))

(defun stand-in-form (name lambda-list stop)
  (multiple-value-bind (required others rest) (argument-parts lambda-list (unbound-marker))
    (let* ((variables (append required (mapcar #'first others)))
           (values (name-for-values variables))
           (call `(apply #'call-callee ,@required ,rest)))
      (named-lambda-form
       name `(,@required &rest ,rest)
       ;; Keeps the variables visible and settable.
       (list '(declare (optimize (debug 3)))
             (if (eq stop :return)
                 `(let* (,@others (,values (multiple-value-list ,call)))
                    (stop-here ,values)
                    (keep-variables ,@variables)
                    (values-list ,values))
                 `(let* ,others
                    (stop-here)
                    (keep-variables ,@(mapcar #'first others))
                    ,call)))))))

(defun test-form (lambda-list stop condition)
  (multiple-value-bind (required others rest) (argument-parts lambda-list)
    (let* ((returned (make-symbol "RETURNED"))
           (optional (mapcar #'first others))
           (values (name-for-values (append required optional))))
      `(lambda (,returned ,@required &rest ,rest)
         (declare (ignorable ,returned ,@required ,rest))
         (let* (,@others (,values ,(if (eq stop :return) returned ''())))
           (declare (ignorable ,values ,@optional))
           ,condition)))))

(defun read-condition (tracing name)
  "Read and return the condition of TRACING, in the package in which the function NAME was most likely written."
  (let* ((symbol (home-symbol name))
         (package (and symbol (symbol-package symbol)))
         (*package* (if (or (null package) (own-package-p package)) (session-package) package)))
    (list* 'progn (read-forms (tracing-condition tracing)))))

(defun compile-quietly (form)
  "Return the function that FORM evaluates to; second, a text that describes what is wrong with FORM, or NIL."
  (let* ((problem nil)
         (function (call-in-compilation-unit
                    (lambda ()
                      (prog1 (call-recording-warnings (lambda () (call-with-default-policy (lambda () (eval form))))
                                                      (lambda (warning)
                                                        (when (typep warning '(and warning (not style-warning)))
                                                          (setf problem (message-text warning 300)))))
                        (let ((undefined (first (undefined-names 1))))
                          (when undefined
                            (destructuring-bind (class name kind &rest place) undefined
                              (declare (ignore class place))
                              (setf problem (format nil "undefined ~a: ~a" kind (name-text name)))))))))))
    (values function problem)))

(defun make-stand-in-for (tracing name lambda-list)
  (let ((stand-in (make-stand-in :lambda-list lambda-list
                                 :required (length (the list (argument-parts lambda-list)))))
        (stop (tracing-stop tracing)))
    (when (tracing-condition tracing)
      (let ((problem (handler-case
                         (multiple-value-bind (test problem)
                             (compile-quietly (test-form lambda-list stop (read-condition tracing name)))
                           (setf (stand-in-test stand-in) test)
                           problem)
                       (end-of-file () "it is not complete.")
                       (error (condition) (message-text condition 300)))))
        (when problem
          (setf (stand-in-problem stand-in)
                (format nil "The condition ~a cannot be used for ~a: ~a"
                        (tracing-condition tracing) (name-text name) problem)))))
    (when stop
      (setf (stand-in-function stand-in)
            (compile-quietly (stand-in-form name lambda-list stop))))
    stand-in))

(defun stand-in-for (tracing name lambda-list)
  "Return the STAND-IN for NAME, whose current lambda list is LAMBDA-LIST."
  (let* ((lambda-list (if (listp lambda-list) lambda-list '(&rest arguments)))
         (known (cdr (assoc name (tracing-stand-ins tracing) :test #'equal))))
    (if (and known (equal lambda-list (stand-in-lambda-list known)))
        known
        (let ((stand-in (make-stand-in-for tracing name lambda-list)))
          (setf (tracing-stand-ins tracing)
                (some-of (acons name stand-in (tracing-stand-ins tracing)) 0 +stand-ins-kept+))
          stand-in))))

;;; Stopping

(defun condition-true-p (stand-in arguments values)
  "True if ARGUMENTS meet the condition of STAND-IN or it has none; second, a sentence if the condition itself failed."
  (cond ((stand-in-problem stand-in)
         (values nil nil))
        ((null (stand-in-test stand-in))
         (values t nil))
        (t
         (let ((*watching* t))
           (call-without-handlers
            (lambda ()
              (handler-case (values (apply (stand-in-test stand-in) values arguments) nil)
                (error (condition)
                  (values t (format nil "Its condition failed: ~a"
                                    (let ((*capture* (make-capture)))
                                      (message-text condition 300))))))))))))

(defun stop-at (tracing text failed)
  (restart-case
      (stop-in-debugger (make-condition 'cl-mcp:breakpoint :format-control "Breakpoint: ~a~@[~%~a~]"
                                                           :format-arguments (list text failed)))
    (continue ()
      :report "Go on.")
    (go-on-for-good ()
      :report (lambda (stream)
                (format stream "Continue, and do not stop at ~a again." (name-text (tracing-name tracing))))
      (setf (tracing-stop tracing) nil))))

(defun fits-p (stand-in arguments)
  "True if there are enough ARGUMENTS for STAND-IN; if not, the function itself reports the error."
  (nthcdr (stand-in-required stand-in) (cons nil arguments)))

(defun call-stopping (stand-in function arguments stop)
  "Call FUNCTION with ARGUMENTS where the program can stop. STAND-IN calls STOP before or after it."
  (let ((*callee* function)
        (*stop* stop))
    (apply (stand-in-function stand-in) arguments)))

;;; Which functions are running

(defvar *running* '()
  "The running functions that a tracing has in WITHIN.")

(define-session-variable *runners* '()
  "The functions that are wrapped because a tracing has them in WITHIN.")

(define-session-variable *tracings* '()
  "How functions are traced: a TRACING each.")

(defun within-p (tracing)
  (or (null (tracing-within tracing))
      (intersection (tracing-within tracing) *running* :test #'equal)))

(defun runner (name)
  (lambda (function &rest arguments)
    (let ((*running* (adjoin name *running* :test #'equal)))
      (apply function arguments))))

(defun adapt-runners ()
  "Wrap the functions in WITHIN of *TRACINGS*; unwrap those that are no longer there."
  (let ((needed (remove-duplicates (loop for tracing in *tracings* append (tracing-within tracing))
                                   :test #'equal)))
    (dolist (name (set-difference (shiftf *runners* needed) needed :test #'equal))
      (unwrap-if-wrapped name 'running))
    (dolist (name needed)
      (unless (or (not (fboundp name)) (function-wrapped-p name 'running))
        (wrap-function name 'running (runner name))))))

;;; Steps

(defun tell-step (form values)
  "Print the VALUES of FORM, the text of a form that was stepped over."
  (format t "~&; ~a => ~:[no values~;~:*~{~a~^, ~}~]~%" form
          (mapcar (lambda (value) (item-text value 200)) values)))

(defun package-of-step ()
  "Return the package of the function that is stepped, or the session's."
  (or (frame-package (car (first (frames-from (signalling-frame)))))
      (session-package)))

(defun function-of-step (text)
  "Return the symbol that names the function of the user's which TEXT, a call, calls; or NIL."
  (let* ((end (and (eql 0 (position #\( text)) (position-if (lambda (character) (find character " )")) text)))
         (symbol (and end (ignore-errors (find-named-symbol (subseq text 1 end) (package-of-step))))))
    (and symbol
         (fboundp symbol)
         (not (macro-function symbol))
         (not (special-operator-p symbol))
         (not (own-package-p (symbol-package symbol)))
         symbol)))

(defun tell-step-problem (text)
  (format t "~&; ~a~%" text))
