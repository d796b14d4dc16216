;;;; The wire format, the twin of src/wire: s-expressions as octets. The reader makes no symbols: a keyword that the image
;;;; does not have becomes :UNKNOWN.

(in-package #:cl-mcp-agent)

(declaim (type octets *input* *output-octets*)
         (type index *input-end* *output-end*))
(defun make-buffer (length)
  (make-array length :element-type '(unsigned-byte 8) :initial-element 0))

;;; For most messages; so small that both lie on one page, which is copied once after each copy of the process.
(defconstant +buffer-length+ 1024)
(defconstant +longest-buffer-kept+ (* 1024 1024))

(defvar *input* (make-buffer +buffer-length+))
(defvar *input-end* 0)
(defvar *output-octets* (make-buffer +buffer-length+))
(defvar *output-end* 0)

;;; Reading

(define-condition wire-error (error)
  ()
  (:report "The message on the channel makes no sense."))

(defun decode-string (start end escapes)
  "Decode the UTF-8 of *INPUT* between START and END, which holds ESCAPES backslashes to drop; if that is 0, none is dropped."
  (declare (type index start end escapes))
  (let* ((input *input*)
         (text (make-string (- end start escapes)))
         (from start)
         (to 0))
    (declare (type index from to) (type octets input))
    (fast
      (loop while (< from end)
            do (let ((octet (aref input from)))
                 (when (and (= octet 92) (plusp escapes))
                   (incf from)
                   (setf octet (aref input from)))
                 (let* ((width (cond ((< octet 128) 1) ((< octet 224) 2) ((< octet 240) 3) (t 4)))
                        (code (if (= width 1) octet (logand octet (ash 127 (- width))))))
                   (declare (type (unsigned-byte 27) code))
                   (loop for place of-type index from (1+ from) below (min end (+ from width))
                         do (setf code (logior (ash (logand code #x1fffff) 6) (logand 63 (aref input place)))))
                   (setf (schar text to)
                         (if (< code char-code-limit) (code-char code) (code-char #xfffd)))
                   (incf to)
                   (incf from width)))))
    (if (= to (length text)) text (subseq text 0 to))))

(defun parse-string (position limit)
  "Read the string after the quote at POSITION of *INPUT*; return it and where it ended."
  (declare (type index position limit))
  (let ((input *input*)
        (start (1+ position))
        (escapes 0)
        (at (1+ position)))
    (declare (type octets input) (type index start escapes at))
    (fast
      (loop
        (when (>= at limit)
          (error 'wire-error))
        (let ((octet (aref input at)))
          (cond ((= octet 34) (return))
                ((= octet 92) (incf escapes) (incf at 2))
                (t (incf at))))))
    (values (decode-string start at escapes) (1+ at))))

(defun token-end (start limit)
  "Return where the keyword or number that begins at START of *INPUT* ends."
  (or (position-if (lambda (octet) (or (= octet 32) (= octet 41))) (the octets *input*) :start start :end limit)
      limit))

(defun parse-keyword (position limit)
  (let* ((end (token-end position limit))
         (name (make-string (- end position 1))))
    (loop for index below (length name)
          do (setf (schar name index) (char-upcase (code-char (aref *input* (+ position 1 index))))))
    ;; What no operation looks for is in no code of the agent's.
    (values (or (find-symbol name #.(find-package "KEYWORD")) :unknown)
            end)))

(defun parse-atom (position limit)
  "Read an integer, NIL or T; a float is read as the integer part, as no request has one."
  (declare (type index position limit))
  (let* ((input *input*)
         (first (aref input position))
         (end (token-end position limit)))
    (declare (type octets input) (type index end))
    (cond ((= first 110) (values nil end))
          ((= first 116) (values t end))
          (t
           (let ((sign (if (= first 45) -1 1))
                 (value 0))
             (declare (type (integer 0 #.(ash most-positive-fixnum -4)) value))
             (loop for at from (if (= first 45) (1+ position) position) below end
                   for digit = (- (aref input at) 48)
                   while (<= 0 digit 9)
                   do (setf value (+ (* 10 (mod value (ash 1 53))) digit)))
             (values (* sign value) end))))))

(defun parse-value (position limit depth)
  "Read the value at POSITION of *INPUT*; return it and where it ended."
  (declare (type index position limit depth))
  (when (or (>= position limit) (> depth 64))
    (error 'wire-error))
  (let ((octet (aref *input* position)))
    (cond ((= octet 40)
           (let* ((head (list nil))
                  (tail head)
                  (at (1+ position)))
             (declare (type index at))
             (loop
               (when (>= at limit)
                 (error 'wire-error))
               (let ((octet (aref *input* at)))
                 (cond ((= octet 41) (return (values (rest head) (1+ at))))
                       ((= octet 32) (incf at))
                       (t
                        (multiple-value-bind (value end) (parse-value at limit (1+ depth))
                          (setf tail (setf (rest tail) (list value))
                                at end))))))))
          ((= octet 34) (parse-string position limit))
          ((= octet 58) (parse-keyword position limit))
          (t (parse-atom position limit)))))

;;; Writing

(defun make-room (count)
  (declare (type index count))
  (let ((needed (+ *output-end* count)))
    (when (> needed (length *output-octets*))
      (let ((new (make-buffer (* 2 needed))))
        (replace new *output-octets* :end2 *output-end*)
        (setf *output-octets* new)))))

(declaim (inline put-octet))
(defun put-octet (octet)
  (setf (aref *output-octets* *output-end*) octet)
  (incf *output-end*))

(defun put-string (string &optional (quoted t))
  "Write STRING, between quotes and with escapes if QUOTED is true."
  (declare (type (simple-array character (*)) string))
  (make-room (+ 2 (* 4 (length string))))
  (let ((octets *output-octets*)
        (to *output-end*))
    (declare (type octets octets) (type index to))
    (macrolet ((put (octet)
                 `(progn (setf (aref octets to) ,octet) (incf to))))
      (fast
        (when quoted
          (put 34))
        (loop for character across string
              do (let ((code (char-code character)))
                   (cond ((< code 128)
                          (when (and quoted (or (= code 34) (= code 92)))
                            (put 92))
                          (put code))
                         ((< code #x800)
                          (put (logior 192 (ash code -6)))
                          (put (logior 128 (logand 63 code))))
                         (t
                          (when (<= #xd800 code #xdfff)
                            (setf code #xfffd))
                          (cond ((< code #x10000)
                                 (put (logior 224 (ash code -12))))
                                (t
                                 (put (logior 240 (ash code -18)))
                                 (put (logior 128 (logand 63 (ash code -12))))))
                          (put (logior 128 (logand 63 (ash code -6))))
                          (put (logior 128 (logand 63 code)))))))
        (when quoted
          (put 34))))
    (setf *output-end* to)))

(defun put-keyword (keyword)
  (let ((name (symbol-name keyword)))
    (declare (type simple-string name))
    (make-room (+ 1 (length name)))
    (put-octet 58)
    (loop for character across name
          do (put-octet (char-code (char-downcase character))))))

(defun put-digits (number)
  "Write NUMBER, which is not negative."
  (declare (type (and fixnum unsigned-byte) number))
  (multiple-value-bind (rest digit) (floor number 10)
    (when (plusp rest)
      (put-digits rest))
    (put-octet (+ 48 digit))))

(defun put-integer (integer)
  "Write INTEGER, or the integer nearest to it that the other side takes."
  (make-room 24)
  (when (minusp integer)
    (put-octet 45))
  (put-digits (min (abs integer) most-positive-fixnum)))

(defun put-value (value)
  (typecase value
    (null (make-room 3) (put-octet 110) (put-octet 105) (put-octet 108))
    ((eql t) (make-room 1) (put-octet 116))
    ;; This is a keyword even if KEYWORDP denies it: the user's code can delete the package KEYWORD.
    (symbol (put-keyword value))
    (integer (put-integer value))
    (string (put-string (coerce value '(simple-array character (*)))))
    (cons
     (make-room 1)
     (put-octet 40)
     (loop for (element . more) on value
           do (put-value element)
              (when more
                (make-room 1)
                (put-octet 32)))
     (make-room 1)
     (put-octet 41))
    (t (put-value "#<?>"))))
