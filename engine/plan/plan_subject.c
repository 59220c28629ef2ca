#include "engine/plan/plan_subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/config/plan_libraries.h"
#include "graph/passes/update.h"

/* With its end: texts in a row are not as one. */
static uint64_t hash_text(uint64_t hash, const char *text) { return ons_hash_bytes(hash, text, strlen(text) + 1); }

/* Nodes with their attributes, types and names as imported; no contents. */
static ons_status *digest_model(const ons_model *model, ons_arena *arena, const char **digest) {
    char *text;
    ONS_TRY(ons_graph_print(model->graph, &text));
    *digest = ons_arena_format(arena, "%016" PRIx64, hash_text(ONS_HASH_BASIS, text));
    free(text);
    return *digest == NULL ? ons_status_out_of_memory() : NULL;
}

/* ------------------------------------------------------------------------------------------------------------ parts */

static bool has_setting(const ons_plan_subject *s, const char *name) {
    for (uint32_t i = 0; i < s->dim_count; ++i)
        if (strcmp(s->dims[i].name, name) == 0) return true;
    return false;
}

/* Symbols of the model's inputs with the numbers that the planned graph has for them. */
static ons_status *name_dims(const ons_model *model, const ons_graph *to, ons_arena *arena, ons_plan_subject *s) {
    const ons_graph *from = model->graph;
    s->dim_count = 0;
    ONS_NEW(s->dims, arena, from->inputs.count * ONS_RANK_MAX + 1);
    for (size_t k = 0; from->symbols != NULL && k < from->inputs.count; ++k) {
        const ons_value *input = ons_graph_value(from, from->inputs.items[k]);
        ons_value_id bound = ons_graph_find_value(to, input->name);
        for (uint32_t axis = 0; bound != ONS_NONE && axis < input->type.shape.rank; ++axis) {
            const char *symbol = from->symbols[k][axis];
            if (symbol == NULL || has_setting(s, symbol)) continue;
            ons_plan_setting *dim = &s->dims[s->dim_count++];
            dim->name = symbol;
            dim->value = ons_arena_format(arena, "%" PRId64, ons_graph_value(to, bound)->type.shape.dims[axis]);
            if (dim->value == NULL) return ons_status_out_of_memory();
        }
    }
    return NULL;
}

/* Weights that an update replaces. In a half type they are no further ones. */
static ons_status *name_trained(const ons_graph *graph, ons_arena *arena, ons_plan_subject *s) {
    uint64_t hash = ONS_HASH_BASIS;
    s->trainable_elements = 0;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_value_id replaced = ons_graph_value(graph, id)->pair;
        if (replaced == ONS_NONE || ons_graph_value(graph, replaced)->kind != ONS_PARAMETER) continue;
        if (ons_update_half_of(ons_graph_node(graph, ons_graph_value(graph, id)->producer)) == replaced) continue;
        const ons_value *weight = ons_graph_value(graph, replaced);
        s->trainable_elements += ons_shape_elements(&weight->type.shape);
        hash = hash_text(hash, weight->name);
    }
    s->trainable_digest = ons_arena_format(arena, "%016" PRIx64, hash);
    return s->trainable_digest == NULL ? ons_status_out_of_memory() : NULL;
}

ons_status *ons_plan_subject_fill(const ons_model *model, const ons_config *config, bool here,
                                  const ons_model_graph *graph, ons_arena *arena, ons_plan_subject *s) {
    s->model = model->path;
    s->loss = graph->loss_name;
    s->optimizer = config->optimizer.text;
    s->precision = config->precision.text;
    s->threads = config->threads;
    if (here && s->libraries == NULL) ONS_TRY(ons_plan_libraries_fill(arena, s));
    if (s->digest == NULL) ONS_TRY(digest_model(model, arena, &s->digest));
    ONS_TRY(name_dims(model, graph->graph, arena, s));
    return name_trained(graph->graph, arena, s);
}

void ons_plan_subject_print_batch(const ons_plan_subject *s, FILE *out) {
    bool replicas = s->replicas > 1;
    fprintf(out, "batch %" PRId64, s->batch);
    if (replicas) fprintf(out, " in %" PRId64 " replicas", s->replicas);
    if (s->micro_batches > 1) fprintf(out, " %s %" PRId64 " micro-batches", replicas ? "of" : "in", s->micro_batches);
}

/* ------------------------------------------------------------------------------------------------------- comparison */

static ons_status *differs(const char *what, const char *planned, const char *run) {
    return ons_status_new(
        ONS_INVALID_ARGUMENT,
        "the plan was made for another %s: %s, and this run has %s; plan again with this run's options", what, planned,
        run);
}

static bool same(const char *left, const char *right) {
    return left == NULL || right == NULL || strcmp(left, right) == 0;
}

static ons_status *check_number(const char *what, int64_t planned, int64_t run) {
    char left[24], right[24];
    snprintf(left, sizeof left, "%" PRId64, planned);
    snprintf(right, sizeof right, "%" PRId64, run);
    return planned == run ? NULL : differs(what, left, right);
}

static ons_status *check_dims(const ons_plan_subject *planned, const ons_plan_subject *run) {
    for (uint32_t i = 0; i < planned->dim_count; ++i)
        for (uint32_t k = 0; k < run->dim_count; ++k)
            if (strcmp(planned->dims[i].name, run->dims[k].name) == 0 &&
                strcmp(planned->dims[i].value, run->dims[k].value) != 0)
                return ons_status_at(differs("dimension", planned->dims[i].value, run->dims[k].value), "--dim %s",
                                     run->dims[k].name);
    return NULL;
}

ons_status *ons_plan_subject_check(const ons_plan_subject *planned, const ons_plan_subject *run) {
    if (!same(planned->digest, run->digest)) return differs("model", planned->model, run->model);
    ONS_TRY(check_number("batch", planned->batch, run->batch));
    ONS_TRY(check_number("number of micro-batches", planned->micro_batches, run->micro_batches));
    if (planned->replicas > 1) ONS_TRY(check_number("number of replicas", planned->replicas, run->replicas));
    ONS_TRY(check_dims(planned, run));
    if (!same(planned->loss, run->loss)) return differs("loss", planned->loss, run->loss);
    if (!same(planned->optimizer, run->optimizer)) return differs("optimiser", planned->optimizer, run->optimizer);
    if (!same(planned->precision, run->precision)) return differs("precision", planned->precision, run->precision);
    if (planned->threads > 0 && run->threads > 0)
        ONS_TRY(check_number("number of threads", planned->threads, run->threads));
    if (!same(planned->trainable_digest, run->trainable_digest))
        return differs("set of trained weights (--train, --freeze)", planned->trainable_digest, run->trainable_digest);
    return NULL;
}
