"""Two agents, one hostile, in the Lisp of a person who has SLIME and a web program. CL_MCP_TEST_HOUR is how many seconds that lasts;
the times of the requests and the sizes of the replies are printed as comments.
"""

import itertools
import os
import re
import threading
import time
import unittest
import urllib.request

import joining
import mcp
import test_join

SECONDS = float(os.environ.get("CL_MCP_TEST_HOUR", "8"))
SHOP = test_join.SHOP + """
(defvar *ledger-lock* (sb-thread:make-mutex :name "ledger"))
(defvar *ledger* 0)
(defun discount (sum) (sb-thread:with-mutex (*ledger-lock*) (incf *ledger* sum)) (- sum 1))
(defun tax (sum) sum)
(defun price (item) (declare (optimize debug)) (tax (discount (* 2 (cdr (assoc item '((:tea . 3) (:cake . 4))))))))"""
# What the hostile one does, again and again. None of it may end, stop or fill the image, or make a request fail.
HOSTILE = (
    "(sb-thread:make-thread (lambda () (exit :code 3)))", "(sb-thread:make-thread (fdefinition 'exit))", "(sb-posix:kill (sb-posix:getpid) 9)",
    "(sb-thread:terminate-thread (sb-thread:main-thread))", "(schedule-timer (make-timer (lambda () (exit :abort t)) :thread t) 0.01)",
    "(schedule-timer (make-timer (lambda () (error \"of a timer\"))) 0.01)", "(sb-thread:with-mutex (*ledger-lock*) (error \"with the lock\"))",
    "(defun tax (sum) (+ sum (random 1)))", "(loop repeat 20000 do (print :flood))", "(let ((all '())) (loop (push (make-list 100) all)))",
    "(labels ((deep (n) (1+ (deep (1+ n))))) (deep 0))", "(dotimes (n 20) (sb-thread:make-thread (lambda () (error \"one of many\"))))", "(loop)",
)


