"""The tools beside evaluate-lisp, their listing, and how forgiving they are about names and arguments."""

import json
import os
import re
import urllib.parse

import mcp

class Listing(mcp.TestCase):
    def listing(self, *options, era=mcp.LEGACY):
        result = self.start_server(*options, era=era).request("tools/list")
        return result["tools"], len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode())

    def test_one_list_of_at_most_36_tools_in_19000_bytes(self):
        for era in (mcp.LEGACY, mcp.MODERN):
            tools, size = self.listing(era=era)
            self.assertLessEqual(len(tools), 36)
            self.assertLessEqual(size, 19000)
            for former_set in ("core", "standard", "full"):
                self.assertEqual(tools, self.listing("--tools=" + former_set)[0])
        self.assertEqual(["get-output", "list-threads"], [tool["name"] for tool in self.listing("--tools=list-threads,get_output")[0]])

    def test_a_former_set_is_told_to_have_no_effect(self):
        client = self.start_server("--tools=full")
        client.request("ping")
        self.assertIn("--tools full has no effect any more", client.stderr())

    def test_former_names_are_called_and_not_listed(self):
        listed = {tool["name"] for tool in self.listing()[0]}
        self.s.evaluate("(defun digits (n) (loop for i below n collect (format nil \"~d\" i)))")
        for name, arguments, said in (
            ("match-paren", {"code": "(a)", "line": 1, "column": 1}, "matches"),
            ("allocation-profile", {"code": "(length (digits 30000))"}, "one per 32 kB allocated"),
            ("cl/Allocation_Profile", {"code": "1", "mode": "cpu"}, "of CPU time"),
            ("find-system-file", {"system": "alexandria"}, "/alexandria.asd"),
            ("system-dependencies", {"system": "fiveam", "transitive": True}, "\n- alexandria"),
            ("list-local-systems", {"pattern": "alexandria"}, "- alexandria"),
            ("quicklisp-search", {"pattern": "alexandria"}, "Quicklisp is not installed"),
        ):
            with self.subTest(name):
                self.assertNotIn(name, listed)
                self.assertIn(said, self.s.call(name, arguments).text)

    def test_a_tool_that_is_not_listed_can_be_called(self):
        client = self.start_server("--tools=get-output")
        self.assertOperational(client)

    def test_instructions_guide_and_hints_name_only_what_a_shorter_list_has(self):
        all_names = {tool["name"] for tool in self.listing()[0]}
        client = self.start_server("--tools=evaluate-lisp,get-usage-guide,create-session", handshake=False)
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        texts = [client.request("initialize", hello)["instructions"]]
        client.notify("notifications/initialized")
        self.assertIn("create-session", texts[0])
        texts += [client.call("get-usage-guide", topic=topic).text for topic in ("workflow", "tools", "patterns", "recovery", "threads")]
        hints = client.evaluate("(alexandria:iota 3)").parts["Hint"]
        self.assertIn("The system alexandria is not loaded.", hints)
        for text in (*texts, hints):
            named = set(re.findall(r"(?<![:\w-])[a-z]+(?:-[a-z]+)+", text)) & all_names
            self.assertLessEqual(named, {"evaluate-lisp", "get-usage-guide", "create-session"})
        self.assertIn("load-system", self.start_server().evaluate("(alexandria:iota 3)").parts["Hint"])

    def test_the_order_is_always_the_same(self):
        first = [tool["name"] for tool in self.s.request("tools/list")["tools"]]
        self.assertEqual(first, [tool["name"] for tool in self.s.request("tools/list")["tools"]])
        self.assertEqual("evaluate-lisp", first[0])

    def test_every_tool_has_annotations(self):
        for tool in self.listing()[0]:
            with self.subTest(tool["name"]):
                # What the protocol assumes anyhow is not said: that it changes something, and may reach anything.
                hints = tool["annotations"]
                self.assertIn(hints, ({"readOnlyHint": True}, {"destructiveHint": True}, {"destructiveHint": False}, {"destructiveHint": False, "openWorldHint": False}))
                self.assertTrue(tool["title"])

    def test_every_tool_that_looks_at_lisp_takes_a_session(self):
        for tool in self.listing()[0]:
            if tool["name"] not in ("get-usage-guide", "create-session"):
                self.assertIn("session", tool["inputSchema"]["properties"], tool["name"])

    def test_read_only_tools_say_so(self):
        tools = {tool["name"]: tool["annotations"] for tool in self.listing()[0]}
        for name in ("get-backtrace", "list-errors", "get-output", "session-info", "list-definitions", "describe-symbol", "validate-syntax", "get-usage-guide"):
            self.assertTrue(tools[name].get("readOnlyHint"), name)
        for name in ("evaluate-lisp", "reset-session", "checkpoint-session"):
            self.assertTrue(tools[name].get("destructiveHint"), name)


