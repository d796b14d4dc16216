"""What tests of joining need: a Lisp that a person runs, with Swank in it, a person at its other end, and false servers.

Tunnel       carries connections to an image as ssh -L does, and can be cut
Image        an SBCL or another Lisp with Debian's Swank (cl-swank); what it prints; a connection to it such as an editor has
Emacs        the same with SLIME, in batch mode: it evaluates what a test sends it
FalseServer  listens like Swank and does what a test says instead
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import mcp
from swank_client import Editor, quote

SWANK = "/usr/share/common-lisp/source/slime/swank-loader.lisp"
# Where a test that wants Slynk finds it; Debian has no package.
SLYNK = os.environ.get("CL_MCP_TEST_SLYNK", "")
START = """
(load LOADER)
(setf swank-loader::*fasl-directory* FASLS)
(swank-loader:init)
(setf swank::*log-output* nil)
(format t "~&port ~d.~%" (swank:create-server :port PORT :dont-close t))
(finish-output)
FORMS
(loop (sleep 1))
"""


# What each begins with, and how it is started. ECL compiles Swank to its own code, which takes a second, and not by a
# C compiler.
LISPS = {
    "sbcl": ("(defpackage :swank-loader (:use :cl))\n(defvar swank-loader::*fasl-directory* %s)\n", ["sbcl", "--noinform", "--no-sysinit", "--no-userinit", "--disable-debugger", "--load"]),
    "ecl": ("(ext:install-bytecodes-compiler)\n", ["ecl", "--norc", "--load"]),
    "abcl": ("", ["abcl", "--noinform", "--noinit", "--load"]),
}
# What is compiled once and runs once is not worth Java's slower compiler, nor several threads that collect.
VARIABLES = {"abcl": {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}}


def why_not(lisp="sbcl"):
    """Why there can be no image here; None if there can."""
    if not os.path.exists(SWANK):
        return "Swank is not installed (Debian: cl-swank)"
    return None if shutil.which(lisp) else "%s is not installed" % lisp


def why_no_slynk():
    has_loader = SLYNK and os.path.exists(os.path.join(SLYNK, "slynk-loader.lisp"))
    return None if has_loader else "CL_MCP_TEST_SLYNK names no directory with slynk-loader.lisp, which is in the source of SLY"


def cache():
    return mcp.clean_environment()["XDG_CACHE_HOME"]


@contextlib.contextmanager
def alone_at_first(folder):
    """What runs inside compiles into FOLDER if nobody has done so; others that want to do the same wait for its end."""
    done = os.path.join(folder, "is-compiled")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        if not os.path.exists(done):
            fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(done):
            fcntl.flock(lock, fcntl.LOCK_UN)
        yield
        with open(done, "w", encoding="utf-8"):
            pass


class Image:
    """Started when it is made; end() must be called."""

    def __init__(self, folder, forms="", port=0, home=None, lisp="sbcl", server="swank"):
        before, command = LISPS[lisp]
        self.server = server
        compiled = os.path.join(cache(), server + "-for-tests", lisp, "")
        fasls = quote(compiled)
        loader = SWANK if server == "swank" else os.path.join(SLYNK, "slynk-loader.lisp")
        start = before.replace("%s", fasls) + START.replace("LOADER", quote(loader)).replace("FASLS", fasls).replace("PORT", str(port))
        path = os.path.join(folder, "image-%d.lisp" % time.monotonic_ns())
        with open(path, "w", encoding="utf-8") as f:
            f.write(start.replace("swank", server).replace("FORMS", forms))
        environment = mcp.clean_environment(HOME=home or folder, **VARIABLES.get(lisp, {}))
        with alone_at_first(compiled):
            self.start([*command, path], lisp, folder, environment)
        self.address = "127.0.0.1:%d" % self.port

    def start(self, command, lisp, folder, environment):
        self.process = subprocess.Popen(
            command,
            # As from a terminal where nobody types: some Lisps end with their input.
            stdin=subprocess.DEVNULL if lisp == "sbcl" else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            encoding="utf-8",
            errors="replace",
        )
        self.printed = []
        self.port = None
        self._has_changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.port = int(self.await_print(r"(?m)^port (\d+)\.$", 240).group(1))

    def _read(self):
        for line in self.process.stdout:
            with self._has_changed:
                self.printed.append(line)
                self._has_changed.notify_all()
        with self._has_changed:
            self.printed.append("[end]\n")
            self._has_changed.notify_all()

    def await_print(self, pattern, wait=30):
        """Wait until it has printed this; the match."""
        end = time.monotonic() + wait * mcp.STRETCH
        with self._has_changed:
            while True:
                text = "".join(self.printed)
                match = re.search(pattern, text)
                if match:
                    return match
                if text.endswith("[end]\n") or time.monotonic() > end:
                    raise mcp.TimedOut("%s was not printed, but\n%s" % (pattern, text[-600:]))
                self._has_changed.wait(end - time.monotonic())

    def is_alive(self):
        return self.process.poll() is None

    def person(self):
        return Editor(self.port, server=self.server)

    def forget_definitions(self):
        """Take what was defined in COMMON-LISP-USER out of it, as a new Lisp has none of it."""
        person = self.person()
        person.evaluate(
            '(let ((user (find-package "COMMON-LISP-USER"))) (do-symbols (symbol user)'
            ' (when (eq user (symbol-package symbol)) (unintern symbol user))))'
        )
        person.close()

    def end(self):
        if self.is_alive():
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()
        if self.process.stdin is not None:
            self.process.stdin.close()


EMACS = r"""
(add-to-list 'load-path (car (file-expand-wildcards "/usr/share/emacs/site-lisp/elpa-src/slime-*")))
(require 'slime)
(setq debug-on-error nil slime-auto-start 'never)
(defvar told nil "What was shown in the echo area, last first.")
(advice-add 'slime-background-message :before (lambda (&rest arguments) (push (apply #'format arguments) told)))
(defun await (condition)
  (let ((end (+ (float-time) 30)) value)
    (while (and (not (setq value (funcall condition))) (< (float-time) end)) (accept-process-output nil 0.05))
    value))
