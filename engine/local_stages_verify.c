#include "engine/local_stages_verify.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/verify/verify_stages.h"

enum { PASSES_MOST = 3 + ONS_BATCH_VARIANTS }; /* a whole step, an epoch's last one in two; validation */

typedef struct verifying {
    const ons_local_stages_options *o;
    const ons_local_stage *stages; /* of one replica, in this process */
    uint32_t *sizes;               /* [device]: see ons_verify_options */
    uint32_t rank_count;
    ons_arena *arena;
    ons_verify_options passes[PASSES_MOST];
    uint32_t count;
    ons_verify_bytes *manifests; /* by each stage */
} verifying;

/* -------------------------------------------------------------------------------------------------------------- passes
 */

static ons_status *list_programs(const verifying *v, bool training, ons_batch_variant variant,
                                 const ons_stage_program *const **result) {
    const ons_stage_program **programs;
    ONS_NEW(programs, v->arena, v->o->schedule->devices + 1);
    for (uint32_t i = 0; i < v->rank_count; ++i) {
        const ons_share *share = training ? &v->stages[i].training : &v->stages[i].validation;
        programs[v->stages[i].stage] = &share->units[variant].stage;
    }
    *result = programs;
    return NULL;
}

static ons_status *add(verifying *v, bool training, ons_batch_variant variant, uint32_t micro_batches,
                       ons_verify_options **pass) {
    *pass = &v->passes[v->count++];
    **pass = (ons_verify_options){.stages = v->o->schedule->devices, .micro_batches = micro_batches};
    return list_programs(v, training, variant, &(*pass)->programs);
}

/* Part of a training step: `second` shorter micro-batches follow `first` of a variant. */
static ons_status *add_training(verifying *v, ons_batch_variant variant, uint32_t first, uint32_t second) {
    ons_schedule own, whole = *v->o->schedule;
    ons_verify_options *pass;
    bool rest = variant == ONS_REST;
    if (first + second == 0) return NULL;
    ONS_TRY(add(v, true, first > 0 ? variant : ONS_SHORTER, first + second, &pass));
    if (rest && v->sizes != NULL) whole.groupings = NULL; /* what is left is one micro-batch of all stages */
    pass->sizes = rest ? NULL : v->sizes;
    if (first > 0 && second > 0) ONS_TRY(list_programs(v, true, ONS_SHORTER, &pass->seconds));
    pass->first_count = first;
    ONS_TRY(ons_schedule_shorten(&whole, first + second, v->arena, &own));
    pass->lists = own.lists;
    pass->updates = true;
    pass->halves = !rest; /* what is left of an epoch is not halved */
    pass->asynchronous = own.asynchronous;
    return NULL;
}

static ons_status *add_together(verifying *v, const ons_portions *p) {
    uint32_t together = ons_units_together(v->o->schedule);
    return add_training(v, ONS_WHOLE, (uint32_t)p->count[ONS_WHOLE] * together,
                        (uint32_t)p->count[ONS_SHORTER] * together);
}

/* Forward parts of all stages of the device, one after the other. */
static ons_status *list_inference(const verifying *v, uint32_t device, ons_action_list *list) {
    const ons_schedule *s = v->o->schedule;
    ONS_NEW(list->items, v->arena, s->stages);
    for (uint32_t stage = 0; stage < s->stages; ++stage)
        if (s->device_of[stage] == device)
            list->items[list->count++] = (ons_action){.kind = ONS_ACTION_FORWARD, .stage = stage};
    return NULL;
}

static ons_status *add_validation(verifying *v, ons_batch_variant variant) {
    ons_action_list *lists;
    ons_verify_options *pass;
    uint32_t devices = v->o->schedule->devices;
    ONS_TRY(add(v, false, variant, 1, &pass));
    ONS_NEW(lists, v->arena, devices);
    for (uint32_t i = 0; i < devices; ++i) ONS_TRY(list_inference(v, i, &lists[i]));
    pass->lists = lists;
    pass->inference = true;
    return NULL;
}

/* Of micro-batches that all stages can divide into their own. */
static ons_portions portions_of(const verifying *v, int64_t samples) {
    const ons_batching *b = &v->o->batching;
    uint64_t micro_batches = (uint64_t)ons_batching_micro_batches(b) / ons_units_together(v->o->schedule);
    return ons_portions_make((uint64_t)b->batch, micro_batches, (uint64_t)samples);
}

/* What the replica has of a step of so many samples. */
static ons_portions own_portions(const verifying *v, int64_t samples) {
    ons_portions p = portions_of(v, samples);
    ons_replica_range range =
        ons_replica_range_of(ons_portions_total(&p), v->stages[0].replica, (uint64_t)v->o->batching.replicas);
    return ons_portions_between(p, range.first, range.end);
}

static ons_status *list_passes(verifying *v) {
    int64_t samples = (int64_t)ons_dataset_count(v->o->training->dataset), batch = v->o->batching.batch;
    if (v->o->training->graphs[ONS_REST].graph == NULL) /* what is left is dropped */
        samples -= (int64_t)portions_of(v, samples % batch).rows[ONS_REST];
    ons_portions whole = own_portions(v, batch), last = own_portions(v, samples % batch);
    if (samples >= batch) ONS_TRY(add_together(v, &whole));
    ONS_TRY(add_together(v, &last));
    if (v->o->training->graphs[ONS_REST].graph != NULL) ONS_TRY(add_training(v, ONS_REST, 1, 0));
    for (ons_batch_variant i = ONS_WHOLE; i < ONS_BATCH_VARIANTS; ++i)
        if (v->o->validation->graphs[i].graph != NULL) ONS_TRY(add_validation(v, i));
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- processes
 */

/* One stage a process: everybody gets what all stages of the replica have told. */
static ons_status *exchange(const verifying *v) {
    ons_transport *t = v->stages[0].world;
    uint32_t devices = v->o->schedule->devices, first = v->stages[0].replica * devices;
    ons_verify_bytes *own = &v->manifests[v->stages[0].stage];
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
    uint32_t first = v->stages[0].stage, end = first + v->rank_count, devices = v->o->schedule->devices;
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

static ons_status *verify_replica(const ons_local_stages_options *options, const ons_local_stage *stages,
                                  uint32_t count) {
    verifying v = {.o = options, .stages = stages, .rank_count = count, .arena = ons_arena_new()};
    if (v.arena == NULL) return ons_status_out_of_memory();
    v.manifests = calloc(options->schedule->devices + 1, sizeof *v.manifests);
    ons_status *status = v.manifests == NULL ? ons_status_out_of_memory() : verify(&v);
    for (uint32_t i = 0; v.manifests != NULL && i < options->schedule->devices; ++i) ons_vector_free(&v.manifests[i]);
    free(v.manifests);
    ons_arena_free(v.arena);
    return status;
}

ons_status *ons_local_stages_verify(const ons_local_stages_options *options, const ons_local_stage *stages) {
    for (uint32_t i = 0, count; i < options->count; i += count) {
        uint32_t left = options->schedule->devices - stages[i].stage;
        count = left < options->count - i ? left : options->count - i;
        ONS_TRY(verify_replica(options, &stages[i], count));
    }
    return NULL;
}
