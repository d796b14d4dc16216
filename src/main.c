/*
 * The server as shipped: the application without an extension.
 */
#include <stddef.h>

#include "app/app.h"

int main(int argc, char **argv)
{
    return app_main(argc, argv, NULL);
}
