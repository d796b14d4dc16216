"""A small identity provider: keys, access tokens of every form, and the endpoints of OAuth 2.1 that an MCP client uses to log in.

Key               a key pair that signs: RS256, ES256 or EdDSA
token(...)        an access token, right or wrong in any respect
IdentityProvider  discovery, registration, authorization (it asks nobody) and tokens, over HTTP on this machine
"""

import base64
import hashlib
import http.server
import json
import secrets
import threading
import time
import urllib.parse

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature


def encode(data):
    """base64url without padding, of bytes or of what becomes JSON"""
    if not isinstance(data, bytes):
        data = json.dumps(data).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value, size=None):
    return encode(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


class Key:
    def __init__(self, algorithm, key_id=None, bits=2048):
        self.algorithm, self.key_id = algorithm, key_id
        if algorithm == "RS256":
            self.private = rsa.generate_private_key(65537, bits)
        elif algorithm == "ES256":
            self.private = ec.generate_private_key(ec.SECP256R1())
        else:
            self.private = ed25519.Ed25519PrivateKey.generate()

    def jwk(self, **more):
        public = self.private.public_key()
        if self.algorithm == "RS256":
            numbers = public.public_numbers()
            members = {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}
        elif self.algorithm == "ES256":
            numbers = public.public_numbers()
            members = {"kty": "EC", "crv": "P-256", "x": number(numbers.x, 32), "y": number(numbers.y, 32)}
        else:
            raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
            members = {"kty": "OKP", "crv": "Ed25519", "x": encode(raw)}
        return {**members, **({"kid": self.key_id} if self.key_id else {}), **more}

    def pem(self):
        return self.private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    def sign(self, data):
        if self.algorithm == "RS256":
            return self.private.sign(data, padding.PKCS1v15(), hashes.SHA256())
        if self.algorithm == "ES256":
            r, s = decode_dss_signature(self.private.sign(data, ec.ECDSA(hashes.SHA256())))
            return r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return self.private.sign(data)


def claims(issuer, audience, user="ada", **more):
    now = int(time.time())
    return {"iss": issuer, "aud": audience, "sub": user, "iat": now, "exp": now + 600, **more}


def token(key, payload, **header):
    """Signed by `key`; `header` replaces members, None removes one."""
    members = {"alg": key.algorithm, "typ": "at+jwt", "kid": key.key_id, **header}
    covered = encode({name: value for name, value in members.items() if value is not None}) + "." + encode(payload)
    return covered + "." + encode(key.sign(covered.encode()))


class IdentityProvider:
    def __init__(self, audience, user="ada"):
        self.audience, self.user, self.key = audience, user, Key("ES256", "first")
        self.clients, self.codes, self.seen = {}, {}, []
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body=None, **headers):
                data = json.dumps(body).encode() if body is not None else b""
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                provider.seen.append(url.path)
                if url.path == "/.well-known/oauth-authorization-server":
                    self.answer(200, provider.metadata())
                elif url.path == "/authorize":
                    self.answer(302, Location=provider.authorize(dict(urllib.parse.parse_qsl(url.query))))
                else:
                    self.answer(404, {})

            def do_POST(self):
                provider.seen.append(self.path)
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                if self.path == "/register":
                    self.answer(201, provider.register(json.loads(body)))
                elif self.path == "/token":
                    self.answer(*provider.exchange(dict(urllib.parse.parse_qsl(body))))
                else:
                    self.answer(404, {})

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.issuer = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def metadata(self):
        return {
            "issuer": self.issuer,
            "authorization_endpoint": self.issuer + "/authorize",
            "token_endpoint": self.issuer + "/token",
            "registration_endpoint": self.issuer + "/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }

    def register(self, client):
        client = {**client, "client_id": secrets.token_hex(8), "client_id_issued_at": int(time.time())}
        self.clients[client["client_id"]] = client
        return client

    def authorize(self, request):
        client = self.clients[request["client_id"]]
        assert request["redirect_uri"] in client["redirect_uris"] and request["code_challenge_method"] == "S256", request
        code = secrets.token_hex(8)
        self.codes[code] = request
        answer = {"code": code, "iss": self.issuer, **({"state": request["state"]} if "state" in request else {})}
        return request["redirect_uri"] + "?" + urllib.parse.urlencode(answer)

    def exchange(self, request):
        granted = self.codes.pop(request.get("code"), None)
        if granted is None or encode(hashlib.sha256(request["code_verifier"].encode()).digest()) != granted["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        # RFC 8707: the token is for the server that the client names, which it has from the server's metadata.
        if request.get("resource") != self.audience or granted.get("resource") != self.audience:
            return 400, {"error": "invalid_target"}
        access = token(self.key, claims(self.issuer, [request["resource"]], self.user))
        return 200, {"access_token": access, "token_type": "Bearer", "expires_in": 600}
