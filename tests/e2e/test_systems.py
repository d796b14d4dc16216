"""Systems: where they are found, how a load that fails is told, running tests, entering the error of a test, Quicklisp.

FiveAM and RT are the real ones. Quicklisp's client, Rove, Parachute, lisp-unit and lisp-unit2 are not packed by Debian: small stand-ins
with the names and the behaviour of their public functions take their place, written below."""

import os
import re

import mcp

SHOP = {
    "shop.asd": '(defsystem "shop" :components ((:file "shop")) :in-order-to ((test-op (test-op "shop/tests"))))\n'
                '(defsystem "shop/tests" :depends-on ("shop" "fiveam") :components ((:file "tests"))\n'
                '  :perform (test-op (o c) (unless (uiop:symbol-call :fiveam \'#:run! (uiop:find-symbol* \'#:all :shop-tests))\n'
                '                            (error "tests failed"))))\n',
    "shop.lisp": "(defpackage #:shop (:use #:cl) (:export #:total #:average))\n(in-package #:shop)\n"
                 "(declaim (optimize debug))\n(defun total (prices) (reduce #'+ prices))\n"
                 "(defun average (prices)\n  (let* ((count (length prices))\n         (result (/ (total prices) count)))\n    result))\n",
    "tests.lisp": "(defpackage #:shop-tests (:use #:cl #:fiveam #:shop))\n(in-package #:shop-tests)\n(def-suite all)\n(in-suite all)\n"
                  "(test totals (is (= 6 (total '(1 2 3)))) (is (= 7 (total '(1 2 3)))) (is (not (= 6 (total '(1 2 3))))))\n"
                  "(test averages (is (= 2 (average '(1 2 3)))) (is (= 0 (average '()))) (is (= 1 2)))\n"
                  "(test texts (is (string= \"a\" \"b\") \"they differ\") (skip \"not now\"))\n"
                  "(test handled (signals division-by-zero (average '())) (is-true (handler-case (average '()) (error () t))))\n"
                  "(test bad (total '(1 a)))\n",
}


def system(name, text):
    """The files of a system that consists of this text."""
    return {name + ".asd": '(defsystem "%s" :components ((:file "%s")))\n' % (name, name), name + ".lisp": text}


def suite(name, framework, tests):
    """The files of a system that consists of these tests, which its test operation runs: RT's, or those of FiveAM in the suite ALL."""
    run, begin = {"rt": ("'#:do-tests", ""), "fiveam": ("'#:run! (find-symbol \"ALL\" :%s)" % name, "(def-suite all)\n(in-suite all)\n")}[framework]
    return {
        name + ".asd": '(defsystem "%s" :depends-on ("%s") :components ((:file "%s")) :perform (test-op (o c) (symbol-call :%s %s)))\n'
                       % (name, framework, name, framework, run),
        name + ".lisp": "(defpackage #:%s (:use #:cl #:%s))\n(in-package #:%s)\n%s%s" % (name, framework, name, begin, tests),
    }


class Systems(mcp.TestCase):
    def project(self, files, **named):
        """A client whose Lisps work in a directory with these files, which is in `place`."""
        self.place = mcp.write_files(self.folder(), files)
        return self.start_server("--directory", self.place, **named)

    def failures(self, text):
        """[(number, word, test, the rest)] of a run's report."""
        return [(int(n), word, test, rest) for n, word, test, rest in
                re.findall(r"^(\d+)\. (FAILED(?:, as expected)?|ERROR): (\S*)\n((?:  .*(?:\n|\Z))*)", text, re.MULTILINE)]


class Finding(Systems):
    LIBRARY = '(defsystem "pinned" :version "%s" :components ((:file "p")))\n'

    def where(self, client, system):
        reply = client.call("describe-system", system=system)
        self.assertEqual("There is no system" in reply.text, reply.is_error, reply.text)
        return reply.text

    def test_systems_pinned_by_ocicl_come_before_those_of_the_machine(self):
        for csv, folder in (("ocicl.csv", "ocicl"), ("systems.csv", "systems")):
            client = self.project({
                csv: "alexandria, ghcr.io/ocicl/alexandria@sha256:0, alexandria-1/alexandria.asd\n",
                folder + "/alexandria-1/alexandria.asd": '(defsystem "alexandria" :components ((:file "a")))\n',
                folder + "/alexandria-1/a.lisp": "(defpackage #:alexandria (:use #:cl))\n(defvar alexandria::*pinned* 1)\n",
            })
            self.assertIn("pinned for the project", self.where(client, "alexandria"))
            reply = client.call("load-system", system="alexandria", wait=60)
            self.assertIn("pinned for the project by ocicl", reply.text)
            self.assertValue(client.evaluate("alexandria::*pinned*"), "1")

    def test_systems_pinned_by_qlot_are_found(self):
        home = ".qlot/dists/some/"
        client = self.project({
            "qlfile": "ql pinned\n",
            home + "installed/systems/pinned.txt": "dists/some/software/pinned-2/sub/pinned.asd\n",
            home + "software/pinned-2/sub/pinned.asd": self.LIBRARY % "2",
            home + "software/other-1/other.asd": '(defsystem "other")\n',
            ".qlot/local-projects/mine/mine.asd": '(defsystem "mine")\n',
        })
        for system in ("pinned", "other", "mine"):
            self.assertIn("qlot", self.where(client, system))
        self.assertRegex(client.call("list-systems", pattern="other").text, r"\n- other: .*/\.qlot/")

    def test_the_nearest_of_several_below_the_directory_is_found_and_hidden_ones_are_not(self):
        client = self.project({"a/deep/near.asd": '(defsystem "near")\n', "b/near.asd": '(defsystem "near")\n', ".old/hidden.asd": '(defsystem "hidden")\n'})
        self.assertIn("/b/near.asd", self.where(client, "near"))
        self.assertIn("There is no system hidden", self.where(client, "hidden"))

    def test_names_in_upper_case_and_definitions_that_cannot_be_read_are_distinguished_from_absent_systems(self):
        client = self.project({"here.asd": '(defsystem "here" :perform (test-op (o c) (error "no test failed")))\n', "unreadable.asd": '(defsystem "unreadable"\n'})
        self.assertIn("Loaded here.", client.call("load-system", system="HERE", wait=60).text)
        # What the test operation signals when no test has failed is an error like any other.
        self.assertErrorReport(client.call("run-tests", system="HERE", wait=60), "SIMPLE-ERROR")
        reply = client.call("load-system", system="unreadable", wait=60)
        self.assertTrue(reply.is_error)
        self.assertNotIn("There is no system", reply.text)
        self.assertNotIn("compilation unit aborted", reply.text)
        self.assertIn("There is no system nowhere", client.call("load-system", system="nowhere").text)

    def test_systems_in_the_home_directory_are_found(self):
        home = self.folder()
        mcp.write_files(home, {"common-lisp/at-home/at-home.asd": '(defsystem "at-home")\n'})
        client = self.start_server(environment=mcp.clean_environment(HOME=home))
        self.assertIn("common-lisp", self.where(client, "at-home"))
        self.assertIn("home directory", self.where(client, "at-home"))

    def test_looking_loads_nothing(self):
        client = self.project({"loud.asd": '(defvar cl-user::*loud* t)\n(defsystem "loud")\n'})
        for arguments in ({}, {"transitive": True}):
            self.assertFalse(client.call("describe-system", arguments, system="loud").is_error)
        self.assertFalse(client.call("list-systems").is_error)
        self.assertValue(client.evaluate("(list (boundp '*loud*) (and (asdf:registered-system \"loud\") t))"), "(NIL NIL)")

    def test_a_module_that_is_not_found_has_a_hint(self):
        self.assertIn("The tool list-systems lists the systems.", self.s.evaluate("(require :zzqqxx)").hint)
        self.assertRegex(self.s.evaluate('(require "asdff")').hint, "^Did you mean the system .*asdf")
        self.assertEqual("", self.s.evaluate('(error "~a ~a" (quote require) 5)').hint)