def share(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


class Customer(threading.Thread):
    """Asks for a price again and again."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.url = "http://127.0.0.1:%d/price?item=tea" % port
        self.times, self.failures, self.is_over = [], [], threading.Event()

    def run(self):
        while not self.is_over.is_set():
            began = time.monotonic()
            try:
                with urllib.request.urlopen(self.url, timeout=60 * mcp.STRETCH) as reply:
                    text = reply.read().decode()
            except OSError as error:
                text = repr(error)
            self.failures += [text] if text != "5" else []
            self.times.append(time.monotonic() - began)
            self.is_over.wait(0.01)

    def end(self):
        self.is_over.set()
        self.join()


@unittest.skipIf(joining.why_not(), joining.why_not())
@unittest.skipUnless(mcp.shutil.which("emacs"), "Emacs is not installed")
class Hour(mcp.TestCase):
    def agent(self, name):
        agent = self.start_server("--attach", self.image.address, "--announce", "buffer", "--lock-grace", "1", "--max-memory", "64", handshake=False)
        agent.request("initialize", {"protocolVersion": agent.era, "capabilities": {}, "clientInfo": {"name": name, "version": "0"}})
        agent.notify("notifications/initialized")
        return agent

    def call(self, agent, tool, **arguments):
        report = agent.call(tool, **arguments)
        self.sizes.setdefault(tool, []).append(len(report.text.encode()))
        return report

    def be_hostile(self, agent, until):
        for turn, code in enumerate(itertools.cycle(HOSTILE)):
            if turn >= len(HOSTILE) and time.monotonic() > until:
                return
            agent.call("evaluate-lisp", code=code, timeout=1)

    def work(self, agent, turn):
        """A turn of honest work."""
        def call(tool, **arguments):
            return self.call(agent, tool, **arguments)
        self.assertIn("5", call("evaluate-lisp", code="(price :tea)").text)
        call("evaluate-lisp", code="(defun total (items) (declare (optimize debug)) (reduce #'+ (mapcar #'price items) :initial-value %d))" % turn)
        self.assertTrue(call("evaluate-lisp", code="(total '(:tea :coffee))").is_error)
        number = agent.newest_error()
        call("list-errors")
        self.assertIn("PRICE", call("get-backtrace", index=number, locals=True).text)
        call("evaluate-in-frame", index=number, frame=0, code="(+ 1 2)")
        call("invoke-restart", index=number, restart="ABORT")
        for tool, arguments in (("describe-symbol", {"name": "price"}), ("find-definition", {"name": "price"}), ("list-threads", {}),
                                ("list-definitions", {}), ("find-references", {"name": "price"}), ("inspect-object", {"expression": "hunchentoot::*shop*"}),
                                ("measure-code", {"code": "(total '(:tea))"}), ("apropos-search", {"pattern": "ledger"}), ("session-history", {})):
            call(tool, **arguments)

    def test_every_request_is_answered_and_all_know_who_changed_what(self):
        folder = self.folder()
        self.sizes = {}
        self.image = joining.Image(folder, SHOP)
        self.addCleanup(self.image.end)
        self.addCleanup(lambda: print("# the image: %s; %s" % (self.image.process.poll(), "".join(self.image.printed)[-300:].replace("\n", "\n# "))))
        port = int(self.image.await_print(r"shop (\d+)\.", 300).group(1))
        emacs = joining.Emacs(folder)
        self.addCleanup(emacs.end)
        emacs("(setq slime-enable-evaluate-in-emacs t)")
        emacs('(slime-connect "127.0.0.1" %d)' % self.image.port)
        self.assertEqual("t", emacs("(and (await #'slime-connected-p) t)"))
        urllib.request.urlopen("http://127.0.0.1:%d/price?item=tea" % port, timeout=60 * mcp.STRETCH).close()
        alone = Customer(port)
        alone.start()
        mcp.wait_until(lambda: len(alone.times) >= 50, 60, "fifty requests")
        alone.end()
        good, bad = self.agent("good"), self.agent("bad")
        self.call(good, "get-usage-guide")
        customer = Customer(port)
        customer.start()
        hostile = threading.Thread(target=self.be_hostile, args=(bad, time.monotonic() + SECONDS), daemon=True)
        hostile.start()
        turns = 0
        while turns == 0 or hostile.is_alive():
            self.work(good, turns)
            turns += 1
        emacs("""(slime-eval '(swank:interactive-eval "(defun tax (sum) (floor sum))"))""")
        told = good.evaluate("(defun discount (sum) (1- sum))").text + bad.evaluate("1").text
        customer.end()
        self.report(alone.times, customer.times, turns)
        self.assertEqual([], alone.failures + customer.failures)
        self.assertLess(max(customer.times), 20 * mcp.STRETCH)
        self.assertTrue(self.image.is_alive())
        self.assertEqual("nil", emacs("(sldb-buffers)"))
        # Who changed which function when: for the person, and for the agents.
        for name, code in (("good", "(defun discount (sum) (1- sum))"), ("bad", "(defun tax (sum) (+ sum (random 1)))")):
            kept = emacs("""(await (lambda () (let ((kept (get-buffer "*agent %s (default)*"))) (and kept (with-current-buffer kept
                (and (string-match (regexp-quote "%s") (buffer-string)) (buffer-string)))))))""" % (name, code))
            self.assertRegex(kept, re.escape(code) + r" ; \d\d:\d\d:\d\d")
        self.assertRegex(told, r"DISCOUNT: replaces the one in ")
        self.assertRegex(told, r"TAX: the person's replaces yours of \d\d:\d\d:\d\dZ \(evaluation \d+\)")
        self.assertRegex(good.call("session-history", limit=100).text, r"bad \(default\)(?s:.)*The person evaluated \(defun tax")

    def report(self, alone, together, turns):
        for name, times in (("alone", alone), ("with two agents", together)):
            print("# %s: %d requests, median %.1f ms, 95 %% %.1f ms, longest %.0f ms"
                  % (name, len(times), *(1000 * share(times, part) for part in (0.5, 0.95, 1))))
        sizes = [size for kind in self.sizes.values() for size in kind]
        print("# %d turns of work: %d replies, mean %d bytes, 95 %% %d" % (turns, len(sizes), sum(sizes) / len(sizes), share(sizes, 0.95)))
        print("#", "; ".join("%s %d" % (tool, sum(kind) / len(kind)) for tool, kind in sorted(self.sizes.items())))
