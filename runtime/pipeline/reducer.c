#include "runtime/pipeline/reducer.h"

#include <stdlib.h>

#include "runtime/pipeline/reducer_state.h"

/* ------------------------------------------------------------------------------------------------------------- life */

static ons_status *find_address(const ons_reducer *r, const char *name, char **address) {
    *address = ons_device_context_find(r->o.device_context, name, NULL);
    ONS_CHECK(*address != NULL, ONS_DEFECT, "'%s' has no place in the arena", name);
    return NULL;
}

static ons_status *find_all(ons_reducer *r) {
    const ons_reduction *reduction = r->o.reduction;
    ONS_NEW(r->sums, r->arena, (size_t)reduction->sum_count + 1);
    ONS_NEW(r->weights, r->arena, (size_t)reduction->weight_count + 1);
    ONS_NEW(r->is_complete, r->arena, (size_t)reduction->bucket_count + 1);
    for (uint32_t i = 0; i < reduction->sum_count; ++i) ONS_TRY(find_address(r, reduction->sums[i].name, &r->sums[i]));
    for (uint32_t i = 0; i < reduction->weight_count; ++i)
        ONS_TRY(find_address(r, reduction->weights[i].name, &r->weights[i]));
    return NULL;
}

/* Copies of a stage have others' micro-batches between theirs. */
static ons_status *check_means(const ons_reducer *r) {
    for (uint32_t i = 0; r->o.rank_group.in_turn && i < r->o.reduction->sum_count; ++i) {
        const ons_sum *sum = &r->o.reduction->sums[i];
        ONS_CHECK(!sum->is_mean || (r->medium->skip_turns != NULL && sum->dtype == ONS_FLOAT32), ONS_UNSUPPORTED,
                  "node '%s' keeps running statistics in %s on a device of kind '%s', and copies of its stage cannot "
                  "join them there; plan without copies of that stage, or train with --batchnorm eval%s",
                  sum->node, ons_dtype_name(sum->dtype), r->device->name,
                  r->medium->skip_turns == NULL ? " or --device cpu" : "");
    }
    return NULL;
}

static ons_status *set_up(ons_reducer *r) {
    r->medium = r->device->host_can_access ? &ons_reducer_by_host : &ons_reducer_by_gpu;
    ONS_TRY(check_means(r));
    ONS_TRY(find_all(r));
    return r->medium->set_up(r);
}

ons_status *ons_reducer_new(const ons_reducer_options *options, ons_reducer **result) {
    ons_reducer *r = calloc(1, sizeof *r);
    if (r == NULL) return ons_status_out_of_memory();
    *r = (ons_reducer){
        .o = *options, .device = ons_device_context_device(options->device_context), .arena = ons_arena_new()};
    ons_status *status = r->arena == NULL ? ons_status_out_of_memory() : set_up(r);
    if (status != NULL) {
        ons_reducer_free(r);
        return status;
    }
    *result = r;
    return NULL;
}

void ons_reducer_free(ons_reducer *r) {
    if (r == NULL) return;
    if (r->medium != NULL) r->medium->tear_down(r);
    ons_arena_free(r->arena);
    free(r);
}

void ons_reducer_set_clock(ons_reducer *r, const ons_reducer_clock *clock) { r->clock = *clock; }

void ons_reducer_drain(ons_reducer *r) {
    if (r != NULL && r->medium->drain != NULL) r->medium->drain(r);
}

/* ------------------------------------------------------------------------------------------------------------- sums */

char *ons_reducer_staging(const ons_reducer *r, uint32_t bucket_place) {
    const ons_reduction *reduction = r->o.reduction;
    return (char *)ons_device_context_staging(r->o.device_context) +
           reduction->staging_bytes / reduction->in_flight * bucket_place;
}

static double power(double decay, uint32_t exponent) {
    double result = 1;
    for (uint32_t i = 0; i < exponent; ++i) result *= decay;
    return result;
}

