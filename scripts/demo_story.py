"""A short session of a client with the server: real requests and replies, over the server's stdin and stdout.

usage: demo_story.py PROGRAM

Every reply is compared with what the story says; the exit status is 1 if one is not as told.
"""

import json
import os
import sys
import textwrap
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "e2e"))
import mcp  # noqa: E402

IS_TERMINAL = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
WIDTH = 100


def colour(code, text):
    return "\033[%sm%s\033[0m" % (code, text) if IS_TERMINAL else text


def title(text):
    print()
    print(colour("1", text))


def show_request(tool, arguments):
    """The tool and its arguments; Lisp code as it is, under the tool's name."""
    code = arguments.get("code")
    others = ", ".join("%s: %s" % (name, json.dumps(value)) for name, value in arguments.items() if name != "code")
    print("  %s %s%s" % (colour("36", ">"), colour("36", tool), "  " + others if others else ""))
    if code:
        for line in textwrap.dedent(code).strip().splitlines():
            print("      " + colour("36", line))


def show_reply(text, is_error, most=40):
    lines = text.splitlines()
    left_out = len(lines) - most
    for line in lines[:most]:
        if len(line) > WIDTH:
            line = textwrap.fill(line, WIDTH, subsequent_indent="  ")
        line = line.replace("\n", "\n    ")
        if line.startswith("[") and line.rstrip().endswith("]") or line.startswith("[ERROR]"):
            line = colour("31" if is_error and line.startswith("[ERROR]") else "33", line)
        elif line.startswith("=> "):
            line = colour("32", line)
        print("    " + line)
    if left_out > 0:
        print("    (and %d lines more)" % left_out)


class Story:
    def __init__(self, client):
        self.client = client
        self.surprises = 0

    def tell(self, tool, expected, is_error=False, **arguments):
        arguments = {name.replace("_", "-"): value for name, value in arguments.items()}
        show_request(tool, arguments)
        reply = self.client.call(tool, arguments)
        show_reply(reply.text, reply.is_error)
        if reply.is_error != is_error or any(part not in reply.text for part in expected):
            self.surprises += 1
            print("    " + colour("31", "That is not what the story says: it wants %s" % ", ".join(repr(part) for part in expected)))
        return reply


def main():
    program = os.path.abspath(sys.argv[1])
    started = time.monotonic()
    with mcp.Client(program=program, handshake=False) as client:
        title("A client starts the server")
        result = client.handshake()
        tools = client.request("tools/list")["tools"]
        print("    %s %s, %d tools: %s, …" % (result["serverInfo"]["name"], result["serverInfo"]["version"], len(tools),
                                            ", ".join(tool["name"] for tool in tools[:4])))

        title("A request and its reply are one line of JSON each:")
        pending = client.start_call("evaluate-lisp", code="(+ 1 2)")
        request = {"jsonrpc": "2.0", "id": pending.id, "method": "tools/call", "params": {"name": "evaluate-lisp", "arguments": {"code": "(+ 1 2)"}}}
        print("  " + colour("36", "> " + json.dumps(request)))
        print("    " + json.dumps(pending.response()))
        print("  From here on, only the tool, its arguments and the text of the reply are shown.")
        story = Story(client)

        title("Define, and use what was defined; output and values are kept apart")
        story.tell("evaluate-lisp", ["=> AVERAGE"], code="""
            (defun average (numbers)
              (float (/ (reduce #'+ numbers) (length numbers))))""")
        story.tell("evaluate-lisp", ["[stdout]\nThe average is 3.5.", "=> 3.5", "=> 4"], code="""
            (let ((a (average '(2 3 4 5))))
              (format t "The average is ~a.~%" a)
              (values a (round a)))""")

        title("A warning stops nothing")
        story.tell("evaluate-lisp", ["[warnings]\nWARNING: 7 numbers", "=> :DONE"], code='(progn (warn "7 numbers would be better") :done)')

        title("An error is explained where it happens, and harms nothing")
        story.tell("evaluate-lisp", ["[ERROR] DIVISION-BY-ZERO", "[Backtrace]", "(AVERAGE NIL)", "[Restarts]"], True, code="""
            (defun summary (numbers) (format nil "average: ~a" (average numbers)))
            (summary '())""")

        title("The error stays available, with the variables of each frame")
        story.tell("list-errors", ["Error: DIVISION-BY-ZERO", "Available Restarts:"], index=0)
        story.tell("get-backtrace", ["Backtrace of error 1 (", "NUMBERS"], locals=True, max_frames=3)

        title("Enter the error, correct the function, and continue from where it failed")
        story.tell("evaluate-in-frame", ["=> (NIL 0)"], frame=0, code="(list numbers (length numbers))")
        story.tell("evaluate-lisp", ["=> AVERAGE"], code="""
            (defun average (numbers)
              (if numbers (float (/ (reduce #'+ numbers) (length numbers))) 0.0))""")
        story.tell("invoke-restart", ['=> "average: 0.0"'], restart="RETRY")

        title("An endless loop is stopped at its time limit; the session is intact")
        story.tell("evaluate-lisp", ["[ERROR] TIMEOUT"], True, code="(loop)", timeout=0.5)
        story.tell("evaluate-lisp", ["=> 5.0"], code="(average '(4 5 6))")

        title("The code cannot take the server or the session down, not even by ending its process")
        story.tell("evaluate-lisp", ["PROCESS-EXITED", "[Session]"], True, code="(sb-ext:exit :code 3 :abort t)")
        story.tell("evaluate-lisp", ["=> 5.0"], code="(average '(4 5 6))")

        title("Start over")
        story.tell("reset-session", ["Session reset. All definitions cleared."])
        story.tell("evaluate-lisp", ["=> NIL"], code="(fboundp 'average)")

    print()
    if story.surprises:
        print(colour("31", "%d replies were not as the story says." % story.surprises))
        sys.exit(1)
    print("The client closed its end; the server ended and left no process behind. %.1f s" % (time.monotonic() - started))
    print("To give this to an AI agent, see README.md; scripts/check runs all tests.")


if __name__ == "__main__":
    main()
