/*
 * The conformance server: the product with the additional tools, resources and prompts that the official
 * suites expect. It takes the same options.
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
