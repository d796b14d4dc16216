;;;; The heap: how much of it is used, by generation and by type.

(in-package #:cl-mcp-agent)

(defconstant +types-sent+ 100)
(defconstant +heap-walk-us+ 3000000
  "The walk over the heap stops after this time.")

(defun type-entries (image)
  "Return the reply's part about the types of the objects in the heap. Objects of the start image are counted only
if IMAGE is true."
  (multiple-value-bind (types complete) (count-heap image +heap-walk-us+)
    (let ((sorted (sort types #'> :key #'second)))
      (list :types (loop for (name octets count) in (some-of sorted 0 +types-sent+)
                         collect (list (if name (name-text name) "(others)") octets count))
            :types-found (length types)
            :partial (not complete)))))

(define-operation :memory (arguments)
  (let ((before (heap-readings)))
    (when (getf arguments :collect)
      (collect-garbage))
    (multiple-value-bind (used limit) (heap-readings)
      (with-agent-syntax ()
        (list* *id* :ok
               :used used
               :limit limit
               :before before
               :generations (generation-readings)
               (if (getf arguments :types)
                   (type-entries (getf arguments :image))
                   '()))))))