class Leniency(mcp.TestCase):
    def test_wrong_arguments_evaluate_nothing_and_leave_the_error_record_alone(self):
        self.s.evaluate("(defvar *n* 0)")
        self.assertFails("(/ 1 0)")
        before = self.s.call("describe-last-error").text
        self.s.call("evaluate-lisp", {"code": "(incf *n*)", "nonsense": 1})
        self.assertEqual(before, self.s.call("describe-last-error").text)
        self.assertEvaluates("*n*", "0")


class ListDefinitions(mcp.SessionTest):
    def define(self):
        self.s.evaluate("(defun square (x) (* x x)) (defvar *counter* 0) (defmacro when-let ((name form) &body body) `(let ((,name ,form)) (when ,name ,@body)))"
                        " (defclass point () ((x :initarg :x) (y :initarg :y))) (defstruct pair left right) (defgeneric area (shape)) (defmethod area ((s point)) 0)"
                        " (defconstant +limit+ 10) (defpackage :my-app (:use :cl))")

    def test_everything_is_listed_in_its_section(self):
        self.define()
        text = self.s.call("list-definitions", type="all").text
        self.assertEqual(text, self.s.call("list-definitions").text)
        self.assertRegex(text, r"(?s)\[Functions\]\n.*- SQUARE \(X\)")
        self.assertRegex(text, r"(?s)\[Variables\]\n.*- \*COUNTER\* = 0")
        self.assertRegex(text, r"(?s)\[Macros\]\n.*- WHEN-LET \(")
        self.assertRegex(text, r"(?s)\[Classes\]\n.*- POINT")
        self.assertIn("MY-APP", text)
        self.assertIn("+LIMIT+", text)
        self.assertIn("AREA", text)

    def test_one_kind_is_listed_alone(self):
        self.define()
        for kind, there, elsewhere in (("functions", "SQUARE", "*COUNTER*"), ("variables", "*COUNTER*", "SQUARE"), ("macros", "WHEN-LET", "SQUARE"), ("classes", "POINT", "SQUARE"),
                                       ("methods", "AREA", "SQUARE"), ("packages", "MY-APP", "SQUARE")):
            with self.subTest(kind):
                text = self.s.call("list-definitions", type=kind).text
                self.assertIn(there, text)
                self.assertNotIn(elsewhere, text)

    def test_a_value_that_cannot_be_printed_hides_no_other(self):
        self.s.evaluate('(defclass bad () ()) (defmethod print-object ((b bad) s) (error "no")) (defvar *bad* (make-instance \'bad)) (defvar *good* 1) (defvar *unbound*)'
                        " (defvar *circle* (let ((l (list 1))) (setf (cdr l) l))) (defvar *long* (make-list 100000))")
        text = self.s.call("list-definitions", type="variables").text
        self.assertIn("*GOOD* = 1", text)
        self.assertIn("*BAD*", text)
        self.assertIn("*UNBOUND*", text)
        self.assertIn("*CIRCLE*", text)
        self.assertLess(len(text), 50000)

    def test_definitions_of_a_system_are_not_the_sessions_own(self):
        self.s.call("load-system", system="alexandria", wait=120)
        text = self.s.call("list-definitions").text
        self.assertRegex(text, r"\[Loaded Systems\]\nalexandria")
        self.assertNotIn("IOTA", text)

    def test_a_deleted_definition_is_not_listed(self):
        self.define()
        self.s.evaluate("(fmakunbound 'square)")
        self.assertNotIn("SQUARE", self.s.call("list-definitions").text)


