/*
 * Truncating a text to the limit of a reply.
 */
#include "tools/cut.h"

#include "base/strbuf.h"
#include "base/text.h"
#include "lisp/worker.h"
#include "report/report.h"
#include "report/section.h"
#include "session/session.h"

void cut_whole(struct strbuf *text, struct session *session, size_t most)
{
    struct strbuf cut = {0};
    if (text->len <= most)
        return;
    report_cut(&cut, session, text->bytes, text->len, most);
    strbuf_fini(text);
    *text = cut;
}

#define SHORTER_THAN_ITS_NOTE 100 /* bytes, about */

void cut_put_aside(struct strbuf *out, const struct outcome *outcome, size_t most)
{
    static const char *const names[] = {
        [WORKER_STDOUT] = "Standard output", [WORKER_STDERR] = "Standard error"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct capture *c = outcome->output[i];
        if (c->total <= most)
            continue;
        strbuf_addf(out, "\n%s: ", names[i]);
        if (c->total < SHORTER_THAN_ITS_NOTE) {
            session_redact(outcome->session, c);
            capture_show(c, out, SHORTER_THAN_ITS_NOTE, 0);
            section_end(out);
            capture_fini(c);
            capture_init(c);
            continue;
        }
        strbuf_addf(out, "%s bytes; get-output with ref %d shows them.", text_grouped(c->total).text,
                    session_next_ref(outcome->session));
        session_redact(outcome->session, c);
        session_keep_output(outcome->session, c);
    }
}
