#include "engine/model/sample_axes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model/loss_division.h"
#include "engine/model/notes.h"
#include "graph/operator.h"
#include "graph/passes/batch.h"
#include "graph/passes/readers.h"
#include "graph/passes/samples.h"
#include "onnx_import/tensor_file.h"
#include "runtime/data/convert.h"

enum { SAMPLES = 3, NOWHERE = ONS_RANK_MAX }; /* bound for a look at the structure */

static ons_value *input_value(const ons_graph *graph, size_t input) {
    return ons_graph_value(graph, graph->inputs.items[input]);
}

/* --------------------------------------------------------------------------------------------------------- evidence */

/* The symbol at axis 0 of all inputs that have a symbol there; NULL: there is none, or there are several. */
static const char *batch_symbol(const ons_graph *graph) {
    const char *symbol = NULL;
    for (size_t i = 0; i < graph->inputs.count; ++i) {
        const char *here = input_value(graph, i)->type.shape.rank == 0 ? NULL : graph->symbols[i][0];
        if (here != NULL && symbol != NULL && strcmp(here, symbol) != 0) return NULL;
        if (here != NULL) symbol = here;
    }
    return symbol;
}

/* Where the model itself says that an input has its samples; NOWHERE: it has none. */
static uint32_t told_axis(const ons_graph *graph, size_t input, const char *batch) {
    const ons_shape *shape = &input_value(graph, input)->type.shape;
    if (shape->rank == 0) return NOWHERE;
    if (batch == NULL || shape->dims[0] == ONS_DIM_UNKNOWN) return 0;
    for (uint32_t axis = 1; axis < shape->rank; ++axis)
        if (graph->symbols[input][axis] != NULL && strcmp(graph->symbols[input][axis], batch) == 0) return axis;
    return NOWHERE;
}

/* What an option says of an input; NULL: nothing. */
static const ons_pair *find_pair(const ons_pairs *pairs, const char *name, size_t inputs) {
    for (size_t i = 0; i < pairs->count; ++i)
        if (strcmp(pairs->items[i].name, name) == 0 || (pairs->items[i].name[0] == '\0' && inputs == 1))
            return &pairs->items[i];
    return NULL;
}

static ons_status *parse_axis(const ons_pair *pair, uint32_t rank, uint32_t *axis) {
    char *end;
    long value = strtol(pair->value, &end, 10);
    if (value < 0) value += (long)rank;
    ONS_CHECK(*end == '\0' && end != pair->value && value >= 0 && value < (long)rank, ONS_INVALID_ARGUMENT,
              "--batch-axis %s=%s: '%s' has %u axes, counted from 0", pair->name, pair->value, pair->name, rank);
    *axis = (uint32_t)value;
    return NULL;
}

static ons_status *check_names(const ons_graph *graph, const ons_config *config) {
    for (size_t i = 0; i < config->batch_axes.count; ++i) {
        const char *name = config->batch_axes.items[i].name;
        bool known = strcmp(name, "target") == 0;
        for (size_t k = 0; k < graph->inputs.count; ++k) known |= strcmp(input_value(graph, k)->name, name) == 0;
        ONS_CHECK(
            known, ONS_INVALID_ARGUMENT,
            "--batch-axis %s: the model has no input of that name; its first one is '%s', and target is the array "
            "of --target",
            name, graph->inputs.count == 0 ? "" : input_value(graph, 0)->name);
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------- changing graphs */

/* Whether a branch or body reads the graph's value: by its name. */
static bool is_captured(const ons_graph *graph, ons_value_id value) {
    bool captured = false;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; node->op->attributes[i].name != NULL; ++i)
            captured |= node->attributes[i].kind == ONS_ATTRIBUTE_GRAPH &&
                        ons_captured(graph, value, node->attributes[i].graph) != ONS_NONE;
    }
    return captured;
}

static ons_status *rename_value(ons_graph *graph, ons_value_id id, const char *name) {
    ons_graph_value(graph, id)->name = name;
    return ons_map_set(&graph->value_names, name, id);
}

