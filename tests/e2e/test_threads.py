"""Sessions with threads: they are seen, asked for their stacks, stopped and ended; their errors are errors like any other."""

import re

import mcp

STOPPED = """(defvar *gate* (sb-thread:make-semaphore :name "gate"))
(defvar *here* (sb-thread:make-semaphore :name "here"))
(defun await (text) (declare (optimize debug)) (let ((doubled (concatenate 'string text text))) (sb-thread:signal-semaphore *here*)
                      (sb-thread:wait-on-semaphore *gate*) doubled))"""


class ThreadTest(mcp.TestCase):
    def start(self, name, form, ready=True):
        """Start a thread that signals *HERE* when it has come to where the test wants it."""
        code = '(progn (sb-thread:make-thread (lambda () %s) :name "%s") %s)'
        self.assertEvaluates(code % (form, name, "(sb-thread:wait-on-semaphore *here*) t" if ready else "t"), "T")

    def threads(self):
        """The lines of list-threads, by name."""
        lines = self.s.call("list-threads").text.splitlines()[1:]
        return {m.group(2): m.group(3) for m in (re.match(r"(\d+)  (.*?): (.*)", line) for line in lines) if m}

    def await_thread(self, name, pattern):
        mcp.wait_until(lambda: re.search(pattern, self.threads().get(name, "")), 10, "%s to be %s" % (name, pattern))


class Looking(ThreadTest):
    def setUp(self):
        super().setUp()
        self.s.evaluate(STOPPED)

    def test_a_thread_that_waits_for_a_mutex_is_shown_with_its_holder(self):
        self.s.evaluate('(defvar *lock* (sb-thread:make-mutex :name "the lock"))')
        self.start("holder", '(sb-thread:with-mutex (*lock*) (await "x"))')
        self.start("waiter", "(sb-thread:with-mutex (*lock*) :got)", ready=False)
        self.await_thread("waiter", 'waiting for mutex "the lock", held by holder')
        self.assertEqual("serves this session", self.threads()["main thread"])

    def test_how_long_a_thread_has_waited_grows(self):
        self.start("waiter", '(await "x")')
        self.await_thread("waiter", r", for 0\.[3-9] s|, for [1-9]")

    def test_the_stack_of_a_running_thread_is_shown_with_its_variables(self):
        self.start("waiter", '(await "ab")')
        text = self.s.call("get-backtrace", thread="waiter", locals=True).text
        self.assertIn('(AWAIT "ab")', text)
        self.assertIn('DOUBLED = "abab"', text)
        self.assertNotIn("DOUBLED", self.s.call("get-backtrace", thread="waiter").text)
        # It goes on as if nothing had happened.
        self.assertEvaluates("(sb-thread:signal-semaphore *gate*)", "NIL")
        mcp.wait_until(lambda: "waiter" not in self.threads(), 10, "the thread to end")

    def test_a_thread_without_interrupts_does_not_hang_the_tool(self):
        self.start("deaf", '(sb-sys:without-interrupts (await "x"))', ready=False)
        self.await_thread("deaf", "waiting")
        reply = self.s.call("get-backtrace", thread="deaf")
        self.assertIn("did not react", reply.text)
        self.assertOperational()
        killed = self.s.call("kill-thread", thread="deaf")
        self.assertTrue(killed.is_error)
        self.assertIn("still runs", killed.text)
        self.assertEvaluates("(sb-thread:signal-semaphore *gate*)", "NIL")
        mcp.wait_until(lambda: "deaf" not in self.threads(), 10, "it to end once interrupts are allowed")

    def test_a_variable_that_prints_without_end_does_not_hang_the_tool(self):
        self.s.evaluate("(defstruct endless) (defmethod print-object ((object endless) stream) (loop))")
        self.start("printer", "(let ((object (make-endless))) (await \"x\") object)")
        text = self.s.call("get-backtrace", thread="printer", locals=True, wait=60).text
        self.assertIn('(AWAIT "x")', text)
        self.assertOperational()

    def test_an_unknown_name_and_one_of_several_threads_are_refused(self):
        self.assertIn("No thread nobody", self.s.call("get-backtrace", thread="nobody").text)
        self.start("twin", '(await "x")')
        self.start("twin", '(await "x")')
        text = self.s.call("kill-thread", thread="twin").text
        self.assertRegex(text, r"2 threads are named twin; give the number of one: \d+, \d+")
        number = re.search(r"(\d+)\.", text).group(1)
        self.assertIn("has ended", self.s.call("kill-thread", thread=number).text)
        self.assertIn("has ended", self.s.call("kill-thread", thread="twin").text)

    def test_killing_runs_the_cleanup_forms(self):
        self.s.evaluate("(defvar *cleaned* nil)")
        self.start("victim", '(unwind-protect (await "x") (setf *cleaned* :yes))')
        self.assertIn("has ended", self.s.call("kill-thread", thread="victim").text)
        self.assertEvaluates("*cleaned*", ":YES")

    def test_a_deadlock_is_reported_with_its_cycle(self):
        """With a time limit on one of the locks SBCL does not look for one by itself."""
        self.s.evaluate('''(defvar *one* (sb-thread:make-mutex :name "one")) (defvar *two* (sb-thread:make-mutex :name "two"))
        (defun both (mine other)
          (sb-thread:with-mutex (mine)
            (sb-thread:signal-semaphore *here*) (sb-thread:wait-on-semaphore *gate*)
            (sb-thread:with-mutex (other :timeout 1000))))''')
        self.start("left", "(both *one* *two*)")
        self.start("right", "(both *two* *one*)")
        self.assertNotIn("Deadlock", self.s.call("list-threads").text)
        self.s.evaluate("(sb-thread:signal-semaphore *gate* 2)")
        self.await_thread("left", "held by right")
        self.await_thread("right", "held by left")
        self.assertRegex(self.s.call("list-threads").text,
                         r'Deadlock: left \(\d+\) waits for mutex "two", held by right \(\d+\), which waits for mutex "one", held by left')
        self.s.call("kill-thread", thread="left")
        self.assertNotIn("Deadlock", self.s.call("list-threads").text)


if __name__ == "__main__":
    mcp.main()
