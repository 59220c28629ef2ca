#include "runtime/verify/verify_steps.h"

#include <stdlib.h>
#include <string.h>

/* An outgoing transfer that may have to be waited for. */
typedef struct leaving {
    uint32_t half, transfer, micro_batch;
    uint32_t copy; /* of the receiver */
} leaving;

typedef struct lister {
    const ons_verify_options *o;
    uint32_t stage;
    ons_lineup lineup;
    ons_verify_share share;
    const ons_stage_program *s; /* whose part is listed */
    uint32_t half;
    ons_verify_steps *steps;
    ONS_VECTOR(leaving) leaving;
    uint32_t capacity;           /* of the worker's list: with more the oldest is waited for */
    uint32_t *left[2];           /* of each outgoing transfer and copy that receives it: how often it was sent */
    uint32_t copies;             /* of any receiver, at most */
    ons_sample_half sample_half; /* of the nodes that are listed */
    bool behind_halves;
} lister;

static ons_status *add_step(lister *l, ons_verify_step step) {
    step.half = l->half;
    ONS_PUSH(l->steps, step);
    return NULL;
}

static uint32_t *times_left(const lister *l, const leaving *each) {
    return &l->left[each->half][(size_t)each->transfer * l->copies + each->copy];
}

static ons_status *add_wait(lister *l, const leaving *from) {
    ONS_PUSH(l->steps, (ons_verify_step){.kind = ONS_VERIFY_WAIT,
                                         .half = from->half,
                                         .index = from->transfer,
                                         .copy = from->copy,
                                         .count = *times_left(l, from)});
    return NULL;
}

static ons_status *note_leaving(lister *l, uint32_t transfer, uint32_t copy, uint32_t micro_batch) {
    const leaving each = {l->half, transfer, micro_batch, copy};
    if (l->leaving.count == l->capacity) {
        ONS_TRY(add_wait(l, &l->leaving.items[0]));
        memmove(l->leaving.items, l->leaving.items + 1, --l->leaving.count * sizeof *l->leaving.items);
    }
    ++*times_left(l, &each);
    ONS_PUSH(&l->leaving, each);
    return NULL;
}

/* To copies that have the same samples; what a step sends once to each of those that take it from this one. */
static bool goes_to(const lister *l, const ons_cut_transfer *t, uint32_t copy, uint32_t copies, uint32_t micro_batch) {
    if (t->kind == ONS_PART_END && !l->o->asynchronous) return copy % l->share.copies == l->share.copy;
    uint32_t size = ons_units_size(l->o->sizes, l->stage);
    uint32_t other = ons_units_size(l->o->sizes, ons_verify_group(l->o, t->peer).first);
    const ons_unit_share own = {size, l->share.copies, l->share.copy}, there = {other, copies, copy};
    bool in_pieces = size != other && ons_units_is_cut(t->kind) && !l->o->rest;
    uint64_t first = (l->share.number + (uint64_t)micro_batch * l->share.copies) * size;
    return ons_units_next_common(&own, &there, first) < first + (in_pieces ? size : 1);
}

static ons_status *add_sends(lister *l, uint32_t index, ons_part part, uint32_t micro_batch) {
    const ons_cut_transfer *t = &l->s->cut->sends[index];
    uint32_t copies = ons_verify_group(l->o, t->peer).copies;
    for (uint32_t copy = 0; copy < copies; ++copy) {
        if (!goes_to(l, t, copy, copies, micro_batch)) continue;
        ONS_TRY(add_step(l, (ons_verify_step){.kind = ONS_VERIFY_SYNC,
                                              .sync = ONS_SYNC_SEND,
                                              .part = part,
                                              .micro_batch = micro_batch,
                                              .index = index,
                                              .copy = copy}));
        ONS_TRY(note_leaving(l, index, copy, micro_batch));
    }
    return NULL;
}

/* From where on in the part that is listed it must be gone; see conflict_of in worker_pass.c. */
static uint32_t conflict_of(const lister *l, const leaving *each, ons_part part, uint32_t micro_batch) {
    const ons_hazard *d = &l->lineup.programs[each->half]->hazards[each->transfer];
    if (d->slots > 0 && each->micro_batch % d->slots != micro_batch % d->slots) return ONS_NO_POSITION;
    if (each->half == l->half) return d->conflict[part];
    return d->conflicts ? 0 : ONS_NO_POSITION;
}