class Loading(Systems):
    def test_a_library_that_adds_methods_to_asdf_leaves_file_and_line_alone(self):
        client = self.project(system("wrong", "(defun fine () 1)\n\n(defun wrong () (absent 1))\n"))
        self.assertFalse(client.call("load-system", system="fiveam").is_error)
        self.assertRegex(client.call("load-system", system="wrong").text, r"/wrong\.lisp: .*\n  line 3\b")

    def test_a_file_that_does_not_compile_is_reported_with_file_line_form_and_condition(self):
        client = self.project({"broken.asd": '(defsystem "broken" :components ((:file "fine") (:file "bad")))\n', "fine.lisp": "(defun fine (x) 1)\n",
                               "bad.lisp": "(defun ok (unused) 1)\n\n(defun f (x)\n  (let ((x 1 2)) x))\n"})
        report = client.call("load-system", system="broken", wait=60)
        self.assertTrue(report.is_error)
        self.assertRegex(report.hint, r"/bad\.lisp of the system broken\.$")
        self.assertRegex(report.text, r"/bad\.lisp: 1 error, 2 style warnings\n  line 4, column 9: PROGRAM-ERROR: .*malformed.*\n    in \(X 1 2\)\n")
        self.assertEqual(1, report.text.count("malformed"), "it is told once")

    def test_an_error_while_a_file_is_read_has_its_line(self):
        client = self.project(system("read", '(defun a () 1)\n\n(defun b ()\n  (list #.(error "too early")))\n'))
        for report in (client.call("load-system", system="read", wait=60), client.call("load-file", path="read.lisp", compile=True)):
            self.assertRegex(report.text, r"/read\.lisp: 1 error\n  line 4: SIMPLE-ERROR: too early\n")

    def test_a_stray_parenthesis_has_its_own_line(self):
        client = self.project({"stray.lisp": "(defun a () 1)\n\n(defun b () 2))\n\n\n(defun c () 3)\n"})
        self.assertIn("/stray.lisp:3)", client.call("load-file", path="stray.lisp").text)
        self.assertIn("  line 3: READER-ERROR: ", client.call("load-file", path="stray.lisp", compile=True).text)

    def test_warnings_of_a_file_that_was_mended_are_not_repeated(self):
        bad, good = "(defun m1 (x) (undefined-1 x))\n(defun m2 () (let ((x 1 2)) x))\n", "(defun m1 (x) x)\n"
        client = self.project(system("mend", bad))
        self.assertIn("undefined function: UNDEFINED-1", client.call("load-system", system="mend", wait=60).text)
        mcp.write_files(self.place, {"mend.lisp": good})
        self.assertEqual("=> T", client.call("invoke-restart", restart="RETRY").text)
        mcp.write_files(self.place, {"mend.lisp": bad + '(error "stop")\n'})
        self.assertIn("undefined function: UNDEFINED-1", client.call("load-file", path="mend.lisp", compile=True).text)
        mcp.write_files(self.place, {"mend.lisp": good})
        self.assertEqual("=> T", client.call("invoke-restart", restart="RETRY").text)

    def test_warnings_are_warnings_whatever_their_class_is_called(self):
        client = self.project({"odd.lisp": "(eval-when (:compile-toplevel :load-toplevel :execute)\n  (define-condition odd (warning) () (:report \"it is odd\"))\n  (define-condition stylish (style-warning) () (:report \"it is stylish\")))\n"
                                           "(eval-when (:compile-toplevel) (warn 'odd) (warn 'stylish))\n"})
        text = client.call("load-file", path="odd.lisp", compile=True).text
        self.assertRegex(text, r"/odd\.lisp: 1 warning, 1 style warning\n  line 4, column 1: WARNING ODD: it is odd\n")
        self.assertIn("  line 4, column 1: STYLE-WARNING STYLISH: it is stylish\n", text)

    def test_a_reader_of_a_condition_is_found_in_the_form_that_defines_it(self):
        client = self.project({"failure.lisp": "(defun before () 1)\n(define-condition failure (error) ((code :initarg :code :reader failure-code)))\n"})
        client.call("load-file", path="failure.lisp")
        self.assertRegex(client.call("find-definition", name="failure-code").text,
                         r"\[METHOD\] FAILURE-CODE \(FAILURE\) at .*/failure\.lisp:2\n\(define-condition failure ")

    def test_a_form_that_is_not_finished_is_reported_with_where_it_begins(self):
        client = self.project(system("open", "(defun a () 1)\n\n\n(defun b (\n\n"))
        report = client.call("load-system", system="open", wait=60)
        self.assertTrue(report.is_error)
        self.assertRegex(report.text, r"/open\.lisp: 1 error\n  line 4: END-OF-FILE")

    def test_a_warning_has_its_line_whatever_is_in_front_of_the_form(self):
        for before in ("", "; a\n", "#| a\n #| b |#\n|#\n", "#+nil\n(foo)\n", "#+sbcl\n", "#-sbcl (foo\n) ; b\n#+sbcl\n"):
            with self.subTest(before):
                client = self.project(system("lines", "(defun f (x) x)\n\n%s(defun g (y)\n  (nowhere y))\n" % before))
                reply = client.call("load-system", system="lines", wait=60)
                self.assertIn("\n  line %d, column 3: STYLE-WARNING: undefined function: NOWHERE\n" % (4 + before.count("\n")), reply.text)

    def test_a_variable_that_was_only_set_is_undefined_each_time_it_is_compiled(self):
        client = self.project({"set.lisp": "(setf *conf* 1)\n"})
        self.assertIn("undefined variable: *CONF*", client.evaluate("(setf *conf* 1)").text)
        self.assertNotIn("undefined", client.evaluate("(list *conf*)").text)
        self.assertEqual("Compilation FAILED.\n\n[Warnings]\n- line 1, column 1: undefined variable: *CONF*\n  in (SETF *CONF* 1)", client.call("compile-form", code="(setf *conf* 1)").text)
        for compile in (False, True, False):
            self.assertIn("  line 1, column 1: WARNING: undefined variable: *CONF*\n", client.call("load-file", path="set.lisp", compile=compile).text)

    def test_warnings_are_grouped_by_file_and_all_of_them_can_be_fetched(self):
        text = "".join("(defun f%d (x) (g%d))\n" % (i, i) for i in range(20))
        client = self.project({"warned.asd": '(defsystem "warned" :components ((:file "one") (:file "two")))\n', "one.lisp": text, "two.lisp": "(defun two () *nowhere*)\n"})
        reply = self.assertSucceeds(client.call("load-system", system="warned", wait=60))
        self.assertRegex(reply.text, r"/one\.lisp: 40 style warnings\n  line 1, column 1: STYLE-WARNING: The variable X is defined but never used\. \(20 times; also lines 2, 3, 4, 5, 6, \.\.\.\)")
        self.assertRegex(reply.text, r"/two\.lisp: 1 warning\n  line 1, column 1: WARNING: undefined variable: \*NOWHERE\*")
        self.assertLess(len(reply.text), 3000)
        ref = int(re.search(r"get-output ref (\d+) returns all warnings", reply.text).group(1))
        everything = client.call("get-output", ref=ref).text
        for i in range(20):
            self.assertIn("undefined function: G%d\n" % i, everything)
        self.assertIn("(20 times; also lines %s)" % ", ".join(str(line) for line in range(2, 21)), everything)
        self.assertIn("already", client.call("load-system", system="warned", wait=60).text)

    def test_style_warnings_of_a_library_are_counted_and_its_other_warnings_shown(self):
        client = self.project({"dists/some/software/lib/lib.asd": '(defsystem "lib" :components ((:file "lib")))\n',
                               "dists/some/software/lib/lib.lisp": "(defun f (x) 1)\n(defun g () *nowhere*)\n"})
        reply = client.call("load-system", system="dists/some/software/lib/lib.asd", wait=60)
        self.assertRegex(reply.text, r"/lib\.lisp: 1 warning, 1 style warning\n")
        self.assertIn("undefined variable: *NOWHERE*", reply.text)
        self.assertNotIn("never used", reply.text)
        ref = int(re.search(r"get-output ref (\d+) returns all warnings", reply.text).group(1))
        self.assertIn("The variable X is defined but never used.", client.call("get-output", ref=ref).text)

    def test_the_reply_says_what_was_loaded_and_where_it_was_found(self):
        client = self.project(SHOP)
        reply = client.call("load-system", system="shop", wait=60)
        self.assertRegex(reply.text, r"^Loaded shop\.\nSystems loaded: shop\nFound: in the session's directory: /.*/shop\.asd")
        client.evaluate("(fmakunbound 'shop:total)")
        self.assertIn("shop was already loaded; force: true reloads it.", client.call("load-system", system="shop", wait=60).text)
        self.assertRegex(client.call("load-system", system="shop", force=True, wait=60).text, r"^Loaded shop\.\nSystems loaded: shop\n")
        self.assertValue(client.evaluate("(shop:total '(1 2))"), "3")
        self.assertRegex(client.evaluate("(shop:total '(1 :two))").text, r"\(SHOP:TOTAL \(1 :TWO\)\) at \S+/shop\.lisp:\d+\n")
        self.assertIn('(asdf:load-system "shop")', client.call("session-history").text)  # as it can be evaluated again

    def test_a_load_that_never_ends_meets_its_time_limit(self):
        client = self.project({**system("endless", "(eval-when (:load-toplevel) (loop))\n"), "packaged.lisp": "(defun packaged () 1)\n"})
        client.call("configure-limits", timeout=400)  # with which that of loads would be as long
        self.assertErrorReport(client.call("load-system", system="endless", timeout=0.5), "TIMEOUT")
        client.evaluate("(defpackage :own (:use :cl))")
        self.assertFalse(client.call("load-file", path="packaged.lisp", package="own").is_error)
        self.assertValue(client.evaluate("(list (own::packaged) (fboundp 'packaged))"), "(1 NIL)")

    def test_compiled_files_go_where_this_environment_says(self):
        # Not to the directory of whoever built the image.
        cache = self.folder()
        client = self.start_server(environment=mcp.clean_environment(XDG_CACHE_HOME=cache))
        place = client.evaluate('(namestring (asdf:apply-output-translations "/some/where.fasl"))').value
        self.assertTrue(place.strip('"').startswith(cache + "/common-lisp/"), place)


