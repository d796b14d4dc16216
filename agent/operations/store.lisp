;;;; Writing evaluated definitions into files: which text goes where. The server writes it.

(in-package #:cl-mcp-agent)

(defun key-named-p (key name)
  "True if NAME, as a client writes it, means KEY: a symbol or (setf symbol), with or without its package; for a method perhaps
with its qualifiers and specializers."
  (let* ((word (second key))
         (text (string-left-trim "(" (if (setf-name-p name) (subseq (trimmed name) 6) name)))
         (token (string-right-trim ")" (token-at text 0))))
    (multiple-value-bind (package plain) (split-name token)
      (let ((symbol (if (consp word) (second word) word)))
        (and (eq (consp word) (setf-name-p name))
             (typep symbol '(or symbol string))
             (string-equal plain (string symbol))
             (or (null package) (not (symbolp symbol))
                 (eq (find-meant-package package) (find-package (written-package-name symbol))))
             (or (not (eq :method (first key)))
                 (null (position #\( name :start 1))
                 (setf-name-p name)
                 (let ((key-of-name (written-key (first (or (definitions-of-text (format nil "(defmethod ~a)" name)
                                                                            (written-package-name symbol))
                                                            (list (make-written nil nil 0 0 "" 0 0)))))))
                   (equal (cdddr key) (cdddr key-of-name)))))))))

(defun current-evaluated (session)
  "List (KEY EVALUATION . WRITTEN) for what SESSION, the table, defines and the image still has from there."
  (loop for key being the hash-keys of session using (hash-value (evaluation . written))
        when (or (eq :form (first key))
                 (eql evaluation (getf (nth-value 1 (definition-of-key key)) :evaluation)))
          collect (list* key evaluation written)))

(defun text-of-written (written code)
  (subseq code (written-start written) (written-end written)))

(defun place-in-file (file text key)
  "Return where the form that defines KEY begins and ends in TEXT, of FILE, if one does."
  (let* ((written (first (gethash key (compared-current file))))
         (start (and written
                     (inner-start text (written-start written) (second key) (first key)))))
    (when start
      (loop while (and (< (1+ start) (length text))
                       (member (subseq text start (+ 2 start)) '("#+" "#-") :test #'string=))
            do (setf start (code-start text (form-end text (+ 2 start)))))
      (values start (form-end text start)))))

(defun place-for-new (file package after)
  "Return behind which definition of FILE a new one of PACKAGE goes: that named AFTER, or the last of the package; or NIL."
  (let ((all (loop for key in (compared-order file)
                   append (gethash key (compared-current file)))))
    (reduce (lambda (one other) (if (and one (> (written-end one) (written-end other))) one other))
            (remove-if-not (lambda (written)
                             (if after
                                 (key-named-p (written-key written) after)
                                 (equal package (written-package written))))
                           all)
            :initial-value nil)))

(defun ends-in-package-p (text package)
  "True if the last IN-PACKAGE of TEXT, at the beginning of a line, is of the package called PACKAGE."
  (let* ((word (format nil "~%(in-package "))
         (start (search word (format nil "~%~a" text) :from-end t :test #'char-equal))
         (name (and start (+ start (1- (length word)))))
         (end (and name (position #\) text :start name)))
         (found (and end (find-package (string-upcase (string-trim "\"#: " (subseq text name end)))))))
    (and found (eq found (find-package package)))))

(defun position-behind (written text file after)
  "Return where in TEXT, of FILE, a new definition goes that comes behind WRITTEN: if nothing else is defined after it, the end."
  (let ((end (written-end written)))
    (if (or after
            (search "(in-package" text :start2 end :test #'char-equal)
            (loop for key in (compared-order file)
                  thereis (some (lambda (other) (> (written-end other) end)) (gethash key (compared-current file)))))
        end
        (length (string-right-trim *blanks* text)))))

(defun refuse-store (control &rest arguments)
  (refuse "~? Nothing was written." control arguments))

(defun file-for (key package files after path)
  "Return the one of FILES that KEY, of PACKAGE, is written into, or refuse."
  (let ((having (remove-if-not (lambda (file) (gethash key (compared-current file))) files)))
    (cond ((rest having)
           (refuse-store "~a is in several files: ~{~a~^, ~}. Pass path." (key-title key)
                         (mapcar (lambda (file) (shown-file (compared-native file))) having)))
          (having (first having))
          (path (first files))
          ((null after) (refuse-store "No file defines ~a. Pass path, and perhaps after, the name of a definition there." (key-title key)))
          ((find-if (lambda (file) (place-for-new file package after)) files))
          (t (refuse-store "No file of the session's defines ~a." after)))))

(defun storing-entry (key evaluation written code files after path)
  "Return the entry for the server about writing the definition WRITTEN, of CODE, of EVALUATION, or refuse."
  (let* ((file (file-for key (written-package written) files after path))
         (name (key-title key))
         (shown (shown-file (compared-native file)))
         (text (text-of-octets (or (file-octets (compared-native file) +file-octets+)
                                   (refuse-store "~a cannot be read." shown))))
         (current (gethash key (compared-current file)))
         (new (text-of-written written code))
         (place (and (null current) (place-for-new file (written-package written) after)))
         (package (cond (current (written-package (first current)))
                        (place (written-package place))
                        ((and (null after) (ends-in-package-p text (written-package written))) (written-package written))
                        (t (refuse-store "~:[~a has no definition in the package ~a~;~a does not define ~a~]. Pass after, the name of ~
                                          a definition there."
                                         after shown (or after (written-package written))))))
         (as-read (definitions-of-text new package)))
    (when (rest (keys-defined (written-form written)))
      (refuse-store "~a was evaluated in one form with other definitions. Evaluate it alone." name))
    (unless (and as-read (same-form-p (written-form (first as-read)) (written-form written)))
      (refuse-store "~a would read otherwise in the package ~a, in which ~a has it; it was evaluated in ~a. Evaluate it there." name package
                    shown (written-package written)))
    (when (and current (compared-loaded file)
               (not (same-definitions-p current (gethash key (compared-loaded file)))))
      (multiple-value-bind (start end) (place-in-file file text key)
        (refuse-store "~a is not in ~a as it was loaded from there: the file was edited.~%In the file:~%~a~%In the session, evaluation ~d:~%~a~%"
                      name shown (subseq text start end) evaluation new)))
    (multiple-value-bind (start end) (if current
                                         (place-in-file file text key)
                                         (let ((at (if place (position-behind place text file after) (length (string-right-trim *blanks* text)))))
                                           (values at at)))
      (list :name name :file (compared-native file) :shown shown :evaluation evaluation :start (written-start written) :end (written-end written)
            :at start :old (subseq text start end) :new new
            :inserts (null current)))))

(define-operation :definitions-to-store (&key name (names (list name)) kind path after definitions)
  (let ((readtable *readtable*)
        (*forms-left* +forms-compared+))
    (with-agent-syntax ()
      (let ((*readtable* readtable))
        (call-with-reading-packages
         (lambda ()
           (let* ((files (mapcar #'read-file-to-compare
                                 (remove-duplicates (mapcar #'true-name (files-to-compare nil path)) :test #'string= :from-end t)))
                  (evaluated (current-evaluated (session-table definitions)))
                  (entries (loop for name in names
                                 append (or (loop for (key evaluation . written) in evaluated
                                                  when (and (key-named-p key name)
                                                            (or (null kind)
                                                                (string-equal (plain-token kind)
                                                                              (operator-name (written-form written)))))
                                                    collect (storing-entry key evaluation written
                                                                           (first (find evaluation definitions :key #'third :from-end t))
                                                                           files after path))
                                            (refuse-store "No evaluation of this session defines ~a now.~@[ ~a~]" name
                                                          (offer (near-strings name (mapcar (lambda (entry) (name-in-key (second (first entry))))
                                                                                            evaluated))))))))
             ;; The server changes each file from its end on.
             (list *id* :ok :entries (stable-sort (stable-sort (reverse (remove-duplicates entries :test #'equal)) #'> :key (lambda (entry) (getf entry :at)))
                                                  #'string< :key (lambda (entry) (getf entry :file)))))))))))

(define-operation :note-stored (&key entries)
  (dolist (entry entries)
    (destructuring-bind (evaluation start end native) entry
      (setf *stored-definitions* (some-of (cons (list evaluation start native end) *stored-definitions*) 0 5000))))
  (list *id* :ok))
