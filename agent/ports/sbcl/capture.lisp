;;;; The agent's port to SBCL: a stream that keeps a bounded number of characters.

(in-package #:cl-mcp-agent)

(declaim (ftype function stop-capture))

(define-output-stream capture ((:constructor %make-capture ())
                               (:conc-name captured-)
                               (:copier nil)
                               (:predicate nil))
    (:character #'capture-character :string #'capture-string :misc #'capture-misc)
  (text-buffer (make-string 192) :type (simple-array character (*)))
  (kept 0 :type index)
  (keep 0 :type index)
  (count 0 :type index)
  (stop 0 :type index)
  (column 0 :type index))

(defun grow-capture (capture needed)
  (declare (type index needed))
  (let* ((old (captured-text-buffer capture))
         (new (make-string (min (captured-keep capture) (max needed (* 2 (length old)))))))
    (replace new old :end2 (captured-kept capture))
    (setf (captured-text-buffer capture) new)))

(defun capture-character (capture character)
  (declare (type capture capture) (type character character)
           (optimize speed (sb-c:insert-array-bounds-checks 0)))
  (let ((kept (captured-kept capture)))
    (when (< kept (captured-keep capture))
      (when (= kept (length (captured-text-buffer capture)))
        (grow-capture capture (1+ kept)))
      (setf (schar (captured-text-buffer capture) kept) character
            (captured-kept capture) (1+ kept)))
    (setf (captured-column capture)
          (if (char= character #\newline) 0 (1+ (captured-column capture))))
    (when (>= (incf (captured-count capture)) (captured-stop capture))
      (stop-capture))
    character))

(defun capture-string (capture string start end)
  (declare (type capture capture) (type simple-string string) (type index start)
           (type (or null index) end) (optimize speed))
  (let* ((end (or end (length string)))
         (room (- (captured-keep capture) (captured-kept capture)))
         (taken (min room (- end start)))
         (kept (captured-kept capture)))
    (declare (type index end room taken))
    (when (plusp taken)
      (when (> (+ kept taken) (length (captured-text-buffer capture)))
        (grow-capture capture (+ kept taken)))
      (let ((text (captured-text-buffer capture)))
        (macrolet ((copy ()
                     `(loop for from of-type index from start below (+ start taken)
                            for to of-type index from kept
                            do (setf (schar text to) (schar string from)))))
          (if (typep string '(simple-array character (*))) (copy) (copy))))
      (setf (captured-kept capture) (+ kept taken)))
    (let ((newline (position #\newline string :start start :end end :from-end t)))
      (setf (captured-column capture)
            (if newline
                (- end newline 1)
                (+ (captured-column capture) (- end start)))))
    (when (>= (incf (captured-count capture) (- end start)) (captured-stop capture))
      (stop-capture))
    string))

(defun capture-misc (capture operation argument)
  (declare (ignore argument))
  (case operation
    (#.(sb-impl::%stream-opcode :charpos) (captured-column capture))
    (#.(sb-impl::%stream-opcode :element-type) 'character)
    (#.(sb-impl::%stream-opcode :element-mode) 'character)
    (#.(sb-impl::%stream-opcode :external-format) :default)))

(implement make-capture ()
  (%make-capture))

(implement start-capture (capture keep stop)
  (setf (captured-kept capture) 0
        (captured-keep capture) keep
        (captured-count capture) 0
        (captured-stop capture) stop
        (captured-column capture) 0))

(implement capture-text (capture)
  (values (subseq (captured-text-buffer capture) 0 (captured-kept capture))
          (captured-count capture)))