class Testing(Systems):
    def test_counts_forms_values_and_conditions(self):
        client = self.project(SHOP)
        reply = client.call("run-tests", system="shop", wait=120)
        self.assertTrue(reply.is_error)
        self.assertIn("shop: FAILED. 5 tests, 10 checks: 4 passed, 3 failed, 2 with an unexpected error, 1 skipped (FiveAM).\n"
                      "The system's test operation then signalled: tests failed\n", reply.text)
        failures = {(word, test): rest for _, word, test, rest in self.failures(reply.text)}
        self.assertEqual({("FAILED", "SHOP-TESTS::TOTALS"), ("ERROR", "SHOP-TESTS::AVERAGES"), ("FAILED", "SHOP-TESTS::TEXTS"), ("ERROR", "SHOP-TESTS::BAD")}, set(failures))
        self.assertIn("  form: (STRING= \"a\" \"b\")\n  reason: they differ\n", failures["FAILED", "SHOP-TESTS::TEXTS"])
        self.assertIn("  condition: DIVISION-BY-ZERO\n", failures["ERROR", "SHOP-TESTS::AVERAGES"])
        self.assertRegex(failures["ERROR", "SHOP-TESTS::AVERAGES"], r"\d: \(SHOP:AVERAGE NIL\)")
        self.assertNotIn("FIVEAM", failures["ERROR", "SHOP-TESTS::AVERAGES"])
        totals = [rest for _, _, test, rest in self.failures(reply.text) if test.endswith("TOTALS")]
        self.assertIn("  form: (= 7 (TOTAL (QUOTE (1 2 3))))\n  expected: (= 7)\n  actual: 6\n", totals[0])
        self.assertIn("  expected: not (= 6)\n  actual: 6\n", totals[1])
        ref = int(re.search(r"Standard output: [\d,]+ bytes; get-output with ref (\d+)", reply.text).group(1))
        self.assertIn("Did 10 checks.", client.call("get-output", ref=ref).text)

    def test_a_failed_check_shows_the_helper_it_is_in_and_its_line(self):
        client = self.project({
            "sums.asd": '(defsystem "sums" :depends-on ("fiveam") :components ((:file "sums")) :perform (test-op (o c) (symbol-call :fiveam :run! (find-symbol "ALL" "SUMS"))))',
            "sums.lisp": """(defpackage :sums (:use :cl :fiveam)) (in-package :sums)
(def-suite all) (in-suite all)
(defun check-sum (a b)
  (let ((c (+ a b)))
    (is (= 4 c))
    (is-true (evenp c))))
(test helped
  (check-sum 2 3)
  (is (= 1 2)))
(test failing
  (print (car (length '(1)))))
"""})
        text = client.call("run-tests", system="sums", wait=120).text
        self.assertIn("""
1. FAILED: SUMS::HELPED
  in: CHECK-SUM (sums.lisp:5)
  form: (= 4 C)
  expected: (= 4)
  actual: 5

2. FAILED: SUMS::HELPED
  in: CHECK-SUM (sums.lisp:6)
  form: (EVENP C)
  reason: (EVENP C) did not return a true value

3. FAILED: SUMS::HELPED
  form: (= 1 2)
""", text)
        self.assertNotIn("agent-", client.call("get-backtrace", max_frames=100).text)
        # The body of a test is a local function of a form in the file.
        self.assertIn("\n    0: ((LABELS SUMS::%TEST-FAILING))\n", text)
        self.assertIn(">>>(CAR (LENGTH (QUOTE (1))))<<<", client.call("get-backtrace", locals=True).text)

    def test_the_error_of_a_test_can_be_entered_and_the_computation_goes_on(self):
        client = self.project(SHOP)
        client.call("run-tests", system="shop", wait=120)
        errors = client.call("list-errors").text
        self.assertRegex(errors, r"2\. \S+ TYPE-ERROR: .*\(can be entered\)\n1\. \S+ DIVISION-BY-ZERO: .*\(can be entered\)")
        self.assertIn("TYPE-ERROR", client.call("describe-last-error").text)
        frames = client.call("get-backtrace", index=1, locals=True).text
        frame = re.search(r"^(\d+): \((?:SHOP:)?AVERAGE NIL\)", frames, re.MULTILINE)
        self.assertIsNotNone(frame, frames)
        report = client.call("evaluate-in-frame", index=1, frame=int(frame.group(1)), code="(list shop::prices shop::count)")
        self.assertValue(report, "(NIL 0)")
        # What fails in there is no part of the test.
        report = client.call("evaluate-in-frame", index=1, frame=int(frame.group(1)), code="(error \"mine\")")
        self.assertErrorReport(report, "SIMPLE-ERROR")
        # Fixed in an ordinary call; the test is run again where it stood, and then the others.
        client.evaluate("(defun shop:average (prices) (if prices (/ (shop:total prices) (length prices)) 0))")
        report = client.call("invoke-restart", index=1, restart="RETEST")
        self.assertRegex(report.text, r"^shop: FAILED\. 5 tests, .* with an unexpected error")
        self.assertEqual(["SHOP-TESTS::BAD"], re.findall(r"ERROR: (\S+)", report.text))
        self.assertValue(client.evaluate("(shop:average '())"), "0")

    def test_errors_of_threads_have_no_part_in_the_numbers_of_a_run(self):
        client = self.project(suite("beside", "fiveam", '(test a (error "of a test"))\n'
                                    '(test b (sb-thread:join-thread (sb-thread:make-thread (lambda () (error "of a thread"))) :default nil) (is (= 1 1)))\n'))
        reply = client.call("run-tests", system="beside", wait=120)
        index = int(re.search(r"(?m)^  error (\d+)$", reply.text).group(1))
        listed = client.call("list-errors").text
        self.assertIn("of a thread", listed)
        self.assertRegex(listed, r"(?m)^%d\. .*SIMPLE-ERROR: of a test" % index)

    def test_the_session_of_a_run_is_one_that_went_on(self):
        client = self.project(SHOP)
        client.evaluate("(defvar *before* 1)")
        client.call("run-tests", system="shop", wait=120)
        self.assertValue(client.evaluate("(list *before* (shop:total '(1 2)))"), "(1 3)")
        self.assertIn("No error available", client.call("describe-last-error").text)
        history = client.call("session-history").text
        self.assertIn('(asdf:test-system "shop")', history)
        self.assertIn("evaluation 3", client.call("list-checkpoints").text)

    def test_only_the_first_errors_of_a_run_are_kept_to_be_entered(self):
        client = self.project(suite("many", "rt", "".join('(deftest err.%d (error "number %d") 1)\n' % (i, i) for i in range(9))))
        reply = client.call("run-tests", system="many", wait=120)
        self.assertIn("9 tests: 0 passed, 0 failed, 9 with an unexpected error", reply.text)
        self.assertEqual(["1", "2", "3"], re.findall(r"(?m)^  error (\d+)$", reply.text))
        self.assertEqual(3, client.call("list-errors").text.count("(can be entered)"))
        self.assertIn("number 0", client.call("get-backtrace", index=1).text + client.call("list-errors").text)

    def test_without_copies_a_run_continues_too(self):
        client = self.start_server("--checkpoints", "off", "--directory", mcp.write_files(self.folder(), SHOP))
        client.call("configure-limits", {"checkpoint-limit": 0})
        reply = client.call("run-tests", system="shop", wait=120)
        self.assertIn("5 tests, 10 checks: 4 passed, 3 failed, 2 with an unexpected error, 1 skipped", reply.text)
        client = self.project(SHOP)
        client.evaluate("(defvar *thread* (sb-thread:make-thread (lambda () (sleep 600))))")
        reply = client.call("run-tests", system="shop", wait=120)
        self.assertIn("5 tests, 10 checks: 4 passed, 3 failed, 2 with an unexpected error, 1 skipped", reply.text)
        # Only what works then is promised.
        self.assertEqual(["1", "2"], re.findall(r"(?m)^  error (\d+), which cannot be entered$", reply.text))
        self.assertTrue(client.call("evaluate-in-frame", index=1, frame=0, code="1").text.startswith("Error 1 cannot be entered: "))
        self.assertFalse(client.call("get-backtrace", index=1).is_error)
        client.evaluate("(sb-thread:terminate-thread *thread*)")

    def test_a_test_that_never_ends_meets_the_time_limit_and_can_be_cancelled(self):
        client = self.project(suite("endless", "rt", '(deftest fails (error "first") 1)\n(deftest loops (loop (sleep 0.1)) 1)\n'))
        client.call("load-system", system="rt", wait=120)
        report = client.call("run-tests", system="endless", timeout=3, wait=60)
        self.assertErrorReport(report, "TIMEOUT")
        self.assertIn("running the test ENDLESS::LOOPS", report.text)
        self.assertIn("first", client.call("list-errors").text)
        pending = client.start_call("run-tests", {"system": "endless"})
        mcp.wait_until(lambda: client.call("list-errors").text.count("first") == 2, 60, "the first test's error")
        client.call("cancel-evaluation")
        self.assertErrorReport(pending.reply(wait=60), "CANCELLED")
        self.assertOperational(client)

    def test_the_death_of_the_process_in_a_test_ends_the_run(self):
        client = self.project(suite("deadly", "rt", '(deftest fails (error "first") 1)\n(deftest exits (sb-ext:exit :code 3 :abort t) 1)\n'))
        client.evaluate("(defvar *kept* 1)")
        report = client.call("run-tests", system="deadly", wait=120)
        self.assertErrorReport(report, "PROCESS-EXITED")
        self.assertValue(client.evaluate("*kept*"), "1")
        self.assertIn("first", client.call("list-errors").text)
        self.assertFalse(client.call("evaluate-in-frame", index=1, frame=0, code="(+ 1 2)").is_error)

    def test_one_test_by_name(self):
        client = self.project(SHOP)
        for name in ("texts", "TEXTS", "shop-tests::texts", "SHOP-TESTS:TEXTS"):
            reply = client.call("run-tests", system="shop", test=name, wait=120)
            self.assertIn("shop: FAILED. 1 test, 2 checks: 0 passed, 1 failed", reply.text)
        for name in ("fiveam::texts", "nowhere:texts"):
            self.assertRegex(client.call("run-tests", system="shop", test=name).text, "^There is no test " + name)
        self.assertRegex(client.call("run-tests", system="shop", test="text").text, r"^There is no test text\.\nDid you mean TEXTS")

    def test_a_test_of_another_system_is_not_taken_for_one_of_this(self):
        client = self.project({**suite("fa", "fiveam", "(test good (is (= 1 1)))\n(test only-a (is (= 1 1)))\n"), **suite("fb", "fiveam", "(test good (is (= 1 2)))\n")})
        self.assertIn("fb: FAILED. 1 test: 0 passed, 1 failed", client.call("run-tests", system="fb", wait=120).text)
        self.assertIn("fa: passed. 1 test: 1 passed, 0 failed", client.call("run-tests", system="fa", test="good").text)
        self.assertEqual("There is no test only-a of fb.\nFA::ONLY-A is a test of the system fa.", client.call("run-tests", system="fb", test="only-a").text)
        # One that no file defines can be run for any system.
        client.evaluate("(fiveam:test mine (fiveam:is (= 1 1)))")
        self.assertIn("fa: passed. 1 test: 1 passed", client.call("run-tests", system="fa", test="mine").text)

    def test_the_system_whose_tests_ran_is_named_if_it_is_another(self):
        client = self.project({**suite("checks", "fiveam", "(test good (is (= 1 1)))\n"),
                               "ordered.asd": '(defsystem "ordered" :in-order-to ((test-op (test-op "checks"))))',
                               "performed.asd": '(defsystem "performed" :perform (test-op (o c) (asdf:test-system "checks")))'})
        own = client.call("run-tests", system="checks", wait=120).text
        self.assertNotIn("These are tests", own)
        for system in ("ordered", "performed"):
            text = client.call("run-tests", system=system).text
            self.assertIn("(FiveAM).\nThese are tests of checks.\n", text)
            self.assertNotIn("No longer", text)

    def test_missing_parentheses_are_explained_as_when_loading(self):
        files = {"torn.asd": '(defsystem "torn" :components ((:file "torn")))\n(defsystem "torn/tests" :depends-on ("torn"))',
                 "torn.lisp": "(defun half (x)\n  (let ((y 2))\n    (/ x y))\n\n(defun third-of (x)\n  (/ x 3))\n"}
        client = self.project(files)
        loaded = client.call("load-system", system="torn", wait=60).text
        for system in ("torn", "torn/tests"):
            reply = client.call("run-tests", system=system)
            self.assertTrue(reply.is_error)
            self.assertEqual(loaded.partition("[Syntax]")[2], reply.text.partition("[Syntax]")[2])
        self.assertIn("`)` is probably missing after line 3, column 12", loaded)

    def test_long_values_that_are_shown_alike_have_where_they_differ(self):
        client = self.project({
            "long.asd": '(defsystem "long" :depends-on ("fiveam" "rt") :components ((:file "long"))\n'
                        ' :perform (test-op (o c) (symbol-call :fiveam \'#:run! (find-symbol "ALL" :long)) (symbol-call :rt \'#:do-tests)))\n',
            "long.lisp": "(defpackage #:long (:use #:cl #:fiveam))\n(in-package #:long)\n(def-suite all)\n(in-suite all)\n"
                         "(defun counted (other) (loop for i below 300 collect (if (eql i other) :other i)))\n"
                         "(test flat (is (equal (counted nil) (counted 250))))\n"
                         "(test nested (is (equalp (list 1 (coerce (counted nil) 'vector)) (list 1 (coerce (counted 120) 'vector)))))\n"
                         "(test short (is (equal (counted nil) (butlast (counted nil)))))\n"
                         "(rt:deftest vals (counted 70) #.(loop for i below 300 collect i))\n"})
        differences = [rest.rpartition(" ...)")[2].strip(" )\n") for _, _, _, rest in self.failures(client.call("run-tests", system="long", wait=120).text)]
        self.assertEqual(["element 250: expected 250, actual :OTHER", "element 1, element 120: expected 120, actual :OTHER",
                          "element 299: actual has no more", "element 70: expected 70, actual :OTHER"], differences)

    def test_a_test_deleted_from_its_file_is_marked(self):
        client = self.project(suite("gone", "rt", "(deftest stays 1 1)\n(deftest goes 1 2)\n"))
        self.assertNotIn("No longer", client.call("run-tests", system="gone", wait=120).text)
        mcp.write_files(self.place, suite("gone", "rt", "(deftest stays 1 1)\n"))
        for arguments in ({}, {"test": "goes"}):
            self.assertIn("\nNo longer in its file, but still defined in the session: GONE::GOES\n", client.call("run-tests", arguments, system="gone").text)
        self.assertNotIn("No longer", client.call("run-tests", system="gone", test="stays").text)

    def test_progress_names_the_test_that_runs(self):
        for framework, share, tests in (
            ("rt", "50", "(deftest quick 1 1)\n(deftest waits (null (loop until (probe-file \"go\") do (sleep 0.01))) t)\n"),
            ("fiveam", "0|25|50|75", "(def-suite inner :in all)\n(in-suite inner)\n(test quick (is (= 1 1)))\n(test quick-2 (is (= 1 1)))\n"
             "(test waits (is (null (loop until (probe-file \"go\") do (sleep 0.01)))))\n(in-suite all)\n(test last (is (= 1 1)))\n"),
        ):
            with self.subTest(framework):
                client = self.project(suite("slow", framework, tests))
                pending = client.start_call("run-tests", {"system": "slow"}, meta={"progressToken": "slow"})
                told = r"testing (SLOW::)?WAITS \((%s) %% done\)" % share
                client.wait_for_notification(lambda note: re.search(told, str(note.get("params", {}).get("message", ""))))
                mcp.write(os.path.join(self.place, "go"))
                self.assertSucceeds(pending.reply())


