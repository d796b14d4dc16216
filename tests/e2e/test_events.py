"""The log of a session's events: lisp://session/NAME/events."""

import json
import time

import mcp
import test_join

INVALID_PARAMS, NOT_FOUND = -32602, -32002


class Reader(mcp.SessionTest):
    def read(self, query="", session="default", client=None):
        uri = "lisp://session/%s/events%s" % (session, query)
        (content,) = (client or self.s).request("resources/read", {"uri": uri})["contents"]
        self.assertEqual("application/json", content["mimeType"])
        return json.loads(content["text"])

    def mark(self):
        self.s.evaluate("t")
        return self.read("?limit=1")["last"]

    def since(self, mark):
        return self.read("?after=%d&limit=1000" % mark)["events"]

    def kinds(self, events):
        return [event["kind"] for event in events]


class Steps(Reader):
    def test_an_evaluation_is_told_step_by_step(self):
        mark = self.mark()
        self.s.evaluate('(progn (princ "out") (warn "careful") (list 1 "two"))')
        started, output, warning, value = self.since(mark)
        self.assertEqual(["started", "output", "warning", "value"], self.kinds([started, output, warning, value]))
        self.assertEqual({"kind": "agent", "name": "e2e"}, started["author"])
        self.assertEqual("CL-USER", started["package"])
        self.assertIn("careful", started["code"])
        self.assertEqual(("stdout", "out"), (output["stream"], output["text"]))
        self.assertEqual("careful", warning["message"])
        self.assertEqual(['(1 "two")'], value["values"])
        self.assertLess(value["elapsed"], 60)
        self.assertEqual({started["evaluation"]}, {event["evaluation"] for event in (output, warning, value)})
        self.assertEqual(list(range(mark + 1, mark + 5)), [event["number"] for event in (started, output, warning, value)])

    def test_an_error_has_frames_and_restarts(self):
        mark = self.mark()
        report = self.s.evaluate("(defun broken (x) (car x)) (broken 1)")
        error = self.since(mark)[-1]
        self.assertEqual(("error", "TYPE-ERROR", self.s.newest_error()), (error["kind"], error["type"], error["error"]))
        self.assertTrue(any("BROKEN" in frame for frame in error["frames"]), error)
        self.assertEqual([int(number) for number, *_ in report.restarts][:3], [r["index"] for r in error["restarts"]][:3])
        self.assertIn({"index": 1, "name": "RETRY"}, [{k: r[k] for k in ("index", "name")} for r in error["restarts"]])

    def test_a_redefinition_has_both_texts(self):
        self.s.evaluate("(defun twice (x) (* x 2))")
        number = self.read("?limit=1")["events"][0]["evaluation"]
        mark = self.mark()
        self.s.evaluate("(list 1) (defun TWICE (x) (+ x x)) (defvar *fresh* 1)")
        changed, fresh = [event for event in self.since(mark) if event["kind"] == "definition"]
        self.assertEqual(("defun", "twice", "(defun TWICE (x) (+ x x))"), (changed["operator"], changed["name"].lower(), changed["text"]))
        self.assertEqual(("(defun twice (x) (* x 2))", number), (changed["replaced"], changed["replaced-evaluation"]))
        self.assertEqual((None, "*fresh*"), (fresh["replaced"], fresh["name"]))

    def test_a_roll_back_names_what_is_undone(self):
        self.s.evaluate("1")
        self.s.call("checkpoint-session", name="here")
        mark = self.mark()
        numbers = [int(self.s.evaluate("(defvar *n* 0)") and self.read("?limit=1")["events"][0]["evaluation"]) for _ in range(2)]
        self.s.call("rollback-session", to="here")
        event = self.since(mark)[-1]
        self.assertEqual("rollback", event["kind"])
        undone = {n for first, last in event["undone"] for n in range(first, last + 1)}
        self.assertLessEqual(set(numbers), undone)
        self.assertEqual(event["undone"], self.read("?limit=1")["undone"])
        self.assertEqual(event["to"], self.read("?limit=1")["at"])
        self.assertIn({"checkpoint": "here"}, [{e["kind"]: e["name"]} for e in self.read("?limit=1000")["events"] if e["kind"] == "checkpoint"])

    def test_a_death_and_the_recovery(self):
        mark = self.mark()
        self.s.evaluate("(sb-ext:exit :code 3 :abort t)")
        events = self.since(mark)
        self.assertEqual(["started", "death", "recovery", "error"], self.kinds(events))
        self.assertIn("exited with code 3", events[1]["text"])

    def test_an_error_of_a_thread(self):
        mark = self.mark()
        self.s.evaluate('(sb-thread:join-thread (sb-thread:make-thread (lambda () (error "in the thread")) :name "w") :default nil)')
        events = self.since(mark)
        error = [event for event in events if event["kind"] == "thread-error"]
        self.assertTrue(error, events)
        self.assertEqual("in the thread", error[0]["message"])

    def test_progress_has_a_share(self):
        folder = self.folder()
        files = {"half.asd": '(defsystem "half" :serial t :components ((:file "a") (:file "b")))', "a.lisp": "(defvar *a* 1)", "b.lisp": "(eval-when (:load-toplevel) (sleep 1.5))"}
        mcp.write_files(folder, files)
        client = self.start_server("--directory", folder)
        self.assertFalse(client.call("load-system", system="half").is_error)
        progress = [event for event in self.read(client=client)["events"] if event["kind"] == "progress"]
        self.assertTrue(progress)
        for event in progress:
            self.assertRegex(event["text"], r"^(compiling|loading) half/[ab]\.lisp \(%d %% done\)" % event["percent"])

    def test_pages(self):
        for number in range(30):
            self.s.evaluate(str(number))
        last = self.read("?limit=1")["last"]
        newest = self.read("?limit=5")["events"]
        self.assertEqual(list(range(last - 4, last + 1)), [event["number"] for event in newest])
        self.assertEqual(list(range(last - 9, last - 4)), [e["number"] for e in self.read("?before=%d&limit=5" % (last - 4))["events"]])
        self.assertEqual([last - 19, last - 18], [e["number"] for e in self.read("?limit=2&after=%d" % (last - 20))["events"]])
        self.assertEqual([], self.read("?after=%d" % last)["events"])
        self.assertEqual([], self.read("?after=999999999999999")["events"])

    def test_wrong_addresses(self):
        self.s.evaluate("1")
        for query in ("?after", "?after=", "?after=-1", "?after=x", "?since=1", "?after=1&&limit=2", "?fter=1", "?limit=1;after=1",
                      "?after=12345678901234567", "?before,limit=1"):
            with self.subTest(query=query):
                error = self.s.error("resources/read", {"uri": "lisp://session/default/events" + query})
                self.assertIn(error["code"], (NOT_FOUND, INVALID_PARAMS))
        self.assertEqual(INVALID_PARAMS, self.s.error("resources/read", {"uri": "lisp://session/default/events?limit=1001"})["code"])
        self.assertEqual(NOT_FOUND, self.s.error("resources/read", {"uri": "lisp://session/none/events"})["code"])

    def test_hostile_text_is_text(self):
        mark = self.mark()
        self.s.evaluate('(princ (format nil "~c[31m</script>~c~c\\"" (code-char 27) (code-char #x202e) (code-char 0)))')
        output = [event for event in self.since(mark) if event["kind"] == "output"]
        self.assertEqual("\x1b[31m</script>\u202e\0\"", output[0]["text"])

    def test_it_lives_through_a_reset_and_ends_with_the_session(self):
        self.s.call("create-session", name="other")
        self.s.evaluate("1", session="other")
        before = self.read(session="other")
        self.s.call("reset-session", session="other")
        after = self.read(session="other")
        self.assertEqual(before["began"], after["began"])
        self.assertEqual("reset", after["events"][-1]["kind"])
        self.s.call("close-session", session="other")
        self.s.call("create-session", name="other")
        self.assertNotEqual(before["began"], self.read(session="other")["began"])
        self.assertEqual([], self.read(session="other")["events"])
        self.s.call("close-session", session="other")


