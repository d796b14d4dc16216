;;;; The interface between the agent and the Lisp it runs on. Each operation has a contract here
;;;; and an implementation in ports/; an operation that a port lacks is data, not an error.

(in-package #:cl-mcp-agent)

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defvar *port-operations* '()
    "(NAME LAMBDA-LIST DOCUMENTATION . DEFAULT) for each operation; DEFAULT is a list of forms, or NIL.")
  (defvar *implemented-operations* '()
    "The names of those that the port implements.")
  (defvar *absent-operations* '()
    "The names of those that this Lisp lacks."))

(define-condition refusal (error)
  ((text :initarg :text :reader refusal-text)
   (absent :initarg :absent :initform nil :reader refusal-absent))
  (:report (lambda (condition stream)
             (write-string (refusal-text condition) stream)))
  (:documentation "The reason why the agent does not perform an operation, as a text. ABSENT is as in the reply."))

(defun refuse (control &rest arguments)
  "Refuse the operation at hand, for the reason that CONTROL makes of ARGUMENTS."
  (error 'refusal :text (apply #'format nil control arguments)))

(defun refuse-absent (absent control &rest arguments)
  "Refuse it because something does not exist. ABSENT is T if the call has found this out and not failed, and :PACKAGE if a
package does not exist."
  (error 'refusal :text (apply #'format nil control arguments) :absent absent))

