"""A good guest: nothing that the agent does in the Lisp that a person runs ends, stops or fills it, or opens the person's debugger."""

import os
import re
import unittest

import joining
import mcp
import swank_client


@unittest.skipIf(joining.why_not(), joining.why_not())
class Owning(mcp.TestCase):
    """What an evaluation makes is the agent's, and does not end the image. An image of its own for each test, which may end it."""

    def setUp(self):
        super().setUp()
        self.image = joining.Image(self.folder(), self.FORMS)
        self.addCleanup(self.image.end)
        self.options = ("--attach", self.image.address)
        self.person = self.image.person()
        self.addCleanup(self.person.close)
        self.assertOperational()

    FORMS = """(defstruct unprintable part)
(defmethod print-object ((it unprintable) stream) (error "cannot print"))
(defvar *gate* nil)
(defvar *served* 0)
(defun serve (it) (declare (optimize debug)) (loop until *gate* do (sleep 0.02)) (setf *gate* :went-on) (loop (sleep 0.02) (incf *served*) (unprintable-part it)))
(sb-thread:make-thread (lambda () (serve (make-unprintable))) :name "service")
(defun traced (it) (unprintable-part it))"""

    def assertUntouched(self):
        """The image lives, and no debugger has opened for the person."""
        self.assertTrue(self.image.is_alive())
        self.assertEqual("3", self.person.evaluate("(+ 1 2)"))
        self.assertEqual([], [event for event in self.person.events if event[0] != "background-message"])

    def test_no_way_to_exit_ends_the_image(self):
        self.s.evaluate("(require :sb-posix)")
        self.person.evaluate("(progn (defvar *end* #'exit) 1)")
        self.assertEqual("#<FUNCTION EXIT>", self.person.evaluate("(fdefinition 'exit)"))
        alien = '(sb-alien:alien-funcall (sb-alien:extern-alien "%s" (function sb-alien:void sb-alien:int)) 9)'
        for code in ("(exit)", "(exit :abort t)", "(quit)", "(uiop:quit 3)", "(sb-posix:exit 3)", "(funcall 'sb-posix:exit 3)",
                     "(sb-sys:os-exit 3 :abort t)", '(save-lisp-and-die "no")', "(sb-posix:kill (sb-posix:getpid) 9)",
                     "(funcall 'sb-posix:kill 0 9)", "(funcall (compile nil '(lambda () (sb-posix:kill (sb-posix:getpid) 9))))",
                     alien % "exit", alien % "_exit", alien % "abort",
                     "(funcall (compile nil '(lambda () %s)))" % alien % "_exit",
                     "(funcall (fdefinition 'exit))", "(funcall (fdefinition 'exit) :abort t)", "(funcall (fdefinition 'sb-posix:exit) 3)",
                     "(funcall (fdefinition 'sb-posix:kill) 0 9)", "(throw 'sb-impl::%end-of-the-world t)",
                     "(unwind-protect (funcall (fdefinition 'quit)) (print 1))"):
            with self.subTest(code):
                self.assertIn("would end the image", self.assertFails(code, "SIMPLE-ERROR").text)
        # In the threads that evaluations make, and in threads of the person's.
        for code in ("(sb-thread:make-thread #'exit)", "(sb-thread:make-thread *end*)", "(sb-thread:interrupt-thread (sb-thread:main-thread) *end*)", "(sb-thread:make-thread (lambda () (sb-thread:make-thread #'exit)))",
                     "(schedule-timer (make-timer #'exit :thread t) 0.01)", "(schedule-timer (make-timer #'exit :thread nil) 0.01)",
                     "(schedule-timer (make-timer #'exit :thread (sb-thread:main-thread)) 0.01)",
                     "(sb-thread:interrupt-thread (sb-thread:main-thread) #'exit)",
                     "(sb-thread:terminate-thread (sb-thread:main-thread))"):
            with self.subTest(code):
                before = self.s.newest_error()
                self.s.evaluate("(progn %s nil)" % code)
                mcp.wait_until(lambda: self.s.evaluate("1") and self.s.newest_error() > before, 10, "the report")
                self.assertIn("EXIT would end the image", self.s.call("list-errors").text.split("\n")[1])
        self.assertUntouched()
        self.assertEqual("\"ls\"", self.person.evaluate("(progn (sb-posix:kill (sb-posix:getpid) 0) \"ls\")"))

    def test_the_restart_that_ends_the_image_needs_force_and_is_never_first(self):
        self.person.evaluate("(progn (defvar *end* #'exit) 1)")
        path = mcp.write(os.path.join(self.folder(), "ends.lisp"), "(defvar *loaded* t)\n(exit)\n")
        report = self.s.call("load-file", path=path)
        self.assertErrorReport(report, "SIMPLE-ERROR")
        self.assertEqual("CONTINUE", re.search(r"(?m)^1\. \[(\S+)\]", report.text)[1])
        number = re.search(r"(?m)^(\d+)\. \[END-IMAGE\]", report.text)[1]
        for restart in ("END-IMAGE", number):
            self.assertIn("Pass force", self.s.call("invoke-restart", restart=restart).text)
        self.s.call("invoke-restart", restart="CONTINUE")
        self.assertEvaluates("*loaded*", "T")
        self.assertFails("(handler-bind ((error (lambda (c) (invoke-restart (find-restart-in c))))) (exit))".replace(
            "(find-restart-in c)", '(find "END-IMAGE" (compute-restarts c) :key #\'restart-name :test #\'string=)'))
        self.assertUntouched()
        self.assertFails("(funcall (fdefinition 'exit) :abort t)")
        self.assertFails("(funcall *end* :code 7)")
        self.s.call("invoke-restart", restart="END-IMAGE", force=True)
        self.assertEqual(7, self.image.process.wait(20 * mcp.STRETCH))

    def test_errors_and_output_of_made_threads_are_the_agents(self):
        report = self.s.evaluate("""(progn (sb-thread:make-thread (lambda () (format t "of a thread~%") (sleep 1000)) :name "made")
                                           (sb-thread:join-thread (sb-thread:make-thread (lambda (x) (error "in ~a" x)) :arguments '(depth) :name "failing") :default nil))""")
        told = [report.text]
        mcp.wait_until(lambda: told.append(self.s.evaluate("1").text) or "of a thread" in "".join(told), 10, "the output")
        self.assertIn("In thread failing (error 1): SIMPLE-ERROR: in DEPTH", "".join(told))
        self.assertNotIn("of a thread", "".join(self.image.printed))
        # Its own thread needs no force; the person's does.
        self.assertIn("Pass force", self.s.call("kill-thread", thread="service").text)
        self.assertIn("has ended", self.s.call("kill-thread", thread="made").text)
        self.assertUntouched()
        self.s.call("configure-limits", thread_errors=2)
        self.s.evaluate('(progn (sb-thread:make-thread (lambda () (list (restart-case (error "enter me") (use-value (v) v)))) :name "entered") nil)')
        mcp.wait_until(lambda: "enter me (can be entered)" in self.s.call("list-errors").text or not self.s.evaluate("1"), 10, "the error")
        self.s.call("invoke-restart", index=self.s.newest_error(), restart="USE-VALUE", value="5")
        mcp.wait_until(lambda: "entered" not in self.s.call("list-threads").text, 10, "the end of the thread")
        self.assertUntouched()

    def test_what_fills_the_heap_is_stopped_before_it_is_full(self):
        client = self.start_server(*self.options)
        self.assertIn("max-memory: 0 MiB (an eighth of the free heap)", client.call("configure-limits").text)
        self.assertIn("max-memory: 64 MiB", client.call("configure-limits", max_memory=64).text)
        fill = "(let ((all '())) (loop (push (list 1 2 3) all)))"
        stubborn = "(let ((all '())) (loop (handler-case (push (list 1 2 3) all) (serious-condition () nil))))"
        for code in (fill, stubborn, fill, stubborn, fill, "(loop repeat 1000 collect (make-array 100000))"):
            with self.subTest(code):
                self.assertIn("64 MiB is what it may keep (max-memory)", self.assertErrorReport(client.evaluate(code)).text)
                self.assertUntouched()
        told = [client.evaluate('(progn (sb-thread:make-thread (lambda () %s) :name "fills") nil)' % fill).text]
        mcp.wait_until(lambda: told.append(client.evaluate("1").text) or "In thread fills" in "".join(told), 30, "the end of the thread")
        self.assertIn("64 MiB is what it may keep", "".join(told))
        # Garbage does not count.
        self.assertValue(client.evaluate("(loop repeat 2000000 sum (length (make-list 20)))"), "40000000")
        self.assertUntouched()

    def test_a_lock_that_an_error_holds_is_named_and_freed_when_the_program_waits(self):
        self.options += ("--lock-grace", "2")
        client = self.start_server(*self.options)
        self.person.evaluate('(progn (defvar *db-lock* (sb-thread:make-mutex :name "db")) (defvar *turns* 0))')
        service = '(sb-thread:make-thread (lambda () (loop (sb-thread:with-mutex (*db-lock*) (incf *turns*)) (sleep 0.01))) :name "turns")'
        fails = '(sb-thread:with-mutex (*db-lock*) (error "oops"))'
        report = client.evaluate(fails)
        self.assertIn('The thread of this error holds the lock "db".', report.text)
        self.person.evaluate("(progn %s 1)" % service)
        told = []
        mcp.wait_until(lambda: told.append(client.evaluate("1").text) or "was unwound" in told[-1], 20, "the end of the error")
        self.assertRegex("".join(told), r"Thread turns of the person's program has waited since \d\d:\d\d:\d\dZ for the lock \"db\" that an"
                         r" error of the agent's holds; in 2 seconds the error is unwound\. ABORT of error 1 frees it\.")
        self.assertIn("had waited 2 seconds for the lock", told[-1])
        self.person.event("background-message", lambda event: "was unwound" in event[1])
        turns = self.person.evaluate("*turns*")
        mcp.wait_until(lambda: self.person.evaluate("*turns*") != turns, 10, "the program")
        # One that is to hold it is only told of.
        client.evaluate(fails, hold=True)
        mcp.wait_until(lambda: "frees it" in client.evaluate("1").text, 10, "the news")
        self.assertNotIn("is unwound", "".join(event[1] for event in self.person.events[-2:]))
        client.call("invoke-restart", index=client.newest_error(), restart="ABORT")
        turns = self.person.evaluate("*turns*")
        mcp.wait_until(lambda: self.person.evaluate("*turns*") != turns, 10, "the program")

    def test_what_goes_to_the_images_own_streams_is_the_persons_and_counted(self):
        report = self.s.evaluate('(progn (format t "for the agent~%") (format sb-sys:*stdout* "for the person~%") (finish-output sb-sys:*stdout*))')
        self.assertEqual("for the agent", report.stdout)
        self.assertIn("15 characters went to the image's own streams", report.text)
        self.image.await_print("for the person")
        self.assertNotIn("own streams", self.s.evaluate("(print 1)").text)
        told = [self.s.evaluate('(progn (sb-thread:make-thread (lambda () (write-char #\\x sb-sys:*stderr*))) nil)').text]
        mcp.wait_until(lambda: told.append(self.s.evaluate("1").text) or "1 character went" in "".join(told), 10, "the count")

    def test_what_swank_makes_for_the_agent_is_the_persons(self):
        port = int(self.s.evaluate("(swank:create-server :port 0 :dont-close t)").values[0])
        other = swank_client.Editor(port)
        self.addCleanup(other.close)
        other.begin('(swank:interactive-eval "(error \\"the person\'s\\")")')
        other.leave_debugger(other.debugger("the person's"))
        self.assertUntouched()

    def test_threads_that_outlive_the_session_are_the_persons_to_hear_of(self):
        self.s.evaluate("""(progn (defvar *wake* (sb-thread:make-semaphore))
                                  (sb-thread:make-thread (lambda () (sb-thread:wait-on-semaphore *wake*) (format t "~&after the end~%") (finish-output)
                                                           (sb-thread:wait-on-semaphore *wake*) (exit)) :name "left")
                                  nil)""")
        self.s.close()
        self.person.evaluate("(sb-thread:signal-semaphore *wake*)")
        self.image.await_print("after the end")
        self.person.evaluate("(sb-thread:signal-semaphore *wake*)")
        thread = self.person.debugger("EXIT would end the image")
        self.person.leave_debugger(thread, "(sldb-abort)")
        wrapped = "(sb-int:encapsulated-p 'sb-thread:make-thread 'cl-mcp-agent::cl-mcp-agent)"
        mcp.wait_until(lambda: self.person.evaluate(wrapped) == "NIL", 20, "the image as it was")
        self.assertTrue(self.image.is_alive())

    def test_a_persons_thread_is_interrupted_looked_at_and_goes_on(self):
        for _ in range(3):
            self.assertIn("#<UNPRINTABLE: error printing it", self.s.call("get-backtrace", thread="service", locals=True).text)
        self.assertIn("Pass force", self.s.call("interrupt-thread", thread="service").text)
        self.assertIn("is stopped where it was", self.s.call("interrupt-thread", thread="service", force=True).text)
        self.assertErrorReport(self.s.call("evaluate-in-frame", frame=0, code="(error \"there\")", force=True))
        self.assertIn("was invoked", self.s.call("invoke-restart", index=1, restart="CONTINUE", force=True).text)
        self.s.evaluate("(setf *gate* t)")
        mcp.wait_until(lambda: self.s.evaluate("*gate*").values == [":WENT-ON"], 10, "the thread to go on")
        self.assertIn("is stopped where it was", self.s.call("interrupt-thread", thread="service", force=True).text)
        # It does not stay there when the agent leaves.
        self.s.close()
        served = self.person.evaluate("*served*")
        mcp.wait_until(lambda: self.person.evaluate("*served*") != served, 20, "the thread to go on")
        self.assertUntouched()

    def test_no_error_of_the_agents_own_opens_for_the_person(self):
        self.s.call("trace-functions", action="start", functions=["traced"])

        def interrupt():
            self.s.call("interrupt-thread", thread="service", force=True)
            self.s.call("invoke-restart", restart="CONTINUE", force=True)

        acts = {
            "call-text": lambda: self.person.evaluate("(traced (make-unprintable))"),
            "note-record": lambda: self.person.evaluate("(traced (make-unprintable))"),
            "text-of-request": lambda: self.person.evaluate("(+ 1 2)"),
            "tell-sessions": lambda: self.person.evaluate("(+ 1 2)"),
            "end-session-aside": lambda: self.image.person().close(),
            "frames-part": lambda: self.s.call("get-backtrace", thread="service"),
            "thread-error-entry": interrupt,
            "note-standing": interrupt,
            "put-in-inbox": interrupt,
            "perform": interrupt,
            "reset-columns": interrupt,
        }
        for name, act in acts.items():
            with self.subTest(name):
                # In threads of the person's only: in its own, the agent's failures have replies.
                self.person.evaluate("(sb-int:encapsulate 'cl-mcp-agent::%s 'broken (lambda (function &rest more) (if (search \"agent\""
                                     " (sb-thread:thread-name sb-thread:*current-thread*)) (apply function more) (error \"broken\"))))" % name)
                act()
                self.person.evaluate("(sb-int:unencapsulate 'cl-mcp-agent::%s 'broken)" % name)
                self.assertUntouched()
        self.person.evaluate("(setf *gate* t)")
        mcp.wait_until(lambda: self.person.evaluate("*gate*") == ":WENT-ON", 10, "the service")

    def test_a_person_loads_systems_while_the_agent_is_there(self):
        folder = self.folder()
        mcp.write(os.path.join(folder, "of-the-person.asd"), '(defsystem "of-the-person" :components ((:file "part")))')
        mcp.write(os.path.join(folder, "part.lisp"), "(defvar *part* 1)")
        self.person.evaluate("(sb-int:encapsulate 'cl-mcp-agent::note-component 'broken (lambda (&rest more) (declare (ignore more)) (error \"broken\")))")
        self.person.evaluate("(progn (require :asdf) (asdf:load-asd %s) (asdf:load-system \"of-the-person\") *part*)"
                             % swank_client.quote(os.path.join(folder, "of-the-person.asd")))
        self.assertUntouched()


