"""inspect-object: handles that outlive evaluations and never stand for another object, paths, huge and hostile objects, setting parts, pictures."""

import base64
import os
import re
import struct
import zlib

import mcp


class Inspecting(mcp.SessionTest):
    def inspect(self, code=None, handle=None, **named):
        if code is not None:
            named["code"] = code
        if handle is not None:
            named["handle"] = handle
        return self.s.call("inspect-object", **named)

    def shown(self, *arguments, **named):
        """The text of an inspection that succeeded."""
        reply = self.assertSucceeds(self.inspect(*arguments, **named))
        self.assertRegex(reply.text, r"(?m)^Handle: h\d+$")
        return reply.text

    def handle_of(self, text):
        return re.search(r"(?m)^Handle: (h\d+)$", text).group(1)

    def part(self, text, label):
        """The handle of a part."""
        return re.search(r"(?m)^  %s = .* <(h[\d.]+)>$" % re.escape(label), text).group(1)

    def assertStale(self, handle, **named):
        reply = self.inspect(handle=handle, **named)
        self.assertIn("No object has the handle %s now." % handle, reply.text)
        self.assertTrue(reply.is_error)


class Handles(Inspecting):
    def setUp(self):
        super().setUp()
        self.s.evaluate("(defstruct point x y) (defvar *p* (make-point :x (list 1 2) :y \"why\"))")

    def test_a_handle_survives_evaluations_and_is_the_same_object(self):
        first = self.shown("*p*")
        x = self.part(first, "X")
        self.s.evaluate("(setf (second (point-x *p*)) :changed) (setf *p* nil) (sb-ext:gc :full t)")
        self.assertIn("(1 :CHANGED)\n", self.shown(handle=x))
        self.assertIn("#S(POINT", self.shown(handle=self.handle_of(first)))

    def test_the_value_of_an_earlier_evaluation_opens_without_evaluating_anything(self):
        self.s.evaluate("(defvar *times* 0)")
        self.s.evaluate("(values (setf *p* (progn (incf *times*) (list :one :two))) (setf (get 'x 'y) (list :three)))")
        gone = [self.s.evaluate("(list :gone)") for _ in range(5)]
        for _ in range(4):
            self.s.evaluate("(sb-ext:gc :full t)")
        before = self.s.call("session-history").text
        self.assertIn("(:ONE :TWO)\n", self.shown(handle="v3"))
        self.assertIn("(:THREE)\n", self.shown(handle="v3.1"))
        kept = ["no longer kept" not in self.inspect(handle="v%d" % number).text for number in range(4, 4 + len(gone))]
        self.assertIn(False, kept)  # the collector is conservative
        for handle in ("v3.2", "v99", "v", "v3.x"):
            self.assertIn("The value %s is no longer kept" % handle, self.inspect(handle=handle).text)
        self.assertEqual(before, self.s.call("session-history").text)
        self.assertEqual("1", self.s.evaluate("*times*").value)

    def test_a_value_that_was_undone_is_not_kept(self):
        self.s.evaluate("(list :undone)")
        self.assertIn("(:UNDONE)\n", self.shown(handle="v2"))
        self.assertSucceeds(self.s.call("rollback-session", to="1"))
        self.assertIn("no longer kept", self.inspect(handle="v2").text)

    def test_a_variable_of_an_older_error_opens_by_the_number_of_the_error(self):
        self.s.evaluate("(defun f (x) (car x))")
        for value in ("7", "#(8)", '"a"'):
            self.assertFails("(f %s)" % value, "TYPE-ERROR")
        self.s.evaluate("1")
        self.assertTrue(self.inspect(local="x", index=1).text.startswith("7\n"))
        self.assertTrue(self.inspect(local="x", index=2, path="[0]").text.startswith("8\n"))
        self.assertTrue(self.inspect(local="x").text.startswith('"a"\n'))
        self.assertIn("Error 9 has not occurred", self.inspect(local="x", index=9).text)
        self.assertIn("Argument index goes with local", self.inspect("1", index=1).text)

    def test_a_part_stays_what_it_was_when_the_object_gets_another_one(self):
        x = self.part(self.shown("*p*"), "X")
        self.s.evaluate("(setf (point-x *p*) :other)")
        self.assertIn("(1 2)\n", self.shown(handle=x))

    def test_parts_lead_on(self):
        text = self.shown("(list *p*)")
        for label, start in (("[0]", "#S(POINT"), ("X", "(1 2)")):
            text = self.shown(handle=self.part(text, label))
            self.assertTrue(text.startswith(start), text)

    def test_looking_does_not_touch_the_record_of_the_error(self):
        handle = self.handle_of(self.shown("*p*"))
        self.assertFails("(car 1)", "TYPE-ERROR")
        before = self.s.call("describe-last-error").text
        history = self.s.call("session-history").text
        self.shown(handle=handle, path="x")
        self.inspect(handle=handle, path="nowhere")
        self.inspect(handle="h999")
        self.assertEqual(before, self.s.call("describe-last-error").text)
        self.assertEqual(history, self.s.call("session-history").text)

    def test_after_a_roll_back_a_later_handle_is_stale_and_its_number_is_not_given_again(self):
        early = self.handle_of(self.shown("*p*"))
        self.s.call("checkpoint-session", name="here")
        late = self.handle_of(self.shown("(list :late)"))
        self.s.call("rollback-session", to="here")
        self.assertStale(late)
        self.assertIn("#S(POINT", self.shown(handle=early))
        again = [self.handle_of(self.shown("(list :other)")) for _ in range(3)]
        self.assertNotIn(late, again)
        self.assertStale(late)

    def test_after_a_death_the_handles_of_the_state_returned_to_are_there(self):
        early = self.handle_of(self.shown("*p*"))
        self.s.evaluate("1")
        report = self.s.evaluate("(list (cl-user::point-x *p*) (sb-ext:exit :abort t))")
        self.assertTrue(report.is_error)
        self.assertIn("#S(POINT", self.shown(handle=early))

    def test_a_reset_takes_all_handles(self):
        handle = self.handle_of(self.shown("*p*"))
        self.s.call("reset-session")
        self.assertStale(handle)

    def test_a_handle_of_one_session_is_unknown_in_another(self):
        handle = self.handle_of(self.shown("*p*"))
        self.s.call("create-session", name="other")
        self.s.evaluate("(list 1)", session="other")
        self.assertStale(handle, session="other")
        other = self.handle_of(self.shown("(list :other)", session="other"))
        self.assertNotEqual(handle, other)
        self.assertStale(other)

    def test_the_oldest_handles_go_and_keep_no_garbage(self):
        self.s.evaluate("(defvar *weak* nil)")
        first = self.handle_of(self.shown("(let ((l (list 1))) (setf *weak* (sb-ext:make-weak-pointer l)) l)"))
        last = None
        for n in range(101):
            last = self.handle_of(self.shown(handle=last or first) if n else self.shown("*p*"))
        self.assertStale(first)
        self.assertEvaluates("(progn (setf * nil ** nil *** nil / nil // nil /// nil) (sb-ext:gc :full t) (sb-ext:weak-pointer-value *weak*))", "NIL", "NIL")

    def test_invalid_handles(self):
        for handle in ("", "h", "hh1", "h-1", "h1.", "h1.x", "1e9", "h" + "9" * 40, "h1.1.1", "h 1"):
            with self.subTest(handle):
                text = self.inspect(handle=handle).text
                self.assertRegex(text, r"is not a handle|No object has the handle")