class DescribeSymbol(mcp.SessionTest):
    def test_every_meaning_of_a_name_is_described(self):
        self.s.evaluate('(defun thing (a &optional b) "Makes a thing." (list a b)) (defvar *thing* 7 "The thing.") (defclass thing () ((s :initarg :s)))')
        text = self.s.call("describe-symbol", name="thing").text
        for part in ("THING", "Makes a thing.", "&OPTIONAL B", "class"):
            self.assertIn(part, text)
        text = self.s.call("describe-symbol", name="*thing*").text
        for part in ("The thing.", "7"):
            self.assertIn(part, text)

    def test_names_of_the_standard_are_described(self):
        for name, part in (("car", "LIST"), ("mapcar", "FUNCTION"), ("*print-base*", "10"), ("loop", "macro"), ("if", "special"), ("string", "class"), ("pi", "constant"), ("sb-ext:run-program", "PROGRAM")):
            with self.subTest(name):
                self.assertIn(part.lower(), self.s.call("describe-symbol", name=name).text.lower())

    def test_odd_names_do_no_harm(self):
        for name in ("", " ", "(", "a b", "#.(error \"read\")", ":key", "p:", "::", "|odd name|", "x" * 10000, "#:g", "1", "\u0000", "nil", "cl:nope"):
            with self.subTest(name[:20]):
                self.s.start_call("describe-symbol", name=name).response()
        self.assertOperational()


class LoadSystem(mcp.TestCase):
    def test_the_client_can_name_the_project_s_directory(self):
        project, elsewhere = self.folder(), self.folder()

        def directory(*options, **environment):
            server = self.start_server(*options, cwd=elsewhere, environment=mcp.clean_environment(**environment))
            return server.evaluate("(namestring *default-pathname-defaults*)").value

        self.assertEqual('"%s/"' % project, directory(CLAUDE_PROJECT_DIR=project))
        self.assertEqual('"%s/"' % elsewhere, directory("--directory", elsewhere, CLAUDE_PROJECT_DIR=project))
        self.assertEqual('"%s/"' % elsewhere, directory("--stdio", "--http", "127.0.0.1:0", CLAUDE_PROJECT_DIR=project))
        for not_one in (project + "/missing", "relative", ""):
            self.assertEqual('"%s/"' % elsewhere, directory(CLAUDE_PROJECT_DIR=not_one))

    def test_the_client_s_first_root_is_the_project_unless_something_else_names_one(self):
        roots = self.folder() + "/a project \u03bb"
        os.mkdir(roots)
        elsewhere = self.folder()
        uri = "file://" + urllib.parse.quote(roots)

        def directory(*options, answer, tool_first=False, capabilities={"roots": {"listChanged": True}}, **environment):
            server = self.start_server(*options, cwd=elsewhere, environment=mcp.clean_environment(**environment), handshake=False)
            server.request("initialize", {"protocolVersion": mcp.LEGACY, "capabilities": capabilities, "clientInfo": {"name": "e2e", "version": "0"}})
            server.notify("notifications/initialized")
            if answer is not None:
                question = server.receive()
                self.assertEqual("roots/list", question["method"])
                if tool_first:
                    server.evaluate("1")
                server.send_json({"jsonrpc": "2.0", "id": question["id"], **answer})
            return server.evaluate("(namestring *default-pathname-defaults*)").value

        def answered(*uris):
            return {"result": {"roots": [{"uri": uri} for uri in uris]}}

        self.assertEqual('"%s/"' % roots, directory(answer=answered("https://example.org/", "file:///no/such", uri, "file:///")))
        self.assertEqual('"%s/"' % roots, directory(answer=answered("file://localhost" + uri[len("file://"):])))
        for answer in (answered(), answered("file://%00", "file://x/", "file:///%zz"), {"result": {"roots": 7}}, {"error": {"code": -32601, "message": "no"}}):
            self.assertEqual('"%s/"' % elsewhere, directory(answer=answer))
        self.assertEqual('"%s/"' % elsewhere, directory(answer=answered(uri), tool_first=True))
        self.assertEqual('"%s/"' % elsewhere, directory(answer=None, capabilities={}))
        self.assertEqual('"%s/"' % elsewhere, directory("--directory", elsewhere, answer=None))
        self.assertEqual('"%s/"' % elsewhere, directory(answer=None, CLAUDE_PROJECT_DIR=elsewhere))


