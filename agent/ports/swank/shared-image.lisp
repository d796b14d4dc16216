;;;; The agent's port to the Lisps that Swank knows: what joining needs: threads of a session, their values, wrappers.

(in-package #:cl-mcp-agent)

;;; What the image gets while sessions are open. What ends it does something else in the agent's threads only.

(defun own-function (name package place)
  "Return (SYMBOL PLACE) if the function NAME is in PACKAGE, else (NIL)."
  (let ((symbol (and (find-package package) (find-symbol name package))))
    (if (and symbol (fboundp symbol)) (list symbol place) (list nil))))

(defparameter *ways-to-exit*
  (remove-duplicates (remove-if-not #'fboundp (list* 'uiop:quit (remove nil (mapcar #'own-name '("QUIT" "EXIT")))))))

(defparameter *ways-to-give-away*
  (remove nil (list (own-function "PROCESS-RUN-FUNCTION" "MP" 1) (own-function "MAKE-THREAD" "THREADS" 0)) :key #'first)
  "The functions that take a function for another thread: (NAME PLACE).")

(defvar *stood-for* '()
  "What was the function of each name while others stand in: (NAME . FUNCTION).")

(defun let-stand-in (name wrapper)
  "Have WRAPPER called with the function of NAME, and its arguments, instead of it."
  (let ((function (fdefinition name)))
    (push (cons name function) *stood-for*)
    (setf (fdefinition name) (lambda (&rest arguments) (funcall wrapper function arguments)))))

(defun add-encapsulations ()
  (dolist (name *ways-to-exit*)
    (let ((name name))
      (let-stand-in name (lambda (exit arguments) (stop-before-exit name exit arguments)))))
  (loop for (name place) in *ways-to-give-away*
        do (let ((place place))
             (let-stand-in name (lambda (give arguments) (give-away place t give arguments))))))

(defun remove-encapsulations ()
  (loop for (name . function) in (shiftf *stood-for* '())
        do (setf (fdefinition name) function)))

(defun call-with-global-values (function)
  (funcall function))

(defun wrap-calls (name wrapper)
  "Do nothing: a wrapper around a function of Swank's or Slynk's would be visible to the person."
  (declare (ignore name wrapper))
  nil)

(defun unwrap-calls (name)
  (declare (ignore name))
  nil)

;;; Threads

(defun call-as-agent (function)
  "Call FUNCTION in a thread of a session; ENDING-THREAD ends it."
  (let ((*errands* (make-errands))
        (*is-agents-thread* t))
    (catch 'thread-ended
      (call-without-debugger function))))

(defun call-without-debugger (function)
  "Call FUNCTION so that an error of the agent's own ends this thread, and does not enter the Lisp's debugger: some Lisps end
when that has nobody to ask."
  (call-with-debugger function (lambda (condition)
                                 (declare (ignore condition))
                                 (throw 'thread-ended nil))))

(defun global-values ()
  "List the image's values of *OWN-VARIABLES*, as a new session has them: those that this thread, which is Swank's, has."
  (list* (find-package "COMMON-LISP-USER")
         (copy-readtable nil)
         (with-standard-io-syntax
           (mapcar (lambda (name) (if (eq name '*print-readably*) nil (symbol-value name))) (cddr *own-variables*)))))

(defun start-thread (name function)
  "Start a thread that belongs to no session. Returns it."
  (let ((*is-agents-thread* nil))       ; its own context comes with FUNCTION
    (backend spawn
             (lambda ()
               (catch 'thread-ended
                 (call-without-debugger function)))
             :name name)))

(defvar *held-conditions* '()
  "What threads have told of the debugger that they stand in: (THREAD . CONDITION).")

(defun value-in-thread (symbol thread)
  "Return the value that SYMBOL, a debugger's condition, is bound to in THREAD, or NIL. No thread can look at the bindings of
another, so this is what LEARN-HELD-CONDITION has asked for."
  (if (eq thread (current-thread))
      (and (boundp symbol) (symbol-value symbol))
      (and (thread-alive-p thread) (cdr (assoc thread *held-conditions*)))))

(defun learn-held-condition (thread)
  "Have THREAD tell for which condition it stands in a debugger."
  (let ((told (make-signal))
        (condition nil))
    (call-in-thread thread (lambda ()
                             (setf condition (held-condition (current-thread)))
                             (raise-signal told)))
    (await-signal told 1)
    (forget-held-condition thread)
    (when condition
      (call-locked (lambda () (push (cons thread condition) *held-conditions*))))))

(defun forget-held-condition (thread)
  (call-locked (lambda ()
                 (setf *held-conditions* (remove thread *held-conditions* :key #'first)))))

(defun frame-of-debugger ()
  (signalling-frame))

(defun number-in-debugger (frame)
  "Do nothing: the backend counts from another frame than the editor's debugger."
  (declare (ignore frame))
  nil)

(defun send-at-once (stream)
  (declare (ignore stream))
  nil)

;;; Wrappers: a function that stands for another one until somebody defines that anew. An entry of *WRAPPED* is a list of the
;;; name, the tag, the wrapper's function and the original one.

(defun wrapping-of (name tag)
  "Return the entry of this session's wrapper with TAG of the function NAME, or NIL."
  (find-if (lambda (entry) (and (equal name (first entry)) (eq tag (second entry)))) *wrapped*))

(defun wraps-p (entry)
  "True if the wrapper of ENTRY is in effect."
  (destructuring-bind (name tag function original) entry
    (declare (ignore tag original))
    (and (fboundp name) (eq function (fdefinition name)))))

(implement wrap-function (name tag wrapper)
  (unwrap-function name tag)
  (let ((original (fdefinition name))
        (wrapper (for-session wrapper)))
    (push (list name tag (lambda (&rest arguments) (apply wrapper original arguments)) original) *wrapped*)
    (setf (fdefinition name) (third (first *wrapped*)))))

(implement unwrap-function (name tag)
  (let ((entry (wrapping-of name tag)))
    (when entry
      (when (wraps-p entry)
        (setf (fdefinition name) (fourth entry)))
      (setf *wrapped* (remove entry *wrapped*)))))

(implement function-wrapped-p (name tag)
  (let ((entry (wrapping-of name tag)))
    (and entry (wraps-p entry))))

;;; What cannot be done, in words

(declare-absent "compile code without running it" compile-text)
(declare-absent "watch methods; trace the generic function instead" wrap-methods unwrap-methods)
(declare-absent "sample the stack" start-sampling map-samples)
(declare-absent "count the objects of the heap" count-heap)
(declare-absent "tell what keeps an object alive" retaining-paths)
(declare-absent "tell what a function refers to" references-from)
(declare-absent "leave a frame" leave-frame-by)

(define-missing-operations)
