;;;; Leaving an error at one of its frames: the frame returns given values, or its function is called again with
;;;; the same or other arguments. Everything above the frame is unwound, as by a restart.

(in-package #:cl-mcp-agent)

(defun frame-below (frame from function)
  "Call FUNCTION with each frame below FRAME, of those from FROM on, its name and its number counted from FROM, until it
returns true. Return that; NIL if it never does."
  (let* ((frames (frames-from from))
         (below (rest (member frame frames :key #'car :test #'same-frame-p))))
    (loop for (other . name) in below
          for number from (- (length frames) (length below))
          thereis (funcall function other name number))))

(defun frame-after (frame)
  "Return as text the next frame below FRAME that can be left, or NIL."
  (flet ((text-if-left (other name number)
           (if (why-not-left other)
               nil
               (format nil "frame ~d, ~a" number
                       (with-agent-syntax (:length 10 :level 4)
                         (first (one-frame other name *error-condition* nil nil)))))))
    (cond ((frame-below frame *error-frame* #'text-if-left))
          (*current-form*
           (format nil "the last frame, ~a" (with-agent-syntax (:length 10 :level 4)
                                              (first (last-frame))))))))

(defparameter *reasons-not-to-leave*
  '(:no-function "no Lisp code runs in it."
    :not-begun "it failed before it had taken its arguments."
    :local "it is a local function that does not return as others do. Compiled with (debug 3), it can be left."
    :system "it is a function of the Lisp itself."
    :lisp "this Lisp does not leave frames; a restart continues from the error."
    :quality "its function was compiled with a policy below (debug 2), the default here."))

(defun frame-to-leave (number)
  "Return frame NUMBER, or NIL for the last one. Refuse if it cannot be left."
  (let* ((frame (frame-number number))
         (reason (and frame (why-not-left frame))))
    (when reason
      (refuse "Frame ~d cannot be left: ~a~@[ The nearest that can be left is ~a.~]" number
              (getf *reasons-not-to-leave* reason) (frame-after frame)))
    frame))

(defun values-in-frame (frame text arguments)
  "Evaluate the forms of TEXT with the variables of FRAME, or without for NIL. Return a list of the values of each form."
  (let ((form (let ((*package* (or (and (null (getf arguments :package)) frame (frame-package frame))
                                   *package*)))
                (list* 'list (loop for form in (read-forms text)
                                   collect (list 'multiple-value-list form)))))
        (*current-form* nil))
    (first (evaluate-form-by (lambda () (evaluate-in-frame frame form))))))

(defun leave-frame (frame function)
  "Return a function that has FRAME return what FUNCTION returns; for NIL the evaluation's form does."
  (lambda (progress)
    (note-lost progress)
    (if frame
        (leave-frame-by frame function)
        (throw 'form-values (funcall function)))))

(define-operation :return-from-frame (&rest arguments &key ((:frame number) 0) value)
  (let ((frame (frame-to-leave number)))
    (go-on-from-error
     arguments
     (lambda ()
       (let ((values (first (last (values-in-frame frame (or value "nil") arguments)))))
         (leave-frame frame (lambda () (values-list values)))))
     (and frame (frame-package frame)))))

;;; Calling a function again

(defun generic-function-of (name)
  "Return the name of the generic function of the method called NAME in a frame, or NIL."
  (and (consp name) (eq (first name) 'method) (second name)))

(defun called-by-method-p (frame generic-function)
  "True if FRAME, of a method of GENERIC-FUNCTION, was called by another of its methods."
  (let ((caller (frame-below frame frame (lambda (other name number)
                                           (declare (ignore number))
                                           ;; Frames of CALL-NEXT-METHOD, and of SBCL's code around it, are between them.
                                           (if (and (consp name) (mentions-p name '(call-next-method))) nil other)))))
    (and caller
         (equal generic-function (generic-function-of (frame-call caller))))))

(defun callee-again (frame)
  "Return the name of the function that calling FRAME again calls, the arguments, and the reason why it cannot be called or NIL."
  (multiple-value-bind (name arguments) (frame-call frame)
    (let* ((generic-function (generic-function-of name))
           (callee (or generic-function name)))
      (values callee
              arguments
              (cond ((not (and (or (symbolp callee)
                                   (typep callee '(cons (eql setf) (cons symbol null))))
                               (fboundp callee)
                               (not (and (symbolp callee)
                                         (or (macro-function callee) (special-operator-p callee))))))
                     "its function has no global name.")
                    ((and generic-function (called-by-method-p frame generic-function))
                     "it was called by CALL-NEXT-METHOD."))))))

(defun known-arguments-p (arguments)
  (and (listp arguments) (notany #'unknown-argument-p arguments)))

(defun call-again (frame number)
  "Return the function and the arguments for calling frame NUMBER again, or refuse."
  (multiple-value-bind (callee arguments reason) (callee-again frame)
    (when reason
      (refuse "Frame ~d cannot be called again: ~a~@[ The nearest that can be is ~a.~]"
              number reason (frame-after frame)))
    (values (fdefinition callee) arguments)))

(defconstant +long-evaluation+ internal-time-units-per-second
  "What RETRY repeats is worth avoiding if the evaluation has taken this long.")

(defun call-again-hint (frame)
  "After a long evaluation, return a sentence with the first frame from FRAME on whose function, one of the program's, can be
called again; or NIL."
  (when (and *forms-done* (>= (- (get-internal-real-time) (forms-done-began *forms-done*)) +long-evaluation+))
    (loop for (other) in (frames-from frame)
          for number below +frames-placed+
          unless (why-not-left other)
            do (multiple-value-bind (callee arguments reason) (callee-again other)
                 (when (and (null reason) (known-arguments-p arguments)
                            (not (library-package-p (symbol-package (home-symbol callee)))))
                   (return (format nil "restart-frame with frame: ~d calls ~a again, with nothing before it repeated."
                                   number (name-text callee))))))))

(define-operation :restart-frame (&rest request &key ((:frame number) 0) ((:arguments text)))
  (let ((frame (frame-to-leave number)))
    (if (null frame)
        (restart-evaluation request)
        (let ((old-arguments (nth-value 1 (call-again frame number))))
          (unless (or text (known-arguments-p old-arguments))
            (refuse "Some arguments of frame ~d are no longer known. Pass them as arguments." number))
          (go-on-from-error
           request
           (lambda ()
             ;; The code evaluated first may have redefined the function.
             (let ((function (call-again frame number))
                   (new-arguments (if text
                                      (mapcar #'first (values-in-frame frame text request))
                                      old-arguments)))
               (leave-frame frame
                            (lambda ()
                              (apply function new-arguments)))))
           (frame-package frame))))))

(defun restart-evaluation (request)
  "Evaluate the form of the evaluation again: its frame is the last one."
  (when (getf request :arguments)
    (refuse "The last frame stands for the form that was evaluated, which has no arguments."))
  (let ((restart (or (find-shown-restart "RETRY")
                     (refuse "Error ~d has no restart RETRY." (getf request :number)))))
    (go-on-from-error request
                      (lambda ()
                        (lambda (progress)
                          (note-restart progress restart nil)
                          (invoke-restart restart))))))
