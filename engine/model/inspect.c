#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/text.h"

#include "engine/config/given.h"
#include "engine/model/assumptions.h"
#include "engine/model/batching.h"
#include "engine/model/inspect_passes.h"
#include "engine/model/model_graph.h"
#include "engine/model/type_text.h"
#include "graph/operands.h"
#include "graph/passes/batch.h"
#include "graph/passes/constants.h"
#include "graph/passes/fuse.h"
#include "graph/passes/precision.h"

/* An inspection and what its texts live in. */
typedef struct owned_inspection {
    ons_inspection inspection; /* first: what the caller holds */
    ons_arena *arena;
    char *graph_text, *assumptions, *precision, *passes;
} owned_inspection;

enum { ASSUMED_BATCH = 1 };

static const char *reason_of(const ons_value *value) {
    bool number = ons_shape_elements(&value->type.shape) == 1;
    switch (value->reason) {
    case ONS_WEIGHT: return number ? "a single number, with a shape as parameters have: weight" : "weight";
    case ONS_NOT_FLOAT: return "not trained: an integer or boolean table";
    case ONS_SCALAR:
        return value->type.shape.rank == 0
                   ? "not trained: a single number without a shape; --train '*' --train NAME trains it"
                   : "not trained: a single number, named as a constant; --train '*' --train NAME trains it";
    case ONS_STATISTICS: return "not trained: running statistics";
    case ONS_HOLDS_INFINITIES: return "not trained: holds infinities, a mask";
    case ONS_SINUSOIDS: return "not trained: sines and cosines of positions; --train by name trains them";
    case ONS_FILLED: return "not trained: filled with one number by the program; --train by name trains it";
    case ONS_FIRST_STATE:
        return "not trained: zeros that a recurrence starts from, made by the program; --train by name trains it";
    case ONS_MASK: return "not trained: the values of a mask; --train by name trains it";
    case ONS_COORDINATES: return "not trained: evenly spaced, as coordinates are; --train by name trains it";
    case ONS_FREQUENCIES: return "not trained: a geometric series that the program made; --train by name trains it";
    case ONS_FROM_CONSTANT_NODE:
        return "not trained: a constant of the graph that may be a weight; --train by name trains it";
    case ONS_MODULE_BUFFER: return "not trained: a buffer of the module; --train by name trains it";
    case ONS_FOLDED: return "not trained: computed by the exporter, from no parameter; --train by name trains it";
    case ONS_COMPUTED: return "not trained: computed by the exporter, from parameters; --train by name trains it";
    case ONS_FED_ONCE: return "not trained: an input that is fed once";
    case ONS_NOT_REACHED: return "not trained: no gradient reaches it";
    }
    return "";
}

/* What a weight is called in the module, where the exporter has given it another name, and how it stands in the file.
 */
static const char *weight_text(ons_arena *arena, const ons_model *model, const ons_value *value) {
    const char *text = reason_of(value), *place = ons_stated_place(model->file, value->name);
    if (place != NULL) text = ons_arena_format(arena, "%s %s", text, place);
    if (ons_dtype_is_half(value->type.dtype) && text != NULL)
        text = ons_arena_format(arena, "%s, trained in float32 and written as %s", text,
                                ons_dtype_name(value->type.dtype));
    if (value->parameter != NULL && text != NULL)
        text = ons_arena_format(arena, "%s, the module's '%s'", text, value->parameter);
    if (value->repeated && text != NULL) text = ons_arena_format(arena, "%s, repeated in the file", text);
    return text == NULL ? "" : text;
}

static ons_status *list_ends(owned_inspection *o, const ons_model *model, const ons_graph *bound) {
    const ons_graph *graph = model->graph;
    ons_tensor_info *inputs, *outputs;
    ONS_NEW(inputs, o->arena, graph->inputs.count + model->unread_count + 1);
    ONS_NEW(outputs, o->arena, graph->outputs.count);
    for (size_t i = 0; i < graph->inputs.count; ++i) {
        ons_value_id id = graph->inputs.items[i];
        inputs[i] = (ons_tensor_info){ons_arena_copy_text(o->arena, ons_graph_value(graph, id)->name),
                                      ons_value_type_text(o->arena, graph, id)};
    }
    for (size_t i = 0; i < model->unread_count; ++i) {
        ons_value_id id = ons_graph_find_value(graph, model->unread[i]);
        inputs[graph->inputs.count + i] = (ons_tensor_info){
            ons_arena_copy_text(o->arena, model->unread[i]),
            ons_arena_format(o->arena, "%s, which nothing needs", ons_value_type_text(o->arena, graph, id))};
    }
    for (size_t i = 0; i < graph->outputs.count; ++i)
        outputs[i] =
            (ons_tensor_info){ons_arena_copy_text(o->arena, ons_graph_value(graph, graph->outputs.items[i])->name),
                              ons_value_type_text(o->arena, bound, bound->outputs.items[i])};
    o->inspection.inputs = inputs;
    o->inspection.outputs = outputs;
    o->inspection.input_count = graph->inputs.count + model->unread_count;
    o->inspection.output_count = graph->outputs.count;
    return NULL;
}

