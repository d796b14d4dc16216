"""Seed 002, error response stability, against the real server. Where each section of the seed is tested:

Statement, Formal Expression, Error Code Verification, Informal Explanation 1 to 3, Assertion, Counterexample Shape
                                     InvalidRequests: each kind with its code and id; tools/list works after each
Informal Explanation (explains what went wrong)
                                     test_the_error_explains_what_went_wrong
Counterexample Shape (stops accepting requests)
                                     test_bad_input_during_an_evaluation_disturbs_nothing
Fuzz Testing, Stress Test            the classes of these names
"""

import json
import string

import mcp

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602


def line(**members):
    return json.dumps(dict({"jsonrpc": "2.0"}, **members))


class Assertions(mcp.TestCase):
    era = "2025-06-18"  # the newest revision in which wrong arguments are -32602

    def assertValidError(self, response, code=None, request_id=None):
        """is_valid_jsonrpc_error"""
        self.assertIsInstance(response, dict, response)
        self.assertEqual("2.0", response.get("jsonrpc"))
        self.assertNotIn("result", response)
        self.assertIn("id", response)
        self.assertEqual(request_id, response["id"])
        error = response["error"]
        self.assertIs(int, type(error["code"]), response)
        self.assertIs(str, type(error["message"]), response)
        self.assertNotEqual("", error["message"])
        self.assertLessEqual(set(error), {"code", "message", "data"})
        if code is not None:
            self.assertEqual(code, error["code"], response)

    def assertServerWorks(self):
        self.assertIn("tools", self.s.request("tools/list"))

    def assertAnswered(self, raw, code=None, request_id=None):
        """Send an invalid line: one well-formed error comes back, and tools/list works after it."""
        self.s.send_line(raw)
        self.assertValidError(self.s.receive(), code, request_id)
        self.assertServerWorks()
        self.assertTrue(self.s.inbox.empty())


class InvalidRequests(Assertions):
    """The five kinds of the formal expression."""

    def test_malformed_json(self):
        for raw in ("{{{{", '{"jsonrpc":"2.0","id":5,"method":', "{", "}", "nonsense", '{"jsonrpc": "2.0",', '{"jsonrpc": "2.0" "id": 1}', "[1, 2", '"open', "{'single': 1}", "nul", "+1",
                    '{"a":1}{"b":2}', '{"a":1} trailing', '{"a":01}', '{"a":.5}', '{"a":"\t"}', '{a:1}', '{"a":1,}', "[1,]", "NaN", "Infinity", "/* c */ {}",
                    '{"jsonrpc":"2.0","id":1,"method":"ping"', '\\u007b}', '"\\x"', '"\\u12"'):
            with self.subTest(raw):
                self.assertAnswered(raw, PARSE_ERROR)

    def test_missing_required_fields(self):
        for raw in ("{}", '{"jsonrpc":"2.0"}', '{"id":null}', '{"jsonrpc":"2.0","params":{}}', "null", "true", "1", '"text"', "1.5"):
            with self.subTest(raw):
                self.assertAnswered(raw, INVALID_REQUEST)
        self.assertAnswered('{"jsonrpc":"2.0","id":17}', INVALID_REQUEST, 17)
        self.assertAnswered('{"id":18,"method":"tools/list"}', INVALID_REQUEST, 18)

    def test_unknown_methods(self):
        for n, method in enumerate(("no/such/method", "", "tools", "tools/list/", "TOOLS/LIST", "tools\\u002flis", "rpc.discover", "x" * 10000, "\u0000", "\U0001f600")):
            with self.subTest(method[:40]):
                self.assertAnswered(line(id="m%d" % n, method=method), METHOD_NOT_FOUND, "m%d" % n)

    def test_invalid_parameters(self):
        for n, params in enumerate((
            {}, {"name": 1}, {"name": None}, {"name": ["evaluate-lisp"]}, {"name": "no-such-tool"}, {"name": ""},
            {"name": "evaluate-lisp", "arguments": []}, {"name": "evaluate-lisp", "arguments": "x"}, {"name": "evaluate-lisp", "arguments": 1},
            {"name": "evaluate-lisp"}, {"name": "evaluate-lisp", "arguments": {}}, {"name": "evaluate-lisp", "arguments": {"code": 1}},
            {"name": "evaluate-lisp", "arguments": {"code": "1", "no-such-argument": 1}},
            {"name": "evaluate-lisp", "arguments": {"code": "1", "timeout": "soon"}},
            {"name": "evaluate-lisp", "arguments": {"code": "1", "timeout": -1}},
        )):
            with self.subTest(repr(params)):
                self.assertAnswered(line(id=1000 + n, method="tools/call", params=params), INVALID_PARAMS, 1000 + n)

    def test_type_mismatches(self):
        for raw, request_id in (
            (line(id=20, method=1), 20),
            (line(id=21, method=None), 21),
            (line(id=22, method=["tools/list"]), 22),
            ('{"jsonrpc":2.0,"id":23,"method":"ping"}', 23),
            ('{"jsonrpc":"1.0","id":24,"method":"ping"}', 24),
            ('{"jsonrpc":null,"id":25,"method":"ping"}', 25),
            (line(id=None, method="ping"), None),
            (line(id=True, method="ping"), None),
            (line(id={}, method="ping"), None),
            (line(id=[1], method="ping"), None),
            ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None),
        ):
            with self.subTest(raw):
                self.assertAnswered(raw, INVALID_REQUEST, request_id)
        for n, params in enumerate(([], [1], "text", 1, True)):
            with self.subTest(repr(params)):
                self.s.send_line(line(id=30 + n, method="tools/list", params=params))
                response = self.s.receive()
                self.assertValidError(response, None, 30 + n)
                self.assertIn(response["error"]["code"], (INVALID_REQUEST, INVALID_PARAMS))
                self.assertServerWorks()


