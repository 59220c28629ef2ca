#include "runtime/verify_steps.h"

#include <stdlib.h>
#include <string.h>

/* A departure that may have to be waited for. */
typedef struct leaving {
    uint32_t departure, micro_batch;
} leaving;

typedef struct lister {
    const ons_stage_program *s;
    ons_verify_steps *steps;
    ONS_VECTOR(leaving) leaving;
    uint32_t capacity; /* of the worker's list: with more the oldest is waited for */
    uint32_t *left;    /* of each departure: how often it was put on its way */
} lister;

static ons_status *add_wait(lister *l, uint32_t departure) {
    ONS_PUSH(l->steps, (ons_verify_step){.kind = ONS_VERIFY_WAIT, .index = departure, .count = l->left[departure]});
    return NULL;
}

static ons_status *leave(lister *l, uint32_t departure, uint32_t micro_batch) {
    if (l->leaving.count == l->capacity) {
        ONS_TRY(add_wait(l, l->leaving.items[0].departure));
        memmove(l->leaving.items, l->leaving.items + 1, --l->leaving.count * sizeof *l->leaving.items);
    }
    ++l->left[departure];
    ONS_PUSH(&l->leaving, (leaving){departure, micro_batch});
    return NULL;
}

/* The first of those that have left before this part and must be gone before `position`; it is forgotten. */
static ons_status *wait_until(lister *l, size_t *before, ons_part part, uint32_t micro_batch, uint32_t position) {
    size_t kept = 0;
    for (size_t i = 0; i < l->leaving.count; ++i) {
        leaving each = l->leaving.items[i];
        const ons_departure *d = &l->s->departures[each.departure];
        bool applies = i < *before && d->conflict[part] <= position &&
                       (!d->of_slot || each.micro_batch % l->s->slots == micro_batch % l->s->slots);
        if (applies) {
            ONS_TRY(add_wait(l, each.departure));
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
        const leaving *each = &l->leaving.items[i];
        const ons_departure *d = &l->s->departures[each->departure];
        if (d->of_slot && each->micro_batch % l->s->slots != micro_batch % l->s->slots) continue;
        if (d->conflict[part] < next) next = d->conflict[part];
    }
    return next;
}

/* What has left in this part must be gone before the part ends; it is forgotten. */
static ons_status *await_departure(lister *l, uint32_t departure, uint32_t micro_batch) {
    for (size_t i = l->leaving.count; i-- > 0;) {
        leaving *each = &l->leaving.items[i];
        if (each->departure != departure || each->micro_batch != micro_batch) continue;
        memmove(each, each + 1, (--l->leaving.count - i) * sizeof *each);
        return add_wait(l, departure);
    }
    return NULL;
}

static ons_status *add_mark(lister *l, const ons_mark *mark, ons_part part, uint32_t micro_batch) {
    if (mark->kind == ONS_MARK_GONE) return await_departure(l, l->s->cut->send_count + mark->index, micro_batch);
    ONS_PUSH(l->steps, (ons_verify_step){.kind = ONS_VERIFY_MARK,
                                         .mark = mark->kind,
                                         .part = part,
                                         .micro_batch = micro_batch,
                                         .index = mark->index});
    if (mark->kind == ONS_MARK_SEND) return leave(l, mark->index, micro_batch);
    if (mark->kind == ONS_MARK_OUT) return leave(l, l->s->cut->send_count + mark->index, micro_batch);
    return NULL;
}

static ons_status *add_nodes(lister *l, ons_part part, uint32_t micro_batch, uint32_t *position, uint32_t end) {
    if (*position >= end) return NULL;
    ONS_PUSH(l->steps,
             (ons_verify_step){
                 .kind = ONS_VERIFY_NODES, .part = part, .micro_batch = micro_batch, .first = *position, .end = end});
    *position = end;
    return NULL;
}

static ons_status *add_part(lister *l, ons_part part, uint32_t micro_batch) {
    const ons_stage_program *s = l->s;
    uint32_t position = part == ONS_PART_BEGIN ? 0 : s->cut->end[part - 1], end = s->cut->end[part];
    uint32_t mark = part == ONS_PART_BEGIN ? 0 : s->mark_end[part - 1];
    size_t before = l->leaving.count;
    ONS_TRY(wait_until(l, &before, part, micro_batch, position));
    ONS_PUSH(l->steps, (ons_verify_step){.kind = ONS_VERIFY_LOAD, .part = part, .micro_batch = micro_batch});
    for (bool going = true; going;) {
        uint32_t marked = mark < s->mark_end[part] ? s->marks[mark].position : ONS_NO_POSITION;
        uint32_t waited = next_wait(l, before, part, micro_batch, ONS_NO_POSITION);
        uint32_t next = marked < waited ? marked : waited;
        going = next != ONS_NO_POSITION;
        ONS_TRY(add_nodes(l, part, micro_batch, &position, going && next < end ? next : end));
        if (going && waited <= marked)
            ONS_TRY(wait_until(l, &before, part, micro_batch, waited));
        else if (going)
            ONS_TRY(add_mark(l, &s->marks[mark++], part, micro_batch));
    }
    return NULL;
}

static ons_status *add_actions(lister *l, const ons_verify_options *o, const ons_action_list *actions) {
    ONS_TRY(add_part(l, ONS_PART_BEGIN, 0));
    for (uint32_t i = 0; i < actions->count; ++i) {
        const ons_action *action = &actions->items[i];
        if (action->kind == ONS_ACTION_FORWARD) ONS_TRY(add_part(l, ONS_PART_FORWARD, action->micro_batch));
        if (action->kind == ONS_ACTION_BACKWARD) ONS_TRY(add_part(l, ONS_PART_BACKWARD, action->micro_batch));
        if (action->kind == ONS_ACTION_UPDATE && o->updates) ONS_TRY(add_part(l, ONS_PART_END, action->micro_batch));
    }
    return NULL;
}

ons_status *ons_verify_list_steps(const ons_verify_options *o, uint32_t stage, ons_verify_steps *steps) {
    const ons_stage_program *s = o->programs[stage];
    uint32_t departures = s->cut->send_count + s->cut->swap_count;
    lister l = {.s = s, .steps = steps, .capacity = departures * (s->slots + 2)};
    l.left = calloc(departures + 1, sizeof *l.left);
    ons_status *status = l.left == NULL ? ons_status_out_of_memory() : add_actions(&l, o, &o->lists[stage]);
    free(l.left);
    ons_vector_free(&l.leaving);
    return status;
}
