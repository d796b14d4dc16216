;;;; The agent's port to SBCL: what the compiler keeps for backtraces: which calls in tail position give up their caller's
;;;; frame, and which arguments are known.
;;;;
;;;; SBCL compiles each call in tail position as a jump, and the caller's frame is gone. So in (DEFUN F (X) (/ X 0)) the
;;;; function that failed would be in no backtrace. Here a call of one of SBCL's own functions keeps its caller's frame.
;;;; Calls of the user's functions remain jumps: loops made of tail calls run in constant space. A frame that a call
;;;; of SBCL's own function keeps is there until that function returns, so no loop of the user's grows by it, unless
;;;; the loop itself goes through a standard function in tail position, such as MAPC.

(in-package #:cl-mcp-agent)

(defun keeps-callers-frame-p (name)
  "True if the caller of the function NAME keeps its frame: it is SBCL's, or that of a check of a test framework."
  (or (implementation-name-p name)
      (let ((package (and (symbolp name) (symbol-package name))))
        (and package
             (some (lambda (framework) (eql 0 (search framework (package-name package))))
                   '("IT.BESE.FIVEAM" "ROVE" "PARACHUTE" "LISP-UNIT"))))))

(defun dispatcher-p (function)
  "True if FUNCTION, the compiler's, chooses a method for PCL: (LAMBDA (SB-PCL::.ARG0. ...)). Its frame is of no interest."
  (let ((name (sb-c::leaf-debug-name function)))
    (and (typep name '(cons (eql lambda) (cons (cons symbol))))
         (eq (symbol-package (first (second name))) (find-package "SB-PCL")))))

(defun keep-callers-frames (component)
  "Take back the mark of a tail call from calls of SBCL's functions in COMPONENT, which TAIL-ANNOTATE has marked."
  (dolist (function (remove-if #'dispatcher-p (sb-c::component-lambdas component)))
    (let* ((return (sb-c::lambda-return function))
           (uses (and return (sb-c::lvar-uses (sb-c::return-result return)))))
      (dolist (use (if (listp uses) uses (list uses)))
        (when (and (sb-c::combination-p use)
                   (sb-c::node-tail-p use)
                   (not (eq (sb-c::combination-kind use) :local))
                   (keeps-callers-frame-p (sb-c::lvar-fun-name (sb-c::combination-fun use) t)))
          (setf (sb-c::node-tail-p use) nil))))))

(defun keep-frames-of-failing-functions ()
  "Have the compiler keep the frame of a function that ends with a call of one of SBCL's; once, before the image is saved."
  (sb-int:encapsulate 'sb-c::tail-annotate 'cl-mcp-agent
                      (lambda (annotate component)
                        (multiple-value-prog1 (funcall annotate component)
                          (when *is-agents-thread*
                            (keep-callers-frames component)))))
  (sb-int:encapsulate 'sb-c::debug-location-for 'cl-mcp-agent #'location-of-argument))

(defun location-of-argument (locate variable locations)
  "Return where the debugger finds the argument VARIABLE: nowhere if the function sets it, since its value is then not known to be
what was passed. It stays among the frame's variables."
  (if (and *is-agents-thread* (sb-c::lambda-var-sets variable))
      ;; As for one that is not used.
      (let ((uses (shiftf (sb-c::leaf-refs variable) '())))
        (unwind-protect (funcall (the function locate) variable (make-hash-table :test #'eq))
          (setf (sb-c::leaf-refs variable) uses)))
      (funcall (the function locate) variable locations)))
