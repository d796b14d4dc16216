;;;; The table of operations that the server can request, and the state of the running one.

(in-package #:cl-mcp-agent)

(defvar *operations* '()
  "An association list from keywords to functions of the request's arguments.")

(defmacro define-operation (name lambda-list &body body)
  "Define the operation NAME. The request's property list gives the keyword parameters of LAMBDA-LIST. BODY returns the whole
reply, or calls REFUSE. The agent handles interrupts and errors while it runs."
  (let ((function (intern (format nil "~a-OPERATION" name))))
    `(progn
       (defun ,function (,@lambda-list ,@(if (member '&key lambda-list) '() '(&key)) &allow-other-keys)
         ,@body)
       (setf *operations* (append (remove ',name *operations* :key #'car)
                                  (list (cons ',name #',function)))))))

(defun given (&rest properties)
  "Return the property list PROPERTIES without those that are NIL."
  (loop for (key value) on properties by #'cddr
        when value
          append (list key value)))

;;; These are bound once, outside everything that unwinds: unwinding must not restore an answered request.
(defvar *id* nil
  "The id of the request being performed, or NIL between requests.")
(defvar *token* 0
  "The number with which the server can interrupt the current operation, or 0.")
(defvar *interrupted* 0
  "The token of the last interrupt that was handled.")
(defvar *early-interrupt* 0
  "The token of the last interrupt that arrived when no operation had this token.")

(defvar *leaving* nil
  "The reply to send at the top level, while the user's cleanup forms run on the way there; or NIL.")
(defvar *early-look* 0
  "The token of the last look-up that arrived when its operation was not running.")
(defvar *read-ahead* '()
  "Messages read from the channel while an operation ran, to be handled later: (MESSAGE . DESCRIPTORS).")

(defvar *error-condition* nil
  "The condition in whose dynamic context the agent serves requests, or NIL.")
(defvar *error-frame* nil
  "The frame that signalled *ERROR-CONDITION*.")
(defvar *program-handlers* nil
  "While the agent works at *ERROR-CONDITION*: the handlers that apply to the program there.")

(defconstant +pauses-allowed+ 6
  "How often printing may be given up in one reply because it makes no progress. After that nothing is printed that runs code
of the user's.")
(defvar *pauses-left* nil
  "How often it still may in the reply that is made, or NIL if none is made.")

(defun call-apart-from-program (function)
  "Call FUNCTION, the agent's work where it has interrupted the program, with interrupts deferred as by CALL-ATOMICALLY. The
program's handlers do not see errors of FUNCTION, nor of a timer that runs in it, so they cannot unwind it."
  (let ((*program-handlers* (handlers-now))
        (*pauses-left* +pauses-allowed+))
    (call-atomically (lambda ()
                       (call-without-handlers (lambda () (call-in-fresh-context function)))))))

;;; In a session with threads of its own an evaluation runs in a thread, and so may an error stand in one
;;; (standing.lisp).
(defvar *post* nil
  "Where this thread takes requests from and puts replies: a POST, or NIL for the channel.")
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
  "Restarts that exist only because the agent evaluates in a thread.")
(defvar *aborts-to-top* t
  "True if there is a top level to return to. A thread of the program has none.")

(defvar *before-report* nil
  "A function to call before an error or an interrupt is reported, with its kind, or NIL. It returns a part of the report.")

(defvar *own-restarts* '()
  "The agent's own ABORT restarts; a report shows them as one.")
(defvar *last-frames* '()
  "The frames of the newest report, in case it is abandoned.")

(defvar *own-process* 0
  "The id of the process that may use the channel, or 0 before it has sent its hello.")

(define-session-variable *snapshot-taken* nil
  "True once this process, or the one that it is a copy of, has recorded what existed before the user's definitions.")

(defvar *server-process* nil
  "The process id of the server, once the server has sent it.")

(defvar *given-input* nil
  "The stream of the input given to the current evaluation, or NIL.")

(defvar *loading* nil
  "The name of the system that the running operation loads, or the path of the file; or NIL.")
(defvar *files-loaded* '()
  "The session's own files that the running evaluation has loaded, as the system writes their names.")

(defvar *component* nil
  "What is being compiled or loaded: a verb and a component of ASDF, or all of it as a string; or NIL.")

;;; What a listener keeps of the last forms and values; each thread that evaluates has its own.

(defparameter *listener-variables* '(* ** *** / // /// + ++ +++ -))

(defun listener-values ()
  (mapcar #'symbol-value *listener-variables*))

(defun set-listener-values (values)
  (mapc #'set *listener-variables* values))