/* Weights that any float output depends on, in a way that gradients can go. */
static ons_status *find_reached(const ons_graph *bound, bool **result) {
    bool *any = calloc(bound->values.count + 1, sizeof *any);
    if (any == NULL) return ons_status_out_of_memory();
    for (size_t i = 0; i < bound->outputs.count; ++i) {
        if (!ons_dtype_is_float(ons_graph_value(bound, bound->outputs.items[i])->type.dtype)) continue;
        bool *reaches;
        ons_status *status = ons_gradient_reaches(bound, bound->outputs.items[i], &reaches);
        if (status != NULL) {
            free(any);
            return status;
        }
        for (size_t k = 0; k < bound->values.count; ++k) any[k] |= reaches[k];
        free(reaches);
    }
    *result = any;
    return NULL;
}

static bool is_listed(const ons_unsure_constants *list, ons_value_id id) {
    bool listed = false;
    for (size_t i = 0; i < list->count && !listed; ++i) listed = list->items[i] == id;
    return listed;
}

static ons_status *list_parameters(owned_inspection *o, const ons_model *model, const ons_config *config,
                                   const ons_graph *bound) {
    const ons_graph *graph = model->graph;
    bool *reached = NULL;
    ons_unsure_constants unsure = {0};
    ONS_TRY(ons_config_check_choices(config, graph));
    ONS_TRY(find_reached(bound, &reached));
    ons_status *status = ons_find_unsure_constants(graph, &unsure);
    if (status != NULL) {
        ons_vector_free(&unsure);
        free(reached);
        return status;
    }
    ons_parameter_info *list = ons_arena_allocate(o->arena, graph->values.count + 1, sizeof *list);
    size_t count = 0;
    for (ons_value_id id = 0; list != NULL && id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        if (value->producer != ONS_NONE || value->data == ONS_NO_DATA ||
            (value->reason == ONS_FROM_CONSTANT_NODE && !is_listed(&unsure, id)))
            continue;
        ons_value_id found = ons_graph_find_value(bound, value->name);
        bool weight = value->kind == ONS_PARAMETER, reaches = found != ONS_NONE && reached[found];
        bool trains = ons_config_trains(config, value);
        int64_t elements = ons_shape_elements(&value->type.shape);
        list[count++] = (ons_parameter_info){
            .name = ons_arena_copy_text(o->arena, value->name),
            .type = ons_value_type_text(o->arena, graph, id),
            .elements = elements,
            .trainable = weight && reaches && trains,
            .reason = weight && reaches && trains ? weight_text(o->arena, model, value)
                      : !weight                   ? reason_of(value)
                      : !reaches                  ? "not trained: no gradient reaches it"
                                                  : "not trained: frozen by --freeze or --train",
        };
        *(list[count - 1].trainable ? &o->inspection.trainable_elements : &o->inspection.frozen_elements) += elements;
    }
    free(reached);
    ons_vector_free(&unsure);
    if (list == NULL) return ons_status_out_of_memory();
    o->inspection.parameters = list;
    o->inspection.parameter_count = count;
    return NULL;
}

static int by_flops(const void *left, const void *right) {
    const ons_operator_info *a = left, *b = right;
    if (a->forward_flops != b->forward_flops) return a->forward_flops < b->forward_flops ? 1 : -1;
    return strcmp(a->name, b->name);
}

static ons_status *list_operators(owned_inspection *o, const ons_graph *bound) {
    ons_operator_info *list;
    size_t count = 0;
    ONS_NEW(list, o->arena, bound->nodes.count + 1);
    for (ons_node_id id = 0; id < bound->nodes.count; ++id) {
        ons_operands operands;
        ONS_TRY(ons_operands_of(bound, id, o->arena, &operands));
        double flops = operands.op->cost(&operands).flops;
        size_t at = 0;
        while (at < count && strcmp(list[at].name, operands.op->name) != 0) ++at;
        if (at == count) list[count++] = (ons_operator_info){.name = operands.op->name};
        list[at].count += 1;
        list[at].forward_flops += flops;
        o->inspection.forward_flops += flops;
    }
    qsort(list, count, sizeof list[0], by_flops);
    o->inspection.operators = list;
    o->inspection.operator_count = count;
    return NULL;
}