@unittest.skipIf(joining.why_not(), joining.why_not())
class InAPool(mcp.TestCase):
    def test_what_the_agent_gives_to_a_persons_pool_fails_at_once_in_its_own_evaluation(self):
        image = joining.Image(self.folder(), "(require :asdf)\n(asdf:load-system :lparallel)")
        self.addCleanup(image.end)
        person = image.person()
        self.addCleanup(person.close)
        self.options = ("--attach", image.address)
        self.assertOperational()
        person.evaluate('(progn (setf lparallel:*kernel* (lparallel:make-kernel 2 :name "theirs")) 1)')
        mine = "(let ((lparallel:*kernel* (lparallel:make-kernel 2))) (prog1 (lparallel:pmap 'list '1+ '(1 2)) (lparallel:end-kernel)))"
        report = self.s.evaluate(mine)
        self.assertValue(report, "(2 3)")
        self.assertNotIn("pool", report.text)
        report = self.s.evaluate("(lparallel:pmap 'list '1+ '(1 2))")
        self.assertIn("The threads of this pool of lparallel's are the person's", report.text)
        self.assertFails("(lparallel:pmap 'list 'car '(1 2))", "TYPE-ERROR")
        self.assertEqual([], [event for event in person.events if event[0] != "background-message"])
        # The person's own tasks fail for the person.
        person.begin('(swank:interactive-eval "(lparallel:pmap \'list \'car \'(1))")')
        person.leave_debugger(person.debugger("is not of type"), "(sldb-abort)")