(defmacro define-port-operation (name lambda-list documentation &body default)
  "Declare the operation NAME of the port. Without a DEFAULT a port implements it or lacks it."
  (check-type documentation string)
  `(eval-when (:compile-toplevel :load-toplevel :execute)
     (setf *port-operations* (append (remove ',name *port-operations* :key #'first)
                                     '((,name ,lambda-list ,documentation ,@default))))))

(defmacro implement (name lambda-list &body body)
  "Implement the operation NAME. Its documentation is its contract's."
  (assert (assoc name *port-operations*) () "~s is not an operation of the port." name)
  `(progn
     (eval-when (:compile-toplevel :load-toplevel :execute)
       (push ',name *implemented-operations*))
     (defun ,name ,lambda-list ,@body)))

(defun lack (deed)
  "Refuse what needs DEED, a text that completes the sentence \"This Lisp cannot\"."
  (refuse "~a, as it is joined here, cannot ~a." (lisp-implementation-type) deed))

(defmacro declare-absent (deed &rest names)
  "Declare that this Lisp has none of the operations NAMES, because it cannot do DEED; calling one refuses what needs it."
  `(progn
     (eval-when (:compile-toplevel :load-toplevel :execute)
       (setf *absent-operations* (append ',names *absent-operations*)))
     ,@(loop for name in names
             collect `(defun ,name (&rest arguments)
                        (declare (ignore arguments))
                        (lack ',deed)))))

(defmacro define-missing-operations ()
  "Define each operation that the port lacks: by the contract's default, or as absent. Ends a port's last file."
  `(progn
     ,@(loop for (name lambda-list documentation . default) in *port-operations*
             unless (or (member name *implemented-operations*) (member name *absent-operations*))
               collect (if default
                           `(defun ,name ,lambda-list
                              ,documentation
                              (declare (ignorable ,@(set-difference lambda-list lambda-list-keywords)))
                              ,@default)
                           `(declare-absent ,(format nil "do ~(~a~)" name) ,name)))))

(defmacro mop (name &rest arguments)
  "Call the function NAME of the metaobject protocol. MOP-NAME, of the port, returns the symbol for it."
  (list* (mop-name name) arguments))

;;; Gray's streams. GRAY-NAME, of the port, returns the symbol for a name of theirs, or NIL if this Lisp has none.

(defmacro define-gray-class (name input-or-output &rest slots)
  "Define NAME as a class of character streams."
  `(defclass ,name (,(gray-name (ecase input-or-output
                                  (:input 'fundamental-character-input-stream)
                                  (:output 'fundamental-character-output-stream))))
     ,slots))

(defmacro define-gray-method (name lambda-list &body body)
  "Define a method on the function called NAME, where the Lisp has that."
  (if (gray-name name)
      `(defmethod ,(gray-name name) ,lambda-list ,@body)
      nil))

(defun port-features ()
  "List as keywords what this Lisp can do, for HELLO and SESSION-INFO."
  (loop for (feature . operation) in '((:fork . clone-process)
                                        (:frames . map-frames)
                                        (:locals . frame-locals)
                                        (:interrupts . install-interrupt)
                                        (:save . save-image)
                                        (:compile . compile-text)
                                        (:threads . thread-names))
        unless (member operation *absent-operations*)
          collect feature))

(defmacro do-present-symbols ((symbol package) &body body)
  "Run BODY with each symbol that is present in PACKAGE; DO-SYMBOLS visits those of the packages it uses, too,
which are many more."
  (let ((next (gensym "NEXT")) (more (gensym "MORE")))
    `(with-package-iterator (,next ,package :internal :external)
       (loop
         (multiple-value-bind (,more ,symbol) (,next)
           (unless ,more
             (return))
           ,@body)))))

;;; What the port needs from the agent
(defvar *evaluating* nil
  "True while user code is evaluated for a request, false while it is only inspected.")
(defvar *guard* nil
  "The tag of the current guarded printing, or NIL.")
(defvar *process-shown* nil
  "In a copy that answers for its original: the process id of the original, which is shown as the main thread; else NIL.")
(defvar *serves* nil
  "True in a thread that evaluates for the one that serves the channel.")

;;; Processes and descriptors

(define-port-operation process-id ()
  "Return the process id.")

(define-port-operation parent-process-id ()
  "Return the process id of the parent.")

(define-port-operation end-process (code)
  "End the process at once with CODE: no unwinding, no hooks, no flushing.")

(define-port-operation die-with-parent ()
  "Ask the kernel to kill this process when its parent ends; the request does not survive a fork.")

(defvar *descriptors* '()
  "The descriptors that were received with requests and have not been used, in the order in which they were sent.")

(defvar *channel* 3
  "The descriptor of the channel; another one in a thread that answers a look-up.")

(defvar *waits-openly* t
  "NIL while reading the rest of a message: no interrupt may come in between.")

(define-port-operation await-octets (seconds)
  "Wait until RECEIVE-OCTETS would return at once, an interrupt was handled or SECONDS, perhaps 0, have passed. Return true in
the first case.")

(define-port-operation receive-octets (buffer start end)
  "Wait for octets on the channel and read what is available into BUFFER between START and END.
Returns how many, 0 at the end of the stream. User code may run while it waits, unless
*WAITS-OPENLY* is NIL, but not afterwards.
Descriptors that came with them are added to *DESCRIPTORS*. Ends the process if the channel is
broken.")

(define-port-operation file-octets (path limit)
  "Return the octets of the file PATH, a pathname, if it is a regular one of at most LIMIT that can be read; else NIL."
  nil)

(define-port-operation send-octets (buffer end)
  "Write BUFFER up to END to the channel, all of it. Ends the process if the channel is broken.")

(define-port-operation passing-descriptors (except)
  "List the descriptors of pipes, sockets and event queues, except those in EXCEPT and the agent's own.")

(define-port-operation descriptor-text (descriptor)
  "Return a description of DESCRIPTOR for people.")

(define-port-operation written-files ()
  "List the names of the files that are open for writing, except the agent's own.")

(define-port-operation top-package ()
  "Return the value of *PACKAGE* outside all bindings: the one that is current again when an error has been left.")

(define-port-operation flush-output-files ()
  "Write what the streams to files have buffered, so that a copy of the process does not write it once more.")

(define-port-operation make-output-files-plain ()
  "Make CLOSE with ABORT only close the files that are open for writing, not delete or rename them: an error that the
session has left before is left once more, in a copy of the process, and the files may be others' by now.")

(define-port-operation clone-process (&optional channel severed apart)
  "Copy the process as a sibling. Returns the copy's process id, or 0 in the copy.
NIL if the kernel refused. With CHANNEL, a descriptor, the copy has that as its channel, dies with its parent, and
waits for octets before it does anything else: until then it writes to almost no page. The descriptors in SEVERED are
descriptor 0 in the copy before this returns, so that their other ends do not see it, and their numbers are not used
again. If APART is true, the copy opens locked files anew, so that it does not hold the locks.")

(define-port-operation adopt-descriptors (descriptors)
  "In a copy: make DESCRIPTORS the channel or the channel and both outputs, and close them.")

(define-port-operation leave-other-sessions ()
  "In a sandbox: put this process and its later copies where they cannot reach other processes of the sandbox. Returns
false if that failed on a system that can do it.")

(define-port-operation denial-texts ()
  "Return the system's message for EPERM, in its current language."
  nil)

(define-port-operation moving-denial-text ()
  "In a sandbox that forbids moving files to another directory: return the system's message for that, else NIL."
  nil)

(define-port-operation sever-descriptors (descriptors)
  "Make each of DESCRIPTORS the same as descriptor 0, which is /dev/null.")

(define-port-operation close-descriptors (descriptors)
  "Close DESCRIPTORS.")

(define-port-operation keep-descriptors ()
  "Keep copies of descriptors 1 and 2 where user code does not close them, for REPAIR-DESCRIPTORS.")

(define-port-operation restore-outputs ()
  "Make descriptors 1 and 2 the outputs again after SEVER-DESCRIPTORS.")

(define-port-operation repair-descriptors ()
  "Open descriptors 1 and 2 again if user code has closed them."
  nil)

(define-port-operation only-thread-p ()
  "True if no other thread exists.")

(define-port-operation holds-up-others-p ()
  "True if others cannot work while this thread stands: it holds a lock that they need, and they are not only its own."
  nil)

(defun thread-names ()
  "List the names of the running threads, except the calling one."
  (mapcar #'thread-name-of (remove (current-thread) (all-threads))))

(define-port-operation all-threads ()
  "List the running threads, including the calling one.")

(define-port-operation thread-number (thread)
  "Return the kernel's id of THREAD, or NIL if it has not begun or has ended.")

(define-port-operation thread-name-of (thread)
  "Return the name of THREAD.")

(define-port-operation current-thread ()
  "Return the calling thread.")

(define-port-operation serving-thread ()
  "Return the thread that serves the channel.")

(define-port-operation thread-alive-p (thread)
  "True until THREAD has ended.")

(define-port-operation thread-activity (thread)
  "Return what THREAD is doing: :RUNNING, :LOCK (it waits for a lock), :STARTING (it has no number yet), another
keyword for the system call that it waits in, or :UNKNOWN; then the name of the lock and the thread that holds it, or NIL; then for
how many milliseconds it has not run, or NIL; then the descriptor that it waits for, or NIL.")

(define-port-operation call-in-thread (thread function)
  "Have THREAD call FUNCTION where it is, as soon as it accepts interrupts. SIGNALLING-FRAME is then
the frame that was interrupted. Returns at once; NIL if THREAD has ended.")

(define-port-operation put-off-interruptions ()
  "Let none of CALL-IN-THREAD begin in this thread until the one that runs here has ended."
  nil)

(define-port-operation make-thread (name function)
  "Start a thread that calls FUNCTION. Returns the thread.")

(define-port-operation ask-thread-to-end (thread)
  "Have THREAD unwind and end, as soon as it accepts interrupts. Returns at once.")

(define-port-operation await-thread (thread seconds)
  "Wait until THREAD has ended. NIL if it still runs after SECONDS.")

(define-port-operation make-signal ()
  "Return an object that threads can wait for.")

(define-port-operation raise-signal (signal)
  "Let one call of AWAIT-SIGNAL for SIGNAL return: one that is waiting, or the next one.")

(define-port-operation await-signal (signal &optional seconds)
  "Wait until SIGNAL is raised, taking interrupts if they are allowed. NIL if that takes more than SECONDS.")

(defun main-thread-p ()
  "True in the thread that serves the channel, and in one that evaluates for it."
  (or *serves* (eq (current-thread) (serving-thread))))

(define-port-operation lock-awaited (thread)
  "Return the name of the lock for which THREAD waits, or NIL, and the thread that holds it; NIL if that is not known."
  nil)

(define-port-operation locks-held ()
  "List in words the locks that this thread holds, as far as its stack shows them."
  '())

(define-port-operation watch-heap (function)
  "Call FUNCTION, a symbol, after each collection of garbage from now on, in any thread; nothing any more for NIL."
  nil)

(define-port-operation alone-p ()
  "True if no other thread exists. Very cheap; may be false for a moment after the last one has ended."
  (only-thread-p))

(define-port-operation exiting-p ()
  "True once the program has requested the end of the process, which unwinds its threads first."
  nil)

(define-port-operation end-thread ()
  "End the calling thread, which is not the main one.")

;;; Interrupts and signals

(define-port-operation call-atomically (function)
  "Call FUNCTION with interrupts deferred, except inside CALL-OPENLY.")

(define-port-operation call-openly (function)
  "Call FUNCTION, inside CALL-ATOMICALLY, so that interrupts can run.")

(define-port-operation call-undisturbed (function)
  "Call FUNCTION with interrupts deferred until the caller takes them, even while FUNCTION waits.")

(define-port-operation install-interrupt ()
  "Arrange for ROUTE-INTERRUPT to be called with the token when the server interrupts, and ROUTE-LOOK when it has sent a
look-up while the operation with that token runs. CALL-SIGNALLED is called with a function that runs what the program
itself has a signal do: timers, and interruptions by its threads.")

(define-port-operation refresh-signal-handlers ()
  "Restore the agent's signal handlers if user code has replaced them."
  nil)

;;; Streams

(define-port-operation ensure-streams ()
  "Make the standard streams write to descriptors 1 and 2 and read end of file.
Replaces streams that were closed, and variables that were set to other streams."
  nil)

(define-port-operation flush-streams ()
  "Flush the standard streams. Never signals.")

(define-port-operation reset-columns ()
  "Make FRESH-LINE on the standard streams do nothing until something is printed."
  nil)

(define-port-operation make-capture ()
  "Return a character output stream that keeps a bounded number of characters.")

(define-port-operation start-capture (capture keep stop)
  "Empty CAPTURE. It will keep KEEP characters and call STOP-CAPTURE when it counts STOP of them.")

(define-port-operation capture-text (capture)
  "Return what CAPTURE kept as a simple string, and how many characters were printed.")

;;; Evaluation and conditions

(define-port-operation call-in-compilation-unit (function)
  "Call FUNCTION as one compilation unit. Undefined names are noted, nothing is printed."
  (funcall function))

(define-port-operation undefined-names (limit &optional anew)
  "List the first LIMIT undefined names in the running compilation unit as (CLASS NAME KIND FORM PLACE); second, how many more
there are. FORM contains the first use, or is NIL; PLACE is as PLACE-BEING-COMPILED returns it. An undeclared variable that
has a value is listed once, but always if it is in a file or ANEW is true."
  (values '() 0))

(define-port-operation forget-undefined-names (file)
  "Forget the undefined names of the running compilation unit that were met first in FILE, a namestring."
  nil)

(define-port-operation call-recording-warnings (function note &optional note-redefinition)
  "Call FUNCTION; each warning that no handler of the user's took is passed to NOTE and muffled.
Compiler notes are muffled, and errors of the compiler are kept for ORIGINAL-CONDITION. NOTE-REDEFINITION is called with
the name of each macro or function that is about to be redefined.")

(define-port-operation compile-text (text note finish)
  "Compile TEXT as the contents of a file; run only compile-time forms, write nothing.
NOTE is called with each warning, error and note of the compiler, when FORM-BEING-COMPILED is known; FINISH at the end,
while the places of UNDEFINED-NAMES still are.
The current package and readtable are bound. Returns true if all of it was compiled.")

(define-port-operation reading-position (stream)
  "Return how many characters COMPILE-TEXT has read from STREAM, and where the form that it reads began.
NIL if STREAM is not one of its streams."
  nil)

(define-port-operation form-function (form)
  "Compile FORM; return a function of no arguments that evaluates it. Its frame is not shown."
  (eval `(lambda () ,form)))

(define-port-operation form-being-compiled ()
  "Return a list of the part of the source that the compiler is processing, or NIL."
  nil)

(define-port-operation places-in-text (text start)
  "Return what PLACE-OF-PART needs to know of the form that begins at START of TEXT or after blanks and comments; or NIL."
  nil)

(define-port-operation place-of-part (places steps)
  "Return where in its text the list begins that STEPS, places in lists, lead to in the form that PLACES is about; or NIL."
  nil)

(define-port-operation place-being-compiled (condition)
  "Return as file:line:column or file:line where CONDITION, signalled by the compiler or the reader of a file, is, or NIL."
  nil)

(define-port-operation reading-failure (condition)
  "Return the error of the reader of a file that CONDITION is or wraps, or NIL."
  nil)

(define-port-operation call-with-debugger (function debugger)
  "Call FUNCTION; DEBUGGER gets each condition that would enter the debugger.")

(define-port-operation handlers-now ()
  "Return the current handlers, for CALL-WITH-HANDLERS.")

(define-port-operation call-with-handlers (handlers function)
  "Call FUNCTION with HANDLERS as the only handlers.")

(define-port-operation stop-in-debugger (condition)
  "Pass CONDITION to the debugger as INVOKE-DEBUGGER does. SIGNALLING-FRAME is then a frame of the user's code."
  (invoke-debugger condition))

(define-port-operation original-condition (condition)
  "Return what CONDITION wraps, or itself; second, its frames if they were kept, or NIL; third, the text of the form that it is
about, if CONDITION has that, or NIL."
  condition)

(define-port-operation standing-for (class)
  "Return the class whose name is shown for CLASS.")

(define-port-operation compiler-note-p (condition)
  "True for the compiler's notes about code that it could not optimize."
  nil)

(define-port-operation storage-kind (condition)
  "Return :HEAP or :STACK if CONDITION reports its exhaustion, else NIL.")

(define-port-operation meet-stack-end ()
  "Signal now that the stack is exhausted if little is left of it. Later it may be met where that ends the process."
  nil)

(define-port-operation call-misuse (condition)
  "Return :ARGUMENTS if CONDITION reports that a function does not accept its arguments, :METHODS if it reports that a
generic function has no method for them, else NIL. The second value is the name of the function if it is not that of the
frame, the third how many arguments it got, if that is known."
  nil)

(define-port-operation deadline-passed-p (condition)
  "True if CONDITION reports that something waited until its deadline."
  nil)

(define-port-operation time-limit-passed-p (condition)
  "True if CONDITION ends code that has run as long as the code around it allows."
  nil)

(define-port-operation slot-misuse (condition)
  "Return :INITARG and a class if CONDITION reports an initarg that making an instance does not take, :SLOT and the class of
the object if it reports that an object has no such slot, else NIL."
  nil)

(define-port-operation lock-violated (condition)
  "Return the package whose lock CONDITION reports that the program violated, or NIL; and the symbol that this is about, or NIL."
  nil)

(define-port-operation class-missing-p (condition)
  "True if CONDITION, a CELL-ERROR, reports that no class has its name."
  nil)

(define-port-operation dispatcher-name-p (name)
  "True if NAME, a list, is that of a frame in which the generic function that is its second element looks for methods."
  nil)

(define-port-operation frame-lambda-list (frame)
  "Return the lambda list of the function at FRAME, or :UNKNOWN.")

(define-port-operation untested-restarts (condition)
  "List the restarts that are associated with CONDITION or with no condition, without asking their tests.")

(define-port-operation restart-lambda-list (restart)
  "Return the lambda list of the function of RESTART, or :UNKNOWN.")

(define-port-operation restart-argument (restart value)
  "Return what to pass to RESTART, the Lisp's own or not, for VALUE: some take a form, or the name of a function."
  value)

(define-port-operation restart-asker (restart)
  "Return the function that asks for the arguments of RESTART and returns them as a list, or NIL if it has none.")

(define-port-operation idle-restart-p (restart)
  "True if RESTART says that it does again what failed, and does not."
  nil)

(define-port-operation signalling-frame ()
  "Return the frame that signalled the condition for which the debugger was called.")

(define-port-operation call-as-interrupted (function)
  "Call FUNCTION so that SIGNALLING-FRAME is the frame that an interrupt hit.")

(define-port-operation map-frames (function frame limit)
  "Call FUNCTION with each frame from FRAME down to the evaluator that is meaningful to a user.
FUNCTION gets the frame and its name. At most LIMIT frames are walked.
Returns how many were walked and whether the end was reached.")

(define-port-operation frame-call (frame)
  "Return the name as a reader should see it and the list of arguments of FRAME.")

(define-port-operation frame-place (frame)
  "Return the place of the definition that FRAME runs, as PLACE-OF does, if that is in a file.")

(define-port-operation frame-code (frame &optional place-only)
  "Return the part of its function's code that FRAME is executing, with its surroundings: a text of one line in which >>> and
<<< mark that part; second, its place as file:line, or NIL if it was not read from a file. NIL if it is not known. If only the
place is asked for, the text may be missing."
  nil)

(define-port-operation frame-locals (frame)
  "List the variables of FRAME as (NAME . VALUE).")

(define-port-operation frame-disassembly (frame)
  "Print the machine code of the function of FRAME.")

(define-port-operation set-frame-local (frame name value)
  "Set the variable NAME of FRAME to VALUE. Return true on success.")

(define-port-operation same-frame-p (frame other)
  "True if FRAME and OTHER are the same frame of the stack."
  (eq frame other))

(define-port-operation why-not-left (frame)
  "Return NIL if LEAVE-FRAME-BY can leave FRAME. Else :NO-FUNCTION (no Lisp code runs there), :NOT-BEGUN (the function has
not taken its arguments), :LOCAL (a local function that does not return as others do), :SYSTEM (a function of the Lisp's
own), :QUALITY (compiled without what that needs) or :LISP (no frame of this Lisp can be left)."
  :lisp)

(define-port-operation leave-frame-by (frame function)
  "Unwind to FRAME and have it return what FUNCTION, called in its place, returns. Never returns.")

(define-port-operation unknown-argument-p (argument)
  "True if ARGUMENT marks an argument of FRAME-CALL that is no longer known.")

(define-port-operation named-lambda-form (name lambda-list body)
  "Return a form that makes a function whose frames are called NAME: what names a function or method, or a string that
begins with user-"
  `(lambda ,lambda-list ,@body))

(define-port-operation walk-heap ()
  "Visit the live objects of the heap, so that damage to it is detected."
  nil)

(define-port-operation unbound-marker ()
  "Return an object that prints as an unavailable value.")

(defmacro with-standard-streams-rebound (&body body)
  "Evaluate BODY, in which the standard streams can be set without a change outside of it."
  `(let ((*standard-input* *standard-input*)
         (*standard-output* *standard-output*)
         (*error-output* *error-output*)
         (*trace-output* *trace-output*)
         (*terminal-io* *terminal-io*)
         (*query-io* *query-io*)
         (*debug-io* *debug-io*))
     ,@body))

(define-port-operation call-in-fresh-context (function)
  "Call FUNCTION independently of the printing or signalling that it may have interrupted. The standard streams are bound
to their values, so that setting one ends with the call."
  (with-standard-streams-rebound (funcall function)))

(define-port-operation call-locked (function)
  "Call FUNCTION while no other thread is in CALL-LOCKED.")

(define-port-operation clock-readings ()
  "Return real time, run time and time of garbage collections in microseconds, and octets consed.")

(define-port-operation processor-time ()
  "Return the CPU time of this process in microseconds.")

(defun thread-name ()
  "Return the name of the calling thread."
  (thread-name-of (current-thread)))

(define-port-operation nodes-searched ()
  "Return how many conses, elements and slots of a long value may be searched for a cycle: as many as a fraction of a second
allows."
  100000)

(define-port-operation call-printing-plainly (function)
  "Call FUNCTION so that messages are short and names have a package prefix only if needed."
  (funcall function))

(define-port-operation call-printing-past-errors (function)
  "Call FUNCTION so that an object in whose printing PART-NOT-PRINTED is signalled is printed as #<...>, and what contains it
continues."
  (funcall function))

(define-port-operation call-ringing (seconds function ring)
  "Call FUNCTION. Each SECONDS, until it has ended, RING is called in this thread where that is, as soon as it accepts interrupts."
  (funcall function))

(define-port-operation start-port ()
  "Prepare a process that has just started from a saved core.")

(define-port-operation prepare-image ()
  "Prepare the image that is about to be saved: no threads, no debugger, policy for user code.")

(define-port-operation foreign-libraries ()
  "List the names of the files of the foreign libraries that the code has loaded."
  nil)

(define-port-operation save-image (path compressed)
  "Save the image at PATH so that it starts in MAIN, and end the process. COMPRESSED where this Lisp
can. The values of variables are kept, except streams. Signals an error if it cannot.")

;;; Watching functions

(define-session-variable *wrapped* '()
  "What is wrapped, as lists of a name and a tag, and perhaps more for the port.")

(define-port-operation wrap-function (name tag wrapper)
  "Have calls of the function NAME go to WRAPPER, which gets the function and the arguments. TAG, a
symbol, identifies the wrapper's owner. The wrapper stays when the function is redefined.")

(define-port-operation unwrap-function (name tag)
  "Remove the wrapper with TAG from the function NAME, if there is one.")

(define-port-operation inlined-name-p (name)
  "True if calls of the function NAME may be compiled inline because it is declaimed so."
  nil)

(define-port-operation function-wrapped-p (name tag)
  "True if the function NAME, which must exist, has a wrapper with TAG.")

(define-port-operation wrap-methods (name wrapper)
  "Have each method of the generic function NAME that runs be called by WRAPPER, which gets the method, a function and its
arguments. This includes methods added later. Inlined behaviour, without a call of the method, is not seen.")

(define-port-operation unwrap-methods (name)
  "Remove the wrapper from the methods of the generic function NAME, if there is one.")

(defun call-encapsulated (wrappers function)
  "Call FUNCTION. Meanwhile calls of each function named in WRAPPERS, (NAME . WRAPPER), go to WRAPPER, which
gets the function and its arguments."
  (unwind-protect
       (progn
         (loop for (name . wrapper) in wrappers
               do (when (and (fboundp name) (not (and (symbolp name) (macro-function name))))
                    (wrap-function name 'call-encapsulated wrapper)))
         (funcall function))
    (loop for (name) in wrappers
          do (unwrap-function name 'call-encapsulated))))

(define-port-operation call-without-handlers (function)
  "Call FUNCTION without any outer handlers.")

(define-port-operation quick-readings ()
  "Return real time in nanoseconds and octets consed, both as they grow, without allocating.")

;;; Memory

(define-port-operation tidy-heap (promote)
  "Collect garbage before the process is copied, if it is worth the time: a copy costs more the more memory the process has,
and keeps the garbage of that time. Always do so if PROMOTE is true; what lives is not collected again soon then.")

(define-port-operation collect-garbage ()
  "Collect all garbage.")

(define-port-operation free-full-heap ()
  "Collect all garbage if there is certainly room for the objects that are kept."
  (collect-garbage))

(define-port-operation generation-readings ()
  "List (NAME OCTETS) for the non-empty generations of the heap, youngest first; the last is the image that
the Lisp was started with."
  nil)

(define-port-operation count-heap (image time-us)
  "List (NAME OCTETS COUNT) for the types of the objects in the heap, including garbage not yet
collected; NAME is a symbol, or NIL for memory that is not an object of a type. The initial image is
omitted unless IMAGE is true. Second, whether all was counted within TIME-US microseconds.")

(define-port-operation retaining-paths (find describe ignored count)
  "Return COUNT shortest paths, or fewer, by which the object that FIND returns is reached from the roots, without the objects
IGNORED; each a list of the root, a text or NIL, and what DESCRIBE returns for each (OBJECT . PLACE) on the way. PLACE is a text.")

;;; Sampling

(define-port-operation start-sampling (mode interval-us max-samples)
  "Begin to sample stacks: each INTERVAL-US microseconds of CPU time or, in MODE \"time\", of real
time; in MODE \"alloc\" whenever a region of the heap is used up. At most MAX-SAMPLES are taken.
No thread is created, so the process can still be copied. Signals an error on failure.")

(define-port-operation stop-sampling ()
  "End sampling, if it is on. The samples are kept."
  nil)

(define-port-operation map-samples (function mode)
  "Call FUNCTION with each sample that was taken: a list of names from the innermost function, symbols or
lists or, of foreign functions, strings, with :MORE where some are missing; and whether it is of the
thread that serves. In MODE \"alloc\" the frames of the allocator are left out.")

(define-port-operation forget-samples ()
  "End sampling and forget the samples."
  nil)

(define-port-operation sampling-p ()
  "True if stacks are being sampled, for any request."
  nil)

;;; Looking things up

(define-port-operation note-call-to-evaluate (form)
  "FORM is about to be evaluated. If it calls an undefined function, its error is to be the same each time."
  nil)

(define-port-operation call-with-default-policy (function)
  "Call FUNCTION with this Lisp's own way of compiling files."
  (funcall function))

(define-port-operation change-directory (directory)
  "Make DIRECTORY, a string, the process's working directory.")

(define-port-operation heap-readings ()
  "Return the number of octets used in the heap, and its maximum size; NIL if that is not known."
  nil)

(define-port-operation function-lambda-list (function)
  "Return the lambda list of FUNCTION, a function object, or :UNKNOWN.")

(define-port-operation function-type (name)
  "Return the type of the function called NAME, or NIL if nothing is known."
  nil)

(define-port-operation structure-function-p (name)
  "True if DEFSTRUCT has defined the function called NAME: an accessor, a predicate or a copier."
  nil)

(define-port-operation variable-type (symbol)
  "Return the declared type of the variable SYMBOL, or NIL."
  nil)

(define-port-operation variable-kind (symbol)
  "Return :CONSTANT, :SPECIAL, :GLOBAL, :SYMBOL-MACRO, or NIL if SYMBOL was not defined as any.")

(define-port-operation expanders (symbol)
  "Return the objects that define the type SYMBOL and its SETF expansion, which are different objects after a
redefinition; NIL for what is not defined."
  nil)

(define-port-operation type-lambda-list (symbol)
  "Return the lambda list of the type that SYMBOL names by DEFTYPE, or :UNKNOWN."
  :unknown)

(define-port-operation type-definition (symbol)
  "Return a text about the type SYMBOL names by DEFTYPE, or NIL."
  nil)

(define-port-operation closed-over-values (function)
  "List the values that FUNCTION closes over; assigned variables have their current values."
  nil)

(define-port-operation inner-objects (object)
  "List (LABEL . VALUE) for the contents of OBJECT, whose type is specific to this Lisp."
  nil)

(define-port-operation hash-table-weak (table)
  "Return the weakness of TABLE, or NIL."
  nil)

(define-port-operation weak-reference (object)
  "Return a function that returns OBJECT in a list while something else refers to it, and NIL later. NIL: this Lisp
is not known to have such references."
  nil)

(define-port-operation call-with-origin (origin function)
  "Call FUNCTION so that PLACE-OF what it defines is ORIGIN, a property list, unless it comes from a file."
  (funcall function))

(define-port-operation place-of (object)
  "Return where OBJECT, a function, a method, a class or a package, is defined, as a property list:
:EVALUATION and perhaps :START and :END, as CALL-WITH-ORIGIN got them; or :FILE, a namestring, perhaps with
:POSITION, that of the toplevel form in octets, and :CREATED, the file's date when it was read, or with :STORED if it was evaluated and
then written there; or NIL.")

(define-port-operation place-as (name kind object)
  "Return where NAME is defined as KIND, as PLACE-OF does; OBJECT is the function, method, class or package that is defined, and NIL for other kinds.")

(define-port-operation special-definitions (symbol)
  "List as what SYMBOL is defined besides what the standard's functions tell, as keywords."
  '())

(define-port-operation file-text (namestring position limit)
  "Return the text of a file from POSITION, in octets, on, at most LIMIT characters of it; NIL if it cannot
be read. The second value is its name as the system writes it.")

(define-port-operation note-loaded-file (path)
  "Record the current size and date of the file PATH, which is being loaded, for FILE-CHANGED-P."
  nil)

(define-port-operation note-loaded-text (path octets evaluation)
  "Record that the file PATH, which holds OCTETS, has been loaded by EVALUATION, a number or NIL."
  nil)

(define-port-operation loaded-texts (native)
  "List what the file NATIVE held when it was loaded, as octets, the newest first; second, the number of the evaluation that loaded it
last. The first is T if it is as it was loaded."
  '())

(define-port-operation keep-loaded-texts (native texts)
  "Keep only TEXTS of LOADED-TEXTS for the file NATIVE."
  nil)

(define-port-operation files-with-texts ()
  "List the files for which there are LOADED-TEXTS, as the system writes their names."
  '())

(define-port-operation text-of-octets (octets)
  "Return OCTETS as text; second, whether they are UTF-8.")

(define-port-operation forget-variable (symbol)
  "Make SYMBOL no variable."
  (makunbound symbol))

(define-port-operation copy-local-nicknames (from to)
  "Give the package TO the local nicknames of FROM."
  nil)

(define-session-variable *stored-definitions* '()
  "(EVALUATION START FILE END) for the evaluated definitions that the server has written into files.")

(define-port-operation file-changed-p (namestring created)
  "True if a file differs from what was loaded from it. CREATED is the date of the file that the code in
question was made from, or NIL."
  nil)

(define-port-operation edited-since-built-p (source built)
  "True if the file SOURCE was written after the file BUILT, also within the same second.")

(define-port-operation line-of-place (place)
  "Return the line at which the definition at PLACE begins, or NIL.")

(define-port-operation map-references (function kind name)
  "Call FUNCTION with the function, the macro function or the method, its name, and how often it refers to NAME.
KIND is :CALLS, :REFERENCES, :BINDS, :SETS or :MACROEXPANDS. Functions of the Lisp itself are left out, and
those of ASDF unless NAME is ASDF's.")

(define-port-operation references-from (function)
  "List the references of FUNCTION, a function or a method, as (KIND NAME COUNT).")

(define-port-operation own-package-p (package)
  "True if PACKAGE is one of the Lisp's own.")

(defun implementation-name-p (name)
  "True if NAME is a symbol of one of the Lisp's own packages."
  (and (symbolp name)
       (symbol-package name)
       (own-package-p (symbol-package name))))

(define-port-operation public-symbol-p (symbol)
  "True unless SYMBOL is internal to the Lisp and only of interest to its developers.")

(define-port-operation expand-everywhere (form)
  "Return FORM with all macros expanded, also those in its subforms.")

(define-port-operation effective-order (function methods)
  "Return the name of the method combination of FUNCTION, and how it arranges METHODS, the applicable ones in
order of precedence: a list of (METHOD ROLE), in the order in which they run, ROLE being :AROUND, :BEFORE,
:PRIMARY, :NEXT, :AFTER, :COMBINED or :UNUSED; third, the form that calls them where they are arranged in no such way.")

(define-port-operation slot-of-method (method)
  "Return :READS or :WRITES if METHOD only reads or writes a slot, or NIL."
  nil)

(define-port-operation slot-readers (slot)
  "List the names of the functions that read SLOT, a direct slot of a class."
  (ignore-errors (mop slot-definition-readers slot)))

(define-port-operation class-precedence (class)
  "Return the precedence list of CLASS, or NIL if it cannot be computed; second, whether it is final.")

(define-port-operation method-code (method)
  "Return the function that METHOD runs, which DISASSEMBLE takes, or NIL.")

(define-port-operation all-methods-on-class (class)
  "List the methods that specialize on CLASS, or on an instance of it."
  (methods-on-class class))
