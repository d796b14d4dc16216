"""README's lines of "To use it", typed by a user who has just got the sources, and a session with the server that they have set
up, as its client would start it. What it prints is TAP.

usage: readme_typed.py [installed]     in the sources; what it makes lies in the home directory

installed: the program is, from a package, so nothing is built.
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import demo_story
import mcp
import stand_in

HOME = os.path.expanduser("~")
PROJECT = os.path.join(HOME, "project")
WRITE = '(with-open-file (out "%s/%s" :direction :output) (write-line "x" out) :written)'
count = 0


def result(passed, name):
    global count
    count += 1
    print("%s %d - %s" % ("ok" if passed else "not ok", count, name), flush=True)


def lines_of_readme():
    with open("README.md", encoding="utf-8") as readme:
        block = readme.read().split("\nTo use it:\n\n", 1)[1].split("\n\n", 1)[0]
    lines = [line.strip() for line in block.splitlines()]
    return [line for line in lines if not line.startswith("make ")] if "installed" in sys.argv else lines


def type_lines():
    # Debian's own profile puts ~/.local/bin and ~/bin into PATH, if they are there when a shell is opened.
    if not os.path.exists(HOME + "/.profile"):
        shutil.copy("/etc/skel/.profile", HOME)
    stand_in.put(HOME + "/bin", "claude")
    for line in (*lines_of_readme(), "cl-mcp-server doctor"):
        print("$ " + line, flush=True)
        done = subprocess.run(["bash", "-l", "-c", line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(textwrap.indent(done.stdout, "    "), end="")  # what doctor prints looks like TAP
        result(done.returncode == 0, line)


def have_session():
    with open(HOME + "/.claude.json", encoding="utf-8") as file:
        entry = json.load(file)["mcpServers"]["lisp"]
    os.mkdir(PROJECT)
    with mcp.Client(*entry["args"], program=entry["command"], environment=dict(os.environ), cwd=PROJECT, handshake=False) as client:
        print("$ %s\n    %s" % (" ".join([entry["command"], *entry["args"]]), client.handshake()["instructions"].splitlines()[-1]))
        story = demo_story.Story(client)
        story.tell("evaluate-lisp", ["=> AVERAGE"], code="(defun average (numbers) (/ (reduce #'+ numbers) (length numbers)))")
        story.tell("evaluate-lisp", ["[ERROR] DIVISION-BY-ZERO"], True, code="(average '())")
        story.tell("evaluate-in-frame", ["=> 0"], frame=0, code="(length numbers)")
        story.tell("evaluate-lisp", ["[ERROR] PROCESS-EXITED"], True, code="(sb-ext:exit :abort t)")
        story.tell("evaluate-lisp", ["=> 2"], code="(average '(1 3))")
        story.tell("evaluate-lisp", ["=> :WRITTEN"], code=WRITE % (PROJECT, "inside"))
        story.tell("evaluate-lisp", ["The session has the sandbox workspace"], True, code=WRITE % (HOME, "outside"))
    result(story.surprises == 0, "a session evaluates, enters an error and survives the end of its process")
    result(os.path.exists(PROJECT + "/inside") and not os.path.exists(HOME + "/outside"), "it writes in the project only")


type_lines()
have_session()
print("1..%d" % count)
