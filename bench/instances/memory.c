#include <stdlib.h>

#include "bench/instances/run.h"

ons_status *run_note(run *r, double at, uint32_t device, uint32_t action, uint32_t phase, int64_t bytes) {
    if (bytes == 0) return NULL;
    ONS_CHECK(r->change_count < r->change_room, ONS_DEFECT, "more changes of memory than there is room for");
    r->changes[r->change_count++] = (change){at, device, action, phase, bytes};
    return NULL;
}

static int compare(double a, double b) { return (a > b) - (a < b); }

static int compare_changes(const void *a, const void *b) {
    const change *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->at != y->at) return compare(x->at, y->at);
    if (x->action != y->action) return x->action < y->action ? -1 : 1;
    if (x->phase != y->phase) return x->phase < y->phase ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Weights, which stay. */
static int64_t held_bytes(const run *r, uint32_t device) {
    int64_t held = 0;
    for (uint32_t i = 0; i < r->in->weight_count; ++i) {
        bool used = false;
        for (uint32_t s = 0; s < r->s.stage_count && !used; ++s)
            used = solution_holds(&r->s.stages[s], device) && stage_has_any(&r->s, s, &r->in->weights[i].users);
        if (used) held += r->in->weights[i].bytes;
    }
    return held;
}

ons_status *run_check_memory(run *r, int64_t *fullest) {
    int64_t cap = r->in->memory_bytes;
    qsort(r->changes, r->change_count, sizeof *r->changes, compare_changes);
    *fullest = 0;
    for (uint32_t d = 0, i = 0; d < r->in->devices; ++d) {
        int64_t live = held_bytes(r, d), most = live;
        for (; i < r->change_count && r->changes[i].device == d; ++i) {
            live += r->changes[i].bytes;
            if (live > most) most = live;
        }
        if (most > *fullest) *fullest = most;
        ONS_CHECK(cap == 0 || most <= cap, ONS_INVALID_DATA, "device %u takes %ld bytes, of %ld that it has", d,
                  (long)most, (long)cap);
    }
    return NULL;
}
