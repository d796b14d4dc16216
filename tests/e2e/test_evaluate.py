"""evaluate-lisp: values, packages, history, output and its limits, the report's order, printing that fails."""

import json
import os
import re
import time

import mcp


class Values(mcp.SessionTest):
    def test_a_value_is_printed_readably(self):
        for code, printed in (("(+ 1 2)", "3"), ('"a\\"b"', '"a\\"b"'), ("#\\a", "#\\a"), (":key", ":KEY"), ("'sym", "SYM"), ("nil", "NIL"), ("1/2", "1/2"),
                              ("1.5d0", "1.5d0"), ("'(1 . 2)", "(1 . 2)"), ("#(1 2)", "#(1 2)"), ("''a", "(QUOTE A)"), ("#'car", "#<FUNCTION CAR>"), ("(expt 2 100)", str(2**100))):
            with self.subTest(code):
                self.assertEvaluates(code, printed)

    def test_unicode_goes_through_in_both_directions(self):
        for text in ("é", "日本語", "😀", "\u2028", "a\u0301", "\ufeff", "a\0b"):
            with self.subTest(text):
                self.assertEvaluates('(length "%s")' % text, str(len(text)))
                self.assertEvaluates('(string "%s")' % text, '"%s"' % text)
        self.assertEvaluates("(string (code-char #x1f600))", '"\U0001f600"')
        report = self.s.evaluate("(string (code-char #xd800))")
        self.assertFalse(report.is_error)
        self.assertOperational()


class Absent(mcp.SessionTest):
    """What clients send for an argument that is absent."""

    def test_null_and_nothing_as_text_are_absent_arguments(self):
        for nothing in ("null", "", None):
            arguments = {name: nothing for name in ("session", "package", "timeout", "capture-time", "max-output")}
            self.assertEqual("=> 1", self.s.call("evaluate-lisp", code="1", **arguments).text)
            self.assertIn("CADAR", self.s.call("apropos-search", pattern="cadar", type=nothing, package=nothing).text)
            self.assertIn("=> ", self.s.call("evaluate-lisp", code="'null", session=nothing).text)

    def test_a_required_text_stays_as_it_is(self):
        self.assertFails("null")
        self.assertIn("Nothing was closed", self.s.call("close-session", session="null").text)


class History(mcp.SessionTest):
    def test_an_error_leaves_the_values_of_the_history(self):
        self.assertEvaluates("(list 1 2 3)", "(1 2 3)")
        self.assertFails("(car 42)")
        self.assertEvaluates("*", "(1 2 3)")


class OrderOfSections(mcp.SessionTest):
    def test_everything_comes_in_the_order_of_the_contract(self):
        report = self.s.evaluate('(format t "out") (format *error-output* "err") (warn "w") (values 1 2)', capture_time=True)
        self.assertRegex(report.text, r"\A\[stdout\]\nout\n\n\[stderr\]\nerr\n\n\[warnings\]\nWARNING: w\n\n=> 1\n=> 2\n+; Timing: [\d,]+ ms real, [\d,]+ ms run, [\d,]+ ms GC, [\d,]+ bytes consed\Z")

    def test_an_error_comes_where_the_values_would(self):
        report = self.s.evaluate('(format t "out~%") (format *error-output* "err~%") (warn "w") (error "e")')
        self.assertTrue(report.text.startswith("[stdout]\nout\n\n[stderr]\nerr\n\n[warnings]\nWARNING: w\n\n[ERROR] SIMPLE-ERROR\ne\n\n[Backtrace]\n0: "), report.text)
        self.assertEqual(["stdout", "stderr", "warnings", "error", "Backtrace", "Restarts", "Session"], report.sections)

    def test_an_error_can_be_timed_as_well(self):
        self.assertIn("; Timing:", self.s.evaluate("(error \"x\")", capture_time=True).text)


