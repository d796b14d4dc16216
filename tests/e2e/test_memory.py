"""Memory is collected before a session's process is copied: garbage goes back to the kernel, and what the session has made is
intact however often that is done."""

import re

import mcp

# More than may be left when the process is copied.
GARBAGE = "(progn (setf *garbage* (loop repeat 100 collect (make-string 2000))) nil)"
STRUCTURES = """
(progn
  (defstruct node left right text number)
  (defun grow (seed depth)
    (if (zerop depth)
        (list seed (* seed 1.5d0) (format nil "leaf ~d" seed) (expt 7 (+ 60 seed)))
        (make-node :left (grow (* 2 seed) (1- depth)) :right (grow (1+ (* 2 seed)) (1- depth))
                   :text (make-string 100 :initial-element (code-char (+ 97 (mod seed 26)))) :number (vector seed depth :kept))))
  (defun table (seed)
    (let ((table (make-hash-table :test (if (evenp seed) 'equal 'eql))))
      (dotimes (i 300 table) (setf (gethash (+ seed i) table) (cons i (list seed))))))
  (defun chain (seed)
    (loop for i below 20000 collect (+ i seed)))
  (defun bytes (seed)
    (let ((bytes (make-array 90000 :element-type '(unsigned-byte 8)))) (fill bytes (mod seed 256))))
  (defvar *epoch* nil)
  (defvar *garbage* nil)
  (defvar *kept* '())
  (defvar *by-identity* (make-hash-table :test 'eq))
  (defun keep (seed)
    (let ((object (list seed (grow seed 6) (table seed) (chain seed) (bytes seed))))
      (setf (gethash object *by-identity*) seed)
      (push object *kept*)
      (when (> (length *kept*) 12)
        (remhash (elt *kept* 6) *by-identity*)
        (setf *kept* (remove (elt *kept* 6) *kept*)))
      seed))
  (defun broken ()
    (loop for (seed tree table chain bytes) in *kept*
          for object in *kept*
          unless (and (eql seed (gethash object *by-identity*)) (equalp tree (grow seed 6)) (equalp table (table seed))
                      (equal chain (chain seed)) (equalp bytes (bytes seed)))
            collect seed)))
"""


class Memory(mcp.TestCase):
    def test_objects_are_intact_after_many_collections(self):
        self.s.evaluate(STRUCTURES)
        pid = self.s.evaluate("(sb-posix:getpid)").value
        for seed in range(1, 21):
            # SBCL looks at its whole heap with each of these collections, which takes it long, and ends the process if anything is wrong.
            verified = 0 if seed % 5 == 0 else 100
            code = '(progn (setf (extern-alien "verify_gens" char) %d) (keep %d) %s (setf *epoch* sb-kernel::*gc-epoch*) %d)'
            self.assertEvaluates(code % (verified, seed, GARBAGE, seed), str(seed))
            # Memory was collected between the two calls.
            self.assertEvaluates("(eq *epoch* sb-kernel::*gc-epoch*)", "NIL")
            if seed % 10 == 0:
                self.assertEvaluates("(broken)", "NIL")
        self.assertEvaluates("(sb-posix:getpid)", pid)

    def anonymous_mib(self, name):
        """Memory of the session's process that is not of a file, by its NAME in /proc, once the process has been copied."""
        pid = self.s.evaluate("(sb-posix:getpid)").value
        with open("/proc/%s/smaps_rollup" % pid, encoding="ascii") as f:
            return int(re.search("^%s: *([0-9]+) kB" % name, f.read(), re.MULTILINE).group(1)) / 1024

    def test_garbage_goes_back_to_the_kernel(self):
        before = self.anonymous_mib("Anonymous")
        # Too little for SBCL to collect it.
        self.assertEvaluates("(length (make-list 2000000))", "2000000")
        self.assertLess(self.anonymous_mib("Anonymous"), before + 12)

    def test_a_large_session_has_huge_pages(self):
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as f:
            if "[never]" in f.read():
                self.skipTest("this kernel gives no huge pages")
        self.s.evaluate("(defvar *large* (make-list 4000000))")
        self.assertGreater(self.anonymous_mib("AnonHugePages"), 32)
