/*
 * The agent's Lisp sources, embedded as text, so that the server can build a core for any SBCL.
 * embed.py generates the definition from the files of agent/.
 */
#ifndef LISP_AGENT_SOURCE_H
#define LISP_AGENT_SOURCE_H

extern const unsigned char agent_source[];
extern const unsigned long agent_source_len;

#endif
