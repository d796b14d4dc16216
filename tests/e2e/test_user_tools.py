"""Tools that the code of sessions defines: listed, checked and called like the server's own; gone when the state that had them is."""

import re

import mcp

DEPLOY = """
(cl-mcp:define-tool deploy ((target string "Where to") (mode (member :fast "slow"))
                            &key (count (integer 1 10) "How many" 3) (ratio (number 0 0.5)) (force boolean) (systems list))
  "Deploys it."
  (list target mode count ratio force systems))
"""


class UserTools(mcp.SessionTest):
    def tools(self, client=None):
        return {tool["name"]: tool for tool in self.listed(client)}

    def listed(self, client=None):
        return [tool for tool in (client or self.s).request("tools/list")["tools"] if tool["name"].startswith("user-")]

    def names(self, client=None):
        return sorted(tool["name"] for tool in self.listed(client))

    def define(self, name, value, **named):
        self.assertValue(self.s.evaluate('(cl-mcp:define-tool %s () "%s")' % (name, value), **named), '"user-%s"' % name)

    def test_a_tool_has_a_schema_made_from_its_parameters(self):
        self.assertEqual([], self.names())
        self.s.evaluate(DEPLOY)
        # The APIs behind some clients refuse any other name, and with it the whole request.
        self.assertRegex(self.names()[0], r"\A[a-zA-Z0-9_-]{1,64}\Z")
        tool = self.tools()["user-deploy"]
        self.assertEqual("Deploys it.", tool["description"])
        schema = tool["inputSchema"]
        self.assertEqual(["target", "mode"], schema["required"])
        properties = schema["properties"]
        self.assertEqual({"type": "string", "description": "Where to"}, properties["target"])
        self.assertEqual({"type": "string", "enum": ["fast", "slow"]}, properties["mode"])
        self.assertEqual({"type": "integer", "minimum": 1, "maximum": 10, "description": "How many"}, properties["count"])
        self.assertEqual({"type": "number", "minimum": 0, "maximum": 0.5}, properties["ratio"])
        self.assertEqual({"type": "boolean"}, properties["force"])
        self.assertEqual({"type": "array", "items": {"type": "string"}}, properties["systems"])
        self.assertIn("session", properties)

    def test_arguments_arrive_as_what_they_are(self):
        self.s.evaluate(DEPLOY)
        reply = self.s.call("user-deploy", target='a "b" \\ ü\n', mode="Fast", count="5", ratio=1e-3, force=True, systems=["x", 'y"'])
        self.assertValue(reply, '("a \\"b\\" \\\\ ü\n" :FAST 5 0.001d0 T ("x" "y\\""))')
        for name in ("user_deploy", "user.deploy", "lisp/User.Deploy"):
            self.assertValue(self.s.call(name, target="", mode="slow"), '("" "slow" 3 NIL NIL NIL)')
        self.assertValue(self.s.call("mcp/USER.Deploy", target="", mode="slow", ratio=0, force=False), '("" "slow" 3 0 NIL NIL)')

    def test_wrong_arguments_are_reported_before_anything_runs(self):
        self.s.evaluate(DEPLOY)
        for arguments, part in (
            ({}, "Missing argument target"),
            ({"target": 1.5, "mode": "fast"}, "Argument target must be a string"),
            ({"target": "x", "mode": "quick"}, "one of fast, slow"),
            ({"target": "x", "mode": "fast", "count": 11}, "between 1 and 10"),
            ({"target": "x", "mode": "fast", "count": 1.5}, "an integer"),
            ({"target": "x", "mode": "fast", "ratio": 1}, "between 0 and 0.5"),
            ({"target": "x", "mode": "fast", "systems": {}}, "an array of strings"),
            ({"target": "x", "mode": "fast", "forse": True}, "Did you mean force?"),
        ):
            self.assertIsError(self.s.call("user-deploy", arguments), part)
        self.assertIn("1 evaluation\n", self.s.call("session-history").text)

    def test_an_invalid_tool_is_refused_when_it_is_defined(self):
        for definition, part in (
            ('"a b" ()', "must be a letter and up to"),
            ('"%s" ()' % ("a" * 41), "must be a letter and up to 39 more"),
            ("bounds ((x (integer 5 5)))", "in the wrong order"),
            ("bounds ((x (integer 5 1)))", "in the wrong order"),
            ("own ((session string))", "has a parameter session"),
            ("twice ((x string) &key (x string))", "appears twice"),
            ("typed ((x vector))", "is not a type of a parameter"),
            ("wordy () \"%s\" 1" % ("x" * 1001), "1,000 are allowed"),
            ("wordy ((x string \"%s\"))" % ("x" * 301), "300 are allowed"),
            ("many (%s)" % " ".join("(p%d string)" % n for n in range(11)), "at most 10 parameters"),
            ("choosy ((x (member %s)))" % " ".join('"c%d"' % n for n in range(33)), "1 to 32 choices"),
        ):
            with self.subTest(definition[:40]):
                self.assertIsError(self.s.evaluate("(cl-mcp:define-tool %s)" % definition if "wordy ()" in definition else "(cl-mcp:define-tool %s 1)" % definition), part)
        self.assertEqual([], self.names())
        define = "(dotimes (i %d) (cl-mcp-agent::install-tool (format nil \"t~d\" i) nil '() #'list))"
        self.assertFalse(self.s.evaluate(define % 64).is_error)
        self.assertEqual(["user-t%d" % n for n in range(64)], list(self.tools()))
        self.assertIn("There are 64 tools already", self.s.evaluate("(cl-mcp:define-tool one-more () 1)").text)
        # One that is there can be made anew, and keeps its place.
        self.define("t3", "again")
        self.assertEqual(["user-t%d" % n for n in range(64)], list(self.tools()))

    def test_a_string_is_the_reply_as_it_is(self):
        self.s.evaluate('(cl-mcp:define-tool say ((what string)) (format t "printed~%") (values what "more"))')
        self.assertEqual("[stdout]\nprinted\n\ntwo\n\"lines\"", self.s.call("user-say", what='two\n"lines"').text)
        self.assertIn("get-output ref", self.s.call("user-say", what="x" * 100000).text)

    def test_an_error_is_one_like_any_other(self):
        self.s.evaluate("(cl-mcp:define-tool divide ((x integer) (y integer)) (declare (optimize debug)) (list (/ x y)))")
        report = self.assertErrorReport(self.s.call("user-divide", x=4, y=0), "DIVISION-BY-ZERO")
        self.assertIn('("user-divide" :X 4 :Y 0)', report.frames)
        self.assertValue(self.s.call("evaluate-in-frame", frame=report.frames.index('("user-divide" :X 4 :Y 0)'), code="(+ x 38)"), "42")
        self.assertValue(self.s.call("evaluate-in-frame", frame=0, code='"text"'), '"text"')
        self.assertIn("DIVISION-BY-ZERO", self.s.call("describe-last-error").text)
        self.assertValue(self.s.call("invoke-restart", restart="RETRY", code="(cl-mcp:define-tool divide ((x integer) (y integer)) (list x y))"), "(4 0)")
        self.assertIn('(cl-mcp:call-tool "divide" :x 4 :y 0)', self.s.call("session-history").text)

    def test_a_tool_that_hangs_is_stopped_at_the_limit(self):
        self.s.evaluate("(cl-mcp:define-tool hang () (loop))")
        self.s.call("configure-limits", timeout=0.3)
        self.assertErrorReport(self.s.call("user-hang"), "TIMEOUT")
        self.assertOperational()
        self.assertEqual(["user-hang"], self.names())

    def test_the_set_is_that_of_the_current_state(self):
        self.define("one", "first")
        self.define("two", "second")
        self.define("one", "changed")
        self.assertEqual("changed", self.s.call("user-one").text)
        self.s.evaluate("(cl-mcp:remove-tool 'two)")
        self.assertEqual(["user-one"], self.names())
        self.s.call("rollback-session", to="2")
        self.assertEqual(["user-one", "user-two"], self.names())
        self.assertEqual("first", self.s.call("user-one").text)
        self.assertErrorReport(self.s.evaluate("(progn (cl-mcp:define-tool three () 3) (sb-ext:exit :abort t))"), "PROCESS-EXITED")
        self.assertEqual(["user-one", "user-two"], self.names())
        self.s.call("reset-session")
        self.assertEqual([], self.names())
        self.assertEqual(-32602, self.s.error("tools/call", {"name": "user-one"})["code"])
        self.assertIn("Did you mean list-errors", self.s.error("tools/call", {"name": "list-error"})["message"])

    def test_a_restart_brings_the_tools_of_the_state_it_leads_to(self):
        self.define("one", "1")
        self.assertFails("(progn (cl-mcp:define-tool two () 2) (cerror \"Go on\" \"stop\") (cl-mcp:define-tool three () 3))")
        self.assertEqual(["user-one", "user-two"], self.names())
        self.s.evaluate("(cl-mcp:remove-tool 'one)")
        self.define("four", "4")
        self.assertEqual(["user-four", "user-two"], self.names())
        self.assertValue(self.s.call("invoke-restart", restart="CONTINUE", index=1), '"user-three"')
        self.assertEqual(["user-four", "user-three", "user-two"], self.names())

    def test_the_same_name_in_two_sessions(self):
        self.s.call("create-session", name="other")
        self.define("who", "other", session="other")
        self.define("only", "here", session="other")
        self.assertEqual("other", self.s.call("user-who").text)
        self.define("who", "default")
        self.assertEqual(["user-only", "user-who"], self.names())
        self.assertEqual("default", self.s.call("user-who").text)
        self.assertEqual("other", self.s.call("user-who", session="other").text)
        self.assertEqual("here", self.s.call("user-only").text)
        self.assertIsError(self.s.call("user-only", session="default"), "the session other has it")
        self.assertIn("Did you mean user-only?", self.s.error("tools/call", {"name": "user-onyl"})["message"])
        self.assertNotIn("Did you mean user", self.s.error("tools/call", {"name": "user-quite-another-thing"})["message"])
        self.assertIn("There is no session nobody", self.s.call("user-only", session="nobody").text)
        self.s.call("close-session", session="other")
        self.assertEqual(["user-who"], self.names())

    def test_the_servers_own_tools_stay_what_they_are(self):
        self.define("reset-session", "mine")
        self.assertIn("Session reset", self.s.call("reset-session").text)
        self.define("reset-session", "mine")
        self.assertEqual("mine", self.s.call("user-reset-session").text)
        self.assertEqual("mine", self.s.call("lisp/User.Reset-session").text)
        self.assertIn("Session reset", self.s.call("lisp.reset-session").text)

    def test_tools_defined_by_a_file_are_in_every_session(self):
        path = self.folder() + "/tools.lisp"
        mcp.write(path, '(cl-mcp:define-tool hello () "Says hello." "hello")')
        client = self.start_server("--load", path)
        client.evaluate("1")
        self.assertEqual(["user-hello"], self.names(client))
        client.evaluate("(cl-mcp:remove-tool 'hello)")
        self.assertEqual([], self.names(client))
        client.call("reset-session")
        client.evaluate("1")
        self.assertEqual("hello", client.call("user-hello").text)

    def test_the_tools_of_a_suspended_session_stay_listed(self):
        if mcp.SANITIZED:
            self.skipTest("sanitized: images are written in the plain build")
        client = self.start_server("--state-dir", self.folder(), "--idle-timeout", "1")
        client.evaluate('(cl-mcp:define-tool hello () "Says hello." "hello")')
        mcp.wait_until(lambda: "suspended" in client.call("list-sessions").text, 60, "it is suspended")
        told = len([m for m in client.notifications if m["method"] == "notifications/tools/list_changed"])
        self.assertEqual(["user-hello"], self.names(client))
        self.assertRegex(client.call("user-hello").text, r"\Ahello\n\n\[Session\]\nThe session had been suspended")
        self.assertEqual(["user-hello"], self.names(client))
        self.assertEqual(told, len([m for m in client.notifications if m["method"] == "notifications/tools/list_changed"]))

    def test_false_claims_about_tools_are_not_believed(self):
        self.define("one", "1")
        # What the agent would refuse, put where it keeps them.
        self.s.evaluate("""
          (defparameter *tool* (first cl-mcp-agent::*tools*))
          (flet ((tool (name &rest more)
                   (apply #'cl-mcp-agent::make-tool :name name :function (cl-mcp-agent::tool-function *tool*) more))
                 (parameter (name &rest more) (apply #'cl-mcp-agent::make-parameter :name name :key :x more)))
            (setf cl-mcp-agent::*tools*
                  (list* (tool "Upper") (tool "") (tool "a b") (tool (make-string 60 :initial-element #\\a))
                         (tool (format nil "nul~a" (code-char 0)))
                         (tool "zero" :documentation (format nil "a~ab" (code-char 0)))
                         (tool "long" :documentation (make-string 5000 :initial-element #\\a))
                         (tool "twice" :parameters (list (parameter "x") (parameter "x")))
                         (tool "own" :parameters (list (parameter "session")))
                         (tool "empty" :parameters (list (parameter "x" :choices '((""  . 1)))))
                         (tool "many" :parameters (loop for i below 20 collect (parameter (format nil "p~a" i))))
                         (tool "bounds" :parameters (list (parameter "x" :kind :integer :minimum 5 :maximum 1)))
                         *tool*
                         (loop for i below 100 collect (tool (format nil "t~a" i)))))
            (setf cl-mcp-agent::*tools-told* nil))""")
        names = self.names()
        self.assertIn("user-one", names)
        self.assertLessEqual(len(names), 64)
        self.assertEqual([], [name for name in names if name != "user-one" and not name.startswith("user-t")])
        self.s.evaluate("(setf cl-mcp-agent::*tools* (list 1 2) cl-mcp-agent::*tools-told* nil)")
        self.s.call("reset-session")
        self.assertOperational()

    def test_the_example_of_the_document_works(self):
        with open(mcp.ROOT + "/docs/user-tools.md") as f:
            code, value = re.search(r"^> evaluate-lisp\n((?:>   .*\n)+)=> (.*)$", f.read(), re.MULTILINE).groups()
        self.assertValue(self.s.evaluate(code.replace(">   ", "")), value)
        self.assertEqual("Would deploy 3 to web, careful.", self.s.call("user-deploy", {"target": "web", "mode": "careful", "dry-run": True}).text)
        self.assertEqual("Deployed 10 to web, fast.", self.s.call("user-deploy", target="web", mode="fast", count=10).text)
        self.assertValue(self.s.evaluate('(cl-mcp:call-tool "deploy" :target "web" :mode :fast)'), '"Deployed 3 to web, fast."')

    def test_a_choice_that_is_a_symbol_arrives_as_it_is_and_the_history_repeats_the_call(self):
        self.s.evaluate("(defvar *chosen* '())")
        self.s.evaluate("(cl-mcp:define-tool paint ((color (member red :green t \"blue\"))) (push color *chosen*))")
        for color in "red", "green", "t", "blue":
            self.assertFalse(self.s.call("user-paint", color=color).is_error)
        self.assertValue(self.s.evaluate('(cl-mcp:call-tool "paint" :color \'red)'), '(RED "blue" T :GREEN RED)')
        text = self.s.call("session-history", format="lisp").text
        self.assertIn('(cl-mcp:call-tool "paint" :color "red")', text)
        path = self.file(text, "history.lisp")
        self.s.call("create-session", name="reader")
        self.assertValue(self.s.evaluate('(load "%s")' % path, session="reader"), "T")
        self.assertValue(self.s.evaluate("*chosen*", session="reader"), '(RED "blue" T :GREEN RED)')

    def test_modern_clients_call_them_too(self):
        client = self.start_server(era=mcp.MODERN)
        client.evaluate(DEPLOY)
        self.assertEqual(["user-deploy"], self.names(client))
        self.assertValue(client.call("user-deploy", target="x", mode="fast"), '("x" :FAST 3 NIL NIL NIL)')
