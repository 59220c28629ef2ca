/* Pfeife's planner ("Pfeife: Automatic Pipeline Parallelism for PyTorch", Jhoo et al., 2025, section 3.4, algorithm 1):
 * schedule and cuts together. For each schedule of its vectors (B, N_l, B_l, B_f) cuts are looked for on the critical
 * path, under the devices' memory (planner/partition/beam.h); the fastest pair is taken.
 */
#ifndef ONSTAGE_PLANNER_SEARCH_PFEIFE_H
#define ONSTAGE_PLANNER_SEARCH_PFEIFE_H

#include "planner/partition/beam.h"
#include "planner/schedule/looped.h"

typedef struct ons_pfeife_options {
    uint32_t least_loops, most_loops; /* N_l; 0: from 1, up to 3 as in the paper */
    uint32_t most_prefetch;           /* the largest B_f; ONS_PFEIFE_ANY: one less than there are devices */
    bool endless_room;                /* schedules are tried as if receivers had room for all messages, as the paper has
                                         it; else those alone that ons_schedule_verify takes */
    ons_beam_options beam;
} ons_pfeife_options;
enum { ONS_PFEIFE_ANY = UINT32_MAX };

typedef struct ons_pfeife_plan {
    ons_looped_vectors *vectors;
    ons_pipeline pipeline; /* with a generator of these vectors */
    ons_schedule *schedule;
    ons_beam_split split;
    uint32_t schedules; /* that cuts were looked for */
    uint32_t refused;   /* that are in the space as well, but hang with the room that receivers have */
    uint64_t looked_at; /* splits of all schedules whose critical path was found */
} ons_pfeife_plan;

/* The paper does not say which B_f it tries. Here they are min(k, D - 1 - d) for device d of D, from k = 0, which is
 * 1F1B or its looped form, to k = D - 1, which is Megatron's: figure 3's (2, 2, 1, 0) is k = 2, and table 5 names k
 * alone. B_l are the divisors of B that are no smaller than D; with one loop B_l says nothing and is B.
 *
 * Of the problem, the devices and micro-batches of the pipeline are looked at, and its generator and schedule are not.
 * What does not fit comes back with what its fullest device lacks. Fewer micro-batches than devices are
 * ONS_INVALID_ARGUMENT: B_l has no value; so is a space in which every schedule hangs. Everything in `arena`. */
ons_status *ons_pfeife_search(const ons_planning_problem *problem, const ons_pfeife_options *options, ons_arena *arena,
                              ons_pfeife_plan *plan);

#endif
