#include "runtime/data/checksum.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

struct ons_checksum {
    pthread_t thread;
    bool threaded, ends; /* ends: after what is there nothing more comes */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const void *bytes; /* to be summed; NULL: all is */
    size_t size;
    uint32_t sum;
};

static void *sum_all(void *argument) {
    ons_checksum *c = argument;
    pthread_mutex_lock(&c->lock);
    while (!c->ends || c->bytes != NULL) {
        if (c->bytes == NULL) {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        pthread_mutex_unlock(&c->lock);
        c->sum = (uint32_t)crc32_z(c->sum, c->bytes, c->size); /* nobody else touches them while there are bytes */
        pthread_mutex_lock(&c->lock);
        c->bytes = NULL;
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

ons_status *ons_checksum_new(ons_checksum **result) {
    ons_checksum *c = calloc(1, sizeof *c);
    if (c == NULL) return ons_status_out_of_memory();
    c->sum = (uint32_t)crc32_z(0, NULL, 0);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    c->threaded = pthread_create(&c->thread, NULL, sum_all, c) == 0;
    *result = c;
    return NULL;
}

/* With the lock. */
static void wait_for_last(ons_checksum *c) {
    while (c->bytes != NULL) pthread_cond_wait(&c->changed, &c->lock);
}

void ons_checksum_add(ons_checksum *c, const void *bytes, size_t size) {
    if (size == 0) return;
    if (!c->threaded) {
        c->sum = (uint32_t)crc32_z(c->sum, bytes, size);
        return;
    }
    pthread_mutex_lock(&c->lock);
    wait_for_last(c);
    c->bytes = bytes;
    c->size = size;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

uint32_t ons_checksum_end(ons_checksum *c) {
    if (c == NULL) return 0;
    if (c->threaded) {
        pthread_mutex_lock(&c->lock);
        c->ends = true;
        pthread_cond_broadcast(&c->changed);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->thread, NULL);
    }
    uint32_t sum = c->sum;
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
    return sum;
}
