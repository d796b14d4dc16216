"""compare-with-files and what goes with it: the image and the files agree, or it is said how they differ."""

import os
import time

import mcp

PROJECT = {
    "pj.asd": '(defsystem "pj" :serial t :components ((:file "src/package") (:file "src/a") (:file "src/b") (:static-file "notes.lisp")))\n',
    "notes.lisp": "(defun not-code () 1)\n",
    "src/package.lisp": "(defpackage :pj (:use :cl) (:export #:f #:g))\n",
    "src/a.lisp": """(in-package :pj)

(defun f (x)
  (1+ x))

(defun old (x) (* 2 x))
(defparameter *limit* 10)
(defclass shape () ((name :initarg :name :accessor shape-name)))
(defgeneric area (shape &key))
(defmethod area ((s shape) &key) 0)
(defmethod area :around ((s (eql :unit)) &key) 1)
(defmethod (setf area) (new (s shape)) new)
(defstruct (point (:conc-name p-)) x y)
(define-condition lost (error) ((what :reader lost-what)))
(deftype small () '(integer 0 9))
(defun (setf limit) (new) (setf *limit* new))
(defmacro twice (x) `(progn ,x ,@(list x)))
(define-compiler-macro f (x) `(1+ ,x))
(defsetf limit-of (x) (y) `(list ,x ,y))
(define-symbol-macro the-limit *limit*)
(defconstant +most+ 5)
(define-method-combination both :operator list)
(defmacro define-thing (name &rest rest) `(setf (get ',name 'thing) ',rest))
(define-thing one 1 2)
(eval-when (:compile-toplevel :load-toplevel :execute)
  (defun helper-of-macros (x) x))
(let ((count 0))
  (defun counter () (incf count)))
""",
    "src/b.lisp": """(in-package :pj)
(defun g (x) (old x))
(defun computed () '#.(+ 1 2))
#+sbcl (defun which () :sbcl)
#-sbcl (defun which () :other)
(define-thing two 2)
""",
}


