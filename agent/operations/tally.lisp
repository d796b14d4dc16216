;;;; Counting calls: how often functions are called, how long they take, including and excluding the
;;;; other counted functions, and what they allocate.

(in-package #:cl-mcp-agent)

(defconstant +tallies-sent+ 200)

(defstruct (tally (:copier nil) (:predicate nil))
  "Times are in nanoseconds of real time. TOTAL-TIME counts a recursive function's outermost calls."
  name
  (calls 0 :type unsigned-byte)
  (self-time 0 :type unsigned-byte)
  (total-time 0 :type unsigned-byte)
  (self-octets 0 :type unsigned-byte)
  (depth 0 :type fixnum))

(define-session-variable *tallies* '()
  "The tallies of functions that are or were counted.")
(defvar *inner* nil
  "A cons of the time and the octets taken by counted calls inside the running one.")

(defun readings-unwatched ()
  (let ((*watching* t))
    (quick-readings)))

(defun call-tallied (tally function arguments)
  (let ((*inner* (cons 0 0))
        (outer *inner*))
    (multiple-value-bind (start octets-at-start) (readings-unwatched)
      (declare (type (unsigned-byte 62) start octets-at-start))
      (incf (tally-depth tally))
      (unwind-protect (apply function arguments)
        (multiple-value-bind (end octets-at-end) (readings-unwatched)
          (declare (type (unsigned-byte 62) end octets-at-end))
          (let ((time (max 0 (- end start)))
                (octets (max 0 (- octets-at-end octets-at-start))))
            (decf (tally-depth tally))
            (incf (tally-calls tally))
            (incf (tally-self-time tally) (max 0 (- time (the fixnum (car *inner*)))))
            (incf (tally-self-octets tally) (max 0 (- octets (the fixnum (cdr *inner*)))))
            (unless (plusp (tally-depth tally))
              (incf (tally-total-time tally) time))
            (when outer
              (incf (the fixnum (car outer)) time)
              (incf (the fixnum (cdr outer)) octets))))))))

(defun tally-of (name)
  (or (find name *tallies* :key #'tally-name :test #'equal)
      (let ((tally (make-tally :name name)))
        (push tally *tallies*)
        tally)))

(defun tallier (name)
  (let ((tally (tally-of name)))
    (lambda (function &rest arguments)
      (if (program-calls-p)
          (call-tallied tally function arguments)
          (apply function arguments)))))

(defun tallied-names ()
  (still-watched (mapcar #'tally-name *tallies*) 'tally))

(defun reset-tallies ()
  "Reset all counts to zero, and forget functions that are no longer counted."
  (let ((names (tallied-names)))
    (setf *tallies* (remove-if-not (lambda (tally) (member (tally-name tally) names :test #'equal))
                                   *tallies*))
    (dolist (tally *tallies*)
      (setf (tally-calls tally) 0
            (tally-self-time tally) 0
            (tally-total-time tally) 0
            (tally-self-octets tally) 0
            (tally-depth tally) 0))
    names))

(defun tally-entry (tally)
  (list (name-text (tally-name tally))
        (tally-calls tally)
        (floor (tally-self-time tally) 1000)
        (floor (tally-total-time tally) 1000)
        (tally-self-octets tally)))

(defun tallies-report ()
  (let ((called (remove 0 *tallies* :key #'tally-calls))
        (uncalled (remove-if #'plusp *tallies* :key #'tally-calls)))
    (list :tallies (mapcar #'tally-entry
                           (some-of (sort (copy-list called) #'> :key #'tally-self-time)
                                    0 +tallies-sent+))
          :called (length called)
          :uncalled (some-of (sort (mapcar (lambda (tally) (name-text (tally-name tally))) uncalled)
                                   #'string<)
                             0 +tallies-sent+))))

(define-operation :tally (&key action ((:functions texts)))
  (with-agent-syntax ()
    (list* *id* :ok
           :package (session-package-name)
           (cond ((string= action "start")
                  (values (start-watching texts 'tally #'tallier)))
                 ((string= action "stop")
                  (values (stop-watching texts 'tally (mapcar #'tally-name *tallies*))))
                 ((string= action "clear")
                  (list :watched (sort (mapcar #'name-text (reset-tallies)) #'string<)))
                 ((string= action "list")
                  (list :watched (sort (mapcar #'name-text (tallied-names)) #'string<)
                        :made (reduce #'+ *tallies* :key #'tally-calls)))
                 (t (tallies-report))))))
