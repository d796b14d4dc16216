;;;; Definitions with their text: where each definition of a name is and, if it is in a file, its text.
;;;; The server adds the text of definitions that the session evaluated.

(in-package #:cl-mcp-agent)

(defconstant +definition-characters+ 32768
  "The most text of one definition that is sent.")
(defconstant +file-characters+ (* 4 1024 1024)
  "The part of a file that is searched for a definition whose place in it is not known.")
(defconstant +reply-text-characters+ 400000)

;;; Cutting a form out of text. It is read with standard syntax and *READ-SUPPRESS* to find its end; if
;;; that fails, it ends before the next line that begins with a parenthesis.

(defparameter *blanks* '(#\space #\newline #\tab #\return #\page))

(defun blank-p (character)
  (member character *blanks*))

(defun trimmed (text)
  (string-trim *blanks* text))

(defun comment-end (text start)
  "Return the end of the block comment of TEXT that begins at START."
  (loop with depth = 0
        with at = start
        for open = (search "#|" text :start2 at)
        for close = (search "|#" text :start2 at)
        do (cond ((null close) (return (length text)))
                 ((and open (< open close)) (incf depth) (setf at (+ 2 open)))
                 (t (decf depth) (setf at (+ 2 close))))
        when (zerop depth)
          return at))

(defun code-start (text &optional (start 0))
  "Return where the first form of TEXT from START on begins, after blanks and comments, or NIL."
  (loop for at = (position-if-not #'blank-p text :start start)
        while at
        do (cond ((char= #\; (char text at)) (setf start (or (position #\newline text :start at) (length text))))
                 ((string= "#|" (subseq text at (min (length text) (+ 2 at)))) (setf start (comment-end text at)))
                 (t (return at)))))

(defun form-end (text start)
  "Return the end of the form that begins at START; second, whether it was found."
  (let ((end (handler-case
                 (let ((*read-suppress* t)
                       (*readtable* *standard-readtable*))
                   (nth-value 1 (read-from-string text t nil :start start :preserve-whitespace t)))
               ;; Enough open parentheses exhaust the stack.
               (serious-condition () nil))))
    (if end
        (values end t)
        (let ((next (search (format nil "~%(") text :start2 start)))
          (values (or next (length text)) (and next t))))))

;;; SBCL records that a toplevel form begins where the previous one ended, so text omitted by #+ and #- can
;;; come first.

(defun omits-p (test)
  "True if TEST, the text of #+ or #- with what is tested, omits the form that follows it."
  (handler-case (let ((*read-eval* nil)
                      (*read-suppress* nil)
                      (*readtable* *standard-readtable*))
                  (null (read-from-string (concatenate 'string test " 1") nil nil)))
    (error () nil)))

(defun live-form-start (text start)
  "Return the start, including #+ and #-, of the first form from START on that these do not omit; or START."
  (loop for test-end = (and (find (subseq text start (min (length text) (+ 2 start))) '("#+" "#-") :test #'string=)
                            (form-end text (+ 2 start)))
        for omitted = (and test-end (omits-p (subseq text start test-end)) (code-start text test-end))
        for next = (and omitted (code-start text (form-end text omitted)))
        while next
        do (setf start next)
        finally (return start)))

(defun form-text-at (text start)
  "Return the form that begins at START of TEXT, and whether its end is there."
  (multiple-value-bind (end found) (form-end text start)
    (let ((limit (min end (+ start +definition-characters+))))
      (values (string-right-trim *blanks* (subseq text start limit))
              (and found (= limit end))))))

;;; Finding a definition in a file by its name

(defparameter *defining-words*
  '((:function "DEFUN" "DEFGENERIC") (:generic-function "DEFGENERIC") (:method "DEFMETHOD")
    (:macro "DEFMACRO") (:compiler-macro "DEFINE-COMPILER-MACRO") (:class "DEFCLASS")
    (:structure "DEFSTRUCT") (:condition "DEFINE-CONDITION") (:type "DEFTYPE")
    (:variable "DEFVAR" "DEFPARAMETER") (:constant "DEFCONSTANT" "DEFINE-CONSTANT")
    (:symbol-macro "DEFINE-SYMBOL-MACRO") (:setf-expander "DEFINE-SETF-EXPANDER" "DEFSETF")
    (:method-combination "DEFINE-METHOD-COMBINATION") (:package "DEFPACKAGE" "DEFINE-PACKAGE"))
  "The operators that define each kind; a user's macro may define it too.")

(defparameter *words-that-define-one-name* '("DEFUN" "DEFMACRO" "DEFMETHOD" "DEFGENERIC" "DEFVAR" "DEFPARAMETER")
  "Those that define their name and no other: DEFCLASS defines accessors too.")

(defun token-at (text start)
  "Return the token of TEXT that begins at START or after blanks, and where it ends."
  (let* ((start (or (position-if-not #'blank-p text :start start) (length text)))
         (end (or (position-if (lambda (character) (or (blank-p character) (find character "();"))) text :start start)
                  (length text))))
    (values (subseq text start end) end)))

(defun plain-token (token)
  "Return TOKEN without a package prefix and what may precede a name."
  (let ((name (string-left-trim "#'" (string-trim "\"" token))))
    (subseq name (let ((colon (position #\: name :from-end t)))
                   (if colon (1+ colon) 0)))))

(defun defined-at (text start)
  "Return the first word of the toplevel form of TEXT at START, and the name after it."
  (multiple-value-bind (word end) (token-at text (1+ start))
    (let ((after (position-if-not #'blank-p text :start end)))
      (when (and after (< (- after end) 200))
        (multiple-value-bind (name end) (token-at text (if (char= #\( (char text after)) (1+ after) after))
          (values word
                  (if (and (char= #\( (char text after)) (string-equal name "setf"))
                      (list :setf (plain-token (token-at text end)))
                      (plain-token name))))))))

(defun name-in-files (name)
  "Return NAME, a symbol or (SETF symbol), as DEFINED-AT returns the names it finds."
  (if (consp name)
      (list :setf (symbol-name (second name)))
      (symbol-name name)))

(defun defines-p (text at name kind)
  "Return :SURELY if the form of TEXT that begins AT defines NAME as KIND, :PERHAPS if it seems to
define NAME, or NIL."
  (multiple-value-bind (word other) (defined-at text at)
    (cond ((not (and word (equalp other (name-in-files name)))) nil)
          ((member (plain-token word) (rest (assoc kind *defining-words*)) :test #'string-equal)
           :surely)
          ((search "DEF" word :test #'char-equal) :perhaps)
          (t nil))))

(defun toplevel-starts (text)
  "List where the lines of TEXT that begin with a parenthesis begin."
  (loop for open = (position #\( text) then (position #\( text :start (1+ open))
        while open
        when (or (zerop open) (char= #\newline (char text (1- open))))
          collect open))

(defun find-toplevel-by-name (text name kind)
  "Return the positions in TEXT of the toplevel forms that define NAME as KIND, or else seem to define it."
  (flet ((those (certainty)
           (remove certainty (toplevel-starts text)
                   :key (lambda (start) (defines-p text start name kind)) :test-not #'eq)))
    (or (those :surely) (those :perhaps))))

(defun find-inner-by-name (text name kind start end)
  "Return the positions between START and END of TEXT of nested forms that define NAME as KIND."
  ;; From each occurrence of the name, go back to the parenthesis before the preceding token.
  (loop for at = (search (symbol-name (home-symbol name)) text :start2 start :end2 end :test #'char-equal)
        while at
        do (setf start (1+ at))
        when (loop for open = (position #\( text :end at :from-end t)
                   then (position #\( text :end open :from-end t)
                   repeat 3
                   while (and open (< (- at open) 200))
                   when (eq :surely (defines-p text open name kind))
                     return open)
          collect it))

(defun find-naming (text name)
  "Return the positions in TEXT of the toplevel forms that define something else, or by a macro, and contain NAME: the accessors of
a condition are defined so."
  (loop with wanted = (symbol-name (home-symbol name))
        for (start next) on (toplevel-starts text)
        for at = (search wanted text :start2 start :end2 next :test #'char-equal)
        for word = (token-at text (1+ start))
        when (and at
                  (search "def" word :test #'char-equal)
                  (not (member (plain-token word) *words-that-define-one-name* :test #'string-equal))
                  (string-equal wanted (token-at text at))
                  (or (blank-p (char text (1- at))) (find (char text (1- at)) "(:'")))
          collect start))

(defun inner-start (text start name kind)
  "If the form at START of TEXT only contains other forms, return the position in it where NAME is defined as
KIND; otherwise START."
  (let* ((open (position #\( text
                         :start (if (char= #\# (char text start)) (form-end text (+ 2 start)) start)))
         (word (and open (token-at text (1+ open)))))
    (or (and (member word '("progn" "eval-when" "locally" "macrolet" "symbol-macrolet")
                     :test #'equalp)
             (first (find-inner-by-name text name kind (1+ open) (form-end text start))))
        start)))

(defun text-by-name (place name kind)
  "Look for the definition of NAME in the file of PLACE. Returns what FILE-DEFINITION does."
  (multiple-value-bind (text native) (file-text (getf place :file) 0 +file-characters+)
    (let ((found (and text
                      (or (find-toplevel-by-name text name kind)
                          (find-inner-by-name text name kind 0 (length text))
                          (find-naming text name)))))
      (when found
        (multiple-value-bind (form complete) (form-text-at text (first found))
          (list :file native
                :line (line-and-column text (first found))
                :text form
                :cut (not complete)
                :lines (loop for other in (rest found)
                             repeat 20
                             collect (line-and-column text other))))))))

(defun contains-name-p (text name start end)
  (search (symbol-name (home-symbol name)) text :start2 start :end2 end :test #'char-equal))

(defun names-other-p (text start name)
  "True if the form of TEXT at START defines another name than NAME, a symbol or (SETF symbol), and does not even contain it."
  (multiple-value-bind (word other) (defined-at text start)
    (and word
         (home-symbol name)
         (member (plain-token word) *words-that-define-one-name* :test #'string-equal)
         (not (equalp other (name-in-files name)))
         (not (contains-name-p text name start (form-end text start))))))

(defun place-names-p (place name)
  "False if PLACE, in a file, is certainly not where NAME is defined: the file was loaded since with other text there, and dates did not
tell."
  (or (null (home-symbol name))
      (null (getf place :position))
      (flet ((names-p (characters)
               (let* ((text (file-text (getf place :file) (getf place :position) characters))
                      (start (and text (code-start text))))
                 (if start
                     (not (names-other-p text (live-form-start text start) name))
                     (null text)))))
        ;; The beginning of a form nearly always tells.
        (or (names-p 400)
            (names-p +definition-characters+)))))

(defun file-definition (place name kind)
  "Return the definition of NAME as KIND, which is at PLACE in a file, as a property list: :FILE :LINE
:TEXT; :CUT when more follows; :LINES of other forms that seem to define it; :CHANGED when the file is
newer than what was loaded; :MISSING when it cannot be read."
  (let ((position (getf place :position))
        (changed (file-changed-p (getf place :file) (getf place :created))))
    (multiple-value-bind (text native)
        (file-text (getf place :file) (or position 0) (* 2 +definition-characters+))
      (let* ((first (and text position (not changed) (code-start text)))
             (start (and first (inner-start text (live-form-start text first) name kind)))
             (changed (or changed (and start (names-other-p text start name))))
             (start (if changed nil start)))
        (cond ((and (null text) (null (file-text (getf place :file) 0 1)))
               (list :file (getf place :file) :missing t))
              ((and start (find (char text start) "(#"))
               (multiple-value-bind (form complete) (form-text-at text start)
                 (let ((line (line-of-place place)))
                   (list* :file native :text form :cut (not complete)
                          (and line
                               (list :line (+ line (count #\newline text :start first
                                                                          :end start))))))))
              (t
               (append (or (text-by-name place name kind) (list :file (or native (getf place :file))))
                       (if (or changed (null text)) (list :changed t) '()))))))))

(defun with-line (place name kind)
  "Return PLACE, where NAME is defined as KIND, for the wire. In a file, a line that is unknown, or of a file that has changed,
is searched for by the name; of the latter only if one form has it."
  (let* ((part (place-part place))
         (part (if (and (getf part :line) (not (place-names-p place name)))
                   (list :file (getf part :file) :changed t)
                   part))
         (changed (getf part :changed))
         (found (and (getf part :file) (null (getf part :line)) (or changed (null (getf place :position)))
                     (text-by-name place name kind))))
    (if (and found (not (and changed (getf found :lines))))
        (list* :file (getf found :file) :line (getf found :line) (if changed '(:changed t) '()))
        part)))

(defun object-place-part (object name kind)
  "Return the place of OBJECT, a function or method called NAME, for the wire."
  (multiple-value-call #'with-line (place-of object) (defining-form kind name object)))

(defun method-place-part (method)
  (object-place-part method (method-signature method) :method))

(defun frame-names-p (frame name)
  "True if the file of the function of FRAME, which is called NAME, still has it at the place that is recorded."
  (place-names-p (frame-place frame) (values (name-and-kind name))))

(defun name-and-kind (name)
  "Return the name and the kind of the definition that a function called NAME is part of."
  (let ((home (if (consp name) (or (second (member :in name)) name) name)))
    (cond ((atom home) (values home :function))
          ((eq (first home) 'setf) (values home :function))
          (t (values (home-symbol home)
                     (case (first home)
                       (method :method)
                       (macro-function :macro)
                       (t :function)))))))

(defun frame-place-text (frame name)
  "Return in words the place of the function that FRAME runs, which is called NAME, or NIL."
  (let ((place (frame-place frame)))
    (place-text (if (and (or (getf place :position) (getf place :stored)) (not *in-a-hurry*))
                    (multiple-value-call #'with-line place (name-and-kind name))
                    (place-part place)))))

;;; The operation

(defun definition-title (kind name object)
  (cond ((eq kind :method) (method-text object))
        ((eq kind :package) (package-name object))
        (t (name-text name))))

(defun all-definitions (symbol setf type)
  "List (KIND NAME OBJECT PLACE) for what SYMBOL is defined as; SETF: only (SETF SYMBOL)."
  (loop for name in `(,@(if setf '() (list symbol)) (setf ,symbol))
        append (loop for (kind object place) in (definitions-named name)
                     when (cond ((null type) t)
                                ((not (eq type :setf-function)) (member kind (kinds-of-type type)))
                                ((consp name) (member kind '(:function :generic-function :method))))
                       collect (list kind name object place))))

(defun defining-form (kind name object)
  "Return the name and the kind of what the form that defines OBJECT, which is NAME as KIND, defines:
the methods of a slot are defined by that of the class."
  (multiple-value-bind (function qualifiers specializers lambda-list slot)
      (if (eq kind :method) (method-signature object) nil)
    (declare (ignore function qualifiers lambda-list))
    (case slot
      (:reads (values (first specializers) :class))
      (:writes (values (second specializers) :class))
      (t
       ;; A package may be requested by a nickname.
       (values (if (eq kind :package) (make-symbol (package-name object)) name) kind)))))

(defun definition-entries (definitions)
  (let ((left +reply-text-characters+))
    (loop for (kind name object place) in definitions
          collect (let ((entry (list* :kind (symbol-name kind)
                                      :name (definition-title kind name object)
                                      (cond ((getf place :evaluation) place)
                                            ((null (getf place :file)) (definition-by-others name kind))
                                            ((minusp left) (place-part place))
                                            (t (multiple-value-call #'file-definition place
                                                 (defining-form kind name object)))))))
                    (decf left (length (getf entry :text "")))
                    entry))))

(defun package-definition (name)
  "List the definition of the package NAME, for which there is no symbol, or NIL."
  (let ((package (find-package (nth-value 1 (split-name name)))))
    (and package
         (list (list :package (make-symbol (package-name package)) package (place-of package))))))

(define-operation :find-definition (&rest arguments &key name type)
  (call-in-named-package
   arguments
   (lambda (package)
     (multiple-value-bind (symbol found) (find-named-symbol name package)
       (let* ((kind (and type (intern-keyword type)))
              (definitions (if found
                               (all-definitions symbol (setf-name-p name) kind)
                               (and (member kind '(nil :package))
                                    (package-definition name))))
              (others (and found (all-definitions symbol nil nil))))
         (cond (definitions)
               (others
                (refuse-absent t "~a is defined, but not as a ~(~a~): it is a ~{~(~a~)~^, a ~}."
                               (name-text symbol) (or type "setf-function")
                               (remove-duplicates (mapcar #'first others))))
               (found (refuse-other-meaning symbol "defined"))
               (t (refuse-unknown-name name)))
         (list *id* :ok
               :name (if found (name-text symbol) name)
               :total (length definitions)
               :definitions (definition-entries (part-of-list definitions arguments))))))))
