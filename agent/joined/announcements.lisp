;;;; What each person's editor is told of the sessions' requests: one table says which operations only read, and how the others
;;;; are announced. The text is shown in the echo area or kept in a buffer of Emacs.

(in-package #:cl-mcp-agent)

(defparameter *announcements*
  '((:evaluate (:code nil))
    (:evaluate-in-frame (:code "in frame ~a" :frame))
    (:time (:code "time"))
    (:profile (:code "profile"))
    (:retainers (:code "what keeps this alive"))
    (:inspect (:set "set a part to") (:code "inspect"))
    (:macroexpand (:code "expand"))
    (:compile-form (:code "compile"))
    (:explain-dispatch (:code "explain the dispatch of"))
    (:load-file (t "load ~a" :path))
    (:load-system (t "load the system ~a" :system))
    (:quickload (t "load the system ~a" :system))
    (:describe-system (t "read the definition of the system ~a" :system))
    (:system-dependencies (t "read the definition of the system ~a" :system))
    (:run-tests (t "run the tests of ~a~@[ ~a~]" :system :test))
    (:call-tool (t "the tool ~a" :name))
    (:call-hooks (t "call the hooks"))
    (:invoke-restart (t "restart ~a~@[ ~a~]" :restart :value))
    (:return-from-frame (t "return from frame ~a~@[ ~a~]" :frame :value))
    (:restart-frame (t "restart frame ~a~@[ ~a~]" :frame :arguments))
    (:interrupt-thread (t "interrupt the thread ~a" :thread))
    (:kill-thread (t "end the thread ~a" :thread))
    (:memory (:collect "collect garbage"))
    (:trace ((:action "start" "stop") "~a tracing~@[ ~{~a~^ ~}~]" :action :functions))
    (:tally ((:action "start" "stop") "~a counting calls~@[ ~{~a~^ ~}~]" :action :functions))
    ;; These only read, or change only what is the session's own.
    (:limit-thread-errors) (:probe) (:session-info) (:frames) (:running-frames) (:threads) (:thread-frames)
    (:list-systems) (:quicklisp-search) (:list-definitions) (:describe-symbol) (:find-symbols) (:complete-symbol)
    (:complete-names) (:find-definition) (:find-references) (:disassemble) (:class-info) (:find-methods))
  "How each operation is announced: (OPERATION (WHEN TEXT KEY...)...). The first alternative counts whose WHEN is T, a key that
the request has, or a list of a key and values, one of which the request has; TEXT is formatted with the values of KEYs. Without
such an alternative the operation only reads. If WHEN is :CODE or :SET, its value is code and is shown after TEXT. An operation
that has no row is announced by its name.")

(defun alternatives-of (operation)
  (let ((row (assoc operation *announcements*)))
    (cond (row (rest row))
          ((assoc operation *operations*)
           (list (list :code (string-downcase operation)) (list t (string-downcase operation))))
          (t '()))))

(defun error-acted-on (arguments)
  "Return a text on the error on which a request with ARGUMENTS acts, or NIL."
  (let* ((number (getf arguments :standing))
         (standing (and number (standing-numbered number))))
    (and standing
         (format nil "~:[error ~d~;your error ~d (~a in thread ~a)~]"
                 (standing-held standing) (getf arguments :error number)
                 (type-of (standing-held standing)) (label-of (standing-thread standing))))))

(defun applies-p (condition arguments)
  "True if CONDITION, the WHEN of an alternative, is met by a request with ARGUMENTS."
  (cond ((eq t condition) t)
        ((consp condition) (member (getf arguments (first condition)) (rest condition) :test #'equal))
        (t (getf arguments condition))))

(defun announcement (message)
  "Return the code that MESSAGE, a request, has evaluated, or NIL, and a text on what is done, or NIL. Both are NIL if it only
reads."
  (destructuring-bind (operation &rest arguments) (rest message)
    (let ((found (find-if (lambda (alternative) (applies-p (first alternative) arguments))
                          (alternatives-of operation)))
          (error (error-acted-on arguments)))
      (if found
          (destructuring-bind (key text &rest keys) found
            (values (and (member key '(:code :set)) (getf arguments key))
                    (and (or text error)
                         (format nil "~@[~a~]~:[~; of ~]~@[~a~]"
                                 (and text
                                      (apply #'format nil text
                                             (loop for key in keys
                                                   collect (getf arguments key (if (eq key :frame) 0 nil)))))
                                 (and text error) error))))
          (values nil nil)))))

(defun refused-p (message)
  "True if MESSAGE concerns an error that stands no longer, or is only performed by force, which it does not have."
  (destructuring-bind (operation &key standing thread force &allow-other-keys) (rest message)
    (let ((error (standing-numbered standing)))
      (or (and standing (or (null error) (needs-force-p error message)))
          (and (member operation '(:interrupt-thread :kill-thread))
               (not force)
               (notany #'own-thread-p (threads-named thread)))))))

(defconstant +person-characters+ 400
  "The most characters of what sessions are told that somebody did; the server shortens it further.")
(defconstant +announced-characters+ 60
  "The most characters of code in the echo area.")
(defconstant +kept-characters+ 500
  "The most characters of code in a line of the buffer.")

(defun announce-request (session message)
  "Announce MESSAGE, a request of SESSION, unless it only reads."
  (multiple-value-bind (code text) (announcement message)
    (let ((name (getf (cddr message) :by)))
      (when name
        (note-client session name (or code text))))
    (when (and (or code text) (not (refused-p message)))
      (when (session-announces session)
        (announce session code text))
      ;; Another agent is told of it as of what a person does.
      (dolist (other (remove session *sessions*))
        (apply #'send-event other :person
               :text (announced-line session code text +person-characters+)
               :by (session-client session)
               (parts-of-deed (or text "evaluated") (or code "")))))))

(defun announced-line (session code text most)
  "Return in one line what SESSION does, with at most MOST characters of CODE."
  (one-line (format nil "~a: ~@[~a~]~:[~;: ~]~@[~a~]" (session-client session) text (and code text)
                    (and code (cut-text (one-line-text code) most)))))

(defun announce (session code text)
  "Show CODE, TEXT, or both to each person; one of them may be NIL."
  (loop for (connection . package) in (persons-connections)
        do (unless (and (eq :buffer (session-announces session))
                        (keep-in-buffer connection package session code text))
             (tell-editor connection package
                          (list :background-message (announced-line session code text +announced-characters+))))))

(defun tell-editor (connection package event)
  "Send EVENT to the editor of CONNECTION, which belongs to the library PACKAGE."
  (let ((variable (its "*EMACS-CONNECTION*" package))
        (send (its "SEND-TO-EMACS" package)))
    (when (and variable send (fboundp send))
      (ignore-errors
       (progv (list variable) (list connection)
         (funcall send event))))))

;;; A buffer that Emacs keeps. Emacs evaluates only if its user permits that; whether it does is known when the first form was
;;; answered. Until then, and if it never is, the echo area is used.

(defvar *buffers* '()
  "The connections whose editors were asked to keep a line: (CONNECTION HAS-ANSWERED FORM...), with the forms that wait for the
answer, last first.")
(defconstant +most-waiting+ 100)

(defparameter *buffer-tag* "cl-mcp-agent")

(defun keep-in-buffer (connection package session code text)
  "Have the editor of CONNECTION add a line to the buffer of SESSION. True if it is known to do so."
  (let* ((asked (assoc connection *buffers*))
         (form (buffer-form (format nil "*agent ~a*" (session-client session))
                            (buffer-line code text))))
    (cond ((null asked)
           (call-locked (lambda ()
                          (push (list connection nil) *buffers*)))
           (tell-editor connection package (list :eval 0 *buffer-tag* form))
           nil)
          ((second asked)
           (tell-editor connection package (list :eval-no-wait form))
           t)
          (t
           (when (< (length asked) +most-waiting+)
             (push form (cddr asked)))
           nil))))

(defun note-buffer (connection event)
  "True if EVENT is the answer of an editor that was asked to keep a line."
  (and (consp event)
       (eq :emacs-return (first event))
       (equal *buffer-tag* (third event))
       (let ((asked (assoc connection *buffers*)))
         (when (and asked (consp (fourth event)) (eq :ok (first (fourth event))))
           (let ((package (cdr (assoc connection (persons-connections)))))
             (dolist (form (reverse (shiftf (cddr asked) '())))
               (tell-editor connection package (list :eval-no-wait form))))
           (setf (second asked) t))
         t)))

(defun buffer-line (code text)
  "Return CODE as it is, if that is one line, and the time and TEXT as a comment."
  (format nil "~@[~a ~]; ~a~@[ ~a~]"
          (and code (cut-text (one-line-text code) +kept-characters+))
          (clock-text (get-universal-time) :person)
          (and text (one-line text))))

(defun buffer-form (buffer line)
  "Return the text of a form of Emacs Lisp that adds LINE to BUFFER, which is in Lisp mode."
  (with-standard-io-syntax
    (let ((*print-readably* nil))       ; strings are to look as in Emacs Lisp
      (format nil "(with-current-buffer (get-buffer-create ~s) (when (= 0 (buffer-size)) (lisp-mode)) ~
                   (save-excursion (goto-char (point-max)) (insert ~s \"\\n\")) t)"
              buffer line))))
