#include "engine/plan/planning_subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "engine/config/plan_libraries.h"
#include "engine/plan/plan_subject.h"
#include "planner/cost/graph_width.h"
#include "planner/search/least_memory.h"

/* ---------------------------------------------------------------------------------------------------------- digests */

/* The bytes of a cost graph's file: all that is known of it. */
static ons_status *digest_file(const char *path, ons_arena *arena, const char **digest) {
    ons_mapping file;
    ONS_TRY(ons_mapping_open(path, &file));
    *digest = ons_arena_format(arena, "%016" PRIx64, ons_hash_bytes(ONS_HASH_BASIS, file.bytes, file.size));
    ons_mapping_close(&file);
    return *digest == NULL ? ons_status_out_of_memory() : NULL;
}

ons_status *ons_planning_name_subject(ons_planning *p, int64_t batch, int64_t micro_batches) {
    ons_plan_subject *s = &p->plan.subject;
    p->plan.partition = p->strategy->name;
    p->plan.reproducible = p->config->reproducible;
    s->batch = batch;
    s->micro_batches = micro_batches;
    s->replicas = p->config->replicas;
    s->shard_optimizer = p->config->shard_optimizer;
    s->device_profile = p->devices.kind_count > 0 ? p->config->device_profile : p->profile.name;
    if (p->model == NULL) {
        s->model = p->config->cost_graph;
        return s->digest != NULL ? NULL : digest_file(p->config->cost_graph, p->arena, &s->digest);
    }
    return ons_plan_subject_fill(p->model, p->config, p->profile.processor, &p->input.stage, p->arena, s);
}

/* ---------------------------------------------------------------------------------------------------------- refusal */

/* What no plan can go below: "; node 'x' alone works on 98.0 MiB beside the weights"; "" for a cost graph. */
static ons_status *print_width(const ons_planning *p, size_t size, char *text) {
    text[0] = '\0';
    if (p->model == NULL) return NULL;
    const ons_graph *graph = p->input.stage.graph;
    ons_graph_width width;
    char bytes[ONS_BYTES_TEXT];
    ONS_TRY(ons_graph_width_find(graph, p->model->registry, p->arena, &width));
    if (width.node == ONS_NONE) return NULL;
    snprintf(text, size, "; node '%.200s' alone works on %s beside the weights",
             ons_graph_node(graph, width.node)->name, ons_bytes_print((double)width.bytes, bytes));
    return NULL;
}

/* A plan that was laid out is as it will be; what estimates find for as many bytes can be faster, and not fit. */
static ons_status *find_least(const ons_planning *p, int64_t known, ons_least_memory *least) {
    if (known == 0) return ons_least_memory_find(&p->problem, p->strategy, &p->planned, least);
    *least = (ons_least_memory){.capacity_bytes = known, .step_seconds = p->plan.step_seconds};
    return ons_uncapped_step_find(&p->problem, p->strategy, &least->uncapped_seconds);
}

/* No --memory makes a device larger; how much they lack is said of the largest. */
static ons_status *refuse_list(const ons_planning *p, int64_t smallest) {
    char lack[ONS_BYTES_TEXT];
    return ons_status_new(ONS_OUT_OF_MEMORY,
                          "no plan fits %s: each would need %s more; take more devices, or larger ones, or a smaller "
                          "--batch or --precision",
                          p->devices.title, ons_bytes_print((double)(smallest - p->problem.capacity_bytes), lack));
}

ons_status *ons_planning_refuse(const ons_planning *p, int64_t *smallest) {
    ons_least_memory least;
    char alone[320];
    ONS_TRY(print_width(p, sizeof alone, alone));
    char have[ONS_BYTES_TEXT], need[ONS_BYTES_TEXT];
    ONS_TRY(find_least(p, *smallest, &least));
    *smallest = least.capacity_bytes;
    int64_t bytes = *smallest + p->profile.reserve_bytes;
    if (p->devices.kind_count > 0) return refuse_list(p, *smallest);
    double batch = (double)p->plan.subject.batch, with = least.step_seconds, without = least.uncapped_seconds;
    return ons_status_new(ONS_OUT_OF_MEMORY,
                          "no plan fits %s a device; the smallest memory found that does is --memory %" PRId64
                          " (%s): a step takes %.3f ms there, %.1f samples/s, against %.3f ms and %.1f samples/s with "
                          "memory for everything%s",
                          ons_bytes_print((double)(p->problem.capacity_bytes + p->profile.reserve_bytes), have), bytes,
                          ons_bytes_print((double)bytes, need), 1e3 * with, batch / with, 1e3 * without,
                          batch / without, alone);
}
