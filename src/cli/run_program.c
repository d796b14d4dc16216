/*
 * Responsible for a child of a subcommand, in a loop that runs until the child has ended.
 */
#include "cli/run_program.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <uv.h>

#include "base/check.h"

enum { INPUT, OUTPUT, ERRORS, PIPES };
enum { MOST_OUTPUT = 1 << 20, MOST_ERRORS = 1 << 16 };

struct run {
    uv_process_t process;
    uv_timer_t deadline;
    uv_pipe_t pipes[PIPES];
    uv_write_t input;
    char piece[1 << 14]; /* what was read last */
    int limit_ms;
    bool is_good;
    struct program_result *result;
    struct err *err;
};

static void close_handle(uv_handle_t *handle, void *arg)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* The loop ends when the killed program has been reaped, even if a process that it leaves behind holds a
 * pipe. */
static void stop(struct run *r)
{
    r->is_good = false;
    kill(-r->process.pid, SIGKILL);
    for (int i = 0; i < PIPES; i++)
        close_handle((uv_handle_t *)&r->pipes[i], NULL);
}

static void on_late(uv_timer_t *timer)
{
    struct run *r = timer->data;
    err_set(r->err, ERR_LIMIT, "it did not end within %d s", r->limit_ms / 1000);
    stop(r);
}

static void on_exit(uv_process_t *process, int64_t status, int signal)
{
    struct run *r = process->data;
    r->result->status = W_EXITCODE((int)status, signal);
}

static void lend_piece(uv_handle_t *pipe, size_t size, uv_buf_t *buffer)
{
    struct run *r = pipe->data;
    *buffer = uv_buf_init(r->piece, sizeof r->piece);
}

/* Error output beyond the limit is read and dropped, so that the program can continue. */
static void on_output(uv_stream_t *pipe, ssize_t len, const uv_buf_t *buffer)
{
    struct run *r = pipe->data;
    bool is_output = pipe == (uv_stream_t *)&r->pipes[OUTPUT];
    if (len < 0) {
        close_handle((uv_handle_t *)pipe, NULL);
    } else if (!strbuf_add(is_output ? &r->result->output : &r->result->errors, buffer->base, (size_t)len) &&
               is_output) {
        err_set(r->err, ERR_TOO_LARGE, "its output has more than %d bytes", MOST_OUTPUT);
        stop(r);
    }
}

/* A program may end without reading its input. */
static void on_written(uv_write_t *request, int status)
{
    close_handle((uv_handle_t *)request->handle, NULL);
}

static bool start(struct run *r, uv_loop_t *loop, const char *const *argv, const char *input)
{
    uv_stdio_container_t pipes[PIPES];
    for (int i = 0; i < PIPES; i++) {
        uv_pipe_init(loop, &r->pipes[i], 0);
        r->pipes[i].data = r;
        pipes[i].data.stream = (uv_stream_t *)&r->pipes[i];
        pipes[i].flags = UV_CREATE_PIPE | (i == INPUT ? UV_READABLE_PIPE : UV_WRITABLE_PIPE);
    }
    uv_process_options_t options = {.file = argv[0],
                                    .args = (char **)(uintptr_t)argv,
                                    .flags = UV_PROCESS_DETACHED,
                                    .stdio = pipes,
                                    .stdio_count = PIPES,
                                    .exit_cb = on_exit};
    int status = uv_spawn(loop, &r->process, &options);
    if (status != 0)
        return err_set_errno(r->err, ERR_START, -status, "%s cannot be started", argv[0]);
    uv_timer_init(loop, &r->deadline);
    r->process.data = r->deadline.data = r;
    uv_timer_start(&r->deadline, on_late, (uint64_t)r->limit_ms, 0);
    uv_unref((uv_handle_t *)&r->deadline);
    uv_buf_t text = uv_buf_init((char *)(uintptr_t)input, (unsigned)strlen(input));
    uv_write(&r->input, (uv_stream_t *)&r->pipes[INPUT], &text, 1, on_written);
    for (int i = OUTPUT; i <= ERRORS; i++)
        uv_read_start((uv_stream_t *)&r->pipes[i], lend_piece, on_output);
    return true;
}

bool run_program(const char *const *argv, const char *input, int limit_ms, struct program_result *out,
                 struct err *err)
{
    uv_loop_t loop;
    struct run r = {.limit_ms = limit_ms, .result = out, .err = err};
    *out = (struct program_result){.status = -1};
    strbuf_init(&out->output, MOST_OUTPUT);
    strbuf_init(&out->errors, MOST_ERRORS);
    CHECK(uv_loop_init(&loop) == 0);
    r.is_good = start(&r, &loop, argv, input);
    if (r.is_good)
        uv_run(&loop, UV_RUN_DEFAULT);
    uv_walk(&loop, close_handle, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&loop) == 0);
    return r.is_good;
}

void program_result_fini(struct program_result *result)
{
    strbuf_fini(&result->output);
    strbuf_fini(&result->errors);
}
