#include "engine/model/assumptions.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/model/exporter_calls.h"
#include "engine/model/layer_forms.h"
#include "engine/model/notes.h"
#include "engine/model/raw_numbers.h"
#include "graph/passes/constants.h"
#include "graph/passes/loss.h"
#include "graph/passes/names.h"
#include "graph/sharing.h"
#include "onnx_import/numbers.h"

ons_status *ons_note(ons_assumptions *list, ons_arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *what = ons_arena_format_list(arena, format, arguments);
    va_end(arguments);
    if (what == NULL) return ons_status_out_of_memory();
    char *remedy = strchr(what, ONS_NOTE_SEPARATOR[0]);
    *remedy++ = '\0';
    ONS_PUSH(list, ((ons_assumption){what, remedy}));
    return NULL;
}

static bool begins_with(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

/* Things of one kind: how many there are, and the first of them. */
typedef struct counted {
    size_t count;
    const ons_value *first;
} counted;

static void count(counted *c, const ons_value *value) {
    if (c->count++ == 0) c->first = value;
}

static const char *plural(size_t number, const char *one, const char *several) { return number == 1 ? one : several; }

/* ---- weights that exporters merged */

static ons_status *assume_merged(const ons_model *model, ons_arena *arena, ons_assumptions *list) {
    size_t merged = 0, layers = 0;
    const char *first = NULL;
    for (size_t i = 0; i < ons_merge_count(model->file); ++i) {
        ons_merge merge = ons_merge_at(model->file, i);
        if (ons_import_has_parted(model->file, merge.name)) continue;
        if (merged++ == 0) first = merge.name, layers = merge.layers;
    }
    if (merged == 0) return NULL;
    return ons_note(list, arena, ons_note_merged_weights, merged, plural(merged, "is the weight", "are the weights"),
                    first, layers, plural(merged, "is", "each is"), first);
}

/* ---- BatchNorm multiplied into the convolution before it */

static const ons_value *parameter(const ons_graph *graph, ons_value_id id) {
    const ons_value *value = id == ONS_NONE ? NULL : ons_graph_value(graph, id);
    return value != NULL && value->kind == ONS_PARAMETER && value->producer == ONS_NONE ? value : NULL;
}

/* A kernel of at least one spatial dimension with a bias, both with names that no module gives: "onnx::Conv_12" and
 * "onnx::Conv_13", or "conv.weight" and "conv.weight_bias". */
static bool has_folded_weights(const ons_graph *graph, const ons_node *node) {
    if (node->input_count < 3) return false;
    const ons_value *weight = parameter(graph, node->inputs[1]), *bias = parameter(graph, node->inputs[2]);
    if (weight == NULL || bias == NULL || weight->type.shape.rank < 3 || bias->type.shape.rank != 1) return false;
    size_t length = strlen(weight->name);
    return (begins_with(weight->name, "onnx::") && begins_with(bias->name, "onnx::")) ||
           (begins_with(bias->name, weight->name) && strcmp(bias->name + length, "_bias") == 0);
}

/* By names, or by what the newer exporter's rewriter leaves at a node. */
static ons_status *assume_folded_normalisation(const ons_model *model, ons_arena *arena, ons_assumptions *list) {
    const char *first = "", *marked;
    size_t by_name = 0, by_mark = ons_model_file_marked_nodes(model->file, "FuseBatchNormInto", &marked);
    for (ons_node_id id = 0; id < model->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(model->graph, id);
        if (has_folded_weights(model->graph, node) && by_name++ == 0) first = node->name;
    }
    size_t folded = by_name > by_mark ? by_name : by_mark;
    if (folded == 0) return NULL;
    return ons_note(list, arena, ons_note_folded_batchnorm, folded, by_name > by_mark ? first : marked,
                    plural(folded, "it trains", "they train"));
}

/* ---- what was computed from parameters */

static ons_status *assume_computed(const ons_model *model, ons_arena *arena, ons_assumptions *list) {
    counted kept = {0}, trained = {0};
    for (ons_value_id id = 0; id < model->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(model->graph, id);
        if (value->origin == ONS_ORIGIN_COMPUTED && value->reason != ONS_NOT_REACHED && value->producer == ONS_NONE)
            count(value->kind == ONS_PARAMETER ? &trained : &kept, value);
    }
    const counted *all[] = {&kept, &trained};
    for (int i = 0; i < 2; ++i) {
        const counted *c = all[i];
        if (c->count == 0) continue;
        ONS_TRY(ons_note(list, arena, ons_note_computed_weights, c->count, plural(c->count, "tensor", "tensors"),
                         c->first->name, c->first->sources,
                         i == 0 ? "those parameters are not trained" : "it is trained in place of those parameters"));
    }
    return NULL;
}

/* ---- biases that are gone */

static ons_status *assume_removed_biases(const ons_model *model, ons_arena *arena, ons_assumptions *list) {
    const char *first;
    size_t removed = ons_lost_bias_count(model->file, &first);
    if (removed == 0) return NULL;
    return ons_note(list, arena, ons_note_removed_biases, removed, plural(removed, "bias", "biases"), first,
                    plural(removed, "it is not trained", "they are not trained"));
}

/* ---- parameters that are gone, or stand for what was computed from them as well */

static ons_status *assume_lost(const ons_model *model, const ons_config *config, ons_arena *arena,
                               ons_assumptions *list) {
    size_t gone = 0, merged = 0;
    ons_lost first_gone = {"", NULL}, first_merged = {"", ""};
    for (size_t i = 0; i < ons_lost_count(model->file); ++i) {
        ons_lost lost = ons_lost_at(model->file, i);
        if (!ons_config_trains(config, &(ons_value){.name = lost.parameter})) continue;
        if (lost.result == NULL && gone++ == 0) first_gone = lost;
        if (lost.result != NULL && merged++ == 0) first_merged = lost;
    }
    if (gone > 0)
        ONS_TRY(ons_note(list, arena, ons_note_lost_parameters, gone, plural(gone, "parameter", "parameters"),
                         first_gone.parameter, plural(gone, "it is not trained", "they are not trained")));
    if (merged == 0) return NULL;
    return ons_note(list, arena, ons_note_merged_results, merged, plural(merged, "tensor computed", "tensors computed"),
                    first_merged.result, first_merged.parameter);
}

/* ---- single numbers without a shape */

static bool lets_gradients_through(const ons_operator *op, uint32_t input) {
    return op->gradient.build != NULL && (op->gradient.differentiable & ONS_INPUT_BIT(input < 31 ? input : 31)) != 0;
}

/* Whether a node that a gradient could pass reads it: not what is left of a model whose end was cut off, nor the scale
 * of a quantisation. */
static bool could_be_trained(const ons_graph *graph, ons_value_id value) {
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i)
            if (node->inputs[i] == value && lets_gradients_through(node->op, i)) return true;
    }
    return false;
}

