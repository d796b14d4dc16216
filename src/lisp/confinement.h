/*
 * How Lisps are confined: which files, which network and which environment they get. The server has its
 * own confinement, by --sandbox; a session may have a stricter one. proc/sandbox.h is the kernel's
 * part.
 */
#ifndef LISP_CONFINEMENT_H
#define LISP_CONFINEMENT_H

#include <stdbool.h>

#include "base/errors.h"
#include "proc/sandbox.h"

struct confinement; /* NULL: none, the Lisp may do what its user may */
struct confinements;

/* The stricter, the greater; so are the values of enum sandbox_network. */
enum confinement_mode { CONFINEMENT_OFF, CONFINEMENT_WORKSPACE, CONFINEMENT_READ_ONLY, CONFINEMENT_MODES };

/* Borrowed until confinements_free(); lists end with NULL. */
struct confinements_options {
    enum confinement_mode mode;   /* of the server's own */
    enum sandbox_network network; /* the least strict one of any */
    bool is_strict;               /* as in struct sandbox_policy */
    const char *lisp;             /* program name or path */
    const char *directory;        /* the Lisps' working directory; NULL: the server's */
    const char *state_directory;  /* on the file system of the saves; NULL: nothing is saved */
    const char *user_init;        /* NULL: none */
    const char *const *loads, *const *writable, *const *readable; /* paths */
    const char *const *kept; /* files and directories of the server that no confined Lisp may reach */
};

/* The names of the modes and of the networks, as --sandbox and --network take them, by their values; NULL
 * after the last. */
extern const char *const confinement_mode_names[CONFINEMENT_MODES + 1];
extern const char *const confinement_network_names[SANDBOX_NETWORKS + 1];

/*
 * confinements_new(options, err):
 * Make the server's own confinement: create the directories that its Lisps write to, and prepare the sandbox.
 *
 * Returns     given: needs confinements_free(). NULL with ${err} set if the kernel, or the choice of the
 *             project directory, does not allow the request
 * Errors      ERR_INVALID: its Lisps could read one of ${options->kept}; ERR_SYSTEM
 */
struct confinements *confinements_new(const struct confinements_options *options, struct err *err);

/* confinements_free(cs): remove the private temporary directories and their contents. Call it after the last
 * Lisp has ended. */
void confinements_free(struct confinements *cs);

/*
 * confinements_refuse_network(cs, address, err):
 * A process that connects to ${address} may evaluate code in any session: refuse each confinement from which
 * it can be reached, that is, with SANDBOX_NETWORK_ON.
 *
 * address     for people; copied
 * Errors      ERR_INVALID: the server's own is one of these
 */
bool confinements_refuse_network(struct confinements *cs, const char *address, struct err *err);

/* confinements_own(cs): the server's; borrowed like all, until confinements_free(). NULL for NULL. */
const struct confinement *confinements_own(const struct confinements *cs);

/*
 * confinements_choose(cs, mode, network, directory, c, err):
 * The one for a new session, in ${c}; it is made when it is first chosen.
 *
 * mode        borrowed: a name of a mode; NULL: the server's own. ${network} likewise
 * directory   borrowed: the real path of the session's own directory, which is its workspace; NULL: the
 *             server's
 * Errors      ERR_INVALID: it would be looser than the server's own, or would limit only the network;
 *             ERR_LIMIT: there are too many; otherwise as confinements_new()
 */
bool confinements_choose(struct confinements *cs, const char *mode, const char *network,
                         const char *directory, const struct confinement **c, struct err *err);

/*
 * confinements_tighten(cs, c, mode, network, directory, err):
 * Make ${c} at least as strict as these.
 *
 * cs          may be NULL if there is no confinement to make
 * mode        borrowed: the name of a mode; NULL: off. ${network} likewise; NULL: on
 * directory   borrowed, as for confinements_choose(); NULL: that of ${c}
 * Errors      ERR_INVALID: there is no such mode or network, or the directory is not in that of ${c};
 *             otherwise as confinements_choose()
 */
bool confinements_tighten(struct confinements *cs, const struct confinement **c, const char *mode,
                          const char *network, const char *directory, struct err *err);

/* confinement_mode(c), confinement_network(c): their names, as the options --sandbox and --network have
 * them. confinement_is_read_only(c): may its processes not write in the working directory? */
const char *confinement_mode(const struct confinement *c);
const char *confinement_network(const struct confinement *c);
bool confinement_is_read_only(const struct confinement *c);

/* confinement_description(c): its mode, its network, and what this kernel restricts and what not; one line
 * without an end. Borrowed; NULL without a confinement. */
const char *confinement_description(const struct confinement *c);

/* confinement_directory(c): the directory of a session of its own for which it was made, borrowed; NULL: it
 * is for the server's. confinement_root(c): a path of that directory which stays the same one whatever
 * evaluated code does; for this process only. */
const char *confinement_directory(const struct confinement *c);
const char *confinement_root(const struct confinement *c);

/* confinement_sandbox(c): borrowed; NULL without a confinement. */
const struct sandbox *confinement_sandbox(const struct confinement *c);

/* confinement_environment(c): NAME=VALUE for the Lisps; NULL-terminated, borrowed, never NULL, at most
 * CONFINEMENT_MOST_VARIABLES. */
#define CONFINEMENT_MOST_VARIABLES 8
const char *const *confinement_environment(const struct confinement *c);

/* confinement_drafts(c): where a confined Lisp writes its image, on the file system of the saves; borrowed.
 * NULL without a confinement. */
const char *confinement_drafts(const struct confinement *c);

#endif