STAND_INS = {
    "rove": """
(defpackage #:rove/core/result (:use #:cl) (:export #:assertion #:passed-assertion #:failed-assertion #:pending-assertion
  #:assertion-form #:assertion-reason #:assertion-description #:assertion-args #:assertion-values))
(in-package #:rove/core/result)
(defclass assertion () ((form :initarg :form :initform t :reader assertion-form) (reason :initarg :reason :initform nil :reader assertion-reason)
  (desc :initarg :desc :initform nil :reader assertion-description) (args :initarg :args :initform nil :reader assertion-args)
  (values :initarg :values :initform nil :reader assertion-values) (negative :initarg :negative :initform nil)))
(defclass passed-assertion (assertion) ())
(defclass failed-assertion (assertion) ())
(defclass pending-assertion (assertion) ())
(defpackage #:rove/core/stats (:use #:cl) (:export #:record #:*stats*))
(in-package #:rove/core/stats)
(defvar *stats* nil)
(defgeneric record (stats object) (:method (stats object) object))
(defpackage #:rove/core/test (:use #:cl))
(in-package #:rove/core/test)
(defun call-with-testing-with-options (desc name function)
  (declare (ignore desc name))
  (block nil
    (handler-bind ((error (lambda (e) (rove/core/stats:record rove/core/stats:*stats* (make-instance 'rove/core/result:failed-assertion :reason e)) (return nil))))
      (funcall function))))
(defpackage #:rove/core/suite/package (:use #:cl) (:export #:all-suites #:suite-tests #:run-suite))
(in-package #:rove/core/suite/package)
(defvar *tests* '())
(defvar *before* (constantly nil))
(defun all-suites () '(:suite))
(defun suite-tests (suite) (declare (ignore suite)) (reverse *tests*))
(defun run-suite (suite) (dolist (test (suite-tests suite)) (funcall *before*) (funcall (get test 'test))))
(defpackage #:rove/core/suite (:use #:cl))
(in-package #:rove/core/suite)
(defun call-with-suite (function) (let ((rove/core/stats:*stats* :stats)) (funcall function)))
(defpackage #:rove (:use #:cl #:rove/core/result) (:export #:deftest #:testing #:defhook #:ok #:ng #:skip #:run #:assertion #:passed-assertion
  #:failed-assertion #:pending-assertion #:assertion-form #:assertion-reason #:assertion-description #:assertion-args #:assertion-values))
(in-package #:rove)
(defmacro deftest (name &body body)
  `(progn (pushnew ',name rove/core/suite/package::*tests*)
          (setf (get ',name 'rove/core/suite/package::test) (lambda () (rove/core/test::call-with-testing-with-options ,(string name) ',name (lambda () ,@body))))))
(defmacro testing (text &body body) `(rove/core/test::call-with-testing-with-options ,text nil (lambda () ,@body)))
(defun note (class &rest arguments) (rove/core/stats:record rove/core/stats:*stats* (apply #'make-instance class arguments)))
(defmacro ok ((function &rest arguments))
  `(let* ((values (list ,@arguments)) (result (apply #',function values)))
     (note (if result 'passed-assertion 'failed-assertion) :form '(,function ,@arguments) :args ',arguments :values values :desc "it should be true")))
(defmacro ng (form) `(note (if ,form 'failed-assertion 'passed-assertion) :form ',form :negative t))
(defun skip (reason) (note 'pending-assertion :desc reason))
(defmacro defhook (mode &body body) (declare (ignore mode)) `(setf rove/core/suite/package::*before* (lambda () ,@body)))
(defun run (system) (declare (ignore system)) (rove/core/suite::call-with-suite (lambda () (rove/core/suite/package:run-suite :suite))))
""",
    "parachute": """
(defpackage #:parachute (:use #:cl) (:export #:test #:define-test #:is #:isnt #:true #:group #:skip #:status #:expression #:value #:results #:name #:body #:tests
  #:comparison #:comparison-geq #:expected #:description #:comparison-result #:value-result #:parent-result #:test-result #:controlling-result #:child-status #:test-packages #:package-tests))
(in-package #:parachute)
(defvar *tests* '())
(defvar *parent*)
(defclass test () ((name :initarg :name :reader name) (depends-on :initarg :depends-on :reader depends-on) (tests :initarg :tests :reader tests)))
(defclass result () ((expression :initarg :expression :reader expression) (status :initform :unknown :initarg :status :accessor status)
  (description :initform nil :accessor description)))
(defclass value-result (result) ((value :accessor value) (body :initarg :body :reader body)))
(defclass comparison-result (value-result) ((expected :initarg :expected :reader expected) (comparison :initarg :comparison :reader comparison)
  (comparison-geq :initarg :comparison-geq :initform t :reader comparison-geq)))
(defclass parent-result (result) ((results :initform (make-array 0 :adjustable t :fill-pointer t) :reader results)))
(defclass test-result (parent-result) ())
(defclass group-result (parent-result) ())
(defun geq (value expected) (if expected value (not value)))
(defclass controlling-result (parent-result) ((child-status :initform :skipped :reader child-status)))
(defun add (result) (vector-push-extend result (results *parent*)) result)
(defmacro define-test (name &body body &aux (depends-on (when (eq :depends-on (first body)) (pop body) (pop body))))
  `(setf *tests* (append *tests* (list (make-instance 'test :name ',name :depends-on ',depends-on :tests (list (lambda () ,@body)))))))
(defun check (result)
  (handler-case (progn (setf (value result) (funcall (body result)))
                       (setf (status result) (if (geq (funcall (comparison result) (value result) (expected result)) (comparison-geq result)) :passed :failed)))
    (error (e) (setf (value result) e (status result) :failed))))
(defmacro is (comparison expected form)
  `(check (add (make-instance 'comparison-result :expression '(is ,comparison ,expected ,form) :expected ,expected :comparison ',comparison :body (lambda () ,form)))))
(defmacro isnt (comparison expected form)
  `(check (add (make-instance 'comparison-result :expression '(isnt ,comparison ,expected ,form) :expected ,expected :comparison ',comparison :comparison-geq nil :body (lambda () ,form)))))
(defmacro true (form)
  `(check (add (make-instance 'comparison-result :expression '(true ,form) :expected t :comparison 'geq :body (lambda () ,form)))))
(defmacro group ((name) &body body)
  `(let ((*parent* (add (make-instance 'group-result :expression ',name)))) ,@body (setf (status *parent*) :failed)))
(defmacro skip (reason &body body) (declare (ignore reason))
  `(let ((*parent* (add (make-instance 'controlling-result :expression :skipped :status :passed))))
     (flet ((check (result) (setf (status result) :passed))) ,@body)))
(defun test-packages () (list *package*))
(defun package-tests (package) (declare (ignore package)) *tests*)
(defun run-one (test)
  (let* ((result (add (make-instance 'test-result :expression test))) (*parent* result))
    (when (depends-on test) (return-from run-one (setf (status result) :skipped)))
    (handler-case (mapc #'funcall (tests test))
      (error (e) (setf (description result) (format nil "The test failed to evaluate properly: ~a" e) (status result) :failed)))
    (setf (status result) (if (or (eq :failed (status result)) (find :failed (results result) :key #'status)) :failed :passed))))
(defun test (designator &key) (let ((*parent* (make-instance 'parent-result :expression designator)))
  (mapc #'run-one (if (listp designator) designator *tests*)) *parent*))
""",
    "lisp-unit": """
(defpackage #:lisp-unit (:use #:cl) (:export #:define-test #:assert-equal #:run-tests #:list-tests))
(in-package #:lisp-unit)
(defvar *test-db* (make-hash-table))
(defvar *pass*) (defvar *fail*)
(defclass test-result () ((name :initarg :name :reader name) (pass :initarg :pass :reader pass) (fail :initarg :fail :reader fail) (exerr :initform nil :initarg :exerr :reader exerr)))
(defclass failure-result () ((form :initarg :form :reader form) (actual :initarg :actual :reader actual) (expected :initarg :expected :reader expected)))
(defmacro define-test (name &body body)
  `(progn (unless (gethash *package* *test-db*) (setf (gethash *package* *test-db*) (make-hash-table)))
          (setf (gethash ',name (gethash *package* *test-db*)) ',body)))
(defmacro assert-equal (expected form)
  `(let ((actual ,form)) (if (equal ,expected actual) (incf *pass*)
     (push (make-instance 'failure-result :form ',form :expected (list ,expected) :actual (list actual)) *fail*))))
(defun list-tests (&optional (package *package*)) (loop for name being the hash-keys of (gethash (find-package package) *test-db*) collect name))
(defun run-code (code) (funcall (coerce `(lambda () ,@code) 'function)))
(defun run-test-thunk (name code)
  (let ((*pass* 0) (*fail* '()))
    (handler-bind ((error (lambda (e) (return-from run-test-thunk (make-instance 'test-result :name name :pass *pass* :fail *fail* :exerr e)))))
      (run-code code))
    (make-instance 'test-result :name name :pass *pass* :fail *fail*)))
(defun run-tests (&optional (names :all) (package *package*))
  (dolist (name (if (eq names :all) (list-tests package) names)) (run-test-thunk name (gethash name (gethash (find-package package) *test-db*)))))
""",
    "lisp-unit2": """
(defpackage #:lisp-unit2 (:use #:cl) (:export #:define-test #:assert-equal #:run-tests #:list-tests #:assertion-pass #:assertion-fail))
(in-package #:lisp-unit2)
(defvar *tests* '())
(define-condition assertion-pass (condition) ())
(define-condition assertion-fail (condition) ((failure :initarg :failure :reader failure)))
(defclass failure-result () ((form :initarg :form :reader form) (actual :initarg :actual :reader actual) (expected :initarg :expected :reader expected)))
(defclass unit-test () ((name :initarg :name :reader name) (thunk :initarg :thunk)))
(defgeneric test-thunk (test) (:method ((test unit-test)) (slot-value test 'thunk)))
(defmacro define-test (name options &body body) (declare (ignore options))
  `(setf *tests* (append *tests* (list (make-instance 'unit-test :name ',name :thunk (lambda () ,@body))))))
(defmacro assert-equal (expected form)
  `(let ((actual ,form)) (if (equal ,expected actual) (signal 'assertion-pass)
     (signal 'assertion-fail :failure (make-instance 'failure-result :form '(assert-equal ,expected ,form) :expected (list ,expected) :actual (list actual))))))
(defun list-tests () *tests*)
(defun run-test (test) (block nil (handler-bind ((error (lambda (e) (declare (ignore e)) (return nil)))) (funcall (test-thunk test)))))
(defun run-tests (&key tests package name) (declare (ignore package name))
  (mapc #'run-test (if tests (remove-if-not (lambda (test) (member (name test) tests)) *tests*) *tests*)))
""",
}

