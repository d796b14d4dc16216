;;;; Frames as text: the call with its arguments, the function's place, and the variables.

(in-package #:cl-mcp-agent)

(defconstant +frames-sent+ 100)
(defconstant +frames-walked+ 1000)
(defconstant +argument-limit+ 60)
(defconstant +arguments-shown+ 8)
(defconstant +frame-limit-characters+ 200)

(defvar *current-form* nil
  "The form being evaluated, in a list; NIL before the first was read.")

(defvar *with-locals* nil
  "True if frames are shown with their variables by default.")

(defun plain-tree-p (tree)
  "True if printing the leaves of TREE runs no user code. Names of functions are such trees."
  (loop for depth below 100
        while (consp tree)
        always (plain-tree-p (pop tree))
        finally (return (simple-object-p tree))))

(defun name-text (name)
  (let ((*print-length* nil)
        (*print-level* nil)
        (*in-a-hurry* (and *in-a-hurry* (not (plain-tree-p name)))))
    (if (symbolp name)
        (symbol-text name)
        (item-text name 120))))

(defun call-text (name arguments)
  "Return the call of NAME with ARGUMENTS as one line."
  (let* ((parts (list (name-text name)))
         (length (+ 2 (length (first parts)))))
    (if (listp arguments)
        (loop for argument in arguments
              for shown from 1
              for text = (if (> shown +arguments-shown+) "..." (item-text argument +argument-limit+))
              do (incf length (1+ (length text)))
                 (push (if (> length +frame-limit-characters+) "..." text) parts)
              until (string= "..." (first parts)))
        (push "#<unavailable>" parts))
    (one-line (format nil "(~{~a~^ ~})" (nreverse parts)))))

(defconstant +frames-placed+ 30
  "How many frames have the line of the form that they execute in any report; the others that of their function. A form in a file is
read for it, which takes time.")

(defun one-frame (frame name condition locals exact)
  "Return FRAME as (CALL PLACE . LOCALS). LOCALS are included on request: (NAME VALUE) each; (NIL TEXT) is the part of
the function's code that FRAME is executing. With LOCALS or EXACT the place is that of this part."
  ;; Errors of reading the frame are caught here. A handler around the printing would hide the errors of the
  ;; user's PRINT-OBJECT from the guard.
  (multiple-value-bind (shown-name arguments)
      (handler-case (frame-call frame)
        (error () (values name :unavailable)))
    (when (eq name 'read)
      ;; Its arguments are the agent's.
      (setf arguments '()))
    (when (equal name "undefined function")
      (setf shown-name (if (typep condition 'undefined-function)
                           (cell-error-name condition)
                           'undefined-function)))
    (multiple-value-bind (code place) (and (or locals exact)
                                            (ignore-errors (frame-names-p frame shown-name))
                                            (frame-code frame (not locals)))
      (list* (call-text shown-name arguments)
             (or place
                 (ignore-errors (frame-place-text frame shown-name)))
             (append (and locals code (string/= code "#<...>") (list (list nil code)))
                     (and locals
                          (loop for (name . value) in (ignore-errors (frame-locals frame))
                                collect (list (item-text name 60) (item-text value 200)))))))))

(defun last-frame ()
  "Return the frame with which the report of an evaluation ends."
  (list (call-text 'eval (list (first *current-form*))) nil))

(defun frames-of-compiler-error (condition)
  "List the frames of CONDITION, which a macro signalled to the compiler, without the evaluation."
  (let ((*current-form* nil)
        (*capture* (make-capture)))
    (with-agent-syntax (:length 10 :level 4)
      (values (frame-texts (signalling-frame) condition :count 20)))))

(defun frames-from (frame)
  "List FRAME and those below it, as many as are walked, as (FRAME . NAME). Second, true if the last one is among them."
  (let* ((frames '())
         (complete (nth-value 1 (map-frames (lambda (frame name) (push (cons frame name) frames))
                                            frame +frames-walked+))))
    (values (nreverse frames) complete)))

(defvar *frames-shown* #'length
  "A function that returns how many of the frames that it gets, (FRAME . NAME), a reply shows: the others are not the program's.")
(defvar *frame-note* (constantly nil)
  "A function that returns what is shown behind a frame, a text, or NIL.")

(defun frame-texts (frame condition &key (from 0) (count +frames-sent+)
                                     (locals *with-locals*))
  "List COUNT frames from number FROM as text. The second value is the number of frames, negative if counting
stopped before the last."
  (multiple-value-bind (all complete) (frames-from frame)
    (let* ((shown (funcall (the function *frames-shown*) all))
           (frames (subseq all 0 shown))
           (folded (- (length all) shown)))
      (values (append (loop for (frame . name) in (some-of frames from count)
                            for number from from
                            collect (with-note frame
                                      (if (and (zerop number) (eq :stack (storage-kind condition)))
                                          ;; It had no room to begin: the values in the place of its arguments are not theirs.
                                          (list (call-text name :unknown) nil)
                                          (one-frame frame name condition locals
                                                     (and (< number +frames-placed+) (not *in-a-hurry*))))))
                      (if (and *current-form* (<= from (length frames) (+ from count -1)))
                          (list (last-frame))
                          '())
                      (if (and (plusp folded) (<= from shown (+ from count -1)))
                          (list (list (format nil "(~d more, of libraries and the Lisp)" folded) nil))
                          '()))
              (if complete
                  (+ shown (if *current-form* 1 0) (if (plusp folded) 1 0))
                  (- +frames-walked+))))))

(defun with-note (frame entry)
  "Return ENTRY, of FRAME in a reply, with the note on FRAME."
  (let ((note (funcall (the function *frame-note*) frame)))
    (if note
        (cons (concatenate 'string (first entry) note) (rest entry))
        entry)))

(defun frames-part (frame condition arguments package)
  "Return the part of a reply with those of the frames from FRAME on that ARGUMENTS request, with names as in PACKAGE."
  (with-agent-syntax (:package package :length 10 :level 4)
    (multiple-value-bind (frames total)
        (frame-texts frame condition
                     :from (getf arguments :from 0)
                     :count (min +frames-walked+ (getf arguments :count +frames-sent+))
                     :locals (getf arguments :locals))
      (list :frames frames :total total))))

(define-operation :frames (&rest arguments &key locals)
  (unless *error-frame*
    (refuse "The error no longer stands: the program has left it."))
  (list* *id* :ok :locals (and locals t)
         (frames-part *error-frame* *error-condition* arguments (report-package))))