/* By what it is, whatever it is called; a number that computations are full of, or that sizes give, has to be called as
 * parameters are. */
static bool may_be_parameter(const ons_model *model, ons_value_id id) {
    const ons_value *value = ons_graph_value(model->graph, id);
    ons_number_kind kind = ons_number_kind_of(ons_store_get(model->graph->store, value->data));
    bool told = kind == ONS_NUMBER_FREE || ons_is_spelled_as_parameter(value->name);
    return told && ons_may_name_number(value->name) && could_be_trained(model->graph, id);
}

/* Whether an option names it: then it is as its user wants it. */
static bool is_named(const ons_config *config, const ons_value *value) {
    bool named = false;
    for (size_t i = 0; i < config->choices.count && !named; ++i)
        named = strcmp(config->choices.items[i].glob, ons_value_name_in_file(value)) == 0;
    return named;
}

static ons_status *assume_single_numbers(const ons_model *model, const ons_config *config, ons_arena *arena,
                                         ons_assumptions *list) {
    counted trained = {0}, kept = {0};
    for (ons_value_id id = 0; id < model->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(model->graph, id);
        if (value->producer != ONS_NONE || value->type.shape.rank != 0 || value->data == ONS_NO_DATA ||
            is_named(config, value))
            continue;
        if (value->kind == ONS_PARAMETER && value->origin == ONS_ORIGIN_UNKNOWN && ons_config_trains(config, value))
            count(&trained, value);
        if (value->reason == ONS_SCALAR && may_be_parameter(model, id)) count(&kept, value);
    }
    if (kept.count > 0)
        ONS_TRY(ons_note(list, arena, ons_note_numbers_kept, kept.count, plural(kept.count, "number", "numbers"),
                         kept.first->name, plural(kept.count, "a parameter", "parameters"),
                         plural(kept.count, "it is", "they are"), kept.first->name));
    if (trained.count == 0) return NULL;
    return ons_note(list, arena, ons_note_numbers_trained, trained.count, plural(trained.count, "number", "numbers"),
                    trained.first->name, plural(trained.count, "has", "have"), plural(trained.count, "is", "are"),
                    trained.first->name);
}

/* ---- constants of nodes that may be weights */

