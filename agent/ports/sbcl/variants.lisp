;;;; The agent's port to SBCL: everything that differs between releases of SBCL.

(in-package #:cl-mcp-agent)

;;; Each difference is detected in the SBCL that builds the image: by a symbol, a function, a slot or an arity, never by the
;;; version number. No other file names what only some releases have. Such names are strings here, because to read a
;;; symbol that SBCL's locked packages do not have is an error.

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defun internal-symbol (name package)
    "Return the symbol called NAME in SBCL's PACKAGE, or NIL if this release has none."
    (and (find-package package)
         (values (find-symbol name package))))

  (defun internal-function (name package)
    "Return the symbol called NAME in PACKAGE if it names a function or a macro, else NIL."
    (let ((symbol (internal-symbol name package)))
      (and symbol (fboundp symbol) symbol)))

  (defun internal-variable (name package)
    "Return the symbol called NAME in PACKAGE if it names a variable with a value, else NIL."
    (let ((symbol (internal-symbol name package)))
      (and symbol (boundp symbol) symbol))))

(defun replace-function (name function)
  "Let FUNCTION stand for the function NAME of SBCL's."
  (sb-ext:without-package-locks
    (handler-bind ((warning #'muffle-warning))
      (setf (fdefinition name) function))))

;;; Streams: 2.3.2 renamed the slot for single characters from OUT to COUT.

(defmacro define-output-stream (name options (&key character string misc) &rest slots)
  "Define a structure NAME that is a character output stream of SBCL's. OPTIONS and SLOTS are those of DEFSTRUCT.
CHARACTER, STRING and MISC are forms for the functions that the stream calls to print and to answer questions."
  `(defstruct (,name (:include sb-kernel:ansi-stream
                      (,(if (internal-function "ANSI-STREAM-COUT" "SB-KERNEL") 'cout 'out)
                       ,character)
                      (sout ,string)
                      (misc ,misc))
                     ,@options)
     ,@slots))

;;; Compilation units: since 2.4.8 one structure holds the counters that were variables before.

(defmacro with-new-unit-counters (&body body)
  "Evaluate BODY inside a new compilation unit, as far as SBCL's counters and flags are concerned."
  (let ((unit (internal-variable "*COMPILATION-UNIT*" "SB-C"))
        (make-unit (internal-function "MAKE-COMPILATION-UNIT" "SB-C")))
    (if (and unit make-unit)
        `(let ((,unit (,make-unit)))
           ,@body)
        `(let ,(loop for (name value) in '(("*ABORTED-COMPILATION-UNIT-COUNT*" 0)
                                           ("*COMPILER-ERROR-COUNT*" 0)
                                           ("*COMPILER-WARNING-COUNT*" 0)
                                           ("*COMPILER-STYLE-WARNING-COUNT*" 0)
                                           ("*COMPILER-NOTE-COUNT*" 0)
                                           ("*METHODS-IN-COMPILATION-UNIT*" nil)
                                           ("*IN-COMPILATION-UNIT*" t))
                     collect (list (or (internal-symbol name "SB-C")
                                       (error "This SBCL has neither a structure for a compilation ~
                                               unit nor the variable SB-C::~a." name))
                                   value))
           ,@body))))

;;; Debug information: newer releases compress it with a C library, which calls malloc. The compiler does that in each
;;; evaluation. If an interrupt came inside malloc, its report, which reads debug information, would wait for ever for
;;; malloc's lock.

(defun defer-interrupts-in-compression ()
  "Have SBCL compress and decompress debug information with interrupts deferred."
  (dolist (name (list (internal-function "COMPRESS" "SB-C") (internal-function "DECOMPRESS" "SB-C")))
    (when name
      (let ((function (fdefinition name)))
        (replace-function name (lambda (vector)
                                 (sb-sys:without-interrupts
                                   (funcall function vector))))))))

;;; Source positions: since 2.4.6 the position that a stream keeps is that of its buffer's refill.

(defmacro characters-read (stream)
  "Return how many characters were read from STREAM, a form-tracking stream."
  (list (or (internal-function "FORM-TRACKING-STREAM-CURRENT-CHAR-POS" "SB-IMPL")
            (internal-symbol "FORM-TRACKING-STREAM-INPUT-CHAR-POS" "SB-IMPL"))
        stream))

;;; Hooks that run after a collection: since 2.4.4 RUN-PENDING-FINALIZERS runs them only if a counter is positive, which
;;; the runtime sets before it wakes the finalizer thread, which the agent's images do not have.

(defmacro request-collection-hooks ()
  "Have the next call of RUN-PENDING-FINALIZERS run the hooks of SB-EXT:*AFTER-GC-HOOKS*."
  (let ((counter (internal-variable "*RUN-GC-HOOKS*" "SB-IMPL")))
    (if counter
        `(setf ,counter 1)
        nil)))

