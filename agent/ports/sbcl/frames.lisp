;;;; The agent's port to SBCL: the frames of the stack and their variables.

(in-package #:cl-mcp-agent)

(defvar *top-frame* nil
  "The frame to begin with when a condition arrived outside INVOKE-DEBUGGER.")

(implement signalling-frame ()
  (or *top-frame*
      (let ((hint (sb-debug::resolve-stack-top-hint)))
        (if (sb-di:frame-p hint) hint nil))
      (sb-di:top-frame)))

(defun name-of-frame (frame)
  (sb-di:debug-fun-name (sb-di:frame-debug-fun frame)))

(defun interrupted-frame ()
  "Return the frame that a signal has interrupted, or NIL."
  (or (sb-di::find-interrupted-frame)
      ;; In foreign code, as in most waits, SBCL finds none on arm64. It is where the first frame without a function is.
      #-x86-64
      (loop for frame = (sb-di:top-frame) then (sb-di:frame-down frame)
            while frame
            when (stringp (name-of-frame frame))
              return frame)))

(defun evaluator-frame-p (name name-below)
  "True if the frame called NAME is there only because its caller evaluates or expands a form."
  (and (member name-below '(sb-impl::%simple-eval sb-int:simple-eval-in-lexenv
                            sb-c::careful-expand-macro macroexpand macroexpand-1
                            sb-impl::%macroexpand sb-impl::%macroexpand-1))
       (or (equal name '(lambda ()))
           (member name '(macroexpand macroexpand-1 sb-impl::%macroexpand
                          sb-impl::%macroexpand-1)))))