static ons_status *assume_unsure_constants(const ons_model *model, const ons_config *config, ons_arena *arena,
                                           ons_assumptions *list) {
    ons_unsure_constants unsure = {0};
    counted kept = {0};
    ons_status *status = ons_find_unsure_constants(model->graph, &unsure);
    for (size_t i = 0; i < unsure.count; ++i) {
        const ons_value *value = ons_graph_value(model->graph, unsure.items[i]);
        if (!is_named(config, value)) count(&kept, value);
    }
    ons_vector_free(&unsure);
    if (status != NULL || kept.count == 0) return status;
    return ons_note(list, arena, ons_note_constants_kept, kept.count, plural(kept.count, "tensor", "tensors"),
                    kept.first->name, plural(kept.count, "a weight: it is", "weights: they are"), kept.first->name);
}

/* ---- numbers of one parameter in several places */

static ons_status *assume_untold_copies(const ons_model *model, ons_arena *arena, ons_assumptions *list) {
    const char *first;
    size_t count = ons_untold_copy_count(model->file, &first);
    if (count == 0) return NULL;
    return ons_note(list, arena, ons_note_untold_copies, count, plural(count, "tensor", "tensors"), first);
}

/* ---- copies that a transposition hides */

static bool is_matrix(const ons_value *value) {
    return value->kind == ONS_PARAMETER && value->type.shape.rank == 2 && value->type.dtype == ONS_FLOAT32 &&
           value->data != ONS_NO_DATA && ons_shape_elements(&value->type.shape) > 1;
}

/* Those that have names of their own; the others are made of their original again (onnx_import/derived.c). */
static ons_status *assume_transposed(const ons_model *model, ons_arena *arena, ons_assumptions *list) {
    const ons_graph *graph = model->graph;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        for (ons_value_id other = 0; is_matrix(value) && other < id; ++other) {
            const ons_value *before = ons_graph_value(graph, other);
            if (!is_matrix(before) || !ons_tensor_is_transpose(ons_store_get(graph->store, before->data),
                                                               ons_store_get(graph->store, value->data)))
                continue;
            return ons_note(list, arena, ons_note_transposed_copy, value->name, before->name);
        }
    }
    return NULL;
}

/* ---- a loss of probabilities */

/* What made the value, beyond nodes that only pass elements on. */
static const ons_node *find_maker(const ons_graph *graph, ons_value_id id) {
    enum { PASSES_ON = ONS_TRAIT_IDENTITY | ONS_TRAIT_MOVES };
    for (;;) {
        const ons_value *value = ons_graph_value(graph, id);
        if (value->producer == ONS_NONE) return NULL;
        const ons_node *node = ons_graph_node(graph, value->producer);
        bool passes = ons_is_view(node->op) || (node->op->roles.traits & PASSES_ON) != 0;
        if (!passes || node->input_count == 0 || node->inputs[0] == ONS_NONE) return node;
        id = node->inputs[0];
    }
}

/* Types of outputs are not known yet: without a name it is the first. */
static ons_value_id find_prediction(const ons_graph *graph, const char *name) {
    for (size_t i = 0; i < graph->outputs.count; ++i)
        if (name == NULL || strcmp(ons_graph_value(graph, graph->outputs.items[i])->name, name) == 0)
            return graph->outputs.items[i];
    return ONS_NONE;
}

static ons_status *assume_probabilities(const ons_model *model, const ons_config *config, ons_arena *arena,
                                        ons_assumptions *list) {
    const ons_graph *graph = model->graph;
    ons_loss_options loss;
    ons_status *unclear = ons_config_loss(config, &loss);
    if (unclear != NULL) { /* whoever trains says so */
        ons_status_free(unclear);
        return NULL;
    }
    ons_value_id output = find_prediction(graph, config->loss_output);
    if (output == ONS_NONE || !ons_loss_refuses_probabilities(loss.role)) return NULL;
    const ons_node *maker = find_maker(graph, output);
    if (maker == NULL || (maker->op->roles.traits & ONS_TRAIT_PROBABILITIES) == 0) return NULL;
    bool logarithms = loss.role == ONS_ROLE_NEGATIVE_LOG_LIKELIHOOD;
    return ons_note(list, arena, ons_note_loss_of_probabilities, config->loss.text,
                    logarithms ? "logarithms of probabilities" : "logits", maker->name, maker->op->name,
                    logarithms ? "--loss cross_entropy " : "", ons_graph_value(graph, maker->inputs[0])->name);
}

static ons_status *assume_raw_logits(const ons_model *model, const ons_config *config, ons_arena *arena,
                                     ons_assumptions *list) {
    if ((ons_role)config->loss.value != ONS_ROLE_NEGATIVE_LOG_LIKELIHOOD || config->loss.text == NULL) return NULL;
    ons_value_id output = find_prediction(model->graph, config->loss_output);
    if (output == ONS_NONE || !ons_makes_raw_numbers(model->graph, output)) return NULL;
    return ons_note(list, arena, ons_note_loss_of_raw_numbers, ons_graph_value(model->graph, output)->name);
}