/* `from` with its axes in another order, axes[i] at i, by a node at the end of the graph. */
static ons_status *add_transpose(const ons_model *m, ons_value_id from, ons_value_id to, const uint32_t *axes) {
    ons_graph *graph = m->graph;
    const ons_operator *op = ons_registry_role(m->registry, ONS_ROLE_TRANSPOSE);
    uint32_t rank = ons_graph_value(graph, to)->type.shape.rank, count = 0;
    int64_t *order;
    ons_attribute *attributes;
    ons_node_id node;
    while (op->attributes[count].name != NULL) ++count;
    ONS_NEW(order, graph->arena, ONS_RANK_MAX);
    ONS_NEW(attributes, graph->arena, count + 1);
    for (uint32_t i = 0; i < rank; ++i) order[i] = axes[i];
    attributes[0] = (ons_attribute){.kind = ONS_ATTRIBUTE_INTS, .count = rank, .ints = order};
    const char *name = ons_arena_format(graph->arena, "%s/samples", ons_graph_value(graph, to)->name);
    if (name == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_graph_add_node(graph, op, name, attributes, &from, 1, 1, &node));
    ons_graph_set_output(graph, node, 0, to);
    return NULL;
}

static ons_status *move_last_node_to_front(ons_graph *graph) {
    ons_node_id last = (ons_node_id)graph->nodes.count - 1;
    const ons_node node = graph->nodes.items[last];
    memmove(graph->nodes.items + 1, graph->nodes.items, last * sizeof node);
    graph->nodes.items[0] = node;
    for (ons_node_id id = 0; id <= last; ++id) {
        ons_node *each = ons_graph_node(graph, id);
        each->origin = each->origin == last ? 0 : each->origin + 1;
        ONS_TRY(ons_map_set(&graph->node_names, each->name, id));
    }
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_node_id *producer = &ons_graph_value(graph, id)->producer;
        if (*producer != ONS_NONE) *producer = *producer == last ? 0 : *producer + 1;
    }
    return NULL;
}

/* The value's part in the graph goes to a new one, which has its name; it is called otherwise from now on. */
static ons_status *stand_in(ons_graph *graph, ons_value_id old, ons_value_kind kind, const ons_type *type,
                            ons_value_id *fresh) {
    const char *name = ons_graph_value(graph, old)->name;
    ONS_CHECK(!is_captured(graph, old), ONS_UNSUPPORTED,
              "--batch-axis: a branch or body reads '%s' itself; transpose it in the module before the export", name);
    ONS_TRY(ons_graph_add_value(graph, name, kind, type, fresh));
    const char *other = ons_graph_value(graph, *fresh)->name; /* made unique */
    ONS_TRY(rename_value(graph, old, other));
    return rename_value(graph, *fresh, name);
}

/* The graph takes the input with `axis` in front. */
static ons_status *move_input(const ons_model *m, size_t input, uint32_t axis) {
    ons_graph *graph = m->graph;
    ons_value_id old = graph->inputs.items[input], fresh;
    ons_type type = ons_graph_value(graph, old)->type;
    const ons_shape shape = type.shape;
    const char *symbols[ONS_RANK_MAX] = {NULL};
    uint32_t back[ONS_RANK_MAX]; /* axis i of the file's is axis back[i] of what is fed */
    for (uint32_t i = 0; i < shape.rank; ++i) {
        back[i] = i == axis ? 0 : i < axis ? i + 1 : i;
        type.shape.dims[back[i]] = shape.dims[i];
        symbols[back[i]] = graph->symbols[input][i];
    }
    ONS_TRY(stand_in(graph, old, ONS_INPUT, &type, &fresh));
    ons_graph_value(graph, old)->kind = ONS_ACTIVATION;
    memcpy(graph->symbols[input], symbols, sizeof symbols);
    graph->inputs.items[input] = fresh;
    ONS_TRY(add_transpose(m, fresh, old, back));
    return move_last_node_to_front(graph);
}

/* The graph gives the output with `axis` in front. */
static ons_status *move_output(const ons_model *m, size_t output, const ons_shape *shape, uint32_t axis) {
    ons_graph *graph = m->graph;
    ons_value_id old = graph->outputs.items[output], fresh;
    ons_type type = ons_graph_value(graph, old)->type;
    uint32_t axes[ONS_RANK_MAX] = {axis};
    for (uint32_t i = 1; i < shape->rank; ++i) axes[i] = i <= axis ? i - 1 : i;
    type.shape = *shape;
    for (uint32_t i = 0; i < shape->rank; ++i) type.shape.dims[i] = ONS_DIM_UNKNOWN;
    ONS_TRY(stand_in(graph, old, ONS_ACTIVATION, &type, &fresh));
    graph->outputs.items[output] = fresh;
    return add_transpose(m, old, fresh, axes);
}