(defun passes-arguments-p (frame name above)
  "True if FRAME only collects the arguments of a function with &REST or &KEY, and that function's own frame, ABOVE, has
them all."
  (and above
       (eq :more (sb-di:debug-fun-kind (sb-di:frame-debug-fun frame)))
       (equal name (name-of-frame above))
       (handler-case (let ((arguments (nth-value 1 (frame-call frame)))
                           (others (nth-value 1 (frame-call above))))
                       (and (eql (list-length arguments) (list-length others))
                            (every #'eq arguments others)))
         (error () nil))))

(implement map-frames (function frame limit)
  (declare (type function function) (type fixnum limit))
  (let ((walked 0)
        (above nil))
    (declare (type fixnum walked))
    (loop
      (when (null frame)
        (return (values walked t)))
      (when (>= walked limit)
        (return (values walked nil)))
      (let* ((name (name-of-frame frame))
             (below (sb-di:frame-down frame))
             (name-below (and below (name-of-frame below))))
        (incf walked)
        (when (or (member name '(evaluate-form evaluate-form-by evaluate-step evaluate-entry perform))
                  ;; A time limit of the program is reported from within CALL-ASIDE as well, and is not of what it runs.
                  (and (eq name 'call-aside)
                       (eq :noting (locally (declare (special *aside*)) *aside*)))
                  (and (eq name 'eval) (member name-below '(evaluate-form evaluate-step evaluate-entry))))
          (return (values walked t)))
        (when (and (visible-name-p name)
                   (not (evaluator-frame-p name name-below))
                   (not (passes-arguments-p frame name above)))
          (funcall function frame name))
        (setf above frame
              frame below)))))

(defun lost-rest-p (frame)
  "True if the function of FRAME ends with a &REST argument that is no longer known, which SBCL leaves out."
  (let ((last (first (last (ignore-errors (sb-di:debug-fun-lambda-list (sb-di:frame-debug-fun frame)))))))
    (and (consp last) (eq :rest (first last)) (eq :deleted (second last)))))

(implement frame-call (frame)
  (multiple-value-bind (name arguments) (sb-debug::frame-call frame :method-frame-style :normal)
    ;; SBCL cannot read one if the frame had not begun or a register was not saved, as when the stack is exhausted.
    (when (listp arguments)
      (setf arguments (substitute-if (sb-debug::make-unprintable-object "changed or no longer kept")
                                     #'unknown-argument-p
                                     (append (substitute (unbound-marker) :invalid-value-for-unescaped-register-storage arguments)
                                             (if (lost-rest-p frame) (list (unbound-marker)) '())))))
    (cond ((eq name 'sb-pcl::call-no-applicable-method)
           (destructuring-bind (function call) arguments
             (values (sb-mop:generic-function-name function) call)))
          ((atom name)
           (values name arguments))
          ((eq (first name) :method)
           (values (cons 'method (rest name)) arguments))
          ((and (eq (first name) 'macro-function) (consp arguments))
           ;; The environment says nothing.
           (values name (list (first arguments))))
          ;; The frame's place names the file.
          ((stringp (second (member :in name)))
           (values (ldiff name (member :in name)) arguments))
          (t
           (values name arguments)))))

(defun frame-variables (frame)
  "List the variables of FRAME, SBCL's objects, that have values where it is."
  (let ((location (sb-di:frame-code-location frame))
        (variables '()))
    (handler-case
        (sb-di:do-debug-fun-vars (variable (sb-di:frame-debug-fun frame))
          (when (eq :valid (sb-di:debug-var-validity variable location))
            (push variable variables)))
      (sb-di:debug-condition ()))
    (nreverse variables)))

(implement frame-locals (frame)
  (loop for variable in (frame-variables frame)
        for symbol = (sb-di:debug-var-symbol variable)
        ;; Macros and the compiler have made the others, and no form can name them.
        when (and symbol (symbol-package symbol) (not (internal-name-p symbol)))
          collect (cons symbol (sb-di:debug-var-value variable frame))))

(implement set-frame-local (frame name value)
  (let ((variable (find name (frame-variables frame) :key #'sb-di:debug-var-symbol)))
    (when variable
      (setf (sb-di:debug-var-value variable frame) value)
      t)))

(implement dispatcher-name-p (name)
  (and (symbolp (first name))
       (string= "GF-DISPATCH" (first name))
       (consp (rest name))))

(implement frame-lambda-list (frame)
  (handler-case (function-lambda-list (sb-di:debug-fun-fun (sb-di:frame-debug-fun frame)))
    (error () :unknown)))

(implement frame-disassembly (frame)
  (disassemble (sb-di:debug-fun-fun (sb-di:frame-debug-fun frame))))

(implement same-frame-p (frame other)
  (sb-sys:sap= (sb-di::frame-pointer frame) (sb-di::frame-pointer other)))

(implement why-not-left (frame)
  (let ((debug-fun (sb-di:frame-debug-fun frame)))
    (cond ((not (typep debug-fun 'sb-di::compiled-debug-fun)) :no-function)
          ;; Its own bindings and those of the trap that it ran into cannot be told apart.
          ((eq :external (sb-di:debug-fun-kind debug-fun)) :not-begun)
          ;; Where the bindings of special variables end that were made before the frame was, is kept in the frames of
          ;; functions whose policy says so; that does not prevent tail calls.
          ((not (sb-debug::frame-has-debug-tag-p frame))
           (let ((symbol (home-symbol (frame-call frame))))
             (if (and symbol (implementation-name-p symbol)) :system :quality)))
          ;; Values are given back as to an unknown caller. A local function whose callers are all known may expect them
          ;; elsewhere; SBCL's debugger does not look, and the caller would go on with garbage.
          ((not (eq :standard (sb-c::compiled-debug-fun-returns
                               (sb-di::compiled-debug-fun-compiler-debug-fun debug-fun))))
           :local))))

(implement leave-frame-by (frame function)
  (sb-debug::unwind-to-frame-and-call frame function))

(implement unknown-argument-p (argument)
  (typep argument 'sb-debug::unprintable-object))

(implement unbound-marker ()
  (sb-debug::make-unprintable-object "unavailable"))

(implement frame-place (frame)
  (let* ((place (ignore-errors (place-of-code (sb-di:code-location-debug-source (sb-di:frame-code-location frame))
                                              (sb-di:frame-debug-fun frame))))
         (file (getf place :file)))
    (if (and file (not (eql 0 (search "SYS:" file))))
        place
        '())))

(implement call-in-fresh-context (function)
  (let ((sb-debug:*stack-top-hint* nil)
        (*top-frame* nil)
        (sb-kernel:*current-level-in-print* 0)
        (sb-impl::*circularity-hash-table* nil)
        (sb-impl::*circularity-counter* nil)
        (sb-ext:*suppress-print-errors* nil)
        (sb-kernel::*current-error-depth* 0)
        (sb-impl::*deadline* nil))
    ;; What serves inside an error sets these; the code that continues from it has its own.
    (with-standard-streams-rebound (funcall function))))

(implement call-as-interrupted (function)
  (let ((*top-frame* (interrupted-frame)))
    (funcall function)))
