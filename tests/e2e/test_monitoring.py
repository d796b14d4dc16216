"""What an operator sees: the gauges that an autoscaler needs, and the dashboard and alerts in deploy/grafana, which name only metrics
that there are.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess

import yaml

import mcp
import mcp_http

GRAFANA = os.path.join(mcp.ROOT, "deploy", "grafana")
# What a scrape adds by itself.
OF_PROMETHEUS = {"up"}


class Monitored(mcp_http.TestCase):
    def start_monitored(self, *options):
        self.path = os.path.join(self.folder(), "metrics")
        return self.start_http("--metrics", "unix:" + self.path, *options, http=("unix:" + os.path.join(self.folder(), "http"),))

    def text(self):
        with mcp_http.Wire(self.path) as wire:
            return self.assertStatus(200, wire.request("GET", "/metrics")).body.decode()

    def figures(self):
        return {key: int(value) for key, value in re.findall(r"(?m)^cl_mcp_(\S+) (\d+)$", self.text())}

    def create(self, server, name):
        response = self.assertStatus(200, server.ask("tools/call", {"name": "create-session", "arguments": {"name": name}}))
        self.assertFalse(response.json["result"]["isError"], response)

    def wait_for(self, **figures):
        mcp.wait_until(lambda: figures.items() <= self.figures().items(), 30, "the metrics say %r" % figures)


class Gauges(Monitored):
    def test_what_runs_and_what_waits(self):
        server = self.start_monitored()
        self.assertStatus(200, server.evaluate("1"))
        self.wait_for(sessions=1, sessions_live=1, sessions_suspended=0, operations_running=0, operations_waiting=0, saves_pending=0)
        headers, message = mcp_http.modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(loop)", "timeout": 600}})
        wires = [server.wire() for _ in range(3)]
        for wire in wires:
            self.addCleanup(wire.close)
            wire.send(mcp_http.request_bytes(headers=headers, body=message))
        self.create(server, "other")
        self.wait_for(sessions=2, sessions_live=2, operations_running=1, operations_waiting=2)
        for wire in wires:
            wire.close()  # which cancels
        self.wait_for(operations_running=0, operations_waiting=0)

    def test_memory_has_a_limit(self):
        self.start_monitored()
        figures = self.figures()
        self.assertGreater(figures["memory_used_bytes"], 1 << 20)
        self.assertGreater(figures["memory_limit_bytes"], figures["memory_used_bytes"])

    def test_suspended_sessions_are_not_live(self):
        server = self.start_monitored("--idle-timeout", "1", "--state-dir", self.folder())
        self.assertStatus(200, server.evaluate("(defvar *x* 1)"))
        self.wait_for(sessions=1, sessions_live=0, sessions_suspended=1)
        self.assertStatus(200, server.evaluate("*x*"))
        self.assertEqual(1, self.figures()["resumptions_total"])

    def test_a_draining_server_shows_which_saves_remain(self):
        server = self.start_monitored("--persist", "--state-dir", os.path.join(self.folder(), "state"))
        for n in range(6):
            self.create(server, "s%d" % n)
            self.assertStatus(200, server.evaluate("(defvar *x* 1)", session="s%d" % n))
        server.process.send_signal(signal.SIGTERM)
        seen = set()

        def are_both_seen():
            """Four are under way at a time: more than that are still planned, and later the last ones alone are left."""
            seen.add(self.figures()["saves_pending"])
            return any(n > 4 for n in seen) and any(0 < n < 5 for n in seen)

        mcp.wait_until(are_both_seen, 60, "some were planned, and later some left")
        self.assertLessEqual(max(seen), 6)
        server.process.kill()
        server.end(status=-signal.SIGKILL)


class Beginning(mcp_http.TestCase):
    def test_a_signal_ends_a_server_properly_as_soon_as_it_listens(self):
        for n in range(12):
            path = os.path.join(self.folder(), "metrics")
            with subprocess.Popen([mcp.SERVER, "--http", "127.0.0.1:0", "--metrics", "unix:" + path], env=mcp.clean_environment(), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server, socket.socket(socket.AF_UNIX) as connection:
                while connection.connect_ex(path) != 0:
                    self.assertIsNone(server.poll())
                server.send_signal(signal.SIGTERM)
                self.assertEqual(0, server.wait(20 * mcp.STRETCH))


class Grafana(Monitored):
    def names(self):
        self.start_monitored()
        return set(re.findall(r"(?m)^# TYPE (\S+) ", self.text()))

    def assertExist(self, where, expression, known):
        named = set(re.findall(r"\b(?:cl_mcp_\w+|up)\b", re.sub(r'"[^"]*"', "", expression)))
        self.assertTrue(named, "%s: %s names no metric" % (where, expression))
        self.assertEqual(set(), named - known - OF_PROMETHEUS, "%s: there is no such metric" % where)

    def test_the_dashboard_names_metrics_that_exist(self):
        with open(os.path.join(GRAFANA, "dashboard.json")) as f:
            dashboard = json.load(f)
        known = self.names()
        panels = dashboard["panels"]
        self.assertGreaterEqual(len(panels), 8)
        self.assertEqual(len(panels), len({panel["id"] for panel in panels}))
        variables = {variable["name"] for variable in dashboard["templating"]["list"]}
        for panel in panels:
            self.assertTrue(panel["targets"])
            for target in panel["targets"]:
                self.assertExist(panel["title"], target["expr"], known)
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query":
                self.assertExist(variable["name"], variable["query"]["query"], known)
        self.assertEqual(variables, set(re.findall(r"\$\{?(\w+)", json.dumps(panels))))
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
        self.assertEqual(len(places), len(set(places)))

    def test_the_alerts_name_metrics_that_exist(self):
        with open(os.path.join(GRAFANA, "alerts.yaml")) as f:
            groups = yaml.safe_load(f)["groups"]
        known = self.names()
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertEqual(5, len(rules))
        self.assertEqual(5, len({rule["alert"] for rule in rules}))
        for rule in rules:
            self.assertEqual({"alert", "expr", "for", "labels", "annotations"}, set(rule))
            self.assertEqual({"summary", "description"}, set(rule["annotations"]))
            self.assertIn(rule["labels"]["severity"], ("warning", "critical"))
            self.assertRegex(rule["for"], r"^\d+m$")
            self.assertExist(rule["alert"], rule["expr"], known)
            for option in re.findall(r"--[a-z-]+", rule["annotations"]["description"]):
                with open(os.path.join(mcp.ROOT, "docs", "cl-mcp-server.1")) as f:
                    self.assertIn(".It Fl " + option[1:] + " ", f.read())

    def test_each_alert_fires_when_it_should(self):
        promtool = shutil.which("promtool")
        if promtool is None:
            self.fail("promtool is not installed: scripts/setup installs it")
        rules = os.path.join(mcp.ROOT, "tests", "data", "alerts.yaml")
        done = subprocess.run([promtool, "test", "rules", rules], capture_output=True, text=True, timeout=60 * mcp.STRETCH)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        with open(rules) as f:
            tried = {one["alertname"] for test in yaml.safe_load(f)["tests"] for one in test["alert_rule_test"] if one["exp_alerts"]}
        with open(os.path.join(GRAFANA, "alerts.yaml")) as f:
            self.assertEqual({rule["alert"] for group in yaml.safe_load(f)["groups"] for rule in group["rules"]}, tried)
