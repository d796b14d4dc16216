;;;; Examining the session's threads from the serving thread, and ending them.

(in-package #:cl-mcp-agent)

(defconstant +threads-sent+ 500)
(defconstant +thread-answer-seconds+ 1
  "How long a thread may take to respond to a request for its stack.")
(defconstant +thread-frames-seconds+ 3
  "How long printing that stack may take.")
(defconstant +thread-end-seconds+ 2)

(defconstant +name-characters+ 60)

(defun short-line (name)
  "Return NAME, a thread's, as one short line."
  (substitute-if-not #\Space #'graphic-char-p (cut-text name +name-characters+)))

(defun label-of (thread)
  "Return the name of THREAD as replies show it."
  (short-line (thread-name-of thread)))

(defun number-of (thread)
  "Return the number of THREAD, or 0."
  (or (and thread (thread-number thread)) 0))

(defun thread-entry (thread)
  "Return the part of the reply about THREAD."
  (multiple-value-bind (activity lock owner idle-ms descriptor) (thread-activity thread)
    (list* :number (number-of thread)
           :name (label-of thread)
           :activity activity
           (given :standing (error-of-thread thread)
                  :serves (eq thread (serving-thread))
                  :lock lock
                  :owner (and owner (number-of owner))
                  :owner-name (and owner (label-of owner))
                  :idle-ms idle-ms
                  :descriptor descriptor))))

(defun lock-hint (thread)
  "Return a sentence on the mutex for which THREAD is waiting, or NIL."
  (multiple-value-bind (activity lock owner) (thread-activity thread)
    (if (and (eq activity :lock) owner)
        (format nil "It was waiting for ~:[a mutex~;mutex ~:*\"~a\"~], held by ~a (~d)~:[~;, which is stopped ~
                     at an error (see list-errors). A restart of that error, ABORT too, releases it~]."
                lock (label-of owner) (number-of owner) (error-of-thread owner))
        nil)))

(defun folded-thread-names ()
  "List the names of the running threads, except the calling one; of threads that are alike, one with their number."
  (multiple-value-bind (entries folded servers)
      (fold-threads (mapcar (lambda (name) (list :name name)) (thread-names)))
    (declare (ignore folded))
    (append (loop for (nil name . more) in entries
                  for alike = (getf more :alike)
                  collect (format nil "~a~@[ (~d threads)~]" name (and alike (1+ (length alike)))))
            (and servers (list (string-right-trim "." servers))))))

(define-operation :threads (&key all)
  (let ((threads (sort (remove-if #'answers-look-up-p (all-threads)) #'< :key #'number-of)))
    (multiple-value-bind (entries folded servers)
        (funcall (if all (lambda (entries) (values entries 0 nil)) #'fold-threads)
                 (loop for thread in threads
                       repeat +threads-sent+
                       collect (append (thread-entry thread)
                                       (if all (owner-part thread) '()))))
      (list *id* :ok
            :total (length threads)
            :threads entries
            :folded folded
            :servers servers
            :inbox '()))))

(defun threads-named (designator)
  "List the threads with DESIGNATOR as their number or name, the whole one or the shown one."
  (let ((number (ignore-errors (parse-integer designator))))
    (remove-if-not (lambda (thread)
                     (or (and number (eql number (thread-number thread)))
                         (string= designator (thread-name-of thread))
                         (string= designator (label-of thread))))
                   (all-threads))))

(defun named-thread (designator)
  "Return the only thread that DESIGNATOR names, except the serving one; otherwise refuse."
  (let ((threads (threads-named designator)))
    (cond ((null threads)
           (refuse "No thread ~a; list-threads shows them." designator))
          ((rest threads)
           (refuse "~d threads are named ~a; give the number of one: ~{~d~^, ~}."
                   (length threads) designator (mapcar #'number-of (some-of threads 0 20))))
          ((eq (first threads) (serving-thread))
           (refuse "~a is the thread that serves this session." (label-of (first threads))))
          (t
           (first threads)))))

;;; The function may run late or never if the other thread waits in foreign code or has disabled interrupts,
;;; and printing its variables may not end. The caller waits no longer than the limits above.

(defun call-printing-in-thread (thread function &optional (answer-seconds +thread-answer-seconds+))
  "Have THREAD call FUNCTION, which prints and returns the result, or calls its argument with the result first. Return :DONE and the
result, :SILENT if THREAD did not start in time and will not, :SLOW if it did not finish in time, or :GONE."
  (let ((begun (make-signal))
        (done (make-signal))
        (caller (current-thread))
        (state (list :asked nil)))
    (labels ((claim (new)
               (call-locked (lambda ()
                              (and (eq :asked (first state))
                                   (setf (first state) new)))))
             (finish (value)
               (setf (second state) value
                     (first state) :done)
               (raise-signal done))
             (begin ()
               (when (claim :begun)
                 (raise-signal begun)
                 (let ((*capture* (make-capture))
                       (*guard* nil)
                       (*in-a-hurry* nil))
                   (unwind-protect
                        (let ((value (call-openly (lambda () (funcall function #'finish)))))
                          (unless (eq :done (first state))
                            ;; The next may come at once, and they would be one within the other.
                            (unless (eq caller (current-thread))
                              (put-off-interruptions))
                            (finish value)))
                     (unless (eq :done (first state))
                       (finish nil))))))
             (hurry ()
               (unless (eq :done (first state))
                 (setf *in-a-hurry* t)
                 (when *guard*
                   (throw *guard* :interrupted)))))
      (unless (call-in-thread thread #'begin)
        (return-from call-printing-in-thread :gone))
      (cond ((and (not (await-signal begun answer-seconds))
                  (claim :given-up))
             (if (thread-alive-p thread) :silent :gone))
            ((or (await-signal done +thread-frames-seconds+)
                 (progn
                     (call-in-thread thread #'hurry)
                   (await-signal done +thread-answer-seconds+)))
             (values :done (second state)))
            (t :slow)))))

;;; Where an evaluation is interrupted that waits for threads, what these wait for is of more interest than its own frames.

(defconstant +waiting-lines+ 8)
(defconstant +waiting-names+ 5)
(defconstant +asking-seconds+ 1/2
  "How long all threads together may take to tell where they wait; the server interrupts a second time after a few seconds.")

(defun place-in-thread ()
  "List the name of the function in which this thread was interrupted, and the first frame of the program's own, as texts."
  (with-agent-syntax ()
    (let* ((frames (frames-from (signalling-frame)))
           (names (remove-if (lambda (symbol) (or (null symbol) (implementation-name-p symbol)))
                             (mapcar (lambda (entry) (home-symbol (cdr entry))) frames)))
           (own (or (find-if-not #'library-package-p names :key #'symbol-package) (first names)))
           (frame (car (find own frames :key (lambda (entry) (home-symbol (cdr entry)))))))
      (list (name-text (cdr (first frames)))
            (and own (format nil "~a~@[ at ~a~]" (name-text own) (ignore-errors (frame-place-text frame own))))))))

(defun waiting-text (thread asks)
  "Return in words for what THREAD waits and, if ASKS is true, where; NIL if it does not wait."
  (multiple-value-bind (activity lock owner) (thread-activity thread)
    (unless (member activity '(:running :starting :unknown))
      (destructuring-bind (&optional call own)
          (and asks (nth-value 1 (call-printing-in-thread thread
                                                          (lambda (finish)
                                                            (declare (ignore finish))
                                                            (place-in-thread))
                                                          (/ +asking-seconds+ 4))))
        (format nil "~:[in ~a~;for mutex ~:*~s~*~]~@[, held by ~a~]~@[; ~a~]" lock (or call activity)
                (and owner (format nil "~a (~d)" (label-of owner) (number-of owner)))
                own)))))

(defun waiting-hint ()
  "Return lines on the program's threads that wait, those that wait in one place together; NIL if there are none."
  (let ((groups '())
        (end (+ (get-internal-real-time) (* +asking-seconds+ internal-time-units-per-second))))
    (dolist (thread (some-of (remove-if #'own-thread-p (all-threads)) 0 +threads-sent+))
      (let ((text (waiting-text thread (< (get-internal-real-time) end))))
        (when text
          (let ((group (or (assoc text groups :test #'string=)
                           (first (push (list text) groups)))))
            (push (label-of thread) (rest group))))))
    (and groups
         (format nil "Threads that wait:~{~%~a~}~@[~%... and ~d more~]"
                 (loop for (text . labels) in (some-of (reverse groups) 0 +waiting-lines+)
                       collect (format nil "~a: ~a" (listed (reverse labels) +waiting-names+) text))
                 (and (nthcdr +waiting-lines+ groups) (- (length groups) +waiting-lines+))))))

(define-operation :thread-frames (&rest arguments &key thread)
  (let* ((package (session-package))
         (thread (named-thread thread))
         ;; The interrupt may end what it waits for, and the thread with that.
         (entry (thread-entry thread)))
    (multiple-value-bind (outcome frames)
        (call-printing-in-thread
         thread
         (lambda (finish)
           (declare (ignore finish))
           (frames-part (signalling-frame) nil arguments package)))
      (list* *id* :ok :thread entry :outcome outcome frames))))

(defun thread-to-change (designator force)
  "Return the thread that DESIGNATOR names. One that is not the session's own is only changed by FORCE."
  (let ((thread (named-thread designator)))
    (when (and (shares-image-p) (not (own-thread-p thread)) (not force))
      (refuse "~a (~d) is a thread of the program, which a person runs. Pass force to act on it all the same."
              (label-of thread) (number-of thread)))
    thread))

(define-operation :kill-thread (&key thread force)
  (let* ((thread (thread-to-change thread force))
         (name (label-of thread)))
    (ask-thread-to-end thread)
    (list *id* :ok :name name
          :ended (and (await-thread thread +thread-end-seconds+) t))))
