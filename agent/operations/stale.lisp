;;;; Functions and methods that were compiled with the earlier definition of a macro or inline function: they keep
;;;; using it until they are compiled again, which nothing else says.

(in-package #:cl-mcp-agent)

(defvar *redefined* '()
  "Lists (NAME KIND USER...) for the macros and inline functions that the evaluation has redefined; KIND is one of
MAP-REFERENCES, the users are functions and methods.")

(defconstant +redefined-kept+ 40)
(defconstant +stale-told+ 8)

(defun copied-as (name)
  "Return as what MAP-REFERENCES finds those who hold a copy of the definition of NAME, a macro or an inline function; or
NIL."
  (cond ((not (symbolp name)) nil)
        ((macro-function name) :macroexpands)
        ((and (fboundp name) (inlined-name-p name)) :calls)))

(defun note-redefinition (name)
  "The function or macro NAME is about to be redefined. Files may redefine many, so only the first are looked at."
  (note-replaced name)
  (let ((kind (copied-as name)))
    (when (and kind
               (< (length *redefined*) +redefined-kept+)
               (not (assoc name *redefined*)))
      (push (list* name kind (with-agent-syntax () (mapcar #'first (references-to kind name)))) *redefined*))))

(defun stale-entries ()
  "List warnings, as in a reply, about those users of what was redefined that are still as they were before."
  (when *redefined*
    (with-agent-syntax ()
      (loop for (name kind . users) in (reverse *redefined*)
            for texts = (loop for (object user) in (references-to kind name)
                              when (member object users :test #'eq)
                                collect (referrer-text object user))
            when texts
              collect (list "STYLE-WARNING"
                            (format nil "compiled with the earlier definition of ~a, and not since: ~a"
                                    (name-text name) (listed (sort texts #'string<) +stale-told+)))))))
