;;;; Sampling an evaluation: where it spends its time, or where it allocates. The stacks of the samples
;;;; are counted, without the agent's frames.

(in-package #:cl-mcp-agent)

(defconstant +functions-sent+ 100)
(defconstant +neighbours-sent+ 8)
(defconstant +samples-of-our-own+ 1000)

(defstruct (sampled (:copier nil) (:predicate nil))
  "The number of samples in which a function was innermost (SELF), or on the stack at all (TOTAL); LAST is the
number of the last sample counted. Each element of CALLERS and CALLEES is a list of the other function, the
number of samples with it, and the last of these."
  name
  (self 0 :type fixnum)
  (total 0 :type fixnum)
  (last -1 :type fixnum)
  (callers '() :type list)
  (callees '() :type list))

(defun agents-name-p (name)
  "True if NAME names a function of the agent, or one inside it, such as (LAMBDA () :IN SERVE)."
  (if (consp name)
      (or (agents-name-p (car name)) (agents-name-p (cdr name)))
      (and (symbolp name) (agent-symbol-p name))))

(defun program-frames (stack ours)
  "Return the part of STACK, names of functions from the innermost, that belongs to the program. OURS is true for
stacks of the serving thread: the agent's own work there, such as compiling, is not counted."
  (let ((frames '())
        (cut nil))
    (dolist (name stack (if (and ours (not cut)) '() (nreverse frames)))
      (case name
        ((evaluate-form evaluate-form-by evaluate-step) (return (nreverse frames)))
        ;; It calls this one around the program, and compiles in that one, where a stack may lack its innermost frames.
        (list-readings (setf frames '()))
        (evaluate-sampled (return '()))
        (compiled-form (push :form frames))
        (:more (setf cut t) (push :more frames))
        (t
         (unless (agents-name-p name)
           (push name frames)))))))

(defun count-neighbour (other number list)
  "Count OTHER once for the sample NUMBER in LIST; return the list."
  (let ((entry (assoc other list :test #'eq)))
    (cond ((null entry) (cons (list other 1 number) list))
          ((= number (the fixnum (third entry))) list)
          (t
           (incf (the fixnum (second entry)))
           (setf (third entry) number)
           list))))

(defun count-stack (frames number table)
  "Count the sample NUMBER, with FRAMES from the innermost, in TABLE. :MORE stands for frames that are
missing."
  (let ((callee nil))
    (dolist (name frames)
      (if (eq name :more)
          (setf callee :more)
          (let ((entry (or (gethash name table)
                           (setf (gethash name table) (make-sampled :name name)))))
            (unless (= number (sampled-last entry))
              (setf (sampled-last entry) number)
              (incf (sampled-total entry)))
            (cond ((null callee) (incf (sampled-self entry)))
                  ((not (eq callee :more))
                   (setf (sampled-callees entry)
                         (count-neighbour callee number (sampled-callees entry))
                         (sampled-callers callee)
                         (count-neighbour entry number (sampled-callers callee)))))
            (setf callee entry))))))

(defun sampled-name-text (entry)
  (let ((name (sampled-name entry)))
    (cond ((eq name :form) "(the form itself)")
          ((stringp name) name)
          (t (name-text name)))))

(defun neighbour-texts (neighbours)
  (loop for (entry count) in (some-of (sort (copy-list neighbours) #'> :key #'second)
                                        0 +neighbours-sent+)
        collect (list (sampled-name-text entry) count)))

(defun sampled-data (table graph)
  "Return the counts in TABLE for the reply, with the callers and callees of each function if GRAPH is true."
  (let ((entries (loop for entry being the hash-values of table
                       collect entry)))
    (setf entries (sort entries (lambda (one two)
                                  (or (> (sampled-self one) (sampled-self two))
                                      (and (= (sampled-self one) (sampled-self two))
                                           (> (sampled-total one) (sampled-total two)))))))
    (list :functions (loop for entry in (some-of entries 0 +functions-sent+)
                           collect (list* (sampled-name-text entry)
                                          (sampled-self entry)
                                          (sampled-total entry)
                                          (if graph
                                              (list (neighbour-texts (sampled-callers entry))
                                                    (neighbour-texts (sampled-callees entry)))
                                              '())))
          :found (length entries))))

(defun profile-data (mode max-samples graph)
  "Count the samples, at most MAX-SAMPLES of the program, and return the part of the reply that describes them."
  (let ((table (make-hash-table :test #'equal))
        (elsewhere (make-hash-table :test #'equal)) ; foreign code whose callers the stack does not show
        (count 0))
    (declare (type fixnum count))
    (map-samples (lambda (stack ours)
                   (let ((frames (program-frames stack ours)))
                     (cond ((and frames (< count (the fixnum max-samples)))
                            (count-stack frames count table)
                            (incf count))
                           ((and (null frames) (stringp (first stack)))
                            (incf (the fixnum (gethash (first stack) elsewhere 0)))))))
                 mode)
    (with-agent-syntax (:length 10 :level 4)
      (list* :samples count
             :elsewhere (some-of (sort (loop for name being the hash-keys of elsewhere using (hash-value n)
                                             collect (list name n))
                                       #'> :key #'second)
                                 0 +neighbours-sent+)
             (sampled-data table graph)))))

(defun evaluate-sampled (text mode interval-us max-samples graph)
  "Evaluate the forms in TEXT and sample them. Return the values of the last form, and the part of the reply
that describes the samples."
  (let ((totals (list 0 0 0 0)))
    (unwind-protect
         ;; A report is not sampled. A computation that continues from it runs in a copy, which has no timers.
         (let ((values (let ((*before-report* (lambda (kind)
                                                (stop-sampling)
                                                (when (eq kind :interrupt)
                                                  (ignore-errors (profile-data mode max-samples graph))))))
                         ;; Some samples are of the agent's own work and are not counted.
                         (start-sampling mode interval-us (+ max-samples +samples-of-our-own+))
                         (evaluate-text text
                                        :is-whole t
                                        :evaluate (lambda (form)
                                                    (call-measured (measurable-function form)
                                                                   totals))))))
           (stop-sampling)
           (values values (list* :took totals (profile-data mode max-samples graph))))
      (forget-samples))))

(define-operation :profile (&rest arguments &key code mode (interval-us 10000) (max-samples 10000) graph)
  (when (sampling-p)
    (refuse "The program's own profiler is running; stop it first."))
  (let ((data '()))
    (call-as-evaluation
     (lambda ()
       (multiple-value-bind (values samples) (evaluate-sampled code mode interval-us max-samples graph)
         (setf data samples)
         values))
     arguments
     (lambda () data))))
