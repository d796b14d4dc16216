/*
 * GNU libmicrohttpd, loaded on demand: a server on standard input and output needs neither it nor the
 * TLS library that it uses, and spends no time on linking them.
 */
#ifndef HTTP_MHD_H
#define HTTP_MHD_H

#include <microhttpd.h>

#include "base/errors.h"

/* The functions that the server calls, a row each: the member here and the name in the library. */
#define MHD_FUNCTIONS(row)                                                                                   \
    row(start_daemon, MHD_start_daemon) row(stop_daemon, MHD_stop_daemon)                                    \
        row(quiesce_daemon, MHD_quiesce_daemon) row(run, MHD_run) row(get_timeout, MHD_get_timeout)          \
            row(get_daemon_info, MHD_get_daemon_info) row(get_connection_info, MHD_get_connection_info)      \
                row(suspend_connection, MHD_suspend_connection)                                              \
                    row(resume_connection, MHD_resume_connection)                                            \
                        row(lookup_connection_value, MHD_lookup_connection_value)                            \
                            row(get_connection_values, MHD_get_connection_values)                            \
                                row(create_response_from_buffer, MHD_create_response_from_buffer)            \
                                    row(create_response_from_callback, MHD_create_response_from_callback)    \
                                        row(add_response_header, MHD_add_response_header)                    \
                                            row(queue_response, MHD_queue_response)                          \
                                                row(destroy_response, MHD_destroy_response)                  \
                                                    row(is_feature_supported, MHD_is_feature_supported)      \
                                                        row(get_version, MHD_get_version)

struct mhd {
    void *library;
#define MHD_MEMBER(member, name) __typeof__(&name) member;
    MHD_FUNCTIONS(MHD_MEMBER)
#undef MHD_MEMBER
};

/* mhd_load(mhd, err): load the library; false with ${err} set to a message that names the package to install.
 * mhd_unload(mhd): unload it. */
bool mhd_load(struct mhd *mhd, struct err *err);
void mhd_unload(struct mhd *mhd);

#endif
