;;;; Compiling without running, to get the compiler's messages. The server requests this from a copy of the
;;;; session, because compiling defines the macros that later forms need.

(in-package #:cl-mcp-agent)

(defconstant +notes-kept+ 200
  "How many notes of each kind, so that the compiler's advice does not take the place of its errors.")
(defconstant +names-kept+ 500)

(defun kind-of-note (condition)
  (typecase condition
    (style-warning "STYLE-WARNING")
    (warning "WARNING")
    (error "ERROR")
    (t "NOTE")))

(defun note-text (condition)
  "Return the message of CONDITION without the compiler's indentation."
  (let ((text (message-text condition +warning-limit+)))
    (with-output-to-string (stream)
      (loop for start = 0 then (1+ end)
            for end = (position #\newline text :start start)
            for line = (string-left-trim " " (subseq text start end))
            do (when (plusp start)
                 (write-char (if (zerop (length line)) #\newline #\space) stream))
               (write-string line stream)
            while end))))

(defun form-text (form)
  "Return FORM as a part of one line."
  (substitute #\space #\newline (item-text form 100)))

(defun reading-note-text (condition text)
  "Return the reader's message about TEXT, with the place, or NIL if CONDITION is not from the reader."
  (multiple-value-bind (position start)
      (and (typep condition 'stream-error) (reading-position (stream-error-stream condition)))
    (when position
      (let* ((stream (make-string-input-stream text))
             (*source* (list text stream start)))
        (file-position stream (min position (length text)))
        (format nil "~a~@[ ~a~]" (reader-message condition) (unfinished-form-text condition))))))

(defun compiler-note (condition text)
  "Return the reply's entry for CONDITION, which the compiler signalled for TEXT."
  (with-agent-syntax (:length 10 :level 5)
    (list (kind-of-note condition)
          (let ((*print-length* nil) (*print-level* nil))
            (or (reading-note-text condition text)
                (string-trim '(#\newline #\space) (note-text condition))))
          (let ((form (form-being-compiled)))
            (if form (form-text (first form)) nil))
          (compiled-place (place-being-compiled condition)))))

(defun compiled-place (place)
  "Return :line:column of PLACE, which is file:line:column, or NIL. The text is in no file."
  (let* ((second (and place (position #\: place :from-end t)))
         (first (and second (position #\: place :from-end t :end second))))
    (and first
         (parse-integer place :start (1+ first) :junk-allowed t)
         (subseq place first))))

(defun defined-name (form)
  "Return in a list the name of the function that FORM defines, or NIL."
  (and (consp form)
       (consp (rest form))
       (member (first form) '(defun defmacro defgeneric defmethod define-compiler-macro))
       (list (second form))))

(defun call-noting-names (function note)
  "Call FUNCTION, which compiles code. Call NOTE with the name of each function that the code defines."
  (let* ((hook *macroexpand-hook*)
         (*macroexpand-hook* (lambda (expander form environment)
                               (let ((name (defined-name form)))
                                 (when name
                                   (funcall note (first name))))
                               (funcall hook expander form environment))))
    (funcall function)))

(defun compilation-part (text)
  "Compile TEXT. Return the part of the reply about it."
  (let ((notes '())
        (undefined '())
        (lost 0)
        (names '()))
    (flet ((note (condition)
             (let* ((*capture* (make-capture))
                    (note (compiler-note condition text)))
               (cond ((member note notes :test #'equal))
                     ((< (count (first note) notes :key #'first :test #'string=) +notes-kept+)
                      (push note notes))
                     (t
                      (incf lost)))))
           (finish ()
             (multiple-value-bind (names more) (undefined-names +notes-kept+ t)
               (setf undefined (with-agent-syntax (:length 10 :level 5)
                                 (loop for (class name kind form place) in names
                                       collect (list (symbol-name class)
                                                     (concatenate 'string "undefined " kind ": " (name-text name))
                                                     (if form (form-text form) nil)
                                                     (compiled-place place)))))
               (incf lost more)))
           (note-name (name)
             (when (< (length names) +names-kept+)
               (pushnew name names :test #'equal))))
      (let ((failed (not (call-noting-names (lambda () (compile-text text #'note #'finish)) #'note-name))))
        (setf notes (append (nreverse notes) undefined))
        (list :failed (or failed
                          (and (find-if (lambda (note)
                                          (member (first note) '("WARNING" "ERROR") :test #'string=))
                                        notes)
                               t))
              :notes notes
              :notes-lost lost
              :functions (with-agent-syntax ()
                           (mapcar #'name-text (nreverse names))))))))

(define-operation :compile-form (&rest arguments &key code)
  (call-in-package-for-code
   arguments
   (lambda ()
     (list* *id* :ok (compilation-part code)))))