class Paths(Inspecting):
    def test_paths_of_every_kind_of_step(self):
        self.s.evaluate("""(defclass thing () ((items :initform (vector 1 (list :a "b")))))
            (defvar *h* (make-hash-table :test 'equal)) (defvar *t* (make-instance 'thing))
            (setf (gethash "a, [b]" *h*) *t* (gethash '(1 2) *h*) 12 (gethash 'sym *h*) 13 (gethash #\\a *h*) 14 (gethash 7 *h*) 15 (gethash "q\\"q" *h*) 16)
            (defvar *a* (make-array '(2 3) :initial-contents '((1 2 3) (4 5 6))))""")
        for code, path, start in (
                ("*t*", "items", "#(1 (:A"),
                ("*t*", "ITEMS, [1], [1]", '"b"'),
                ("*t*", "items[1][1]", '"b"'),
                ("(list *t*)", "[0].items[1][1]", '"b"'),
                ("*t*", " cl-user::items [ 0 ] ", "1\n"),
                ("*h*", '"a, [b]", items, [0]', "1\n"),
                ("*h*", "(1 2)", "12\n"),
                ("*h*", "sym", "13\n"),
                ("*h*", "#\\a", "14\n"),
                ("*h*", "7", "15\n"),
                ("*h*", '"q\\"q"', "16\n"),
                ("*a*", "[1 2]", "6\n"),
                ("*a*", "[1, 2]", "6\n"),
                ("'(1 . 2)", "tail", "2\n"),
                ("'(1 2 3)", "cdr, cdr, car", "3\n"),
                ("'car", "function", "#<FUNCTION CAR>"),
                ("*package*", "*t*", "*T*\n"),
                ("(find-package :cl)", "car", "CAR\n"),
                ("#'print-object", "[0]", "#<"),
                ("2/3", "denominator", "3\n"),
                ("#c(1 2)", "imagpart", "2\n"),
                ("#p\"/a/b.c\"", "name", '"b"'),
                ("(find-class 'thing)", "precedence-list, [0]", "#<STANDARD-CLASS THING>"),
                ("(let ((n 41)) (lambda () (incf n)))", "[0]", "41\n"),
                ("(sb-ext:make-weak-pointer :x)", "value", ":X"),
                ("(make-condition 'type-error :datum 17 :expected-type 'list)", "datum", "17\n")):
            with self.subTest("%s %s" % (code, path)):
                text = self.shown(code, path=path)
                self.assertTrue(text.startswith(start), text)

    def test_a_path_interns_nothing(self):
        self.s.evaluate("(defvar *h* (make-hash-table))")
        self.inspect("*h*", path="never-seen-before")
        self.inspect("*h*", path="no-such-package:thing")
        self.inspect("*h*", path=":never-seen-either")
        self.assertEvaluates('(list (find-symbol (concatenate \'string "NEVER-SEEN" "-BEFORE")) (find-symbol (concatenate \'string "NEVER-SEEN" "-EITHER") :keyword))', "(NIL NIL)")

    def test_bad_paths_say_what_is_wrong(self):
        for path, what in (("[", "unmatched"), ('"', "unmatched"), ("a,", "step is missing"), (",a", "step is missing"), ("[x]", "not a number"), ("[-1]", "not a number"),
                           ("[1]" * 100, "steps"), ("a" * 2000, "longer than"), ("[" + "9" * 30 + "]", "not a number")):
            with self.subTest(path[:20]):
                reply = self.assertIsError(self.inspect("(list 1)", path=path), what)
                self.assertLess(len(reply.text), 300)

    def test_bad_paths_evaluate_nothing(self):
        self.s.evaluate("(defvar *n* 0)")
        self.inspect("(incf *n*)", path="[")
        self.assertEvaluates("*n*", "0")


