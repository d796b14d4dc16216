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

(define-operation :memory (&key collect types image)
  (let ((before (or (heap-readings) (lack "tell how much memory it uses"))))
    (when collect
      (collect-garbage))
    (multiple-value-bind (used limit) (heap-readings)
      (with-agent-syntax ()
        (list* *id* :ok
               :used used
               :limit limit
               :before before
               :generations (generation-readings)
               (if types (type-entries image) '()))))))

;;; What keeps an object alive

(defconstant +paths-shown+ 5)

(defun object-meant (text)
  "Return the object of TEXT, a handle or forms."
  (if (parse-handle text #\h)
      (first (object-with-handle text))
      (loop for form in (read-forms text)
            for value = (let ((*current-form* (list form)))
                          (first (evaluate-form form)))
            finally (return value))))

(defun retainer-text (object place)
  (format nil "~a~@[ ~a~]"
          (with-agent-syntax (:length 4 :level 2 :package (session-package))
            (item-text object 80))
          (if (string= place "") nil place)))

(defun held-by-the-agent ()
  "List the conses by which the handles of inspected objects are kept."
  (loop for (nil . inspection) in *inspections*
        collect inspection
        append (mapcar #'rest (rest inspection))))

(defun call-without-last-values (function)
  "Call FUNCTION with a list of conses while the variables of the listener, * and so on, are NIL; the conses hold their
values."
  (let ((values (listener-values)))
    (unwind-protect (progn
                      (set-listener-values (mapcar (constantly nil) values))
                      (funcall function (maplist #'identity values)))
      (set-listener-values values))))

(define-operation :retainers (&rest arguments &key code)
  (call-in-package-for-code
   arguments
   (lambda ()
     (list *id* :ok
           :paths (call-without-last-values
                   (lambda (values)
                     (retaining-paths (lambda () (object-meant code))
                                      #'retainer-text
                                      (append values (held-by-the-agent))
                                      +paths-shown+)))))))
