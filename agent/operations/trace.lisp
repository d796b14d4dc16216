;;;; Tracing: the last calls of some functions with arguments and results, kept apart from what the
;;;; program prints. What is recorded is text: arguments may be changed later.

(in-package #:cl-mcp-agent)

(defconstant +records-kept+ 2000)

(defvar *traced* '()
  "The names of the functions that are traced.")
(defvar *trace-depth* 0)

(defvar *records* (make-array +records-kept+ :initial-element nil)
  "The last records, number N in the place N modulo the length: (KIND DEPTH THREAD TEXT TEXTS).")
(defvar *records-made* 0)

(defun call-recording (function)
  "Call FUNCTION, which makes the text of a record, so that the program does not notice: its handlers see
nothing of it, nor does it trace what the texts call."
  (let* ((*watching* t)
         (*capture* (make-capture)))
    (call-without-handlers
     (lambda ()
       (with-agent-syntax (:length 10 :level 4)
         (funcall (the function function)))))))

(defun note-record (kind name &optional (texts '()))
  (let ((record (list kind *trace-depth* (if (main-thread-p) nil (thread-name)) name texts)))
    (call-locked (lambda ()
                   (setf (svref *records* (mod *records-made* +records-kept+)) record)
                   (incf *records-made*)))))

(defun result-texts (values)
  (loop for value in values
        repeat 10
        collect (one-line (item-text value 200))))

(defun call-traced (name function arguments)
  "Call FUNCTION, which NAME names, with ARGUMENTS and record the call and how it ends."
  (let ((signalled nil)
        (values '())
        (returned nil))
    (call-recording (lambda () (note-record :call (call-text name arguments))))
    (unwind-protect
         (progn
           (setf values (handler-bind ((serious-condition
                                         (lambda (condition) (setf signalled condition))))
                          (let ((*trace-depth* (1+ *trace-depth*)))
                            (multiple-value-list (apply (the function function) arguments))))
                 returned t)
           (call-recording (lambda ()
                             (note-record :return (name-text name) (result-texts values)))))
      (unless returned
        (call-recording (lambda ()
                          (note-record :exit (name-text name)
                                       (if signalled
                                           (list (type-name-text (class-of signalled)))
                                           '()))))))
    (values-list values)))

(defun tracer (name)
  (lambda (function &rest arguments)
    (if-watched (call-traced name function arguments)
                (apply (the function function) arguments))))

(defun kept-records (limit)
  "List the last LIMIT records, oldest first."
  (loop for number from (max 0 (- *records-made* (min limit +records-kept+))) below *records-made*
        collect (svref *records* (mod number +records-kept+))))

(defun clear-records ()
  "Forget the records; return how many were made."
  (fill *records* nil)
  (shiftf *records-made* 0))

(define-operation :trace (arguments)
  (with-agent-syntax ()
    (let ((action (getf arguments :action))
          (texts (getf arguments :functions)))
      (list* *id* :ok
             :package (session-package-name)
             (cond ((string= action "start")
                    (multiple-value-bind (reply names) (start-watching texts 'trace #'tracer)
                      (setf *traced* (union names *traced* :test #'equal))
                      reply))
                   ((string= action "stop")
                    (multiple-value-bind (reply names) (stop-watching texts 'trace *traced*)
                      (setf *traced* (set-difference *traced* names :test #'equal))
                      reply))
                   ((string= action "clear")
                    (list :cleared (clear-records)))
                   ((string= action "list")
                    (list :watched (sort (mapcar #'name-text (still-watched *traced* 'trace))
                                         #'string<)
                          :made *records-made*))
                   (t
                    (list :records (kept-records (getf arguments :count 100))
                          :kept (min *records-made* +records-kept+)
                          :made *records-made*)))))))
