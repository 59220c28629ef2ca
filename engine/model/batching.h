/* How a step's samples are cut into micro-batches. */
#ifndef ONSTAGE_ENGINE_MODEL_BATCHING_H
#define ONSTAGE_ENGINE_MODEL_BATCHING_H

#include "engine/model/model.h"
#include "runtime/data/portions.h"

typedef struct ons_batching {
    int64_t batch;         /* samples of a step */
    int64_t micro_batches; /* of a full step, in each replica */
    int64_t replicas;
    int64_t rows; /* samples of a micro-batch, the first one at least: see runtime/data/portions.h */
    bool fixed;   /* the model takes no other number */
} ons_batching;
/* Of all replicas. */
static inline int64_t ons_batching_micro_batches(const ons_batching *b) { return b->micro_batches * b->replicas; }
static inline bool ons_batching_is_uneven(const ons_batching *b) {
    return b->batch % ons_batching_micro_batches(b) != 0;
}
/* Of a step of so many samples. */
static inline ons_portions ons_batching_portions(const ons_batching *b, int64_t samples) {
    return ons_portions_make((uint64_t)b->batch, (uint64_t)ons_batching_micro_batches(b), (uint64_t)samples);
}
/* Samples that one replica computes of a step, at most. */
static inline int64_t ons_batching_share(int64_t batch, int64_t micro_batches, int64_t replicas) {
    int64_t together = micro_batches * replicas;
    return replicas == 1 ? batch : micro_batches * ((batch + together - 1) / together);
}
static inline int64_t ons_batching_replica_samples(const ons_batching *b) {
    return ons_batching_share(b->batch, b->micro_batches, b->replicas);
}
/* Fails where --batch and a --dim of the batch's symbol say different numbers. */
ons_status *ons_check_batch_symbol(const ons_model *model, const ons_config *config);

ons_status *ons_choose_batching(const ons_model *model, const ons_config *config, ons_batching *batching);

/* The node at which a model that was exported for a fixed number of samples cannot be made to compute another one
 * (graph/passes/batch.h), texts in `arena`; node NULL: there is none. */
ons_status *ons_find_batch_obstacle(const ons_model *model, const ons_config *config, ons_arena *arena,
                                    ons_blocker *obstacle);

/* Fails where there are fewer samples than the batch that the model was exported for. `kind` says whose data it is
 * ("training data"), `options` which options could give more. */
ons_status *ons_check_samples(const ons_batching *batching, uint64_t samples, const char *kind, const char *options);

#endif
