/*
 * The conformance server: the product, and beside its own tools, resources and prompts those that the
 * official suites expect of a server under test. It takes the same options.
 */
#include "app/app.h"
#include "conformance.h"

int main(int argc, char **argv)
{
    struct extension *extension = conformance_new();
    int status = app_main(argc, argv, extension);
    conformance_free(extension);
    return status;
}
