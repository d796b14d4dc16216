/*
 * The Lisp half, as text, inside the binary: so that the server can build the core it needs for any SBCL it
 * is given. The definition is generated from the files of agent/ (embed.py).
 */
#ifndef LISP_AGENT_SOURCE_H
#define LISP_AGENT_SOURCE_H

extern const unsigned char agent_source[];
extern const unsigned long agent_source_len;

#endif
