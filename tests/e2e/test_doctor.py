"""doctor: what it finds in good and bad installations. Completions: that the shells can read and use them."""

import json
import os
import re
import shutil
import subprocess

import mcp
import stand_in


class Doctor(mcp.TestCase):
    def examine(self, *options, **changes):
        """The findings by the check's name, and the exit status."""
        self.home = self.home if hasattr(self, "home") else self.folder()
        changes.setdefault("HOME", self.home)
        done = mcp.run("doctor", "--json", *options, env=mcp.clean_environment(**changes), cwd=self.folder())
        report = json.loads(done.stdout)
        found = {check["check"]: check for check in report["checks"]}
        problems = [check for check in report["checks"] if check["status"] == "problem"]
        self.assertEqual(report["problems"], len(problems))
        self.assertEqual(1 if problems else 0, done.returncode, problems)
        for check in problems:
            self.assertGreater(len(check["advice"]), 10)
        return found, done.returncode

    def test_a_good_installation_has_no_problems(self):
        found, status = self.examine()
        self.assertEqual(0, status)
        for name in ("sbcl", "release", "core", "cache", "state", "evaluation", "threads", "asdf"):
            self.assertEqual("ok", found[name]["status"], found[name])
        self.assertRegex(found["release"]["finding"], r"SBCL \d+\.\d+")
        self.assertLessEqual({"quicklisp", "ocicl", "qlot", "landlock", "seccomp", "sandbox", "cgroup", "huge-pages"}, set(found))
        # A client that is installed, as Emacs is where all tests run, has an entry of its own.
        self.assertTrue({"clients", "emacs"} & set(found), set(found))

    def test_without_sbcl_it_reports_what_to_install(self):
        found, status = self.examine(PATH="/nonexistent")
        self.assertEqual(1, status)
        self.assertIn("apt install sbcl", found["sbcl"]["finding"])
        self.assertNotIn("evaluation", found)
        self.assertIn("landlock", found)

    def test_a_program_that_is_not_sbcl_is_recognized(self):
        found, status = self.examine("--", "--lisp", "/bin/true", XDG_CACHE_HOME=self.folder())
        self.assertEqual(1, status)
        self.assertEqual("problem", found["release"]["status"])
        self.assertEqual("problem", found["evaluation"]["status"])

    def test_the_end_of_an_sbcl_is_told_in_its_words_wherever_it_ends(self):
        sbcl = shutil.which("sbcl")
        runs = 'case "$*" in *--version*) exec "%s" --version;; esac\n' % sbcl
        for name, before, end, says, checks in (
            ("runs not at all", "", "kill -ILL $$", "ended with signal 4 (Illegal instruction)", ("release", "evaluation")),
            ("builds no core", runs, "exit 5", "ended with exit code 5", ("evaluation",)),
            ("serves nothing", runs + 'case "$*" in *--core*) ;; *) exec "%s" "$@";; esac\n' % sbcl, "kill -BUS $$", "ended with signal 7 (Bus error)", ("evaluation",)),
        ):
            lisp = self.file("#!/bin/sh\n%secho cannot allocate the heap >&2\n%s\n" % (before, end), name.replace(" ", "-"), 0o755)
            found, _ = self.examine("--", "--lisp", lisp, XDG_CACHE_HOME=self.folder())
            for check in checks:
                with self.subTest(name, check=check):
                    self.assertIn(says, found[check]["finding"])
                    self.assertRegex(found[check]["finding"], r"cannot allocate the heap *$")
            self.assertNotIn("threads", found)
        found, _ = self.examine("--", "--lisp", self.file("#!/bin/sh\nexit 7\n", "silent", 0o755), XDG_CACHE_HOME=self.folder())
        self.assertRegex(found["release"]["finding"], "exit code 7 .* It printed: .nothing.$")

    def test_a_program_that_never_stops_writing_is_not_an_sbcl(self):
        lisp = self.file("#!/bin/sh\nexec yes\n", "sbcl", 0o755)
        found, status = self.examine("--", "--lisp", lisp, XDG_CACHE_HOME=self.folder())
        self.assertEqual(1, status)
        self.assertIn("its output has more than 1048576 bytes", str(found))

    def test_a_missing_image_is_built_or_the_reason_is_reported(self):
        program = os.path.join(self.folder(), "cl-mcp-server")
        shutil.copy(mcp.SERVER, program)  # away from the image beside it
        cache = self.folder()
        # What builds that were killed have left goes; another server's build and other images stay.
        left = {"agent-0123456789abcdef.core.1.log": 0, "agent-0123456789abcdef.core.2.log": None, "agent-0123456789abcdef.core": 0, "a.core.1.log": 0}
        os.mkdir(os.path.join(cache, "cl-mcp-server"), 0o700)
        for name, changed in left.items():
            path = os.path.join(cache, "cl-mcp-server", name)
            mcp.write(path)
            os.utime(path, changed if changed is None else (changed, changed))
        for expected in ("built now", "built: "):
            done = mcp.run("doctor", "--json", program=program, env=mcp.clean_environment(XDG_CACHE_HOME=cache), timeout=200 * mcp.STRETCH, cwd=self.folder())
            core = {check["check"]: check for check in json.loads(done.stdout)["checks"]}["core"]
            self.assertEqual("ok", core["status"], core)
            self.assertIn(expected, core["finding"])
            self.assertIn(cache, core["finding"])
        self.assertEqual(["a.core.1.log", "agent-0123456789abcdef.core", "agent-0123456789abcdef.core.2.log"], sorted(set(os.listdir(os.path.join(cache, "cl-mcp-server"))) & set(left)))

    def test_directories_that_others_can_change_are_a_problem(self):
        self.home = self.folder()
        state, cache = (os.path.join(self.home, part) for part in (".local/state/cl-mcp-server", "cache/cl-mcp-server"))
        for directory in (state, cache):
            os.makedirs(directory)
            os.chmod(directory, 0o777)
        found, status = self.examine(XDG_CACHE_HOME=os.path.dirname(cache))
        self.assertEqual(1, status)
        for name, directory in (("state", state), ("cache", cache)):
            self.assertIn("0777", found[name]["finding"])
            self.assertIn("chmod", found[name]["advice"])

    def test_errors_of_the_init_file_are_shown(self):
        self.home = self.folder()
        mcp.write(os.path.join(self.home, ".sbclrc"), '(error "no such luck")')
        found, _ = self.examine()
        self.assertEqual("note", found["evaluation"]["status"])
        self.assertIn("no such luck", found["evaluation"]["finding"])

    def test_each_installed_client_is_checked(self):
        self.home = self.folder()
        for name, text in (
            (".codex/state", json.dumps({"servers": {"lisp": {"command": mcp.SERVER}}})),
            (".gemini/settings.json", '{"mcpServers": {"lisp": {"command": "/nonexistent/cl-mcp-server"}}}'),
            (".cursor/mcp.json", json.dumps({"mcpServers": {"lisp": {"command": mcp.SERVER}}})),
            (".claude.json", "{}"),
            (".config/zed/settings.json", '{ // mine\n  "context_servers": }'),
            (".emacs", "(with-eval-after-load 'mcp-hub\n  (add-to-list 'mcp-hub-servers '(\"lisp\" :command \"%s\" :args ())))\n" % mcp.SERVER),
        ):
            mcp.write(os.path.join(self.home, name), text)
        # What is in Codex's file only Codex knows.
        stand_in.put(self.home + "/bin", "codex")
        found, status = self.examine(PATH="%s/bin:%s" % (self.home, os.environ["PATH"]))
        self.assertEqual(1, status)
        self.assertIn("line 2", found["zed"]["finding"])
        self.assertIn("cannot be run", found["gemini"]["finding"])
        for client in ("cursor", "codex", "emacs"):
            self.assertEqual("ok", found[client]["status"], found[client])
        self.assertEqual(("note", "cl-mcp-server install claude-code"), (found["claude-code"]["status"], found["claude-code"]["advice"]))
        self.assertNotIn("eca", found)

    def test_without_codex_its_configuration_is_not_read(self):
        self.home = self.folder()
        os.mkdir(self.home + "/.codex")
        found, _ = self.examine(PATH="/nonexistent")
        self.assertEqual("note", found["codex"]["status"])
        self.assertIn("was not read: codex is not in PATH", found["codex"]["finding"])

    def test_the_text_for_people_has_the_same_content(self):
        done = mcp.run("doctor", env=mcp.clean_environment(PATH="/nonexistent"))
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stdout, r"(?m)^problem +sbcl +No Lisp found")
        self.assertRegex(done.stdout, r"(?m)^ +-> Install SBCL")
        self.assertRegex(done.stdout, r"\n1 problem was found\.\n$")

    def test_wrong_usage_is_reported(self):
        self.assertEqual(2, mcp.run("doctor", "--frob").returncode)
        self.assertEqual(2, mcp.run("doctor", "--", "--frob").returncode)


