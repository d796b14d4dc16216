/*
 * Suspending a session that nobody has used for a while: it is saved to an image and its processes end; when
 * it is next used it comes back from the image. One session at a time is suspended, since to save one takes a
 * processor for some seconds.
 */
#ifndef SESSION_SUSPENSION_H
#define SESSION_SUSPENSION_H

struct session;
struct suspension;

struct suspension *suspension_new(void);
void suspension_free(struct suspension *p);

/* suspension_wake(s): ASLEEP: start the image: WAKING. */
void suspension_wake(struct session *s);

#endif
