;;;; Tests of agent/wire.lisp alone: what is printed is read back, and hostile input is refused.

(in-package #:common-lisp-user)

(let ((agent (merge-pathnames "../../agent/" (or *load-truename* *default-pathname-defaults*))))
  (handler-bind ((warning #'muffle-warning))
    (with-compilation-unit ()
      (dolist (name '("package" "variables" "port" "ports/sbcl/foreign" "ports/sbcl/channel" "wire"))
        (load (merge-pathnames (concatenate 'string name ".lisp") agent))))))

(in-package #:cl-mcp-agent)

(defun printed (value)
  "Return the octets VALUE is printed as."
  (setf *output-end* 0)
  (put-value value)
  (subseq *output-octets* 0 *output-end*))

(defun parsed (octets)
  "Return what OCTETS are read as."
  (setf *input* (coerce octets 'octets))
  (multiple-value-bind (value end) (parse-value 0 (length octets) 0)
    (assert (= end (length octets)))
    value))

(defun parsed-text (text)
  (parsed (sb-ext:string-to-octets text :external-format :utf-8)))

(defun check-round-trip (value)
  (let ((back (parsed (printed value))))
    (unless (equal back value)
      (format t "~s came back as ~s~%" value back)
      (sb-ext:exit :code 1 :abort t))))

(mapc #'check-round-trip
      (list nil t 0 1 -1 9 10 99 100 123456789 -987654321 '(1 :evaluate :code "x") '((("deep"))) ""
            "a\"b\\c" "line
break" "λ" "€" "😀" (string (code-char 0)) (coerce "base" 'simple-base-string)
            (make-string 1000 :initial-element (code-char #x10ffff))
            (list (make-string 1000 :initial-element #\")
                  (make-string 1000 :initial-element #\\))))

;; Integers beyond what the other side takes are cut off and end nothing.
(loop for (integer text) in (list (list most-positive-fixnum "4611686018427387903")
                                  (list most-negative-fixnum "-4611686018427387903")
                                  (list (expt 10 30) "4611686018427387903")
                                  (list (- (expt 10 30)) "-4611686018427387903"))
      do (assert (equal (map 'string #'code-char (printed integer)) text)))

;; Surrogates are what UTF-8 cannot carry.
(assert (equal (parsed (printed (string (code-char #xd800)))) (string (code-char #xfffd))))
;; Unknown keywords make no symbols.
(assert (equal (parsed-text "(:never-heard-of 1)") '(:unknown 1)))
(assert (null (find-symbol "NEVER-HEARD-OF" "KEYWORD")))
(assert (equal (parsed-text "(1 :evaluate :code \"(+ 1 2)\" :token 5)")
               '(1 :evaluate :code "(+ 1 2)" :token 5)))

(dolist (text '("(" "(1" "\"abc" "(\"abc" "(1 (2 (3)" ""))
  (assert (handler-case (progn (parsed-text text) nil)
            (error () t))
          () "~s was accepted" text))
(assert (handler-case (progn (parsed-text (concatenate 'string
                                                       (make-string 100 :initial-element #\()
                                                       (make-string 100 :initial-element #\))))
                             nil)
          (error () t)))