class Objects(Inspecting):
    def test_huge_objects_are_shown_in_parts(self):
        for code, total in (("(make-list 1000000)", "1,000,000"), ("(make-array 1000000)", "1,000,000"), ("(make-array '(1000 1000))", "1,000,000"),
                            ("(let ((h (make-hash-table))) (dotimes (i 200000 h) (setf (gethash i h) i)))", "200,000")):
            with self.subTest(code):
                text = self.shown(code)
                self.assertIn("Parts 0 to 29 of %s:" % total, text)
                self.assertLess(len(text), 5000)
                handle = self.handle_of(text)
                self.assertIn(" of %s:" % total, self.shown(handle=handle, offset=199990, limit=5))
                self.assertLess(len(self.shown(handle=handle, limit=500)), 60000)

    def test_endless_objects_end(self):
        for code, length in (("(let ((l (list 1 2 3))) (setf (cdddr l) l))", "3 conses"), ("(let ((l (list 1 2 3 4))) (setf (cddddr l) (cddr l)) l)", "4 conses"),
                             ("(let ((l (list 1))) (setf (cdr l) l))", "1 cons")):
            with self.subTest(code):
                self.assertRegex(self.shown(code), "(?m)^Length: circular, %s$" % length)
                self.assertIn("There are no parts from 10,000,000,000 on, of %s." % length.split()[0], self.shown(code, offset=10000000000))
        for code in ("(let ((l (list 1))) (setf (car l) l))", "(let ((v (vector 1))) (setf (aref v 0) v))",
                     "(let ((l nil)) (dotimes (i 1000000 l) (setf l (list l))))",
                     "(let ((h (make-hash-table))) (setf (gethash h h) h))", "(let ((s (make-symbol \"S\"))) (set s s))"):
            with self.subTest(code):
                text = self.shown(code)
                self.assertLess(len(text), 3000)

    def test_every_kind_has_its_facts(self):
        for code, kind, fact in (
                ("(make-array 5 :fill-pointer 2 :adjustable t)", "vector", "Fill pointer: 2 of 5"),
                ("(make-array 2 :displaced-to (make-array 9) :displaced-index-offset 3)", "vector", "Displaced: to an array of 9 elements, from 3"),
                ("(make-array '(2 2) :element-type 'double-float)", "array", "Element type: DOUBLE-FLOAT"),
                ("#*101", "vector", "Element type: BIT"), ("\"text\"", "string", "Length: 4"),
                ("(make-hash-table :test 'equalp :weakness :key)", "hash table", "Weakness: :KEY"),
                ("'car", "symbol", "Package: COMMON-LISP, exported"), ("(make-symbol \"X\")", "symbol", "Package: none"),
                ("(expt 10 50)", "integer", "Bits: 167"), ("1.5", "float", "Exactly: 3/2"), ("#\\Space", "character", "Code: 32 (#x20)"),
                ("#'car", "function", "Name: CAR"), ("(make-string-output-stream)", "stream", "Direction: output"),
                ("(let ((a 1)) (lambda (x) (+ x a)))", "function", "Closes over: 1 value, which is its part"),
                ("(make-condition 'simple-error :format-control \"Oh ~a\" :format-arguments '(no))", "condition", "Message: Oh NO"),
                ("(find-class 'integer)", "class", "Metaclass: BUILT-IN-CLASS"), ("sb-ext:double-float-positive-infinity", "float", "Precision: 53 bits"),
                ("(let ((p (make-package \"GONE\"))) (delete-package p) p)", "package", "Name: none: it was deleted")):
            with self.subTest(code):
                text = self.shown(code)
                self.assertIn("\nKind: %s\n" % kind, text)
                self.assertIn("\n%s\n" % fact, text + "\n")

    def test_objects_with_code_of_their_own(self):
        self.s.evaluate("""(defclass bad () ((x :initform 1) (y :initform 2) z))
            (defmethod print-object ((o bad) s) (error "no text"))
            (defclass meta (standard-class) ()) (defmethod sb-mop:validate-superclass ((a meta) (b standard-class)) t)
            (defclass odd () ((x :initform 1) (z :initform 3)) (:metaclass meta))
            (defmethod sb-mop:slot-value-using-class ((c meta) o s) (if (string= "X" (sb-mop:slot-definition-name s)) (error "odd") (call-next-method)))
            (defclass meaner (meta) ()) (defmethod sb-mop:slot-boundp-using-class ((c meaner) o s) (throw 'nowhere 1))
            (defclass odder () (x) (:metaclass meaner))""")
        text = self.shown("(make-instance 'bad)")
        self.assertIn("#<BAD: error printing it: SIMPLE-ERROR: no text, in (METHOD PRINT-OBJECT (BAD T))>\n", text)
        self.assertIn("\n  Y = 2\n  Z is unbound", text)
        text = self.shown("(make-instance 'odd)")
        self.assertIn("\n  X = #<error reading it: SIMPLE-ERROR: odd, in (METHOD SB-MOP:SLOT-VALUE-USING-CLASS (META T T))>\n  Z = 3", text)
        self.assertNotIn("Traceback", self.inspect("(allocate-instance (find-class 'odder))").text)
        self.assertOperational()

    def test_an_object_that_cannot_be_updated_shows_the_message_and_the_method(self):
        self.s.evaluate("(defclass page () ((x :initform 1))) (defvar *page* (make-instance 'page))")
        self.s.evaluate("(defmethod update-instance-for-redefined-class :after ((p page) a d l &key) (error \"no column ~a\" 7))"
                        "(defclass page () ((x :initform 1) (y)))")
        why = "SIMPLE-ERROR: no column 7, in (METHOD UPDATE-INSTANCE-FOR-REDEFINED-CLASS :AFTER (PAGE T T T))"
        self.assertEqual("The object could not be inspected: its own code signalled %s." % why, self.inspect("*page*").text)
        text = self.shown("(list *page*)")
        self.assertIn("(#<error printing a PAGE: %s>)\n" % why, text)
        self.assertIn("\n  [0] = #<PAGE: error printing it: %s> <" % why, text)

    def test_a_text_that_never_ends_is_given_up_and_the_rest_is_shown(self):
        self.s.evaluate("(defclass slow () ((x :initform 1))) (defmethod print-object ((o slow) s) (loop)) (defvar *slow* (make-instance 'slow))")
        text = self.shown("(list 1 *slow* 3)")
        self.assertRegex(text, r"(?s)^\(1 #<error printing a SLOW: printing it takes too long> 3\)\n.*"
                               r"\n  \[0\] = 1\n  \[1\] = #<SLOW: printing it takes too long> <h\d+\.1>\n  \[2\] = 3")
        self.assertIn("\n  X = 1", self.shown("*slow*", timeout=0.5))

    def test_standard_functions_that_were_replaced_do_not_matter(self):
        self.s.evaluate("(defvar *l* (list 1 2 3)) (defvar *h* (make-hash-table)) (setf (gethash 1 *h*) 2)")
        # A collection may move them.
        shown = lambda: [re.sub(r"h\d+", "h", re.sub(r"\{[0-9A-F]+\}", "{}", self.shown(code))) for code in ("*l*", "*h*")]
        before = shown()
        self.s.evaluate("""(sb-ext:unlock-package :cl)
            (defun gethash (&rest r) (declare (ignore r)) (error "mine")) (defun maphash (&rest r) (declare (ignore r)) (error "mine"))
            (defun nthcdr (&rest r) (declare (ignore r)) (error "mine")) (defun format (&rest r) (declare (ignore r)) (error "mine"))""")
        self.assertEqual(before, shown())


