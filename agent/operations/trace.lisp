;;;; Tracing: the last calls of some functions with arguments and results, recorded separately from the
;;;; program's output. Records are text, because arguments may be modified later.

(in-package #:cl-mcp-agent)

(defconstant +records-kept+ 2000)

(defvar *trace-depth* 0)

(define-session-variable *records* (make-array +records-kept+ :initial-element nil)
  "The last records, number N at index N modulo the length: (KIND DEPTH THREAD TEXT TEXTS).")
(define-session-variable *records-made* 0)

(defun call-recording (function)
  "Call FUNCTION, which makes the text of a record or a stop, without the program noticing: its handlers do not see
conditions from it, and calls made by it are not traced."
  (let* ((*watching* t)
         (*capture* (make-capture)))
    (call-sparing-program
     (lambda ()
       (call-without-handlers
        (lambda ()
          (with-agent-syntax (:length 10 :level 4)
            (funcall function))))))))

(defun note-record (kind name &optional (texts '()))
  (let ((record (list kind *trace-depth* (if (main-thread-p) nil (thread-name)) name texts)))
    (call-locked (lambda ()
                   (setf (svref *records* (mod *records-made* +records-kept+)) record)
                   (incf *records-made*)))))

(defun result-texts (values)
  (loop for value in values
        repeat 10
        collect (one-line (item-text value 200))))

(defun call-deeper (function)
  "Call FUNCTION, what a traced function does."
  (let ((*trace-depth* (1+ *trace-depth*)))
    (funcall function)))

(defun call-recorded (name function arguments)
  "Call FUNCTION, which takes no arguments, for NAME with ARGUMENTS; record the call and its outcome."
  (let ((signalled nil)
        (values '())
        (returned nil))
    (meet-stack-end)
    (call-recording (lambda () (note-record :call (call-text name arguments))))
    (unwind-protect
         (progn
           (setf values (handler-bind ((serious-condition
                                         (lambda (condition) (setf signalled condition))))
                          (multiple-value-list (call-deeper function)))
                 returned t)
           (call-recording (lambda () (note-record :return (name-text name) (result-texts values)))))
      (unless returned
        (call-recording (lambda ()
                          (note-record :exit (name-text name)
                                       (and signalled (list (type-name-text (class-of signalled)))))))))
    (values-list values)))

(defun text-of-call (name arguments &optional (values nil returned))
  "Return the message of a stop at the call of NAME with ARGUMENTS, or at its return with VALUES."
  (call-recording
   (lambda ()
     (format nil "~a ~:[is called.~;returned ~:[no values~;~:*~{~a~^, ~}~].~]"
             (call-text name arguments) returned (result-texts values)))))

(defun stop-after (tracing name stand-in function arguments)
  "Call FUNCTION for NAME with ARGUMENTS, and stop at its return if the condition is true then."
  (call-stopping stand-in function arguments
                 (lambda (values)
                   (multiple-value-bind (true failed) (condition-true-p stand-in arguments values)
                     (when true
                       (let ((text (text-of-call name arguments values)))
                         (when (tracing-condition tracing)
                           (let ((*trace-depth* (1- *trace-depth*)))
                             (call-recording (lambda ()
                                               (note-record :return (call-text name arguments)
                                                            (result-texts values))))))
                         ;; An inner call may have stopped for the last time.
                         (when (and (tracing-stop tracing) (stops-p))
                           (stop-at tracing text failed))))))))

(defun stops-p ()
  "True unless the running code was itself requested inside an error, where the program already stands."
  (null *error-condition*))

(defun call-traced (tracing name lambda-list function arguments)
  "Call FUNCTION, named NAME, with LAMBDA-LIST, on ARGUMENTS and trace it as TRACING specifies."
  (flet ((call ()
           (apply function arguments)))
    (let ((stand-in (and (or (tracing-condition tracing) (tracing-stop tracing))
                         (stand-in-for tracing name lambda-list))))
      (cond ((not (and stand-in (fits-p stand-in arguments)))
             (call-recorded name #'call arguments))
            ((eq :return (tracing-stop tracing))
             (flet ((call-and-stop ()
                      (stop-after tracing name stand-in function arguments)))
               (if (tracing-condition tracing)
                   (call-deeper #'call-and-stop)
                   (call-recorded name #'call-and-stop arguments))))
            (t
             (multiple-value-bind (true failed) (condition-true-p stand-in arguments '())
               (flet ((stop-and-call ()
                        (call-stopping stand-in function arguments
                                       (lambda () (stop-at tracing (text-of-call name arguments) failed)))))
                 (if true
                     (call-recorded name (if (and (tracing-stop tracing) (stops-p)) #'stop-and-call #'call) arguments)
                     (call)))))))))

(defun tracer (tracing)
  "Return the wrapper for the function of TRACING."
  (let ((name (tracing-name tracing)))
    (if (traces-methods-p tracing)
        (lambda (function &rest arguments)
          (apply function arguments))
        (lambda (function &rest arguments)
          (if (program-calls-p tracing)
              (call-traced tracing name
                           (let ((*watching* t))
                             (function-lambda-list function))
                           function arguments)
              (apply function arguments))))))

(defun method-tracer (tracing)
  "Return the wrapper for the methods of the generic function of TRACING."
  (lambda (method function arguments)
    (if (program-calls-p tracing)
        (multiple-value-bind (name lambda-list)
            (let ((*watching* t))
              (traced-method-signature method))
          (call-traced tracing name lambda-list function arguments))
        (apply function arguments))))

(defun traced-method-signature (method)
  "Return the name of METHOD as in a frame, and its lambda list without specializers."
  (multiple-value-bind (name qualifiers specializers lambda-list) (method-signature method)
    (let ((count (required-count lambda-list)))
      (values `(method ,name ,@qualifiers ,specializers)
              (append (loop for part in (some-of lambda-list 0 count)
                            collect (if (consp part) (first part) part))
                      (nthcdr count lambda-list))))))

(defun traces-methods-p (tracing)
  (and (tracing-methods tracing)
       (typep (fdefinition (tracing-name tracing)) 'generic-function)))

(defun tracing-of (name)
  (find name *tracings* :key #'tracing-name :test #'equal))

(defun start-tracing (texts make)
  "Trace the functions that TEXTS denote, each with the TRACING that MAKE returns for its name, which replaces an
earlier one. Return the part of the reply about this."
  (flet ((replaces-p (name)
           (let ((known (tracing-of name)))
             (not (and known
                       (equalp (tracing-request known) (tracing-request (funcall make name)))))))
         (start (name)
           (let* ((known (tracing-of name))
                  (tracing (funcall make name))
                  (problem (problem-of tracing)))
             (when problem
               (error "~a~:[~;~&It is traced as before.~]" problem known))
             (stop-tracing-names (list name))
             (push tracing *tracings*)
             (when (traces-methods-p tracing)
               (wrap-methods name (method-tracer tracing)))
             (tracer tracing))))
    (multiple-value-bind (reply names) (start-watching texts 'traced #'start #'replaces-p)
      (adapt-runners)
      (setf (getf reply :started) (mapcar (lambda (name) (tracing-text (tracing-of name))) names))
      reply)))

(defun tracing-request (tracing)
  "List the options of TRACING."
  (list (tracing-condition tracing) (tracing-stop tracing) (tracing-within tracing) (tracing-methods tracing)))

(defun problem-of (tracing)
  "Return why TRACING's condition cannot be used for its function or any of its methods, as a sentence, or NIL."
  (if (tracing-condition tracing)
      (let ((name (tracing-name tracing)))
        (flet ((problem (name lambda-list)
                 (stand-in-problem (stand-in-for tracing name lambda-list))))
          (if (traces-methods-p tracing)
              (let ((problems (loop for method in (methods-of-function (fdefinition name))
                                    collect (multiple-value-call #'problem (traced-method-signature method)))))
                (and problems (every #'identity problems) (first problems)))
              (problem name (function-lambda-list (fdefinition name))))))
      nil))

(defun stop-tracing-names (names)
  "Stop tracing the functions NAMES."
  (dolist (name names)
    (let ((tracing (tracing-of name)))
      (when tracing
        (when (tracing-methods tracing)
          (unwrap-methods name))
        (unwrap-if-wrapped name 'traced)
        (setf *tracings* (remove tracing *tracings*)))))
  (adapt-runners))

(defun stop-tracing (texts)
  (multiple-value-bind (reply names) (stop-watching texts 'traced (mapcar #'tracing-name *tracings*))
    (stop-tracing-names names)
    reply))

(defun tracing-text (tracing)
  "Return the name of the function of TRACING, and how it is traced."
  (format nil "~a~:[~;, its methods~]~@[, if ~a~]~@[, ~a~]~@[, while ~{~a~^ or ~} runs~]"
          (name-text (tracing-name tracing)) (tracing-methods tracing)
          (and (tracing-condition tracing) (substitute #\space #\newline (tracing-condition tracing)))
          (case (tracing-stop tracing)
            (:call "stops at the call")
            (:return "stops at the return"))
          (mapcar #'name-text (tracing-within tracing))))

(defun forget-dead-tracings ()
  "Forget the tracings of functions that were made unbound since."
  (let* ((names (mapcar #'tracing-name *tracings*))
         (dead (set-difference names (still-watched names 'traced) :test #'equal)))
    (when dead
      (stop-tracing-names dead))))

(define-operation :trace (&key action ((:functions texts)) condition break methods ((:within runners)) (count 100))
  (forget-dead-tracings)
  (with-agent-syntax ()
    (list* *id* :ok
           :package (session-package-name)
           (cond ((string= action "start")
                  (multiple-value-bind (within problems) (functions-meant runners)
                    (if problems
                        (list :problems problems)
                        (start-tracing texts
                                       (lambda (name)
                                         (make-tracing :name name
                                                       :condition condition
                                                       :stop (and break (if (string= break "return") :return :call))
                                                       :methods methods
                                                       :within within))))))
                 ((string= action "stop")
                  (stop-tracing texts))
                 ((string= action "clear")
                  (fill *records* nil)
                  (list :cleared (shiftf *records-made* 0)))
                 ((string= action "list")
                  (list :watched (sort (mapcar #'tracing-text *tracings*) #'string<)
                        :made *records-made*))
                 (t
                  (list :records (loop for number from (max 0 (- *records-made* (min count +records-kept+)))
                                       below *records-made*
                                       collect (svref *records* (mod number +records-kept+)))
                        :kept (min *records-made* +records-kept+)
                        :made *records-made*))))))
