;;;; The agent's port to SBCL: placing the objects that every request writes together on one page.

(in-package #:cl-mcp-agent)

;;; After a copy of the process the kernel copies each page that is written. Every request writes a handful of small
;;; objects. So they are reallocated side by side on one page, and pinned in the last collection before the first copy, which
;;; promotes them to a generation that is not collected soon.

(defconstant +attempts-at-one-page+ 8)

(sb-ext:defglobal *objects-on-one-page* '())

(defun make-padding (length)
  (make-array length :element-type '(unsigned-byte 8)))

(defun begin-page ()
  "Allocate the rest of the page on which the next object would lie."
  (let* ((header (* 2 sb-vm:n-word-bytes))
         (here (+ header (heap-address (make-padding 0)))))
    (make-padding (max 0 (- +page+ (mod here +page+) header)))))

(defun copy-values (variables)
  "Copy the values of VARIABLES, vectors and structures; return a list of the copies."
  (loop for variable in variables
        for value = (symbol-value variable)
        collect (setf (symbol-value variable)
                      (if (typep value 'structure-object)
                          (copy-structure value)
                          (copy-seq value)))))

(defun renew-token-buffer ()
  "Reallocate the reader's token buffer; return a list of its parts."
  ;; From an empty pool comes a new buffer.
  (setf sb-impl::*token-buf-pool* nil)
  (let ((buffer (setf sb-impl::*token-buf-pool* (sb-impl::acquire-token-buf))))
    (list buffer
          (sb-impl::token-buf-initial-string buffer)
          (sb-impl::token-buf-escapes buffer)
          (sb-kernel:%array-data (sb-impl::token-buf-escapes buffer)))))

(defun renew-text-buffers (objects)
  (loop for object in objects
        when (typep object 'capture)
          collect (setf (captured-text-buffer object) (copy-seq (captured-text-buffer object)))))

(defun renew-written-objects (variables)
  "Reallocate the values of VARIABLES and an object of SBCL's that every request writes; return a list of them. Requests write
only the beginning of the last one, which may be longer than a page."
  (let ((objects (copy-values (append '(*message* sb-thread::*make-thread-lock*) variables))))
    (append objects (renew-text-buffers objects))))

(defun on-one-page-p (objects)
  "True if OBJECTS lie on one page, except that the last one may extend beyond it."
  (loop with page = (floor (heap-address (first objects)) +page+)
        for (object . more) on objects
        for start = (heap-address object)
        always (= page
                  (floor start +page+)
                  (floor (if more (+ start -1 (sb-ext:primitive-object-size object)) start) +page+))))

(defun move-to-one-page (variables)
  "Put the values of VARIABLES and the objects of SBCL's that every request writes on one page, to stay there. SBCL may
allocate the reader's buffer on a page of its own."
  (setf *objects-on-one-page* (loop repeat +attempts-at-one-page+
                                    for objects = (progn (begin-page)
                                                         (renew-written-objects variables))
                                    until (on-one-page-p objects)
                                    finally (return objects))
        *written-by-requests* (append (renew-token-buffer) *objects-on-one-page*))
  (call-pinning *written-by-requests* (lambda () (collect-generation 1))))
