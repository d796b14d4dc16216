"""Looking at real code: five libraries, ten names of each; and at what a session has defined, whatever happened to it since.

One server for the libraries. What look-ups reply in small is in tests/data/tools.
"""

import os
import re

import mcp
import test_tool_contract as contract

LIBRARIES = {
    "alexandria": (
        "alexandria",
        ["flatten", "with-gensyms", "if-let", "curry", "hash-table-alist", "define-constant", "iota", "ensure-list", "when-let*", "array-index"],
    ),
    "cl-ppcre": (
        "cl-ppcre",
        ["scan", "create-scanner", "all-matches", "regex-replace-all", "split", "do-matches", "register-groups-bind", "ppcre-syntax-error", "*use-bmh-matchers*", "quote-meta-chars"],
    ),
    "closer-mop": (
        "closer-mop",
        ["ensure-finalized", "subclassp", "required-args", "ensure-method", "defmethod", "defgeneric", "standard-generic-function", "fix-slot-initargs", "compute-effective-method-function", "compute-argument-order"],
    ),
    "iterate": (
        "iterate",
        ["iterate", "iter", "defmacro-driver", "defmacro-clause", "display-iterate-clauses", "dsetq", "next-iteration", "terminate", "leave", "initially"],
    ),
    "local-time": (
        "local-time",
        ["now", "timestamp+", "parse-timestring", "format-timestring", "timestamp", "timestamp-to-unix", "with-decoded-timestamp", "+utc-zone+", "*default-timezone*", "timestamp<"],
    ),
}

PLACE = re.compile(r" at (/[^\n]*?):(\d+)$", re.MULTILINE)


def line_of(path, number):
    return mcp.read(path).split("\n")[int(number) - 1]


