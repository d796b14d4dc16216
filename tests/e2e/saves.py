"""What tests of sessions on disk share: saves that are made once for a file, and a look at the directory of a server."""

import json
import os
import shutil
import signal
import tempfile

import mcp

DEFINITIONS = {
    "default": ("(progn (defvar *saved* :from-disk) (defvar *n* 1))", "(defun next () (incf *n*))", "(setf *n* 2)"),
    "other": ("(defvar *saved* :other)",),
    "work": ("(defvar *n* 1)",),
}
_saved = {}


def saved_once(name):
    """A directory with a save of this session, made once for all tests of a file that need no save of their own."""
    if name not in _saved:
        _saved[name] = tempfile.mkdtemp(prefix="cl-mcp-test-")
        with mcp.Client("--state-dir", _saved[name]) as client:
            if name != "default":
                client.call("create-session", name=name)
            for code in DEFINITIONS[name]:
                client.evaluate(code, session=name)
            reply = client.call("save-session", session=name)
            assert not reply.is_error, reply.text
    return _saved[name]


def copy_saved(state, *names):
    """Put the saves of saved_once(), of these sessions, into a directory of saves."""
    for session in names:
        for name in os.listdir(saved_once(session)):
            shutil.copy(os.path.join(saved_once(session), name), state)


def remove_saved():
    for path in _saved.values():
        shutil.rmtree(path, True)
    _saved.clear()


class Saves(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.state = self.folder()

    def server(self, *options, **named):
        return self.start_server("--state-dir", self.state, *options, **named)

    @property
    def s(self):
        if self._server is None:
            self._server = self.server(*self.options)
        return self._server

    def save(self, client=None, **named):
        return self.assertSucceeds((client or self.s).call("save-session", **named))

    def restore(self, client=None, name="default"):
        return self.assertSucceeds((client or self.s).call("restore-session", name=name))

    def copy_saved(self, *names):
        """Put the saves of these sessions into the directory, or of `default` and `other`, and nothing else."""
        for name in os.listdir(self.state):
            os.unlink(os.path.join(self.state, name))
        copy_saved(self.state, *names or ("default", "other"))

    def kill(self, client):
        """It ends without saving anything."""
        os.kill(client.pid, signal.SIGKILL)
        client.destroy()
        mcp.assert_none_left(client.mark)

    def assertRefuses(self, reply, pattern):
        self.assertTrue(reply.is_error, reply.text)
        self.assertRegex(reply.text, pattern)

    def files(self):
        return sorted(os.listdir(self.state))

    def images(self):
        return [name for name in self.files() if name.endswith(".core")]

    def description(self, name="default"):
        with open(os.path.join(self.state, name + ".json"), encoding="utf-8") as f:
            return json.load(f)

    def assertOneSave(self, *names):
        """The directory holds a description and its image for each of these, and nothing else."""
        wanted = []
        for name in names or ("default",):
            wanted += [name + ".json", self.description(name)["image"]]
        self.assertEqual(sorted(wanted), self.files())

    def wait_for_image(self, client=None, more_than=0, beside=()):
        """The copy has begun to write the image."""
        def begun():
            for name in self.images():
                try:
                    if name not in beside and os.path.getsize(os.path.join(self.state, name)) >= more_than:
                        return name
                except OSError:
                    pass
        return mcp.wait_until(begun, 20, "an image of %d bytes" % more_than)

    def writer(self, image):
        """The process that has the image open."""
        def opener():
            for pid in self.s.processes():
                try:
                    if any(os.path.samefile("/proc/%d/fd/%s" % (pid, fd), os.path.join(self.state, image)) for fd in os.listdir("/proc/%d/fd" % pid)):
                        return pid
                except OSError:
                    pass
        return mcp.wait_until(opener, 20, "the process that writes")

    def pid(self, client=None, **named):
        return int((client or self.s).evaluate("(sb-posix:getpid)", **named).value)
