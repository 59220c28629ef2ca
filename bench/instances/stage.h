/* Times and memory of a stage for one micro-batch, walked node by node (README.md, "Memory"). */
#ifndef ONSTAGE_BENCH_INSTANCES_STAGE_H
#define ONSTAGE_BENCH_INSTANCES_STAGE_H

#include "bench/instances/solution.h"

/* A tensor that is copied to the host (solution_swap of the same number). Positions in the stage. */
typedef struct stage_swap {
    int64_t bytes;
    double seconds;   /* of each copy */
    uint32_t made_by; /* NOBODY: by another stage, or nobody */
    bool is_data;     /* it comes with the data */
    uint32_t used_by; /* the last forward part that reads or makes it; data and what arrives, that nothing reads: 0 */
    bool is_sent;     /* to another stage */
    uint32_t needed_by, done_by; /* the first and the last backward part, as they run, that it has to be there for */
} stage_swap;

typedef struct stage_costs {
    double forward, backward, input, weight, update; /* seconds; backward and input with what runs again */
    /* bytes */
    int64_t
        forward_peak; /* more than before, while the forward part runs; what arrives from other stages not counted */
    int64_t kept;     /* from the forward part's end on, with what arrived */
    int64_t backward_peak, input_peak, weight_peak; /* more than `kept` (weight: and than `apart`) */
    int64_t apart;                                  /* from the input gradients' end to the weight gradients' */
    /* of parts in which copies are waited for; what is swapped is in none of the bytes above */
    double *again; /* [position]: seconds of what runs again in front of its backward part */
    stage_swap *swaps;
} stage_costs;

/* `in`: with the costs of as many micro-batches as the stage takes at once. ONS_INVALID_DATA where something that may
 * run once alone would have to run again. Scratch in `arena`. */
ons_status *stage_measure(const instance *in, const solution *s, uint32_t stage, ons_arena *arena, stage_costs *costs);

/* Tests whether the node is of the stage. */
static inline bool stage_has(const solution *s, uint32_t stage, uint32_t node) {
    return node != NOBODY && s->stage_of[node] == stage;
}
bool stage_has_any(const solution *s, uint32_t stage, const number_list *nodes);

#endif
