/* What a stage program is made out of, and the last steps of making it: where in its parts something leaves the device,
 * comes to it, or is waited for. For stage_program.c alone. */
#ifndef ONSTAGE_RUNTIME_PROGRAM_STAGE_MAKER_H
#define ONSTAGE_RUNTIME_PROGRAM_STAGE_MAKER_H

#include "planner/schedule/places.h"
#include "runtime/program/part_readers.h"
#include "runtime/program/stage_program.h"

typedef struct ons_stage_maker {
    const ons_stage_program_options *o;
    const ons_cut_stage *cut;
    const ons_graph *graph;
    ons_stage_program *r;
    const ons_schedule *schedule; /* of as many micro-batches as go in one go; NULL: see the options */
    ons_device_places places;
    uint32_t chunks, parts;
    uint32_t micro_batches;               /* of the device, at most, in one go */
    uint32_t *first_reader, *last_reader; /* of each value: positions; views count as their source */
    uint32_t *arrives, *stays, *rings;    /* of each value: see ons_program_options */
    ons_part_readers *part_readers; /* of each receive, where the list decides which part reads it first and last */
    uint32_t sync_point_count;
} ons_stage_maker;

/* The first position of a part, and the part that a position is in. */
static inline uint32_t ons_stage_maker_begin(const ons_stage_maker *m, ons_part part) {
    return part == ONS_PART_BEGIN ? 0 : m->cut->end[part - 1];
}

static inline ons_part ons_stage_maker_part(const ons_stage_maker *m, uint32_t position) {
    ons_part part = ONS_PART_BEGIN;
    while (part < ons_part_last(m->chunks) && position >= m->cut->end[part]) ++part;
    return part;
}

/* From where on a value may be copied to the host: what comes from another stage, once its first reader has waited for
 * it. */
static inline uint32_t ons_stage_maker_copy_begin(const ons_stage_maker *m, const ons_cut_swap *swap) {
    uint32_t begin = swap->out_after + 1, read = m->first_reader[swap->value] + 1;
    return m->rings[swap->value] > 0 && read > begin ? read : begin;
}

/* sync_points.c: places the sync points, and finds what of each part overwrites something that has left. The program
 * exists, laid out, and all lifetimes are known. */
ons_status *ons_stage_maker_place_sync_points(ons_stage_maker *m);
ons_status *ons_stage_maker_find_hazards(ons_stage_maker *m);

#endif
