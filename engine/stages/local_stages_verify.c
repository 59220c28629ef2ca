#include "engine/stages/local_stages_verify.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/verify/verify_stages.h"

enum { PASSES_MOST = 3 + ONS_BATCH_VARIANTS }; /* a whole step, an epoch's last one in two; validation */

typedef struct verifying {
    const ons_local_stages_options *o;
    const ons_device_groups *groups;
    const ons_local_stage *stages; /* of one replica, in this process */
    uint32_t *sizes;               /* [device]: see ons_verify_options */
    uint32_t rank_count;
    ons_arena *arena;
    ons_verify_options passes[PASSES_MOST];
    uint32_t count;
    ons_verify_bytes *manifests; /* by each device */
} verifying;

/* ----------------------------------------------------------------------------------------------------------- passes */

/* A pass while it is described, device by device. */
typedef struct description {
    ons_verify_options *pass;
    const ons_stage_program **programs, **seconds;
    ons_verify_share *shares;
    ons_action_list *lists;
} description;

static ons_status *begin_pass(verifying *v, description *d) {
    uint32_t devices = v->o->schedule->devices;
    ONS_NEW(d->programs, v->arena, devices + 1);
    ONS_NEW(d->seconds, v->arena, devices + 1);
    ONS_NEW(d->shares, v->arena, devices + 1);
    ONS_NEW(d->lists, v->arena, devices + 1);
    d->pass = &v->passes[v->count++];
    *d->pass = (ons_verify_options){.stages = devices,
                                    .groups = v->groups->items,
                                    .shares = d->shares,
                                    .programs = d->programs,
                                    .seconds = d->seconds,
                                    .lists = d->lists};
    return NULL;
}

static ons_verify_share share_of(const verifying *v, const ons_local_stage *stage) {
    bool copied = stage->rank_group.in_turn;
    return (ons_verify_share){.group = v->groups->of_device[stage->device],
                              .copy = copied ? stage->rank_group.own : 0,
                              .copies = copied ? stage->rank_group.count : 1};
}

static ons_status *list_actions(const verifying *v, uint32_t device, uint32_t micro_batches, ons_action_list *list) {
    ons_schedule own;
    if (v->o->schedule->groupings != NULL)
        return ons_device_list_shorten(&v->o->schedule->lists[device], micro_batches, v->arena, list);
    ONS_TRY(ons_schedule_shorten(v->o->schedule, micro_batches, v->arena, &own));
    *list = own.lists[device];
    return NULL;
}

/* What a device computes of the step's micro-batches of two variants, the second behind the first; of a copy that has
 * none of them the update is left. */
static ons_status *describe_device(const verifying *v, const ons_local_stage *stage, const ons_numbers *numbers,
                                   const ons_portions *own, ons_batch_variant variant, description *d) {
    const ons_share_program *programs = stage->training.programs;
    ons_verify_share *share = &d->shares[stage->device];
    uint32_t first = (uint32_t)own->count[variant];
    uint32_t second = variant == ONS_WHOLE ? (uint32_t)own->count[ONS_SHORTER] : 0;
    if (first == 0) variant = second > 0 ? ONS_SHORTER : ONS_WHOLE;
    *share = share_of(v, stage);
    share->micro_batches = first + second;
    share->first_count = first;
    share->number = (uint32_t)numbers->first;
    share->variant = variant;
    d->programs[stage->device] = &programs[variant].stage;
    if (first > 0 && second > 0) d->seconds[stage->device] = &programs[ONS_SHORTER].stage;
    return list_actions(v, stage->device, first + second, &d->lists[stage->device]);
}

/* Part of a training step: whole and shorter micro-batches, or the rest, which is the last one. */
static ons_status *add_training(verifying *v, ons_batch_variant variant, const ons_portions *p) {
    description d;
    if (variant == ONS_WHOLE && !v->stages[0].rank_group.in_turn &&
        ons_rank_group_numbers(&v->stages[0].rank_group, v->stages[0].rank_group.own, ons_portions_together(p)).count ==
            0)
        return NULL;
    ONS_TRY(begin_pass(v, &d));
    for (uint32_t i = 0; i < v->rank_count; ++i) {
        const ons_local_stage *stage = &v->stages[i];
        uint32_t parts = ons_units_together(v->o->schedule) / ons_units_size(v->sizes, stage->device);
        ons_portions of_stage = ons_portions_in_parts(*p, parts);
        uint64_t total = ons_portions_together(&of_stage);
        ons_numbers numbers = ons_rank_group_numbers(&stage->rank_group, stage->rank_group.own, total);
        ons_portions own = ons_portions_of_numbers(of_stage, &numbers);
        if (variant == ONS_REST) { /* of replicas each may have it */
            bool has_it = !stage->rank_group.in_turn || total % stage->rank_group.count == stage->rank_group.own;
            numbers.first = total;
            own.count[ONS_REST] = has_it;
        }
        ONS_TRY(describe_device(v, stage, &numbers, &own, variant, &d));
    }
    d.pass->sizes = v->sizes;
    d.pass->rest = variant == ONS_REST;
    d.pass->updates = true;
    d.pass->halves = variant != ONS_REST; /* what is left of an epoch is not halved */
    d.pass->asynchronous = v->o->schedule->asynchronous;
    return NULL;
}

/* Forward parts of all stages of the device, one after the other. */
static ons_status *list_inference(const verifying *v, const ons_local_stage *stage, ons_action_list *list) {
    const ons_schedule *s = v->o->schedule;
    ONS_NEW(list->items, v->arena, s->stages);
    for (uint32_t i = 0; i < s->stages; ++i)
        if (v->groups->of_stage[i] == v->groups->of_device[stage->device])
            list->items[list->count++] = (ons_action){.kind = ONS_ACTION_FORWARD, .stage = i};
    return NULL;
}

