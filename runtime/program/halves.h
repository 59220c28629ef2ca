/* A micro-batch's forward part in two halves of its samples (planner/schedule/slicer.h), each computed by a program of
 * its own: of the same graph, bound to fewer samples.
 *
 *   place of a value in the arena   | of the first half's samples | of the second's |
 *
 * What later parts, messages and the host read lies where the micro-batch's own program has it, so that the two halves
 * are one tensor to them. That needs samples to be the outermost axis in memory. What a half makes and reads itself
 * lies in scratch memory of the forward part.
 *
 * A node that does not work sample by sample (a loss, a sum over samples) and those that read what it makes run once
 * for the whole micro-batch, behind both halves. Nothing that is sent to another stage may depend on one.
 */
#ifndef ONSTAGE_RUNTIME_PROGRAM_HALVES_H
#define ONSTAGE_RUNTIME_PROGRAM_HALVES_H

#include "graph/passes/cut.h"

/* Of a device's graph; ids are those of the whole micro-batch's graph, and of both halves' (halves_align.h). */
typedef struct ons_halves {
    bool *split;             /* [value]: the two halves lie one behind the other; else it is the same for all samples */
    bool *outer;             /* [value]: lies where the whole micro-batch's program has it */
    bool *runs;              /* [node]: each half computes it; other nodes of forward parts run behind both */
    int64_t *bytes[2];       /* [value]: of each half, of those that are split; else of all of it */
    uint32_t *last_position; /* [value]: of outer ones that a forward part makes or reads, the last position of that
                                part, until which the value stays; else 0 */
} ons_halves;

typedef struct ons_halves_options {
    const ons_cut_stage *whole, *half[2];
    const ons_registry *registry;
    int64_t rows[2]; /* samples of each half */
    const ons_value_id *kept;
    size_t kept_count;
} ons_halves_options;

/* Counts the values of the graph that has most. */
size_t ons_halves_value_count(const ons_cut_stage *whole, const ons_cut_stage *const half[2]);

/* Finds what the halves compute, whose graphs are aligned (halves_align.h); everything in `arena`. In the second half's
 * graph, nodes that draw random numbers are told which elements are theirs. ONS_UNSUPPORTED names the node that cannot
 * be computed in halves: one that normalises by the batch, or one on the way to another stage that does not work sample
 * by sample. */
ons_status *ons_halves_find(const ons_halves_options *options, ons_arena *arena, ons_halves *halves);

/* What both halves, and the nodes behind them, read and make stays until the last of them has run: extends `stays` of
 * values (ons_liveness_options), and makes those of nodes' scratch memory, in `arena`. */
ons_status *ons_halves_keep(const ons_halves *halves, const ons_cut_stage *cut, ons_arena *arena, uint32_t *stays,
                            uint32_t **scratch_stays);

#endif