SUITES = {
    "rove": ("(:use #:cl #:rove)", '(defvar *three* 0)\n(defhook :before (setf *three* 3))\n(deftest adds (testing "sums" (ok (= *three* (+ 1 2))) (ok (= 4 (+ 1 2)))) (skip "later"))\n(deftest inside (ok (= 1 (error (quote type-error) :datum 5 :expected-type (quote list)))))\n(deftest outside (error "outside"))\n',
             "(uiop:symbol-call :rove '#:run c)", "3 tests, 5 checks: 1 passed, 1 failed, 2 with an unexpected error, 1 skipped (Rove)", "  in: sums / suite/suite.lisp:5\n  form: (= 4 (+ 1 2))\n  actual: (+ 1 2) = 3\n  reason: it should be true\n"),
    "parachute": ("(:use #:cl) (:import-from #:parachute #:define-test #:is #:isnt #:true #:group #:skip)",
                  '(define-test adds (is = 3 (+ 1 2)) (is = 4 (+ 1 2)) (skip "later" (is = 1 2)))\n(define-test skipped :depends-on (adds) (is = 1 1))\n(define-test inside (is = 1 (error (quote type-error) :datum 5 :expected-type (quote list))))\n(define-test outside (error "outside"))\n',
                  "(uiop:symbol-call :parachute '#:test :suite)", "3 tests, 6 checks: 1 passed, 1 failed, 2 with an unexpected error, 2 skipped (Parachute)", "  in: suite/suite.lisp:3\n  form: (IS = 4 (+ 1 2))\n  expected: = 4\n  actual: 3\n"),
    "lisp-unit": ("(:use #:cl #:lisp-unit)", '(define-test adds (assert-equal 3 (+ 1 2)) (assert-equal 4 (+ 1 2)))\n(define-test inside (assert-equal 1 (error (quote type-error) :datum 5 :expected-type (quote list))))\n(define-test outside (error "outside"))\n',
                  "(uiop:symbol-call :lisp-unit '#:run-tests :all :suite)", "3 tests, 4 checks: 1 passed, 1 failed, 2 with an unexpected error (lisp-unit)", "  form: (+ 1 2)\n  expected: 4\n  actual: 3\n"),
    "lisp-unit2": ("(:use #:cl #:lisp-unit2)", '(define-test adds () (assert-equal 3 (+ 1 2)) (assert-equal 4 (+ 1 2)))\n(define-test inside () (assert-equal 1 (error (quote type-error) :datum 5 :expected-type (quote list))))\n(define-test outside () (error "outside"))\n',
                   "(uiop:symbol-call :lisp-unit2 '#:run-tests :package :suite)", "3 tests, 4 checks: 1 passed, 1 failed, 2 with an unexpected error (lisp-unit2)", "  in: suite/suite.lisp:3\n  form: (ASSERT-EQUAL 4 (+ 1 2))\n  expected: 4\n  actual: 3\n"),
}


