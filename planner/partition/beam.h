/* Pfeife's search for split points ("Pfeife: Automatic Pipeline Parallelism for PyTorch", Jhoo et al., 2025,
 * section 3.4, algorithm 1, lines 5 to 25): a few of the best splits found are kept, and from each of them one cut is
 * moved by up to ten nodes either way, alone or with the other cuts in proportion, until nothing better comes in. What
 * counts is the critical path of the step, of splits whose devices hold all their stages.
 *
 *   first:    0 ───── p1 ───── p2 ─────── p3 ──── nodes
 *   single:   0 ───── p1 ───────▶ p2 ──── p3 ──── nodes
 *   others in
 *   proportion 0 ──────▶ p1 ────▶ p2 ─────▶ p3 ── nodes      gaps in front grow alike, gaps behind shrink alike
 */
#ifndef ONSTAGE_PLANNER_PARTITION_BEAM_H
#define ONSTAGE_PLANNER_PARTITION_BEAM_H

#include "planner/partition/partition.h"

enum { ONS_BEAM_WIDTH = 32 }; /* L_K of the paper, which does not say how large it is */

typedef struct ons_beam_options {
    double part_seconds;   /* what every forward and backward part takes beside the work of its nodes */
    double least_forward;  /* seconds: splits with a shorter forward part are rejected (appendix E); 0: none are */
    uint64_t most_splits;  /* ends after the critical paths of so many were found, or a little later; 0: no limit */
    const uint32_t *start; /* cuts to begin with beside the even ones; NULL: none */
} ons_beam_options;

typedef struct ons_beam_split {
    uint32_t *first;    /* stages + 1 positions */
    double seconds;     /* of a step: its critical path */
    int64_t over_bytes; /* what the fullest device lacks; 0: all fit */
    uint64_t looked_at; /* splits whose critical path was found */
} ons_beam_split;

/* Searches a split; the problem has its schedule. Begins with cuts that are even in time, in bytes of weights and
 * activations, and, where the model begins with a frozen part, that keep it whole in the first stage, as the paper
 * keeps it out of the pipeline: it has no backward part and holds no place. In `arena`. */
ons_status *ons_beam_search(const ons_planning_problem *problem, const ons_beam_options *options, ons_arena *arena,
                            ons_beam_split *best);

/* Evaluates given cuts, `best->first`, as the search would. */
ons_status *ons_beam_measure(const ons_planning_problem *problem, const ons_beam_options *options, ons_arena *arena,
                             ons_beam_split *best);

#endif
