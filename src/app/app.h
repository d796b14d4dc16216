/*
 * The whole program except main(): commands, options, building the core, serving. The product's main.c and
 * the conformance server's share it.
 */
#ifndef APP_APP_H
#define APP_APP_H

struct extension;

/*
 * app_main(argc, argv, extension):
 * Do what the command line requests.
 *
 * extension   borrowed; answers some requests instead of the server; NULL: none
 * Returns     the exit status
 */
int app_main(int argc, char **argv, const struct extension *extension);

#endif
