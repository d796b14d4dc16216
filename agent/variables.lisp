;;;; What belongs to a session and not to the image. In a process of its own a session has the whole image, so these are
;;;; ordinary variables; where sessions share an image, joined/session.lisp stands for this file.

(in-package #:cl-mcp-agent)

(defmacro define-session-variable (name value &optional documentation)
  "Define the variable NAME, which every thread of a session shares. It is never bound."
  `(defvar ,name ,value ,@(if documentation (list documentation) '())))

(defvar *is-agents-thread* t
  "True in the threads of a session: here they all are.")

(defun shares-image-p ()
  "True if the image is a person's, whose threads run in it and who may stand in errors of their own."
  nil)

(defun runs-nothing-p ()
  "True if this session runs nothing of the program: no definition of a system, no reader macro, no print method."
  nil)

(defun note-top-package ()
  "Note that the program has left this package current, outside all bindings."
  nil)

(defun keep-evaluation-values (number)
  "Evaluation NUMBER has ended in its thread: keep what it has set for the next one."
  (declare (ignore number))
  nil)

(defun session-mark ()
  "Return a property list that tells what this session has defined from what others have, which number their evaluations too."
  '())

(defun tag-of-session (tag)
  "Return what stands for TAG, of a wrapper, in this session."
  tag)

(defun for-session (function)
  "Return FUNCTION so that it can be called for this session in any thread."
  function)

(defun note-locks (number)
  "Tell which locks this thread holds, where the error NUMBER stands, if threads of a person's may wait for them."
  (declare (ignore number))
  nil)

(defun call-in-its-share (function)
  "Call FUNCTION, an evaluation, which may keep no more of a person's heap than it is given."
  (funcall function))

(defun call-sparing-image (function)
  "Call FUNCTION, which may not end an image that a person runs."
  (funcall function))

(defun made-thread-p (thread)
  "True if THREAD, of a person's image, was made by an evaluation."
  (declare (ignore thread))
  nil)

(defun call-sparing-program (function)
  "Call FUNCTION, which is the agent's and runs in any thread, so that no error of its own is the person's."
  (funcall function))

(defun for-thread (function)
  "Return FUNCTION, of no arguments, so that any thread can be interrupted to call it for this session."
  function)

(defun held-condition (thread)
  "Return the condition for which THREAD stands in a person's debugger, or NIL."
  (declare (ignore thread))
  nil)

(defun library-packages-among (packages)
  "Return those of PACKAGES, which a system has made, that are not the program's own."
  packages)

(defun program-part (symbols counts)
  "Return the part of a reply that summarises the program that was there before the session; here there is none."
  (declare (ignore symbols counts))
  '())

(defun fold-threads (entries)
  "Return those of ENTRIES, of threads, that are listed, how many are not, and a line on these or NIL."
  (values entries 0 nil))

(defun owner-part (thread)
  "Return the part of the entry of THREAD that says whose it is, if it is not the program's; here the entry says enough."
  (declare (ignore thread))
  '())

(defun definition-by-others (name kind)
  "Return the text that defines NAME as KIND, if somebody else evaluated it; here there is nobody else."
  (declare (ignore name kind))
  '())

(defun perform-in-held-error (standing message)
  "Perform MESSAGE in an error that stands in a person's debugger; here there is none."
  (declare (ignore standing message))
  (refuse "Nobody's debugger holds this error."))
