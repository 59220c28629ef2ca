/* What is in the files that options name decides a run's numbers, and each rank has files of its own: they are compared
 * before the first step. Options are compared before (trainer_options.c); of a plan, rank 0's counts for all. */
#include <string.h>

#include "base/hash.h"
#include "engine/train/trainer.h"

enum { THINGS = 9, LOOKED_AT = 4096 };

/* What all ranks must have alike. */
typedef struct thing {
    const char *what; /* "rank 1 ..." */
    uint64_t value;
} thing;

static ons_status *hash_data(const ons_dataset_graphs *set, uint64_t *hash) {
    const uint64_t count = set->dataset == NULL ? 0 : ons_dataset_count(set->dataset);
    *hash = ons_hash_bytes(ONS_HASH_BASIS, &count, sizeof count);
    return set->dataset == NULL ? NULL : ons_dataset_hash_samples(set->dataset, hash);
}

/* The beginning of each tensor of the model: training changes all of a tensor, or nothing. */
static uint64_t hash_weights(const ons_model *model) {
    uint64_t hash = ONS_HASH_BASIS;
    for (size_t i = 0; i < model->store.tensors.count; ++i) {
        const ons_tensor *tensor = &model->store.tensors.items[i];
        size_t size = (size_t)ons_type_dense_bytes(&tensor->type);
        if (tensor->data != NULL) hash = ons_hash_bytes(hash, tensor->data, size < LOOKED_AT ? size : LOOKED_AT);
    }
    return hash;
}

/* The message names the first entry that differs, so a cause stands before its consequences. */
static ons_status *list_things(const ons_trainer *t, thing things[static THINGS]) {
    const ons_config *c = t->config;
    const int64_t steps[] = {t->steps, t->validate_every};
    uint64_t training, validation;
    ONS_TRY(hash_data(&t->training, &training));
    ONS_TRY(hash_data(&t->validation, &validation));
    /* Replicas and copies need the same number of threads to have the same bits. */
    bool alone = t->batching.replicas == 1 && ons_local_stages_groups(t->local_stages)->most_copies == 1;
    const thing all[THINGS] = {
        {"reads other training data than rank 0", training},
        {"reads other validation data than rank 0", validation},
        {"trains another model than rank 0, or has other --class-weights", t->ungrouped_digest},
        {"starts from other weights than rank 0", hash_weights(t->model)},
        {"trains another graph than rank 0", t->digest},
        {"makes another number of steps than rank 0", ons_hash_bytes(ONS_HASH_BASIS, steps, sizeof steps)},
        {"computes with another number of threads than rank 0", alone ? 0 : (uint64_t)t->threads},
        {"was started with other options than rank 0: one of them alone has --out, or --checkpoint",
         2 * (c->out != NULL) + (c->checkpoint != NULL)},
        {"was started with other options than rank 0: one of them alone has --log-json, or --tensorboard",
         ons_config_logs_norms(c)},
    };
    memcpy(things, all, sizeof all);
    return NULL;
}

ons_status *ons_trainer_check_alike(ons_trainer *t) {
    thing things[THINGS];
    uint64_t own[THINGS], (*all)[THINGS];
    if (!t->remote) return NULL;
    ONS_TRY(list_things(t, things));
    for (size_t i = 0; i < THINGS; ++i) own[i] = things[i].value;
    ONS_NEW(all, t->arena, ons_trainer_world(t)->ranks);
    ONS_TRY(ons_trainer_meet(t, NULL, own, all, sizeof own));
    for (uint32_t rank = 1; rank < ons_trainer_world(t)->ranks; ++rank)
        for (size_t i = 0; i < THINGS; ++i)
            ONS_CHECK(all[rank][i] == all[0][i], ONS_INVALID_ARGUMENT, "rank %u %s; give all ranks the same", rank,
                      things[i].what);
    return NULL;
}