class Setting(Inspecting):
    def test_every_place_that_can_be_set(self):
        self.s.evaluate("(defstruct point (x 0 :type fixnum) y) (defclass thing () (slot))")
        for code, path, then in (("(list 1 2 3)", "[1]", "(1 :NEW 3)"), ("(list 1 2)", "cdr", "(1 . :NEW)"), ("(vector 1 2)", "[0]", "#(:NEW 2)"),
                                 ("(make-array '(1 2) :initial-element 0)", "[0 1]", "#2A((0 :NEW))"), ("(make-point)", "y", "#S(POINT :X 0 :Y :NEW)")):
            with self.subTest(code):
                self.s.evaluate("(defparameter *o* %s)" % code)
                self.assertIn(":NEW\n", self.shown("*o*", path=path, set=":new"))
                self.assertEvaluates("*o*", then)
        self.s.evaluate("(defparameter *o* (make-instance 'thing)) (defparameter *h* (make-hash-table)) (setf (gethash :k *h*) 1) (defvar *v*)")
        self.shown("*o*", path="slot", set="(list 1)")
        self.shown("*h*", path=":k", set="(+ 40 2)")
        self.shown("'*v*", path="value", set=":v")
        self.assertEvaluates("(list (slot-value *o* 'slot) (gethash :k *h*) *v*)", "((1) 42 :V)")

    def test_setting_is_an_evaluation_and_can_be_undone(self):
        self.s.evaluate("(defvar *l* (list 1 2 3))")
        handle = self.handle_of(self.shown("*l*"))
        self.shown(handle=handle, path="[1]", set=":new")
        self.assertEvaluates("*l*", "(1 :NEW 3)")
        history = self.s.call("session-history").text
        self.assertIn(";; inspect-object %s" % handle, history)
        self.s.call("rollback-session", to="2")
        self.assertEvaluates("*l*", "(1 2 3)")

    def test_the_history_with_it_is_a_lisp_file(self):
        self.s.evaluate("(defvar *l* (list 1 2 3))")
        handle = self.handle_of(self.shown("*l*"))
        self.shown(handle=handle, path="\n[1]\n", set=":new\n")
        self.shown("*l*", path="[0]", set="(list\n 1)")
        text = self.s.call("session-history", format="lisp").text
        path = self.file(text, "history.lisp")
        self.assertFalse(self.start_server().call("load-file", path=path).is_error)

    def test_a_failure_sets_nothing_and_is_an_ordinary_error(self):
        self.s.evaluate("(defstruct point (x 0 :type fixnum)) (defvar *p* (make-point))")
        self.assertErrorReport(self.inspect("*p*", path="x", set="(error \"in it\")"), "SIMPLE-ERROR")
        self.assertValue(self.s.call("evaluate-in-frame", frame=0, code="(+ 1 1)"), "2")
        self.assertIsError(self.inspect("*p*", path="x", set=":no-fixnum"), "[ERROR] TYPE-ERROR")
        for code, path in (("'car", "name"), ("(find-package :cl)", "car"), ("1", "[0]"), ("*p*", "nowhere"), ("*p*", None)):
            self.assertIsError(self.inspect(code, set="1", **({"path": path} if path else {})), "Nothing was set.")
        self.assertEvaluates("*p*", "#S(POINT :X 0)")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width=3, height=2):
    rows = (b"\0" + b"\x80\x20\x40" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


GIF = b"GIF89a\x03\0\x02\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x03\0\x02\0\0\x02\x02\x84\x51\0;"


def octets(data):
    return "(coerce '#(%s) '(vector (unsigned-byte 8)))" % " ".join(map(str, data))


class Pictures(mcp.TestCase):
    """The bytes of a picture, or the pathname of one, as image content beside the text."""

    def assertPicture(self, reply, data, kind):
        text, image = reply.result["content"]
        self.assertEqual(("text", "image", kind), (text["type"], image["type"], image["mimeType"]))
        self.assertEqual(data, base64.b64decode(image["data"], validate=True))
        self.assertIn("A picture, %s, 3 by 2 pixels, is beside this text." % kind, text["text"])

    def assertNoPicture(self, reply):
        self.assertEqual(["text"], [block["type"] for block in reply.result["content"]], reply)
        self.assertNotIn("A picture", reply.text)

    def test_evaluating_and_inspecting_show_the_bytes_of_one(self):
        for data, kind in ((png(), "image/png"), (GIF, "image/gif")):
            reply = self.s.evaluate(octets(data))
            self.assertPicture(reply, data, kind)
            self.assertIn("=> #(%d %d" % (data[0], data[1]), reply.text)
            reply = self.s.call("inspect-object", code="*")
            self.assertPicture(reply, data, kind)
            self.assertIn("Kind: vector", reply.text)
            handle = re.search("Handle: (h[0-9]+)", reply.text).group(1)
            self.assertPicture(self.s.call("inspect-object", handle=handle), data, kind)
        self.s.evaluate("(defvar *parts* (list 1 %s))" % octets(png()))
        self.assertPicture(self.s.call("inspect-object", code="*parts*", path="[1]"), png(), "image/png")
        self.assertPicture(self.s.evaluate("(values (second *parts*) 2)"), png(), "image/png")
        filled = "(let ((v (make-array 1000 :element-type '(unsigned-byte 8) :fill-pointer 0 :adjustable t))) (map nil (lambda (o) (vector-push o v)) %s) v)"
        self.assertPicture(self.s.evaluate(filled % octets(png())), png(), "image/png")

    def test_inspecting_shows_the_file_that_a_pathname_names_and_evaluating_does_not(self):
        path = mcp.write(os.path.join(self.folder(), "picture [1].png"), png())
        code = '(sb-ext:parse-native-namestring "%s")' % path
        self.assertPicture(self.s.call("inspect-object", code=code), png(), "image/png")
        self.assertNoPicture(self.s.evaluate(code))
        self.assertNoPicture(self.s.call("inspect-object", code='"%s"' % path))

    def test_what_is_no_picture_or_too_large_stays_text(self):
        folder = self.folder()
        os.mkfifo(os.path.join(folder, "pipe.png"))
        mcp.write(os.path.join(folder, "cut.png"), png()[:-1])
        mcp.write(os.path.join(folder, "large.png"), png() + bytes(1 << 18))
        for name in ("pipe.png", "cut.png", "large.png", "absent.png", ""):
            self.assertNoPicture(self.s.call("inspect-object", code='(sb-ext:parse-native-namestring "%s/%s")' % (folder, name)))
        self.assertNoPicture(self.s.call("inspect-object", code='#p"*.png"'))
        for code in (octets(png()[:-1]), octets(png(8001, 1)), "#(137 80 78 71)", "(list %s)" % octets(png()), '(error "%s")' % "x",
                     "(make-array (ash 1 24) :element-type '(unsigned-byte 8) :initial-element 137)"):
            self.assertNoPicture(self.s.evaluate(code))

    def test_a_client_that_drops_pictures_gets_none(self):
        client = self.start_server(handshake=False)
        client.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "mcp-emacs", "version": "1"}})
        client.notify("notifications/initialized")
        self.assertNoPicture(client.evaluate(octets(png())))
        self.assertNoPicture(client.call("inspect-object", code="*"))
