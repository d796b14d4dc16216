;;;; Who has defined what. What people and sessions evaluate is kept for a while; when a definition replaces somebody else's, both
;;;; are told. Only the text of a request is available in every Lisp, so definitions are looked up there. A function counts as
;;;; replaced if its name means another function once the request has ended.

(in-package #:cl-mcp-agent)

(defstruct (definer (:copier nil) (:predicate nil))
  "OWNER is the number of a session, :PERSON, or the name of a file; NAME is what others call that session; HOW is a text or NIL,
TIME a universal time or NIL. FILE is what OWNER has loaded, or NIL."
  owner name (time (get-universal-time)) how file)

(defvar *definers* (make-hash-table :test 'equal)
  "The definers by (KIND . NAME), of methods with their lambda lists as text behind it.")
(defconstant +most-definers+ 20000)

(defstruct (evaluated (:copier nil) (:predicate nil))
  "A text that was evaluated with PACKAGE as the current one."
  definer text package)

(defvar *evaluated* '()
  "What was evaluated last, last first.")
(defconstant +most-evaluated+ 300)
(defconstant +longest-evaluated+ 100000)

(defvar *changes* '()
  "What the requests under way define: (KEY DEFINER (FOUND OLD-DEFINER . FUNCTION)...). KEY identifies the request;
FOUND is as DEFINITIONS-IN returns it, the others are from before.")
(defconstant +most-changes+ 1000)

;;; Finding definitions

(defun kind-of-word (word)
  "Return the kind of what the operator WORD defines, or NIL."
  (first (find (plain-token word) *defining-words* :test (lambda (word entry) (member word (rest entry) :test #'string-equal)))))

(defun definition-of (found)
  "Return the key of *DEFINERS* for FOUND, an element of DEFINITIONS-IN, or NIL: its symbol is made when the text is read."
  (destructuring-bind (kind name package signature) found
    (multiple-value-bind (symbol is-there)
        (if (find-package package)
            (find-symbol (string-upcase (if (consp name) (second name) name)) package)
            (values nil nil))
      (and is-there
           (list* kind (if (consp name) (list 'setf symbol) symbol) signature)))))

(defun signature-in-text (text start)
  "Return what follows the name in the definition of TEXT at START, up to the end of the first list, as one line."
  (let* ((name (nth-value 1 (token-at text (nth-value 1 (token-at text (1+ start))))))
         (open (position #\( text :start name)))
    (and open
         (string-downcase (one-line-text (subseq text name (min (length text) (form-end text open))))))))

(defun forms-in (text)
  "List where the toplevel forms of TEXT begin, and those inside PROGN and its like."
  (let ((starts '()))
    (labels ((walk (from end)
               (loop for start = (code-start text from)
                     while (and start (< start end) (< (length starts) 1000))
                     do (when (char= #\( (char text start))
                          (push start starts)
                          (multiple-value-bind (word after) (token-at text (1+ start))
                            (when (member (plain-token word) '("progn" "eval-when" "locally") :test #'string-equal)
                              (walk after (1- (form-end text start))))))
                        (setf from (max (1+ start) (form-end text start))))))
      (walk 0 (length text)))
    (nreverse starts)))

(defun definitions-in (text package starts)
  "List (KIND NAME PACKAGE SIGNATURE) for the definitions in the forms of TEXT that begin at STARTS; NAME is as DEFINED-AT returns it."
  (loop for start in starts
        for (word name) = (multiple-value-list (defined-at text start))
        for kind = (and word (kind-of-word word))
        do (when (and word (string-equal "in-package" (plain-token word)) (stringp name))
             ;; By its name: the package may be made when the text is evaluated.
           (setf package (string-upcase name)))
        when (and kind name (not (string-equal "defvar" (plain-token word))))
          collect (list kind name package (if (eq kind :method) (signature-in-text text start) nil))))

(defun function-defined (definition)
  "Return what DEFINITION, a key of *DEFINERS*, means now: a function for those that are functions, otherwise NIL."
  (destructuring-bind (kind name . signature) definition
    (declare (ignore signature))
    (case kind
      (:function (and (fboundp name) (fdefinition name)))
      (:macro (and (symbolp name) (macro-function name)))
      (t nil))))

(defun origin-of (definition)
  "Return the definer of DEFINITION where only the image knows it, or NIL."
  (destructuring-bind (kind name . signature) definition
    (declare (ignore signature))
    (let* ((object (or (function-defined definition)
                       (and (member kind '(:class :condition :structure)) (find-class name nil))))
           (place (and object (ignore-errors (place-of object)))))
      (and (stringp (getf place :file))
           (make-definer :owner (getf place :file) :time nil)))))

;;; What a request will define, and what it has

(defun expect-definitions (key definer text package starts)
  "Note what the request that KEY identifies will define if it evaluates TEXT, whose forms begin at STARTS."
  (let ((changes (loop for found in (definitions-in text package starts)
                       for definition = (definition-of found)
                       collect (list* found
                                      (and definition (or (gethash definition *definers*) (origin-of definition)))
                                      (and definition (function-defined definition))))))
    (when changes
      (call-locked (lambda ()
                     (setf *changes* (some-of (cons (list* key definer changes) *changes*) 0 +most-changes+)))))))

(defun settle-definitions (key is-good)
  "The request that KEY identifies has ended, without an error if IS-GOOD: tell of what it has replaced."
  (when *changes*
    (loop for (nil definer . changes)
            in (call-locked (lambda ()
                              (flet ((mine-p (entry) (equal key (first entry))))
                                (prog1 (remove-if-not #'mine-p *changes*)
                                  (setf *changes* (remove-if #'mine-p *changes*))))))
          do (let ((done (loop for (found old . before) in changes
                               for definition = (definition-of found)
                               when (and definition
                                         (if (member (first definition) '(:function :macro))
                                             (not (eq before (function-defined definition)))
                                             is-good))
                                 collect (cons definition old))))
               (note-definer definer (mapcar #'car done))
               (tell-of-replacements definer (remove-if-not (lambda (old) (concerns-p old definer)) done :key #'cdr))))))

(defun note-definer (definer definitions)
  (call-locked (lambda ()
                 (when (> (hash-table-count *definers*) +most-definers+)
                   (clrhash *definers*))
                 (dolist (definition definitions)
                   (setf (gethash definition *definers*) definer)))))

(defun concerns-p (old new)
  "True if it is worth telling that NEW has replaced a definition of OLD's."
  (and old
       (not (member (definer-owner old) (list (definer-owner new) (definer-file new)) :test #'equal))
       (or (integerp (definer-owner old)) (integerp (definer-owner new)))))

(defun inherit-definitions (before session)
  "Let SESSION own the definitions of the session with the number BEFORE, whose connection was cut."
  (call-locked (lambda ()
                 (loop for definer being the hash-values of *definers*
                       when (eql before (definer-owner definer))
                         do (setf (definer-owner definer) (session-number session))))))

;;; Telling

(defconstant +replaced-named+ 5)

(defun possessive (definer viewer)
  "Return how to tell VIEWER whose a definition of DEFINER's is: \"yours\", \"the person's\" and so on."
  (let ((owner (definer-owner definer)))
    (cond ((equal owner viewer) "yours")
          ((eq :person owner) "the person's")
          ((stringp owner) (format nil "the one in ~a" owner))
          (t (format nil "~a's" (definer-name definer))))))

(defun clock-text (time viewer)
  "Return TIME as a person's clock shows it, in other texts as UTC."
  (multiple-value-bind (second minute hour)
      (if (eq :person viewer) (decode-universal-time time) (decode-universal-time time 0))
    (format nil "~2,'0d:~2,'0d:~2,'0d~:[Z~;~]" hour minute second (eq :person viewer))))

(defun replacement-text (new old definitions viewer)
  "Return a line on NEW's DEFINITIONS, which replace OLD's, for VIEWER. What a person reads of a session begins with its name."
  (let* ((names (remove-duplicates (mapcar (lambda (definition) (name-text (second definition))) definitions) :test #'string=))
         (is-one (null (rest names)))
         (is-clear (if (eq :person viewer)
                       (integerp (definer-owner new))
                       (equal viewer (definer-owner new)))))
    (format nil "~a: ~@[~a ~]replace~:[~;s~] ~a~@[ of ~a~]~@[ (~a)~]"
            (listed names +replaced-named+)
            (if is-clear nil (possessive new viewer))
            is-one
            (possessive old viewer)
            (and is-one (definer-time old) (clock-text (definer-time old) viewer))
            (and is-one (definer-how old)))))

(defun tell-of-replacements (new replaced)
  "REPLACED lists (DEFINITION . DEFINER) for what NEW has replaced."
  (loop while replaced
        do (let* ((old (cdr (first replaced)))
                  (alike (remove (definer-owner old) replaced :key (lambda (entry) (definer-owner (cdr entry))) :test-not #'equal))
                  (sessions (loop for definer in (list new old)
                                  for session = (find (definer-owner definer) *sessions* :key #'session-number)
                                  when session
                                    collect session)))
             (flet ((text-for (viewer)
                      (replacement-text new old (mapcar #'car alike) viewer)))
               (dolist (session sessions)
                 (send-event session :person :text (text-for (session-number session))))
               (when (and sessions (session-announces (first sessions)))
                 (announce (first sessions) nil (text-for :person))))
             (setf replaced (set-difference replaced alike :test #'eq)))))

;;; Who asks

(defun note-evaluated (key definer text package)
  "The request that KEY identifies evaluates TEXT for DEFINER."
  (let ((entry (make-evaluated :definer definer :package package
                               :text (subseq text 0 (min (length text) +longest-evaluated+)))))
    (call-locked (lambda ()
                   (setf *evaluated* (some-of (cons entry *evaluated*) 0 +most-evaluated+)))))
  (expect-definitions key definer text package (forms-in text)))

(defun key-of-session (session id)
  (list (session-number session) id))

(defun note-definitions-of-session (session message)
  "Note what MESSAGE, a request of SESSION, will define."
  (destructuring-bind (operation &key code evaluation path directory package &allow-other-keys) (rest message)
    (let ((key (key-of-session session (first message)))
          (definer (make-definer :owner (session-number session) :name (session-client session)
                                 :how (and evaluation (format nil "evaluation ~d" evaluation)))))
      (cond ((eq :load-file operation)
             (note-definitions-of-file key definer (namestring (path-to-load path directory))))
            ((and code (member operation '(:evaluate :compile-form :evaluate-in-frame :time)))
             (note-evaluated key definer code
                             (or (and package (find-package (string-upcase package)))
                                 (first (session-own-values session)))))))))

(defun note-definitions-of-file (key definer path)
  "DEFINER compiles or loads the file PATH."
  (let ((text (file-text path 0 +file-characters+)))
    (when text
      (setf (definer-file definer) (namestring (truename path))
            (definer-how definer) (format nil "from ~a" (file-namestring path)))
      (expect-definitions key definer text (find-package "COMMON-LISP-USER") (toplevel-starts text)))))

;;; A system is loaded file by file, by a request of the agent's or by whatever the person has done.

(defun note-component-loaded (component is-done)
  "COMPONENT, a file of the program's, is about to be loaded in this thread, or has been if IS-DONE."
  (ignore-errors
   (let ((key (list (current-thread) component))
         (file (namestring (asdf:component-pathname component))))
     (cond (is-done
            (settle-definitions key t))
           ((not (library-file-p file))
            (note-definitions-of-file key
                                      (if *is-agents-thread*
                                          (make-definer :owner (session-number *session*) :name (session-client *session*))
                                          (make-definer :owner :person))
                                      file))))))

(dolist (method (list (defmethod asdf:perform :before ((operation asdf/lisp-action:basic-load-op) (component asdf:cl-source-file))
                        (note-component-loaded component nil))
                      (defmethod asdf:perform :after ((operation asdf/lisp-action:basic-load-op) (component asdf:cl-source-file))
                        (note-component-loaded component t))))
  (push (cons #'asdf:perform method) *asdf-methods*))

;;; The text of what others have evaluated, for FIND-DEFINITION

(defun definition-by-others (name kind)
  "Return the newest text that defines NAME as KIND of what was evaluated, or NIL: :TEXT and :BY, who evaluated it."
  (loop for evaluated in *evaluated*
        for text = (evaluated-text evaluated)
        for start = (find-if (lambda (start)
                               (let ((found (first (definitions-in text (evaluated-package evaluated) (list start)))))
                                 (and found
                                      (member (first found) (kinds-of-type kind))
                                      (equal name (second (definition-of found))))))
                             (forms-in text))
        when start
          return (list :text (form-text-at text start)
                       :by (format nil "evaluated by ~:[~a~;the person~*~] at ~a~@[, ~a~]"
                                   (eq :person (definer-owner (evaluated-definer evaluated)))
                                   (definer-name (evaluated-definer evaluated))
                                   (clock-text (definer-time (evaluated-definer evaluated)) nil)
                                   (definer-how (evaluated-definer evaluated))))))
