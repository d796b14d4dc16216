"""Runs the table of hostile evaluations: after each the server answers well-formed reports, the session has what it had, and the next evaluation works.

Each case has a session that begins empty, with a second one beside it that must not notice. A server takes one case after the
other; it ends, and is checked, after GROUP of them and after a case that failed, so that no failure leads to another. What leaves
threads or processes behind has a server of its own. Much of the time is spent waiting for limits, so some cases run at a time;
each test reports on one of them.
"""

import concurrent.futures
import contextlib
import re
import sys
import tempfile
import unittest

import mcp
from hostile import company
from hostile.table import PREPARATION

GROUP = 20
WORKERS = 3
ALONE = {id(case) for case in company.CASES}


class Hostile(mcp.TestCase):
    cases = {}  # by the name of the test

    @classmethod
    def setUpClass(cls):
        """Begin with the cases that were asked for, in the order in which they are asked about."""
        cls.idle = {}  # by options: servers between two cases, each with the number of those it has had
        cls.pool = concurrent.futures.ThreadPoolExecutor(WORKERS)
        tests = unittest.TestLoader().loadTestsFromTestCase(cls)
        wanted = sys.argv[2:]  # of run_one.py
        cls.futures = {
            test._testMethodName: cls.pool.submit(test.run_case, cls.cases[test._testMethodName])
            for test in tests
            if not wanted or any(w in mcp.TapResult.name_of(test) or w in test.id() for w in wanted)
        }

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown(cancel_futures=True)
        for servers in cls.idle.values():
            for server, _ in servers:
                server.close()

    def ask(self):
        """What became of the case of this test."""
        try:
            self.futures[self._testMethodName].result()
        except BaseException as error:
            self.clients += getattr(error, "servers", [])  # whose last words are shown
            raise

    @contextlib.contextmanager
    def server_for(self, case):
        is_alone = id(case) in ALONE
        try:
            if is_alone:
                raise IndexError
            server, count = self.idle.setdefault(case.options, []).pop()
            is_new = False
        except IndexError:
            server, count = mcp.Client(*case.options), 0
            is_new = True
        try:
            with server if is_alone else contextlib.nullcontext():
                for session in () if is_new else ("default", "witness"):
                    self.assertFalse(server.call("reset-session", session=session).is_error)
                yield server
                if not is_alone and count + 1 == GROUP:
                    server.close()
        except BaseException as error:
            server.__exit__(type(error))
            error.servers = [server]
            raise
        if not is_alone and count + 1 < GROUP:
            self.idle[case.options].append((server, count + 1))

    def prepare(self, server):
        self.assertValue(server.evaluate(PREPARATION), ":PREPARED")
        server.call("create-session", name="witness")
        self.assertValue(server.evaluate("(defparameter *witness* 1)", session="witness"), "*WITNESS*")

    def assertErrorReport(self, report, error_type=None):
        """As everywhere, but the name of a type may hold spaces here: it is one line without control characters."""
        self.assertTrue(report.is_error, report.text[:2000])
        self.assertIsNotNone(report.error_type, report.text[:2000])
        self.assertRegex(report.error_type, r"^[^\x00-\x1f\x7f-\x9f]+$", report.text[:2000])
        self.assertNotEqual("", (report.message or "").strip(), report.text[:2000])
        return report

    def assertWellFormed(self, report, is_lookalike=False):
        if report.is_error:
            self.assertErrorReport(report)
        else:
            self.assertTrue(report.values or report.no_values, report.text[:2000])
        if not is_lookalike:
            self.assertSectionsInOrder(report)
        self.assertLess(len(report.text), 200000)
        # What the Lisp itself printed when its errors nested too deep is output of the program.
        shown = report.text.replace(report.stdout or "", "")
        self.assertNotRegex(shown, r"(?m)^\d+: .*CL-MCP-AGENT::", "frames of the agent are shown")

    def assertOutcome(self, report, outcome):
        if outcome.kind == "either":
            for one in outcome.argument[:-1]:
                with contextlib.suppress(AssertionError):
                    return self.assertOutcome(report, one)
            outcome = outcome.argument[-1]
        text = "%s(%s) was expected\n%s" % (outcome.kind, outcome.argument, report.text[:2000])
        self.assertEqual(outcome.kind not in ("value", "returns", "nothing"), report.is_error, text)
        if outcome.kind == "value":
            self.assertEqual(outcome.argument, report.value, text)
        elif outcome.kind == "returns":
            self.assertRegex(report.value, outcome.argument, text)
        elif outcome.kind == "nothing":
            self.assertTrue(report.no_values, text)
        else:
            self.assertRegex(report.error_type, outcome.argument, text)
        if outcome.kind == "died":
            self.assertRegex(report.session, r"(?i)continues", text)
        elif outcome.kind == "error":
            # Nothing happened to the session; it may say how far the code got.
            self.assertRegex(report.session, r"\A(The (\d+ forms|form) before the one that failed [^\n]*)?\Z", text)

    def run_case(self, case):
        """Not on the instance of the test that reports: it keeps nothing in it."""
        with tempfile.TemporaryDirectory(prefix="cl-mcp-test-", ignore_cleanup_errors=True) as folder, self.server_for(case) as server:
            self.prepare(server)
            self.pass_case(case, server, folder)

    def pass_case(self, case, server, folder):
        timeout = limit_of(case)
        for code in case.code:
            report = server.evaluate(code.replace("@FOLDER@", folder), timeout=timeout, wait=max(case.wait, timeout + 10))
            self.assertWellFormed(report, case.outcome.kind == "lookalike")
        self.assertOutcome(report, case.outcome)
        for tool in ("describe-last-error", "get-backtrace", "list-checkpoints", "session-info", "list-errors", "session-history"):
            self.assertNotEqual("", server.call(tool, wait=15).text.strip(), tool)
        if case.cure:
            self.assertFalse(server.call("rollback-session", to="1", wait=15).is_error)
        # What cannot be unwound is given up after about 15 seconds of a processor, which are many more on a busy machine.
        check = server.evaluate(case.check, timeout=5, wait=60)
        self.assertValue(check, case.state)
        again = server.evaluate(case.check, timeout=5, wait=20)
        self.assertEqual(check.values, again.values, again.text[:2000])
        self.assertValue(server.evaluate("*witness*", session="witness", timeout=5, wait=20), "1")


def limit_of(case):
    """What ends by itself has time for that, and more on a busy machine, like all that it would be wrong to stop."""
    ends_by_itself = case.outcome.kind in ("value", "returns", "nothing", "died")
    limit = case.timeout or (5 if ends_by_itself else 0.5)
    return limit if may_stop(case.outcome) else limit * mcp.STRETCH


def may_stop(outcome):
    """Is a stop at the time limit one of the outcomes?"""
    if outcome.kind == "either":
        return any(map(may_stop, outcome.argument))
    return outcome.kind in ("error", "fails") and re.search(outcome.argument, "TIMEOUT") is not None


def statement(name):
    return "test_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") + "_is_survived"


def cases_of(*tables, every=6 if mcp.SANITIZED else 1):
    """A class of tests, one for each case. Cases end or break a Lisp, where sanitizers are not: with them every sixth will do, to see
    what the server does meanwhile."""
    table = sum((t.CASES for t in tables), [])
    cases = {statement(case.name): case for case in table}
    assert len(cases) == len(table), "two cases of one name"
    cases = {name: cases[name] for name in list(cases)[::every]}
    methods = {name: (lambda self: self.ask()) for name in cases}
    return type("Hostile", (Hostile,), dict(methods, cases=cases))
