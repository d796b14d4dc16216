"""What keeps copies of a session's process cheap, seen from outside: the image stays in huge pages, symbols are looked up right although
that is done in copies of packages, and what a session has made is intact however often its memory is collected between two calls."""

import os
import re
import time

import mcp

# More than may be left when the process is copied: what is young is collected first, unless that was done just before.
GARBAGE = "(progn (setf *garbage* (loop repeat 100 collect (make-string 2000))) nil)"
# To say that it was long ago writes to the image.
DUE = "(setf cl-mcp-agent::*next-collection* 0)"
DEFINED = [
    "(defun square (x) (* x x))",
    "(defclass point () ((x :initarg :x :reader x)))",
    "(x (make-instance 'point :x 1))",
    "(with-output-to-string (s) (describe 'car s))",
]
LOOKED_UP = """
(defun looked-up (name &optional (package "CL-USER"))
  (multiple-value-bind (symbol status) (find-symbol name package)
    (list (and symbol (symbol-package symbol) (package-name (symbol-package symbol))) status)))
"""
IN_THREADS = """
(let* ((cases (loop for (name package home) in '(("CAR" "CL-USER" "COMMON-LISP") ("ADDR" "CL-USER" "SB-ALIEN") ("VAR" "CL-USER" "SB-DEBUG")
                                                 ("CAR" "CL-MCP-AGENT" "COMMON-LISP") ("HELLO" "CL-MCP-AGENT" "CL-MCP-AGENT")
                                                 ("HELLO" "CL-USER" nil) ("MINE" "CL-USER" "COMMON-LISP-USER"))
                    collect (list name (find-package package) home)))
       (wrong '()) (interrupts 0))
  (flet ((look (times from)
           (loop repeat times
                 do (destructuring-bind (name package home) (nth (mod (incf from) (length cases)) cases)
                      (let* ((symbol (find-symbol name package)) (found (and symbol (package-name (symbol-package symbol)))))
                        (unless (equal found home)
                          (sb-ext:atomic-push (list name package found) (car *wrong*))))))))
    (defparameter *wrong* (list '()))
    (let ((threads (loop for i below 4 collect (let ((i i)) (sb-thread:make-thread (lambda () (look 40000 i)))))))
      ;; No more than that: threads that are interrupted without end do not come to theirs.
      (loop repeat 200
            while (some #'sb-thread:thread-alive-p threads)
            do (dolist (thread threads)
                 (ignore-errors (sb-thread:interrupt-thread thread (lambda () (look 20 interrupts)))) (incf interrupts))
               ;; A package that comes and goes among those that are looked in.
               (use-package "LATER" "CL-USER")
               (unless (equal '("LATER" :inherited) (looked-up "COMES-LATER")) (push :not-there wrong))
               (unuse-package "LATER" "CL-USER")
               (when (find-symbol "COMES-LATER" "CL-USER") (push :still-there wrong)))
      (mapc #'sb-thread:join-thread threads)
      (list wrong (subseq (first *wrong*) 0 (min 5 (length (first *wrong*)))) (plusp interrupts)))))
"""
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
    def mappings(self):
        """The lines of /proc/PID/smaps: (first line, KiB by name) of each mapping."""
        with open("/proc/%d/smaps" % self.pid, encoding="latin-1") as f:
            for first, rest in re.findall(r"^([0-9a-f]+-.*)\n((?:\w+: .*\n)+)", f.read(), re.MULTILINE):
                yield first, {key: int(kib) for key, kib in re.findall(r"^(\w+): +(\d+) kB", rest, re.MULTILINE)}

    def image(self):
        """(written, in huge pages) in KiB of the mapping that begins where the heap begins, which is the image's part of it."""
        kib = next(kib for first, kib in self.mappings() if first.startswith("%x-" % self.heap))
        return kib["Anonymous"] - kib["AnonHugePages"], kib["AnonHugePages"]

    def look(self):
        self.pid = int(self.s.evaluate("(sb-posix:getpid)").value)

    def start(self):
        """Look at the process of the session; skips where the kernel has no huge pages."""
        self.look()
        self.heap = int(self.s.evaluate("sb-vm:dynamic-space-start").value)
        if self.image()[1] == 0:
            self.skipTest("the kernel gave no huge pages")

    def test_what_every_call_does_leaves_the_image_in_huge_pages(self):
        self.start()
        # What the first calls write is not what this is about.
        for _ in range(50):
            self.assertEvaluates("(+ 1 2)", "3")
        written, huge = self.image()
        # Enough for some collections, which are between two calls.
        for _ in range(500):
            self.assertEvaluates("(+ 1 2)", "3")
        self.assertEqual((written, huge), self.image())
        self.assertGreater(huge, written)
        self.assertRegex(self.s.call("list-checkpoints").text, r"^[5-9]\d* checkpoints")

    def test_what_was_written_of_the_image_comes_into_huge_pages_again(self):
        self.start()
        self.s.evaluate("(defvar *garbage* nil)")
        most = 0
        for _ in range(100):
            self.s.evaluate(GARBAGE)
            self.s.evaluate(DUE)
            written = self.image()[0]
            if written < most:
                return
            most = max(most, written)
        self.fail("%d KiB of the image were written and never gathered" % most)

    def test_what_was_defined_leaves_the_image_in_huge_pages(self):
        self.start()
        for code in DEFINED:
            self.s.evaluate(code)
        self.assertGreater(self.image()[0], 0)
        # In some collections nothing that the image refers to moves any more, and so nothing is written in it: it is whole before
        # and after. The first collection after a definition, whenever it comes, writes it once and promotes what it refers to.
        written = []
        for _ in range(10):
            written.append(self.image()[0])
            if written[-2:] == [0, 0]:
                return
            self.repeat(600)
        self.fail("KiB of the image in small pages, after each 600 calls: %s" % written)

    def repeat(self, times):
        for _ in range(times):
            self.s.evaluate("(+ 1 2)")

    def faults(self, pid):
        return int(self.process_status(pid)[7])

    def test_what_every_call_writes_lies_on_a_few_pages(self):
        self.look()
        self.repeat(300)
        before = self.faults(self.pid)
        self.repeat(300)
        self.assertLess((self.faults(self.pid) - before) / 300, 14)

    def test_a_copy_that_waits_writes_next_to_nothing(self):
        self.look()
        self.repeat(30)
        with open("/proc/%d/task/%d/children" % (self.s.pid, self.s.pid), encoding="ascii") as f:
            copies = sorted(int(pid) for pid in f.read().split())[-4:]
        self.assertNotIn(self.pid, copies)
        faults = [self.faults(pid) for pid in copies]
        # One page of the C library's is mapped, and one of the stack copied.
        self.assertLess(sorted(faults)[1], 4, faults)

    def least_in_small_pages(self):
        """How many KiB the process has in pages that each copy of it has an entry for, when there is least, which is after a collection."""
        least = []
        for _ in range(20):
            least.append(sum(kib["Anonymous"] - kib["AnonHugePages"] for _, kib in self.mappings()))
            self.repeat(15)
        return min(least)

    def test_what_calls_leave_behind_does_not_get_more(self):
        self.look()
        self.least_in_small_pages()
        before = self.least_in_small_pages()
        self.repeat(2500)
        self.assertLess(self.least_in_small_pages() - before, 128, before)

    def faults_until_evaluated(self):
        """How many pages the process had to copy or to get from the call's coming until its form is evaluated, nobody having asked for a while."""
        evaluations = int(re.search(r"after evaluation (\d+)", self.s.call("list-checkpoints").text).group(1))
        mcp.wait_until(lambda: "- after evaluation %d," % evaluations in self.s.call("list-checkpoints").text, 5, "the copy of the last state")
        mcp.wait_until(lambda: self.process_status(self.pid)[0] == "S", 5, "a process that waits")
        time.sleep(0.01)  # the pause that all this is about
        before = self.faults(self.pid)
        return int(self.s.evaluate("(minor-faults)").value) - before

    def process_status(self, pid):
        with open("/proc/%d/stat" % pid, encoding="latin-1") as f:
            return f.read().rsplit(")", 1)[1].split()

    def test_what_a_call_writes_is_copied_before_it_comes(self):
        if tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2]) < (5, 14):
            self.skipTest("a kernel before 5.14 cannot copy pages beforehand")
        self.look()
        self.s.evaluate("(defun minor-faults () (nth 7 (multiple-value-list (sb-unix:unix-getrusage sb-unix:rusage_self))))")
        faults = sorted(self.faults_until_evaluated() for _ in range(30))
        self.assertLess(faults[15], 4, faults)

    def test_symbols_are_found_where_they_are_whatever_was_looked_up_before(self):
        self.s.evaluate(LOOKED_UP)
        self.s.evaluate('(progn (defpackage "LATER" (:use) (:export "COMES-LATER" "BOTH")) (defpackage "TOO" (:use) (:export "BOTH")) '
                        '(intern "SECRET" "LATER"))')
        inherited = '("COMMON-LISP" :INHERITED)'
        # Each in a call of its own: a copy of the process is made between, and memory may be collected.
        for code, name, found in (
            ("1", "CAR", inherited),
            ("1", "ADDR", '("SB-ALIEN" :INHERITED)'),
            ("1", "CAR", inherited),
            ("1", "OWN", "(NIL NIL)"),
            ('(intern "OWN")', "OWN", '("COMMON-LISP-USER" :INTERNAL)'),
            ("(export 'own)", "OWN", '("COMMON-LISP-USER" :EXTERNAL)'),
            ("(unexport 'own)", "OWN", '("COMMON-LISP-USER" :INTERNAL)'),
            ("(unintern 'own)", "OWN", "(NIL NIL)"),
            ('(shadow "CAR")', "CAR", '("COMMON-LISP-USER" :INTERNAL)'),
            (DUE, "CAR", '("COMMON-LISP-USER" :INTERNAL)'),
            ('(unintern (find-symbol "CAR"))', "CAR", inherited),
            ("1", "COMES-LATER", "(NIL NIL)"),
            ('(use-package "LATER")', "COMES-LATER", '("LATER" :INHERITED)'),
            ("1", "SECRET", "(NIL NIL)"),
            ('(shadowing-import (find-symbol "BOTH" "TOO"))', "BOTH", '("TOO" :INTERNAL)'),
            ('(use-package "TOO")', "BOTH", '("TOO" :INTERNAL)'),
            ("1", "COMES-LATER", '("LATER" :INHERITED)'),
            ('(export (intern "NEW" "LATER") "LATER")', "NEW", '("LATER" :INHERITED)'),
            ('(unintern (find-symbol "NEW" "LATER") "LATER")', "NEW", "(NIL NIL)"),
            ('(unuse-package "LATER")', "COMES-LATER", "(NIL NIL)"),
            ('(import (find-symbol "SECRET" "LATER"))', "SECRET", '("LATER" :INTERNAL)'),
            ('(progn (unuse-package "TOO") (delete-package "TOO"))', "BOTH", "(NIL :INTERNAL)"),
            ("1", "CDR", inherited),
        ):
            with self.subTest(code=code, name=name):
                self.s.evaluate(code)
                self.assertEvaluates('(looked-up "%s")' % name, found)
        # In another package of the image the same name is another symbol, or none.
        self.assertEvaluates('(list (looked-up "LOOKED-UP") (looked-up "LOOKED-UP" "CL-MCP") (looked-up "LOOKED-UP"))',
                             '(("COMMON-LISP-USER" :INTERNAL) (NIL NIL) ("COMMON-LISP-USER" :INTERNAL))')
        self.s.evaluate('(use-package "LATER")')
        self.assertFalse(self.s.call("rollback-session", to="-1").is_error)
        self.assertEvaluates('(looked-up "COMES-LATER")', "(NIL NIL)")

    def test_symbols_are_found_in_other_threads_and_while_an_interrupt_comes(self):
        self.s.evaluate(LOOKED_UP)
        self.s.evaluate('(progn (intern "MINE" "CL-USER") (defpackage "LATER" (:use) (:export "COMES-LATER")))')
        self.assertEvaluates(IN_THREADS, "(NIL NIL T)", timeout=60)

    def test_what_is_kept_is_intact_after_many_collections(self):
        self.s.evaluate(STRUCTURES)
        pid = self.s.evaluate("(sb-posix:getpid)").value
        for seed in range(1, 21):
            # SBCL looks at its whole heap with each of these collections, which takes it long, and ends the process if anything is wrong.
            verified = 0 if seed % 5 == 0 else 100
            code = '(progn (setf (extern-alien "verify_gens" char) %d) (keep %d) %s %s (setf *epoch* sb-kernel::*gc-epoch*) %d)'
            self.assertEvaluates(code % (verified, seed, GARBAGE, DUE, seed), str(seed))
            self.assertEvaluates("(eq *epoch* sb-kernel::*gc-epoch*)", "NIL")
            if seed % 10 == 0:
                self.assertEvaluates("(broken)", "NIL")
        self.assertEvaluates("(sb-posix:getpid)", pid)


if __name__ == "__main__":
    mcp.main()