class Completions(mcp.TestCase):
    def script(self, shell):
        done = mcp.run("completions", shell)
        self.assertEqual(0, done.returncode)
        path = os.path.join(self.folder(), shell)
        mcp.write(path, done.stdout)
        return path, done.stdout

    def test_they_have_every_option_and_subcommand(self):
        words = mcp.run("--help", "all").stdout
        named = re.findall(r"(?m)^  (?:--)?([a-z][a-z-]+)", words)
        self.assertGreater(len(named), 40)
        for shell in ("bash", "zsh", "fish"):
            _, text = self.script(shell)
            for name in named + ["claude-desktop", "--dry-run"]:
                self.assertRegex(text, r"(?<![a-z-])%s(?![a-z-])" % re.escape(name) if name[0] == "-" else r"\b%s\b" % name, shell)

    def test_bash_completes_with_them(self):
        path, _ = self.script("bash")
        subprocess.run(["bash", "-n", path], check=True, timeout=20)
        for words, expected in (
            (["inst"], "install"),
            (["install", "--dry-run", "cod"], "codex"),
            (["--persist", "--prel"], "--preload"),
            (["--sandbox", "r"], "read-only"),
            (["--directory", "/us"], "/usr"),
            (["doctor", "--"], "--json"),
        ):
            with self.subTest(words):
                code = '. "$0"; COMP_WORDS=(cl-mcp-server "$@"); COMP_CWORD=$#; _cl_mcp_server; echo "${COMPREPLY[*]}"'
                done = subprocess.run(["bash", "-c", code, path, *words], stdout=subprocess.PIPE, text=True, timeout=20 * mcp.STRETCH, check=True)
                self.assertEqual(expected, done.stdout.strip())

    def test_zsh_and_fish_can_read_them(self):
        for shell in ("zsh", "fish"):
            path, _ = self.script(shell)
            if shutil.which(shell) is None:
                print("# there is no %s here" % shell)
                continue
            subprocess.run([shell, "-n", path], check=True, timeout=20 * mcp.STRETCH)

    def test_wrong_usage_is_reported(self):
        for arguments in ((), ("tcsh",), ("bash", "zsh")):
            done = mcp.run("completions", *arguments)
            self.assertEqual((2, ""), (done.returncode, done.stdout))
