/* Stages whose micro-batches are several units of a step (GraphPipe's b_i; ons_stage_grouping): each computes by
 * programs of a graph for as many samples. What their graphs must have for that, and what goes between stages of
 * different sizes.
 *
 *   units of the step      | 0 | 1 | 2 | 3 | 4 | 5 |
 *   sender, 3 at once      |     0     |     1     |
 *   receiver, 2 at once    |   0   |   1   |   2   |      A message goes in pieces: of what a micro-batch of the sender
 *   pieces                 |   .   | . | . |   .   |      and one of the receiver have in common.
 *
 * So samples must be the outermost axis in memory of all that goes between them. Where stages have copies, too, which
 * take its micro-batches in turn, a message has pieces for several of them:
 *
 *   sender, 3 at once      |     0     |     1     |
 *   copies of 1 at once    | 0 | 1 | 0 | 1 | 0 | 1 |      The sender's 0 goes to copy 0 as units 0 and 2, to copy 1 as
 *                                                         unit 1.
 */
#ifndef ONSTAGE_RUNTIME_PROGRAM_UNITS_H
#define ONSTAGE_RUNTIME_PROGRAM_UNITS_H

#include "graph/passes/cut.h"
#include "planner/schedule/device_groups.h"

/* The fewest units that every stage can divide into its micro-batches: a step, and what is left of an epoch's samples,
 * are computed in groups of so many. 1: all micro-batches are units. */
uint32_t ons_units_together(const ons_schedule *schedule);

/* Gives the units of a micro-batch of the device's stages. */
uint32_t ons_units_of_device(const ons_schedule *schedule, uint32_t device);

/* Units of a micro-batch of each device's stages, in `arena`; NULL: one everywhere. */
ons_status *ons_units_sizes(const ons_schedule *schedule, ons_arena *arena, uint32_t **sizes);
/* Units of a micro-batch of each group of devices (planner/schedule/device_groups.h), as cuts number them. */
ons_status *ons_units_group_sizes(const ons_schedule *schedule, ons_arena *arena, uint32_t **sizes);

static inline uint32_t ons_units_size(const uint32_t *sizes, uint32_t device) {
    return sizes == NULL ? 1 : sizes[device];
}

/* Gives the unit behind the piece that begins with unit `first`; `size`, `other`: of the micro-batches of either end.
 */
static inline uint64_t ons_units_piece_end(uint64_t first, uint32_t size, uint32_t other) {
    uint64_t own = first / size * size + size, others = first / other * other + other;
    return own < others ? own : others;
}

/* Which units of a step a copy of a stage has: those of its micro-batches, `size` each, which it takes in turn with the
 * others. */
typedef struct ons_unit_share {
    uint32_t size, copies, copy;
} ons_unit_share;

/* Gives the first unit from `unit` on that the copy has. */
static inline uint64_t ons_unit_share_next(const ons_unit_share *share, uint64_t unit) {
    uint64_t number = unit / share->size;
    uint64_t turns = (share->copy + share->copies - number % share->copies) % share->copies;
    return turns == 0 ? unit : (number + turns) * share->size;
}

/* Gives the first unit from `unit` on that copies of two stages have both; UINT64_MAX: there is none. */
uint64_t ons_units_next_common(const ons_unit_share *a, const ons_unit_share *b, uint64_t unit);

/* Messages of these parts come for every micro-batch; the others once. */
static inline bool ons_units_is_cut(ons_part_kind kind) { return kind != ONS_PART_BEGIN && kind != ONS_PART_END; }

/* Lets the nodes of `graph`, bound to `rows` samples, that draw random numbers draw those that its units would draw,
 * which are micro-batches of `unit`: the same model's graph for `unit_rows` samples. ONS_UNSUPPORTED names a node that
 * cannot. Nothing happens where `graph` is of one unit, or of less. */
ons_status *ons_units_number_elements(const ons_graph *unit, int64_t unit_rows, ons_graph *graph, int64_t rows);

/* Checks that what goes between devices of different sizes can go in pieces. `cuts`, `sizes`: [device of the cuts]; a
 * cut is of the graph that the device's programs are of. ONS_UNSUPPORTED names the first value that cannot. */
ons_status *ons_units_check_messages(const ons_cut *const *cuts, const uint32_t *sizes, const ons_registry *registry);

#endif