/* The first of those that have left before this part and must be gone before `position`; it is forgotten. */
static ons_status *wait_until(lister *l, size_t *before, ons_part part, uint32_t micro_batch, uint32_t position) {
    size_t kept = 0;
    for (size_t i = 0; i < l->leaving.count; ++i) {
        leaving each = l->leaving.items[i];
        if (i < *before && conflict_of(l, &each, part, micro_batch) <= position) {
            ONS_TRY(add_wait(l, &each));
            continue;
        }
        l->leaving.items[kept++] = each;
    }
    *before -= l->leaving.count - kept;
    l->leaving.count = kept;
    return NULL;
}

/* The next position up to `end` at which something must be gone. */
static uint32_t next_wait(const lister *l, size_t before, ons_part part, uint32_t micro_batch, uint32_t end) {
    uint32_t next = end;
    for (size_t i = 0; i < before; ++i) {
        uint32_t conflict = conflict_of(l, &l->leaving.items[i], part, micro_batch);
        if (conflict < next) next = conflict;
    }
    return next;
}

/* What has left in this part must be gone before the part ends; it is forgotten. */
static ons_status *await_transfer(lister *l, uint32_t transfer, uint32_t micro_batch) {
    for (size_t i = l->leaving.count; i-- > 0;) {
        leaving *each = &l->leaving.items[i], found = *each;
        if (each->half != l->half || each->transfer != transfer || each->micro_batch != micro_batch) continue;
        memmove(each, each + 1, (--l->leaving.count - i) * sizeof *each);
        return add_wait(l, &found);
    }
    return NULL;
}

static ons_status *add_sync_point(lister *l, const ons_sync_point *sync_point, ons_part part, uint32_t micro_batch) {
    if (sync_point->kind == ONS_SYNC_GONE)
        return await_transfer(l, l->s->cut->send_count + sync_point->index, micro_batch);
    if (sync_point->kind == ONS_SYNC_SEND) return add_sends(l, sync_point->index, part, micro_batch);
    ONS_TRY(add_step(l, (ons_verify_step){.kind = ONS_VERIFY_SYNC,
                                          .sync = sync_point->kind,
                                          .part = part,
                                          .micro_batch = micro_batch,
                                          .index = sync_point->index}));
    if (sync_point->kind == ONS_SYNC_OUT)
        return note_leaving(l, l->s->cut->send_count + sync_point->index, 0, micro_batch);
    return NULL;
}

static ons_status *add_nodes(lister *l, ons_part part, uint32_t micro_batch, uint32_t *position, uint32_t end) {
    if (*position >= end) return NULL;
    ONS_TRY(add_step(l, (ons_verify_step){.kind = ONS_VERIFY_NODES,
                                          .sample_half = l->sample_half,
                                          .behind_halves = l->behind_halves,
                                          .part = part,
                                          .micro_batch = micro_batch,
                                          .first = *position,
                                          .end = end}));
    *position = end;
    return NULL;
}

/* Of a part in halves: what comes is awaited by the first, what goes has all been made by the second, and the rest is
 * done behind both; see walk_halves in worker_pass.c. Messages that come in two are played as one. */
static bool is_due(const lister *l, const ons_sync_point *sync_point, ons_part part, uint32_t micro_batch) {
    ons_sync_kind kind = sync_point->kind;
    if (l->sample_half == ONS_FIRST_HALF && kind != ONS_SYNC_AWAIT) return false;
    if (l->sample_half == ONS_SECOND_HALF && kind != ONS_SYNC_SEND) return false;
    if (l->behind_halves && (kind == ONS_SYNC_AWAIT || kind == ONS_SYNC_SEND)) return false;
    return ons_stage_program_applies(l->s, sync_point, part, micro_batch);
}

/* `before`: transfers that left before this part, which may have to be gone. */
static ons_status *walk_part(lister *l, size_t *before, ons_part part, uint32_t micro_batch) {
    const ons_stage_program *s = l->s;
    uint32_t position = part == ONS_PART_BEGIN ? 0 : s->cut->end[part - 1], end = s->cut->end[part];
    uint32_t sync_point = part == ONS_PART_BEGIN ? 0 : s->sync_point_end[part - 1];
    for (bool going = true; going;) {
        uint32_t next_sync =
            sync_point < s->sync_point_end[part] ? s->sync_points[sync_point].position : ONS_NO_POSITION;
        uint32_t waited = next_wait(l, *before, part, micro_batch, ONS_NO_POSITION);
        uint32_t next = next_sync < waited ? next_sync : waited;
        going = next != ONS_NO_POSITION;
        ONS_TRY(add_nodes(l, part, micro_batch, &position, going && next < end ? next : end));
        if (going && waited <= next_sync)
            ONS_TRY(wait_until(l, before, part, micro_batch, waited));
        else if (going && is_due(l, &s->sync_points[sync_point++], part, micro_batch))
            ONS_TRY(add_sync_point(l, &s->sync_points[sync_point - 1], part, micro_batch));
    }
    return NULL;
}