@unittest.skipIf(joining.why_not(), joining.why_not())
class LookingOnly(mcp.TestCase):
    """What would leave a witness if a tool that looks ran it: a definition of a system, reader macros, print methods, a report."""

    FORMS = """(require :asdf)
(asdf:initialize-source-registry '(:source-registry (:directory "FOLDER") :ignore-inherited-configuration))
(defvar *witness* nil)
(defclass thing () ((part :initarg :part :initform 1)))
(defstruct part (x 1))
(defmethod print-object ((it part) stream) (push :part *witness*) (write-string "part" stream))
(defmethod print-object ((it thing) stream) (push :thing *witness*) (write-string "thing" stream))
(set-pprint-dispatch 'part (lambda (stream it) (push :pprint *witness*) (princ "x" stream)))
(set-macro-character #\\! (lambda (stream character) (push :reader *witness*) 1))
(defvar *things* (list (make-part) (make-instance 'thing)))
(defun serve (part) (declare (optimize debug)) (loop (sleep 0.02) (part-x part)))
(sb-thread:make-thread (lambda () (serve (make-part))) :name "service")"""

    def test_no_argument_and_no_object_runs_anything(self):
        folder = self.folder()
        definition = mcp.write(os.path.join(folder, "witness.asd"), '(setf cl-user::*witness* (list :asd)) (defsystem "witness")')
        mcp.write(os.path.join(folder, "witness.lisp"), "(setf cl-user::*witness* :loaded)")
        image = joining.Image(self.folder(), self.FORMS.replace("FOLDER", folder + "/"))
        self.addCleanup(image.end)
        person = image.person()
        self.addCleanup(person.close)
        self.options = ("--attach", image.address, "--attach-read-only")
        printed = "".join(self.s.call("get-backtrace", thread="service", locals=True).text for _ in range(2))
        self.assertRegex(printed, r"PART = #<PART \{[0-9A-F]+\}>")
        self.assertRegex(self.s.call("describe-symbol", name="*things*").text, r"\(#<PART \{\w+\}> #<THING \{\w+\}>\)")
        self.assertTrue(self.s.call("list-systems", system="witness").is_error)
        arguments = ("#.(setf cl-user::*witness* :read)", "!", "*things*", "serve", "thing", "witness", definition, "service")
        for tool in self.s.request("tools/list")["tools"]:
            texts = [name for name, schema in tool["inputSchema"]["properties"].items()
                     if schema.get("type") == "string" and "enum" not in schema and name != "session"]
            for argument in arguments if texts else ("",):
                with self.subTest(tool["name"], argument=argument):
                    self.s.call(tool["name"], dict.fromkeys(texts, argument))
                    for text in texts:
                        self.s.call(tool["name"], {text: argument})
                    self.assertEqual("NIL", person.evaluate("*witness*"))