COUNTED = "(defun counted (other) (loop for i below 100 collect (if (eql i other) :other i)))\n"

# Checks of each framework: one that should not hold, one in groups, values that differ far behind; and what is told of them.
DETAILS = {
    "fiveam": ("(test p (is (not (= 1 1))) (is (string= (make-string 999 :initial-element #\\a) (concatenate 'string (make-string 999 :initial-element #\\a) \"b\")))\n(is (equal (list 1 (list (counted nil))) (list 1 (list (counted 90))))))",
               ["  form: (NOT (= 1 1))\n  expected: not (= 1)\n", '\n          character 999: expected "aaaaaaaaaa", actual "aaaaaaaaaab"\n', "\n          element 1, element 0, element 90: expected 90, actual :OTHER\n"]),
    "rt": ("(deftest p (values 1 (list 2 (counted 90))) 1 (2 #.(loop for i below 100 collect i)))", ["\n          element 1, element 1, element 90: expected 90, actual :OTHER\n"]),
    "rove": ('(deftest p (testing "outer" (testing "inner" (ng (= 1 1)))\n(ok (equal (list 1 (counted nil)) (list 1 (counted 90))))) (ng (= 1 1)))',
             ["  in: outer / inner / suite/suite.lisp:4\n  form: (= 1 1)\n  expected: false\n", "  in: outer / suite/suite.lisp:5\n", "\n          element 1, element 90: first 90, second :OTHER\n",
              "  in: suite/suite.lisp:5\n  form: (= 1 1)\n  expected: false\n"]),
    "parachute": ("(define-test p (isnt = 1 1) (true nil) (group (inner) (is equal (list 1 (counted nil)) (list 1 (counted 90)))))",
                  ["\n  expected: not = 1\n  actual: 1\n", "\n  expected: true\n  actual: NIL\n", "  in: INNER / suite/suite.lisp:4\n", "\n          element 1, element 90: expected 90, actual :OTHER\n"]),
    "lisp-unit": ("(define-test p (assert-equal (list 1 (counted nil)) (list 1 (counted 90))))", ["\n          element 1, element 90: expected 90, actual :OTHER\n"]),
    "lisp-unit2": ("(define-test p () (assert-equal (list 1 (counted nil)) (list 1 (counted 90))))", ["\n          element 1, element 90: expected 90, actual :OTHER\n"]),
}


