/*
 * The server as it ships: the application, with nothing added.
 */
#include <stddef.h>

#include "app/app.h"

int main(int argc, char **argv)
{
    return app_main(argc, argv, NULL);
}
