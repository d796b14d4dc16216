;;;; Sampling an evaluation: where it spends its time, or where it allocates. What is counted are the
;;;; stacks of the samples, without the agent's frames.

(in-package #:cl-mcp-agent)

(defconstant +functions-sent+ 100)
(defconstant +neighbours-sent+ 8)
(defconstant +samples-of-our-own+ 1000)

(defstruct (sampled (:copier nil) (:predicate nil))
  "In how many samples a function was the innermost one and in how many it was there at all; LAST is the
number of the last sample that counted. CALLERS and CALLEES are lists of another one, in how many samples
it was there, and the last of these."
  name
  (self 0 :type fixnum)
  (total 0 :type fixnum)
  (last -1 :type fixnum)
  (callers '() :type list)
  (callees '() :type list))

(defun agents-name-p (name)
  "True if NAME is that of a function of the agent, or of one inside such, as (LAMBDA () :IN SERVE) is."
  (if (consp name)
      (or (agents-name-p (car name)) (agents-name-p (cdr name)))
      (and (symbolp name) (agent-symbol-p name))))

(defun program-frames (stack ours)
  "Return what of STACK, names of functions from the innermost, belongs to the program. OURS is true for
stacks of the thread that serves: what the agent does there by itself, compiling for one, is nothing."
  (let ((frames '())
        (cut nil))
    (dolist (name stack (if (and ours (not cut)) '() (nreverse frames)))
      (case name
        ((evaluate-form evaluate-form-by evaluate-step) (return (nreverse frames)))
        (compiled-form (push :form frames))
        (:more (setf cut t) (push :more frames))
        (t
         (unless (agents-name-p name)
           (push name frames)))))))

(defun count-neighbour (other number list)
  "Count OTHER once for the sample NUMBER in LIST, which is returned."
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
  "Return what was counted in TABLE for the reply, with the neighbours of each function for a GRAPH."
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
  "Count the samples that were taken, MAX-SAMPLES of the program at most, and return what the reply says of them."
  (let ((table (make-hash-table :test #'equal))
        (count 0))
    (declare (type fixnum count))
    (map-samples (lambda (stack ours)
                   (let ((frames (program-frames stack ours)))
                     (when (and frames (< count (the fixnum max-samples)))
                       (count-stack frames count table)
                       (incf count))))
                 mode)
    (with-agent-syntax (:length 10 :level 4)
      (list* :samples count (sampled-data table graph)))))

(defun evaluate-sampled (text mode interval-us max-samples graph)
  "Evaluate the forms in TEXT and sample them. Returns the values of the last, and what the reply says of
the samples."
  (let ((totals (list 0 0 0 0)))
    (unwind-protect
         ;; A report is not sampled. What goes on from there does so in a copy, which has no timers.
         (let ((values (let ((*before-report* #'stop-sampling))
                         ;; Some are of what the agent does, and not counted.
                         (start-sampling mode interval-us (+ max-samples +samples-of-our-own+))
                         (evaluate-text text
                                        :is-whole t
                                        :evaluate (lambda (form)
                                                    (call-measured (measurable-function form)
                                                                   totals))))))
           (stop-sampling)
           (values values (list* :took totals (profile-data mode max-samples graph))))
      (forget-samples))))

(define-operation :profile (arguments)
  (if (sampling-p)
      (list *id* :refused "The program's own profiler is running; stop it first.")
      (let ((data '()))
        (call-as-evaluation
         (lambda ()
           (multiple-value-bind (values samples)
               (evaluate-sampled (getf arguments :code)
                                 (getf arguments :mode)
                                 (getf arguments :interval-us 10000)
                                 (getf arguments :max-samples 10000)
                                 (getf arguments :graph))
             (setf data samples)
             values))
         arguments
         (lambda () data)))))