/* --------------------------------------------------------------------------------------------------------- fed once */

static bool fits_shape(const ons_shape *wanted, const ons_shape *given) {
    if (wanted->rank != given->rank) return false;
    for (uint32_t i = 0; i < wanted->rank; ++i)
        if (wanted->dims[i] != ONS_DIM_UNKNOWN && wanted->dims[i] != given->dims[i]) return false;
    return true;
}

/* Makes a constant of an input. An array with as many elements as the model's input has is taken in its shape. */
static ons_status *feed_once(ons_model *m, size_t input, const char *origin, const ons_type *type, const void *data) {
    ons_graph *graph = m->graph;
    ons_value *value = input_value(graph, input);
    ons_type wanted = value->type, given = *type;
    char has[ONS_TYPE_TEXT], wants[ONS_TYPE_TEXT];
    bool known = true;
    for (uint32_t i = 0; i < wanted.shape.rank; ++i) known &= wanted.shape.dims[i] != ONS_DIM_UNKNOWN;
    if (known && ons_shape_elements(&wanted.shape) == ons_shape_elements(&given.shape)) given.shape = wanted.shape;
    ONS_CHECK(fits_shape(&wanted.shape, &given.shape), ONS_INVALID_DATA,
              "'%s' is %s; input '%s' counts no samples, and the model takes it whole as %s; give one array of that "
              "shape, or --batch-axis %s=N if it has a sample in each index of axis N",
              origin, ons_type_print(type, has), value->name, ons_type_print(&wanted, wants), value->name);
    wanted.shape = given.shape;
    void *bytes;
    ONS_TRY(ons_store_add(&m->store, &wanted, &bytes, &value->data));
    ONS_CHECK(ons_convert(type->dtype, data, wanted.dtype, bytes, (size_t)ons_shape_elements(&wanted.shape)),
              ONS_INVALID_DATA, "'%s' holds a number that does not fit into the model's %s", origin,
              ons_dtype_name(wanted.dtype));
    value->type = wanted;
    value->kind = ONS_CONSTANT;
    value->reason = ONS_FED_ONCE;
    m->fed_once[m->fed_once_count++] = value->name;
    size_t behind = --graph->inputs.count - input;
    memmove(&graph->inputs.items[input], &graph->inputs.items[input + 1], behind * sizeof graph->inputs.items[0]);
    memmove(&graph->symbols[input], &graph->symbols[input + 1], behind * sizeof graph->symbols[0]);
    memmove(&m->input_axes[input], &m->input_axes[input + 1], behind * sizeof m->input_axes[0]);
    return NULL;
}

static ons_status *feed_file_once(ons_model *m, size_t input, const char *path) {
    ons_array array;
    ONS_TRY(ons_array_open(path, ons_tensor_file_read, &array));
    ons_status *status = feed_once(m, input, path, &array.type, array.data);
    ons_array_close(&array);
    return status;
}

