;;;; The agent's port to the Lisps that Swank knows: frames. The backend numbers them in the debugging environment that it
;;;; makes around a condition, and that environment lasts as long as the agent serves there.

(in-package #:cl-mcp-agent)

(defstruct (backend-frame (:conc-name its-) (:copier nil) (:predicate nil))
  (number 0 :type fixnum)               ; as the backend counts
  raw)                                  ; what it has for the frame

(defvar *frames* '()
  "The frames here, from the innermost one that is the program's.")

(defparameter *ways-to-the-agent*
  '(enter-agent run-errand invoke-debugger error cerror break signal warn)
  "The functions from which the agent is called: what is above them is not the program's.")

(defparameter *evaluators* '(evaluate-form evaluate-form-by evaluate-step evaluate-entry perform)
  "The functions where a backtrace ends.")

(defparameter *hidden-names* '("BYTECODES" "UNDEFINED-FUNCTION-CALLED" "RUN-HOOK" "%EVAL" "UNIVERSAL-ERROR-HANDLER"
                                "JRUN-EXCEPTION-PROTECTED")
  "Functions of Lisps that are in the way.")

(declaim (notinline run-errand))
(defun run-errand (function)
  (call-with-frames function))

(defconstant +frames-kept+ 1000)

(defun call-with-frames (function)
  "Call FUNCTION with the frames of this thread, as they are now."
  (let ((function (lambda ()
                    (let ((*frames* (frames-here)))
                      (funcall function)))))
    ;; The backend of ECL takes time that grows with the square of the stack's depth.
    #+ecl (progv (list (server-symbol "*BACKTRACE*" (server-package "SWANK/ECL" "SLYNK/ECL")))
              (list (loop for number from (1- (si::ihs-top)) above 0
                          repeat +frames-kept+
                          collect (list (si::ihs-fun number) (si::ihs-env number) '())))
            (funcall function))
    #+abcl (let ((sys::*saved-backtrace* (sys:backtrace +frames-kept+)))
             (backend call-with-debugging-environment function))
    #-(or ecl abcl) (backend call-with-debugging-environment function)))

(defun frames-here ()
  (let* ((frames (loop for raw in (backend compute-backtrace 0 nil)
                       for number from 0
                       collect (make-backend-frame :number number :raw raw)))
         (end (position-if (lambda (frame) (member (name-of-frame frame) *evaluators*)) frames))
         (way (position-if (lambda (frame) (member (name-of-frame frame) *ways-to-the-agent*)) frames
                           :from-end t :end end)))
    (nthcdr (if way (1+ way) 0) frames)))

(implement frame-call (frame)
  ;; The arguments are :UNKNOWN where the Lisp does not keep them.
  (let ((raw (its-raw frame)))
    #+ecl (let ((function (first raw)))
            (values (if (functionp function) (name-of-function function) function)
                    (arguments-of-variables function (frame-locals frame))))
    #+abcl (if (typep raw 'sys::lisp-stack-frame)
               (destructuring-bind (function &rest arguments) (sys:frame-to-list raw)
                 (values (if (functionp function) (name-of-function function) function)
                         arguments))
               nil)
    #-(or ecl abcl) (values (with-output-to-string (stream) (backend print-frame raw stream)) :unknown)))

(defun arguments-of-variables (function variables)
  "List the arguments of FUNCTION, as its VARIABLES, (NAME . VALUE), have them now; :UNKNOWN if these do not tell."
  (let ((parameters (function-lambda-list function))
        (arguments '()))
    (if (listp parameters)
        (dolist (parameter parameters (nreverse arguments))
          (cond ((member parameter '(&rest &key &aux &body))
                 (return (nreverse arguments)))
                ((not (member parameter lambda-list-keywords))
                 (let ((variable (assoc (if (consp parameter) (first parameter) parameter) variables)))
                   (unless variable
                     (return :unknown))
                   (push (cdr variable) arguments)))))
        :unknown)))

(defun name-of-frame (frame)
  (values (ignore-errors (frame-call frame))))

(implement signalling-frame ()
  (first *frames*))

(implement call-as-interrupted (function)
  (if *frames*
      (funcall function)
      (call-with-frames function)))

(defparameter *own-file* *load-truename*
  "The file from which the agent was loaded, or NIL.")

#+ecl
(defun file-of-function (function)
  "Return the name of the file that FUNCTION is from, or NIL."
  (ignore-errors (namestring (ext:compiled-function-file function))))

#+ecl
(defvar *dull-files*
  (list (ignore-errors (namestring *own-file*))
        (file-of-function (symbol-function (server-symbol "CREATE-SERVER" (server-package "SWANK" "SLYNK")))))
  "The files of the agent and of the functions by which a person's debugger is entered.")

(defun dull-frame-p (frame)
  "True if the function of FRAME is one without a name that is the agent's, or only calls another one."
  #+ecl (let ((function (first (its-raw frame))))
          (and (functionp function)
               (member (file-of-function function) (remove nil *dull-files*) :test #'equal)))
  ;; ABCL shows APPLY and FUNCALL beside the function that they call, and does not tell where a function without a name is from.
  #+abcl (multiple-value-bind (name arguments) (frame-call frame)
           (or (member name '(apply funcall))
               (and (eq name :anonymous-interpreted-function) (null arguments))))
  #-(or ecl abcl) (progn frame nil))

(defun visible-frame-name-p (name)
  (cond ((null name) nil)
        ((symbolp name)
         (and (not (member (symbol-name name) *hidden-names* :test #'string=))
              (or (eq (symbol-package name) (find-package "COMMON-LISP"))
                  (public-symbol-p name))))
        ((stringp name) t)
        ((consp name) (or (not (symbolp (second name))) (visible-frame-name-p (second name))))
        (t t)))

(implement map-frames (function frame limit)
  (let ((walked 0))
    (loop for (this . more) on (member frame *frames*)
          for name = (name-of-frame this)
          for below = (and more (name-of-frame (first more)))
          do (when (>= walked limit)
               (return (values walked nil)))
             (incf walked)
             (when (member name *evaluators*)
               (return (values walked t)))
             (when (and (visible-frame-name-p name)
                        (not (dull-frame-p this))
                        (not (and (eq name 'eval) (member below *evaluators*))))
               (funcall function this name))
          finally (return (values walked t)))))

(implement frame-locals (frame)
  (loop for variable in (ignore-errors (backend frame-locals (its-number frame)))
        for name = (getf variable :name)
        when (or (stringp name) (and (symbolp name) (symbol-package name)))
          collect (cons (if (stringp name) (make-symbol name) name) (getf variable :value))))

(implement set-frame-local (frame name value)
  (and (implements-p 'eval-in-frame)
       (ignore-errors
        (backend eval-in-frame `(setq ,name ',value) (its-number frame))
        t)))

(implement frame-place (frame)
  (place-of-location (ignore-errors (backend frame-source-location (its-number frame)))))

(implement frame-lambda-list (frame)
  (let ((name (name-of-frame frame)))
    (if (and name (symbolp name) (fboundp name)) (function-lambda-list name) :unknown)))

(implement frame-disassembly (frame)
  (backend disassemble-frame (its-number frame)))

(implement unknown-argument-p (argument)
  (eq argument (unbound-marker)))

(defvar *unbound-marker* (make-symbol "#<unavailable>"))

(implement unbound-marker ()
  *unbound-marker*)

