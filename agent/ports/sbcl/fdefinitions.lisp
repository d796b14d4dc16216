;;;; The agent's port to SBCL: what functions' names stand for: the image's own standard functions, and wrappers.

(in-package #:cl-mcp-agent)

;;; User code may put something else in the place of a standard function, and what calls that function
;;; through its name is then broken: the agent, but also the reader, the compiler and the printer.
;;; Calls go through an FDEFN that compiled code holds on to. So when the image is complete each name
;;; gets another one: the image keeps calling what it was built with, and all that is compiled later,
;;; FDEFINITION, TRACE and FUNCALL of a name find the new one. It costs no call anything. A method that
;;; user code adds to a generic function counts everywhere: both fdefns hold the same function.
;;; LENGTH and EQL are called at a fixed address unless they are declared NOTINLINE, which no later
;;; definition reaches; code with CAR does not see another CAR either.

(defparameter *shared-functions* '(load compile-file require)
  "Functions that people trace or wrap to see what ASDF, which is in the image, does.")

(defmacro exchange-fdefn (name old new)
  "Make NEW the fdefn of the symbol NAME. Does nothing on an SBCL where symbols have none."
  (let ((exchange (find-symbol "CAS-SYMBOL-FDEFN" "SB-VM")))
    (if exchange
        `(,exchange ,name ,old ,new)
        `(list ,name ,old ,new))))

(defun separate-standard-functions ()
  "Leave the standard functions that the image calls to the image alone; once, before it is saved."
  (do-external-symbols (name "COMMON-LISP")
    (let ((old (and (fboundp name)
                    (not (macro-function name))
                    (not (special-operator-p name))
                    (not (member name *shared-functions*))
                    (sb-int:find-fdefn name))))
      (when (sb-kernel:fdefn-p old)
        (let ((new (sb-kernel:make-fdefn name)))
          (setf (sb-kernel:fdefn-fun new) (sb-kernel:fdefn-fun old))
          (exchange-fdefn name old new))))))

;;; Watching functions

(implement wrap-function (name tag wrapper)
  (sb-int:encapsulate name tag wrapper))

(implement unwrap-function (name tag)
  (sb-int:unencapsulate name tag))

(implement inlined-name-p (name)
  (and (member (sb-int:info :function :inlinep name) '(inline sb-ext:maybe-inline)) t))

(implement function-wrapped-p (name tag)
  (and (sb-int:encapsulated-p name tag) t))

(implement call-encapsulated (wrappers function)
  (declare (type function function))
  (let ((done '()))
    (unwind-protect
         (progn
           (loop for (name . wrapper) in wrappers
                 do (when (and (fboundp name) (not (macro-function name)))
                      (sb-int:encapsulate name 'call-encapsulated wrapper)
                      (push name done)))
           (funcall function))
      (dolist (name done)
        (sb-int:unencapsulate name 'call-encapsulated)))))