/* The array of the input, where it is fed once and there is one: in a file or in memory. */
static ons_status *find_and_feed(ons_model *m, const ons_config *config, size_t input, bool *fed) {
    const char *name = input_value(m->graph, input)->name;
    const ons_pair *file = find_pair(&config->inputs, name, m->graph->inputs.count);
    size_t before = m->fed_once_count;
    if (file != NULL) ONS_TRY(feed_file_once(m, input, file->value));
    for (size_t i = 0; file == NULL && i < config->arrays.count && m->fed_once_count == before; ++i) {
        const ons_memory_array *array = &config->arrays.items[i];
        if (array->validation || strcmp(array->name, name) != 0) continue;
        ons_type type =
            ons_type_make((ons_dtype)array->view.element_type, ons_shape_make(array->view.rank, array->dims));
        ONS_TRY(feed_once(m, input, name, &type, array->view.data));
    }
    *fed = m->fed_once_count > before;
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------------- all */

/* The axis of an input that counts samples, NOWHERE where none does; *said: by an option. */
static ons_status *choose_axis(const ons_model *m, const ons_config *config, size_t input, const char *batch,
                               uint32_t *axis, bool *said) {
    const ons_value *value = input_value(m->graph, input);
    const ons_pair *pair = find_pair(&config->batch_axes, value->name, 0);
    const ons_pair *file = find_pair(&config->inputs, value->name, m->graph->inputs.count);
    bool once = file != NULL && file->once;
    ONS_CHECK(pair == NULL || !once, ONS_INVALID_ARGUMENT,
              "--input %s=…,once says that no axis of it counts samples, and --batch-axis %s=%s that one does",
              value->name, value->name, pair == NULL ? "" : pair->value);
    *said = pair != NULL || once;
    *axis = once ? NOWHERE : told_axis(m->graph, input, batch);
    return pair == NULL ? NULL : parse_axis(pair, value->type.shape.rank, axis);
}

static ons_status *bind_structure(const ons_model *m, const ons_config *config, ons_graph **bound) {
    int64_t exported = ons_exported_batch(m->graph);
    const ons_binding_options options = {.model = m, .config = config, .fallback = ONS_ASSUMED_DIMENSION};
    ons_status *status = ons_bind_model(&options, exported > 0 ? exported : SAMPLES, bound);
    *bound = status == NULL ? *bound : NULL;
    if (status == NULL || ons_status_get_code(status) == ONS_OUT_OF_MEMORY) return status;
    ons_status_free(status); /* the run binds the model again, and reports it */
    return NULL;
}

/* Refuses samples that a recurrence takes for steps of time, unless --batch-axis says that they stand there. */
static ons_status *check_recurrences(const ons_model *m, const ons_config *config, const ons_graph *bound) {
    ons_time_as_samples found;
    ONS_TRY(ons_find_time_as_samples(bound, m->registry, &found));
    if (found.node == ONS_NONE) return NULL;
    const char *name = input_value(bound, found.input)->name;
    if (find_pair(&config->batch_axes, name, 0) != NULL) return NULL;
    const ons_node *node = ons_graph_node(bound, found.node);
    return ons_status_new(ONS_INVALID_ARGUMENT, ons_refusal_time_as_samples, name, node->name, node->op->name, name,
                          found.axis > 0 ? found.axis : 1, name);
}

static ons_status *place_outputs(ons_model *m, const ons_graph *bound) {
    size_t count = bound->outputs.count < m->graph->outputs.count ? bound->outputs.count : m->graph->outputs.count;
    ONS_TRY(ons_find_output_samples(bound, m->registry, m->output_axes));
    for (size_t i = 0; i < count; ++i)
        if (m->output_axes[i] > 0)
            ONS_TRY(move_output(m, i, &ons_graph_value(bound, bound->outputs.items[i])->type.shape, m->output_axes[i]));
    m->target_axis = m->graph->outputs.count > 0 ? m->output_axes[0] : 0;
    return NULL;
}

/* What the bound graph shows: recurrences that go the wrong way, and outputs whose samples stand elsewhere. */
static ons_status *look_at_structure(ons_model *m, const ons_config *config, bool moved) {
    ons_graph *bound;
    ONS_TRY(bind_structure(m, config, &bound));
    if (bound == NULL) return NULL;
    ons_status *status = check_recurrences(m, config, bound);
    if (status == NULL && moved) status = place_outputs(m, bound);
    ons_graph_free(bound);
    return status;
}

static bool has_recurrence(const ons_graph *graph) {
    bool any = false;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) any |= ons_graph_node(graph, id)->op->roles.states != 0;
    return any;
}

static ons_status *place_inputs(ons_model *m, const ons_config *config, bool *moved) {
    const char *batch = batch_symbol(m->graph);
    for (size_t i = 0; i < m->graph->inputs.count;) {
        bool said, fed = false;
        uint32_t axis;
        ONS_TRY(choose_axis(m, config, i, batch, &axis, &said));
        if (axis == NOWHERE) ONS_TRY(find_and_feed(m, config, i, &fed));
        if (fed) continue;
        m->input_axes[i] = axis;
        input_value(m->graph, i)->once = axis == NOWHERE;
        if (axis > 0 && axis != NOWHERE) ONS_TRY(move_input(m, i, axis));
        *moved |= axis > 0 && axis != NOWHERE;
        ++i;
    }
    return NULL;
}

ons_status *ons_place_samples(ons_model *m, const ons_config *config) {
    const ons_graph *graph = m->graph;
    bool moved = false;
    ONS_TRY(check_names(graph, config));
    ONS_NEW(m->input_axes, m->arena, graph->inputs.count + 1);
    ONS_NEW(m->output_axes, m->arena, graph->outputs.count + 1);
    ONS_NEW(m->fed_once, m->arena, graph->inputs.count + 1);
    ONS_TRY(place_inputs(m, config, &moved));
    if (moved || has_recurrence(graph)) ONS_TRY(look_at_structure(m, config, moved));
    const ons_pair *target = find_pair(&config->batch_axes, "target", 0);
    return target == NULL ? NULL : parse_axis(target, ONS_RANK_MAX, &m->target_axis);
}