class LoadFile(mcp.SessionTest):
    def test_a_file_is_loaded_into_the_session(self):
        path = self.file('(defun loaded () "é")\n(format t "loading")\n')
        for arguments in ({"path": path}, {"path": path, "compile": True}):
            self.assertSucceeds(self.s.call("load-file", arguments), "loading")
            self.assertEvaluates("(loaded)", '"é"')

    def test_the_package_may_be_given_and_in_package_stays_in_the_file(self):
        path = self.file("(defun where () :here)\n(cl:in-package :keyword)\n")
        self.s.evaluate("(defpackage :target (:use :cl))")
        self.assertFalse(self.s.call("load-file", path=path, package="TARGET").is_error)
        self.assertEvaluates("(target::where)", ":HERE")
        self.assertEvaluates("(package-name *package*)", '"COMMON-LISP-USER"')

    def test_an_error_says_where_it_came_from_and_keeps_what_was_loaded(self):
        path = self.file('(defvar *first* 1)\n\n(error "third line")\n(defvar *last* 1)\n')
        report = self.assertErrorReport(self.s.call("load-file", path=path), "SIMPLE-ERROR")
        self.assertIn("third line", report.message)
        self.assertIn("file.lisp", report.text)
        self.assertIn("SIMPLE-ERROR", self.s.call("describe-last-error").text)
        self.assertEvaluates("(list (boundp '*first*) (boundp '*last*))", "(T NIL)")

    def test_odd_paths_do_no_harm(self):
        for path in ("", "/", "~", "*", "/tmp/[x]*.lisp", "a\u0000b", "x" * 10000, "/dev/null", "/proc/self/mem"):
            with self.subTest(path[:20]):
                self.s.start_call("load-file", path=path, timeout=5).response()
        self.assertOperational()


class Guide(mcp.SessionTest):
    def test_the_guide_and_its_topics_are_there(self):
        text = self.s.call("get-usage-guide").text
        for word in ("evaluate-lisp", "reset-session", "get-output", "list-errors"):
            self.assertIn(word, text)
        self.assertLess(len(text), 12000)
        for topic in ("workflow", "tools", "patterns", "recovery", "no such topic"):
            self.assertNotEqual("", self.s.start_call("get-usage-guide", topic=topic).response())

    def test_the_tool_that_the_guide_makes_can_be_called(self):
        text = self.s.call("get-usage-guide", topic="patterns").text
        definition, call = (re.search(r"\(cl-mcp:%s-tool .*\)" % what, text).group(0) for what in ("define", "call"))
        self.assertEvaluates(definition, '"user-greet"')
        self.assertEvaluates(call, '"Hello, Ann."')
        self.assertEqual("Hello, Bob.", self.s.call("user-greet", name="Bob").text)


class Backtraces(mcp.SessionTest):
    def test_max_frames_and_from_choose_a_part(self):
        self.assertFails('(defun deep (n) (if (zerop n) (error "bottom") (1+ (deep (1- n))))) (deep 50)')
        self.assertEqual(20, len(mcp.frames_in(self.s.call("get-backtrace").text)))
        three = self.s.call("get-backtrace", max_frames=3).text
        self.assertEqual(["(DEEP 0)", "(DEEP 1)", "(DEEP 2)"], mcp.frames_in(three))
        later = self.s.call("get-backtrace", {"from": 10, "max-frames": 2}).text
        self.assertIn("(DEEP 10)", mcp.frames_in(later))
        self.assertRegex(later, r"(?m)^\s*10: ")
        everything = mcp.frames_in(self.s.call("get-backtrace", max_frames=100).text)
        self.assertEqual("(EVAL (DEEP 50))", everything[-1])
