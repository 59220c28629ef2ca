/* Every problem of a model at once. */
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "engine/config/given.h"
#include "engine/model/assumptions.h"
#include "engine/model/batching.h"
#include "engine/model/model_graph.h"
#include "engine/model/sample_axes.h"
#include "engine/model/type_text.h"
#include "graph/sharing.h"
#include "kernels/kernels.h"

/* A check and the arena that its texts live in. */
typedef struct owned_check {
    ons_check check; /* first: what the caller holds */
    ons_arena *arena;
} owned_check;

static const char *text_or_empty(ons_arena *arena, const char *text) {
    return text == NULL ? "" : ons_arena_copy_text(arena, text);
}

static ons_status *copy_problems(owned_check *c, const ons_blockers *blockers) {
    ons_problem *problems;
    ONS_NEW(problems, c->arena, blockers->count);
    for (size_t i = 0; i < blockers->count; ++i) {
        const ons_blocker *each = &blockers->items[i];
        problems[i] = (ons_problem){text_or_empty(c->arena, each->node), text_or_empty(c->arena, each->operator_name),
                                    text_or_empty(c->arena, each->reason), text_or_empty(c->arena, each->remedy)};
    }
    c->check.problems = problems;
    c->check.count = blockers->count;
    return NULL;
}

/* Sizes that nothing binds: the check is about operators, so any will do, but small ones fail in pools and strides. */
enum { ASSUMED_BATCH = 2 };

/* Which gradients are missing on the way from the outputs to the weights. */
static ons_status *check_gradients(const ons_model *model, const ons_config *config, ons_graph *graph,
                                   ons_blockers *blockers) {
    for (size_t i = 0; i < graph->outputs.count; ++i) {
        ons_value_id output = graph->outputs.items[i];
        if (!ons_dtype_is_float(ons_graph_value(graph, output)->type.dtype)) continue;
        bool *reaches;
        ONS_TRY(ons_gradient_reaches(graph, output, &reaches));
        ons_value_id *weights = NULL, cotangent = ONS_NONE;
        uint32_t count = 0;
        ons_status *status = ons_trainable_weights(model, config, graph, reaches, graph->arena, &weights, &count);
        free(reaches);
        ONS_TRY(status);
        if (count == 0) {
            ONS_PUSH(blockers,
                     (ons_blocker){NULL, NULL, "no float initialiser is reached by a gradient: nothing to train",
                                   "look at `onstage inspect`; --train GLOB makes weights of initialisers"});
            return NULL;
        }
        ons_type type = ons_graph_value(graph, output)->type;
        ONS_TRY(ons_graph_add_value(graph, "cotangent", ONS_INPUT, &type, &cotangent));
        ons_parameter_gradient *gradients;
        ONS_NEW(gradients, graph->arena, count);
        return ons_differentiate(graph, model->registry, output, cotangent, weights, count, blockers, gradients);
    }
    ONS_PUSH(blockers, (ons_blocker){NULL, NULL, "no output is a float tensor: there is nothing to take a loss of",
                                     "export the logits or the loss as an output"});
    return NULL;
}

/* Nodes that no model can be trained through. */
static ons_status *check_quantized(const ons_graph *graph, ons_blockers *blockers) {
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (node->op->roles.traits & ONS_TRAIT_QUANTIZED)
            ONS_PUSH(blockers, (ons_blocker){node->name, node->op->name, node->op->gradient.why_not,
                                             "train the float model and quantise it afterwards; or export the "
                                             "quantise-dequantise (QDQ) form, which trains"});
    }
    return NULL;
}

/* Nodes that could not run though their shapes are known. */
static ons_status *check_kernels(const ons_graph *graph, ons_blockers *blockers) {
    const ons_backend *backend = ons_backend_find("cpu");
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        const char *why_not;
        if (!ons_is_view(node->op) && !ons_backend_has(backend, node->op, &why_not))
            ONS_PUSH(blockers, (ons_blocker){node->name, node->op->name, why_not, NULL});
    }
    return NULL;
}

