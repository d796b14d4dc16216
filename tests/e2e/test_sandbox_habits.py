"""Habits of twenty programs, each run by run-program in a sandboxed session: they work as outside of the sandbox."""

import os
import shlex
import subprocess
import sys

import mcp
from swank_client import quote
from test_sandbox import Sandbox

# Name, and a script of the shell that ends with 0 in an empty directory without a sandbox.
SHELL = (
    ("an editor renames a new file over the old", "echo old >a; echo new >a.tmp; sync a.tmp; mv a.tmp a; grep -q new a"),
    ("a file moves to another directory", "mkdir d e; echo x >d/f; mv d/f e/f; test -e e/f -a ! -e d/f"),
    ("a directory moves to another directory", "mkdir -p d/sub e; echo x >d/sub/f; mv d/sub e/; test -e e/sub/f"),
    ("an editor keeps the old file as a hard link", "echo old >a; ln a a~; echo new >a.tmp; mv a.tmp a; grep -q old a~"),
    ("a hard link lies in another directory", "mkdir d; echo x >a; ln a d/a; test a -ef d/a"),
    ("a lock file is a symbolic link that leads nowhere", 'ln -s "me@host.1:2" .#a; readlink .#a; ! ln -s other .#a; rm .#a'),
    ("a lock is a directory", "mkdir lock; ! mkdir lock; rmdir lock"),
    ("flock holds a lock file", "flock -n lock sh -c '! flock -n lock true'"),
    ("a FIFO joins two programs", "mkfifo p; echo through >p & read line <p; wait; test $line = through"),
    ("symbolic links lead in and out", "mkdir d; echo x >d/f; ln -s d/f in; ln -s /etc/passwd out; cat in out >/dev/null"),
    ("a temporary folder is made, used and removed", 'd=$(mktemp -d) && echo x >"$d/f" && cp "$d/f" . && rm -r "$d" && test -e f'),
    ("sort uses temporary files", "seq 200000 | sort -rn --buffer-size=100K >sorted; test $(head -1 sorted) = 200000"),
    ("tar packs and unpacks, with times and modes", "mkdir d; echo x >d/f; chmod 640 d/f; tar cf a.tar d; rm -r d; tar xpf a.tar; test $(stat -c %a d/f) = 640"),
    ("sed changes a file in place", "echo old >a; sed -i s/old/new/ a; grep -q new a"),
    ("install makes directories and sets modes", "echo x >a; install -D -m 755 a b/c/a; test -x b/c/a"),
    ("git makes a repository, commits and branches", "git init -q r; cd r; echo x >f; git add f; git commit -qm one; git branch b; git mv f g; git commit -qm two; git checkout -q b; test -e f; git gc -q"),
    ("git clones", "git init -q r; cd r; echo x >f; git add f; git commit -qm one; cd ..; git clone -q r s; test -e s/f"),
    ("make builds with two jobs", "printf 'all: a b\\na b:\\n\\techo $@ >$@\\n' >Makefile; make -s -j2; test -e a -a -e b"),
    ("cc compiles and links", "echo 'int main(void) { return 0; }' >a.c; cc -o a a.c; ./a"),
    ("the shell ends a program of its own", "sleep 60 & kill $!; wait $! || test $? = 143"),
)

# The same, for Python.
PYTHON = (
    ("a file without a name gets one", "fd = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600); os.write(fd, b'x'); os.link('/proc/self/fd/%d' % fd, 'a', src_dir_fd=0); assert os.path.getsize('a') == 1"),
    ("a directory is synchronised", "open('a', 'w').close(); fd = os.open('.', os.O_RDONLY | os.O_DIRECTORY); os.fsync(fd)"),
    ("a lock of fcntl", "import fcntl; fd = os.open('lock', os.O_RDWR | os.O_CREAT); fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)"),
    ("a pair of Unix sockets", "import socket; a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'"),
    ("a process pool", "import subprocess; assert subprocess.run(['true']).returncode == 0; p = os.fork() or os._exit(3); assert os.waitpid(p, 0)[1] == 768"),
    ("two names are exchanged", "import ctypes; os.mkdir('d'); open('a', 'w').close(); open('d/b', 'w').close(); assert ctypes.CDLL(None).renameat2(-100, b'a', -100, b'd/b', 2) == 0"),
    ("a file is cut by its descriptor", "f = open('a', 'w+'); f.write('long'); f.flush(); os.ftruncate(f.fileno(), 1); assert os.path.getsize('a') == 1"),
    ("a file is opened anew and emptied", "open('a', 'w').write('x'); open('a', 'w').close(); assert os.path.getsize('a') == 0"),
)