/* Tensors of the file that are no weights of their own. */
static void write_copies(const ons_model *model, FILE *out) {
    for (size_t i = 0; i < ons_derived_count(model->file); ++i) {
        const ons_derived *derived = ons_derived_at(model->file, i);
        if (derived->index != NULL && strcmp(derived->name, derived->source) == 0)
            fprintf(out, "'%s' holds numbers in several places, as the exporter has put them: each is trained as one\n",
                    derived->name);
        else if (derived->index != NULL)
            fprintf(out, "'%s' holds numbers of '%s': the two are trained as one\n", derived->name, derived->source);
        else if (strcmp(derived->name, derived->source) == 0)
            fprintf(out, "'%s' holds the same again and again, as the exporter has repeated it: it is trained as one\n",
                    derived->name);
        else
            fprintf(out, "'%s' is the transpose of '%s': the two are trained as one\n", derived->name, derived->source);
    }
}

/* How often nodes read each value. */
static ons_status *count_uses(const ons_graph *graph, ons_arena *arena, uint32_t **counts) {
    ONS_NEW(*counts, arena, graph->values.count + 1);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE) ++(*counts)[node->inputs[i]];
    }
    return NULL;
}

static void write_ties(const ons_model *model, const ons_graph *bound, const uint32_t *counts, FILE *out) {
    for (ons_value_id id = 0; id < bound->values.count; ++id) {
        const ons_value *value = ons_graph_value(bound, id);
        uint32_t uses = value->kind == ONS_PARAMETER ? counts[id] : 0;
        if (uses > 1 && ons_stated_place(model->file, value->name) != NULL)
            fprintf(out, "'%s' is used %u times and trained as one weight\n", value->name, uses);
        else if (uses > 1)
            fprintf(
                out,
                "'%s' is used %u times and trained as one weight; --untie '%s' gives each layer that reads it one of "
                "its own\n",
                value->name, uses, value->name);
    }
}

/* Axes without a size, weights that several nodes read, and what a run takes for granted. */
static ons_status *write_assumptions(owned_inspection *o, const ons_model *model, const ons_config *config,
                                     const ons_graph *bound) {
    size_t size;
    uint32_t *counts;
    ONS_TRY(count_uses(bound, o->arena, &counts));
    FILE *out = open_memstream(&o->assumptions, &size);
    if (out == NULL) return ons_status_out_of_memory();
    for (size_t i = 0; i < model->graph->inputs.count && i < bound->inputs.count; ++i) {
        const ons_value *file = ons_graph_value(model->graph, model->graph->inputs.items[i]);
        const ons_value *here = ons_graph_value(bound, bound->inputs.items[i]);
        for (uint32_t axis = 0; axis < file->type.shape.rank; ++axis) {
            const char *symbol = model->graph->symbols == NULL ? NULL : model->graph->symbols[i][axis];
            bool given = axis == 0 && config->batch > 0;
            for (size_t k = 0; symbol != NULL && k < config->dims.count; ++k)
                given |= strcmp(config->dims.items[k].name, symbol) == 0;
            if (file->type.shape.dims[axis] < 0 && !given)
                fprintf(out, "dimension %u (%s) of input '%s' is taken as %" PRId64 "%s%s%s\n", axis,
                        symbol == NULL ? "unnamed" : symbol, file->name, here->type.shape.dims[axis],
                        symbol == NULL ? "" : "; --dim ", symbol == NULL ? "" : symbol,
                        symbol == NULL ? "" : "=N sets it");
        }
    }
    write_ties(model, bound, counts, out);
    ons_assumptions list = {0};
    ons_status *status = ons_assumptions_find(model, config, o->arena, &list);
    for (size_t i = 0; i < list.count; ++i) fprintf(out, "%s; %s\n", list.items[i].what, list.items[i].remedy);
    ons_vector_free(&list);
    if (status == NULL) write_copies(model, out);
    ons_status *closed = ons_text_close(out, &o->assumptions);
    if (status == NULL) return closed;
    ons_status_free(closed);
    return status;
}

static const char *precision_reason(const ons_operator *op, bool low) {
    ons_precision_class class = ons_roles_precision(&op->roles);
    if (class == ONS_PRECISION_LOW) return low ? "products, summed in float32" : "takes nothing else here";
    if (class == ONS_PRECISION_FOLLOWS) return low ? "as its operands, float32 inside" : "as its operands";
    return "always";
}

