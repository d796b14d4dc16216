"""Joining the Lisp that a person runs: how it is reached, what works there, and that it goes on in every case."""

import os
import socket
import unittest

import joining
import mcp
import mcp_http


class NobodyThere(mcp.TestCase):
    def serve(self, function):
        server = joining.FalseServer(function)
        self.addCleanup(server.end)
        return server

    def free_port(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            return s.getsockname()[1]

    def assertNotJoined(self, client, *parts):
        reply = client.call("evaluate-lisp", code="(+ 1 2)")
        self.assertTrue(reply.is_error, reply.text)
        for part in parts:
            self.assertIn(part, reply.text)
        return reply

    def test_each_call_says_that_nothing_answers_and_how_to_start_a_server(self):
        port = self.free_port()
        client = self.start_server("--attach", "127.0.0.1:%d" % port)
        for _ in range(2):
            self.assertNotJoined(client, "Nothing answers at 127.0.0.1:%d" % port, "(swank:create-server :port %d" % port)
        self.assertRegex(client.call("list-sessions").text, "default: absent.*image 127.0.0.1:%d" % port)

    def test_auto_says_where_it_has_looked(self):
        folder = self.folder()
        port = self.free_port()
        with open(os.path.join(folder, ".slynk-port"), "w", encoding="ascii") as f:
            f.write("%d\n" % port)
        os.mkdir(os.path.join(folder, "src"))
        client = self.start_server("--attach", "auto", cwd=os.path.join(folder, "src"))
        self.assertNotJoined(client, "127.0.0.1:%d, as %s says" % (port, os.path.join(folder, ".slynk-port")))

    def test_a_server_that_talks_otherwise_is_named_as_such(self):
        def serve(connection):
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.recv(100000)

        client = self.start_server("--attach", self.serve(serve).address)
        self.assertNotJoined(client, "Something listens at", "it is no Swank or Slynk server")

    def test_a_server_that_hangs_up_is_asked_for_with_each_secret(self):
        seen = []

        def serve(connection):
            seen.append(joining.read_packet(connection))
            connection.shutdown(socket.SHUT_RDWR)

        home = self.folder()
        for name in (".slime-secret", ".sly-secret"):
            with open(os.path.join(home, name), "w", encoding="ascii") as f:
                f.write("secret of %s\nno part of it\n" % name)
        client = self.start_server("--attach", self.serve(serve).address, environment={"HOME": home})
        self.assertNotJoined(client, "another secret than that of %s" % os.path.join(home, ".sly-secret"))
        self.assertEqual(["secret of .slime-secret", "secret of .sly-secret"], seen)

    def test_silence_is_reported_within_seconds(self):
        client = self.start_server("--attach", self.serve(lambda connection: connection.recv(1)).address)
        self.assertNotJoined(client, "it does not answer", "there is no ~/.slime-secret")

    def test_false_answers_harm_nothing(self):
        answers = [
            "(:return (:ok 7) 1)",
            "(:return (:ok nil) 1)",
            "(:return (:abort \"no\") 1)",
            "(:return (:ok (:failed \"the disk is full\")) 1)",
            "(:return (:ok (:implementation \"X\" :version \"1\" :agent \"old\" :standing 3)) 1)",
            "(:return)(:return (:ok 1) 99)(:ping)" * 1000,
            "((((" * 1000,
            ":return",
        ]
        for answer in answers:
            def serve(connection, answer=answer):
                joining.read_packet(connection)
                connection.sendall(joining.packet("(:indentation-update ((\"foo\" . 1)))") + joining.packet(answer))
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1 << 20)

            client = self.start_server("--attach", self.serve(serve).address)
            self.assertNotJoined(client, "next call" if "old" not in answer and "return (:" not in answer else "")


class Refused(mcp.TestCase):
    def test_attach_and_sandbox_exclude_each_other(self):
        client = mcp.Client("--attach", "127.0.0.1:1", "--sandbox", "workspace", handshake=False)
        self.assertNotEqual(0, client.process.wait(20 * mcp.STRETCH))
        self.assertIn("nothing confines a Lisp that is not the server's", client.stderr())
        client.destroy()
        reply = self.s.call("create-session", attach="127.0.0.1:1", sandbox="read-only")
        self.assertTrue(reply.is_error)
        self.assertIn("exclude each other", reply.text)

    def test_an_address_that_is_none_is_refused_at_once(self):
        reply = self.s.call("create-session", attach="4005")
        self.assertTrue(reply.is_error)
        self.assertIn("ADDRESS:PORT or auto", reply.text)

    def test_a_session_whose_image_does_not_answer_is_not_created(self):
        reply = self.s.call("create-session", name="work", attach="127.0.0.1:1")
        self.assertTrue(reply.is_error)
        self.assertIn("Nothing answers at 127.0.0.1:1", reply.text)
        self.assertNotIn("work", self.s.call("list-sessions").text)


if __name__ == "__main__":
    mcp.main()
