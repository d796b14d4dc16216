;;;; The agent's port to SBCL: what an evaluation calls to make threads and timers, or to end the image, and what stands in for
;;;; that while sessions are open.

(in-package #:cl-mcp-agent)

(defparameter *ways-to-give-away*
  '((sb-thread:make-thread 0 t) (sb-thread:interrupt-thread 1 nil) (sb-ext:finalize 1 nil))
  "The functions that take a function for another thread or for later: (NAME PLACE MADE), as GIVE-AWAY has them.")

(defun give-to-timer (make &rest arguments)
  "Stand in for MAKE-TIMER. An agent's timer interrupts no thread that nobody has named: it gets one of its own."
  (if (and *is-agents-thread*
           (not (sb-thread::thread-p (getf (rest arguments) :thread sb-thread:*current-thread*))))
      (give-away 0 t make (list* (first arguments) :thread t (rest arguments)))
      (give-away 0 nil make arguments)))

;;; What ends the image

(defparameter *names-of-exits*
  '(("EXIT" "SB-EXT") ("OS-EXIT" "SB-SYS") ("UNIX-EXIT" "SB-UNIX") ("EXIT" "SB-POSIX")
    ("SAVE-LISP-AND-DIE" "SB-EXT")))

(defparameter *names-of-kills* '(("UNIX-KILL" "SB-UNIX") ("UNIX-KILLPG" "SB-UNIX") ("KILL" "SB-POSIX") ("KILLPG" "SB-POSIX")))

(defparameter *routines-that-end*
  '("exit" "_exit" "_Exit" "quick_exit" "abort" "kill" "killpg" "raise" "tgkill" "pthread_kill" "execv" "execve" "execvp"
    "execl" "execle" "execlp")
  "Foreign routines that end the image, or may.")

