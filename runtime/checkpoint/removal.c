#include "runtime/checkpoint/removal.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

/* The one thread of the process that gives back. */
static struct {
    pthread_mutex_t lock;
    pthread_t thread;
    bool runs;           /* and is to be joined */
    ons_removal removal; /* the thread's while it runs */
} giver = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void give_back(ons_removal *removal) {
    for (size_t i = 0; i < removal->held.count; ++i) close(removal->held.items[i]);
    ons_vector_free(&removal->held);
}

static void *give_all_back(void *removal) {
    give_back(removal);
    return NULL;
}

/* With the lock. */
static void wait_for_last(void) {
    if (giver.runs) pthread_join(giver.thread, NULL);
    giver.runs = false;
}

void ons_removal_add(ons_removal *removal, const char *path) {
    /* By its path alone: it need not be readable, and a network's server does not keep it for us. */
    int descriptor = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    unlink(path);
    if (descriptor >= 0 && !ons_vector_push(&removal->held, descriptor)) close(descriptor);
}

void ons_removal_end(ons_removal *removal) {
    if (removal->held.count == 0) return;
    pthread_mutex_lock(&giver.lock);
    wait_for_last();
    giver.removal = *removal;
    giver.runs = pthread_create(&giver.thread, NULL, give_all_back, &giver.removal) == 0;
    if (!giver.runs) give_back(&giver.removal);
    pthread_mutex_unlock(&giver.lock);
    *removal = (ons_removal){0};
}

void ons_removal_wait(void) {
    pthread_mutex_lock(&giver.lock);
    wait_for_last();
    pthread_mutex_unlock(&giver.lock);
}