class Project(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.root = os.path.realpath(self.folder())
        mcp.write_files(self.root, PROJECT)
        self.lisp = self.start_server("--directory", self.root)

    def path(self, name):
        return os.path.join(self.root, name)

    def edit(self, name, *changes):
        text = mcp.read(self.path(name))
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        mcp.write(self.path(name), text)

    def load(self, **more):
        return self.assertSucceeds(self.lisp.call("load-system", system="pj", **more))

    def compare(self, **named):
        return self.assertSucceeds(self.lisp.call("compare-with-files", **named)).text

    def evaluate(self, code):
        return self.assertSucceeds(self.lisp.call("evaluate-lisp", code=code, package="PJ"))


class Compare(Project):
    def test_what_was_just_loaded_does_not_differ(self):
        self.load()
        self.assertRegex(self.compare(), r"^No difference found\. Compared: 27 definitions of 3 files\.$")
        self.assertRegex(self.compare(system="pj"), r"^No difference found\.")
        self.assertRegex(self.compare(path="src/b.lisp"), r"^No difference found\. Compared: 4 definitions of 1 file\.$")

    def test_the_six_groups(self):
        self.load()
        self.evaluate('(defun f (x) "Adds two." (+ x 2))\n(defun helper (x) x)')
        self.evaluate("(defmethod area ((s shape) &key) 7)")
        self.edit(
            "src/a.lisp",
            ("(defun old (x) (* 2 x))", ";; a comment\n(defun newer (x) (* 2 x))"),
            ("(defparameter *limit* 10)", "(DEFPARAMETER   *LIMIT*\n  11)"),
            ("(defmethod area ((s shape) &key) 0)", "(defmethod area ((s shape) &key) 3)"),
            ("(defun (setf limit) (new) (setf *limit* new))\n", ""),
            ("(define-thing one 1 2)", "(define-thing one 1 3)"),
        )
        self.edit("src/b.lisp", ("(defun g", "(defun (setf limit) (new) (setf *limit* new))\n(defun g"))
        text = self.compare()
        for group in (
            r"Only in the session:\n- function PJ::HELPER, evaluation 2\n",
            r"Replaced in the session:\n- function PJ:F, src/a\.lisp:3, evaluation 2: 1 line here, 2 lines in the file\n"
            r"- method PJ::AREA \(PJ::SHAPE\), src/a\.lisp:\d+, evaluation 3: 1 line here, 1 line in the file, which was edited too\n",
            r"Changed in the file:\n- variable PJ::\*LIMIT\*, src/a\.lisp:8\n- define-thing PJ::ONE, src/a\.lisp:\d+\n",
            r"Only in the file:\n- function PJ::NEWER, src/a\.lisp:7\n",
            r"Gone from the file:\n- function PJ::OLD, src/a\.lisp: called by PJ:G\n",
            r"Moved:\n- function \(SETF PJ::LIMIT\), src/b\.lisp:2: loaded from src/a\.lisp\n",
        ):
            self.assertRegex(text + "\n", group)
        self.assertEqual(6, text.count("\n\n"), text)

    def test_a_load_leaves_what_is_gone_and_tells_it_once(self):
        self.load()
        self.evaluate('(defun f (x) "Adds two." (+ x 2))')
        self.edit("src/a.lisp", ("(defun old (x) (* 2 x))", "(defun newer (x) (* 2 x))"))
        reply = self.load()
        self.assertIn("Replaced what was evaluated: PJ:F (evaluation 2)", reply.text)
        self.assertIn("Still defined, no longer in its file: function PJ::OLD (src/a.lisp; called by PJ:G)", reply.text)
        self.assertIn("Gone from the file:\n- function PJ::OLD, src/a.lisp: called by PJ:G", self.compare())
        self.edit("src/a.lisp", ("(defun newer (x) (* 2 x))", "(defun newer (x) (* 3 x))"))
        reply = self.load()
        self.assertNotIn("OLD", reply.text)
        self.assertNotIn("Replaced", reply.text)
        self.assertIn("Gone from the file:\n- function PJ::OLD", self.compare())
        self.edit("src/a.lisp", ("(defun newer (x) (* 3 x))", "(defun newer (x) (* 3 x))\n(defun old (x) x)"))
        self.load()
        self.assertIn("No difference found", self.compare())
        self.edit("src/a.lisp", ("\n(defun old (x) x)", ""))
        self.assertIn("no longer in its file: function PJ::OLD", self.load().text)

    def test_comparing_evaluates_and_interns_nothing(self):
        self.load()
        self.edit("src/b.lisp", ("'#.(+ 1 2)", "'#.(error \"evaluated\")"), ("(define-thing two 2)", "(define-thing brand-new (a-new-symbol))"))
        text = self.compare()
        self.assertIn("Cannot be compared:\n- function PJ::COMPUTED, src/b.lisp:3", text)
        self.assertIn("Only in the file:\n- define-thing PJ::BRAND-NEW, src/b.lisp:6", text)
        reply = self.evaluate('(list (find-symbol "BRAND-NEW") (find-symbol "A-NEW-SYMBOL") (count "CL-MCP-READING" (list-all-packages)'
                              ' :test (lambda (a b) (search a (package-name b)))))')
        self.assertEqual(["(NIL NIL 0)"], reply.values)

    def test_files_that_cannot_be_compared_are_told_and_the_others_compared(self):
        self.load()
        self.edit("src/a.lisp", ("(defun old (x) (* 2 x))", "(defun old (x) (no-such-package:y 2 x))"))
        self.edit("src/b.lisp", ("(old x)", "(+ 1 (old x))"))
        text = self.compare()
        self.assertIn("Changed in the file:\n- function PJ:G, src/b.lisp:2", text)
        self.assertIn("Cannot be compared:\n- function PJ::OLD, src/a.lisp:6", text)
        self.assertNotIn("Gone", text)
        self.assertRegex(text, r"Files:\n- src/a\.lisp: 1 form cannot be read; the first, line 6: Package NO-SUCH-PACKAGE does not exist\.\n")
        os.remove(self.path("src/b.lisp"))
        os.mkfifo(self.path("src/b.lisp"))
        self.assertIn("- src/b.lisp: not compared: it cannot be read", self.compare())
        os.remove(self.path("src/b.lisp"))
        text = self.compare()
        self.assertIn("- src/b.lisp: the file is gone", text)
        self.assertIn("Gone from the file:\n- function PJ:G, src/b.lisp", text)
        mcp.write(self.path("src/b.lisp"), "(in-package :pj)\n" + ";" * (5 << 20))
        self.assertIn("larger than 4 MiB", self.compare())
        with open(self.path("src/b.lisp"), "wb") as file:
            file.write(b'(in-package :pj)\n(defun g (x) "caf\xe9" x)\n(defun half (')
        text = self.compare()
        self.assertIn("Changed in the file:\n- function PJ:G, src/b.lisp:2", text)
        self.assertRegex(text, r"- src/b\.lisp: 1 form cannot be read; the first, line 3")

    def test_names_that_nothing_has(self):
        self.assertIn("No difference found. Compared: 0 definitions of 0 files.", self.compare())
        reply = self.lisp.call("compare-with-files", system="no-such")
        self.assertIn("The system no-such is not loaded", reply.text)
        self.assertIn("there is no such file", self.compare(path=self.path("nothing.lisp")))



class Places(Project):
    def test_a_place_is_told_only_if_the_name_stands_there(self):
        # Within the same second: nothing but the text tells that the file is another.
        mcp.write(self.path("c.lisp"), "(defun gone (x) (car x))\n(defun caller (x) (list (gone x)))\n")
        self.lisp.call("load-system", path="c.lisp")
        stat = os.stat(self.path("c.lisp"))
        mcp.write(self.path("c.lisp"), "(defun user (x) (cdr x))\n(defun another (x) (list (user x)))\n")
        os.utime(self.path("c.lisp"), ns=(stat.st_atime_ns, stat.st_mtime_ns))
        self.lisp.call("load-system", path="c.lisp")
        reply = self.lisp.call("find-definition", name="gone")
        self.assertIn("the file no longer contains this definition", reply.text)
        self.assertNotIn("defun user", reply.text)
        self.assertIn("(defun user (x) (cdr x))", self.lisp.call("find-definition", name="user").text)
        references = self.lisp.call("find-references", name="gone").text
        self.assertIn("c.lisp (changed since it was loaded)", references)
        self.assertNotIn("c.lisp:", references)
        self.lisp.call("evaluate-lisp", code="(caller 1)")
        for locals in (False, True):
            trace = self.lisp.call("get-backtrace", locals=locals).text
            self.assertRegex(trace, r"\(GONE 1\) at \S*c\.lisp \(changed since it was loaded\)")
            self.assertNotIn("user", trace)

    def test_a_place_in_an_edited_file_is_told_with_its_current_line(self):
        self.load()
        self.edit("src/a.lisp", ("(defun old (x)", "\n\n\n(defun old (x)"))
        mark = r"src/a\.lisp:9 \(changed since it was loaded\)"
        self.assertRegex(self.lisp.call("find-references", name="pj:g", relation="callees").text, "OLD.*" + mark)
        self.lisp.call("evaluate-lisp", code="(pj:g :no-number)")
        self.assertRegex(self.lisp.call("get-backtrace").text, r"\(PJ::OLD :NO-NUMBER\) at \S*" + mark)

    def test_the_part_of_a_package_inferred_system_is_found_where_the_system_is(self):
        mcp.write(self.path("pi.asd"), '(defsystem "pi" :class :package-inferred-system)\n')
        mcp.write(self.path("all.lisp"), "(defpackage :pi/all (:use :cl))\n(in-package :pi/all)\n(defun all () 1)\n")
        reply = self.assertSucceeds(self.lisp.call("load-system", system="pi/all"))
        self.assertIn("Found: in the session's directory", reply.text)
        self.assertIn("No difference found. Compared: 2 definitions of 1 file", self.compare(system="pi/all"))


class Forget(Project):
    def forget(self, name, **named):
        return self.lisp.call("forget-definition", name=name, **named)

    def test_what_is_gone_is_forgotten_and_what_is_in_a_file_is_kept(self):
        self.load()
        self.evaluate("(defmethod area ((s integer) &key) s)\n(defun helper () 1)\n(defvar *tried* 1)\n(defclass tried () (a))")
        self.edit("src/a.lisp", ("(defun old (x) (* 2 x))", ""), ("(defmethod area ((s shape) &key) 0)", ""), ("(defconstant +most+ 5)", ""))
        self.load()
        self.assertEqual("Forgotten: function PJ::OLD (called by PJ:G).", self.assertSucceeds(self.forget("pj::old")).text)
        self.assertIsError(self.lisp.call("evaluate-lisp", code="(pj:g 1)"), "UNDEFINED-FUNCTION")
        self.assertEqual("Forgotten: constant +MOST+.", self.assertSucceeds(self.forget("+most+", package="pj")).text)
        text = self.assertSucceeds(self.forget("area", package="pj")).text
        self.assertIn("Forgotten: method AREA (INTEGER), method AREA (SHAPE).", text)
        self.assertIn("generic function AREA: it still has methods", text)
        self.assertIn("method AREA :AROUND ((EQL :UNIT)): it is still in src/a.lisp:", text)
        for name in ("helper", "*tried*", "tried"):
            self.assertSucceeds(self.forget(name, package="pj"), "Forgotten: ")
        self.assertIn("No difference found", self.compare())
        self.assertEqual(["(NIL NIL NIL NIL)"], self.evaluate("(list (fboundp 'helper) (boundp '*tried*) (find-class 'tried nil) (fboundp 'old))").values)

    def test_what_is_in_a_file_is_forgotten_only_if_forced(self):
        self.load()
        self.assertIn("function PJ:F: it is still in src/a.lisp:3. Nothing was forgotten.", self.assertIsError(self.forget("pj:f")).text)
        self.assertIsError(self.forget("car"), "belongs to the Lisp")
        self.assertIn("There is no symbol", self.forget("no-such-thing").text)
        self.assertSucceeds(self.forget("pj:f", force=True), "Forgotten: function PJ:F")
        self.assertIn("Only in the file:\n- function PJ:F, src/a.lisp:3: it was loaded, but is no longer defined here", self.compare())


class FromSession(Project):
    def store(self, **named):
        return self.lisp.call("edit-form", **{"from-session": True, **named})

    def test_what_was_evaluated_is_written_where_it_belongs(self):
        self.load()
        self.evaluate('(defun f (x)\n  "Adds two."   ; as it is\n  (+ x 2))\n\n;; A helper.\n(defun helper (x)\n  x)')
        self.evaluate("(defmethod area :around ((s (eql :unit)) &key) 7)\n(defmacro twice (x) `(list ,x ,x))")
        before = mcp.read(self.path("src/a.lisp"))
        text = self.assertSucceeds(self.store(name="f")).text
        self.assertIn("Replaced function PJ:F (evaluation 2)\nin src/a.lisp\n@@", text)
        self.assertIn('+  "Adds two."   ; as it is', text)
        after = before.replace("(defun f (x)\n  (1+ x))", '(defun f (x)\n  "Adds two."   ; as it is\n  (+ x 2))')
        self.assertEqual(after, mcp.read(self.path("src/a.lisp")))
        self.assertNotIn("PJ:F", self.compare())
        self.assertRegex(self.lisp.call("find-definition", name="pj:f").text, r"src/a\.lisp:3.*\n.*defun f \(x\)\n  \"Adds two")
        self.lisp.call("evaluate-lisp", code="(funcall 'pj:f :no-number)")
        self.assertRegex(self.lisp.call("get-backtrace").text, r"\(PJ:F :NO-NUMBER\) at \S*src/a\.lisp:3")
        # Several, each into its file; a new one behind another.
        text = self.assertSucceeds(self.store(names=["area :around ((s (eql :unit)))", "twice", "pj::helper"], after="old")).text
        for line in ("Replaced method PJ::AREA :AROUND ((EQL :UNIT)) (evaluation 3)", "Replaced macro PJ::TWICE (evaluation 3)",
                     "Added function PJ::HELPER (evaluation 2)"):
            self.assertIn(line, text)
        after = (after.replace("(defun old (x) (* 2 x))", "(defun old (x) (* 2 x))\n\n(defun helper (x)\n  x)")
                 .replace("((s (eql :unit)) &key) 1)", "((s (eql :unit)) &key) 7)")
                 .replace("`(progn ,x ,@(list x))", "`(list ,x ,x)"))
        self.assertEqual(after, mcp.read(self.path("src/a.lisp")))
        self.assertIn("No difference found", self.compare())
        # A clean load gives the same.
        self.assertNotIn("[Session]", self.load().text)
        self.assertEqual(["(3 (1 1))"], self.evaluate("(list (f 1) (twice 1))").values)

    def test_a_new_definition_goes_to_the_end_of_the_forms_of_its_package(self):
        self.load()
        self.evaluate("(defun helper (x) x)")
        self.assertIsError(self.store(name="helper"), "No file defines function PJ::HELPER. Pass path")
        self.assertSucceeds(self.store(name="helper", path="src/b.lisp"), "Added function PJ::HELPER")
        self.assertEqual(PROJECT["src/b.lisp"] + "\n(defun helper (x) x)\n", mcp.read(self.path("src/b.lisp")))
        self.assertIn("No difference found", self.compare())

    def test_a_file_without_definitions_takes_those_of_the_package_in_which_it_ends(self):
        self.load()
        self.evaluate("(defun helper (x) x)\n(defun second-helper (x) x)")
        mcp.write(self.path("src/c.lisp"), "(in-package :cl-user)\n;; (in-package :pj)\n")
        self.assertIsError(self.store(names=["helper"], path="src/c.lisp"), "src/c.lisp has no definition in the package PJ.")
        mcp.write(self.path("src/c.lisp"), "(in-package #:pj)\n")
        self.assertSucceeds(self.store(names=["helper", "second-helper"], path="src/c.lisp"))
        self.assertEqual("(in-package #:pj)\n\n(defun helper (x) x)\n\n(defun second-helper (x) x)\n", mcp.read(self.path("src/c.lisp")))

    def test_of_several_files_none_is_written_if_one_is_refused(self):
        self.load()
        self.evaluate("(defun f (x) (+ x 2))\n(defun g (x) (list (old x)))")
        broken = PROJECT["src/b.lisp"] + "(defun unfinished (\n"
        mcp.write(self.path("src/b.lisp"), broken)
        reply = self.assertIsError(self.store(names=["f", "g"]), "The parentheses of the file are unbalanced")
        self.assertNotIn("Replaced", reply.text)
        self.assertEqual(PROJECT["src/a.lisp"], mcp.read(self.path("src/a.lisp")))
        self.assertEqual(broken, mcp.read(self.path("src/b.lisp")))

    def test_what_is_refused_writes_nothing(self):
        self.load()
        self.evaluate("(defun f (x) (+ x 2))\n(progn (defun one () 1) (defun old (x) x))")
        self.lisp.call("evaluate-lisp", code="(defun pj:g (y) (list y))")
        before = {name: mcp.read(self.path(name)) for name in PROJECT}
        self.assertIsError(self.store(name="pj:g"), "function PJ:G would read otherwise in the package PJ", "it was evaluated in COMMON-LISP-USER")
        self.assertIsError(self.store(name="old"), "in one form with other definitions")
        self.assertIsError(self.store(name="nothing"), "No evaluation of this session defines nothing now.", "Nothing was written.")
        self.assertIsError(self.store(names=["f", "nothing"]), "Nothing was written.")
        self.assertIsError(self.lisp.call("edit-form", path="src/a.lisp", content="(a)", name="f"), "Pass path, kind and name")
        self.assertSucceeds(self.store(name="f", **{"dry-run": True}), "(dry-run: not written)")
        self.assertEqual(before, {name: mcp.read(self.path(name)) for name in PROJECT})
        self.edit("src/a.lisp", ("(1+ x))\n\n", "(1- x))\n\n"))
        reply = self.assertIsError(self.store(name="f"), "was edited", "(1- x))", "In the session, evaluation 2:\n(defun f (x) (+ x 2))")
        self.assertIn("Nothing was written", reply.text)
        # Changes elsewhere in the file do not matter.
        self.edit("src/a.lisp", ("(1- x))\n\n", "(1+ x))\n\n;; elsewhere\n"))
        self.assertSucceeds(self.store(name="f"), "Replaced function PJ:F")

    def test_line_ends_and_encoding_of_the_file_stay(self):
        mcp.write(self.path("c.lisp"), '(in-package :cl-user)\r\n"\u00e9\u00e9"\r\n#+sbcl\r\n(defun which ()\r\n  1)\r\n#-sbcl\r\n(defun which ()\r\n  2) ; end')
        self.lisp.call("load-system", path="c.lisp")
        self.lisp.call("evaluate-lisp", code="(defun which ()\n  \"\u00e9\"\n  3)\n(defun more () 1)")
        self.assertSucceeds(self.store(names=["which", "more"], path="c.lisp"))
        self.assertEqual(
            '(in-package :cl-user)\r\n"\u00e9\u00e9"\r\n#+sbcl\r\n(defun which ()\r\n  "\u00e9"\r\n  3)\r\n'
            "#-sbcl\r\n(defun which ()\r\n  2) ; end\r\n\r\n(defun more () 1)",
            mcp.read_bytes(self.path("c.lisp")).decode(),
        )


class CleanStart(Project):
    def setUp(self):
        super().setUp()
        mcp.write_files(self.root, {
            "pt.asd": '(defsystem "pt" :depends-on ("pj" "fiveam") :components ((:file "t"))\n'
                      '  :perform (test-op (o c) (uiop:symbol-call :fiveam :run! :pt)))\n',
            "t.lisp": "(defpackage :pt (:use :cl :fiveam))\n(in-package :pt)\n(def-suite :pt)\n(in-suite :pt)\n"
                      "(test calls-old (is (= 4 (pj:g 2))))\n(test adds (is (= 3 (pj:f 2))))\n",
        })

    def clean(self, tool="run-tests", system="pt", **named):
        return self.lisp.call(tool, system=system, clean=True, **named)

    def compiled(self):
        return sorted(
            os.path.join(folder, name) for folder, _, names in os.walk(mcp.clean_environment().get("XDG_CACHE_HOME", "/none"))
            for name in names if self.root in folder)

    def test_what_fails_only_from_a_clean_start_is_told_with_its_reason(self):
        self.assertSucceeds(self.lisp.call("run-tests", system="pt"), "2 tests: 2 passed")
        self.edit("src/a.lisp", ("(defun old (x) (* 2 x))", "(defun newer (x) (* 2 x))"))
        self.load()
        self.evaluate("(defun f (x) (declare (notinline f)) (* 2 x))\n(setf (compiler-macro-function 'f) nil)")
        self.lisp.call("load-system", path="t.lisp")
        self.assertIn("1 failed", self.lisp.call("run-tests", system="pt", test="adds").text)
        self.evaluate("(defun kept () 1)")
        reply = self.clean()
        self.assertRegex(reply.text, r"^From a clean start:\n\n")
        self.assertIn("pt: FAILED. 2 tests: 1 passed, 0 failed, 1 with an unexpected error", reply.text)
        self.assertIn("Undefined only there: PJ::OLD is still defined in the session.", reply.text)
        self.assertRegex(reply.text, r"Fails only there: (PT::)?CALLS-OLD")
        self.assertRegex(reply.text, r"Failed only in the session: (PT::)?ADDS")
        self.assertTrue(reply.is_error)
        self.assertNotIn("cannot be entered", reply.text)
        # The session is as it was, and the other Lisp has ended.
        self.assertEqual(["(4 1 4)"], self.evaluate("(list (f 2) (kept) (old 2))").values)
        self.assertNotIn("-clean", self.lisp.call("session-info", all=True).text)

    def test_no_compiled_file_is_used_or_replaced_and_none_is_left(self):
        self.load()
        before = {path: os.stat(path).st_mtime_ns for path in self.compiled()}
        # A file that has changed without another date: its compiled file would still be taken.
        stat = os.stat(self.path("src/a.lisp"))
        self.edit("src/a.lisp", ("(* 2 x)", "(* 3 x)"))
        os.utime(self.path("src/a.lisp"), ns=(stat.st_atime_ns, stat.st_mtime_ns))
        reply = self.clean()
        self.assertRegex(reply.text, r"FAILED\. 2 tests: 1 passed, 1 failed")
        self.assertEqual(before, {path: os.stat(path).st_mtime_ns for path in self.compiled()} if before else {})
        self.assertEqual([], [name for name in os.listdir("/tmp") if name.startswith("cl-mcp-clean")])

    def test_load_system_from_a_clean_start(self):
        self.load()
        self.edit("src/a.lisp", ("(defun old (x) (* 2 x))", ""))
        reply = self.assertSucceeds(self.clean("load-system", "pj"))
        self.assertIn("From a clean start:\n", reply.text)
        self.assertIn("Loaded pj.", reply.text)
        self.assertIn("undefined function: PJ::OLD", reply.text)
        self.assertIn("Undefined only there: PJ::OLD is still defined in the session.", reply.text)
        self.edit("src/b.lisp", ("(defun g (x) (old x))", "(error \"broken\")"))
        self.assertIsError(self.clean("load-system", "pj"), "From a clean start:", "broken")
        self.assertNotIn("-clean", self.lisp.call("session-info", all=True).text)

    def test_a_clean_run_that_cannot_begin_leaves_no_session(self):
        for tool in ("run-tests", "load-system"):
            with self.subTest(tool):
                self.assertRegex(self.clean(tool, "no-such-system").text, r"\AThere is no system no-such-system\.")
                self.assertNotIn("-clean", self.lisp.call("session-info", all=True).text)

    def test_a_session_that_is_used_is_not_closed_for_a_clean_run(self):
        self.assertSucceeds(self.lisp.call("create-session", name="default-clean"))
        for code in ("(defvar *mine* 7)", "1"):
            self.lisp.evaluate(code, session="default-clean")
        self.assertIsError(self.clean("load-system", "pj"), "needs the name default-clean", "close: true")
        self.assertValue(self.lisp.evaluate("*mine*", session="default-clean"), "7")

    def test_a_clean_run_goes_on_beside_the_session_and_is_cancelled(self):
        self.load()
        mcp.write(self.path("t.lisp"), mcp.read(self.path("t.lisp")).replace("(= 3 (pj:f 2))", "(sleep 1000)"))
        reply = self.lisp.start_call("run-tests", {"system": "pt", "clean": True, "wait": 0.2}).reply()
        self.assertIn("Pass session: default-clean to both.", reply.text)
        self.assertEqual(["3"], self.evaluate("(f 2)").values)
        self.assertIsError(self.clean(), "A clean run goes on already, in session default-clean")
        self.assertSucceeds(self.lisp.call("cancel-evaluation", session="default-clean"))
        self.assertSucceeds(self.lisp.call("reset-session", session="default-clean", close=True))
        pending = self.lisp.start_call("run-tests", {"system": "pt", "clean": True})
        mcp.wait_until(lambda: "default-clean" in self.lisp.call("session-info", all=True).text, 20, "the clean session")
        self.lisp.notify("notifications/cancelled", {"requestId": pending.id})
        mcp.wait_until(lambda: "default-clean" not in self.lisp.call("session-info", all=True).text, 20, "its end")