class LargeValues(mcp.SessionTest):
    options = ("--max-heap", "512")

    def test_a_vector_that_fills_half_of_the_heap_is_printed(self):
        self.s.evaluate("(defvar *v* (make-array 25000000 :initial-element 0))")
        self.assertTrue(self.s.evaluate("*v*").text.startswith("=> #(0 0 0 0"))
        report = self.s.evaluate('(error "bad: ~a" *v*)')
        self.assertErrorReport(report)
        self.assertEqual("SIMPLE-ERROR", report.error_type)
        self.assertEvaluates("(length *v*)", "25000000")

    def test_the_cycle_of_a_list_that_fills_a_quarter_of_the_heap_is_shown(self):
        self.s.evaluate("(defvar *l* (let ((l (make-list 8000000))) (setf (car l) l)))")
        report = self.assertSucceeds(self.s.evaluate("*l*"))
        self.assertTrue(report.text.startswith("=> #1=(#1# NIL NIL "), report.text[:200])
        report = self.s.evaluate('(progn (warn "bad: ~s" *l*) 1)')
        self.assertIn("WARNING: bad: #1=(#1# NIL NIL ", report.text)
        self.assertEvaluates("(length *l*)", "8000000")


class LittleRoom(mcp.SessionTest):
    """The heap has no room for the octets of a long reply."""

    def test_long_texts_of_the_reply_are_cut_and_the_reason_is_given(self):
        self.s.evaluate("(sb-ext:unlock-package :cl-mcp-agent) (sb-int:encapsulate 'cl-mcp-agent::make-room 'no-room"
                        " (lambda (make-room count) (if (> count 100000) (error \"the heap is full\") (funcall make-room count))))")
        report = self.assertSucceeds(self.s.evaluate("(values 1 (make-string 50000 :initial-element #\\x) 2)", max_output=4000), "the heap is full")
        self.assertEqual(("1", "2"), (report.values[0], report.values[2].partition("\n")[0]))
        self.assertRegex(report.values[1], r'^"x{1999}\.\.\.$')
        report = self.assertErrorReport(self.s.evaluate("(error (make-string 50000 :initial-element #\\x))"), "SIMPLE-ERROR")
        self.assertRegex(report.message, r"^x{1000,}")


class ForATerminal(mcp.SessionTest):
    """What programs print for a terminal is shown as a reader needs it, and a value as it is."""

    NOTE = re.compile(r"\[… cleaned for reading; get-output ref (\d+) with raw: true returns every byte …\]")

    def shown(self, code, **arguments):
        """What the reply shows of the output, and the bytes that get-output gives; NULL if the reply names none."""
        reply = self.s.evaluate("(let ((esc (code-char 27)) (cr (code-char 13))) (declare (ignorable esc cr)) %s (values))" % code, **arguments).text
        note = self.NOTE.search(reply)
        raw = note and self.s.call("get-output", ref=int(note.group(1)), raw=True).text.partition("\n")[2]
        return self.NOTE.sub("", reply).replace("; No values", "").strip(), raw

    def test_escape_sequences_are_left_out_and_can_be_had(self):
        text, raw = self.shown('(format t "~c[31mred~c[0m and ~c]0;title~cplain~%" esc esc esc (code-char 7))')
        self.assertEqual("[stdout]\nred and plain", text)
        self.assertEqual("\x1b[31mred\x1b[0m and \x1b]0;title\aplain\n", raw)
        text, raw = self.shown('(format *error-output* "~c[1mwarn~c[0m~%" esc esc)')
        self.assertEqual(("[stderr]\nwarn", "\x1b[1mwarn\x1b[0m\n"), (text, raw))

    def test_a_sequence_may_come_in_two_pieces(self):
        text, raw = self.shown('(progn (format t "a~c[3" esc) (finish-output) (sleep 0.1) (format t "1mb~%"))')
        self.assertEqual(("[stdout]\nab", "a\x1b[31mb\n"), (text, raw))

    def test_four_hundred_lines_of_progress_are_one(self):
        text, raw = self.shown('(loop for i from 1 to 400 do (format t "~c~d/400 done" cr i))')
        self.assertEqual("[stdout]\n400/400 done", text)
        self.assertTrue(raw.endswith("\r399/400 done\r400/400 done"))
        self.assertGreater(len(raw), 4000)

    def test_a_line_that_is_repeated_is_shown_once(self):
        text, raw = self.shown('(loop repeat 5000 do (format t "tick~%"))')
        self.assertEqual(("[stdout]\ntick [… 5000 times …]"), text)
        self.assertIn("tick\n" * 3000, raw)
        self.assertEqual(("[stdout]\na\na\na\n\n\n\nb", None), self.shown('(format t "a~%a~%a~%~%~%~%b~%")'))

    def test_ends_of_lines_stay(self):
        self.assertEqual(("[stdout]\na\r\nb", None), self.shown('(format t "a~c~%b~c~%" cr cr)'))

    def test_a_value_is_shown_as_it_is(self):
        value = '(format nil "~c[31mred~c[0m~%1%~c2%~%~%~%~%~%" (code-char 27) (code-char 27) (code-char 13))'
        self.assertEqual('=> "\x1b[31mred\x1b[0m\n1%\r2%\n\n\n\n\n"', self.s.evaluate(value).text)
        reply = self.s.evaluate('(make-string 6000 :initial-element (code-char 27))').text
        ref = int(re.search(r"get-output ref (\d+)", reply).group(1))
        self.assertIn("\x1b" * 6000, self.s.call("get-output", ref=ref).text)
        self.assertEqual(1, reply.count("get-output"))

    def test_the_last_state_is_shown_while_it_runs(self):
        code = '(progn (loop for i from 1 to 50 do (format t "~c~c[32m~d/50" (code-char 13) (code-char 27) i)) (finish-output) (sleep 600))'
        told = [self.s.call("evaluate-lisp", {"code": code, "timeout": 700, "wait": 0}).text]
        mcp.wait_until(lambda: "50/50" in told[-1] or told.append(self.s.call("evaluation-status").text), 20, "the last line")
        self.assertNotIn("\x1b", "".join(told))
        self.assertRegex(told[-1], r"\n50/50(\n|$)")
        self.s.call("cancel-evaluation")

    def test_structured_content_has_the_text_for_readers(self):
        client = self.start_server("--structured")
        report = client.evaluate('(format t "~c[31mred~c[0m" (code-char 27) (code-char 27))')
        self.assertEqual(("red", ["stdout"]), (report.structured["stdout"], report.structured["truncated"]))


