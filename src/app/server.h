/*
 * The running server: the loop, the children, the sessions, the client on standard input and output, and the
 * server for clients over HTTP.
 */
#ifndef APP_SERVER_H
#define APP_SERVER_H

struct options;

/*
 * server_run(options):
 * Serve until the input ends, standard output breaks or a signal arrives. Errors are logged.
 *
 * options     borrowed
 * Returns     the exit status
 */
int server_run(const struct options *options);

#endif
