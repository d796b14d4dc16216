/*
 * Suspending an idle session: it is saved to an image and its processes end; the next operation resumes it
 * from the image. One session is suspended at a time, because a save keeps a CPU busy for some seconds.
 */
#ifndef SESSION_SUSPENSION_H
#define SESSION_SUSPENSION_H

struct session;
struct suspension;

/* suspension_new(): given. suspension_free(p). */
struct suspension *suspension_new(void);
void suspension_free(struct suspension *p);

/* suspension_resume(s): SUSPENDED: start the image: STARTING. */
void suspension_resume(struct session *s);

#endif