class StandIns(Systems):
    """Frameworks that Debian has not packed, by what they are known to call."""

    def stand_in(self, framework, tests):
        """Start with a system "suite" of these tests."""
        if framework not in STAND_INS:
            return self.project({"suite/" + name: text for name, text in suite("suite", framework, tests).items()})
        uses, _, perform, _, _ = SUITES[framework]
        return self.project({
            framework + ".asd": '(defsystem "%s" :components ((:file "framework")))\n' % framework,
            "framework.lisp": STAND_INS[framework],
            "suite/suite.asd": '(defsystem "suite" :depends-on ("%s") :components ((:file "suite")) :perform (test-op (o c) %s))\n' % (framework, perform),
            "suite/suite.lisp": "(defpackage #:suite %s)\n(in-package #:suite)\n%s" % (uses, tests),
        })

    def test_polarity_group_and_the_place_of_the_first_difference(self):
        for framework, (tests, told) in DETAILS.items():
            with self.subTest(framework):
                text = self.stand_in(framework, COUNTED + tests).call("run-tests", system="suite", wait=120).text
                for part in told:
                    self.assertIn(part, text + "\n")
                self.assertLess(len(text), 3000)

    def test_each_framework_gives_counts_and_errors_that_can_be_entered(self):
        for framework, (_, tests, _, counts, details) in SUITES.items():
            with self.subTest(framework):
                client = self.stand_in(framework, tests)
                reply = self.assertIsError(client.call("run-tests", system="suite", wait=120), "suite: FAILED. " + counts)
                self.assertIn(details, reply.text + "\n")
                self.assertRegex(reply.text, r"ERROR: (SUITE::)?INSIDE\n(  form: .*\n)?  condition: TYPE-ERROR\n    The value\s")
                errors = client.call("list-errors").text
                self.assertRegex(errors, r"2\. .*outside \(can be entered\)\n1\. .*TYPE-ERROR.*\(can be entered\)")
                reply = client.call("run-tests", system="suite", test="adds", wait=60)
                self.assertRegex(reply.text, r"suite: FAILED\. 1 test, [23] checks: 1 passed, 1 failed, 0 with an unexpected error")
                self.assertTrue(client.call("run-tests", system="suite", test="adds", framework="FiveAM").text.startswith("There is no test adds"))

    def test_a_system_without_a_test_operation_has_the_tests_of_its_framework_run(self):
        client = self.project({"quiet.asd": '(defsystem "quiet")\n(defsystem "quiet/tests" :depends-on ("rt") :components ((:file "t")))\n',
                               "t.lisp": "(rt:deftest one 1 1)\n(rt:deftest two 1 2)\n"})
        reply = client.call("run-tests", system="quiet", wait=60)
        self.assertIn("quiet: FAILED. 2 tests: 1 passed, 1 failed", reply.text)
        self.assertIn("test operation runs no tests", reply.text)
        # They are not those of a system that has nothing to do with it.
        client.evaluate('(asdf:defsystem "plain" :depends-on ("rt"))')
        self.assertNotIn("2 tests", client.call("run-tests", system="plain", wait=60).text)