class Printing(mcp.SessionTest):
    def test_the_users_printer_settings_do_not_matter_between_calls(self):
        for setting in ("(setf *print-base* 2)", "(setf *print-case* :downcase)", "(setf *print-escape* nil)", "(setf *print-readably* t)", "(setf *print-length* 1)",
                        "(setf *print-pretty* t *print-right-margin* 5)", "(setf *print-circle* nil)", "(setf *print-radix* t)", "(setf *print-gensym* nil)"):
            with self.subTest(setting):
                self.s.evaluate(setting)
                self.assertEvaluates("(list 10 'abc \"s\")", '(10 ABC "s")')

    def test_a_reply_says_once_that_the_programs_settings_differ(self):
        words = "\n; Values are printed with the standard settings; here *PRINT-BASE* is 16, *PRINT-CASE* is :DOWNCASE."
        self.assertEqual("=> (FOO 255)" + words, self.s.evaluate("(progn (setf *print-base* 16 *print-case* :downcase) (list 'foo 255))").text)
        self.assertEqual("=> 255", self.s.evaluate("255").text)
        self.assertEqual("=> 255", self.s.evaluate("(progn (setf *print-base* 10 *print-case* :upcase) 255)").text)
        self.assertIn(words, self.s.evaluate("(setf *print-base* 16 *print-case* :downcase)").text)

    def test_a_long_value_is_cut_and_can_be_fetched(self):
        report = self.s.evaluate("(make-string 300000 :initial-element #\\z)", max_output=4000)
        self.assertFalse(report.is_error)
        self.assertLess(len(report.text), 10000)
        ref = re.search(r"get-output ref (\d+)", report.text)
        self.assertIsNotNone(ref, report.text[-500:])
        self.assertIn("zzzz", self.s.call("get-output", ref=int(ref.group(1)), offset=100000, length=100).text)

    def test_pages_of_a_long_output_end_between_characters(self):
        report = self.s.evaluate('(progn (princ "x") (loop repeat 10000 do (princ "\u00e9")) (princ "\U0001f600"))', max_output=4000)
        ref, offset, whole = int(re.search(r"get-output ref (\d+)", report.text).group(1)), 0, ""
        while offset < 20005:
            heading, page = self.s.call("get-output", ref=ref, offset=offset, length=4002).text.split("\n", 1)
            offset, whole = int(re.match(r"\[bytes \d+ to (\d+) of", heading).group(1)), whole + page
        self.assertEqual("x" + "\u00e9" * 10000 + "\U0001f600", whole)