class Explanation(Assertions):
    def test_the_error_explains_what_went_wrong(self):
        self.assertIn("no/such", self.s.error("no/such")["message"])
        self.assertIn("no-such-tool", self.s.error("tools/call", {"name": "no-such-tool"})["message"])
        message = self.s.error("tools/call", {"name": "evaluate-lisp", "arguments": {"coed": "1"}})["message"]
        self.assertIn("coed", message)
        self.assertIn("code", message)

    def test_bad_input_during_an_evaluation_disturbs_nothing(self):
        self.assertEvaluates("(defvar *kept* 42)", "*KEPT*")
        pending = self.s.start_call("evaluate-lisp", code="(progn (sleep 0.5) :done)")
        for _ in range(50):
            self.s.send_line("bad")
        for _ in range(50):
            self.assertValidError(self.s.receive(), PARSE_ERROR)
        self.assertValue(pending.reply(), ":DONE")
        self.assertEvaluates("*kept*", "42")
        self.assertTrue(mcp.is_alive(self.s.pid))


class FuzzTesting(Assertions):
    """One generator for each entry of "Generate malformed inputs"; every answer is an error, and then tools/list works."""

    def random_bytes(self, chance):
        while True:
            data = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 60))).replace(b"\n", b"").replace(b"\r", b"")
            if data.strip(b" \t") and not self.is_json(data):
                return data, PARSE_ERROR

    @staticmethod
    def is_json(data):
        try:
            json.loads(data.decode("utf-8"))
            return True
        except ValueError:
            return False

    def missing_field(self, chance):
        message = {"jsonrpc": "2.0", "id": chance.randrange(1000), "method": "tools/list", "params": {}}
        del message[chance.choice(["jsonrpc", "method"])]
        return json.dumps(message), INVALID_REQUEST

    def wrong_type(self, chance):
        wrong = chance.choice([None, True, 1.5, [], {}, [{}], -1])
        message = {"jsonrpc": "2.0", "id": "w", "method": "tools/list"}
        message[chance.choice(["jsonrpc", "method"])] = wrong
        return json.dumps(message), INVALID_REQUEST

    def unknown_method(self, chance):
        name = "".join(chance.choice(string.ascii_lowercase + "/._-") for _ in range(chance.randrange(1, 20))) + "!"
        return line(id=1, method=name), METHOD_NOT_FOUND

    def invalid_parameter(self, chance):
        params = chance.choice([
            {"name": chance.choice([1, None, [], {}, True, 2.5])},
            {"name": "tool-%d" % chance.randrange(1000)},
            {"name": "evaluate-lisp", "arguments": chance.choice([[], "x", 1, False])},
            {"name": "evaluate-lisp", "arguments": {"code": chance.choice([[], {}, 5, True])}},
            {"name": chance.choice(["get-output", "create-session", "get-backtrace"]), "arguments": {"bogus%d" % chance.randrange(99): 1}},
        ])
        return line(id=1, method="tools/call", params=params), INVALID_PARAMS

    def large(self, chance):
        kind = chance.randrange(3)
        size = chance.randrange(10000, 200000)
        if kind == 0:
            return "x" * size, PARSE_ERROR
        if kind == 1:
            return line(id=1, method="m" * size), METHOD_NOT_FOUND
        return '{"jsonrpc":"2.0","pad":"%s"}' % ("y" * size), INVALID_REQUEST

    def unicode(self, chance):
        text = "".join(chr(chance.choice([0, 7, 0x7F, 0x85, 0xE9, 0x2028, 0xFFFD, 0xFEFF, 0x1F600, chance.randrange(1, 0xD800)])) for _ in range(12))
        kind = chance.randrange(4)
        if kind == 0:
            return line(id=1, method="é" + text), METHOD_NOT_FOUND
        if kind == 1:
            return line(id=1, method="tools/call", params={"name": "é" + text}), INVALID_PARAMS
        if kind == 2:
            return ('"' + text.translate({10: None, 13: None, 92: None}) + "é").encode() + bytes([chance.choice([0x80, 0xC0, 0xFF, 0xED])]) + b'"', PARSE_ERROR
        return json.dumps({"jsonrpc": "2.0", text: text}), INVALID_REQUEST

    def generate(self, chance):
        generator = chance.choice([
            self.random_bytes, self.missing_field, self.wrong_type, self.unknown_method, self.invalid_parameter, self.large, self.unicode])
        return generator(chance)

    def run_generator(self, generator, count):
        chance = self.random()
        for _ in range(count):
            data, code = generator(chance)
            self.s.send_line(data)
            try:
                response = self.s.receive()
                self.assertIn("error", response)
                self.assertValidError(response, code, response.get("id"))
            except AssertionError as error:
                raise AssertionError("for the line %r: %s" % (data[:500], error)) from None
            self.assertServerWorks()

    def test_malformed_inputs(self):
        for generator, count in ((self.random_bytes, 200), (self.missing_field, 50), (self.wrong_type, 50), (self.unknown_method, 50),
                                 (self.invalid_parameter, 100), (self.large, 30), (self.unicode, 100)):
            with self.subTest(generator.__name__):
                self.run_generator(generator, count)

    def test_10000_invalid_requests_in_sequence_are_all_answered_with_errors(self):
        chance = self.random()
        self.assertEvaluates("(defvar *before-the-storm* 42)", "*BEFORE-THE-STORM*")
        sent = 0
        while sent < 10000:
            batch = [self.generate(chance) if chance.random() < 0.98 else (b"{]", PARSE_ERROR) for _ in range(100)]
            # pipelined, 100 at a time: the answers to lines that need no Lisp come in order
            self.s.send_raw(b"".join((data if isinstance(data, bytes) else data.encode()) + b"\n" for data, _ in batch))
            for data, code in batch:
                response = self.s.receive()
                if not isinstance(response, dict) or response.get("error", {}).get("code") != code:
                    self.fail("%r was answered with %r, not with %d" % (data[:500], response, code))
            sent += len(batch)
        self.assertServerWorks()
        self.assertEvaluates("*before-the-storm*", "42")
