/*
 * Suspending an idle session: it is saved to an image and its processes end; the next operation resumes it
 * from the image. One session is suspended at a time, because a save keeps a CPU busy for some seconds.
 */
#ifndef SESSION_LIFE_SUSPENSION_H
#define SESSION_LIFE_SUSPENSION_H

struct session;

/* suspension_resume(s): SUSPENDED: start the image: STARTING. */
void suspension_resume(struct session *s);

#endif