class Libraries(mcp.TestCase):
    """Called by no other name than the tools': nothing is evaluated between the look-ups."""

    @classmethod
    def setUpClass(cls):
        cls.server = mcp.Client("--tools=full")
        for system in LIBRARIES:
            report = cls.server.call("load-system", wait=300, system=system, timeout=250)
            assert not report.is_error, report.text

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def look(self, tool, **arguments):
        reply = self.server.call(tool, {name.replace("_", "-"): value for name, value in arguments.items()})
        self.assertFalse(reply.is_error, "%s %r: %s" % (tool, arguments, reply.text))
        return reply.text

    def names(self):
        for package, names in LIBRARIES.values():
            for name in names:
                yield "%s::%s" % (package, name)

    def test_names_are_described(self):
        for name in self.names():
            with self.subTest(name):
                text = self.look("describe-symbol", name=name)
                self.assertIn(" is a symbol of the package ", text)
                self.assertRegex(text, r" names an? ")
                self.assertRegex(text, r"\n  Source: /\S+\.lisp(:\d+)?")
                if re.search(r"names a (compiled|generic) function|names a macro", text):
                    self.assertRegex(text, r"\n  Arguments: \(")

    def test_names_may_be_written_as_in_code_or_in_markdown(self):
        plain = self.look("describe-symbol", name="alexandria:flatten")
        for name in ("#'alexandria:flatten", " 'alexandria:flatten", "`alexandria:flatten`", '"alexandria:flatten"', "#'|ALEXANDRIA|:flatten"):
            with self.subTest(name):
                self.assertEqual(plain, self.look("describe-symbol", name=name))

    def test_definitions_are_where_they_are_reported(self):
        for name in self.names():
            with self.subTest(name):
                text = self.look("find-definition", name=name)
                shown = re.findall(r"^\[([A-Z-]+)\] [^\n]* at (/[^\n]*):(\d+)\n([^\n]*)", text, re.MULTILINE)
                self.assertTrue(shown, text)
                for kind, path, number, first in shown:
                    if first == "(shown above)":
                        continue
                    self.assertEqual(first.strip(), line_of(path, number).strip(), "%s:%s" % (path, number))
                    self.assertRegex(first.strip(), r"^[(#]")
                # The text is that of the name, not of its neighbour.
                self.assertIn(name.rpartition(":")[2].lower(), text.lower().partition("\n\n")[2])
                self.assertNotIn("where in the file is not known", text)

    def test_each_method_has_its_own_text(self):
        text = self.look("find-definition", name="cl-ppcre:scan", type="method")
        self.assertIn("CL-PPCRE:SCAN has 3 definitions:", text)
        for specializer, parameter in (("(STRING T)", "(regex-string string)"), ("(FUNCTION T)", "(scanner function)"), ("(T T)", "(parse-tree t)")):
            self.assertRegex(text, r"\[METHOD\] CL-PPCRE:SCAN %s at [^\n]*\n(#[^\n]*\n)?[^\n]*%s" % (re.escape(specializer), re.escape(parameter)))

    def test_forms_that_features_exclude_are_skipped(self):
        text = self.look("find-definition", name="closer-mop:ensure-method")
        self.assertRegex(text, r"\n#\+\([^\n]*sbcl\)\n\(defun ensure-method ")
        self.assertNotIn("allegro", text)

    def test_references_come_with_their_places(self):
        for tool, name, expected in (
            ("who-calls", "cl-ppcre:create-scanner", ["CL-PPCRE:SPLIT", "CL-PPCRE:ALL-MATCHES", "method CL-PPCRE:SCAN (STRING T)"]),
            ("who-calls", "alexandria:ensure-list", ["ALEXANDRIA:"]),
            ("who-macroexpands", "alexandria:with-gensyms", ["macro ALEXANDRIA:DOPLIST", "compiler macro ALEXANDRIA:LENGTH="]),
            ("who-references", "cl-ppcre:*use-bmh-matchers*", ["CL-PPCRE::CREATE-BMH-MATCHER"]),
            ("who-references", "local-time:*default-timezone*", ["LOCAL-TIME:"]),
            ("who-binds", "cl-ppcre::*extended-mode-p*", ["method CL-PPCRE:CREATE-SCANNER (STRING)"]),
            ("who-specializes", "cl-ppcre::seq", ["method CL-PPCRE::REGEX-LENGTH (CL-PPCRE::SEQ)"]),
            ("list-callees", "cl-ppcre:all-matches", ["CL-PPCRE:CREATE-SCANNER"]),
        ):
            with self.subTest("%s %s" % (tool, name)):
                text = self.look(tool, name=name)
                for part in expected:
                    self.assertIn("\n  " + part, text)
                places = PLACE.findall(text)
                for path, number in places:
                    self.assertRegex(line_of(path, number).strip(), r"^[(#]", "%s:%s" % (path, number))
                if tool != "list-callees":
                    self.assertTrue(places, text)

    def test_a_variable_that_a_function_only_sets_is_named(self):
        self.s.evaluate("(defvar *kept* 0) (defun keep (x) (setf *kept* x))")
        self.assertIn("Variables and constants: *KEPT*", self.s.call("list-callees", name="keep").text)

    def test_macros_are_expanded(self):
        for form, depth, parts in (
            ("(alexandria:if-let (a 1) a 2)", {}, [r"^\(let \(\(a 1\)\)\s+\(if \(and a\)"]),
            ("(alexandria:when-let* ((a 1) (b a)) b)", {"all": True}, [r"\(if a"]),
            ("(iterate:iter (iterate:for x in list) (iterate:collect (* x x)))", {}, [r"(?i)tagbody|block"]),
            ("(iterate:iter (iterate:for x in list) (when x (iterate:collect x)))", {"all": True}, [r"\(if x"]),
            ("(cl-ppcre:register-groups-bind (a b) (\"(x)(y)\" text) (list a b))", {"full": True}, [r"cl-ppcre"]),
            ("(local-time:with-decoded-timestamp (:hour h) (local-time:now) h)", {}, [r"(?s)multiple-value-bind.*local-time:decode-timestamp"]),
        ):
            with self.subTest(form):
                text = self.look("macroexpand-form", form=form, **depth)
                for part in parts:
                    self.assertRegex(text, part)
                self.assertNotIn("not expanded", text)

    def test_classes_show_their_slots_and_where_they_come_from(self):
        text = self.look("class-info", **{"class": "local-time:timestamp"})
        self.assertRegex(text, r"^LOCAL-TIME:TIMESTAMP is a class at /\S+:\d+\.\n")
        self.assertRegex(text, r"Slots \(3\):\n  LOCAL-TIME::DAY\n    initarg :DAY, initform 0, reader LOCAL-TIME:\S+, writer \(SETF LOCAL-TIME:\S+\), type INTEGER\n")
        text = self.look("class-info", **{"class": "cl-ppcre:ppcre-syntax-error"})
        self.assertRegex(text, r"is a condition at /\S+:\d+\.")
        self.assertRegex(text, r"(?s)  CL-PPCRE::POS\n    initarg :POS, reader CL-PPCRE:PPCRE-SYNTAX-ERROR-POS\n.*from SIMPLE-CONDITION: initarg :FORMAT-CONTROL")
        text = self.look("find-methods", **{"class": "cl-ppcre::str", "include-inherited": True})
        self.assertIn("\n  CL-PPCRE::SKIP (CL-PPCRE::STR), reads a slot", text)

    def test_dispatch_is_explained(self):
        text = self.look("explain-dispatch", form='(cl-ppcre:scan "a+" "baa")')
        self.assertRegex(text, r"1\. CL-PPCRE:SCAN \(STRING T\): primary; [^\n]*\n2\. CL-PPCRE:SCAN \(T T\): next method")

    def test_searching_finds_what_libraries_export(self):
        text = self.look("apropos-search", pattern="gensyms")
        self.assertIn("\n  ALEXANDRIA:WITH-GENSYMS [MACRO]", text)
        text = self.look("complete-symbol", prefix="local-time:timestamp-to-u")
        self.assertIn("\n  local-time:timestamp-to-unix [FUNCTION]", text)
        self.assertIsError(self.server.call("complete-symbol", prefix="al:f"), "There is no package")
        self.assertIn("ALEXANDRIA:FLATTEN (function)", self.look("describe-symbol", name="flaten"))

    def test_nothing_changes(self):
        self.assertEqual("=> :TAKEN", self.server.evaluate(contract.SNAPSHOT).text)
        for name in self.names():
            self.look("describe-symbol", name=name)
            self.look("find-definition", name=name)
            for tool in ("who-calls", "who-macroexpands", "who-references", "who-specializes", "list-callees", "disassemble-function"):
                self.look(tool, name=name)
            self.look("class-info", **{"class": name})
            self.look("find-methods", **{"generic-function": name})
            self.look("complete-symbol", prefix=name[:-2])
            self.look("apropos-search", pattern=name.rpartition(":")[2])
            self.look("macroexpand-form", form="(%s no-such-name-1 no-such-name-2)" % name) if name.startswith("closer-mop::f") else None
        for name in ("no-such-name-3", "alexandria:no-such-name-4", "no-such-package-5:name"):
            for tool in ("describe-symbol", "find-definition", "who-calls", "list-callees", "disassemble-function"):
                self.server.call(tool, name=name)
        self.look("explain-dispatch", form="(cl-ppcre:scan (progn (defvar *made-in-the-copy* 1) \"a\") \"a\")")
        self.assertEqual('=> ""', self.server.evaluate(contract.SNAPSHOT).text)