QUICKLISP = """
(defpackage #:ql-setup (:use #:cl) (:export #:*quicklisp-home*))
(in-package #:ql-setup)
(defvar *quicklisp-home* (make-pathname :name nil :type nil :defaults *load-truename*))
(defpackage #:ql-dist (:use #:cl) (:export #:provided-systems #:find-system #:name #:release #:prefix #:dist #:installedp))
(in-package #:ql-dist)
(defclass dist () ((name :initform "quicklisp" :reader name)))
(defclass release () ((prefix :initform "tea-20240101-git" :reader prefix)))
(defclass system () ((name :initarg :name :reader name) (dist :initform (make-instance 'dist) :reader dist) (release :initform (make-instance 'release) :reader release)))
(defvar *systems* (list (make-instance 'system :name "tea") (make-instance 'system :name "tea-pot")))
(defun provided-systems (all) (declare (ignore all)) *systems*)
(defun find-system (name) (find name *systems* :key #'name :test #'string=))
(defun installed-file (name) (merge-pathnames (format nil "dists/quicklisp/software/tea-20240101-git/~a.asd" name) ql-setup:*quicklisp-home*))
(defun installedp (system) (probe-file (installed-file (name system))))
(defpackage #:quicklisp-client (:nicknames #:ql) (:use #:cl) (:export #:quickload))
(in-package #:quicklisp-client)
(defun searcher (name) (probe-file (ql-dist::installed-file name)))
(setf asdf:*system-definition-search-functions* (append asdf:*system-definition-search-functions* '(searcher)))
(defun quickload (system &key prompt verbose)
  (declare (ignore prompt verbose))
  (let ((file (ql-dist::installed-file system)))
    (ensure-directories-exist file)
    (with-open-file (out file :direction :output :if-exists :supersede) (format out "(defsystem ~s)" system))
    (format t "To load ~s: install 1 release~%" system)
    (asdf:load-system system)
    (list system)))
"""


class Quicklisp(Systems):
    def test_without_quicklisp_both_tools_say_how_to_get_it(self):
        client = self.start_server()
        for tool, arguments in (("quickload", {"system": "alexandria"}), ("list-systems", {"pattern": "alexandria", "quicklisp": True})):
            reply = client.call(tool, arguments)
            self.assertTrue(reply.is_error)
            self.assertRegex(reply.text, r"^Quicklisp is not installed: .*\nTo install it, load its installer, /usr/share/common-lisp/source/quicklisp/quicklisp\.lisp, and call \(quicklisp-quickstart:install\)\.")

    def test_one_that_is_installed_is_loaded_when_it_is_asked_for(self):
        home = self.folder()
        mcp.write_files(home, {"quicklisp/setup.lisp": QUICKLISP})
        client = self.start_server("--directory", self.folder(), environment=mcp.clean_environment(HOME=home))
        self.assertEqual("2 systems with \"tea\" in the name:\n- tea (tea-20240101-git, quicklisp)\n- tea-pot (tea-20240101-git, quicklisp)",
                         client.call("list-systems", pattern="tea", quicklisp=True).text)
        self.assertValue(client.evaluate("(find-package :quicklisp-client)"), "NIL")  # it was asked in a copy
        reply = self.assertSucceeds(client.call("quickload", system="tea", wait=60))
        self.assertRegex(reply.text, r"^Loaded tea\.\nSystems loaded: tea\nFound: installed by Quicklisp: .*/tea\.asd\n\n\[stdout\]\nTo load \"tea\": install 1 release\n\n=> \(\"tea\"\)$")
        self.assertIn("- tea (tea-20240101-git, quicklisp; loaded)", client.call("list-systems", pattern="tea", quicklisp=True).text)
        self.assertIn("Found: installed by Quicklisp", client.call("describe-system", system="tea").text)
        self.assertRegex(client.call("list-systems", pattern="tea").text, r"- tea \(loaded\): ")
        self.assertEqual("Quicklisp has no system toa, and this machine has none.\nDid you mean tea?", client.call("quickload", system="toa").text)
        self.assertIn('(ql:quickload "tea")', client.call("session-history").text)
        self.assertIn("No definitions", client.call("list-definitions", type="packages").text)  # they are a library's
