;;;; The person who runs the image, and Swank or Slynk, by which both the person and the server come: the place of the
;;;; default connection, and what the person does.

(in-package #:cl-mcp-agent)

(defparameter *servers* '("SWANK" "SLYNK")
  "The packages of the libraries that editors connect to.")

(defun own-connection ()
  "Return the connection by which this thread was asked, and the package of the library that it belongs to."
  (dolist (package *servers* (values nil nil))
    (let ((connection (value-of "*EMACS-CONNECTION*" package)))
      (when connection
        (return (values connection package))))))

(defun persons-connections ()
  "List the connections of people's editors as (CONNECTION . PACKAGE)."
  (loop for package in *servers*
        append (loop for connection in (value-of "*CONNECTIONS*" package)
                     unless (find connection *sessions* :key #'session-connection)
                       collect (cons connection package))))

(defun give-place-back (connection package)
  "Let CONNECTION, the newest one, not be the default: the program's errors are to open in the person's editor."
  (let ((symbol (its "*CONNECTIONS*" package)))
    (when (and symbol (boundp symbol))
      (setf (symbol-value symbol) (remove connection (symbol-value symbol))))))

(defun keep-door-open (session package port)
  "If the server of the library PACKAGE took one connection only, which is that of SESSION, start it again at PORT so that
somebody else can connect, and say so."
  (let ((servers (value-of "*SERVERS*" package)) ; of sockets, ports and threads
        (create (its "CREATE-SERVER" package)))
    (when (and port create (fboundp create)
               (its "*SERVERS*" package)
               (every #'consp servers)
               (notany (lambda (server) (and (third server) (thread-alive-p (third server)))) servers))
      (let ((is-open (ignore-errors (funcall create :port port :dont-close t))))
        (send-event session :person
                    :text (format nil "~:[Nobody else can connect now: this server took one connection, yours. To open it~;This ~
                                       server took one connection, yours; the agent has opened it~] again: (~(~a~):create-server ~
                                       :port ~d :dont-close t)"
                                  is-open package port))))))

(defun part-of-connection (connection package &rest names)
  "Return what the reader called by one of NAMES in PACKAGE returns for CONNECTION, or NIL if there is none; second, whether
there is one."
  (dolist (name names (values nil nil))
    (let ((symbol (its name package)))
      (when (and symbol (fboundp symbol))
        (return (values (ignore-errors (funcall symbol connection)) t))))))

(defun socket-stream (connection package)
  (part-of-connection connection package "CONNECTION.SOCKET-IO" "CONNECTION-SOCKET-IO"))

(defun serves-threads-p (connection package)
  "True if each request that comes by CONNECTION is performed in a separate thread."
  (multiple-value-bind (style known)
      (part-of-connection connection package "CONNECTION.COMMUNICATION-STYLE" "CONNECTION-COMMUNICATION-STYLE")
    (or (not known) (eq :spawn style))))

;;; What the person does

(defun tell-sessions (text &rest parts)
  "Tell each session in TEXT what the person did, and in PARTS, a property list, what that consists of."
  (dolist (session *sessions*)
    (apply #'send-event session :person :text text parts)))

(defconstant +code-characters+ 4000
  "The most characters of code that the window shows of what somebody did.")

(defun parts-of-deed (did code)
  "Return the parts of an event for the window: in words what somebody DID to CODE."
  (list :did did
        :code (cut-text code +code-characters+)))

(defun form-name-and-text (form)
  "Return the name of the function that FORM, a request of an editor, calls, and its first argument if that is a string."
  (if (and (consp form) (symbolp (first form)))
      (values (symbol-name (first form))
              (let ((argument (and (consp (rest form)) (second form))))
                (if (stringp argument) argument nil)))
      (values "" nil)))

(defparameter *persons-requests*
  '(("evaluated" "LISTENER-EVAL" "INTERACTIVE-EVAL" "INTERACTIVE-EVAL-REGION" "EVAL-AND-GRAB-OUTPUT" "PPRINT-EVAL"
     "RE-EVALUATE-DEFVAR" "EVAL-STRING-IN-FRAME" "PPRINT-EVAL-STRING-IN-FRAME" "VALUE-FOR-EDITING" "MREPL-EVAL")
    ("compiled" "COMPILE-STRING-FOR-EMACS" "COMPILE-MULTIPLE-STRINGS-FOR-EMACS")
    ("compiled the file" "COMPILE-FILE-FOR-EMACS" "COMPILE-FILE-IF-NEEDED")
    ("loaded the file" "LOAD-FILE")
    ("loaded the system" "LOAD-SYSTEM" "OPERATE-ON-SYSTEM-FOR-EMACS" "RELOAD-SYSTEM")
    ("made undefined" "UNDEFINE-FUNCTION" "UNINTERN-SYMBOL"))
  "What the person did, and the functions of Swank that do it.")

(defun verb-of-request (name)
  "Return what the person does by the function NAME of Swank, or NIL."
  (first (find-if (lambda (entry) (member name (rest entry) :test #'string=)) *persons-requests*)))

(defun text-of-request (form)
  "Return a sentence on what the person did by FORM, a request of an editor, and what that consists of; NIL if it only looks."
  (multiple-value-bind (name text) (form-name-and-text form)
    (let ((verb (verb-of-request name)))
      (cond ((and verb text)
             (values (person-did verb text)
                     (if (member verb '("evaluated" "compiled") :test #'string=) (parts-of-deed verb text) '())))
            ((string= name "INVOKE-NTH-RESTART-FOR-EMACS")
             "The person chose a restart in the debugger.")
            ((member name '("SLDB-ABORT" "SLY-DB-ABORT" "THROW-TO-TOPLEVEL" "SLDB-CONTINUE" "SLY-DB-CONTINUE") :test #'string=)
             "The person left the debugger.")))))

(defun note-persons-definitions (connection event)
  "Note what EVENT, a request of the person's by CONNECTION, will define, or that such a request has ended."
  (case (first event)
    (:emacs-rex
     (destructuring-bind (form package thread id) (rest event)
       (declare (ignore thread))
       (multiple-value-bind (name text) (form-name-and-text form)
         (let ((verb (verb-of-request name))
               (key (list connection id))
               (person (make-definer :owner :person))
               (package (find-package (string-upcase package))))
           (cond ((null text))
                 ((equal "evaluated" verb)
                  (note-evaluated key person text package))
                 ((equal "compiled" verb)
                  (when (stringp (third form))
                    (setf (definer-how person) (format nil "compiled from ~a" (third form))))
                  (note-evaluated key person text package))
                 ((member verb '("compiled the file" "loaded the file") :test #'equal)
                  (note-definitions-of-file key person text)))))))
    (:return
     (settle-definitions (list connection (fourth event)) (eq :ok (first (third event)))))))

(defun text-of-listener (message)
  "Return a sentence on what the person typed at SLY's listener by MESSAGE, or NIL."
  (if (and (consp message) (eq :process (first message)) (stringp (second message)))
      (values (person-did "evaluated" (second message)) (parts-of-deed "evaluated" (second message)))
      nil))

(defun person-did (verb text)
  (format nil "The person ~a ~a" verb (one-line (if (> (length text) +person-characters+)
                                                    (subseq text 0 +person-characters+)
                                                    text))))

(defmacro define-hook (name lambda-list documentation &body body)
  "Define NAME, which Swank or Slynk calls in a thread of theirs, for the person too. It returns NIL if it fails."
  `(defun ,name ,lambda-list
     ,documentation
     (handler-case (progn ,@body)
       (serious-condition () nil))))

(define-hook note-event (connection event)
  "Tell the sessions of EVENT, which passes through Swank or Slynk by CONNECTION. True if it answers the agent; otherwise the
library handles it too."
  (or (note-buffer connection event)
      (progn
        (when (and *sessions*
                   (consp event)
                   (not (find connection *sessions* :key #'session-connection)))
          (note-persons-definitions connection event)
          (multiple-value-bind (text parts) (case (first event)
                                              (:emacs-rex (text-of-request (second event)))
                                              (:emacs-channel-send (text-of-listener (third event))))
            (when text
              (apply #'tell-sessions text parts))
            (follow-debugger event)))
        nil)))

(defun follow-debugger (event)
  "Let the sessions know of an error that the person's debugger has shown or left by EVENT."
  (destructuring-bind (kind &optional number level &rest more) event
    (declare (ignore more))
    (case kind
      (:debug
       (tell-of-debugger number #'note-held-error-aside))
      (:debug-return
       (when (eql 1 level)
         (tell-of-debugger number #'note-release))))))

(defun tell-of-debugger (number note)
  "Call NOTE in each session with the thread that editors know by NUMBER."
  (let ((thread (thread-of-editor number)))
    (when thread
      (dolist (session *sessions*)
        (call-in-session session (lambda () (funcall note thread)))))))

(defun thread-of-editor (number)
  "Return the thread that Swank or Slynk knows by NUMBER, perhaps one that has ended; or NIL."
  (dolist (package *servers*)
    (let ((symbol (its "FIND-THREAD" package)))
      (when (and symbol (fboundp symbol))
        (return (ignore-errors (funcall symbol number)))))))

(defvar *own-connections* '()
  "The connections by which sessions came, until Swank has closed them. The hooks stay as long as the last of them.")

(defun close-for-certain (close connection &rest more)
  "Stand in for CLOSE of Swank's, which first writes what waits to be written. If the other end is gone, this fails, the error
opens in the person's debugger, and since the thread holds the lock of all connections (in 2.27 it is the one thread that
closes and lists them), nobody can connect any more."
  (handler-case (apply close connection more)
    (stream-error ()
      (dolist (package *servers*)
        (let ((stream (socket-stream connection package)))
          (when (streamp stream)
            (ignore-errors (close stream :abort t)))))
      (apply close connection more))))

(define-hook note-connection-closed (connection &rest more)
  "End the sessions that came by CONNECTION, which is cut; MORE is what some libraries pass."
  more
  (dolist (session *sessions*)
    (when (eq connection (session-connection session))
      (end-session-aside session)))
  (call-locked (lambda ()
                 (setf *own-connections* (remove connection *own-connections*)
                       *buffers* (remove connection *buffers* :key #'first))
                 (unless (or *sessions* *own-connections*)
                   (set-server-hooks nil)))))

(defparameter *hooks-of-servers*
  '(("*EVENT-HOOK*" . note-event)
    ("*CONNECTION-CLOSED-HOOK*" . note-connection-closed))
  "Hooks of Swank and Slynk, and the functions that are put there.")

(defun note-dispatch (dispatch connection event &rest more)
  "Stand in for DISPATCH of Slynk's, which has no hook for events."
  (unless (note-event connection event)
    (apply dispatch connection event more)))

(defun wrapped-functions (package)
  "List (SYMBOL . WRAPPER) for each function of PACKAGE that is wrapped because there is no hook."
  (loop for (name hook wrapper) in '(("CLOSE-CONNECTION%" nil close-for-certain)
                                     ("DISPATCH-EVENT" "*EVENT-HOOK*" note-dispatch)
                                     ("SPAWN" nil call-as-person))
        for symbol = (its name package)
        when (and symbol (fboundp symbol) (null (and hook (its hook package))))
          collect (cons symbol (fdefinition wrapper))))

(defun set-server-hooks (wanted)
  "Put the agent's functions into the hooks of Swank and Slynk, or take them away if WANTED is false."
  (dolist (package *servers*)
    (loop for (name . function) in *hooks-of-servers*
          do (let ((symbol (its name package)))
               (when (and symbol (boundp symbol))
                 (let ((others (remove function (symbol-value symbol))))
                   (setf (symbol-value symbol) (if wanted (cons function others) others))))))
    (loop for (symbol . wrapper) in (wrapped-functions package)
          do (if wanted
                 (wrap-calls symbol wrapper)
                 (unwrap-calls symbol)))))