/* Copies take batches in turn, and find each other as in a step of one micro-batch. */
static ons_status *add_validation(verifying *v, ons_batch_variant variant) {
    description d;
    ONS_TRY(begin_pass(v, &d));
    for (uint32_t i = 0; i < v->rank_count; ++i) {
        const ons_local_stage *stage = &v->stages[i];
        uint32_t device = stage->device;
        d.shares[device] = share_of(v, stage);
        d.shares[device].micro_batches = d.shares[device].copy == 0;
        d.programs[device] = &stage->validation.programs[variant].stage;
        if (d.shares[device].copy == 0) ONS_TRY(list_inference(v, stage, &d.lists[device]));
    }
    d.pass->inference = true;
    return NULL;
}

/* Of micro-batches that all stages can divide into their own. */
static ons_portions portions_of(const verifying *v, int64_t samples) {
    const ons_batching *b = &v->o->batching;
    uint64_t micro_batches = (uint64_t)ons_batching_micro_batches(b) / ons_units_together(v->o->schedule);
    return ons_portions_make((uint64_t)b->batch, micro_batches, (uint64_t)samples);
}

static ons_status *list_passes(verifying *v) {
    int64_t samples = (int64_t)ons_dataset_count(v->o->training->dataset), batch = v->o->batching.batch;
    if (v->o->training->graphs[ONS_REST].graph == NULL) /* what is left is dropped */
        samples -= (int64_t)portions_of(v, samples % batch).rows[ONS_REST];
    ons_portions whole = portions_of(v, batch), last = portions_of(v, samples % batch);
    if (samples >= batch) ONS_TRY(add_training(v, ONS_WHOLE, &whole));
    if (ons_portions_together(&last) > 0) ONS_TRY(add_training(v, ONS_WHOLE, &last));
    if (v->o->training->graphs[ONS_REST].graph != NULL) ONS_TRY(add_training(v, ONS_REST, &last));
    for (ons_batch_variant i = ONS_WHOLE; i < ONS_BATCH_VARIANTS; ++i)
        if (v->o->validation->graphs[i].graph != NULL) ONS_TRY(add_validation(v, i));
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- processes */

/* One stage a process: everybody gets what all stages of the replica have told. */
static ons_status *exchange(const verifying *v) {
    ons_transport *t = v->stages[0].world;
    uint32_t devices = v->o->schedule->devices, first = v->stages[0].replica * devices;
    ons_verify_bytes *own = &v->manifests[v->stages[0].device];
    uint64_t size = own->count, most = 0, *sizes;
    unsigned char *mine, *all;
    ONS_NEW(sizes, v->arena, t->ranks);
    if (!t->gather(t, &size, sizes, sizeof size)) return t->failure(t);
    for (uint32_t i = 0; i < t->ranks; ++i) most = sizes[i] > most ? sizes[i] : most;
    ONS_NEW(mine, v->arena, most + 1);
    ONS_NEW(all, v->arena, most * t->ranks + 1);
    if (own->items != NULL) memcpy(mine, own->items, size);
    if (!t->gather(t, mine, all, most)) return t->failure(t);
    for (uint32_t i = first; i < first + devices; ++i) {
        ons_verify_bytes *theirs = &v->manifests[i - first];
        if (i == t->rank) continue;
        if (!ons_vector_reserve(theirs, sizes[i] + 1)) return ons_status_out_of_memory();
        if (theirs->items != NULL) memcpy(theirs->items, all + i * most, sizes[i]);
        theirs->count = sizes[i];
    }
    return NULL;
}

static ons_status *verify(verifying *v) {
    uint32_t first = v->stages[0].device, end = first + v->rank_count, devices = v->o->schedule->devices;
    ONS_TRY(ons_units_sizes(v->o->schedule, v->arena, &v->sizes));
    ONS_TRY(list_passes(v));
    for (uint32_t pass = 0; pass < v->count; ++pass)
        for (uint32_t i = first; i < end; ++i) ONS_TRY(ons_verify_stage(&v->passes[pass], i, &v->manifests[i]));
    if (v->rank_count < devices) ONS_TRY(exchange(v));
    ONS_TRY(ons_verify_manifests(devices, v->manifests));
    for (uint32_t pass = 0; pass < v->count; ++pass)
        for (uint32_t i = first; i < end; ++i) ONS_TRY(ons_verify_stage_memory(&v->passes[pass], i));
    return NULL;
}

static ons_status *verify_replica(const ons_local_stages_options *options, const ons_device_groups *groups,
                                  const ons_local_stage *stages, uint32_t count) {
    verifying v = {.o = options, .groups = groups, .stages = stages, .rank_count = count, .arena = ons_arena_new()};
    if (v.arena == NULL) return ons_status_out_of_memory();
    v.manifests = calloc(options->schedule->devices + 1, sizeof *v.manifests);
    ons_status *status = v.manifests == NULL ? ons_status_out_of_memory() : verify(&v);
    for (uint32_t i = 0; v.manifests != NULL && i < options->schedule->devices; ++i) ons_vector_free(&v.manifests[i]);
    free(v.manifests);
    ons_arena_free(v.arena);
    return status;
}

ons_status *ons_local_stages_verify(const ons_local_stages_options *options, const ons_device_groups *groups,
                                    const ons_local_stage *stages) {
    for (uint32_t i = 0, count; i < options->count; i += count) {
        uint32_t left = options->schedule->devices - stages[i].device;
        count = left < options->count - i ? left : options->count - i;
        ONS_TRY(verify_replica(options, groups, &stages[i], count));
    }
    return NULL;
}
