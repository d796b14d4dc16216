"""What is said of code is so: where a definition is after its file was edited, and which code runs after a quick fix."""

import os
import time

import mcp

BEFORE = ("(defun ka (x)\n  (+ x 1))\n\n(defun kb (x)\n  (ka (* x 2)))\n\n(defun kc (x)\n  (kb (/ x 0)))\n"
          "(defmacro km (x) `(list ,x))\n(defvar *kv* 3)\n")
AFTER = "(defun new0 () 0)\n(defun ka (x)\n  (+ x 1))\n\n(defun kb (x)\n  (ka (* x 2)))\n(defmacro km (x) `(list ,x))\n(defvar *kv* 3)\n"


class Files(mcp.TestCase):
    def write(self, folder, **files):
        for name, text in files.items():
            stem, _, ending = name.rpartition("_")
            mcp.write(os.path.join(folder, stem.replace("__", "/") + "." + ending), text)

    def client(self, folder, *options):
        """Compiled files go where no other test looks."""
        return self.start_server(*options, cwd=folder, environment=mcp.clean_environment(XDG_CACHE_HOME=self.folder()))


class EditedFiles(Files):
    def loads(self, path):
        """Each way to load a file, as a function of a client."""
        return {
            "load-file": lambda client: client.call("load-file", path=path),
            "compiled": lambda client: client.call("load-file", path=path, compile=True),
            "by hand": lambda client: client.evaluate('(load "%s")' % path),
            "by ASDF": lambda client: client.call("load-system", system="kay"),
        }

    def test_after_an_edit_a_definition_is_found_by_its_name_and_the_reply_says_that_the_file_has_changed(self):
        folder = self.folder()
        path = os.path.join(folder, "kay.lisp")
        self.write(folder, kay_asd='(defsystem "kay" :components ((:file "kay")))')
        for way, load in self.loads(path).items():
            with self.subTest(way):
                self.write(folder, kay_lisp=BEFORE)
                a_minute_ago = time.time() - 60  # SBCL notes only the second in which a file was written
                os.utime(path, (a_minute_ago, a_minute_ago))
                client = self.client(folder)
                self.assertFalse(load(client).is_error)
                self.assertIn("kay.lisp:7\n(defun kc (x)\n", client.call("find-definition", name="kc").text)
                self.write(folder, kay_lisp=AFTER)
                moved = client.call("find-definition", name="ka").text
                self.assertRegex(moved, r"kay\.lisp:2 \(changed since it was loaded\)\n\(defun ka \(x\)\n")
                self.assertIn("changed since it was loaded", client.call("find-definition", name="kc").text)
                self.assertIn("(defmacro km", client.call("find-definition", name="km").text)
                callers = client.call("who-calls", name="ka").text
                self.assertIn("KB at %s:5 (changed since it was loaded)" % path, callers)
                self.assertIn("kay.lisp (changed since it was loaded)", client.evaluate("(kc 1)").frames[0])
                self.assertIn("kay.lisp:5 (changed since it was loaded)", client.evaluate("(kb nil)").text)
                load(client)
                self.assertIn("KB at %s:5" % path, client.call("who-calls", name="ka").text)


class QuickEdits(Files):
    SYSTEM = ('(defsystem "quick" :components ((:file "quick")) :in-order-to ((test-op (test-op "quick/tests"))))\n'
              '(defsystem "quick/tests" :depends-on ("quick" "fiveam") :components ((:file "tests"))\n'
              '  :perform (test-op (o c) (uiop:symbol-call :fiveam :run! :quick)))\n')
    TESTS = "(fiveam:def-suite :quick)\n(fiveam:in-suite :quick)\n(fiveam:test two (fiveam:is (= 2 (two))))\n"

    def test_a_fix_within_the_second_of_a_test_run_is_built(self):
        folder = self.folder()
        self.write(folder, quick_asd=self.SYSTEM, tests_lisp=self.TESTS, quick_lisp="(defun two () 0)\n")
        client = self.client(folder)
        client.call("run-tests", system="quick")
        for value in (0, 1, 2, 3, 2, 4, 2):
            self.write(folder, quick_lisp="(defun two () %d)\n" % value)
            report = client.call("run-tests", system="quick")
            self.assertEqual(value != 2, report.is_error, "%d\n%s" % (value, report.text))
            self.assertEqual(str(value), client.evaluate("(two)").value)

    def test_the_values_of_a_check_that_several_tests_share_are_not_mixed_up(self):
        folder = self.folder()
        checks = "(defun check (x) (fiveam:is (= 1 x)))\n(fiveam:test a (check 22))\n(fiveam:test b (check 33))\n"
        self.write(folder, quick_asd=self.SYSTEM, tests_lisp=self.TESTS + checks, quick_lisp="(defun two () 2)\n")
        text = self.client(folder).call("run-tests", system="quick").text
        self.assertRegex(text, r"(?s)FAILED: A\b.*actual: +22\b.*FAILED: B\b.*actual: +33\b")

    def test_a_system_below_the_directory_counts_more_than_debians(self):
        folder = self.folder()
        self.write(folder, vendor__mine__alexandria_asd='(defsystem "alexandria" :components ((:file "mine")))',
                   vendor__mine__mine_lisp="(defun whose () :mine)\n")
        client = self.client(folder)
        report = client.call("load-system", system="alexandria")
        self.assertIn("vendor/mine/alexandria.asd", report.text)
        self.assertEqual(":MINE", client.evaluate("(whose)").value)

    def test_the_directory_may_be_called_anything(self):
        for name in ("p[x]q", "p*q", "p?q", "p\\q"):
            with self.subTest(name):
                folder = os.path.join(self.folder(), name)
                os.mkdir(folder)
                self.write(folder, here_lisp="1\n")
                self.assertEqual("T", self.client(folder).evaluate('(and (probe-file "here.lisp") t)').value)

    def test_a_definition_is_loaded_by_its_path(self):
        folder, elsewhere = self.folder(), self.folder()
        self.write(elsewhere, far_asd='(defsystem "far" :components ((:file "far")))', far_lisp="(defun far () :here)\n")
        client = self.client(folder)
        path = os.path.join(elsewhere, "far.asd")
        report = client.call("load-system", system=path)
        self.assertIn("Loaded far.", report.text)
        self.assertEqual(":HERE", client.evaluate("(far)").value)
        missing = client.call("load-system", system=os.path.join(elsewhere, "farther.asd"))
        self.assertIn("There is no system", missing.text)
