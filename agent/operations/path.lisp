;;;; Paths into an object: steps between commas, each [SUBSCRIPT ...] or the name of a part, as in
;;;;     items, [3], "a key"
;;;; The comma before a bracket may be left out, and after one it may be a dot. Nothing is interned on the way.

(in-package #:cl-mcp-agent)

(defconstant +path-characters+ 1000)
(defconstant +path-steps+ 64)

(defun after-quoted (text position)
  "Return the end of the quoted text that begins with the character at POSITION of TEXT."
  (loop with quote = (char text position)
        for at from (1+ position) below (length text)
        do (cond ((char= (char text at) #\\) (incf at))
                 ((char= (char text at) quote) (return (1+ at))))
        finally (refuse "In the path, the ~a at character ~d is unmatched." quote
                           (1+ position))))

(defun end-of-name (text start)
  "Return the end of the name that begins at START of TEXT: the first comma or bracket outside quotes and
parentheses."
  (loop with depth = 0
        with at = start
        while (< at (length text))
        do (case (char text at)
             ((#\" #\|) (setf at (1- (after-quoted text at))))
             (#\\ (incf at))
             (#\( (incf depth))
             (#\) (decf depth))
             ((#\, #\[) (unless (plusp depth) (return at))))
           (incf at)
        finally (return (length text))))

(defun subscripts-in (text)
  "Return the integers in TEXT, taken from between brackets, as a list."
  (loop for word in (words (substitute #\space #\, text))
        collect (if (and (every #'digit-char-p word) (<= (length word) 15))
                    (parse-integer word)
                    (refuse "In the path, ~a between brackets is not a number from 0 up." word))))

(defun parse-path (text)
  "Return the steps of the path TEXT: lists of subscripts, and names as strings."
  (when (> (length text) +path-characters+)
    (refuse "The path is longer than ~:d characters." +path-characters+))
  (let ((steps '())
        (at 0))
    (flet ((skip-blanks ()
             (setf at (or (position-if-not #'blank-p text :start at) (length text)))))
      (skip-blanks)
      (loop while (< at (length text))
            do (let* ((bracket (char= #\[ (char text at)))
                      (end (cond ((not bracket) (min (length text) (end-of-name text at)))
                                 ((position #\] text :start at))
                                 (t (refuse "In the path, the [ at character ~d is unmatched." (1+ at))))))
                 (when (= end at)
                   (refuse "In the path, a step is missing at character ~d." (1+ at)))
                 (push (if bracket (subscripts-in (subseq text (1+ at) end)) (trimmed (subseq text at end))) steps)
                 (setf at (if bracket (1+ end) end))
                 (skip-blanks)
                 (when (and (< at (length text)) (find (char text at) (if bracket ",." ",")))
                   (incf at)
                   (skip-blanks)
                   (when (= at (length text))
                     (refuse "In the path, a step is missing at its end."))))))
    (when (> (length steps) +path-steps+)
      (refuse "The path has more than ~d steps." +path-steps+))
    (nreverse steps)))

(defun step-text (step)
  (if (stringp step) step (format nil "[~{~d~^ ~}]" step)))

(defun follow-step (object step)
  "Return the part of OBJECT that STEP names, or refuse."
  (multiple-value-bind (part near some)
      (if (stringp step) (part-called object step) (element-of object step))
    (or part
        (refuse "The ~a ~a has no part ~a.~@[ Did you mean ~{~a~^, ~}?~]~@[ It has ~{~a~^, ~}.~]"
                   (kind-name (kind-of object)) (one-line (item-text object 80)) (step-text step)
                   (some-of near 0 +names-offered+) (if near '() some)))))

(defun follow-path (object steps)
  "Return the part of OBJECT that STEPS lead to; NIL if there are no steps. Refuse where there is no such part, or it has no
value and there are more steps."
  (let ((part nil))
    (loop for (step . more) on steps
          do (setf part (follow-step object step))
             (when more
               (setf object (value-of-part part))))
    part))

(defun value-of-part (part)
  (case (part-state part)
    (:bound (part-value part))
    (:unbound (refuse "~a is unbound." (part-label part)))
    (t (refuse "~a: ~a" (part-label part) (part-state part)))))
