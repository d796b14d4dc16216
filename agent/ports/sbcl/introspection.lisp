;;;; The agent's port to SBCL: what functions, variables, types, objects and classes are made of.

(in-package #:cl-mcp-agent)

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defun mop-name (name)
    (find-symbol (symbol-name name) "SB-MOP"))

  (defun gray-name (name)
    (find-symbol (symbol-name name) "SB-GRAY")))

(implement function-lambda-list (function)
  ;; A function that was compiled with (debug 0) does not keep its lambda list.
  (handler-case (multiple-value-bind (list unknown) (sb-introspect:function-lambda-list function)
                  (if unknown :unknown list))
    (error () :unknown)))

(implement restart-asker (restart)
  (sb-kernel::restart-interactive-function restart))

(implement function-type (name)
  (sb-introspect:function-type name))

(implement variable-type (symbol)
  (sb-kernel:type-specifier (sb-int:info :variable :type symbol)))

(implement variable-kind (symbol)
  (let ((kind (sb-int:info :variable :kind symbol)))
    (case kind
      (:unknown nil)
      (:macro :symbol-macro)
      (:constant (if (keywordp symbol) nil :constant))
      (t kind))))

(implement type-definition (symbol)
  (when (and (eq :defined (sb-int:info :type :kind symbol))
             (not (find-class symbol nil)))
    (let ((arguments (ignore-errors (sb-introspect:deftype-lambda-list symbol))))
      (format nil "Arguments: ~:[()~;~:*~a~]" arguments))))

(implement type-lambda-list (symbol)
  (handler-case (sb-introspect:deftype-lambda-list symbol)
    (error () :unknown)))

(implement expanders (symbol)
  (values (and (eq :defined (sb-int:info :type :kind symbol))
               (not (find-class symbol nil))
               (sb-int:info :type :expander symbol))
          (sb-int:info :setf :expander symbol)))

(implement closed-over-values (function)
  (if (sb-kernel:closurep function)
      (loop for value in (sb-kernel:%closure-values function)
            collect (if (and (sb-kernel:%other-pointer-p value)
                             (= sb-vm:value-cell-widetag (sb-kernel:%other-pointer-widetag value)))
                        (sb-kernel:value-cell-ref value)
                        value))
      '()))

(implement inner-objects (object)
  (typecase object
    (sb-ext:weak-pointer (list (cons "VALUE" (sb-ext:weak-pointer-value object))))
    (sb-kernel:fdefn (list (cons "NAME" (sb-kernel:fdefn-name object))
                           (cons "FUNCTION" (sb-kernel:fdefn-fun object))))
    (t '())))

(implement weak-reference (object)
  (let ((pointer (sb-ext:make-weak-pointer object)))
    (lambda ()
      (multiple-value-bind (value alive) (sb-ext:weak-pointer-value pointer)
        (if alive (list value) nil)))))

(implement hash-table-weak (table)
  (sb-ext:hash-table-weakness table))

;;; What keeps an object alive

(defconstant +stack-searched+ (ash 256 10)
  "How many octets of a thread's stack are searched, from its first frame on.")

(defun thread-with-on-stack (object)
  "Return another thread whose stack seems to hold OBJECT, or NIL; a word there may be left of a frame that has ended."
  (sb-sys:with-pinned-objects (object)
    (let ((address (sb-kernel:get-lisp-obj-address object)))
      (find-if (lambda (thread)
                 (let ((start (sb-thread::thread-control-stack-start thread))
                       (end (sb-thread::thread-control-stack-end thread)))
                   ;; Its far half has guard pages; if the thread ends, it may be gone.
                   (ignore-errors
                    (loop for place from (max (ash (+ start end) -1) (- end +stack-searched+)) below end by sb-vm:n-word-bytes
                          thereis (= address (sb-sys:sap-ref-word (sb-sys:int-sap place) 0))))))
               (remove sb-thread:*current-thread* (sb-thread:list-all-threads))))))

(defun root-text (root object)
  "Return in words where a path to OBJECT begins, or NIL for what is never collected; second, whether it is this thread's own stack."
  (cond ((eq root :static) nil)
        ;; In a process with one thread it is what this search has left there.
        ((atom root)
         (let ((thread (thread-with-on-stack object)))
           (values (format nil "perhaps the stack of ~:[a thread~;the thread ~:*~a~]" (and thread (sb-thread:thread-name thread)))
                   (only-thread-p))))
        (t
         (destructuring-bind (thread place &rest binding) root
           (let ((name (if (stringp thread) thread (sb-thread:thread-name thread))))
             (if binding
                 (format nil "the binding of ~a in the thread ~a" (name-text place) name)
                 (values (format nil "the stack of the thread ~a" name)
                         (or (eq thread sb-thread:*current-thread*)
                             (equal name (sb-thread:thread-name sb-thread:*current-thread*))))))))))

(defun word-text (object word)
  "Return in words what is at WORD of OBJECT."
  (typecase object
    (hash-table "")
    (cons (if (zerop word) "car" "cdr"))
    (symbol "value")
    (simple-vector (format nil "[~d]" (- word sb-vm:vector-data-offset)))
    (structure-object
     (let ((slot (ignore-errors
                  (find (- word sb-vm:instance-slots-offset)
                        (sb-kernel:dd-slots (sb-kernel:find-defstruct-description (type-of object)))
                        :key #'sb-kernel:dsd-index))))
       (if slot (string-downcase (sb-kernel:dsd-name slot)) "")))
    (t "")))

(defun retaining-path (pointer describe ignored)
  "Return a path as RETAINING-PATHS does, and the object that holds the target."
  (sb-sys:scrub-control-stack)
  (destructuring-bind (&optional root &rest nodes)
      (rest (first (sb-ext:search-roots pointer :print nil :ignore ignored)))
    (multiple-value-bind (text own)
        (root-text root (if nodes (car (first nodes)) (sb-ext:weak-pointer-value pointer)))
      (unless (or own (and (null text) (null nodes)))
        ;; The packages that a symbol is reached by say nothing.
        (let ((named (member-if (lambda (node) (and (symbolp (car node)) (car node))) nodes)))
          (values (cons (if named nil text)
                        (loop for before = nil then object
                              for (object . word) in (or named nodes)
                              for pair = (and (hash-table-p before) (simple-vector-p object)
                                              (logandc2 (- word sb-vm:vector-data-offset) 1))
                              collect (funcall (the function describe)
                                               (if pair (svref object pair) object)
                                               (if pair "(key)" (word-text object word)))))
                  (car (first (last nodes)))))))))

(defun pointer-made-apart (find)
  "Return a weak pointer to what FIND returns. What its frames leave on the stack lies deeper than that of the search."
  (let ((room (make-array 16384)))
    (declare (dynamic-extent room))
    (setf (svref room 0) 0)
    (sb-ext:make-weak-pointer (funcall (the function find)))))

(implement retaining-paths (find describe ignored count)
  (let ((pointer (pointer-made-apart find))
        (paths '()))
    (loop repeat count
          do (multiple-value-bind (path holder) (retaining-path pointer describe ignored)
               (when path
                 (push path paths))
               (unless holder
                 (return))
               (push holder ignored)))
    (nreverse paths)))