/* ---- options that find nothing to act on */

bool ons_has_batch_statistics(const ons_graph *graph) {
    bool found = false;
    for (ons_node_id id = 0; id < graph->nodes.count && !found; ++id) {
        const ons_operator *op = ons_graph_node(graph, id)->op;
        found = op->forms.inference.differs && op->roles.statistics != 0;
    }
    return found;
}

static bool drops(const ons_graph *graph) {
    bool found = false;
    for (ons_node_id id = 0; id < graph->nodes.count && !found; ++id) {
        const ons_operator *op = ons_graph_node(graph, id)->op;
        found = op->forms.inference.differs && (op->roles.traits & ONS_TRAIT_RANDOM) != 0;
    }
    return found;
}

static ons_status *assume_no_effect(const ons_model *model, const ons_config *config, ons_arena *arena,
                                    ons_assumptions *list) {
    bool normalises = ons_has_batch_statistics(model->graph);
    if (config->batchnorm.value == ONS_AS_TRAINING && !normalises)
        ONS_TRY(ons_note(list, arena, ons_note_batchnorm_without_effect));
    if (config->sync_batchnorm && !normalises) ONS_TRY(ons_note(list, arena, ons_note_sync_batchnorm_without_effect));
    ons_word as_usual;
    if (ons_word_find(ons_dropout_words, config->dropout, &as_usual) || drops(model->graph)) return NULL;
    return ons_note(list, arena, ons_note_dropout_without_effect, config->dropout);
}

/* -------------------------------------------------------------------------------------------------------------- all */

ons_status *ons_assumptions_find(const ons_model *model, const ons_config *config, ons_arena *arena,
                                 ons_assumptions *list) {
    ONS_TRY(assume_merged(model, arena, list));
    ONS_TRY(assume_folded_normalisation(model, arena, list));
    ONS_TRY(assume_computed(model, arena, list));
    ONS_TRY(assume_removed_biases(model, arena, list));
    ONS_TRY(assume_lost(model, config, arena, list));
    ONS_TRY(assume_transposed(model, arena, list));
    ONS_TRY(ons_assume_exporter_calls(model, config, arena, list));
    ONS_TRY(assume_untold_copies(model, arena, list));
    ONS_TRY(assume_single_numbers(model, config, arena, list));
    ONS_TRY(assume_unsure_constants(model, config, arena, list));
    ONS_TRY(assume_probabilities(model, config, arena, list));
    ONS_TRY(assume_raw_logits(model, config, arena, list));
    ONS_TRY(ons_assume_layer_forms(model, config, arena, list));
    return assume_no_effect(model, config, arena, list);
}

ons_status *ons_assumptions_check(const ons_config *config, const ons_assumptions *list) {
    if (!config->strict || list->count == 0) return NULL;
    const ons_assumption *first = &list->items[0];
    size_t more = list->count - 1;
    char rest[64] = "";
    if (more > 0) snprintf(rest, sizeof rest, " (and %zu more: `onstage check` lists them)", more);
    return ons_status_new(ONS_UNSUPPORTED, "--strict: %s; %s%s", first->what, first->remedy, rest);
}

ons_status *ons_assumptions_refuse(const ons_model *model, const ons_config *config) {
    if (!config->strict) return NULL;
    ons_assumptions list = {0};
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : ons_assumptions_find(model, config, arena, &list);
    if (status == NULL) status = ons_assumptions_check(config, &list);
    ons_vector_free(&list);
    ons_arena_free(arena);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ forms */

/* An attribute that is set, an output that inference lacks, or an input that says so. */
bool ons_acts_as_in_training(const ons_graph *graph, const ons_node *node) {
    const ons_inference_form *form = &node->op->forms.inference;
    if (!form->differs) return false;
    for (uint32_t i = 0; form->attribute != NULL && node->op->attributes[i].name != NULL; ++i)
        if (strcmp(node->op->attributes[i].name, form->attribute) == 0)
            return node->attributes[i].kind == ONS_ATTRIBUTE_INT && node->attributes[i].i != 0;
    for (uint32_t i = form->inputs; i < node->input_count; ++i) {
        const ons_tensor *flag = node->inputs[i] == ONS_NONE ? NULL : ons_graph_constant(graph, node->inputs[i]);
        if (flag != NULL && flag->type.dtype == ONS_BOOL && *(const uint8_t *)flag->data != 0) return true;
    }
    return false;
}

bool ons_is_in_training_form(const ons_graph *graph) {
    bool training = false;
    for (ons_node_id id = 0; id < graph->nodes.count && !training; ++id)
        training = ons_acts_as_in_training(graph, ons_graph_node(graph, id));
    return training;
}
