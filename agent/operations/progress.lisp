;;;; How far an evaluation has advanced in its text. The server keeps the text. The report of an error, and the
;;;; reply of an evaluation that continued after one, list the parts that have taken effect since the last
;;;; report, so that the history of a session matches its state.

(in-package #:cl-mcp-agent)

(defconstant +calls-kept+ 20
  "The most restarts of one form that a reply reports.")

(defstruct progress
  evaluation                            ; the number under which the server keeps the text, or NIL if it does not
  (form-start 0)                        ; where the current form begins in the text
  (start 0)                             ; the part of the form before this character has been reported
  (depth 0)                             ; how many PROGNs enclose that place
  package                               ; the name of the package in which that form was read
  readtable
  (pieces '())                          ; (START END PACKAGE DEPTH . CALLS), last first
  (steps '())                           ; how many forms of each running PROGN are done, innermost first
  (calls '())                           ; the restarts that continued the form, last first
  (carried '())                         ; definitions of other evaluations: (EVALUATION PIECE...), last first
  read-in                               ; the name of the package that the request asked for, or NIL
  (left '())                            ; their other forms, not repeated: (EVALUATION PIECE...), last first
  is-text                               ; true if forms of the text are evaluated one by one
  is-told)

(defvar *text-progress* nil
  "The progress of the running evaluation, or NIL.")

(defun note-package (progress)
  "Note in PROGRESS that the request asked for the current package."
  (setf (progress-read-in progress) (session-package-name)))

(defun note-form-begun (start)
  (let ((progress *text-progress*))
    (setf (progress-is-text progress) t
          (progress-package progress) (session-package-name)
          (progress-readtable progress) *readtable*)
    (note-form-start progress start)))

(defun note-form-start (progress start)
  (setf (progress-form-start progress) start
        (progress-start progress) start
        (progress-depth progress) 0
        (progress-steps progress) '()
        (progress-calls progress) '()))

(defun note-piece (progress start end depth)
  "Note that the text from START to END, inside DEPTH PROGNs, has taken effect, with the restarts noted."
  (let ((calls (reverse (shiftf (progress-calls progress) '())))
        (last (first (progress-pieces progress))))
    (cond ((member :lost calls))
          ((and last (null calls) (zerop depth) (null (cddddr last)) (eql (second last) start))
           (setf (second last) end))
          (t
           (push (list* start end (progress-package progress) depth calls)
                 (progress-pieces progress))))))

(defun note-form-done (end)
  (let ((progress *text-progress*))
    (note-piece progress (progress-start progress) end (progress-depth progress))
    (note-form-start progress end)))

(declaim (notinline evaluate-step))
(defun evaluate-step (form)
  "Evaluate FORM. The forms of a top-level PROGN are evaluated one after the other, as EVAL does, and counted."
  (let ((progress *text-progress*))
    (if (and progress
             (consp form)
             (eq (first form) 'progn)
             (consp (rest form))
             (ignore-errors (list-length form)))
        (progn
          (push 0 (progress-steps progress))
          (multiple-value-prog1
              (loop for (step . more) on (rest form)
                    do (if more
                           (evaluate-step step)
                           (return (evaluate-step step)))
                       (when (progress-steps progress)
                         (incf (the fixnum (first (progress-steps progress))))))
            (pop (progress-steps progress))))
        (progn
          (note-call-to-evaluate form)
          (eval form)))))

(defun inside-list (text start)
  "Return the place behind the next opening parenthesis of TEXT from START on, or NIL if something else comes first."
  (let ((at (code-start text start)))
    (and at (char= #\( (char text at)) (1+ at))))

(defun after-form (text start)
  "Return the end of the next form of TEXT from START on. Signal an error if there is none."
  (let ((*read-suppress* t))
    (nth-value 1 (read-from-string text t nil :start start))))

(defun steps-of (form text start end)
  "Return (STEP START END) for each step of FORM, a PROGN that is in TEXT from START to END; NIL if it is none or they are not found."
  (when (eq 'progn (and (consp form) (first form)))
    (ignore-errors
     (let* ((text (subseq text 0 end))
            (inside (inside-list text start)))
       (when inside
         (loop for step in (rest form)
               for step-start = (after-form text inside) then step-end
               for step-end = (after-form text step-start)
               collect (list step step-start step-end)))))))

(defun note-steps-done (text progress)
  "Note which forms inside the current PROGN of TEXT have been evaluated since the last call."
  (let ((*readtable* (progress-readtable progress))
        (*package* (or (find-package (progress-package progress)) *package*))
        (old-depth (progress-depth progress))
        (end (progress-form-start progress)))
    (ignore-errors
     (loop for count in (reverse (progress-steps progress))
           for level from 1
           for inside = (inside-list text end)
           while inside
           do (let ((start (after-form text inside)))
                (setf end start)
                (loop repeat count
                      do (setf end (after-form text end)))
                (when (and (plusp count) (> end (progress-start progress)))
                  (if (< start (progress-start progress))
                      (note-piece progress (progress-start progress) end (max 0 (- old-depth level)))
                      (note-piece progress start end 0)))
                (when (>= end (progress-start progress))
                  (setf (progress-start progress) end
                        (progress-depth progress) level)))))))

(defun done-part (ending &optional text)
  "Return the part of a reply that lists what was done since the last one. ENDING is :DONE if the evaluation has ended,
:LEFT if it was given up, and NIL if it stands in an error in TEXT."
  (let ((progress *text-progress*))
    (cond ((or (null progress) (null (progress-evaluation progress)))
           '())
          ((and (eq ending :done) (not (progress-is-told progress)))
           (given :read-in (progress-read-in progress)))
          (t
           (when (and text (progress-steps progress))
             (note-steps-done text progress))
           (when (and (eq ending :done) (not (progress-is-text progress)))
             ;; Not source text: record it as complete.
             (push (list 0 nil (session-package-name) 0) (progress-pieces progress)))
           (setf (progress-is-told progress) t)
           (list* :done-of (progress-evaluation progress)
                  :done (reverse (shiftf (progress-pieces progress) '()))
                  (given :read-in (progress-read-in progress)
                         :carried (reverse (shiftf (progress-carried progress) '()))
                         :left (reverse (shiftf (progress-left progress) '()))))))))

(defun note-lost (progress)
  "Note that the form of PROGRESS continues in a way that no text can repeat."
  (push :lost (progress-calls progress)))

(defun note-restart (progress restart value)
  "Note that the form of PROGRESS continues by RESTART, with the values of the text VALUE."
  (let ((condition *error-condition*)
        (name (restart-name restart)))
    (cond ((eq name 'retry)
           (note-form-start progress (progress-form-start progress)))
          ((typep condition 'evaluation-interrupted))
          ((and name (typep condition 'serious-condition)
                (< (length (progress-calls progress)) +calls-kept+))
           (multiple-value-bind (text outcome)
               ;; The form is read with the user's readtable. What prints symbols can be the user's, too, and fail.
               (guarded (stream +symbol-characters+)
                 (let ((*package* (find-package "KEYWORD"))
                       (*print-pretty* nil))
                   (prin1 name stream)))
             (if outcome
                 (note-lost progress)
                 (push (let ((*print-pretty* nil))
                         (format nil "(lambda (condition)~%  (apply #'invoke-restart (find-restart '~a condition) ~
                                      ~:[(list)~;(multiple-value-list (progn ~:*~a~%))~]))" text value))
                       (progress-calls progress)))))
          (t
           (note-lost progress)))))
