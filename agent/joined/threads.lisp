;;;; A person's image has many threads. Those that only wait, alike but for a number in their names, share a line, and so do those
;;;; of the server through which the editor came.

(in-package #:cl-mcp-agent)

(defparameter *threads-of-servers*
  '("Swank Sentinel" "control-thread" "reader-thread" "swank-indentation-cache-thread" "auto-flush-thread"
    "slynk-indentation-cache-thread" "Slynk Sentinel")
  "The names of threads that Swank and Slynk have for themselves.")

(defun base-name (name)
  "Return NAME without the digits at its end, which tell the threads of a pool apart."
  (string-right-trim "0123456789" name))

(defun server-name-p (name)
  (or (member name *threads-of-servers* :test #'string=)
      (member (base-name name) '("Swank " "Slynk ") :test #'string=)))

(defun server-entry-p (entry)
  (and (null (getf entry :standing))
       (server-name-p (getf entry :name))))

(defun owner-part (thread)
  "Return the part of the entry of THREAD that says whose it is, and what it is called beside that, if it is not the program's."
  (let* ((name (label-of thread))
         (made-by (cdr (assoc thread *made-threads*)))
         (session (or made-by
                      (find-if (lambda (session)
                                 (eql 0 (search (thread-prefix session) name)))
                               *sessions*))))
    (cond (session
           (list :whose :agent
                 :client (session-client session (session-agent session))
                 :name (cond (made-by name)
                             ((eq thread (session-thread session)) nil)
                             (t (subseq name (length (thread-prefix session)))))))
          ((or (server-name-p name) (asks-for-agents-p thread))
           (list :whose :server)))))

(defun asks-for-agents-p (thread)
  "True if THREAD, of Swank or Slynk, performs a request by which an agent came."
  (loop for package in *servers*
        for variable = (its "*EMACS-CONNECTION*" package)
        for connection = (and variable (value-in-thread variable thread))
        thereis (and connection (find connection *sessions* :key #'session-connection))))

(defun kind-of-entry (entry)
  "Return what the threads of a line have in common, or NIL if the one of ENTRY has a line of its own."
  (destructuring-bind (&key name activity standing serves lock owner &allow-other-keys) entry
    (if (or standing serves lock owner (string= "" (base-name name)))
        nil
        (list (base-name name) activity))))

(defconstant +least-alike+ 3)

(defun fold-threads (entries)
  (let ((kinds (make-hash-table :test 'equal))
        (servers (count-if #'server-entry-p entries))
        (listed '()))
    (setf entries (remove-if #'server-entry-p entries))
    (dolist (entry entries)
      (push entry (gethash (kind-of-entry entry) kinds)))
    (dolist (entry entries)
      (let* ((kind (kind-of-entry entry))
             (alike (reverse (gethash kind kinds))))
        (cond ((or (null kind) (< (length alike) +least-alike+))
               (push entry listed))
              ((eq entry (first alike))
               (push (list :name (format nil "~a..." (first kind))
                           :number (getf entry :number)
                           :activity (second kind)
                           :alike (mapcar (lambda (other) (getf other :number)) (rest alike)))
                     listed)))))
    (values (nreverse listed)
            (- (+ servers (length entries)) (length listed))
            (if (plusp servers)
                (format nil "~d more ~:[is~;are~] Swank's or Slynk's own." servers (> servers 1))
                nil))))