class Session(mcp.SessionTest):
    """The text of a session's own definitions is the one that made what there is now."""

    options = ("--tools=full",)

    def assertDefinedBy(self, name, evaluation, text, **arguments):
        reply = self.s.call("find-definition", dict({"name": name}, **arguments))
        self.assertFalse(reply.is_error)
        self.assertRegex(reply.text, r"in this session, evaluation %d\n" % evaluation)
        self.assertEqual(text, reply.text.rpartition("evaluation %d\n" % evaluation)[2])

    def test_text_beyond_ascii_is_cut_where_it_should_be(self):
        self.s.evaluate('(defun fünf () "é€😀") ; one\n(defun six () "\u00a0😀😀")\n#| two |# (defun seven () 7)')
        self.assertDefinedBy("fünf", 1, '(defun fünf () "é€😀")')
        self.assertDefinedBy("six", 1, '; one\n(defun six () "\u00a0😀😀")')
        self.assertDefinedBy("seven", 1, "#| two |# (defun seven () 7)")

    def test_a_form_that_defines_something_stands_for_its_name(self):
        self.s.evaluate("(defclass sq () ())")
        self.s.evaluate("(defmethod area :around ((s sq)) 1)")
        self.s.evaluate("(defun (setf side) (value) value)")
        for name in ("(defmethod area :around ((s sq)))", "(method area :around (sq))", "(area x)"):
            self.assertDefinedBy(name, 2, "(defmethod area :around ((s sq)) 1)")
        self.assertDefinedBy("(defun (setf side) (value) value)", 3, "(defun (setf side) (value) value)")

    def test_an_expansion_has_its_own_frames_only(self):
        self.s.evaluate("(defmacro bad () (error \"in the macro\"))")
        self.s.evaluate("(defun foo () (error \"older\"))")
        self.s.evaluate("(list (foo))")
        self.assertEqual(["((MACRO-FUNCTION BAD) (BAD))", "(MACROEXPAND-1 (BAD) NIL)"], self.frames("(bad)"))
        self.assertEqual(["(READ)"], self.frames("(bad"))

    def frames(self, form):
        return mcp.frames_in(self.s.call("macroexpand-form", form=form).text)

    def test_a_definition_in_a_failed_evaluation_counts(self):
        self.s.evaluate("(defun before () 1) (/ 1 0) (defun after () 2)")
        self.assertDefinedBy("before", 1, "(defun before () 1)")
        self.assertIn("There is no symbol AFTER", self.s.call("find-definition", name="after").text)

    def test_after_a_roll_back_it_is_the_older_one(self):
        self.s.evaluate("(defun f () 1)")
        self.s.call("checkpoint-session", name="one")
        self.s.evaluate("(defun f () 2)")
        self.assertDefinedBy("f", 2, "(defun f () 2)")
        self.s.call("rollback-session", to="one")
        self.assertDefinedBy("f", 1, "(defun f () 1)")
        self.s.evaluate("(defun g () (f))")
        self.assertIn("\n  G in this session, evaluation 3", self.s.call("who-calls", name="f").text)
        self.assertDefinedBy("g", 3, "(defun g () (f))")

    def test_after_a_death_what_is_evaluated_again_keeps_its_evaluation(self):
        self.s.evaluate("(defun f () 1)")
        self.s.evaluate("(defvar *t* (sb-thread:make-thread (lambda () (sleep 1000))))")
        self.s.evaluate('(print "not again") (defun g () "no copy could be made of this")')
        report = self.s.evaluate("(sb-ext:exit :code 3 :abort t)")
        self.assertIn("evaluated again", report.text)
        self.assertDefinedBy("g", 3, '(defun g () "no copy could be made of this")')
        self.assertDefinedBy("f", 1, "(defun f () 1)")

    def test_definitions_that_a_restart_carried_over_are_known(self):
        self.s.evaluate("(defun f () (g))")
        self.s.evaluate("(f)")
        self.s.evaluate("(defun helper () 4)")
        report = self.s.call("invoke-restart", restart="RETRY", code="(defun g () (helper))")
        self.assertValue(report, "4")
        self.assertDefinedBy("helper", 3, "(defun helper () 4)")
        self.assertDefinedBy("g", 4, ";; invoke-restart RETRY, error 1\n(defun g () (helper))")

    def test_definitions_of_a_file_belong_to_the_file(self):
        path = self.file("(in-package :cl-user)\n\n(defun from-file ()\n  :yes)\n", "code.lisp")
        for compiled in (False, True):
            self.s.call("load-file", path=path, compile=compiled)
            self.assertIn("[FUNCTION] FROM-FILE at %s:3\n(defun from-file ()\n  :yes)" % path, self.s.call("find-definition", name="from-file").text)
        self.s.evaluate('(load "%s")' % path)
        self.assertIn(" at %s:3\n" % path, self.s.call("find-definition", name="from-file").text)

    def test_a_dispatch_is_explained_without_effect(self):
        self.s.evaluate("(defvar *n* 0) (defgeneric g (x)) (defmethod g ((x integer)) (incf *n* 100))")
        reply = self.s.call("explain-dispatch", form='(g (progn (format t "printed~%") (incf *n*)))')
        self.assertIn("1. G (INTEGER): primary", reply.text)
        self.assertEqual("=> 0", self.s.evaluate("*n*").text)
        self.assertFails('(error "the last one")')
        before = self.s.call("describe-last-error").text
        self.assertTrue(self.s.call("explain-dispatch", form='(g (error "an argument"))').is_error)
        self.assertTrue(self.s.call("macroexpand-form", form="(let)").is_error is False)
        self.assertTrue(self.s.call("macroexpand-form", form="(when)").is_error)
        self.assertEqual(before, self.s.call("describe-last-error").text)

    def test_an_expander_that_ends_the_process_ends_the_copy(self):
        self.s.evaluate("(defvar *n* 5) (defmacro deadly () (sb-ext:exit :code 7 :abort t)) (defmacro endless () (loop))")
        self.assertIsError(self.s.call("macroexpand-form", form="(deadly)"), "code 7")
        self.s.call("configure-limits", timeout=0.5)
        self.assertIsError(self.s.call("macroexpand-form", form="(endless)", wait=60), "TIMEOUT")
        self.assertEvaluates("*n*", "5")

    def test_a_standard_symbol_has_its_chapter_and_page_in_the_hyperspec(self):
        body = "https://www.lispworks.com/documentation/HyperSpec/Body/"
        for name, line in (("car", "14 Conses: %sf_car_c.htm"), ("*", "12 Numbers, 25 Environment: %sa_st.htm"), ("cl:1-", "12 Numbers: %sf_1pl_1_.htm")):
            self.assertIn("\nHyperSpec: " + line % body, self.s.call("describe-symbol", name=name).text)
        self.assertNotIn("HyperSpec", self.s.call("describe-symbol", name="sb-ext:quit").text)
        self.s.evaluate('(defpackage :mine (:use) (:export #:car)) (defun mine:car ())')
        self.assertNotIn("HyperSpec", self.s.call("describe-symbol", name="mine:car").text)
        with open(os.path.join(mcp.ROOT, "src", "tools", "hyperspec.txt")) as f:
            pages = [line.split()[1:] for line in f if not re.match(r"[0-9]+ ", line)]
        names = self.s.evaluate('(let ((l nil)) (do-external-symbols (s :cl (format nil "~{~(~a~)~^ ~}" l)) (push s l)))', max_output=100000).value
        self.assertEqual(set(names.strip('"').split()), {name for page in pages for name in page})

    def test_beside_threads_the_session_itself_answers_and_the_reply_says_so(self):
        self.s.evaluate("""(defvar *t* (sb-thread:make-thread (lambda () (sleep 1000))))
            (defvar *n* 0) (defmacro counting () (incf *n*)) (defgeneric g (x)) (defmethod g ((x integer)) x)""")
        calls = (
            ("macroexpand-form", {"form": "(counting)"}, "1\n", "what the macros did stays"),
            ("explain-dispatch", {"form": "(g (incf *n*))"}, "One method applies", "what the argument forms did stays"),
            ("compile-form", {"code": "(defmacro mine () 'undefined-one) (mine)"}, "undefined variable: UNDEFINED-ONE", "macros, types and constants of the code are defined now"),
            ("describe-system", {"system": "alexandria"}, "System alexandria", "its .asd file is loaded now"),
            ("describe-system", {"system": "alexandria", "transitive": True}, "depends on no other system", "its .asd file is loaded now"),
            ("list-systems", {"pattern": "alexandria"}, "- alexandria: ", None),
        )

        def all_answer():
            for tool, arguments, expected, effect in calls:
                with self.subTest(tool):
                    text, is_error = self.s.call(tool, **arguments)
                    self.assertFalse(is_error, text)
                    self.assertIn(expected, text)
                    if effect:
                        self.assertIn("\n(Beside threads this runs in the session itself: %s.)" % effect, text)
                    else:
                        self.assertNotIn("Beside threads", text)

        all_answer()
        self.assertEvaluates("(list *n* (not (macro-function 'mine)))", "(2 NIL)")
        self.assertFails('(error "it stands")')
        self.s.evaluate("(setf *n* 0)")
        self.assertFails('(error "it stands")')
        all_answer()
        self.assertIn("it stands", self.s.call("describe-last-error").text)
        self.assertEvaluates("(setf *n* 0)", "0")
        call = self.s.start_call("evaluate-lisp", {"code": "(loop)", "wait": 0, "timeout": 0}).reply()
        self.assertIn("It continues without this call.", call.text)
        all_answer()
        self.s.call("cancel-evaluation")
        self.assertTrue(self.s.call("macroexpand-form", form="(when)").is_error)

    def test_a_long_text_is_cut_and_the_rest_can_be_fetched(self):
        self.s.evaluate("(defun long-one () '(%s))" % " ".join("item-%d" % n for n in range(5000)))
        text = self.s.call("find-definition", name="long-one").text
        self.assertLess(len(text), 20000)
        ref = re.search(r"get-output ref (\d+)", text)
        self.assertTrue(ref, text[-500:])
        self.assertIn("item-2500", self.s.call("get-output", ref=int(ref[1]), offset=20000, length=20000).text)

    def test_look_ups_call_no_standard_function_of_the_users(self):
        """Also where the agent hands one on as #'NAME; the user's own code calls what the user put there."""
        self.assertEvaluates("""
            (progn
              (sb-ext:unlock-package :cl)
              (defvar *called* '())
              (defun qqx1 () 1)
              (defun qqx2 () 2)
              (handler-bind ((warning #'muffle-warning))
                (dolist (name '(string< string= string-equal symbol-name package-name find-package first identity equal <) 1)
                  (let ((name name) (old (fdefinition name)))
                    (setf (fdefinition name) (lambda (&rest arguments) (pushnew name *called*) (apply old arguments)))))))""", "1")
        self.s.evaluate("(setf *called* '())")
        for tool, arguments in (("apropos-search", {"pattern": "QQX"}), ("list-definitions", {}), ("complete-symbol", {"prefix": "qqx"})):
            self.assertIn("qqx2", self.s.call(tool, **arguments).text.lower())
        self.assertEvaluates("*called*", "NIL")
        self.assertEvaluates("""(progn (sort (list "b" "a") #'string<) *called*)""", "(STRING<)")
        self.assertEvaluates("""(progn (setf *called* '()) (sort (list "b" "a") 'string<) *called*)""", "(STRING<)")
