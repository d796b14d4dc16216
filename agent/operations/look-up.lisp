;;;; What look-ups share: finding the name, the reply if there is none, places on the wire, a part of a long
;;;; list.

(in-package #:cl-mcp-agent)

(defun package-meant (name)
  "Return the package called NAME, or refuse, with similar names."
  (or (find-meant-package name)
      (with-agent-syntax ()
        (refuse-absent :package "There is no package ~a.~@[~%~a~]" name (offer-packages name)))))

(defun refuse-unknown-name (name)
  "Refuse because there is no symbol NAME, or the package in NAME does not exist."
  (let ((package-name (split-name name)))
    (refuse-absent (if (and package-name (null (find-package package-name))) :package t)
                   "~a" (elsewhere-text name))))

(defun call-in-named-package (arguments function)
  "Call FUNCTION with the package that ARGUMENTS name, or the session's, and the agent's syntax in it. If there is no such
package, refuse."
  (let* ((name (getf arguments :package))
         (package (if name (package-meant name) (session-package))))
    (with-agent-syntax (:package package :length 50 :level 6)
      (funcall function package))))

(defun setf-name-p (name)
  "True if NAME has the form (SETF SOMETHING)."
  (let ((name (bare-name name)))
    (and (> (length name) 7) (string-equal "(setf " name :end2 6))))

(defun call-with-named-symbol (arguments key function)
  "Call FUNCTION, which returns the reply, with the symbol that the argument KEY names. If there is no such symbol,
refuse, with similar names; intern nothing."
  (call-in-named-package
   arguments
   (lambda (package)
     (let ((name (getf arguments key)))
       (multiple-value-bind (symbol found) (find-named-symbol name package)
         (unless found
           (refuse-unknown-name name))
         (funcall function symbol))))))

(defun refuse-other-meaning (symbol what &optional (test #'symbol-meanings))
  "Refuse because SYMBOL exists but is not WHAT, with similar names for which TEST is true."
  (refuse-absent t "~a is not ~a.~@[ It is the name of ~{~a~^, ~}.~]~@[~%~a~]" (symbol-text symbol) what
                 (loop for meaning in (symbol-meanings symbol)
                       collect (format nil "a ~a" meaning))
                 (offer-symbols (remove symbol (near-symbols (symbol-name symbol) test)))))

(defun part-of-list (list arguments)
  "Return the part of LIST that the arguments :FROM and :LIMIT select."
  (some-of list (max 0 (getf arguments :from 0)) (max 1 (getf arguments :limit 100))))

(defun place-part (place)
  "Return PLACE, as PLACE-OF returns it, for the wire: as it is in the session, :FILE and :LINE for a file."
  (cond ((getf place :evaluation) place)
        ((getf place :file)
         (let ((line (line-of-place place)))
           (given :file (getf place :file)
                  :line line
                  :changed (and (null line) (not (getf place :stored)) (file-changed-p (getf place :file) (getf place :created)) t))))
        (t '())))

(defun place-text (part)
  "Return PART, a place as PLACE-PART returns it, in words, or NIL."
  (cond ((getf part :evaluation)
         (format nil "this session, evaluation ~d" (getf part :evaluation)))
        ((getf part :file)
         (format nil "~a~@[:~d~]~@[ (changed since it was loaded)~]" (getf part :file)
                 (getf part :line) (getf part :changed)))
        (t nil)))

(defun source-text-of (object)
  "Return in words where OBJECT, a function, a method or a class, is defined, or NIL."
  (place-text (place-part (place-of object))))

(defun specializer-text (specializer)
  "Return SPECIALIZER, as METHOD-SIGNATURE lists them, as text; an object in it may fail to print."
  (if (and (consp specializer) (eq (first specializer) 'eql))
      (format nil "(EQL ~a)" (item-text (second specializer) 100))
      (name-text specializer)))

(defun method-text (method)
  "Return the name, the qualifiers and the specializers of METHOD as text."
  (multiple-value-bind (name qualifiers specializers) (method-signature method)
    (format nil "~a~{ ~a~} (~{~a~^ ~})" (name-text name)
            (mapcar #'name-text qualifiers)
            (mapcar #'specializer-text specializers))))
