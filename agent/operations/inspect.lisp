;;;; Inspecting objects: their description, their parts, and handles with which a part can be requested later.
;;;; The server chooses a handle's number, so that it denotes one object even after the session returns to an
;;;; earlier state. A copy has the handles that existed when it was made.

(in-package #:cl-mcp-agent)

(defconstant +inspections-kept+ 100)
(defconstant +parts-shown+ 500)

(define-session-variable *inspections* '()
  "The objects behind the handles, newest first: (NUMBER OBJECT (INDEX VALUE . KEY) ...), KEY in a list.")

(defun forget-inspections ()
  (setf *inspections* '()
        *earlier-values* '()))

(defun compound-p (value)
  "True if VALUE has parts beyond its printed text."
  (not (or (typep value '(or number character symbol))
           (and (stringp value) (<= (length value) 100)))))

(defun parse-handle (text letter)
  "Return the number of the handle TEXT, which may begin with LETTER, its index or NIL, and whether it denotes the key.
NIL if TEXT is not a handle."
  (let* ((text (string-trim " #" text))
         (start (if (and (plusp (length text)) (char-equal letter (char text 0))) 1 0))
         (dot (position #\. text))
         (end (length text))
         (key (and dot (char-equal #\k (char text (1- end))))))
    (flet ((number-in (start end)
             (and (< start end (+ start 16))
                  (every #'digit-char-p (subseq text start end))
                  (parse-integer text :start start :end end))))
      (let ((number (number-in start (or dot end)))
            (index (and dot (number-in (1+ dot) (if key (1- end) end)))))
        (if (and number (or index (null dot)))
            (values number index key)
            nil)))))

(defun value-with-handle (text)
  "Return in a list the value of an evaluation that TEXT, such as v12 or v12.1, denotes, or refuse."
  (multiple-value-bind (number index) (parse-handle text #\v)
    (or (earlier-value number (or index 0))
        (refuse-absent :value "The value ~a is no longer kept: nothing in this state of the session refers to it. Inspect it by ~
                    code."
                   text))))

(defun object-with-handle (text)
  "Return in a list the object that the handle TEXT denotes, or refuse."
  (if (eql 0 (position #\v (string-left-trim " #" text) :test #'char-equal))
      (value-with-handle text)
      (inspected-object text)))

(defun inspected-object (text)
  "Return in a list the object to which a reply gave the handle TEXT, or refuse."
  (multiple-value-bind (number index key) (parse-handle text #\h)
    (let* ((inspection (assoc number *inspections*))
           (entry (assoc index (cddr inspection))))
      (cond ((null number)
             (refuse "~a is not a handle; handles look like h7, h7.3 or, for the value of an evaluation, v12." text))
            ((and inspection (null index)) (list (second inspection)))
            ((and entry (not key)) (list (second entry)))
            ((and key (cddr entry)) (list (third entry)))
            (t
             (refuse "No object has the handle ~a now. Handles belong to the state of the ~
                         session in which they were given: a return to an earlier state or a ~
                         new process discards them, and only those of the last ~d inspections are ~
                         kept. Inspect the object again by code."
                        text +inspections-kept+))))))

(defun one-line (text)
  (substitute #\space #\newline text))

(defun words (text)
  "List the words of TEXT between blanks."
  (remove "" (uiop:split-string text :separator '(#\space #\newline #\tab #\return)) :test #'string=))

(defun one-line-text (text)
  "Return TEXT with each run of blanks as one."
  (format nil "~{~a~^ ~}" (words text)))

(defun part-entry (part number index)
  "Return the wire form of PART: its label, its text, and the handles of the part and of its key, or NIL."
  (let ((value (part-value part))
        (key (part-key part)))
    (list (one-line (part-label part))
          (case (part-state part)
            (:bound (one-line (item-text value 200)))
            (:unbound nil)
            (t (part-state part)))
          (if (and (eq :bound (part-state part)) (compound-p value))
              (format nil "h~d.~d" number index)
              nil)
          (if (and key (compound-p (first key)))
              (format nil "h~d.~dk" number index)
              nil))))

(defun inspection (object number from limit)
  "Describe OBJECT for the reply, and remember it and its parts from FROM on under the handle NUMBER."
  (with-agent-syntax (:length 10 :level 4)
    (let* ((kind (kind-of object))
           (count (funcall (kind-count kind) object))
           (parts (funcall (kind-parts kind) object from (min limit +parts-shown+))))
      (push (list* number object (loop for part in parts
                                       for index from from
                                       collect (list* index (part-value part) (part-key part))))
            *inspections*)
      (setf *inspections* (some-of *inspections* 0 +inspections-kept+))
      (list :handle (format nil "h~d" number)
            :text (let ((*print-length* 20) (*print-level* 5))
                    (item-text object 1000))
            :kind (kind-name kind)
            :class (type-text object)
            :facts (funcall (kind-facts kind) object)
            :parts (loop for part in parts
                         for index from from
                         collect (part-entry part number index))
            :from from
            ;; The server would read NIL as 0.
            :total (or count -1)))))

(defun call-giving-up-items (function)
  "Call FUNCTION, which makes a part of a reply. An interrupt gives up printing; the first
error of other user code ends it, and (:FAILED TYPE) is returned."
  (let* ((*in-a-hurry* *in-a-hurry*)
         (outcome (catch 'report
                    (let ((*reporting* t))
                      (funcall function)))))
    (if (listp outcome)
        outcome
        (list :failed (with-agent-syntax () (failure-text outcome))))))

(defun find-part (object steps)
  "Return the part of OBJECT that STEPS lead to, or NIL; second, a sentence if there is none."
  (with-agent-syntax (:length 10 :level 4)
    (handler-case (follow-path object steps)
      (refusal (refusal) (values nil (refusal-text refusal))))))

(defun inspection-asked-for (object steps arguments)
  "Describe the part of OBJECT that STEPS, which must exist, lead to."
  (let ((part (find-part object steps)))
    (call-giving-up-items
     (lambda ()
       (handler-case (let ((object (if part (value-of-part part) object)))
                       (append (inspection object
                                           (getf arguments :handle-number 0)
                                           (getf arguments :from 0)
                                           (getf arguments :count 30))
                               (picture-part (if (and (pathnamep object) (getf arguments :pictures))
                                                 (file-octets object +picture-limit+)
                                                 object)
                                             arguments)))
         (refusal (refusal) (list :absent (refusal-text refusal))))))))

(defun why-not-settable (part)
  "Return the reason, as a sentence, if PART cannot be set."
  (cond ((null part) "Setting a part requires its path.")
        ((null (part-setter part)) (format nil "~a cannot be set." (part-label part)))))

(defun set-part (part text)
  "Set PART to the value of TEXT."
  (let ((value (first (evaluate-text text))))
    (evaluate-form-by (lambda () (funcall (part-setter part) value)))))

(defun local-of-frame (number name)
  "Return in a list the value of the variable called NAME of frame NUMBER of the error that stands here, or refuse."
  (let* ((frame (frame-number number))
         (locals (if frame (frame-locals frame) '()))
         (local (find name locals :test #'string-equal :key (lambda (local) (symbol-name (car local))))))
    (if local
        (list (cdr local))
        (refuse "Frame ~d has no variable ~a~@[; it has ~{~a~^, ~}~]." number name
                (with-agent-syntax () (loop for (symbol) in locals
                                            repeat 20
                                            collect (item-text symbol 60)))))))

(defun variable-value (name package-name)
  "Return in a list the value of the variable NAME, or refuse."
  (let* ((package (if package-name (find-meant-package package-name) (session-package)))
         (symbol (and package (find-named-symbol name package))))
    (if (and symbol (boundp symbol))
        (list (symbol-value symbol))
        (refuse "~a has no value yet, or is not a variable: it can be evaluated when what runs has ended." name))))

(define-operation :inspect (&rest arguments &key code path set local (frame 0) variable package handle)
  (let* ((steps (parse-path (or path "")))
         (object (first (cond (code '())
                              (local (local-of-frame frame local))
                              (variable (variable-value variable package))
                              (t (object-with-handle handle)))))
         (part nil)
         (problem nil))
    (flet ((find-it ()
             (multiple-value-bind (found absent) (find-part object steps)
               (setf part found
                     problem (or absent (and set (why-not-settable part))))))
           (report ()
             (cond ((null problem) (inspection-asked-for object steps arguments))
                   (set (list :not-set problem))
                   (t (list :absent problem)))))
      (unless code
        (find-it)
        (when problem
          (refuse-absent (null set) "~a" problem)))
      (if (or code set)
          (call-as-evaluation (lambda ()
                                (when code
                                  (setf object (first (evaluate-text code :is-whole t)))
                                  (find-it))
                                (when (and set (null problem))
                                  (set-part part set))
                                '())
                              arguments
                              #'report)
          (list* *id* :ok (report))))))