static ons_status *walk_halves(lister *l, size_t *before, ons_part part, uint32_t micro_batch) {
    for (l->sample_half = ONS_FIRST_HALF; l->sample_half <= ONS_SECOND_HALF; ++l->sample_half)
        ONS_TRY(walk_part(l, before, part, micro_batch));
    l->sample_half = ONS_ALL_SAMPLES;
    l->behind_halves = true;
    ons_status *status = walk_part(l, before, part, micro_batch);
    l->behind_halves = false;
    return status;
}

static ons_status *add_part_of(lister *l, uint32_t half, ons_part part, uint32_t micro_batch, bool halved) {
    const ons_stage_program *s = l->s = l->lineup.programs[half];
    l->half = half;
    size_t before = l->leaving.count;
    ONS_TRY(wait_until(l, &before, part, micro_batch, part == ONS_PART_BEGIN ? 0 : s->cut->end[part - 1]));
    ONS_TRY(add_step(l, (ons_verify_step){.kind = ONS_VERIFY_LOAD, .part = part, .micro_batch = micro_batch}));
    ONS_CHECK(!halved || s->halves != NULL, ONS_DEFECT, "a micro-batch is to be computed in halves, without programs");
    return halved ? walk_halves(l, &before, part, micro_batch) : walk_part(l, &before, part, micro_batch);
}

static ons_status *add_part(lister *l, ons_part part, uint32_t micro_batch, bool halved) {
    ons_part_kind kind = ons_stage_program_kind(l->lineup.programs[0], part);
    uint32_t half = ons_lineup_find(&l->lineup, kind, micro_batch, l->share.micro_batches, l->o->asynchronous);
    return add_part_of(l, half, part, micro_batch, halved);
}

static ons_status *add_actions(lister *l, const ons_verify_options *o, const ons_action_list *actions) {
    ONS_TRY(add_part_of(l, 0, ONS_PART_BEGIN, 0, false));
    if (l->lineup.programs[1] != NULL) ONS_TRY(add_part_of(l, 1, ONS_PART_BEGIN, 0, false));
    for (uint32_t i = 0; i < actions->count; ++i) {
        const ons_action *action = &actions->items[i];
        ons_part part;
        if (!ons_stage_program_part(l->lineup.programs[0], actions, i, o->asynchronous, &part)) continue;
        bool halved = action->halved && o->halves;
        if (action->kind != ONS_ACTION_UPDATE || o->updates) ONS_TRY(add_part(l, part, action->micro_batch, halved));
    }
    return NULL;
}

ons_lineup ons_verify_lineup(const ons_verify_options *o, uint32_t stage) {
    return (ons_lineup){{o->programs[stage], o->seconds == NULL ? NULL : o->seconds[stage]},
                        ons_verify_share_of(o, stage).first_count};
}

static uint32_t count_transfers(const ons_stage_program *s) { return s->cut->send_count + s->cut->swap_count; }

ons_status *ons_verify_list_steps(const ons_verify_options *o, uint32_t stage, ons_verify_steps *steps) {
    lister l = {.o = o,
                .stage = stage,
                .lineup = ons_verify_lineup(o, stage),
                .share = ons_verify_share_of(o, stage),
                .steps = steps};
    uint32_t most = 0;
    l.copies = 1;
    for (int half = 0; half < 2 && l.lineup.programs[half] != NULL; ++half) {
        const ons_stage_program *s = l.lineup.programs[half];
        uint32_t capacity = count_transfers(s) * (s->slots + 2);
        l.capacity = capacity > l.capacity ? capacity : l.capacity;
        most = count_transfers(s) > most ? count_transfers(s) : most;
        for (uint32_t i = 0; i < s->cut->send_count; ++i) {
            uint32_t copies = ons_verify_group(o, s->cut->sends[i].peer).copies;
            l.copies = copies > l.copies ? copies : l.copies;
        }
    }
    uint32_t *left = calloc(2 * (size_t)most * l.copies + 1, sizeof *left);
    if (left == NULL) return ons_status_out_of_memory();
    l.left[0] = left;
    l.left[1] = left + (size_t)most * l.copies;
    ons_status *status = add_actions(&l, o, &o->lists[stage]);
    free(left);
    ons_vector_free(&l.leaving);
    return status;
}