HABITS = [(name, "set -e; " + script) for name, script in SHELL] + [
    (name, "%s -c %s" % (shlex.quote(os.path.realpath(sys.executable)), shlex.quote("import os; " + script))) for name, script in PYTHON]

COMPILE = (
    '(progn (with-open-file (out "mine.lisp" :direction :output) (print \'(defun mine () 1) out))'
    ' (load (uiop:compile-file* "mine.lisp" :output-file (ensure-directories-exist (merge-pathnames "built/mine.fasl"))))'
    " (funcall 'mine))"
)


GIT_CONFIGURATION = """\
[url "https://me:s3cret@example.org/"]
\tinsteadOf = https://example.org/
[User] name = Me
\temail = me@example.org ; at home
\tpassword = s3cret
[http] extraHeader = Authorization: Basic s3cret
[include]
\tpath = .gitconfig-of-work
[init]
\tDEFAULTBRANCH = trunk
"""


class Habits(Sandbox):
    def setUp(self):
        super().setUp()
        mcp.write(os.path.join(self.home, ".gitconfig"), GIT_CONFIGURATION)

    def assertHabits(self, client, without=()):
        for number, (name, script) in enumerate(HABITS):
            with self.subTest(name):
                outside, inside = os.path.join(self.out, "habit-%d" % number), os.path.join(self.project, "habit-%d" % number)
                os.mkdir(outside)
                os.mkdir(inside)
                run = subprocess.run(["sh", "-c", script], cwd=outside, env=mcp.clean_environment(HOME=self.home), capture_output=True, text=True)
                if run.returncode == 127:
                    print("# not tried: %s; %s" % (name, run.stderr.strip()))
                    continue
                self.assertEqual(0, run.returncode, "outside of the sandbox: %s%s" % (run.stdout, run.stderr))
                reply = client.evaluate(
                    '(multiple-value-bind (out error code) (uiop:run-program (list "sh" "-c" %s) :directory "%s/" :ignore-error-status t'
                    " :output :string :error-output :output) (declare (ignore error)) (unless (eql code 0) (list code out)))" % (quote(script), inside))
                self.assertEqual(name in without, reply.text != "=> NIL", reply.text)
        self.assertEvaluatesIn(client, COMPILE, "1")


class InTheSandbox(Habits):
    def test_each_works_as_outside(self):
        self.assertHabits(self.start("workspace", "--readable", sys.base_prefix))

    def test_nothing_moves_between_the_project_and_the_outside(self):
        client = self.start("workspace")
        mcp.write(os.path.join(self.project, "mine"), "x")
        for code in ('(rename-file "mine" "%s/mine")' % self.out, '(rename-file "%s/file" "%s/stolen")' % (self.out, self.project)):
            self.assertIsError(client.evaluate(code), "The session has the sandbox workspace")
        self.assertTrue(os.path.exists(os.path.join(self.project, "mine")))
        self.assertTrue(os.path.exists(os.path.join(self.out, "file")))

    def test_git_knows_the_user_and_no_credentials(self):
        mcp.write(os.path.join(self.home, ".config/git/config"), "[user]\n\temail = earlier@example.org\n[credential]\n\thelper = s3cret\n")
        client = self.start("workspace")
        code = '(uiop:run-program "git config --list --global; cat $GIT_CONFIG_GLOBAL; cat ~/.gitconfig ~/.config/git/config" :output :string :error-output :output :ignore-error-status t)'
        says = client.evaluate(code).value
        for line in ("user.name=Me", "user.email=me@example.org", "init.defaultbranch=trunk", "/.gitconfig: Permission denied", "/git/config: Permission denied"):
            self.assertIn(line, says)
        self.assertNotIn("s3cret", says)
        # Programs outside of the sandbox have what they had.
        self.assertNotIn("gitconfig", self.start("off").evaluate('(uiop:getenv "GIT_CONFIG_GLOBAL")').text)