class Bounds(Reader):
    def test_a_flood_is_cut_and_told_ten_times_a_second(self):
        client = self.start_server()
        client.evaluate("t")
        uri = "lisp://session/default/events"
        client.request("resources/subscribe", {"uri": uri})
        began = time.monotonic()
        client.evaluate('(let ((line (make-string 999 :initial-element #\\a))) (dotimes (i 20000) (write-line line)))')
        events = self.read("?limit=1000", client=client)["events"]
        seconds = time.monotonic() - began
        output = [event for event in events if event["kind"] == "output"]
        self.assertLessEqual(max(len(event["text"]) for event in output), 16 << 10)
        self.assertEqual(20000000, sum(len(event["text"]) + event.get("omitted", 0) for event in output))

        def told_times():
            client.request("ping")
            return sum(m["method"] == "notifications/resources/updated" for m in client.notifications)

        told = mcp.wait_until(told_times, 10, "a notification")
        seconds = time.monotonic() - began
        self.assertLessEqual(told, 10 * seconds + 2)
        self.assertLessEqual(len(output), 10 * seconds + 4)

    def test_output_is_told_while_the_evaluation_runs(self):
        client = self.start_server()
        client.evaluate("t")
        client.request("resources/subscribe", {"uri": "lisp://session/default/events"})
        pending = client.start_call("evaluate-lisp", code='(progn (princ "early") (finish-output) (sleep 600))')
        mcp.wait_until(lambda: any(e.get("text") == "early" for e in self.read(client=client)["events"]), 30, "the output")
        self.assertFalse(pending.is_answered)
        client.call("cancel-evaluation")

    def test_the_log_is_bounded(self):
        client = self.start_server()
        code = "(list %s)" % " ".join(["1"] * 30000)
        for number in range(200):
            client.evaluate('(progn "%d" %s nil)' % (number, code))
        answer = self.read("?after=0&limit=1000", client=client)
        self.assertGreater(answer["first"], 1)
        self.assertLess(len(json.dumps(answer)), 1.2 * (1 << 20))


class InAnImage(test_join.ImageTest):
    def test_what_the_person_does_there_has_the_image_as_its_author(self):
        person = self.person()
        self.s.evaluate("1")
        person.evaluate("(defun of-the-person () 1)")
        self.s.evaluate(test_join.APPLICATION)
        (content,) = self.s.request("resources/read", {"uri": "lisp://session/default/events"})["contents"]
        events = json.loads(content["text"])["events"]
        self.assertIn(("person", "The person evaluated (defun of-the-person () 1)"), [(e["kind"], e.get("text")) for e in events])
        for event in events:
            if event["kind"] in ("person", "thread-error"):
                self.assertEqual("image", event["author"]["kind"], event)
        self.assertIn("thread-error", [event["kind"] for event in events])
