;;;; Where an evaluation was shortly before its time limit. The server sends a signal 0.2 s and 0.1 s before the limit, and
;;;; the report of the interrupt shows where the evaluation was then, which distinguishes a loop from a wait.

(in-package #:cl-mcp-agent)

(defconstant +moments-kept+ 2)
(defconstant +functions-of-moment+ 4)
(defconstant +frames-of-moment+ 60
  "The most frames walked to find these functions, including the agent's and hidden ones.")

(defstruct (moment (:copier nil) (:predicate nil))
  token
  real-us
  processor-us
  functions)

(defun functions-from (frame)
  "List the names of the innermost functions from FRAME."
  (let ((names '()))
    (block walk
      (map-frames (lambda (frame name)
                    (declare (ignore frame))
                    (push name names)
                    (when (= (length names) +functions-of-moment+)
                      (return-from walk)))
                  frame +frames-of-moment+))
    (nreverse names)))

(defun moment-now (token frame)
  (multiple-value-bind (real-us processor-us) (clock-readings)
    (make-moment :token token :real-us real-us :processor-us processor-us :functions (functions-from frame))))

(defun note-moment (token)
  "Note where the operation with TOKEN is, if it runs in this thread."
  (when (= token *token*)
    (let ((moment (moment-now token (call-as-interrupted #'signalling-frame))))
      (setf *moments* (cons moment (some-of *moments* 0 (1- +moments-kept+)))))))

(defun seconds-text (microseconds)
  (multiple-value-bind (seconds hundredths) (floor (round microseconds 10000) 100)
    (format nil "~d.~2,'0d" seconds hundredths)))

(defun ago-text (moment now)
  (format nil "~a s" (seconds-text (- (moment-real-us now) (moment-real-us moment)))))

(defun functions-text (moment)
  (if (moment-functions moment)
      (format nil "~{~a~^ < ~}" (mapcar #'name-text (moment-functions moment)))
      "no function of the program."))

(defun work-text (moment now)
  "Return a sentence on the CPU time used from MOMENT until NOW."
  (let* ((real-us (max 1 (- (moment-real-us now) (moment-real-us moment))))
         (used-us (- (moment-processor-us now) (moment-processor-us moment)))
         (share (/ used-us real-us)))
    (format nil "It used ~a s of processor time in the last ~a s~a"
            (seconds-text used-us) (seconds-text real-us)
            (cond ((< share 1/20) ": it was waiting.")
                  ((> share 1/4) ": it was computing.")
                  (t ".")))))

(defun moments-hint (frame)
  "Return the hint of an interrupt at FRAME, which reports where the operation was before; NIL if nothing was noted."
  (let ((moments (reverse (remove *token* *moments* :key #'moment-token :test-not #'eql)))
        (now (moment-now *token* frame)))
    (when moments
      (let ((texts (mapcar #'functions-text moments)))
        (format nil "~a~%~a"
                (if (every (lambda (text) (string= text (functions-text now))) texts)
                    (format nil "~{~a~^ and ~} earlier it was in ~:[no function of the program either.~;the same functions: ~a~]"
                            (mapcar (lambda (moment) (ago-text moment now)) moments)
                            (moment-functions (first moments))
                            (first texts))
                    (format nil "~{~a earlier it was in ~a~^~%~}"
                            (loop for moment in moments
                                  for text in texts
                                  collect (ago-text moment now)
                                  collect text)))
                (work-text (first moments) now))))))
