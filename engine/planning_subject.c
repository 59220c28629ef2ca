#include "engine/planning_subject.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "engine/plan_libraries.h"
#include "planner/least_memory.h"

/* ---------------------------------------------------------------------------------------------------------- digests */

/* FNV-1a. */
static const uint64_t FIRST_HASH = 14695981039346656037u;

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text) { return hash_bytes(hash, text, strlen(text) + 1); }

/* Nodes with their attributes, types and names as imported; no contents. */
static ons_status *digest_model(const ons_model *model, ons_arena *arena, const char **digest) {
    char *text;
    ONS_TRY(ons_graph_print(model->graph, &text));
    *digest = ons_arena_format(arena, "%016" PRIx64, hash_text(FIRST_HASH, text));
    free(text);
    return *digest == NULL ? ons_status_out_of_memory() : NULL;
}

/* The bytes of a cost graph's file: all that is known of it. */
static ons_status *digest_file(const char *path, ons_arena *arena, const char **digest) {
    ons_mapping file;
    ONS_TRY(ons_mapping_open(path, &file));
    *digest = ons_arena_format(arena, "%016" PRIx64, hash_bytes(FIRST_HASH, file.bytes, file.size));
    ons_mapping_close(&file);
    return *digest == NULL ? ons_status_out_of_memory() : NULL;
}

/* ------------------------------------------------------------------------------------------------------------- parts
 */

static bool has_setting(const ons_plan_subject *s, const char *name) {
    for (uint32_t i = 0; i < s->dim_count; ++i)
        if (strcmp(s->dims[i].name, name) == 0) return true;
    return false;
}

/* Symbols of the model's inputs with the numbers that the planned graph has for them. */
static ons_status *name_dims(ons_planning *p, ons_plan_subject *s) {
    const ons_graph *from = p->model->graph, *to = p->input.stage.graph;
    s->dim_count = 0;
    ONS_NEW(s->dims, p->arena, from->inputs.count * ONS_RANK_MAX + 1);
    for (size_t k = 0; from->symbols != NULL && k < from->inputs.count; ++k) {
        const ons_value *input = ons_graph_value(from, from->inputs.items[k]);
        ons_value_id bound = ons_graph_find_value(to, input->name);
        for (uint32_t axis = 0; bound != ONS_NONE && axis < input->type.shape.rank; ++axis) {
            const char *symbol = from->symbols[k][axis];
            if (symbol == NULL || has_setting(s, symbol)) continue;
            ons_plan_setting *dim = &s->dims[s->dim_count++];
            dim->name = symbol;
            dim->value = ons_arena_format(p->arena, "%" PRId64, ons_graph_value(to, bound)->type.shape.dims[axis]);
            if (dim->value == NULL) return ons_status_out_of_memory();
        }
    }
    return NULL;
}

/* Weights that an update replaces. */
static ons_status *name_trained(ons_planning *p, ons_plan_subject *s) {
    const ons_graph *graph = p->input.stage.graph;
    uint64_t hash = FIRST_HASH;
    s->trainable_elements = 0;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_value_id replaced = ons_graph_value(graph, id)->pair;
        if (replaced == ONS_NONE || ons_graph_value(graph, replaced)->kind != ONS_PARAMETER) continue;
        const ons_value *weight = ons_graph_value(graph, replaced);
        s->trainable_elements += ons_shape_elements(&weight->type.shape);
        hash = hash_text(hash, weight->name);
    }
    s->trainable_digest = ons_arena_format(p->arena, "%016" PRIx64, hash);
    return s->trainable_digest == NULL ? ons_status_out_of_memory() : NULL;
}

ons_status *ons_planning_name_subject(ons_planning *p, int64_t batch, int64_t micro_batches) {
    ons_plan_subject *s = &p->plan.subject;
    p->plan.partition = p->strategy->name;
    p->plan.reproducible = p->config->reproducible;
    s->batch = batch;
    s->micro_batches = micro_batches;
    s->device_profile = p->profile.name;
    if (p->model == NULL) {
        s->model = p->config->cost_graph;
        return s->digest != NULL ? NULL : digest_file(p->config->cost_graph, p->arena, &s->digest);
    }
    s->model = p->model->path;
    s->loss = p->input.stage.loss_name;
    s->optimizer = p->config->optimizer;
    s->precision = p->config->precision;
    s->threads = p->config->threads;
    if (p->profile.processor && s->libraries == NULL) ONS_TRY(ons_plan_libraries_fill(p->arena, s));
    if (s->digest == NULL) ONS_TRY(digest_model(p->model, p->arena, &s->digest));
    ONS_TRY(name_dims(p, s));
    return name_trained(p, s);
}

/* ------------------------------------------------------------------------------------------------------------ refusal
 */

ons_status *ons_planning_refuse(const ons_planning *p) {
    ons_least_memory least;
    char have[ONS_BYTES_TEXT], need[ONS_BYTES_TEXT];
    ONS_TRY(ons_least_memory_find(&p->problem, p->strategy, &p->planned, &least));
    int64_t bytes = least.capacity_bytes + p->profile.reserve_bytes;
    double batch = (double)p->plan.subject.batch, with = least.step_seconds, without = least.uncapped_seconds;
    return ons_status_new(ONS_OUT_OF_MEMORY,
                          "no plan fits %s a device; the smallest memory found that does is --memory %" PRId64
                          " (%s): a step takes %.3f ms there, %.1f samples/s, against %.3f ms and %.1f samples/s with "
                          "memory for everything",
                          ons_bytes_print((double)(p->problem.capacity_bytes + p->profile.reserve_bytes), have), bytes,
                          ons_bytes_print((double)bytes, need), 1e3 * with, batch / with, 1e3 * without,
                          batch / without);
}
