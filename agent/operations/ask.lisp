;;;; Input from a person: what an evaluation reads if its request supplied no input. The agent tells the server that it
;;;; is waiting for a line; the server asks the person through the client and sends the answer over the channel.

(in-package #:cl-mcp-agent)

(defconstant +most-questions+ 100
  "The most lines that one evaluation may ask for; after them the input ends.")

(defstruct question
  number
  (answer :none)                        ; a line, or NIL at the end of the input
  (wake (make-signal)))

(define-session-variable *question* nil
  "The question that is waiting for its answer, in any thread, or NIL.")
(define-session-variable *questions-numbered* 0)

(defun take-answer (message)
  "Note the answer in MESSAGE if the question is still waiting for it."
  (let ((question *question*)
        (text (getf (cddr message) :text)))
    (when (and question (eql (question-number question) (getf (cddr message) :question)))
      (setf *question* nil
            (question-answer question) text)
      (raise-signal (question-wake question)))))

(defun send-question (question)
  (flush-streams)
  (call-atomically
   (lambda ()
     (call-locked (lambda ()
                    (setf (question-number question) (incf *questions-numbered*)
                          *question* question)))
     (send-apart (list 0 :input :question (question-number question))))))

(defun answer-from-server (id)
  "Ask for a line, wait for it and return it, or NIL at the end of the input. If an interrupt ends the request ID, the
code continues in another request, which does not ask."
  (let ((question (make-question)))
    (send-question question)
    ;; An interrupt may be handled just before the wait starts, so each wait has a time limit.
    (loop while (and (eq :none (question-answer question)) (eql id *id*))
          do (if *post*
                 (await-signal (question-wake question) 1) ; the serving thread reads the channel
                 (await-answer (question-wake question))))
    (if (stringp (question-answer question))
        (question-answer question)
        nil)))

(defstruct asking
  id                                    ; the request that may ask
  (left +most-questions+ :type fixnum))

(defvar *asking* nil
  "What the code that runs may ask for, or NIL.")

(defun continue-asking ()
  "Let the code that continues from an error ask in this request, if it could before."
  (when *asking*
    (setf (asking-id *asking*) *id*)))

(defun asking-stream (asking)
  "Return a stream from which each line is what the person answers while the request of ASKING runs."
  (flet ((next-line ()
           (let ((id (asking-id asking)))
             (and (eql id *id*)
                  (= *own-process* (process-id)) ; else the user's code has forked
                  (plusp (asking-left asking))
                  (decf (asking-left asking))
                  (answer-from-server id)))))
    ;; At its end the concatenated stream is empty, which is how INPUT-HINT recognises it.
    (make-concatenated-stream (make-line-input #'next-line))))

(defun call-with-input (text asks function)
  "Call FUNCTION so that reads from the terminal get TEXT, or ask the person if ASKS is true; otherwise the input
is empty."
  (if (or text asks)
      (let* ((*given-input* (if text (make-string-input-stream text) *given-input*))
             (*asking* (if text *asking* (make-asking :id *id*)))
             (*standard-input* (if text *given-input* (asking-stream *asking*)))
             (*query-io* (make-two-way-stream *standard-input* *standard-output*)))
        (funcall function))
      (funcall function)))