ons_input_samples ons_input_samples_of(const ons_model *m, size_t input) {
    uint32_t axis = m->input_axes == NULL ? 0 : m->input_axes[input];
    return (ons_input_samples){.once = axis == NOWHERE, .axis = axis == NOWHERE ? 0 : axis};
}

ons_status *ons_put_samples_first(const char *name, uint32_t axis, ons_array *array) {
    if (axis == 0) return NULL;
    ONS_CHECK(axis < array->type.shape.rank, ONS_INVALID_DATA,
              "'%s' has %u axes, and its samples are counted along axis %u; --batch-axis says which one counts them",
              name, array->type.shape.rank, axis);
    return ons_array_move_to_front(array, axis);
}

/* ------------------------------------------------------------------------------------------------ places in a batch */

/* Marks values that are made of what is fed once and of constants alone. */
static void mark_fed_once(const ons_model *m, bool *marked) {
    const ons_graph *graph = m->graph;
    for (size_t i = 0; i < m->fed_once_count; ++i) marked[ons_graph_find_value(graph, m->fed_once[i])] = true;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        bool any = false, all = true;
        for (uint32_t i = 0; i < node->input_count; ++i) {
            ons_value_id read = node->inputs[i];
            if (read == ONS_NONE) continue;
            any |= marked[read];
            all &= marked[read] || ons_graph_value(graph, read)->kind == ONS_CONSTANT;
        }
        for (uint32_t i = 0; any && all && i < node->output_count; ++i)
            if (node->outputs[i] != ONS_NONE) marked[node->outputs[i]] = true;
    }
}

/* Whether a node of the bound graph, by its name in the file, reads such a value. */
static ons_status *find_mixing(const ons_model *m, const ons_graph *bound, ons_arena *arena, ons_node_id *found) {
    bool *marked, *reads;
    ONS_NEW(marked, arena, m->graph->values.count + 1);
    ONS_NEW(reads, arena, bound->nodes.count + 1);
    mark_fed_once(m, marked);
    for (ons_node_id id = 0; id < bound->nodes.count; ++id) {
        ons_node_id imported = ons_graph_find_node(m->graph, ons_graph_node(bound, id)->name);
        const ons_node *node = imported == ONS_NONE ? NULL : ons_graph_node(m->graph, imported);
        for (uint32_t i = 0; node != NULL && i < node->input_count; ++i)
            reads[id] |= node->inputs[i] != ONS_NONE && marked[node->inputs[i]];
    }
    return ons_find_mixing_constant(bound, m->registry, reads, found);
}

static ons_status *refuse_unless_whole(const ons_model *m, const ons_config *config, const ons_dataset *dataset,
                                       const ons_batching *b, bool shuffles, const ons_node *node) {
    uint64_t samples = ons_dataset_count(dataset);
    const char *name = m->fed_once[0];
    ONS_CHECK(!shuffles || !config->shuffle, ONS_INVALID_ARGUMENT, ons_refusal_places_shuffled, name, node->name,
              node->op->name);
    ONS_CHECK((uint64_t)b->batch == samples && ons_batching_micro_batches(b) == 1 && b->replicas == 1,
              ONS_INVALID_ARGUMENT, ons_refusal_places_in_parts, name, node->name, node->op->name, samples);
    return NULL;
}

ons_status *ons_check_fed_once(const ons_model *m, const ons_config *config, const ons_dataset *dataset,
                               const ons_batching *b, bool shuffles) {
    if (m->fed_once_count == 0) return NULL;
    const ons_binding_options options = {.model = m, .config = config, .dataset = dataset, .training = shuffles};
    ons_graph *bound = NULL;
    ons_node_id found = ONS_NONE;
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    int64_t rows = b->fixed ? b->rows : (int64_t)ons_dataset_count(dataset);
    ons_status *status = ons_bind_model(&options, rows, &bound);
    status = ons_status_at(status, "with '%s', which is fed once", m->fed_once[0]);
    if (status == NULL) status = find_mixing(m, bound, arena, &found);
    if (status == NULL && found != ONS_NONE)
        status = refuse_unless_whole(m, config, dataset, b, shuffles, ons_graph_node(bound, found));
    ons_graph_free(bound);
    ons_arena_free(arena);
    return status;
}
