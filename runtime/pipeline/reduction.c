#include "runtime/pipeline/reduction.h"

#include <string.h>

#include "base/vector.h"
#include "graph/passes/update.h"
#include "graph/sharing.h"

/* Sums of one part and one type, and what a bucket has of them: the same part of every replica's slice. The slices of a
 * replica lie behind each other, all as wide as the widest one of their sum. */
typedef struct bucket_range {
    uint32_t first, end; /* sums */
    int64_t from, to;    /* elements of a replica's slices, from the first sum's on */
} bucket_range;

typedef struct planner {
    const ons_stage_program *const *programs;
    uint32_t program_count, replicas;
    ons_bucket_rule *bucket_bytes;
    ons_arena *arena;
    ons_reduction *r;
    ons_sum *sums;
    ons_value_id *values; /* [sum]: of the first program */
    ONS_VECTOR(bucket_range) ranges;
    ONS_VECTOR(ons_sum_bucket) buckets;
} planner;

/* ------------------------------------------------------------------------------------------------------------- sums */

/* What micro-batches renew in its place: the part of the end works on what comes out of this. */
static bool is_renewed(const ons_cut_stage *cut, const ons_value *value) {
    if (value->pair == ONS_NONE || value->producer == ONS_NONE) return false;
    return value->producer < cut->end[ons_part_last(cut->chunks) - 1] && value->producer >= cut->end[ONS_PART_BEGIN];
}

/* Of running statistics, by a micro-batch. */
static ons_status *find_decay(const ons_node *node, double *decay) {
    for (uint32_t i = 0; node->op->attributes[i].name != NULL; ++i)
        if (strcmp(node->op->attributes[i].name, "momentum") == 0) {
            *decay = node->attributes[i].f;
            return NULL;
        }
    return ons_status_new(ONS_DEFECT, "node '%s' (%s) keeps running statistics without a momentum", node->name,
                          node->op->name);
}

static bool is_sent(const ons_cut_stage *cut, ons_value_id id) {
    bool sent = false;
    for (uint32_t i = 0; i < cut->send_count; ++i) sent |= cut->sends[i].value == id;
    return sent;
}

/* Whether updates alone read it, and read no more of it than their slice. */
static bool stays_with_owners(const ons_stage_program *s, ons_value_id id) {
    const ons_graph *graph = s->cut->graph;
    uint32_t updates = 0;
    if (!ons_update_shard_divides(&s->shard) || is_sent(s->cut, id)) return false;
    for (ons_node_id n = 0; n < graph->nodes.count; ++n) {
        const ons_node *node = ons_graph_node(graph, n);
        for (uint32_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] != id || (!ons_is_view(node->op) && !ons_program_runs(s->program, n))) continue;
            if (!ons_update_shard_takes(node) || i != ONS_UPDATE_GRADIENT) return false;
            ++updates;
        }
    }
    return updates > 0;
}

/* Whether it meets the same node of other replicas, to have its statistics together with them. */
static bool is_common(const ons_node *node) {
    for (uint32_t i = 0; node->op->attributes[i].name != NULL; ++i)
        if (strcmp(node->op->attributes[i].name, "replicas") == 0) return node->attributes[i].i > 1;
    return false;
}

static bool meets(const planner *p) {
    bool found = false;
    for (uint32_t i = 0; i < p->program_count; ++i) {
        const ons_graph *graph = p->programs[i]->cut->graph;
        for (ons_node_id n = 0; n < graph->nodes.count && !found; ++n) found = is_common(ons_graph_node(graph, n));
    }
    return found;
}

static ons_status *describe(const planner *p, const ons_stage_program *s, ons_value_id id, ons_sum *sum) {
    const ons_graph *graph = s->cut->graph;
    const ons_value *value = ons_graph_value(graph, id);
    const ons_node *node = ons_graph_node(graph, value->producer);
    bool is_mean = (node->op->roles.traits & ONS_TRAIT_STATISTICS) != 0;
    ONS_CHECK(is_mean || node->op->roles.role == ONS_ROLE_ACCUMULATE, ONS_UNSUPPORTED,
              "node '%s' (%s) keeps '%s' from micro-batch to micro-batch, and how replicas of it are joined is not "
              "known; train without --replicas",
              node->name, node->op->name, ons_graph_value(graph, value->pair)->name);
    size_t size = ons_dtype_size(value->type.dtype);
    *sum = (ons_sum){.name = ons_arena_copy_text(p->arena, ons_graph_value(graph, value->pair)->name),
                     .node = ons_arena_copy_text(p->arena, node->name),
                     .dtype = value->type.dtype,
                     .elements = ons_stage_program_bytes(s, id) / (int64_t)size,
                     .is_mean = is_mean,
                     .is_common = is_mean && is_common(node),
                     .stays = !is_mean && stays_with_owners(s, id)};
    if (sum->name == NULL || sum->node == NULL) return ons_status_out_of_memory();
    return is_mean ? find_decay(node, &sum->decay) : NULL;
}

