#include "planner/schedule/places.h"

typedef struct finder {
    const ons_action_list *list;
    uint32_t chunks, parts, micro_batches; /* of a copy */
    uint32_t *chunk_of;                    /* [stage] */
    uint32_t *at;                          /* [part · micro-batches + micro-batch]: where the list has it */
} finder;

static uint32_t *place_of(const finder *f, ons_part part, uint32_t micro_batch) {
    return &f->at[(size_t)part * f->micro_batches + micro_batch];
}

static void note(const finder *f, uint32_t i) {
    const ons_action *a = &f->list->items[i];
    uint32_t chunk = f->chunk_of[a->stage];
    ons_part backward = ons_part_of(f->chunks, ONS_PART_BACKWARD, chunk);
    if (a->kind == ONS_ACTION_FORWARD)
        *place_of(f, ons_part_of(f->chunks, ONS_PART_FORWARD, chunk), a->micro_batch) = i;
    if (a->kind == ONS_ACTION_BACKWARD || a->kind == ONS_ACTION_INPUT_GRADIENT)
        *place_of(f, backward, a->micro_batch) = i;
    if (a->kind == ONS_ACTION_BACKWARD || a->kind == ONS_ACTION_WEIGHT_GRADIENT)
        *place_of(f, backward + 1, a->micro_batch) = i;
}

/* The last of what runs of a micro-batch from one part to another. */
static uint32_t end_of(const finder *f, ons_part from, ons_part to, uint32_t micro_batch) {
    uint32_t end = 0;
    for (ons_part part = from; part <= to; ++part) {
        uint32_t at = *place_of(f, part, micro_batch);
        end = at > end ? at : end;
    }
    return end;
}

/* The first of it. */
static uint32_t begin_of(const finder *f, ons_part from, ons_part to, uint32_t micro_batch) {
    uint32_t begin = UINT32_MAX;
    for (ons_part part = from; part <= to; ++part) {
        uint32_t at = *place_of(f, part, micro_batch);
        begin = at < begin ? at : begin;
    }
    return begin;
}

/* Of an action that is no update; a whole backward part counts as its first half. */
static ons_part part_of(const finder *f, const ons_action *a) {
    uint32_t chunk = f->chunk_of[a->stage];
    ons_part_kind kind = a->kind == ONS_ACTION_FORWARD           ? ONS_PART_FORWARD
                         : a->kind == ONS_ACTION_WEIGHT_GRADIENT ? ONS_PART_WEIGHT
                                                                 : ONS_PART_BACKWARD;
    return ons_part_of(f->chunks, kind, chunk);
}

/* Whether all that stands in between in the list is of the micro-batch itself, and in the order of its parts. */
static bool is_alone(const finder *f, uint32_t micro_batch, uint32_t begin, uint32_t end) {
    ons_part last = ONS_PART_BEGIN;
    for (uint32_t i = begin; i <= end; ++i) {
        const ons_action *a = &f->list->items[i];
        if (a->micro_batch != micro_batch || a->kind == ONS_ACTION_UPDATE || part_of(f, a) < last) return false;
        last = part_of(f, a);
    }
    return true;
}

/* Micro-batches come to a part in ascending order, and leave it so. */
static uint32_t count(const finder *f, ons_part from, ons_part to) {
    uint32_t most = 1, oldest = 0, m = f->micro_batches;
    bool alone = true;
    for (uint32_t i = 0; i < m; ++i) {
        while (end_of(f, from, to, oldest) < begin_of(f, from, to, i)) ++oldest;
        if (i - oldest + 1 > most) most = i - oldest + 1;
        alone = alone && is_alone(f, i, begin_of(f, from, to, i), end_of(f, from, to, i));
    }
    return most == 1 && alone ? 0 : most;
}

static bool is_ordered(const finder *f) {
    ons_part last = ons_part_last(f->chunks);
    for (uint32_t i = 0; i < f->micro_batches; ++i)
        for (ons_part part = ONS_PART_FORWARD + 1; part < last; ++part)
            if (*place_of(f, part, i) < *place_of(f, part - 1, i)) return false;
    return true;
}

ons_status *ons_schedule_places(const ons_schedule *s, uint32_t device, ons_arena *arena, ons_device_places *places) {
    uint32_t *of;
    finder f = {.list = &s->lists[device]};
    ONS_NEW(f.chunk_of, arena, s->stages);
    for (uint32_t stage = 0; stage < s->stages; ++stage) {
        if (!ons_schedule_holds(s, stage, device)) continue;
        f.chunk_of[stage] = f.chunks++;
        f.micro_batches = ons_schedule_copy_micro_batches(s, stage); /* all stages of a device have as many */
    }
    f.parts = ons_part_count(f.chunks);
    ONS_NEW(f.at, arena, (size_t)f.parts * f.micro_batches);
    ONS_NEW(of, arena, (size_t)f.parts * f.parts);
    for (uint32_t i = 0; i < f.list->count; ++i) note(&f, i);
    ons_part last = ons_part_last(f.chunks);
    for (ons_part from = ONS_PART_FORWARD; from < last; ++from)
        for (ons_part to = from + 1; to < last; ++to) of[from * f.parts + to] = count(&f, from, to);
    *places = (ons_device_places){f.chunks, f.micro_batches, of, f.at, is_ordered(&f)};
    return NULL;
}