static void write_precision_rows(FILE *out, const ons_precision_table *table, ons_dtype low) {
    for (uint32_t i = 0; i < table->count; ++i) {
        const ons_precision_row *row = &table->rows[i];
        if (row->low > 0)
            fprintf(out, "%-32s %6u %-9s %s\n", row->op->name, row->low, ons_dtype_name(low),
                    precision_reason(row->op, true));
        if (row->full > 0)
            fprintf(out, "%-32s %6u %-9s %s\n", row->op->name, row->full, ons_dtype_name(ONS_FLOAT32),
                    precision_reason(row->op, false));
    }
    fprintf(out, "%-32s %6u %-9s once a step, shared by forward and backward\n", "(casts of weights)",
            table->weight_casts, "");
    fprintf(out, "%-32s %6u %-9s once for all readers\n", "(casts of other values)", table->casts - table->weight_casts,
            "");
    fprintf(out, "%-32s %6s %-9s always\n", "(loss, weights, update)", "", ons_dtype_name(ONS_FLOAT32));
}

/* What --precision makes of the forward part. `bound` is changed. */
static ons_status *write_precision(owned_inspection *o, const ons_model *model, const ons_config *config,
                                   ons_graph **bound) {
    ons_precision_table table;
    size_t size;
    ons_dtype low = ons_config_low_type(config);
    if (low == ONS_FLOAT32) return NULL;
    ONS_TRY(ons_fuse(bound, model->registry));
    ONS_TRY(ons_lower_precision(*bound, model->registry, low, NULL, &table));
    FILE *out = open_memstream(&o->precision, &size);
    if (out == NULL) return ons_status_out_of_memory();
    write_precision_rows(out, &table, low);
    ONS_TRY(ons_text_close(out, &o->precision));
    o->inspection.precision = o->precision;
    return NULL;
}

static ons_status *fill(owned_inspection *o, const ons_model *model, const ons_config *config, ons_graph **bound) {
    ons_model_info info;
    ons_model_file_info(model->file, &info);
    o->inspection.producer = ons_arena_format(o->arena, "%s %s", info.producer_name, info.producer_version);
    o->inspection.graph_name = ons_arena_copy_text(o->arena, info.graph_name);
    o->inspection.ir_version = info.ir_version;
    o->inspection.opset = info.opset;
    ons_batching batching;
    ONS_TRY(ons_choose_batching(model, config, &batching));
    ons_bind_options options = {.fallback = ONS_ASSUMED_DIMENSION, .folded_most = ons_model_file_budget(model->file)};
    bool chosen = config->batch > 0 || ons_exported_batch(model->graph) > 0;
    options.batch = chosen ? batching.rows : ASSUMED_BATCH;
    ONS_TRY(ons_config_mode(config, true, &options.mode));
    ons_binding *bindings;
    ONS_TRY(ons_make_bindings(model, config, NULL, options.batch, o->arena, &bindings, &options.binding_count));
    options.bindings = bindings;
    ONS_TRY(ons_bind(model->graph, model->registry, &options, NULL, bound));
    ONS_TRY(list_ends(o, model, *bound));
    ONS_TRY(list_parameters(o, model, config, *bound));
    ONS_TRY(list_operators(o, *bound));
    ONS_TRY(write_assumptions(o, model, config, *bound));
    ONS_TRY(config->after == NULL ? ons_graph_print(*bound, &o->graph_text)
                                  : ons_inspect_after(model, config, &o->passes, &o->graph_text));
    o->inspection.passes = o->passes;
    ONS_TRY(ons_arena_check(o->arena)); /* of the texts in the lists */
    o->inspection.graph_text = o->graph_text;
    o->inspection.assumptions = o->assumptions;
    return write_precision(o, model, config, bound);
}

ons_status *ons_model_inspect(ons_model *model, const ons_config *config, ons_inspection **result) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(model, "model");
    ONS_GIVEN(config, "config");
    ONS_GIVEN(result, "inspection");
    owned_inspection *o = calloc(1, sizeof *o);
    if (o == NULL) return ons_status_out_of_memory();
    o->arena = ons_arena_new();
    ons_graph *bound = NULL;
    ons_status *status = o->arena == NULL ? ons_status_out_of_memory() : fill(o, model, config, &bound);
    ons_graph_free(bound);
    if (status != NULL) {
        ons_inspection_free(&o->inspection);
        return ons_status_at(status, "%s", model->path);
    }
    *result = &o->inspection;
    return NULL;
}

void ons_inspection_free(ons_inspection *inspection) {
    owned_inspection *o = (owned_inspection *)inspection;
    if (o == NULL) return;
    free(o->graph_text);
    free(o->assumptions);
    free(o->precision);
    free(o->passes);
    ons_arena_free(o->arena);
    free(o);
}