static ons_status *find_problems(const ons_model *model, const ons_config *config, ons_blockers *blockers,
                                 owned_check *check) {
    ons_graph *graph = NULL;
    ons_arena *arena = check->arena;
    ons_batching batching;
    ONS_TRY(ons_choose_batching(model, config, &batching));
    ons_bind_options options = {.batch = batching.fixed ? batching.rows : ASSUMED_BATCH,
                                .fallback = ONS_ASSUMED_DIMENSION,
                                .folded_most = ons_model_file_budget(model->file)};
    ONS_TRY(ons_config_mode(config, true, &options.mode));
    ons_binding *bindings;
    ONS_TRY(ons_make_bindings(model, config, NULL, options.batch, arena, &bindings, &options.binding_count));
    options.bindings = bindings;
    size_t imported = blockers->count;
    ONS_TRY(ons_bind(model->graph, model->registry, &options, blockers, &graph));
    ons_status *status = NULL;
    status = check_quantized(graph, blockers);
    if (status == NULL && (blockers->count == imported || graph->outputs.count > 0))
        status = graph->outputs.count == 0 ? NULL : check_gradients(model, config, graph, blockers);
    if (status == NULL) status = check_kernels(graph, blockers);
    if (status == NULL) status = copy_problems(check, blockers); /* before the graph that holds the texts goes */
    ons_graph_free(graph);
    return status;
}

/* What data a run will ask for. */
static ons_status *list_inputs(const ons_model *model, owned_check *c) {
    const ons_graph *graph = model->graph;
    ons_input_need *inputs;
    ONS_NEW(inputs, c->arena, graph->inputs.count + 1);
    for (size_t i = 0; i < graph->inputs.count; ++i) {
        ons_input_samples samples = ons_input_samples_of(model, i);
        inputs[i] = (ons_input_need){
            .name = ons_arena_copy_text(c->arena, ons_graph_value(graph, graph->inputs.items[i])->name),
            .type = ons_input_type_text(c->arena, model, i),
            .once = samples.once,
            .axis = samples.axis,
        };
    }
    c->check.inputs = inputs;
    c->check.input_count = graph->inputs.count;
    return NULL;
}

static ons_status *list_assumptions(const ons_model *model, const ons_config *config, owned_check *c) {
    ons_assumptions list = {0};
    ons_assumption *copy;
    ons_status *status = ons_assumptions_find(model, config, c->arena, &list);
    if (status == NULL) status = ons_assumptions_check(config, &list);
    if (status == NULL && list.count > 0) {
        copy = ons_arena_allocate(c->arena, list.count, sizeof *copy);
        if (copy == NULL)
            status = ons_status_out_of_memory();
        else
            memcpy(copy, list.items, list.count * sizeof *copy);
        c->check.assumptions = copy;
        c->check.assumption_count = list.count;
    }
    ons_vector_free(&list);
    return status;
}

ons_status *ons_model_check(const char *path, const ons_config *config, ons_check **result) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(path, "path");
    ONS_GIVEN(config, "config");
    ONS_GIVEN(result, "check");
    owned_check *c = calloc(1, sizeof *c);
    if (c == NULL) return ons_status_out_of_memory();
    c->arena = ons_arena_new();
    ons_blockers blockers = {0};
    ons_model *model = NULL;
    ons_status *status =
        c->arena == NULL ? ons_status_out_of_memory() : ons_model_open(path, config, false, &blockers, &model);
    if (status == NULL) status = find_problems(model, config, &blockers, c);
    if (status == NULL) status = list_assumptions(model, config, c);
    if (status == NULL) status = list_inputs(model, c);
    if (status == NULL) status = ons_arena_check(c->arena); /* of the texts */
    ons_vector_free(&blockers);
    ons_model_free(model);
    if (status != NULL) {
        ons_check_free(&c->check);
        return status;
    }
    *result = &c->check;
    return NULL;
}

void ons_check_free(ons_check *check) {
    owned_check *c = (owned_check *)check;
    if (c == NULL) return;
    ons_arena_free(c->arena);
    free(c);
}