/* In turn each replica's last micro-batch is the one behind the last of the replica before it. */
double ons_reducer_factor(const ons_reducer *r, const ons_sum *sum, uint32_t replica) {
    if (!sum->is_mean) return 1;
    return power(sum->decay, r->o.rank_group.in_turn ? 1 : r->work.micro_batches[replica]);
}

double ons_reducer_skipped(const ons_reducer *r, const ons_sum *sum) {
    return power(sum->decay, r->o.rank_group.count - 1);
}

uint32_t ons_reducer_first(const ons_reducer *r, const ons_sum *sum) {
    uint32_t total = 0, count = r->o.rank_group.count;
    if (!sum->is_mean || !r->o.rank_group.in_turn || r->work.active < count || count == 0) return 0;
    for (uint32_t i = 0; i < r->work.active; ++i) total += r->work.micro_batches[i];
    return total % count;
}

ons_replicas ons_reducer_replicas(const ons_reducer *r, uint32_t micro_batch) {
    ons_replicas result = r->replicas;
    result.micro_batch = micro_batch;
    return result;
}

uint32_t ons_reducer_present(const ons_reducer *r, uint32_t micro_batch) {
    uint32_t present = 0;
    while (present < r->work.active && r->work.micro_batches[present] > micro_batch) ++present;
    return present;
}

uint32_t ons_reducer_buckets(const ons_reducer *r) { return r->o.reduction->bucket_count; }

const uint32_t *ons_reducer_ready(const ons_reducer *r, const ons_stage_program *program) {
    for (uint32_t i = 0; i < r->o.reduction->program_count; ++i)
        if (r->o.reduction->programs[i] == program) return r->o.reduction->ready[i];
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- step */

void ons_reducer_begin_step(ons_reducer *r) {
    if (r->o.rank_group.own == 0) return; /* the one that goes on from what they were */
    for (uint32_t i = 0; i < r->o.reduction->sum_count; ++i) {
        const ons_sum *sum = &r->o.reduction->sums[i];
        if (sum->is_mean && !sum->is_common)
            r->medium->begin_mean(r, i, sum->elements * (int64_t)ons_dtype_size(sum->dtype));
    }
}

void ons_reducer_skip_turns(ons_reducer *r, ons_stream *compute) {
    for (uint32_t i = 0; r->o.rank_group.in_turn && i < r->o.reduction->sum_count; ++i) {
        const ons_sum *sum = &r->o.reduction->sums[i];
        if (sum->is_mean) r->medium->skip_turns(r, i, compute);
    }
}

void ons_reducer_set_meanwhile(ons_reducer *r, const ons_meanwhile *meanwhile) { r->meanwhile = *meanwhile; }

void ons_reducer_begin(ons_reducer *r, const ons_replica_work *work, uint64_t step, atomic_bool *cut_off) {
    r->work = *work;
    r->step = step;
    r->cut_off = cut_off;
    r->next = 0;
    for (uint32_t i = 0; i < r->o.reduction->bucket_count; ++i) r->is_complete[i] = false;
}

ons_status *ons_reducer_complete(ons_reducer *r, uint32_t bucket, ons_stream *compute) {
    r->medium->complete(r, bucket, compute);
    r->is_complete[bucket] = true;
    while (r->next < r->o.reduction->bucket_count && r->is_complete[r->next]) ONS_TRY(r->medium->launch(r, r->next++));
    return NULL;
}

ons_status *ons_reducer_finish(ons_reducer *r, ons_stream *compute) {
    for (uint32_t i = 0; i < r->o.reduction->bucket_count; ++i)
        if (!r->is_complete[i]) ONS_TRY(ons_reducer_complete(r, i, compute));
    return r->medium->finish(r, compute);
}

ons_status *ons_reducer_hand_over_weights(ons_reducer *r, ons_stream *compute) {
    return r->o.reduction->weight_count == 0 ? NULL : r->medium->hand_over_weights(r, compute);
}