static int64_t bytes_of(const ons_sum *sum) { return sum->elements * (int64_t)ons_dtype_size(sum->dtype); }

/* In the order of the nodes that make them. */
static ons_status *list_sums(planner *p) {
    const ons_stage_program *s = p->programs[0];
    const ons_graph *graph = s->cut->graph;
    ONS_NEW(p->sums, p->arena, graph->values.count + 1);
    ONS_NEW(p->values, p->arena, graph->values.count + 1);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->output_count; ++i) {
            if (node->outputs[i] == ONS_NONE || !is_renewed(s->cut, ons_graph_value(graph, node->outputs[i]))) continue;
            p->values[p->r->sum_count] = node->outputs[i];
            ONS_TRY(describe(p, s, node->outputs[i], &p->sums[p->r->sum_count++]));
        }
    }
    p->r->sums = p->sums;
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- buckets */

static ons_part part_of_sum(const planner *p, uint32_t sum) {
    const ons_cut_stage *cut = p->programs[0]->cut;
    ons_node_id position = ons_graph_value(cut->graph, p->values[sum])->producer;
    ons_part part = ONS_PART_BEGIN;
    while (part < ons_part_last(cut->chunks) && position >= cut->end[part]) ++part;
    return part;
}

static uint32_t end_of_run(const planner *p, uint32_t first) {
    uint32_t end = first + 1;
    while (end < p->r->sum_count && part_of_sum(p, end) == part_of_sum(p, first) &&
           p->sums[end].dtype == p->sums[first].dtype && p->sums[end].stays == p->sums[first].stays)
        ++end;
    return end;
}

static int64_t width_of(const planner *p, uint32_t sum) { return ons_slice_width(p->sums[sum].elements, p->replicas); }

/* The pieces of sums that a replica's slice of a bucket is; NULL: they are counted. */
static uint32_t cut_slice(const planner *p, const bucket_range *range, uint32_t replica, ons_sum_piece *pieces) {
    uint32_t count = 0;
    int64_t at = 0; /* where the sum's slices begin */
    for (uint32_t sum = range->first; sum < range->end; at += width_of(p, sum++)) {
        ons_slice slice = ons_slice_of(p->sums[sum].elements, replica, p->replicas);
        int64_t from = range->from > at ? range->from - at : 0;
        int64_t to = range->to - at < slice.count ? range->to - at : slice.count;
        if (from >= to) continue;
        if (pieces != NULL) pieces[count] = (ons_sum_piece){sum, slice.first + from, to - from};
        ++count;
    }
    return count;
}

static uint32_t count_pieces(const planner *p, const bucket_range *range) {
    uint32_t count = 0;
    for (uint32_t replica = 0; replica < p->replicas; ++replica) count += cut_slice(p, range, replica, NULL);
    return count;
}

static ons_status *cut_bucket(const planner *p, const bucket_range *range, ons_sum_bucket *bucket) {
    ons_sum_piece *pieces;
    uint32_t *begin, count = 0;
    int64_t *bytes, size = (int64_t)ons_dtype_size(p->sums[range->first].dtype);
    ONS_NEW(pieces, p->arena, (size_t)count_pieces(p, range) + 1);
    ONS_NEW(begin, p->arena, (size_t)p->replicas + 1);
    ONS_NEW(bytes, p->arena, p->replicas);
    for (uint32_t replica = 0; replica < p->replicas; ++replica) {
        begin[replica] = count;
        count += cut_slice(p, range, replica, pieces + count);
        for (uint32_t i = begin[replica]; i < count; ++i) bytes[replica] += pieces[i].count * size;
        int64_t staged = (int64_t)(p->replicas - 1) * ons_arena_align(bytes[replica]);
        p->r->staging_bytes = staged > p->r->staging_bytes ? staged : p->r->staging_bytes;
    }
    begin[p->replicas] = count;
    *bucket = (ons_sum_bucket){pieces, begin, bytes, p->sums[range->first].stays};
    return NULL;
}

static int64_t bucket_bytes(const planner *p) {
    int64_t all = 0;
    for (uint32_t i = 0; i < p->r->sum_count; ++i) all += bytes_of(&p->sums[i]);
    return p->bucket_bytes(all);
}

/* Large sums lie in several buckets, and several small ones in one. */
static ons_status *cut_run(planner *p, uint32_t first, uint32_t end) {
    int64_t elements = 0, size = (int64_t)ons_dtype_size(p->sums[first].dtype);
    int64_t each = ons_slice_width(bucket_bytes(p) / size, p->replicas);
    for (uint32_t sum = first; sum < end; ++sum) elements += width_of(p, sum);
    for (int64_t from = 0; from < elements; from += each) {
        bucket_range range = {first, end, from, elements - from < each ? elements : from + each};
        ons_sum_bucket bucket;
        if (count_pieces(p, &range) == 0) continue;
        ONS_TRY(cut_bucket(p, &range, &bucket));
        ONS_PUSH(&p->ranges, range);
        ONS_PUSH(&p->buckets, bucket);
    }
    return NULL;
}