class SlowPrinting(mcp.SessionTest):
    """One value whose printing never ends hides no other."""

    SLOW = "#<SLOW: printing it takes too long>"
    NOTE = "The form was evaluated; printing its value was stopped."

    def setUp(self):
        super().setUp()
        self.s.evaluate("(defclass slow () ()) (defmethod print-object ((x slow) s) (loop)) (defvar *slow* (make-instance 'slow)) (defvar *other* 5)")

    def test_of_several_values_the_others_are_there(self):
        report = self.assertSucceeds(self.s.evaluate("(values 1 *slow* (list 2 *slow* 3))"), self.NOTE)
        self.assertEqual(["1", self.SLOW, "(2 #<error printing a SLOW: printing it takes too long> 3)"], report.values)
        self.assertNotIn(self.NOTE, self.s.evaluate("(list 1)").text)

    def test_at_the_time_limit_the_evaluation_had_ended(self):
        report = self.assertSucceeds(self.s.evaluate("(values *slow* (list *slow*) 7)", timeout=0.2), self.NOTE)
        self.assertEqual([self.SLOW, "#<CONS: printing it takes too long>", "7"], report.values)
        self.assertEvaluates("(list 1)", "(1)")

    def test_a_look_up_shows_the_rest(self):
        self.assertIn("- *OTHER* = 5\n- *SLOW* = %s\n" % self.SLOW, self.s.call("list-definitions").text)
        self.assertIn("  Value: %s\n" % self.SLOW, self.s.call("describe-symbol", name="*slow*").text)

    def test_many_of_them_take_three_seconds_in_a_reply(self):
        report = self.assertSucceeds(self.s.evaluate("(apply #'values 1 (append (make-list 18 :initial-element *slow*) '(2)))"), self.NOTE)
        self.assertEqual(["1", *[self.SLOW] * 18, "2"], report.values)

    def test_a_message_an_argument_and_a_variable(self):
        report = self.s.evaluate("(defun take (x y) (declare (optimize (debug 3))) (error \"~a\" x) (list x y)) (take *slow* 3)")
        self.assertEqual("#<printing the message takes too long>", report.message)
        self.assertIn("\n0: (TAKE #<SLOW: printing it takes too long> ", report.text)
        self.assertIn("X = %s" % self.SLOW, self.s.call("get-backtrace", locals=True).text)

    def test_a_value_that_prints_for_long_is_printed(self):
        self.s.evaluate("(defclass lengthy () ()) (defmethod print-object ((x lengthy) s) (dotimes (i 8) (sleep 0.1) (write-char #\\x s)))")
        self.assertEvaluates("(make-instance 'lengthy)", "xxxxxxxx")