;;; Names of functions: up to 2.4.6 compiled code calls through an FDEFN object. Since 2.4.7 it calls through a cell of the
;;; linkage space; the symbol holds the cell's index, and a vector maps the index back to the symbol.

(defmacro define-call-separation ()
  "Define SEPARATE-CALLS, a function of a symbol that names a function. It gives the calls that are compiled already to somebody
else: they keep calling the present function also when the symbol is redefined."
  (let ((index-of (internal-function "FNAME-LINKAGE-INDEX" "SB-VM"))
        (bits (internal-variable "N-LINKAGE-INDEX-BITS" "SB-VM"))
        (map (internal-variable "*LINKAGE-NAME-MAP*" "SB-VM"))
        (element (internal-function "WEAK-VECTOR-REF" "SB-INT"))
        (exchange (internal-symbol "CAS-SYMBOL-FDEFN" "SB-VM")))
    (cond ((null index-of)
           `(defun separate-calls (symbol)
              (let ((old (sb-int:find-fdefn symbol)))
                (when old
                  (let ((new (sb-kernel:make-fdefn symbol)))
                    (setf (sb-kernel:fdefn-fun new) (sb-kernel:fdefn-fun old))
                    (,exchange symbol old new))))))
          ((not (and bits map element))
           (error "This SBCL has linkage space, but not all of what gives its cells to other names."))
          (t
           `(progn
              (sb-ext:defglobal *cell-owners* '()
                "The symbols without a package that own the cells: the map from cells to names is weak.")
              (defmacro linkage-bits (symbol)
                "The 32 bits of SYMBOL, which must not move, that hold its index above three other bits."
                `(sb-sys:sap-ref-32 (sb-sys:int-sap (sb-kernel:get-lisp-obj-address ,symbol))
                                    (- (ash sb-vm:symbol-hash-slot sb-vm:word-shift)
                                       sb-vm:other-pointer-lowtag)))
              (defun separate-calls (symbol)
                "Have a new symbol own the cell through which SYMBOL is called; SYMBOL gets another when it needs one."
                (let ((index (,index-of symbol))
                      (mask (ash (1- (ash 1 ,bits)) 3))
                      ;; Each part of the map is a vector that fills one of the collector's pages.
                      (part-length (- (floor sb-vm:gencgc-page-bytes sb-vm:n-word-bytes)
                                      sb-vm:vector-data-offset)))
                  (unless (zerop index)
                    (multiple-value-bind (part place) (floor index part-length)
                      (let ((owner (make-symbol (symbol-name symbol)))
                            (part (svref ,map part)))
                        ;; The hash shares a word with the index; computed later, it would overwrite it.
                        (sxhash owner)
                        (setf (symbol-function owner) (symbol-function symbol))
                        (sb-sys:with-pinned-objects (owner symbol)
                          (assert (and (eq symbol (,element part place))
                                       (= index (ash (logand mask (linkage-bits symbol)) -3))
                                       (zerop (logand mask (linkage-bits owner))))
                                  () "The linkage index of ~s is not where it was in SBCL 2.4.7." symbol)
                          (setf (linkage-bits owner) (logior (linkage-bits owner) (ash index 3))
                                (,element part place) owner
                                (linkage-bits symbol) (logandc2 (linkage-bits symbol) mask)))
                        (assert (and (= index (,index-of owner))
                                     (zerop (,index-of symbol))))
                        (push owner *cell-owners*)))))))))))

(define-call-separation)

(defmacro called-name-p (symbol)
  "True if compiled code calls the global function called SYMBOL, defined or not."
  (let ((index-of (internal-function "FNAME-LINKAGE-INDEX" "SB-VM")))
    (if index-of
        `(plusp (,index-of ,symbol))
        `(and (sb-int:find-fdefn ,symbol) t))))

;;; Layouts: they were called wrappers for some releases before 2.3.

(defmacro object-layout (object)
  (list (or (internal-function "WRAPPER-OF" "SB-KERNEL") (internal-symbol "LAYOUT-OF" "SB-KERNEL"))
        object))

(defmacro layout-classoid (layout)
  (list (or (internal-function "WRAPPER-CLASSOID" "SB-KERNEL")
            (internal-symbol "LAYOUT-CLASSOID" "SB-KERNEL"))
        layout))

;;; Saving: SBCL disassembles all code of the image, to put functions beside those that they call. Older releases do it once
;;; more, to link calls without the FDEFN object between them. That takes a third of the time of a save, and the code of a
;;; session runs no slower without it than it did before.

(defun save-code-as-it-is ()
  "Have SBCL neither arrange nor link the code of an image that it saves."
  (dolist (name (list (internal-function "COMPUTE-DIRECT-CALL-GRAPH" "SB-VM")
                      (internal-function "STATICALLY-LINK-CORE" "SB-VM")))
    (when name
      (sb-int:encapsulate name 'cl-mcp-agent
                          (lambda (function &rest arguments)
                            (declare (ignore function arguments))
                            #()))))) ; no function calls another
