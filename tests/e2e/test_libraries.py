"""Libraries as Debian packs them: each is loaded and used, and the test suites of some of them give the counts that they give in a
bare SBCL. Nothing here depends on the server's own C code, so it is run once, without sanitizers."""

import re
import subprocess

import mcp

# A system, what is evaluated after it was loaded, and the value.
LIBRARIES = (
    ("alexandria", "(alexandria:flatten '(1 (2 (3))))", "(1 2 3)"),
    ("cl-ppcre", '(list (cl-ppcre:split "," "a,b") (handler-case (cl-ppcre:scan (string #\\() "x") (cl-ppcre:ppcre-syntax-error () :refused)))', '(("a" "b") :REFUSED)'),
    # Not all of ironclad: its hundred ciphers compile as long as everything else here together.
    ("ironclad/digest/sha256", "(ironclad:byte-array-to-hex-string (ironclad:digest-sequence :sha256 (map '(vector (unsigned-byte 8)) #'char-code \"abc\")))",
     '"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"'),
    ("hunchentoot", '(hunchentoot:url-encode "a b")', '"a%20b"'),
    ("drakma", '(drakma:url-encode "a b" :utf-8)', '"a+b"'),
    ("closer-mop", "(class-name (first (c2mop:class-direct-superclasses (find-class 'integer))))", "RATIONAL"),
    ("bordeaux-threads", "(bt:threadp (bt:current-thread))", "T"),
    ("iterate", "(iterate:iter (iterate:for x from 1 to 3) (iterate:collect (* x x)))", "(1 4 9)"),
    ("local-time", "(local-time:timestamp-year (local-time:encode-timestamp 0 0 0 0 1 1 2024 :timezone local-time:+utc-zone+))", "2024"),
    ("fiveam", "(fiveam:run-all-tests :summary nil)", None),
    ("split-sequence", '(values (split-sequence:split-sequence #\\, "a,b"))', '("a" "b")'),
    ("babel", '(length (babel:string-to-octets "é"))', "2"),
)


def bare(form, environment):
    """What a bare SBCL prints."""
    result = subprocess.run(
        ["sbcl", "--noinform", "--no-sysinit", "--no-userinit", "--disable-debugger", "--eval", "(require :asdf)",
         "--eval", "(handler-bind ((warning #'muffle-warning)) (let ((*compile-verbose* nil)) %s))" % form, "--quit"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, timeout=280 * mcp.STRETCH,
    )
    return result.stdout.decode(errors="replace")


class Libraries(mcp.TestCase):
    def counts(self, system):
        """The counts of run-tests: tests, passed, failed and the rest by their words."""
        reply = self.s.call("run-tests", system=system, timeout=280, wait=290)
        line = re.search(r"^%s: (passed|FAILED)\. (.*) \((.*)\)\.$" % re.escape(system), reply.text, re.MULTILINE)
        self.assertIsNotNone(line, reply.text[-3000:])
        counts = {word: int(number.replace(",", "")) for number, word in re.findall(r"([\d,]+) ([a-z][a-z ]*)", line.group(2))}
        self.assertEqual(line.group(1) == "FAILED", reply.is_error)
        return counts, line.group(3), reply

    def test_each_library_loads_and_is_used(self):
        for system, code, value in LIBRARIES:
            with self.subTest(system):
                reply = self.assertSucceeds(self.s.call("load-system", system=system, timeout=280, wait=290))
                self.assertRegex(reply.text, r"^(Loaded %s\.|%s was already loaded)" % (system, system))
                self.assertIn("in this machine's libraries", reply.text)
                report = self.assertSucceeds(self.s.evaluate(code))
                if value is not None:
                    self.assertValue(report, value)

    def test_rt_counts_what_it_counts_in_a_bare_lisp(self):
        for system in ("alexandria", "iterate"):
            with self.subTest(system):
                text = bare('(asdf:test-system "%s")' % system, mcp.clean_environment())
                counts, framework, reply = self.counts(system)
                pending = [int(n) for n in re.findall(r"Doing (\d+) pending tests", text)]
                failed = [int(n) for n in re.findall(r"(\d+) out of \d+ total tests failed", text)]
                self.assertTrue(pending, text[-2000:])
                self.assertEqual("RT", framework)
                self.assertEqual(sum(pending), counts["tests"])
                self.assertEqual(sum(failed), counts["failed"] + counts["with an unexpected error"] + counts.get("failed as expected", 0))
                self.assertEqual(sum(pending) - sum(failed), counts["passed"])

    def test_fiveam_counts_what_it_counts_in_a_bare_lisp(self):
        text = bare('(asdf:test-system "fiveam")', mcp.clean_environment())
        checks = re.search(r"Did (\d+) checks.\s+Pass: (\d+)[^\n]*\s+Skip: (\d+)[^\n]*\s+Fail: (\d+)", text)
        self.assertIsNotNone(checks, text[-2000:])
        _, passed, skipped, failed = map(int, checks.groups())
        counts, framework, reply = self.counts("fiveam")
        self.assertEqual("FiveAM", framework)
        self.assertEqual(passed, counts["passed"])
        self.assertEqual(skipped, counts.get("skipped", 0))
        self.assertEqual(failed, counts["failed"] + counts["with an unexpected error"])