(defun call-sparing-image (function)
  "Call FUNCTION. Whatever calls the function of EXIT there, it throws to this tag; only END-IMAGE lets it go on."
  (catch 'sb-impl::%end-of-the-world
    (return-from call-sparing-image (funcall function)))
  (when (and *is-agents-thread* (not *image-ends*))
    ;; EXIT has noted in this thread that it ends, and has kept all others from ending.
    (let ((code (shiftf sb-sys:*exit-in-progress* nil)))
      (sb-thread:release-mutex sb-impl::*exit-lock* :if-not-owner :punt)
      (stop-before-exit 'sb-ext:exit #'sb-ext:exit (list :code code) nil)))
  (throw 'sb-impl::%end-of-the-world t))

(defun stop-before-kill (name kill arguments)
  "Stand in for KILL, called NAME: it ends the image if what it is to signal is this process, or its group."
  (let ((whom (first arguments)))
    (if (or (not (integerp whom)) (<= whom 1) (= whom (process-id)))
        (stop-before-exit name kill arguments)
        (apply (the function kill) arguments))))

(defun stop-before-routine (name)
  "Called before the foreign routine NAME. The code cannot go on without it."
  (stop-before-exit (format nil "The foreign routine ~s" name) (constantly nil) '() nil))

(defun find-routine (find name)
  "Stand in for FIND, which finds the foreign routine NAME."
  (when (and *is-agents-thread* (member name *routines-that-end* :test #'equal))
    (stop-before-routine name))
  (funcall (the function find) name))

(defun expand-foreign-symbol (form environment)
  "Stand in for the compiler macro of FOREIGN-SYMBOL-SAP, which it does not have: all that calls a routine by its name expands
into a call of it."
  (declare (ignore environment))
  (let ((name (second form)))
    (if (and *is-agents-thread* (member name *routines-that-end* :test #'equal))
        ;; The second form is not expanded again.
        `(progn (stop-before-routine ,name)
                (,(first form) (the string ,name) ,@(cddr form)))
        form)))

(defun ways-to-end ()
  "List (NAME . WRAPPER) for the functions that end the image."
  (loop for (names function) in (list (list *names-of-exits* #'stop-before-exit)
                                      (list *names-of-kills* #'stop-before-kill))
        append (loop for (name package) in names
                     for symbol = (internal-function name package)
                     when symbol
                       collect (cons symbol (let ((symbol symbol) (function function))
                                              (lambda (exit &rest arguments)
                                                (funcall function symbol exit arguments)))))))

(defun keep-what-stands-in (strip function)
  "Stand in for STRIP, which finds for FDEFINITION what FUNCTION was before something stood in for it."
  (if (and *is-agents-thread*
           (loop for (name) in (ways-to-end) thereis (eq function (symbol-function name))))
      function
      (funcall (the function strip) function)))

(defun ways-to-use-pools ()
  "List (NAME . WRAPPER) for the functions of pools of threads that are in the image now."
  (loop for (name wrapper) in '(("SCHEDULE-TASK" note-pool-work) ("MAKE-SCHEDULER" note-made-pool))
        for symbol = (internal-function name "LPARALLEL.KERNEL")
        when symbol
          collect (cons symbol (fdefinition wrapper))))

(defun wrap-new-pools ()
  "Wrap the functions of pools, which may have been loaded since the image was prepared."
  (when *is-prepared*
    (loop for (name . wrapper) in (ways-to-use-pools)
          unless (sb-int:encapsulated-p name 'cl-mcp-agent)
            do (wrap-calls name wrapper))))

(defvar *extern-alien* (macro-function 'sb-alien:extern-alien)
  "The macro as SBCL has it.")

(defun expand-extern-alien (form environment)
  "Stand in for it: code that is not compiled has no compiler macros. It expands into (%ALIEN-VALUE (FOREIGN-SYMBOL-SAP ...) ...)."
  (let ((expansion (funcall (the function *extern-alien*) form environment)))
    (if (and (consp expansion) (typep (second expansion) '(cons (eql sb-sys:foreign-symbol-sap))))
        (list* (first expansion) (expand-foreign-symbol (second expansion) environment) (cddr expansion))
        expansion)))

(defun set-expanders (for-symbols for-aliens)
  (sb-ext:without-package-locks
    (setf (sb-int:info :function :compiler-macro-function 'sb-sys:foreign-symbol-sap) for-symbols
          (macro-function 'sb-alien:extern-alien) for-aliens)))

(defun add-ownership ()
  (loop for (name place made) in *ways-to-give-away*
        do (let ((place place) (made made))
             (wrap-calls name (lambda (give &rest arguments)
                                (give-away place made give arguments)))))
  (wrap-calls 'sb-ext:make-timer #'give-to-timer)
  ;; The signal of a timer comes to any thread.
  (wrap-calls 'sb-impl::run-timer #'call-as-person)
  (wrap-calls 'sb-ext:disable-debugger (lambda (disable)
                                         (if *is-agents-thread* (leave-debugger) (funcall disable))))
  (set-expanders #'expand-foreign-symbol #'expand-extern-alien)
  (wrap-calls 'sb-sys:find-foreign-symbol-address #'find-routine)
  (wrap-calls 'sb-impl::strip-encapsulation #'keep-what-stands-in)
  (loop for (name . wrapper) in (append (ways-to-end) (ways-to-use-pools))
        do (wrap-calls name wrapper)))

(defun remove-ownership ()
  (set-expanders nil *extern-alien*)
  (mapc #'unwrap-calls (append '(sb-ext:make-timer sb-impl::run-timer sb-ext:disable-debugger
                                 sb-sys:find-foreign-symbol-address sb-impl::strip-encapsulation)
                               (mapcar #'first *ways-to-give-away*)
                               (mapcar #'first (append (ways-to-end) (ways-to-use-pools))))))

;;; The heap

(defvar *heap-watcher* nil)

(implement watch-heap (function)
  (setf sb-ext:*after-gc-hooks* (remove 'run-heap-watcher sb-ext:*after-gc-hooks*)
        *heap-watcher* function)
  (when function
    (push 'run-heap-watcher sb-ext:*after-gc-hooks*)))

(defun run-heap-watcher ()
  "The hook. An error of it is not the person's."
  (handler-case (when *heap-watcher*
                  (funcall *heap-watcher*))
    (serious-condition () nil)))

;;; What the person's code needs as it is in the image

(defparameter *variables-of-context*
  '(*standard-input* *standard-output* *error-output* *trace-output* *terminal-io* *query-io* *debug-io* *debugger-hook*
    sb-ext:*invoke-debugger-hook* *debugger* sb-sys:*stdout* sb-sys:*stderr* sb-sys:*tty*)
  "Variables that the agent binds in its threads.")

(defun call-with-global-values (function)
  "Call FUNCTION with the image's values of these, as in a new thread of the person's."
  (if *is-agents-thread*
      (progv *variables-of-context* (mapcar #'sb-ext:symbol-global-value *variables-of-context*)
        (funcall function))
      (funcall function)))
