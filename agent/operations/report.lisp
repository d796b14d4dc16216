;;;; Objects and conditions as text and data: printing that survives errors and loops in the objects' own
;;;; methods, and the error reply. Frames are in frames.lisp.

(in-package #:cl-mcp-agent)

(defvar *standard-readtable* (copy-readtable nil))

(defun print-without-methods (stream object)
  "Print OBJECT, an instance, and run no method of the program's: its classes' objects show class and address."
  (let ((name (class-name (class-of object))))
    (if (and (symbolp name) (symbol-package name) (own-package-p (symbol-package name)))
        (print-object object stream)
        (print-unreadable-object (object stream :type t :identity t)))))

(defvar *without-methods* (copy-pprint-dispatch nil)
  "How a session prints that only looks.")
(set-pprint-dispatch '(or standard-object structure-object condition function) 'print-without-methods 1000 *without-methods*)

(defmacro with-agent-syntax ((&key length level (package '(session-package))) &body body)
  "Run BODY under the printer settings of the contract, not the user's."
  `(call-with-agent-syntax (lambda () ,@body) ,package ,length ,level))

(defparameter *settings* '((*print-base* . 10) (*print-radix*) (*print-case* . :upcase) (*print-circle*) (*print-escape* . t)
                           (*print-gensym* . t) (*print-array* . t) (*print-readably*)
                           (*read-default-float-format* . single-float))
  "The printer's settings of the contract which a program could expect to be its own in replies.")

(defun call-with-agent-syntax (function package length level)
  (progv (mapcar #'car *settings*) (mapcar #'cdr *settings*)
    (let ((*package* package)
          (*print-length* length)
          (*print-level* level)
          (*print-lines* nil)
          (*print-miser-width* nil)
          (*print-pretty* (runs-nothing-p))
          (*print-pprint-dispatch* (if (runs-nothing-p) *without-methods* *print-pprint-dispatch*))
          (*print-right-margin* (if (runs-nothing-p) most-positive-fixnum nil))
          (*read-base* 10)
          (*read-eval* (not (runs-nothing-p)))
          (*read-suppress* nil)
          (*readtable* *standard-readtable*))
      (call-printing-plainly function))))

(define-session-variable *told-settings* '()
  "The program's settings that differed from *SETTINGS* when the last evaluation ended.")

(defun settings-part ()
  "Return the part of a reply that names such settings, if they have changed."
  (let ((settings (loop for (variable . ours) in *settings*
                        unless (eql ours (symbol-value variable))
                          collect (list variable (symbol-value variable)))))
    (if (equal settings (shiftf *told-settings* settings))
        '()
        (list :settings (with-agent-syntax (:length 10 :level 2)
                          (format nil "~{~{~s is ~s~}~^, ~}" settings))))))

(defun session-package ()
  "Return the current package. If the user has deleted it, make another one current first."
  (if (package-name *package*)
      *package*
      (setf *package*
            ;; Looking for a package by name looks at the current one, too.
            (let ((*package* #.(find-package "COMMON-LISP")))
              (declare (notinline find-package))
              ;; A call with a constant name may remember the package that was deleted.
              (or (loop for name in '("COMMON-LISP-USER" "CL-USER")
                        for package = (find-package name)
                        when (and package (package-name package))
                          return package)
                  (make-package "COMMON-LISP-USER" :nicknames '("CL-USER") :use (list *package*)))))))

(defun report-package ()
  "Return the package in which a report of an error names symbols: the current one. While a system's definition is loaded,
that is ASDF-USER, in which ASDF's own frames could not be told from the user's; then it is COMMON-LISP-USER."
  (let ((package (session-package)))
    (if (eq package (find-package "ASDF-USER"))
        #.(find-package "COMMON-LISP-USER")
        package)))

(defun session-package-name ()
  "Return the name of the current package as users write it."
  (let ((name (package-name (session-package))))
    (if (string= name "COMMON-LISP-USER") "CL-USER" name)))

(defun top-package-name ()
  "Return the name of the package that is current when the request, or the error in which it is performed, has been left."
  (let ((*package* (top-package)))
    (session-package-name)))

;;; Guarded printing

(defvar *capture* (make-capture))
(defvar *reporting* nil
  "True while a report is made. An interrupt then abandons one item, not the report.")
(defvar *aside* nil
  "While a report is interrupted: in code of the program that a signal runs, a list of what *GUARD* was before; :NOTING while
its error is noted, where another such signal has nothing set aside, since that might have no end; else NIL.")
(defvar *in-a-hurry* nil
  "True once an interrupt has cut the report short; user code prints nothing more.")

(defun stop-capture ()
  (throw *guard* :stopped))

(defun call-guarded (function keep stop)
  "Call FUNCTION with a stream, of which KEEP and STOP are as in GUARDED. Returns what it printed, as much as is kept;
NIL, :STOPPED, :INTERRUPTED or the condition that ended it; and how many characters it printed until then."
  ;; What is printed may call the agent to print a part of it.
  (let* ((*capture* (if (eq *guard* *capture*) (make-capture) *capture*))
         (capture *capture*)
         (outcome (progn
                    (start-capture capture keep stop)
                    (catch capture
                      (let ((*guard* capture))
                        (if *reporting*
                            ;; What the agent handles while it makes a report are its own errors.
                            (call-without-handlers (lambda () (funcall function capture)))
                            (funcall function capture)))
                      nil))))
    (multiple-value-bind (text count) (capture-text capture)
      (values text outcome count))))

(defmacro guarded ((stream keep &optional stop) &body body)
  "Run BODY, which prints to STREAM, as CALL-GUARDED does. KEEP characters are kept; printing is
stopped when STOP were printed, or one more than are kept."
  (let ((function (gensym "PRINT")) (kept (gensym "KEEP")))
    `(flet ((,function (,stream) ,@body))
       (declare (dynamic-extent #',function))
       (let ((,kept ,keep))
         (call-guarded #',function ,kept ,(or stop `(1+ ,kept)))))))

(defconstant +ring-seconds+ 1/4)
(defconstant +idle-time+ (floor internal-time-units-per-second 4)
  "Printing a value is given up when it has printed nothing more for so much CPU time, or where it waits")
(defconstant +idle-rings+ 8
  "for so many rings. On a busy machine printing seems to make no progress for as long as others run.")
(defvar *printing-in-time* nil
  "True while CALL-IN-TIME prints: an interrupt gives up printing.")

(defvar *past-parts* nil
  "True while a part that cannot be printed is left out.")

(define-condition part-not-printed (condition)
  ((why :initarg :why)))
(defmethod print-object ((condition part-not-printed) stream)
  (write-string (slot-value condition 'why) stream))

(defun call-in-time (function)
  "Call FUNCTION, which prints as CALL-GUARDED does, and return what it returns. If printing makes no progress, the outcome is
:SLOW, or the part that is printed then is left out."
  (let ((pauses (or *pauses-left* +pauses-allowed+))
        (printed nil)
        (rings 0)
        (since 0))
    (flet ((ring ()
             (let ((count (nth-value 1 (capture-text *capture*)))
                   (now (get-internal-run-time)))
               (unless (eql count (shiftf printed count))
                 (setf rings 0
                       since now))
               (cond ((or (null *guard*)
                          (and (< (incf rings) +idle-rings+) (< (- now since) +idle-time+))))
                     ((and (plusp (decf pauses)) *past-parts*)
                      (setf printed nil)
                      (signal 'part-not-printed :why "printing it takes too long"))
                     (t (throw *guard* (if *past-parts* :stopped :slow)))))))
      (cond (*printing-in-time* (funcall function))
            ((zerop pauses) (values "" :slow 0))
            (t
             (multiple-value-prog1 (let ((*printing-in-time* t))
                                     (call-ringing +ring-seconds+ function #'ring))
               (when *pauses-left*
                 (setf *pauses-left* pauses))))))))

(defun call-printing-parts (function object keep stop)
  "Call FUNCTION with a stream, to print OBJECT, as CALL-GUARDED does; KEEP and STOP are as in GUARDED. If a part of OBJECT
cannot be printed, the rest is."
  (flet ((print-it ()
           (guarded (stream keep stop) (funcall function stream)))
         (print-parts ()
           (guarded (stream keep stop)
             (let ((*past-parts* t))
               (call-printing-past-errors (lambda () (funcall function stream)))))))
    (if (simple-object-p object)
        (print-it)
        (multiple-value-bind (text outcome count) (call-in-time #'print-it)
          (if (and (or (eq outcome :slow) (typep outcome 'error))
                   (typep object '(or cons array structure-object)))
              (call-in-time #'print-parts)
              (values text outcome count))))))

(defvar *failure* nil
  "Consed to the condition that was noted last: in which method of the program it was signalled, as text. :BUSY while that
or the message is printed, which may fail again.")

(defun note-where-signalled (condition)
  "Note where CONDITION was signalled, for FAILURE-TEXT, while the stack is as it was."
  (unless (or (eq *failure* :busy) (storage-kind condition))
    (setf *failure*
          (cons condition
                (let ((*failure* :busy))
                  (loop for (frame) in (ignore-errors (frames-from (signalling-frame)))
                        repeat 20
                        for name = (ignore-errors (frame-call frame))
                        when (and (consp name) (eq 'method (first name)))
                          return (name-text name)))))))

(defun failure-text (condition)
  "Return the type of CONDITION, which code of the program's has signalled; and if it was noted its message and the method."
  (let ((type (type-name-text (class-of condition))))
    (if (and (consp *failure*) (eq condition (car *failure*)))
        (let ((method (cdr (shiftf *failure* :busy)))
              (*past-parts* nil))
          (unwind-protect (format nil "~a: ~a~@[, in ~a~]" type
                                  (one-line (string-right-trim "." (message-text condition 200)))
                                  method)
            (setf *failure* nil)))
        type)))

(defun give-up-printing (condition)
  "Leave what is printed, or if possible the part of it, because CONDITION was signalled."
  (note-where-signalled condition)
  (when (and *past-parts* (typep condition 'error))
    (signal 'part-not-printed :why (failure-text condition)))
  (throw *guard* condition))

(defun slow-text (object)
  (format nil "#<~a: printing it takes too long>" (type-text object)))

(defun simple-object-p (object)
  "True if printing OBJECT runs no user code."
  (typep object '(or number symbol character string)))

(defconstant +symbol-characters+ 200)

(defun plain-name-p (name)
  "True if a symbol called NAME prints without escapes and need not be cut."
  (and (<= 1 (length name) +symbol-characters+)
       (every (lambda (character)
                (or (char<= #\A character #\Z)
                    (char<= #\0 character #\9)
                    (find character "*+-/<>=!?%&$_~^")))
              name)
       (some (lambda (character) (char<= #\A character #\Z)) name)
       (not (char<= #\0 (char name 0) #\9))
       (not (find (char name 0) "+-"))))

(defun symbol-text (symbol)
  "Return how a reader in the current package would write SYMBOL.
Symbols with plain names, which is nearly all, are not printed but put together: the printer is the
user's to change."
  (let* ((name (symbol-name symbol))
         (package (symbol-package symbol)))
    (cond ((not (and package (plain-name-p name) (package-name package)
                     (plain-name-p (package-name package))))
           (item-text symbol +symbol-characters+))
          ((eq symbol (find-symbol name *package*))
           name)
          ((keywordp symbol)
           (concatenate 'string ":" name))
          (t
           (concatenate 'string (package-name package)
                        (if (eq :external (nth-value 1 (find-symbol name package))) ":" "::")
                        name)))))

(defun type-text (object)
  "Return the name of the type of OBJECT, printed without running code of the user's."
  (let ((name (class-name (class-of object))))
    (if (symbolp name) (symbol-text name) "object")))

(defconstant +integer-bits+ 100000
  "Longer integers are not printed if only the beginning would be shown, because that takes seconds.")

(defun rational-bits (rational)
  (+ (integer-length (numerator rational))
     (if (integerp rational) 0 (integer-length (denominator rational)))))

(defun item-text (object limit &key (escape t))
  "Print OBJECT within LIMIT characters; an object that cannot be printed becomes #<...>."
  (cond ((and *in-a-hurry* (not (simple-object-p object)))
         "#<...>")
        ((and (rationalp object) (> (rational-bits object) +integer-bits+))
         (format nil "#<~:[a ratio~;an integer~] of ~:d bits>" (integerp object) (rational-bits object)))
        (t
         (printed-text object limit escape))))

(defun printed-text (object limit escape)
  (multiple-value-bind (text outcome)
      (call-printing-parts (lambda (stream) (write object :stream stream :escape escape))
                           object limit (1+ limit))
    (case outcome
      ((nil) text)
      (:stopped (if (> limit 3)
                    (concatenate 'string (subseq text 0 (- limit 3)) "...")
                    text))
      (:interrupted "#<...>")
      (:slow (slow-text object))
      (t (error-printing-text object outcome limit)))))

(defun error-printing-text (object condition limit)
  "Return what is shown instead of OBJECT, which CONDITION kept from being printed: all of it if LIMIT allows that."
  (format nil "#<~a: error printing it: ~a>" (type-text object)
          (if (< limit 200) (type-name-text (class-of condition)) (failure-text condition))))

(defun type-name-text (class)
  "Return the name of CLASS as a reader in the current package would write it."
  (let ((name (class-name (standing-for class))))
    (if (symbolp name) (symbol-text name) "an unnamed class")))

;;; Conditions

(defconstant +message-limit+ 65536)
(defconstant +warning-limit+ 4096)

(defun about-cycles-p (condition)
  "True if CONDITION has a cyclic argument or slot."
  (or (and (typep condition 'simple-condition)
           (cyclic-p (ignore-errors (simple-condition-format-arguments condition))))
      (some #'cyclic-p (mapcar #'cdr (ignore-errors (condition-slots condition))))))

(defconstant +elements-with-cycles+ 20000)

(defun call-printing-cycles (function)
  "Call FUNCTION, which prints an object with a cycle. The printer first puts all parts that it would print into a table,
which can be larger than the heap has room for: so it prints the first elements only."
  (let ((*print-circle* t)
        (*print-length* (min +elements-with-cycles+ (or *print-length* +elements-with-cycles+))))
    (funcall function)))

(defun message-text (condition &optional (limit +message-limit+))
  (if (and *in-a-hurry* (not (storage-kind condition)))
      "#<the message was not printed: interrupted>"
      (multiple-value-bind (text outcome)
          (call-in-time (lambda ()
                          (guarded (stream limit)
                            (write condition :stream stream :escape nil))))
        (when (and (eq outcome :stopped) (about-cycles-p condition))
          (setf (values text outcome)
                (guarded (stream limit)
                  (call-printing-cycles (lambda () (write condition :stream stream :escape nil))))))
        (case outcome
          ((nil) text)
          (:stopped (concatenate 'string text "..."))
          (:interrupted "#<printing the message was interrupted>")
          (:slow "#<printing the message takes too long>")
          (t (format nil "#<error printing the message: ~a>" (failure-text outcome)))))))

(defun class-texts (class)
  "List the names of the standard classes among CLASS and its ancestors."
  (loop for ancestor in (class-ancestors class)
        for name = (class-name ancestor)
        when (and (eq (symbol-package name) #.(find-package "COMMON-LISP"))
                  (not (member name '(t standard-object structure-object condition))))
          collect (symbol-name name)))

(defun applicable-restarts (condition)
  "List the restarts that apply to CONDITION; if the test of one fails or does not end, those whose tests were not asked."
  (let ((restarts :unknown))
    (guarded (stream 0)
      (declare (ignore stream))
      (setf restarts (compute-restarts condition)))
    (if (eq restarts :unknown)
        (untested-restarts condition)
        restarts)))

(defun shown-restarts (condition)
  "List the restarts that a report of CONDITION shows, except the agent's own ABORT."
  (remove-if (lambda (restart)
               (or (member restart *own-restarts* :test #'eq)
                   (member restart *hidden-restarts* :test #'eq)
                   (idle-restart-p restart)))
             (applicable-restarts condition)))

(defconstant +restarts-sent+ 200
  "Restarts in a report besides ABORT: the innermost and the outermost one. The others have no number.")

(defun numbered-restarts (condition)
  "List the restarts that have a number in the report of CONDITION, and return how many more there are."
  (let* ((restarts (shown-restarts condition))
         (more (max 0 (- (length restarts) +restarts-sent+))))
    (values (if (plusp more)
                (append (subseq restarts 0 (1- +restarts-sent+)) (last restarts))
                restarts)
            more)))

(defun restart-texts (restarts)
  "List RESTARTS and the agent's ABORT as a report sends them."
  (append
   (loop for restart in restarts
         collect (list (restart-name-text restart)
                       (multiple-value-bind (text outcome)
                           (guarded (stream 300)
                             (write restart :stream stream :escape nil))
                         (if (member outcome '(nil :stopped)) text "#<...>"))
                       (and (or (restart-asker restart) (member (restart-name restart) '(use-value store-value))) t)))
   (if *aborts-to-top*
       (list (list "ABORT" "Return to top level." nil))
       '())))

(defun cut-text (text limit)
  "Return TEXT, or its first LIMIT characters and three dots."
  (if (<= (length text) limit)
      text
      (concatenate 'string (subseq text 0 limit) "...")))

(defun restart-name-text (restart)
  (cut-text (symbol-name (restart-name restart)) +symbol-characters+))

(defun slot-texts (condition message)
  "List names and values of CONDITION's slots, without what its MESSAGE says whole."
  (loop for (name . value) in (condition-slots condition)
        repeat 20
        unless (and (stringp value) (string= value message))
          collect (list (symbol-name name) (item-text value 200))))

(defun file-reading-text (failure)
  "Return the message of FAILURE, of the reader of a file, without the stream and the place."
  (if (typep failure 'end-of-file)
      "The form that begins here is not finished"
      (string-right-trim "." (capitalized (reader-complaint failure)))))

(defun warning-entry (condition)
  "Return the class and the message of CONDITION, a warning or an error of the compiler, for the reply."
  (with-agent-syntax ()
    (list (cond ((compiler-note-p condition) "COMPILER-WARNING")
                ((eq (type-of condition) 'simple-warning) "WARNING")
                (t (type-name-text (class-of condition))))
          (cond ((compiler-note-p condition)
                 (concatenate 'string "note: " (message-text condition +warning-limit+)))
                ((reading-failure condition)
                 (file-reading-text (reading-failure condition)))
                (t
                 (message-text condition +warning-limit+))))))

(defun storage-hint (condition)
  (case (storage-kind condition)
    (:heap (format nil "This is a STORAGE-CONDITION: the heap is full. The session is intact. ~
                        What only this evaluation held is freed when the next one begins."))
    (:stack (format nil "This is a STORAGE-CONDITION: the stack is used up, as by a recursion ~
                         that never ends. The session is intact."))))

(defun input-hint (condition)
  "Return advice if CONDITION is the end of input where a person would type, or NIL."
  (when (typep condition 'end-of-file)
    (let ((stream (ignore-errors (stream-error-stream condition))))
      (when (typep stream 'two-way-stream)
        (setf stream (two-way-stream-input-stream stream)))
      (cond ((and *given-input* (eq stream *given-input*))
             "The text of the argument stdin is used up.")
            ((or (no-input-p stream)
                 ;; The person's input has ended.
                 (and (typep stream 'concatenated-stream) (null (concatenated-stream-streams stream))))
             "There is no terminal. Pass the text to be read as the argument stdin of evaluate-lisp.")))))

(defvar *lock-hint* nil
  "A sentence on the mutex for which the interrupted thread was waiting, or NIL.")

(defvar *entered-variables* '()
  "While code runs in a frame of an error: a list of the list of the frame's variables.")

(defun place-hint (condition has-hint)
  "Return a sentence on the file in which CONDITION arose, or NIL; if HAS-HINT only where a file is compiled, whose frames
do not show the line."
  (let ((place (and *compile-file-truename*
                    (or (atom *component*) (string= "compiling" (first *component*)))
                    (ignore-errors (place-being-compiled condition)))))
    (cond (*component* (and (or place (not has-hint))
                            (format nil "This happened while ~a." (component-text place))))
          (place (format nil "This happened while compiling ~a." place)))))

(defun hint-of (kind condition message frame readtable-hint)
  (let* ((failure (or (reading-failure condition) condition))
         (hint (cond ((eq kind :reader) (reader-hint condition))
                     ((storage-hint condition))
                     ((input-hint condition))
                     ((mistake-hint failure frame))
                     ((source-encoding-hint failure))
                     ((name-hint failure))
                     ((lost-variable-hint condition))
                     ((deadline-passed-p condition) (ignore-errors (lock-hint (current-thread))))
                     ((sandbox-hint message))))
         (place (and (not (eq kind :reader)) (place-hint condition hint))))
    (let ((hints (remove nil (list (and (eq kind :interrupt) (string/= "" *lock-hint*) *lock-hint*) hint place readtable-hint
                                   (and (eq kind :error) (ignore-errors (call-again-hint frame)))))))
      (if hints
          (format nil "~{~a~^~%~}" hints)
          nil))))

(defun message-for-report (kind condition failure)
  "Return the message of CONDITION; FAILURE is what the reader of a file signalled, if CONDITION reports that, or NIL."
  (let ((*print-length* nil) (*print-level* nil))
    (case kind
      (:reader (reader-message condition))
      (:interrupt (interruption-text condition))
      (t (if failure (file-failure-message failure) (message-text condition))))))

(defun unread-file (failure)
  "Return the name of the file in which the reader failed with FAILURE, or in one that was compiled; or NIL. Second, the failure."
  (let ((failure (or failure (some #'reading-failure (remove nil (mapcar #'first *warnings*))))))
    (values (and failure
                 (ignore-errors (uiop:native-namestring (pathname (stream-error-stream failure)))))
            failure)))

(defun error-reply (id kind condition frame)
  "Build the reply that reports to the request ID the CONDITION that was signalled at FRAME."
  (multiple-value-bind (condition kept-frames code) (original-condition condition)
    (let ((package (report-package))
          (readtable-hint (readtable-hint kind condition))
          (failure (reading-failure condition))
          (class (class-of condition)))
      (with-agent-syntax (:package package :length 10 :level 4)
        (multiple-value-bind (frames total) (frame-texts frame condition)
          (when kept-frames
            (setf frames (append kept-frames frames))
            (when (plusp total)
              (incf total (length kept-frames))))
          (setf *last-frames* frames)
          (let ((message (message-for-report kind condition failure)))
            (when (and code (not (search code message)))
              (setf message (format nil "~a: ~a" (string-right-trim "." message)
                                    (cut-text (one-line-text code) +symbol-characters+))))
            (multiple-value-bind (restarts more-restarts) (numbered-restarts condition)
              (list* id :error
                     :type (if (eq kind :interrupt) "INTERRUPTED" (type-name-text class))
                     :message message
                     :kind kind
                     :classes (class-texts class)
                     :restarts (restart-texts restarts) :more-restarts more-restarts
                     :frames frames :total-frames total
                     :slots (if (or failure (eq kind :reader)) '() (slot-texts condition message))
                     :hint (hint-of kind condition message frame readtable-hint)
                     :unread (unread-file failure)
                     ;; A computation that a restart continued has already reported these.
                     :warnings (warning-entries condition)
                     :warnings-lost (prog1 *warnings-lost*
                                      (forget-warnings))
                     (report-parts)))))))))

;;; Errors of the reader

(defvar *source* nil
  "The text of the request, the stream that reads it, and the start of the current form.")

(defun source-condition-p (condition)
  "True if CONDITION was signalled while reading the text of the request."
  (and *source*
       (typep condition 'stream-error)
       (eq (stream-error-stream condition) (second *source*))))

(defun line-and-column (text position)
  "Return the line and the column of POSITION, both from 1, and the start of its line."
  ;; The text may be a megabyte, and there may be thousands of warnings.
  (let ((text (common-string text))
        (line 1)
        (start 0))
    (declare (type (simple-array character (*)) text) (type index line start position) (optimize speed))
    (loop for index of-type index below (min position (length text))
          do (when (char= #\newline (schar text index))
               (incf line)
               (setf start (1+ index))))
    (values line (1+ (- position start)) start)))

(defun source-place ()
  "Return the line and the column, both from 1, that the reader has reached, and the text of the line."
  (let* ((text (first *source*))
         (position (min (length text)
                        (max 0 (1- (or (ignore-errors (file-position (second *source*))) 1))))))
    (multiple-value-bind (line column start) (line-and-column text position)
      (values line column
              (subseq text start (or (position #\newline text :start position)
                                     (length text)))))))

(defun unfinished-form-text (condition)
  "Return where the unfinished form at the end of the text began, in words, or NIL."
  (when (typep condition 'end-of-file)
    (let* ((text (first *source*))
           (start (code-start text (min (length text) (third *source*)))))
      (when start
        (multiple-value-bind (line column) (line-and-column text start)
          (format nil "The form that begins at line ~d, column ~d is not finished."
                  line column))))))

(defun capitalized (sentence)
  (string-upcase sentence :end (min 1 (length sentence))))

(defun reader-message (condition)
  (multiple-value-bind (line column) (source-place)
    (format nil "~a (line ~d, column ~d)."
            (string-right-trim "." (capitalized
                                    (if (typep condition 'end-of-file)
                                        "unexpected end of file"
                                        (reader-complaint condition))))
            line column)))

(defun file-failure-message (failure)
  "Return the message of FAILURE, of the reader of a file, with its place."
  (format nil "~a~@[ (~a)~]." (file-reading-text failure) (ignore-errors (place-being-compiled failure))))

(defun reader-complaint (condition)
  "Return the message without the place."
  (if (typep condition 'simple-condition)
      (multiple-value-bind (text outcome)
          (guarded (stream 2000)
            (apply #'format stream (simple-condition-format-control condition)
                   (simple-condition-format-arguments condition)))
        (if (member outcome '(nil :stopped)) text "the text cannot be read"))
      (message-text condition)))

(defun reader-hint (condition)
  (multiple-value-bind (line column text) (source-place)
    ;; A long line is shown around the place.
    (let* ((start (max 0 (- column 60)))
           (shown (subseq text start (min (length text) (+ column 20)))))
      (format nil "line ~d, column ~d:~%~a~%~a^~@[~%~a~]~@[~%~a~]" line column
              (substitute #\space #\tab shown)
              (make-string (- column start 1) :initial-element #\space)
              (unfinished-form-text condition)
              (or (reading-mistake-hint condition) (name-hint condition))))))
