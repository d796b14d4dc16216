"""The table of hostile evaluations: after each the server answers well-formed reports, the session has what it had, and the next evaluation works.

The table itself is in the folder hostile. Each case has a server of its own, with a second session beside it that must not notice.
"""

import re

import mcp
from hostile import company, descriptors, endings, environment, loops, memory, values
from hostile.table import PREPARATION

TABLE = endings.CASES + descriptors.CASES + loops.CASES + memory.CASES + environment.CASES + company.CASES + values.CASES


class Hostile(mcp.TestCase):
    def prepare(self, case):
        self.server = self.start_server(*case.options)
        self.assertValue(self.server.evaluate(PREPARATION), ":PREPARED")
        self.server.call("create-session", name="witness")
        self.assertValue(self.server.evaluate("(defparameter *witness* 1)", session="witness"), "*WITNESS*")

    def assertWellFormed(self, report, is_lookalike=False):
        if report.is_error:
            self.assertErrorReport(report)
        else:
            self.assertTrue(report.values or report.no_values, report.text[:2000])
        if not is_lookalike:
            self.assertSectionsInOrder(report)
        self.assertLess(len(report.text), 200000)
        self.assertNotRegex(report.text, r"(?m)^\d+: .*CL-MCP-AGENT::", "frames of the agent are shown")

    def assertOutcome(self, report, outcome):
        if outcome.kind == "value":
            self.assertFalse(report.is_error, report.text[:2000])
            self.assertEqual(outcome.argument, report.value, report.text[:2000])
        elif outcome.kind in ("error", "died", "fails", "lookalike"):
            self.assertTrue(report.is_error, report.text[:2000])
            self.assertRegex(report.error_type, outcome.argument, report.text[:2000])
            if outcome.kind == "died":
                self.assertRegex(report.session, r"(?i)goes on", report.text[:2000])
            elif outcome.kind == "error":
                self.assertEqual("", report.session, report.text[:2000])

    def run_case(self, case):
        self.prepare(case)
        for code in case.code:
            report = self.server.evaluate(code, timeout=case.timeout, wait=case.wait)
            self.assertWellFormed(report, case.outcome.kind == "lookalike")
        self.assertOutcome(report, case.outcome)
        for tool in ("describe-last-error", "get-backtrace", "list-checkpoints", "session-info", "list-errors", "session-history"):
            self.assertNotEqual("", self.server.call(tool, wait=15).text.strip(), tool)
        if case.cure:
            self.assertFalse(self.server.call("rollback-session", to="1", wait=15).is_error)
        check = self.server.evaluate(case.check, timeout=5, wait=20)
        self.assertValue(check, case.state)
        again = self.server.evaluate(case.check, timeout=5, wait=20)
        self.assertEqual(check.values, again.values, again.text[:2000])
        self.assertValue(self.server.evaluate("*witness*", session="witness", timeout=5, wait=20), "1")


def statement(name):
    return "test_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") + "_is_survived"


for _case in TABLE:
    assert not hasattr(Hostile, statement(_case.name)), _case.name
    setattr(Hostile, statement(_case.name), lambda self, case=_case: self.run_case(case))


if __name__ == "__main__":
    mcp.main()
