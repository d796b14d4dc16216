;;;; Sessions that share an image with each other and with the person who runs it. This file stands for variables.lisp:
;;;; what is a variable of the image in a process of ours is a part of the session here.

(in-package #:cl-mcp-agent)

(defconstant +session-variables+ 64)

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defparameter *session-variables* '()
    "The names of the variables that a session has, last first."))

(defvar *initial-values* (make-array +session-variables+ :initial-element nil)
  "Functions that return the first values of these variables.")

(defstruct (session (:copier nil))
  "CONNECTION is that of Swank or Slynk by which it came. OUTGOING are the payloads that wait to be collected, last first."
  (number 0 :type fixnum)
  (program "" :type string)             ; the name of the client that asks
  (agent "" :type string)               ; the same, if that is not the window of a person
  (name "" :type string)                ; what the server calls the session
  (announces t)                         ; NIL, T for the echo area, or :BUFFER
  (lock-grace 10)                       ; how many seconds the person's program waits for a lock of an error
  (looks nil)                           ; nothing of the program is run for it
  connection thread
  (variables (make-array +session-variables+ :initial-element nil) :type simple-vector)
  (own-values '())                      ; of *OWN-VARIABLES*
  (newest 0)                            ; the last evaluation that has set these
  (busy nil)                            ; the id of the request that is performed
  (arrived '()) (arrival (make-signal))
  (outgoing '()) (octets 0 :type fixnum) (sent (make-signal)) (room (make-signal))
  (unsent '())                          ; streams with lines that wait until messages are collected
  (collecting nil)                      ; true while the server waits for messages
  (collected-at (get-universal-time))   ; when it last did
  (gone (make-signal))                  ; raised when it has ended
  (given-up nil)                        ; a signal: who gives up the evaluation waits for its end
  (ended nil))

(defvar *session* nil
  "The session for which this thread works. In other threads it is one that nobody uses, so that what watches the program
does no harm there.")

(defvar *is-agents-thread* nil
  "True in the threads of a session.")

(defvar *sessions* '()
  "The sessions that are open.")
(defvar *is-prepared* nil
  "True while the image has what PREPARE-SHARED-IMAGE adds.")
(defvar *sessions-numbered* 0)

(defmacro define-session-variable (name value &optional documentation)
  "Define NAME, which every thread of a session shares. It is never bound."
  (declare (ignore documentation))
  (let ((place (or (position name (reverse *session-variables*))
                   (progn (push name *session-variables*)
                          (1- (length *session-variables*))))))
    (assert (< place +session-variables+))
    `(progn
       (setf (svref *initial-values* ,place) (lambda () ,value))
       (define-symbol-macro ,name (svref (session-variables *session*) ,place)))))

(defun session-client (session &optional (program (session-program session)))
  "Return what people and other agents call SESSION by."
  (format nil "~a (~a)" program (session-name session)))

(defparameter *window* "cl-mcp-server view"
  "The name of the client through which a person looks.")

(defun note-client (session name acts)
  "Note that the client NAME asks, and whether it ACTS: the window looks every few seconds."
  (let ((is-agent (string/= *window* name)))
    (when (or is-agent acts)
      (setf (session-program session) name))
    (when is-agent
      (setf (session-agent session) name))))

(defun thread-prefix (session)
  "Return what the names of the threads begin with that work for SESSION."
  (format nil "agent ~d: " (session-number session)))

(defun call-in-session (session function)
  "Call FUNCTION for SESSION."
  (let ((*session* session))
    (funcall function)))

(defun prepare-session (session)
  "Give the variables of SESSION their first values."
  (call-in-session session
                   (lambda ()
                     (loop for place below +session-variables+
                           for first = (svref *initial-values* place)
                           when first
                             do (setf (svref (session-variables session) place) (funcall (the function first))))))
  session)

(defun shares-image-p ()
  t)

(defun runs-nothing-p ()
  (session-looks *session*))

;;; Time limits

(defun time-after (seconds)
  "Return when SECONDS from now have passed, for SECONDS-UNTIL."
  (+ (get-internal-real-time) (ceiling (* seconds internal-time-units-per-second))))

(defun seconds-until (end)
  (/ (- end (get-internal-real-time)) internal-time-units-per-second))

;;; The variables that a person would set at a listener.

(defparameter *own-variables*
  '(*package* *readtable* *print-array* *print-base* *print-case* *print-circle* *print-escape* *print-gensym* *print-length*
    *print-level* *print-lines* *print-miser-width* *print-pprint-dispatch* *print-pretty* *print-radix* *print-readably*
    *print-right-margin* *read-base* *read-default-float-format* *read-eval* *read-suppress*)
  "Variables of which each session has its own values. The package is the first.")

(defun note-top-package ()
  (setf (first (session-own-values *session*)) *package*))

(defun keep-evaluation-values (number)
  (when (>= number (session-newest *session*))
    (setf (session-newest *session*) number
          (rest (session-own-values *session*)) (mapcar #'symbol-value (rest *own-variables*)))))

(defun session-mark ()
  (list :session (session-number *session*)))

(defun tag-of-session (tag)
  (intern (format nil "~a-~d" tag (session-number *session*)) "CL-MCP-AGENT"))

(defun for-thread (function)
  (let ((session *session*))
    (lambda ()
      (call-as-guest session function))))

(defun for-session (function)
  (let ((session *session*))
    (lambda (&rest arguments)
      (let ((*session* session))
        (apply function arguments)))))
