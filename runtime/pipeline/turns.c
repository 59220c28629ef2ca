#include "runtime/pipeline/turns.h"

#include <pthread.h>
#include <stdlib.h>

struct ons_turns {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t reached[2]; /* of each worker: what it does next, or does now */
    bool given_up;
};

ons_status *ons_turns_new(ons_turns **result) {
    ons_turns *t = calloc(1, sizeof *t);
    if (t == NULL) return ons_status_out_of_memory();
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->moved, NULL);
    *result = t;
    return NULL;
}

void ons_turns_free(ons_turns *t) {
    if (t == NULL) return;
    pthread_cond_destroy(&t->moved);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static void reach(ons_turns *t, uint32_t own, uint64_t moment) {
    t->reached[own] = moment;
    pthread_cond_broadcast(&t->moved);
}

void ons_turns_await(const ons_turn_end *end, uint64_t moment) {
    ons_turns *t = end->turns;
    pthread_mutex_lock(&t->lock);
    reach(t, end->own, moment);
    while (t->reached[1 - end->own] < moment && !t->given_up) pthread_cond_wait(&t->moved, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void ons_turns_reach(const ons_turn_end *end, uint64_t moment) {
    pthread_mutex_lock(&end->turns->lock);
    reach(end->turns, end->own, moment);
    pthread_mutex_unlock(&end->turns->lock);
}

void ons_turns_give_up(const ons_turn_end *end) {
    if (end->turns == NULL) return;
    pthread_mutex_lock(&end->turns->lock);
    end->turns->given_up = true;
    pthread_cond_broadcast(&end->turns->moved);
    pthread_mutex_unlock(&end->turns->lock);
}
