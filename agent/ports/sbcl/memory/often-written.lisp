;;;; The agent's port to SBCL: what every request writes to lies together, and what every error writes to not in the image.

(in-package #:cl-mcp-agent)

;;; After a copy of the process each page that is written is copied, and what every request writes to are some small
;;; objects. They are made anew side by side, on one page, and pinned in the last collection before the first copy, which
;;; gives them to a generation that is not collected soon.

(defconstant +attempts-at-one-page+ 8)

(sb-ext:defglobal *often-written* '()
  "What every request writes to.")

(defun make-padding (length)
  (make-array length :element-type '(unsigned-byte 8)))

(defun begin-page ()
  "Allocate what is left of the page on which the next object is going to be."
  (let* ((header (* 2 sb-vm:n-word-bytes))
         (here (+ header (heap-address (make-padding 0)))))
    (make-padding (max 0 (- +page+ (mod here +page+) header)))))

(defun copy-often-written (variables)
  "Copy the values of VARIABLES; return a list of the copies."
  (loop for variable in variables
        for value = (symbol-value variable)
        collect (setf (symbol-value variable)
                      (if (typep value 'structure-object)
                          (copy-structure value)
                          (copy-seq value)))))

(defun renew-token-buffer ()
  "Make anew where the reader gathers a token; return a list of its parts."
  (let ((buffer (progn
                  (setf sb-impl::*token-buf-pool* nil)
                  ;; From an empty pool comes a new buffer.
                  (setf sb-impl::*token-buf-pool* (sb-impl::acquire-token-buf)))))
    (list buffer
          (sb-impl::token-buf-initial-string buffer)
          (sb-impl::token-buf-escapes buffer)
          (sb-kernel:%array-data (sb-impl::token-buf-escapes buffer)))))

(defun renew-text-buffers (objects)
  (loop for object in objects
        when (typep object 'capture)
          collect (setf (captured-text-buffer object) (copy-seq (captured-text-buffer object)))))

(defun make-often-written (variables)
  "Make anew what every request writes to, VARIABLES and what belongs to the Lisp; return a list of it. What is last may
be longer than what of it is written as a rule."
  (let ((package (copy-structure (find-package "COMMON-LISP")))
        (objects (copy-often-written (append '(*message* sb-thread::*make-thread-lock*) variables))))
    (setf *spare-package* (vector package))
    (append (list package *spare-package*)
            objects
            (renew-token-buffer)
            (renew-text-buffers objects))))

(defun on-one-page-p (objects)
  "True if OBJECTS lie on one page, but for what follows the start of the last."
  (loop with page = (floor (heap-address (first objects)) +page+)
        for (object . more) on objects
        for start = (heap-address object)
        always (= page
                  (floor start +page+)
                  (floor (if more (+ start -1 (sb-ext:primitive-object-size object)) start) +page+))))

(defun renew-often-written (variables)
  "Make anew what every request writes to, VARIABLES and what belongs to the Lisp, side by side."
  (setf *often-written* (loop repeat +attempts-at-one-page+
                              for objects = (progn (begin-page)
                                                   (make-often-written variables))
                              until (on-one-page-p objects)
                              finally (return objects))))

;;; With each error SBCL looks into two tables, which notes in them where it found something, and it notes in the image what it
;;; has made of the functions on the stack. So the tables are new, and of the functions that are on the stack of every
;;; evaluation that is done before the image is gathered.

(defun renew-table (variable)
  "Make VARIABLE's hash table anew."
  (let* ((old (symbol-value variable))
         (new (make-hash-table :test (hash-table-test old) :synchronized (sb-ext:hash-table-synchronized-p old))))
    (maphash (lambda (key value)
               (setf (gethash key new) value))
             old)
    (setf (symbol-value variable) new)))

(defun rehearse-error ()
  "Look through the stack of an error in an evaluation."
  (catch 'rehearsed
    (let ((*break-on-signals* nil))
      (handler-bind ((error (lambda (condition)
                              (declare (ignore condition))
                              (sb-di::find-interrupted-frame)
                              (sb-debug::map-backtrace #'sb-di:frame-debug-fun)
                              (throw 'rehearsed nil))))
        (eval '(car 42))))))

(defun prepare-for-errors ()
  ;; The first is a vector since 2.3.0, and a look into a vector writes nothing.
  (dolist (variable '(sb-alien::*alien-type-classes* sb-di::*component-breakpoint-offsets*))
    (when (hash-table-p (symbol-value variable))
      (renew-table variable)))
  (rehearse-error))
