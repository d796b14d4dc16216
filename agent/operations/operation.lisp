;;;; What the server can ask for: the table of operations, and the state of the one that runs.

(in-package #:cl-mcp-agent)

(defvar *operations* '()
  "An association list from keywords to functions of the request's arguments.")

(defmacro define-operation (name (arguments) &body body)
  "Define what the agent does when asked for NAME. BODY gets the request's property list and
returns the whole reply. It runs so that interrupts and the debugger are looked after."
  (let ((function (intern (format nil "~a-OPERATION" name))))
    `(progn
       (defun ,function (,arguments)
         (declare (ignorable ,arguments))
         ,@body)
       (setf *operations* (append (remove ',name *operations* :key #'car)
                                  (list (cons ',name #',function)))))))

;;; These are bound once, around all that unwinds: that must not bring an answered request back.
(defvar *id* nil
  "The id of the request that waits for its reply, or NIL between requests.")
(defvar *token* 0
  "The number by which the server can interrupt the operation that runs, or 0.")
(defvar *interrupted* 0
  "The token of the last interrupt that was acted on.")
(defvar *early-interrupt* 0
  "The token of the last interrupt that came when no operation had it.")

(defvar *early-look* 0
  "The token of the last look-up whose operation did not run when it came.")
(defvar *moments* '()
  "Where operations were shortly before their time limit, the newest first (last-moments.lisp).")
(defvar *read-ahead* '()
  "What was read from the channel while an operation ran and is for later: (MESSAGE . DESCRIPTORS).")

(defvar *error-condition* nil
  "The condition in whose dynamic context the agent serves, or NIL.")
(defvar *error-frame* nil
  "The frame that signalled *ERROR-CONDITION*.")

;;; In a session with threads of its own an evaluation runs in a thread, and so may an error stand in one
;;; (standing.lisp).
(defvar *post* nil
  "Where this thread gets requests from and puts replies: a POST, or NIL for the channel.")
(defvar *standing* nil
  "The number of the error that stands where this thread serves, or NIL: the next request unwinds it.")
(defvar *stands-here* nil
  "True inside the error of an evaluation in which the main thread stands and serves.")
(defvar *stands* nil
  "True while a request is performed whose error stands if other threads run.")
(defvar *settles* nil
  "True while a request is performed whose error is unwound as soon as it is reported.")
(defvar *pending* nil
  "The message to perform when an error that stood in its way has been unwound, or NIL.")
(defvar *hidden-restarts* '()
  "Restarts that are there only because of the thread that the agent evaluates in.")
(defvar *aborts-to-top* t
  "True if there is a top level to return to; in a thread of the program there is not.")

(defvar *before-report* nil
  "A function that is called before an error or an interrupt is reported, or NIL.")

(defvar *own-restarts* '()
  "The restarts of the agent that abort; a report shows them as one.")
(defvar *last-frames* '()
  "The frames of the newest report, for the case that it is abandoned.")

(defvar *own-process* 0
  "The id of the process that may speak on the channel, or 0 before it has said hello.")

(defvar *memory-compacted* nil
  "True once this process, or the one that it is a copy of, was made cheap to copy as far as that works.")

(defvar *snapshot-taken* nil
  "True once this process, or the one that it is a copy of, has noted what was there before the user's definitions.")

(defvar *server-process* nil
  "The process id of the server, once it has told it.")

(defvar *given-input* nil
  "The stream of what the evaluation that runs was given to read, or NIL.")

(defvar *component* nil
  "What is being compiled or loaded: a verb and a component of ASDF, or all of it as a string; or NIL.")
