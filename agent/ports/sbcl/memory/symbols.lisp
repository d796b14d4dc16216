;;;; The agent's port to SBCL: looking up symbols without writing to the image.

(in-package #:cl-mcp-agent)

;;; Looking up a symbol that a package inherits notes in the package which table had it. CL-USER lies in the
;;; image, so that reading any code wrote to it.

(declaim (type simple-vector *spare-package*))
(sb-ext:defglobal *spare-package* (vector nil)
  "The copy that looking up uses, while nobody does.")

(defun call-with-copy (function package)
  "Call FUNCTION with a copy of PACKAGE, the one of before made to look like it if nobody uses it: other threads
and interrupts look up symbols too."
  (declare (type function function) (type package package) (optimize speed))
  (let* ((place *spare-package*)
         (spare (svref place 0))
         (copy (if (and spare (eq spare (sb-ext:compare-and-swap (svref place 0) spare nil)))
                   (the package spare)
                   (copy-structure package))))
    (setf (sb-impl::package-internal-symbols copy) (sb-impl::package-internal-symbols package)
          (sb-impl::package-external-symbols copy) (sb-impl::package-external-symbols package)
          (sb-impl::package-tables copy) (sb-impl::package-tables package)
          (sb-impl::package-mru-table-index copy) (sb-impl::package-mru-table-index package))
    (multiple-value-prog1 (funcall function copy)
      (setf (svref place 0) copy))))

(defun look-up-in-copies ()
  "Have symbols looked up in a copy of a package that lies in the image: it has the same tables, and its note
goes to where everything new goes."
  (sb-ext:unlock-package "SB-IMPL")
  (sb-int:encapsulate 'sb-impl::%find-symbol 'look-up-in-copies
                      (lambda (look-up name length package)
                        (declare (type function look-up) (optimize speed (safety 0)))
                        (if (< (the sb-ext:word (sb-kernel:get-lisp-obj-address package))
                               (the sb-ext:word *image-end*))
                            (flet ((look-up-there (copy)
                                     (funcall look-up name length copy)))
                              (declare (dynamic-extent #'look-up-there))
                              (call-with-copy #'look-up-there package))
                            (funcall look-up name length package))))
  (sb-ext:lock-package "SB-IMPL"))
