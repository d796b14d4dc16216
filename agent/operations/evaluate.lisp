;;;; Evaluation: reading the request's forms one at a time, evaluating and printing; the state of
;;;; the running operation; warnings; errors outside any request.

(in-package #:cl-mcp-agent)

;;; The running operation

(defvar *warnings* '()
  "The warnings of the running request, last first.")
(defvar *printed-values* :none
  "Once the evaluation has ended: (TEXT . CHARACTERS) for each value printed so far, last first; CHARACTERS is NIL if TEXT is
whole.")
(defvar *readings* nil
  "The clock readings at the start of the evaluation, if its time is requested.")
(defconstant +warnings-kept+ 500)
(defvar *warnings-lost* 0
  "The number of warnings that were not kept.")

(defvar *evaluation* nil
  "The number under which the server keeps the evaluated text, or NIL if it does not keep it.")

(defvar *whole-text* '()
  "A list of the evaluated text, if the server keeps it unchanged.")

(defstruct forms-done
  "What was done of a text of several forms. TEXTS are the values of those before the last that was read, last first;
those of definitions and NIL are left out. PACKAGE is what was current before, NIL if the request named one. FORMS are
what was read last with where in TEXT each begins, for the positions of warnings. PLACES is the start of the form whose
places were asked for last, consed to these places. LAST is the form that was evaluated last, consed to its values, until
another one was read after it. BEGAN is when the evaluation began, ARGUMENTS are those of its request."
  (count 0 :type fixnum)
  (began (get-internal-real-time))
  (last '())
  (texts '())
  (arguments '())
  (package nil)
  (text "" :type string)
  (forms '())
  (places '()))

(defvar *forms-done* nil
  "The readings of the text that is being evaluated, or NIL.")

(defconstant +forms-kept+ 100)

(defun note-form-read (form text start)
  "Note that FORM begins at START of TEXT, or after blanks and comments."
  (setf (forms-done-text *forms-done*) text
        (forms-done-forms *forms-done*) (some-of (acons form start (forms-done-forms *forms-done*)) 0 +forms-kept+)))

(defun places-in-evaluated-text (start)
  "Return the places in the form that begins at START of the evaluated text. They are kept for the next warning, because
finding them reads the form again."
  (cdr (if (eql start (car (forms-done-places *forms-done*)))
           (forms-done-places *forms-done*)
           (setf (forms-done-places *forms-done*)
                 (cons start (places-in-text (forms-done-text *forms-done*) start))))))

(defconstant +earlier-values+ 20)
(defconstant +earlier-characters+ 30000
  "The most characters of one of them, so that all and the last values fit in a reply.")

(defun tells-little-p (form)
  "True if FORM is evaluated for what it defines, sets up or prints, not for its value."
  (let ((name (and (consp form) (symbolp (first form)) (symbol-name (first form)))))
    (and name
         (or (eql 0 (search "DEF" name))
             (member name '("IN-PACKAGE" "DECLAIM" "PROCLAIM" "REQUIRE" "IMPORT" "EXPORT" "USE-PACKAGE" "PROVIDE"
                            "PRINT" "PRIN1" "PRINC" "PPRINT" "WRITE" "WRITE-STRING" "WRITE-LINE" "WRITE-CHAR")
                     :test #'string=)))))

(defun note-last-value ()
  "Note what the form that was evaluated last has returned: it is not the last one of the text."
  (destructuring-bind (&optional form value &rest more) (shiftf (forms-done-last *forms-done*) '())
    (declare (ignore more))
    (when (and value                    ; most forms evaluated for their effect, such as WARN and FORMAT, return NIL
               (not (tells-little-p form))
               (<= (length (forms-done-texts *forms-done*)) +earlier-values+))
      (push (if (= (length (forms-done-texts *forms-done*)) +earlier-values+)
                "..."
                (destructuring-bind (&key print-length print-level &allow-other-keys) (forms-done-arguments *forms-done*)
                  (multiple-value-bind (text cut) (print-value value +earlier-characters+ print-length print-level)
                    (if cut (concatenate 'string text "...") text))))
            (forms-done-texts *forms-done*)))))

(defun note-form-evaluated (form values end)
  "Note that FORM, which ends at END of the text, has returned VALUES."
  (when (forms-done-package *forms-done*)
    (note-top-package))
  (note-form-done end)
  (incf (forms-done-count *forms-done*))
  (setf (forms-done-last *forms-done*) (cons form values)))

(defun forms-part ()
  "Return the part of a reply about the forms before the last one, or before the one that failed."
  ;; What cannot be read is a form too.
  (when (and *forms-done* *source*)
    (note-last-value))
  (if (and *forms-done* (plusp (forms-done-count *forms-done*)))
      (append (list :forms-done (forms-done-count *forms-done*)
                    :earlier (reverse (forms-done-texts *forms-done*)))
              (unless (member (forms-done-package *forms-done*) (list nil *package*))
                '(:package-changed t)))
      '()))

(defun origin (&optional start end)
  "Return the note for definitions made now: the number of the evaluation, and the range of characters in it."
  (and *evaluation* (given :evaluation *evaluation* :start start :end end)))

(defun note-warning (condition)
  (cond
    ((typep condition 'uiop:compile-warned-warning)) ; ASDF repeats what the compiler said
    ((>= (length (the list *warnings*)) +warnings-kept+)
     (incf *warnings-lost*))
    (t
     (let* ((*capture* (make-capture))
            (entry (append (warning-entry condition) (place-entry condition)))
            (place (third entry)))
       ;; Those of files are counted, errors and warnings apart, by this text.
       (when (and place (string/= ":" place :end2 1) (typep condition 'warning) (not (search "WARNING" (first entry))))
         (setf (first entry)
               (format nil "~:[~;STYLE-~]WARNING ~a" (typep condition 'style-warning) (first entry))))
       (destructuring-bind (&optional class message last-place form (times 1)) (rest (first *warnings*))
         (if (and (null place) (null last-place) (equal entry (list class message)))
             (setf (rest (first *warnings*)) (list class message last-place form (1+ (the fixnum times))))
             (push (cons condition entry) *warnings*)))))))

(defconstant +conses-searched+ 100000)

(defun steps-to (part form)
  "Return the path from FORM to the cons PART in it, a list of positions in lists; NIL if it is not there. Second, true
if it is there."
  (let ((left +conses-searched+))
    (labels ((walk (form steps)
               (when (eq form part)
                 (return-from steps-to (values (reverse steps) t)))
               (loop for rest = form then (cdr rest)
                     for place from 0
                     while (and (consp rest) (plusp (decf left)))
                     do (when (consp (car rest))
                          (walk (car rest) (cons place steps))))))
      (walk form '())
      (values '() nil))))

(defun place-in-evaluated-text (part)
  "Return as :line:column the place of PART, a cons, in the evaluated text, or NIL. For a cons made by a macro it is the
place of the first list in it that is from the text. Second, true if it is the place of PART itself."
  (let ((own (evaluated-place part)))
    (if own
        (values own t)
        (loop for (inner) on part
              repeat 10
              thereis (evaluated-place inner)))))

(defun evaluated-place (part)
  (when (and *forms-done* (consp part))
    (loop with text = (forms-done-text *forms-done*)
          for (form . start) in (forms-done-forms *forms-done*)
          do (multiple-value-bind (steps found) (steps-to part form)
               (when found
                 (let ((place (place-of-part (places-in-evaluated-text start) steps)))
                   (return (and place
                                (multiple-value-bind (line column) (line-and-column text place)
                                  (format nil ":~d:~d" line column))))))))))

(defun place-fields (known-place form)
  "Return the place of a warning about FORM for its entry: KNOWN-PLACE in a file, or the place of FORM in the text."
  (multiple-value-bind (place is-own)
      (if known-place (values known-place t) (place-in-evaluated-text form))
    (if place
        (list place (if (and is-own (consp form))
                        (with-agent-syntax (:length 10 :level 5) (form-text form))
                        nil))
        '())))

(defun place-entry (condition)
  "Return the place of CONDITION, a warning or error of the compiler, in a file or in the text, and the form there, or NIL."
  (ignore-errors
   (or (place-fields (place-being-compiled condition) (first (form-being-compiled)))
       (let ((file (or (file-of-component)
                       (and *load-truename* (uiop:native-namestring *load-truename*)))))
         (and file (list file nil))))))

(defun forget-warnings ()
  (setf *warnings* '()
        *warnings-lost* 0))

(defun warning-entries (condition)
  "List the warnings of this request for the reply, except CONDITION, which is reported separately. Those that are too many
are counted in *WARNINGS-LOST*."
  (append
   (loop for (warning . entry) in (reverse *warnings*)
         unless (and warning (eq warning condition))
           collect entry)
   (multiple-value-bind (names more) (undefined-names +warnings-kept+)
     (incf *warnings-lost* more)
     (loop for (class name kind form known-place) in names
           unless (and (typep condition 'cell-error)
                       (equal name (cell-error-name condition)))
             collect (list* (symbol-name class)
                            (concatenate 'string "undefined " kind ": " (name-text name))
                            (ignore-errors (place-fields known-place form)))))))

(defvar *timing* nil
  "Once the evaluation has ended: what it took, as clock readings.")

(defun time-taken ()
  (mapcar (lambda (now before) (max 0 (- now before)))
          (multiple-value-list (clock-readings)) *readings*))

(defun timing-part ()
  "Return the part of the reply about the time: until now if the evaluation failed, since it may continue."
  (when *readings*
    (list :timing (or *timing* (time-taken)))))

(defstruct entry-text
  "The text of an entry to an error, as far as it has taken effect."
  text package
  (end 0)
  (free t))                             ; it uses no variable of the frame

(defvar *entry-text* nil)

(defun note-entry-done (text end)
  "Note that TEXT, if it is that of an entry to an error, has taken effect up to END."
  (when (and *entry-text* (eq text (entry-text-text *entry-text*)))
    (setf (entry-text-end *entry-text*) end)))

(defun took-effect-part ()
  "Return the part of an error report on what had taken effect of the entry's text before."
  (if (and *entry-text* (plusp (entry-text-end *entry-text*)))
      (given :took-effect (subseq (entry-text-text *entry-text*) 0 (entry-text-end *entry-text*))
             :free-in (and (entry-text-free *entry-text*) (entry-text-package *entry-text*)))
      '()))

(defun report-parts ()
  "Return the part of an error report that is about the request itself."
  (append (list :package (top-package-name))
          (unless (eq *printed-values* :none)
            (list :values (mapcar #'car (reverse *printed-values*))))
          (timing-part)
          (done-part nil (first *whole-text*))
          (forms-part)
          (took-effect-part)
          '(:inbox ())))

;;; Errors outside any request

(defconstant +inbox-room+ 20)

(define-session-variable *inbox* '())
(define-session-variable *inbox-lost* 0
  "How many errors the inbox had no room for.")

(defun with-inbox (message)
  "Return MESSAGE, a reply that is about to be sent, with the errors outside any request if it has :INBOX, an empty list."
  (if (and *inbox* (member :inbox (cddr message)))
      (multiple-value-bind (entries lost)
          (call-locked (lambda () (values (shiftf *inbox* '()) (shiftf *inbox-lost* 0))))
        (list* (first message) (second message) :inbox (reverse entries) :inbox-lost lost (cddr message)))
      message))

(defun keep-in-inbox (entry)
  "Put ENTRY into the inbox. If it is full, one is lost: this one, or if this error stands, the last that does not."
  (push entry *inbox*)
  (when (> (length *inbox*) +inbox-room+)
    (incf *inbox-lost*)
    (setf *inbox* (remove (or (find nil *inbox* :key (lambda (kept) (getf kept :standing)))
                              entry)
                          *inbox*))))

(defun note-stray-condition (condition where)
  "Put CONDITION, which arrived outside any request, into the inbox."
  (let* ((*capture* (make-capture))
         (*guard* nil)
         (*reporting* t)
         (*in-a-hurry* *in-a-hurry*)    ; set by an interrupt
         (*current-form* nil)
         (entry (with-agent-syntax (:length 10 :level 4)
                  (list :where where
                        :type (type-name-text (class-of condition))
                        :message (message-text condition)
                        :frames (frame-texts (signalling-frame) condition :count 20)))))
    (call-locked (lambda () (keep-in-inbox entry)))))

;;; Values

(defconstant +default-characters+ 65536)
(defconstant +level-limit+ 1000)

(defconstant +long-print+ 2000
  "A value that prints longer than this is searched for cycles.")

(defun printed-slots (structure)
  "List the values of the slots that are printed with STRUCTURE. Structures of the Lisp itself are printed as #<...>."
  (let ((name (class-name (class-of structure))))
    (and (symbolp name)
         (symbol-package name)
         (not (own-package-p (symbol-package name)))
         (loop for slot in (slot-names structure)
               when (slot-boundp structure slot)
                 collect (slot-value structure slot)))))

(defun cyclic-p (value)
  "True if VALUE has a cycle of conses, vectors and structures; large values are not searched to the end."
  (let ((path (make-hash-table :test #'eq))
        (left (nodes-searched)))
    (declare (type fixnum left))
    ;; A cycle leads back to a node that is still open; a closed node is only shared.
    (labels ((walk (node depth)
               (declare (type fixnum depth))
               (loop with opened = '()
                     until (or (not (typep node '(or cons simple-vector structure-object)))
                               (> depth 500)
                               (minusp (decf left))
                               (eq :closed (gethash node path)))
                     do (when (gethash node path)
                          (return-from cyclic-p t))
                        (setf (gethash node path) :open)
                        (push node opened)
                        (setf node (typecase node
                                     (cons
                                      (walk (car node) (1+ depth))
                                      (cdr node))
                                     (simple-vector
                                      ;; It may be most of the heap, so it is not copied.
                                      (loop for element across node
                                            until (minusp left)
                                            do (walk element (1+ depth))))
                                     (t
                                      (dolist (value (printed-slots node))
                                        (walk value (1+ depth))))))
                     finally (dolist (node opened)
                               (setf (gethash node path) :closed)))))
      (walk value 0)
      nil)))

(defun print-value (value max-characters length level)
  "Print VALUE for the reply. Returns the text, and the number of characters if it was cut."
  (if (and *in-a-hurry* (not (simple-object-p value)))
      (slow-text value)
      (multiple-value-bind (text cut long) (print-value-once value max-characters length level nil)
        (if (and long (cyclic-p value))
            (print-value-once value max-characters length level t)
            (values text cut)))))

(defvar *plain-strings* nil
  "True if a string value is to be returned unchanged, without quotes.")

(defun print-value-once (value max-characters length level circle)
  (with-agent-syntax (:length length :level (or level +level-limit+))
    (multiple-value-bind (text outcome count)
        (call-printing-parts (lambda (stream)
                               (cond (circle
                                      (call-printing-cycles (lambda () (prin1 value stream))))
                                     ((and *plain-strings* (stringp value))
                                      (write-string value stream))
                                     (t
                                      (prin1 value stream))))
                             value max-characters (* 16 max-characters))
      (case outcome
        ((nil) (values text (if (> count (length text)) count nil) (> count +long-print+)))
        (:stopped (values text count t))
        ((:interrupted :slow) (if (> count +long-print+) (values text count t) (slow-text value)))
        (t (values (error-printing-text value outcome max-characters)
                   nil
                   (storage-kind outcome)))))))

(defconstant +reply-characters+ 3000000
  "The most characters of all values in a reply; each may take four octets.")

(defun print-values (values max-characters length level)
  "Print VALUES. Return the part of the reply that reports that printing one was given up."
  (setf *printed-values* '())
  (let ((left +reply-characters+)
        (pauses-left *pauses-left*))
    (dolist (value values)
      (multiple-value-bind (text cut)
          (print-value value (max 1 (min max-characters left)) length level)
        (decf left (length text))
        (push (cons text cut) *printed-values*)))
    (given :printing-stopped (or *in-a-hurry* (not (eql pauses-left *pauses-left*))))))

;;; The values of earlier evaluations

(defconstant +evaluations-kept+ 1000)
(defconstant +values-kept+ 20)

(define-session-variable *earlier-values* '()
  "(NUMBER FUNCTION ...) for each evaluation, newest first: each function returns a value in a list, or NIL.")

(defun remember-values (number values)
  "Remember which VALUES evaluation NUMBER had, without keeping them alive if this Lisp can do that; otherwise those
of the last three evaluations, which * and its like keep."
  (push (cons number
              (loop for value in values
                    repeat +values-kept+
                    collect (or (weak-reference value) (constantly (list value)))))
        *earlier-values*)
  (let* ((weak (weak-reference nil))
         ;; Walking a thousand conses takes as long as the rest of a short evaluation.
         (end (if (and weak (plusp (mod number 100)))
                  '()
                  (nthcdr (if weak (1- +evaluations-kept+) 2) *earlier-values*))))
    (when end
      (setf (rest end) '()))))

(defun earlier-value (number index)
  "Return value INDEX of evaluation NUMBER in a list; NIL if it no longer exists or is not known."
  (let ((recall (nth index (rest (assoc number *earlier-values*)))))
    (if recall (funcall recall) nil)))

;;; Pictures

(defconstant +picture-limit+ (* 256 1024))

(defun picture-part (value arguments)
  "Return the part of a reply with VALUE as characters, if ARGUMENTS ask for pictures and it is a vector of octets that
begins as one. The server checks the rest."
  (if (and (getf arguments :pictures)
           (typep value '(and vector (array (unsigned-byte 8))))
           (<= 8 (length value) +picture-limit+)
           ;; The beginnings of PNG, JPEG, GIF and RIFF.
           (member (logior (ash (aref value 0) 8) (aref value 1)) '(#x8950 #xffd8 #x4749 #x5249)))
      (list :picture (map 'string #'code-char value))
      '()))

;;; Evaluation

(declaim (notinline evaluate-form evaluate-form-by))
(defun evaluate-form (form)
  "Evaluate FORM and return the list of its values. Backtraces end at this function."
  (let ((*evaluating* t))
    (multiple-value-list (catch 'form-values (evaluate-step form)))))

(defun evaluate-form-by (function)
  "Call FUNCTION as if by EVALUATE-FORM; return its values as a list."
  (let ((*evaluating* t))
    (multiple-value-list (catch 'form-values (funcall function)))))

(defmacro retrying (report &body body)
  "Evaluate BODY, with a restart RETRY, described by REPORT, that evaluates it again."
  `(loop
     (restart-case (return (progn ,@body))
       (retry ()
         :report ,report))))

(defun evaluate-with-retry (form)
  (retrying "Evaluate the form again."
    (evaluate-form form)))

(defun read-form (stream)
  "Read a form; return STREAM itself at the end. *READ-SUPPRESS*, which a program may have left true, makes any form NIL."
  (let ((*read-suppress* nil))
    (read stream nil stream)))

(defun evaluate-text (text &key (evaluate #'evaluate-with-retry) is-whole)
  "Read and evaluate the forms in TEXT; return the values of the last. EVALUATE is called with each
form and returns a list of its values. IS-WHOLE is true if the server keeps this very text for the
evaluation."
  (let ((values '())
        (*whole-text* (and is-whole (list text)))
        (stream (make-string-input-stream text)))
    (loop
      (when is-whole
        (note-form-begun (file-position stream)))
      (let* ((start (file-position stream))
             (form (let ((*source* (list text stream start))
                         (*current-form* nil))
                     (read-form stream)))
             (end (file-position stream)))
        (when (eq form stream)
          (return values))
        (when is-whole
          (note-form-read form text start)
          (note-last-value))
        (setf *current-form* (list form)
              - form)
        (setf values (call-with-origin (if is-whole (origin start end) (origin))
                                       (lambda () (funcall evaluate form))))
        (if is-whole
            (note-form-evaluated form values end)
            (note-entry-done text end))
        (setf /// //
              // /
              / values
              *** **
              ** *
              * (first values)
              +++ ++
              ++ +
              + -)))))

(defun find-meant-package (name)
  "Return the package called NAME, in any case; :NAME and #:name mean the same. NIL if there is none."
  (or (find-package name)
      (find-package (string-upcase (string-left-trim "#:" name)))))

(define-condition unknown-package (package-error)
  ()
  (:report (lambda (condition stream)
             (format stream "Package ~s not found." (package-error-package condition)))))

(defun call-in-unit (function)
  "Call FUNCTION as one compilation unit that records its warnings."
  (call-in-compilation-unit
   (lambda () (call-recording-warnings function #'note-warning #'note-redefinition))))

(defun evaluation-reply (ending)
  "Make the reply of a finished evaluation. ENDING is as in DONE-PART."
  (list* *id* :ok
         :values (mapcar #'car (reverse *printed-values*))
         :cut (mapcar #'cdr (reverse *printed-values*))
         :warnings (append (warning-entries nil) (stale-entries))
         :warnings-lost *warnings-lost*
         :package (top-package-name)
         :inbox '()
         (append (settings-part) (timing-part) (done-part ending) (forms-part))))

(defun call-as-evaluation (function arguments &optional (more (constantly '())))
  "Call FUNCTION, which returns a list of values, and make the reply. The list that MORE returns is
added to the reply."
  (let* ((*current-form* nil)
         (*warnings* '())
         (*warnings-lost* 0)
         (*redefined* '())
         (*files-loaded* '())
         (*printed-values* :none)
         (*in-a-hurry* nil)
         (*evaluation* (getf arguments :evaluation))
         (*text-progress* (make-progress :evaluation *evaluation*))
         (package-name (getf arguments :package))
         (*forms-done* (make-forms-done :arguments arguments :package (if package-name nil *package*)))
         (*readings* (if (getf arguments :capture-time)
                         (multiple-value-list (clock-readings))
                         nil))
         (*timing* nil))
    (restart-case
        (let ((*own-restarts* (cons (find-restart 'abort) *own-restarts*)))
          (call-in-unit
           (lambda ()
             (let ((values (flet ((evaluate ()
                                    (call-with-input (getf arguments :stdin) (getf arguments :asks) function)))
                             (if package-name
                                 (let ((*package* (or (find-meant-package package-name)
                                                      (error 'unknown-package :package package-name))))
                                   (note-package *text-progress*)
                                   (evaluate))
                                 (evaluate)))))
               (when *readings*
                 (setf *timing* (time-taken)))
               (when *evaluation*
                 (remember-values *evaluation* values))
               (let ((stopped (print-values values
                                            (or (getf arguments :max-chars) +default-characters+)
                                            (getf arguments :print-length)
                                            (getf arguments :print-level))))
                 (append (evaluation-reply :done) stopped (picture-part (first values) arguments) (funcall more)))))))
      (abort ()
        :report "Return to top level."
        (setf *printed-values* '())
        (call-in-compilation-unit (lambda () (append (evaluation-reply :left)
                                                       (list :aborted t :hooked (and *debugger-hook* t)))))))))

(define-operation :evaluate (&rest arguments &key code)
  (flet ((evaluate ()
           (evaluate-text code :is-whole t)))
    (declare (dynamic-extent #'evaluate))
    (call-as-evaluation #'evaluate arguments)))