class Output(mcp.SessionTest):
    def test_output_of_run_program_is_caught(self):
        report = self.assertEvaluates('(sb-ext:process-exit-code (sb-ext:run-program "/bin/sh" (list "-c" "echo from the shell; echo to stderr >&2") :output t :error t))', "0")
        self.assertIn("from the shell", report.stdout)
        self.assertIn("to stderr", report.stderr + report.stdout)

    def test_output_of_a_foreign_write_is_caught(self):
        report = self.s.evaluate('(alien-funcall (extern-alien "write" (function long int c-string long)) 1 "foreign" 7)')
        self.assertEqual("foreign", report.stdout)
        report = self.s.evaluate('(alien-funcall (extern-alien "write" (function long int c-string long)) 2 "foreign" 7)')
        self.assertEqual("foreign", report.stderr)

    def test_long_output_shows_head_and_tail_and_the_rest_can_be_fetched(self):
        report = self.s.evaluate("(dotimes (i 20000) (format t \"line ~d~%\" i)) :done", max_output=8000)
        self.assertValue(report, ":DONE")
        self.assertLess(len(report.text), 12000)
        self.assertIn("[stdout]\nline 0\nline 1\n", report.text)
        self.assertIn("line 19999", report.stdout)
        cut = re.search(r"\[… ([\d,]+) of ([\d,]+) bytes left out; get-output ref (\d+) …\]", report.text)
        self.assertIsNotNone(cut, report.text[3000:5000])
        whole = "".join("line %d\n" % i for i in range(20000))
        self.assertEqual(len(whole), int(cut.group(2).replace(",", "")))
        ref = int(cut.group(3))
        part = self.s.call("get-output", ref=ref, offset=100000, length=50).text
        self.assertIn(whole[100000:100050], part)
        self.assertIn("line 12345", self.s.call("get-output", ref=ref, pattern="12345").text)
        self.assertNotIn("line 777\n", self.s.call("get-output", ref=ref, pattern="12345").text)

    def test_truncated_output_is_kept_while_others_are_evaluated(self):
        report = self.s.evaluate("(dotimes (i 20000) (format t \"line ~d~%\" i))", max_output=2000)
        ref = int(re.search(r"get-output ref (\d+)", report.text).group(1))
        first = self.s.call("get-output", ref=ref, offset=5000, length=100).text
        self.assertOperational()
        self.assertFails("(car 42)")
        self.assertEqual(first, self.s.call("get-output", ref=ref, offset=5000, length=100).text)

    def test_a_character_that_arrives_in_two_writes_stays_whole(self):
        report = self.s.evaluate('(sb-ext:run-program "/bin/sh" (list "-c" "printf \'\\\\303\'; sleep 0.2; printf \'\\\\251\'") :output t) 1')
        self.assertEqual("é", report.stdout)

    def test_output_between_evaluations_comes_with_the_next_under_its_own_heading(self):
        self.s.evaluate('(sb-ext:run-program "/bin/sh" (list "-c" "sleep 0.2; echo later; touch /tmp/.cl-mcp-%s") :wait nil :output t)' % self.s.mark)

        flag = "/tmp/.cl-mcp-%s" % self.s.mark
        mcp.wait_until(lambda: os.path.exists(flag), 10, "the background process")
        os.unlink(flag)
        report = self.s.evaluate('(princ "now") 1')
        self.assertIn("later", report.text)
        self.assertEqual("now", report.stdout)

    def test_100_mb_of_output_neither_grow_the_server_nor_take_long(self):
        self.s.evaluate("1")
        before = mcp.peak_memory_kib(self.s.pid)
        started = time.monotonic()
        report = self.s.evaluate('(let ((line (make-string 99 :initial-element #\\x))) (dotimes (i 1000000) (write-line line))) :done', timeout=60)
        self.assertValue(report, ":DONE")
        self.assertLess(time.monotonic() - started, 15 * mcp.STRETCH)
        self.assertIn("100,000,000 bytes", report.text)
        self.assertLess(mcp.peak_memory_kib(self.s.pid) - before, (64 if mcp.SANITIZED else 24) << 10)
        self.assertOperational()

    def test_100_mb_written_by_another_program_are_bounded_too(self):
        report = self.s.evaluate('(sb-ext:run-program "/bin/sh" (list "-c" "yes | head -c 100000000") :output t) :done', timeout=60)
        self.assertValue(report, ":DONE")
        self.assertIn("100,000,000 bytes", report.text)


class Structured(mcp.SessionTest):
    options = ("--structured",)

    def test_values_output_warnings_and_package_are_there(self):
        report = self.s.evaluate('(format t "out") (format *error-output* "err") (warn "w") (values 1 "two")', capture_time=True)
        s = report.structured
        self.assertEqual(["1", '"two"'], s["values"])
        self.assertEqual("out", s["stdout"].rstrip("\n"))
        self.assertEqual("err", s["stderr"].rstrip("\n"))
        self.assertEqual([{"type": "WARNING", "message": "w"}], s["warnings"])
        self.assertIn(s["package"], ("CL-USER", "COMMON-LISP-USER"))
        self.assertIn("timing", s)

    def test_an_error_is_complete(self):
        report = self.s.evaluate('(+ 1 (identity "hello"))')
        error = report.structured["error"]
        self.assertEqual("TYPE-ERROR", error["type"])
        self.assertIn("ERROR", error["classes"])
        self.assertIn("hello", error["message"])
        self.assertIn("DATUM", json.dumps(error["slots"]))
        self.assertEqual({"index", "name", "description", "takesValue"}, set(error["restarts"][0]))
        self.assertIn("call", error["frames"][0])

    def test_it_is_absent_without_the_option(self):
        self.assertIsNone(self.start_server().evaluate("1").structured)