/* Behind the nodes that make the sums, which have other places in another program. */
static ons_status *find_ends(const planner *p, const ons_stage_program *s, uint32_t *ends) {
    const ons_graph *graph = s->cut->graph;
    ons_value_id *made; /* of each persistent value: what is made in its place */
    ONS_NEW(made, p->arena, graph->values.count + 1);
    for (ons_value_id id = 0; id < graph->values.count; ++id) made[id] = ONS_NONE;
    for (ons_value_id id = 0; id < graph->values.count; ++id)
        if (is_renewed(s->cut, ons_graph_value(graph, id))) made[ons_graph_value(graph, id)->pair] = id;
    for (uint32_t sum = 0; sum < p->r->sum_count; ++sum) {
        ons_value_id old = ons_graph_find_value(graph, p->sums[sum].name), id = old == ONS_NONE ? ONS_NONE : made[old];
        ONS_CHECK(id != ONS_NONE && ons_stage_program_bytes(s, id) == bytes_of(&p->sums[sum]), ONS_DEFECT,
                  "'%s' is not in the programs of all micro-batches, or not as large", p->sums[sum].name);
        ends[sum] = ons_graph_value(graph, id)->producer + 1;
    }
    return NULL;
}

static uint32_t last_end(const ons_sum_bucket *bucket, uint32_t replicas, const uint32_t *ends) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < bucket->begin[replicas]; ++i)
        if (ends[bucket->pieces[i].sum] > last) last = ends[bucket->pieces[i].sum];
    return last;
}

static ons_status *list_ready(const planner *p) {
    const uint32_t **all;
    uint32_t *ends; /* [sum] */
    ONS_NEW(all, p->arena, p->program_count);
    ONS_NEW(ends, p->arena, (size_t)p->r->sum_count + 1);
    for (uint32_t i = 0; i < p->program_count; ++i) {
        uint32_t *ready;
        ONS_NEW(ready, p->arena, p->buckets.count + 1);
        ONS_TRY(find_ends(p, p->programs[i], ends));
        for (size_t b = 0; b < p->buckets.count; ++b) ready[b] = last_end(&p->buckets.items[b], p->replicas, ends);
        all[i] = ready;
    }
    p->r->ready = all;
    return NULL;
}

/* In the order of their updates. */
static ons_status *list_weights(const planner *p) {
    const ons_stage_program *s = p->programs[0];
    const ons_graph *graph = s->cut->graph;
    ons_divided_weight *weights;
    if (!ons_update_shard_divides(&s->shard)) return NULL;
    ONS_NEW(weights, p->arena, graph->nodes.count + 1);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (!ons_update_shard_takes(node)) continue;
        const ons_value *value = ons_graph_value(graph, node->inputs[ONS_UPDATE_PARAMETER]);
        ons_divided_weight *w = &weights[p->r->weight_count++];
        *w = (ons_divided_weight){ons_arena_copy_text(p->arena, value->name), value->type.dtype,
                                  ons_shape_elements(&value->type.shape)};
        if (w->name == NULL) return ons_status_out_of_memory();
    }
    p->r->weights = weights;
    return NULL;
}

static ons_status *plan(planner *p) {
    ons_sum_bucket *buckets;
    ONS_TRY(list_sums(p));
    for (uint32_t first = 0, end; first < p->r->sum_count; first = end) {
        end = end_of_run(p, first);
        ONS_TRY(cut_run(p, first, end));
    }
    ONS_NEW(buckets, p->arena, p->buckets.count + 1);
    for (size_t i = 0; i < p->buckets.count; ++i) buckets[i] = p->buckets.items[i];
    p->r->buckets = buckets;
    p->r->bucket_count = (uint32_t)p->buckets.count;
    p->r->in_flight = p->buckets.count < ONS_REDUCTION_IN_FLIGHT ? (uint32_t)p->buckets.count : ONS_REDUCTION_IN_FLIGHT;
    p->r->staging_bytes *= p->r->in_flight;
    p->r->meets = meets(p);
    ONS_TRY(list_weights(p));
    return list_ready(p);
}

ons_status *ons_reduction_plan(const ons_stage_program *const *programs, uint32_t program_count, uint32_t replicas,
                               ons_bucket_rule *rule, ons_arena *arena, ons_reduction *reduction) {
    planner p = {.programs = programs,
                 .program_count = program_count,
                 .replicas = replicas,
                 .bucket_bytes = rule,
                 .arena = arena,
                 .r = reduction};
    *reduction = (ons_reduction){.replicas = replicas, .programs = programs, .program_count = program_count};
    ons_status *status = plan(&p);
    ons_vector_free(&p.ranges);
    ons_vector_free(&p.buckets);
    return status;
}
