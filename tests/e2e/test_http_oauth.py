"""The server as a resource server of OAuth 2.1: which access tokens it accepts, and what it tells who has none."""

import base64
import hashlib
import hmac
import json
import os
import signal
import time

import mcp
import mcp_http
from identity_provider import Key, claims, encode, token
from mcp_http import Session, bearer, legacy, modern, request_bytes, text_of

ISSUER, AUDIENCE = "https://id.example.org/realm", "https://lisp.example.org/mcp"
KEYS = {algorithm: Key(algorithm, "key-" + algorithm) for algorithm in ("RS256", "ES256", "EdDSA")}
WELL_KNOWN = "/.well-known/oauth-protected-resource"
CHALLENGE = 'resource_metadata="https://lisp.example.org/.well-known/oauth-protected-resource/mcp"'
STATIC = "cli-0123456789abcdef"


def good(**more):
    return {**claims(ISSUER, AUDIENCE), **more}


class Resource(mcp_http.TestCase):
    def write_keys(self, keys, path=None):
        path = path or os.path.join(self.folder(), "keys.json")
        mcp.write(path + ".new", keys if isinstance(keys, str) else json.dumps({"keys": keys}))
        os.rename(path + ".new", path)
        return path

    def start_resource(self, *options, keys=None, **named):
        self.keys = self.write_keys(keys if keys is not None else [key.jwk() for key in KEYS.values()])
        return self.start_http("--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE, "--oauth-keys", self.keys, *options, **named)

    def ask_with(self, server, value):
        headers, message = modern("tools/list")
        return server.request(headers={**headers, **bearer(value)}, body=message)

    def assertForged(self, server, value, says=None):
        response = self.assertStatus(401, self.ask_with(server, value))
        self.assertEqual('Bearer error="invalid_token", ' + CHALLENGE, response.headers["www-authenticate"])
        self.assertNotIn(b"tools", response.body)
        if says is not None:
            self.assertIn(says, response.json["error"]["message"])

    def eval_as(self, server, value, code):
        response = server.evaluate(code, headers=bearer(value))
        return text_of(self.assertStatus(200, response).json["result"])


class Accepted(Resource):
    def test_tokens_of_the_three_algorithms_name_the_principal(self):
        server = self.start_resource(http=("0.0.0.0:0",))
        server.addresses = [("127.0.0.1", server.addresses[0][1])]
        for n, key in enumerate(KEYS.values()):
            self.assertIn("*X%d*" % n, self.eval_as(server, token(key, good()), "(defvar *x%d* %d)" % (n, n)))
        self.assertEqual("=> (0 1 2)", self.eval_as(server, token(KEYS["RS256"], good()), "(list *x0* *x1* *x2*)"))
        self.assertIn("UNBOUND-VARIABLE", self.eval_as(server, token(KEYS["RS256"], good(sub="bob")), "*x0*"))
        session = Session(server, headers=bearer(token(KEYS["ES256"], good())))
        self.assertStatus(404, server.request(headers={**session.headers(), **bearer(token(KEYS["ES256"], good(sub="bob")))}, body=legacy("ping")))

    def test_what_varies_between_issuers(self):
        key = KEYS["ES256"]
        server = self.start_resource()
        now = time.time()
        for payload, header in (
            (good(aud=["https://other.example.org", AUDIENCE]), {}),
            (good(), {"typ": "JWT"}), (good(), {"typ": None}), (good(), {"typ": "application/at+jwt"}),
            (good(), {"kid": None}),  # without a name every key of the kind is tried
            (good(exp=now - 30), {}), (good(nbf=now + 30, iat=now + 30), {}),  # clocks differ
            (good(exp=now + 0.5, scope="a b", nested={"a": [1]}), {}),
            ({name: value for name, value in good().items() if name != "iat"}, {}),
        ):
            with self.subTest((payload, header)):
                self.assertStatus(200, self.ask_with(server, token(key, payload, **header)))

    def test_many_signatures_in_which_numbers_are_short(self):
        """One in 128 of ES256 has a number that begins with a zero, one in two a number that needs one in DER."""
        key, server = KEYS["ES256"], self.start_resource()
        with server.wire() as wire:
            headers, message = modern("tools/list")
            shorts = 0
            while shorts < 4:
                value = token(key, good(jti=shorts))
                signature = base64.urlsafe_b64decode(value.rsplit(".")[-1] + "==")
                is_short = signature[0] == 0 or signature[32] == 0
                if is_short or shorts == 0:
                    self.assertStatus(200, wire.request(headers={**headers, **bearer(value)}, body=message))
                shorts += is_short

    def test_the_user_is_in_the_claim_that_an_option_names(self):
        server = self.start_resource("--oauth-claim", "email")
        value = token(KEYS["RS256"], good(email="ada@example.org"))
        self.eval_as(server, value, "(defvar *x* 5)")
        self.assertEqual("=> 5", self.eval_as(server, token(KEYS["RS256"], good(sub="bob", email="ada@example.org")), "*x*"))
        self.assertForged(server, token(KEYS["RS256"], good()), "does not name the user")
        for wrong in (5, None, ["ada"], "", "x" * 201):
            self.assertForged(server, token(KEYS["RS256"], good(email=wrong)), "user")

    def test_tokens_of_a_file_and_a_proxy_go_together_with_it(self):
        tokens = self.file("ada:%s\n" % STATIC, "tokens", 0o600)
        server = self.start_resource("--token-file", tokens, "--trust-header", "X-User", "--trust-from", "127.0.0.2")
        self.eval_as(server, STATIC, "(defvar *x* 5)")
        self.assertEqual("=> 5", self.eval_as(server, token(KEYS["EdDSA"], good()), "*x*"))
        headers, message = modern("tools/list")
        forged = {**headers, "X-User": "ada", **bearer(token(KEYS["EdDSA"], good()))}
        response = self.assertStatus(401, server.request(headers=forged, body=message))
        self.assertEqual("Bearer " + CHALLENGE, response.headers["www-authenticate"])
        self.assertStatus(200, server.request(headers=forged, body=message, source="127.0.0.2"))


class Forged(Resource):
    def test_claims_that_are_not_for_this_server(self):
        server, key, now = self.start_resource(), KEYS["ES256"], time.time()
        for wrong, says in (
            ({"iss": "https://id.example.org"}, "another issuer"), ({"iss": ISSUER + "/"}, "another issuer"), ({"iss": None}, "another issuer"),
            ({"iss": [ISSUER]}, "another issuer"),
            ({"aud": "https://other.example.org/mcp"}, "another server"), ({"aud": AUDIENCE + "/"}, "another server"), ({"aud": []}, "another server"),
            ({"aud": [[AUDIENCE]]}, "another server"), ({"aud": {"aud": AUDIENCE}}, "another server"), ({"aud": None}, "another server"),
            ({"exp": now - 61}, "expired"), ({"exp": None}, "expired"), ({"exp": "2999999999"}, "expired"), ({"exp": -1e300}, "expired"),
            ({"nbf": now + 90}, "not valid yet"), ({"nbf": "0"}, "not valid yet"), ({"iat": now + 90}, "of the future"),
            ({"sub": None}, "does not name the user"), ({"sub": 7}, "does not name the user"), ({"sub": ""}, "the user"), ({"sub": "/" * 100}, "the user"),
        ):
            with self.subTest(wrong):
                self.assertForged(server, token(key, good(**wrong)), says)
        for missing in ("iss", "aud", "exp", "sub"):
            self.assertForged(server, token(key, {name: value for name, value in good().items() if name != missing}))
        # Twice the same member: who signed it and who reads it could disagree.
        covered = encode({"alg": "ES256", "kid": key.key_id}) + "." + encode(('{"sub":"bob",' + json.dumps(good())[1:]).encode())
        self.assertForged(server, covered + "." + encode(key.sign(covered.encode())))
        for payload in (b"", b"[]", b"7", b"null", b"\xff", b"{", b"[" * 5000, json.dumps(good()).encode() + b"x", json.dumps(good()).encode() + b"\0"):
            covered = encode({"alg": "ES256", "kid": key.key_id}) + "." + encode(payload)
            self.assertForged(server, covered + "." + encode(key.sign(covered.encode())))

    def test_signatures_that_are_none_of_the_issuers(self):
        server = self.start_resource()
        for algorithm, key in KEYS.items():
            stranger = Key(algorithm, key.key_id)
            self.assertForged(server, token(stranger, good()))
            for others in KEYS.values():
                if others is not key:
                    self.assertForged(server, token(key, good(), alg=others.algorithm))
                    self.assertForged(server, token(key, good(), alg=others.algorithm, kid=others.key_id))
                    self.assertForged(server, token(key, good(), kid=others.key_id))
            header, payload, signature = token(key, good()).split(".")
            raw = base64.urlsafe_b64decode(signature + "==")
            self.assertForged(server, ".".join((header, encode(good(sub="root")), signature)))
            for wrong in (b"", raw[:-1], raw + b"\0", bytes(len(raw)), b"\xff" * len(raw), raw[:1] + bytes([raw[1] ^ 1]) + raw[2:], raw[32:] + raw[:32]):
                if wrong != raw:
                    self.assertForged(server, ".".join((header, payload, encode(wrong))))
            self.assertStatus(200, self.ask_with(server, ".".join((header, payload, signature))))
            # Another text for the same bytes.
            last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
            self.assertForged(server, ".".join((header, payload, signature[:-1] + last[last.index(signature[-1]) + 1])))
            for text in (signature + "=", signature + "==", signature + "A", signature.replace("-", "+") + "!", signature + "."):
                self.assertForged(server, ".".join((header, payload, text)))

    def test_algorithms_that_a_token_may_not_choose(self):
        server = self.start_resource()
        rsa = KEYS["RS256"]
        for name in ("none", "None", "NONE", "nOnE", "", "HS256", "rs256", "RS1", "RS384", "PS256", "ES384", "ES256K", "Ed25519", "dir"):
            for signature in ("", encode(rsa.sign(b"x"))):
                covered = encode({"alg": name, "kid": rsa.key_id}) + "." + encode(good())
                self.assertForged(server, covered + "." + signature)
            self.assertForged(server, token(rsa, good(), alg=name))
        for secret in (rsa.pem(), rsa.pem().strip(), json.dumps(rsa.jwk()).encode(), base64.urlsafe_b64decode(rsa.jwk()["n"] + "=="), b""):
            for name in ("HS256", "RS256"):
                covered = encode({"alg": name, "typ": "JWT", "kid": rsa.key_id}) + "." + encode(good())
                self.assertForged(server, covered + "." + encode(hmac.new(secret, covered.encode(), hashlib.sha256).digest()))

    def test_headers_that_lead_astray(self):
        server, key, stranger = self.start_resource(), KEYS["ES256"], Key("ES256", "mine")
        for header in (
            {"kid": "unknown"}, {"kid": "../../../../dev/null"}, {"kid": "' OR 1=1 --"}, {"kid": ""}, {"kid": key.key_id + "\0"}, {"kid": "x" * 9000},
            {"jwk": stranger.jwk()}, {"kid": None, "jwk": stranger.jwk()}, {"jku": "http://127.0.0.1:9/keys"}, {"x5u": "http://127.0.0.1:9/c"}, {"x5c": ["MIIB"]},
        ):
            self.assertForged(server, token(stranger, good(), **{"kid": key.key_id, **header}))
        for header in ({"crit": ["exp"]}, {"crit": []}, {"typ": "logout+jwt"}, {"typ": "dpop+jwt"}, {"typ": 7}, {"kid": 7}, {"kid": ["key-ES256"]}, {"alg": ["ES256"]},
                       {"alg": {"ES256": 1}}, {"alg": None}):
            self.assertForged(server, token(key, good(), **header))
        # The token's own keys and addresses are not looked at, even if it is good.
        self.assertStatus(200, self.ask_with(server, token(key, good(), jwk=stranger.jwk(), jku="http://127.0.0.1:9/keys")))
        covered = '{"alg":"none","alg":"ES256","kid":"%s"}' % key.key_id
        covered = encode(covered.encode()) + "." + encode(good())
        self.assertForged(server, covered + "." + encode(key.sign(covered.encode())))

    def test_texts_that_are_no_tokens(self):
        server = self.start_resource()
        value = token(KEYS["ES256"], good())
        for text in ("", ".", "..", "...", "a.b.c", "a", value[:-10], value + ".", "." + value, value + "." + value, value.replace(".", ".."), value.replace(".", ""),
                     value + " x", "\x80\xff." + value, encode(b"[" * 9000) + ".e30.AAAA", "e30.e30.AAAA", "eyJhbGciOiJFUzI1NiJ9..AAAA", "\xe2\x82\xac." * 3):
            with self.subTest(text[:60]):
                response = self.ask_with(server, text)
                self.assertStatus(401, response)
        # What no header may be long enough for; below that the server reads it.
        self.assertForged(server, token(KEYS["ES256"], good(padding="x" * 20000)) [:-4] + "AAAA")
        self.assertStatus(200, self.ask_with(server, token(KEYS["ES256"], good(padding="x" * 20000))))
        self.assertStatus(431, self.ask_with(server, token(KEYS["ES256"], good(padding="x" * 40000))))
        headers, message = modern("tools/list")
        for value in ("Basic " + value, "DPoP " + value, value):
            self.assertStatus(401, server.request(headers={**headers, "Authorization": value}, body=message))
        self.assertStatus(401, server.request(headers=headers, body=message, path="/mcp?access_token=" + value))


class Discovery(Resource):
    def test_who_has_no_token_is_told_where_to_get_one(self):
        server = self.start_resource("--cors-origin", "https://page.example.org")
        headers, message = modern("tools/list")
        for method in ("POST", "GET", "DELETE"):
            response = self.assertStatus(401, server.request(method, headers=headers if method == "POST" else None, body=message if method == "POST" else None))
            self.assertEqual("Bearer " + CHALLENGE, response.headers["www-authenticate"])
        for path in ("", "/mcp"):
            response = self.assertStatus(200, server.request("GET", path=WELL_KNOWN + path, headers={"Accept": "application/json"}))
            self.assertEqual("application/json", response.headers["content-type"])
            self.assertEqual({"resource": AUDIENCE, "authorization_servers": [ISSUER], "bearer_methods_supported": ["header"], "resource_name": "cl-mcp-server"},
                             response.json)
        for path in ("/", "/mcp/", "x", "/other"):
            self.assertStatus(404, server.request("GET", path=WELL_KNOWN + path))
        for method in ("POST", "DELETE", "PUT", "OPTIONS"):
            self.assertEqual("GET", self.assertStatus(405, server.request(method, path=WELL_KNOWN, body="{}" if method == "POST" else None)).headers["allow"])
        # A page may read it where it may read answers, after asking; any other may not even send its name.
        page = {"Origin": "https://page.example.org"}
        self.assertStatus(204, server.request("OPTIONS", path=WELL_KNOWN, headers={**page, "Access-Control-Request-Method": "GET"}))
        response = self.assertStatus(200, server.request("GET", path=WELL_KNOWN, headers=page))
        self.assertEqual("https://page.example.org", response.headers["access-control-allow-origin"])
        self.assertStatus(403, server.request("GET", path=WELL_KNOWN, headers={"Origin": "https://evil.example.org"}))
        self.assertStatus(403, server.request("GET", path=WELL_KNOWN, headers={"Host": "evil.example.org"}))
        with server.wire() as wire:  # the connection serves on
            for _ in range(3):
                wire.send(request_bytes("GET", WELL_KNOWN))
                self.assertStatus(200, wire.receive())

    def test_the_address_has_the_path_of_the_audience(self):
        keys = self.write_keys([KEYS["ES256"].jwk()])
        for audience, address, path in (("https://example.org/lisp/a", "https://example.org" + WELL_KNOWN + "/lisp/a", "/lisp/a"),
                                        ("http://localhost:8080", "http://localhost:8080" + WELL_KNOWN, ""),
                                        ("https://example.org/", "https://example.org" + WELL_KNOWN, "")):
            server = self.start_http("--oauth-issuer", ISSUER, "--oauth-audience", audience, "--oauth-keys", keys)
            headers, message = modern("tools/list")
            response = self.assertStatus(401, server.request(headers=headers, body=message))
            self.assertEqual('Bearer resource_metadata="%s"' % address, response.headers["www-authenticate"])
            self.assertEqual(audience, self.assertStatus(200, server.request("GET", path=WELL_KNOWN + path)).json["resource"])

    def test_without_it_nothing_is_there(self):
        self.assertStatus(404, self.h.request("GET", path=WELL_KNOWN))


class Keys(Resource):
    def test_changed_keys_are_read_without_being_told(self):
        server = self.start_resource(keys=[KEYS["ES256"].jwk()])
        old, new = token(KEYS["ES256"], good()), token(KEYS["EdDSA"], good())
        self.assertForged(server, new)
        self.write_keys([KEYS["EdDSA"].jwk()], self.keys)
        self.assertStatus(200, self.ask_with(server, new))
        self.assertForged(server, old)
        # In place, as an editor may write it; and nonsense changes nothing.
        mcp.write(self.keys, "{")
        self.assertStatus(200, self.ask_with(server, new))
        self.assertIn("the keys of access tokens were not reloaded: " + self.keys, server.stderr())
        with open(self.keys, "w") as f:
            json.dump({"keys": [KEYS["ES256"].jwk()]}, f)
        self.assertStatus(200, self.ask_with(server, old))
        os.unlink(self.keys)
        self.assertStatus(200, self.ask_with(server, old))

    def test_a_file_that_cannot_be_read_is_not_read_again_for_each_token(self):
        server = self.start_resource(keys=[KEYS["ES256"].jwk()])
        good_token = token(KEYS["ES256"], good())
        self.assertStatus(200, self.ask_with(server, good_token))
        os.rename(self.keys, self.keys + ".away")
        os.mkdir(self.keys)
        for _ in range(40):
            self.assertForged(server, token(KEYS["EdDSA"], good()))
        self.assertStatus(200, self.ask_with(server, good_token))
        mcp.wait_until(lambda: "is not a regular file" in server.stderr(), 10, "the log names the reason")
        self.assertLessEqual(server.stderr().count("the keys of access tokens were not reloaded"), 3)
        os.rmdir(self.keys)
        self.write_keys([KEYS["EdDSA"].jwk()], self.keys)
        self.assertStatus(200, self.ask_with(server, token(KEYS["EdDSA"], good())))

    def test_keys_of_a_kubernetes_mount(self):
        """A link to a link that is replaced."""
        folder = self.folder()
        for name, key in (("1", "ES256"), ("2", "EdDSA")):
            os.mkdir(os.path.join(folder, name))
            self.write_keys([KEYS[key].jwk()], os.path.join(folder, name, "keys.json"))
        os.symlink("1", os.path.join(folder, "..data"))
        os.symlink("..data/keys.json", os.path.join(folder, "keys.json"))
        server = self.start_http("--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE, "--oauth-keys", os.path.join(folder, "keys.json"))
        self.assertStatus(200, self.ask_with(server, token(KEYS["ES256"], good())))
        os.symlink("2", os.path.join(folder, "new"))
        os.rename(os.path.join(folder, "new"), os.path.join(folder, "..data"))
        self.assertForged(server, token(KEYS["ES256"], good()))
        self.assertStatus(200, self.ask_with(server, token(KEYS["EdDSA"], good())))

    def test_sighup_ends_what_lost_its_key_and_nothing_that_expired(self):
        server = self.start_resource()
        now = time.time()
        kept = Session(server, headers=bearer(token(KEYS["ES256"], good(exp=now - 55))))
        lost = Session(server, headers=bearer(token(KEYS["EdDSA"], good())))
        with server.wire() as of_kept, server.wire() as of_lost:
            self.assertTrue(kept.listen(of_kept).is_stream)
            self.assertTrue(lost.listen(of_lost).is_stream)
            mcp.wait_until(lambda: self.ask_with(server, token(KEYS["ES256"], good(exp=now - 55))).status == 401, 30, "the first token has expired")
            self.write_keys([KEYS["ES256"].jwk()], self.keys)
            server.process.send_signal(signal.SIGHUP)
            with self.assertRaises(mcp.Gone):
                of_lost.events()
            of_kept.socket.settimeout(1)
            with self.assertRaises(TimeoutError):
                of_kept.events()

    def test_keys_that_cannot_verify_are_left_out(self):
        weak, other = Key("RS256", "weak", bits=1024), Key("ES256", "other")
        padded = encode(bytes(128) + weak.private.public_key().public_numbers().n.to_bytes(128, "big"))
        unusable = [
            {**weak.jwk(), "n": padded}, KEYS["RS256"].jwk(key_ops=["encrypt"]), KEYS["RS256"].jwk(key_ops="verify"), KEYS["RS256"].jwk(use="enc"), KEYS["RS256"].jwk(alg="RS512"), weak.jwk(), {"kty": "oct", "k": encode(b"secret"), "kid": "oct"}, {**other.jwk(), "crv": "P-384"},
            {**other.jwk(), "x": "AA"}, {**other.jwk(), "y": None}, {"kty": "EC"}, {}, 7, None, [], "x", {**KEYS["EdDSA"].jwk(), "crv": "X25519"}, {**KEYS["RS256"].jwk(), "e": ""},
        ]
        server = self.start_resource(keys=[*unusable, KEYS["ES256"].jwk(alg="ES256", use="sig", key_ops=["verify"])])
        self.assertStatus(200, self.ask_with(server, token(KEYS["ES256"], good())))
        for key in (weak, KEYS["RS256"], other):
            self.assertForged(server, token(key, good()))
        # Java writes a zero before a modulus.
        signed = KEYS["RS256"]
        zero = encode(b"\0" + signed.private.public_key().public_numbers().n.to_bytes(256, "big"))
        twins = [Key("ES256", "twin") for _ in range(2)]
        self.write_keys([{**signed.jwk(), "n": zero}, *(key.jwk() for key in twins)], self.keys)
        for key in (signed, *twins):
            self.assertStatus(200, self.ask_with(server, token(key, good())))

    def test_more_keys_than_it_takes_leave_the_old_ones(self):
        server = self.start_resource()
        encryption = [KEYS["RS256"].jwk(use="enc")] * 100
        for count in (64, 65, 10000):
            many = [KEYS["EdDSA"].jwk()] * (count - 1)
            last = Key("ES256", "last-%d" % count)
            self.write_keys([*encryption, *many, last.jwk()], self.keys)
            if count <= 64:
                self.assertStatus(200, self.ask_with(server, token(last, good())))
            else:
                self.assertForged(server, token(last, good()))
                self.assertStatus(200, self.ask_with(server, token(KEYS["EdDSA"], good())))
                mcp.wait_until(lambda: "it has more than 64 keys for signatures" in server.stderr(), 10, "the log says so")

    def test_wrong_files_and_options_are_refused(self):
        folder = self.folder()
        keys = self.write_keys([KEYS["ES256"].jwk()])
        open_to_all = self.write_keys([KEYS["ES256"].jwk()])
        os.chmod(open_to_all, 0o666)
        whole = ("--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE, "--oauth-keys")
        for options, says in (
            ((*whole, os.path.join(folder, "none")), "No such file"), ((*whole, folder), folder), ((*whole, open_to_all), "chmod o-w"),
            ((*whole, self.write_keys([])), "it is no JWKS with a key"), ((*whole, self.write_keys("{")), "it is no JWKS"), ((*whole, self.write_keys("[]")), "it is no JWKS"),
            ((*whole, self.write_keys("x" * (2 << 20))), "keys.json"),
            (("--oauth-issuer", ISSUER), "--oauth-issuer, --oauth-audience and --oauth-keys go together"),
            (("--oauth-audience", AUDIENCE, "--oauth-keys", keys), "go together"),
            (("--oauth-issuer", ISSUER, "--oauth-audience", "lisp", "--oauth-keys", keys), "unlike 'lisp'"),
            (("--oauth-issuer", ISSUER, "--oauth-audience", 'https://x/"', "--oauth-keys", keys), "unlike 'https://x/\"'"),
            (("--oauth-issuer", "https://x/?a", "--oauth-audience", AUDIENCE, "--oauth-keys", keys), "unlike 'https://x/?a'"),
            (("--oauth-issuer", "https:///x", "--oauth-audience", AUDIENCE, "--oauth-keys", keys), "unlike 'https:///x'"),
        ):
            with self.subTest(says):
                self.assertRefuses(says, *options)