(defun answer (test line)
  (process-send-string
   test (concat (replace-regexp-in-string "\n" " " (condition-case failure (prin1-to-string (eval (read line) t))
                                                     (error (format "failed: %S" failure))))
                "\n")))
(defvar lines "")
(let ((test (make-network-process :name "test" :host "127.0.0.1" :service PORT :coding 'utf-8)))
  (set-process-filter test (lambda (_process text)
                             (setq lines (concat lines text))))
  (while (process-live-p test)
    (accept-process-output nil 0.05)
    (while (string-match "\n" lines)
      (let ((line (substring lines 0 (match-beginning 0))))
        (setq lines (substring lines (match-end 0)))
        (answer test line)))))
"""


class Emacs:
    """end() must be called."""

    def __init__(self, folder):
        listening = socket.create_server(("127.0.0.1", 0))
        path = mcp.write(os.path.join(folder, "person.el"), EMACS.replace("PORT", str(listening.getsockname()[1])))
        environment = mcp.clean_environment()
        environment["HOME"] = folder
        self.process = subprocess.Popen(
            ["emacs", "--batch", "--quick", "--load", path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=open(os.path.join(folder, "emacs.err"), "wb"),
            env=environment,
        )
        listening.settimeout(60 * mcp.STRETCH)
        self.socket, _ = listening.accept()
        listening.close()
        self.socket.settimeout(60 * mcp.STRETCH)
        self.stream = self.socket.makefile("rw", encoding="utf-8")

    def __call__(self, form):
        """Evaluate a form of Emacs Lisp; the value as Emacs prints it."""
        self.stream.write(form.replace("\n", " ") + "\n")
        self.stream.flush()
        return self.stream.readline().rstrip("\n")

    def end(self):
        self.stream.close()
        self.socket.close()
        try:
            self.process.wait(10 * mcp.STRETCH)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class FalseServer:
    """Accepts connections and calls `serve` with each socket, in a thread of its own."""

    def __init__(self, serve):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.address = "127.0.0.1:%d" % self.port
        self.accepted = 0
        self._serve = serve
        self._sockets = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            self.accepted += 1
            self._sockets.append(connection)
            threading.Thread(target=self._guarded, args=(connection,), daemon=True).start()

    def _guarded(self, connection):
        try:
            self._serve(connection)
        except OSError:
            pass

    def end(self):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        for connection in self._sockets:
            connection.close()
        self._thread.join()


class Tunnel(FalseServer):
    def __init__(self, port):
        self._far = []
        self._to = port
        super().__init__(self._carry)

    def _carry(self, near):
        far = socket.create_connection(("127.0.0.1", self._to))
        self._far.append(far)
        threading.Thread(target=self._guarded_pump, args=(far, near), daemon=True).start()
        self._pump(near, far)

    def _guarded_pump(self, source, target):
        try:
            self._pump(source, target)
        except OSError:
            pass

    def _pump(self, source, target):
        while True:
            data = source.recv(1 << 16)
            if not data:
                target.shutdown(socket.SHUT_WR)
                return
            target.sendall(data)

    def cut(self):
        for connection in self._sockets + self._far:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def end(self):
        self.cut()
        super().end()
        for connection in self._far:
            connection.close()


def read_packet(connection):
    with connection.makefile("rb") as stream:
        return stream.read(int(stream.read(6), 16)).decode()


def packet(text):
    payload = text.encode()
    return b"%06x" % len(payload) + payload
