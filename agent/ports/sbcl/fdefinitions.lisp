;;;; The agent's port to SBCL: the functions behind names: the image's own standard functions, and wrappers.

(in-package #:cl-mcp-agent)

;;; User code may replace a standard function, which breaks everything that calls it by name: the agent, but
;;; also the reader, the compiler and the printer.
;;; Compiled code calls through a cell (an FDEFN, or an entry of the linkage space) that it holds on to. So
;;; when the image is complete each name gets a new cell: the image keeps calling what it was built with, and
;;; code that is compiled later, FDEFINITION, TRACE and FUNCALL of a name use the new cell. #'NAME reads the
;;; same cell as a call, also where there is linkage space (tried with 2.5.2 and 2.6.4). Calls become no
;;; slower. A method that user code adds to a generic function counts everywhere: both cells hold the same function.
;;; LENGTH and EQL are called at a fixed address unless they are declared NOTINLINE, which no later
;;; definition reaches; code with CAR does not see another CAR either.

(defparameter *shared-functions* '(load compile-file require)
  "Functions that people trace or wrap to see what ASDF, which is in the image, does.")

(defun separate-standard-functions ()
  "Reserve the standard functions that the image calls for the image. Called once, before the image is saved."
  (do-external-symbols (name "COMMON-LISP")
    (when (and (fboundp name)
               (not (macro-function name))
               (not (special-operator-p name))
               (not (member name *shared-functions*)))
      (separate-calls name))))

;;; Watching functions

(implement inlined-name-p (name)
  (and (member (sb-int:info :function :inlinep name) '(inline sb-ext:maybe-inline)) t))

(implement wrap-function (name tag wrapper)
  (sb-int:encapsulate name (tag-of-session tag) (for-session wrapper))
  (pushnew (list name tag) *wrapped* :test #'equal))

(implement unwrap-function (name tag)
  (when (fboundp name)
    (sb-int:unencapsulate name (tag-of-session tag)))
  (setf *wrapped* (remove (list name tag) *wrapped* :test #'equal)))

(implement function-wrapped-p (name tag)
  (and (sb-int:encapsulated-p name (tag-of-session tag)) t))

;;; SBCL has its TRACE see each method's function when it combines methods; that is where the wrapper comes in. A function
;;; that is called with a permutation vector and the next method first is a fast one.

(sb-ext:defglobal *method-wrappers* '()
  "Lists (FUNCTION NAME . WRAPPER). A name may come to have another generic function, which is not wrapped.")

(defun wrapped-method-function (wrapper method function is-fast)
  (if is-fast
      (lambda (vector next &rest arguments)
        (funcall wrapper method
                 (lambda (&rest arguments) (apply function vector next arguments))
                 arguments))
      (lambda (arguments next)
        (funcall wrapper method
                 (lambda (&rest arguments) (funcall function arguments next))
                 arguments))))

(defun let-methods-be-wrapped ()
  "Have PCL ask for a wrapper of each method; once, before the image is saved."
  (sb-int:encapsulate 'sb-pcl::maybe-trace-method 'cl-mcp-agent
                      (lambda (next generic-function method function is-fast)
                        (let* ((traced (funcall next generic-function method function is-fast))
                               (wrapper (and *method-wrappers* generic-function method (functionp traced)
                                             (cddr (assoc generic-function *method-wrappers* :test #'eq)))))
                          (if wrapper
                              (wrapped-method-function wrapper method traced is-fast)
                              traced)))))

(defun set-method-wrapper (name wrapper)
  "Let WRAPPER, or nothing for NIL, call the methods of the generic function NAME."
  (setf *method-wrappers* (remove name *method-wrappers* :key #'second :test #'equal))
  (when wrapper
    (setf *method-wrappers* (acons (fdefinition name) (cons name wrapper) *method-wrappers*)))
  (when (and (fboundp name) (typep (fdefinition name) 'generic-function))
    ;; It combines its methods again.
    (reinitialize-instance (fdefinition name))))

(implement wrap-methods (name wrapper)
  (set-method-wrapper name (for-session wrapper))
  (pushnew (list name :methods) *wrapped* :test #'equal))

(implement unwrap-methods (name)
  (set-method-wrapper name nil)
  (setf *wrapped* (remove (list name :methods) *wrapped* :test #'equal)))
