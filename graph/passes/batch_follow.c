#include "graph/passes/batch_follow.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/operands.h"
#include "graph/passes/binder.h"

enum {
    SAMPLES = 8209,       /* for each one of the export: a prime, so that no size of a model is a multiple by chance */
    RETURNS_PER_NODE = 4, /* to other ways of nodes before it */
};

/* The ways in which a node may take another number of samples, tried in this order. A change of shape has ways of its
 * own: the axes that may hold the batch, the likeliest first. */
enum {
    AS_IS = 0,
    RESIZED = 1, /* + axis */
    REPEATED = RESIZED + ONS_RANK_MAX,
    IN_BLOCKS = REPEATED + ONS_RANK_MAX,
    WAYS = IN_BLOCKS + ONS_RANK_MAX,
};

typedef struct follower {
    const ons_graph *graph;
    const ons_registry *registry;
    ons_arena *arena;
    int64_t from;
    ons_batch_map *map;
    uint32_t *ways;     /* the one taken by each node */
    const char *reason; /* why the last way did not fit */
} follower;

static bool carries(const follower *f, ons_value_id id) { return id != ONS_NONE && f->map->places[id].carries; }

static const ons_type *type_of(const follower *f, ons_value_id id) { return &ons_graph_value(f->graph, id)->type; }

static ons_status *misfit(follower *f, const char *reason) {
    f->reason = reason;
    return NULL;
}

/* A message about sizes with many samples: "float32[8209,98508]" becomes "float32[N,12N]". */
static const char *with_symbol(const follower *f, const char *message) {
    char *text = ons_arena_allocate(f->arena, strlen(message) + 16, 1), *to = text;
    while (text != NULL && *message != '\0') {
        char *end = (char *)message + 1;
        long long number = isdigit((unsigned char)*message) ? strtoll(message, &end, 10) : 0;
        long long size = number / SAMPLES;
        if (size == 0 || number % SAMPLES != 0 || size % f->from != 0) /* shorter than the number, by the way */
            to = mempcpy(to, message, (size_t)(end - message));
        else
            to += size == f->from ? sprintf(to, "N") : sprintf(to, "%lldN", size / (long long)f->from);
        message = end;
    }
    if (to != NULL) *to = '\0';
    return text;
}

static bool has_role(const follower *f, const ons_node *node, ons_role role) {
    return node->op == ons_registry_role(f->registry, role);
}

/* ------------------------------------------------------------------------------------------------- changes of shape */

/* How many elements the batch is apart from the first: what stays when the shape changes and the order does not. */
static int64_t elements_before(const ons_type *type, const ons_batch_place *place) {
    return ons_shape_span(&type->shape, 0, place->axis) * place->outer;
}

/* The batch behind `before` elements, if axis `axis` of the shape can hold it there. */
static bool place_at(const ons_shape *shape, uint32_t axis, int64_t before, int64_t from, ons_batch_place *place) {
    int64_t outside = ons_shape_span(shape, 0, axis);
    if (outside == 0 || before % outside != 0) return false;
    *place = (ons_batch_place){.carries = true, .axis = axis, .outer = before / outside};
    return shape->dims[axis] > 0 && shape->dims[axis] % (place->outer * from) == 0;
}

/* An axis of the batch alone, one that it begins, one that it ends, one that it lies inside of. */
static uint32_t unlikeliness(const ons_shape *shape, const ons_batch_place *place, int64_t from) {
    if (place->outer == 1) return shape->dims[place->axis] == from ? 0 : 1;
    return shape->dims[place->axis] == place->outer * from ? 2 : 3;
}

static bool choose_place(const ons_shape *shape, int64_t before, int64_t from, uint32_t way, ons_batch_place *place) {
    uint32_t count = 0;
    for (uint32_t wanted = 0; wanted < 4; ++wanted)
        for (uint32_t axis = 0; axis < shape->rank; ++axis)
            if (place_at(shape, axis, before, from, place) && unlikeliness(shape, place, from) == wanted &&
                count++ == way)
                return true;
    return false;
}

static ons_status *try_reshape(follower *f, ons_node_id id, uint32_t way, bool *fits) {
    const ons_node *node = ons_graph_node(f->graph, id);
    const ons_type *from = type_of(f, node->inputs[0]), *to = type_of(f, node->outputs[0]);
    ons_batch_place *place = &f->map->places[node->outputs[0]];
    int64_t before = elements_before(from, &f->map->places[node->inputs[0]]);
    *fits = choose_place(&to->shape, before, f->from, way, place);
    f->map->choices[id] = (ons_batch_choice){.remedy = ONS_BATCH_RESHAPE};
    return *fits ? NULL : misfit(f, "no axis of its new shape can hold the batch");
}

/* ---------------------------------------------------------------------------------------------------------- repeats */

static bool indices_are_equal(const ons_tensor *tensor, uint32_t axis) {
    size_t size = ons_dtype_size(tensor->type.dtype);
    int64_t count = tensor->type.shape.dims[axis];
    size_t bytes = size * (size_t)ons_shape_span(&tensor->type.shape, axis + 1, tensor->type.shape.rank);
    int64_t outer = ons_shape_span(&tensor->type.shape, 0, axis);
    bool equal = true;
    for (int64_t o = 0; o < outer && equal; ++o) {
        const char *first = (const char *)tensor->data + (size_t)(o * count) * bytes;
        for (int64_t i = 1; i < count && equal; ++i) equal = memcmp(first, first + (size_t)i * bytes, bytes) == 0;
    }
    return equal;
}

/* What an operand made by repetition along that axis repeats; ONS_NONE: it is not. */
static ons_value_id repeated_source(const ons_graph *graph, const ons_registry *registry, ons_value_id id,
                                    uint32_t axis) {
    const ons_value *value = ons_graph_value(graph, id);
    if (value->producer == ONS_NONE) return ONS_NONE;
    const ons_node *producer = ons_graph_node(graph, value->producer);
    if (producer->op != ons_registry_role(registry, ONS_ROLE_EXPAND)) return ONS_NONE;
    const ons_shape *shape = &ons_graph_value(graph, producer->inputs[0])->type.shape;
    uint32_t missing = value->type.shape.rank - shape->rank;
    return axis < missing || shape->dims[axis - missing] == 1 ? producer->inputs[0] : ONS_NONE;
}

ons_batch_repeat ons_batch_find_repeat(const ons_graph *graph, const ons_registry *registry, int64_t from,
                                       ons_value_id operand, uint32_t axis) {
    const ons_type *type = &ons_graph_value(graph, operand)->type;
    if (axis >= type->shape.rank || type->shape.dims[axis] != from) return (ons_batch_repeat){.source = ONS_NONE};
    if (from == 1) return (ons_batch_repeat){.source = operand};
    const ons_tensor *known = ons_graph_constant(graph, operand);
    if (known != NULL && known->data != NULL && indices_are_equal(known, axis))
        return (ons_batch_repeat){.source = operand, .sliced = true};
    return (ons_batch_repeat){.source = repeated_source(graph, registry, operand, axis)};
}

/* --------------------------------------------------------------------------------------------------------- operands */

/* Whether contents are the sizes of the node's result, each as it is or left open. */
static bool are_sizes(const ons_tensor *known, const ons_shape *result, uint32_t axis, int64_t values[ONS_RANK_MAX]) {
    const ons_type *type = &known->type;
    if (known->data == NULL || type->shape.rank != 1 || type->shape.dims[0] != result->rank) return false;
    for (uint32_t i = 0; i < result->rank; ++i) {
        if (type->dtype == ONS_INT64)
            memcpy(&values[i], (const char *)known->data + 8 * i, 8);
        else if (type->dtype == ONS_INT32)
            values[i] = ((const int32_t *)known->data)[i];
        else
            return false;
        if (values[i] != result->dims[i] && (values[i] > 0 || i == axis)) return false;
    }
    return true;
}

/* Puts the batch of many samples into the first operand that says the result's sizes. */
static ons_status *resize(follower *f, ons_node_id id, uint32_t axis, ons_operands *o, ons_tensor *constants,
                          bool *done) {
    const ons_node *node = ons_graph_node(f->graph, id);
    int64_t values[ONS_RANK_MAX];
    *done = false;
    if (node->output_count == 0 || node->outputs[0] == ONS_NONE)
        return NULL; /* an output that the file does not name */
    const ons_shape *result = &type_of(f, node->outputs[0])->shape;
    if (axis >= result->rank || result->dims[axis] <= 0 || result->dims[axis] % f->from != 0) return NULL;
    for (uint32_t i = 0; i < o->input_count && !*done; ++i) {
        if (node->inputs[i] == ONS_NONE || carries(f, node->inputs[i])) continue;
        if (!are_sizes(&constants[i], result, axis, values)) continue;
        int64_t *many;
        ONS_NEW(many, f->arena, ONS_RANK_MAX);
        values[axis] *= SAMPLES;
        memcpy(many, values, result->rank * sizeof *many);
        for (uint32_t k = 0; constants[i].type.dtype == ONS_INT32 && k < result->rank; ++k)
            ((int32_t *)(void *)many)[k] = (int32_t)values[k];
        constants[i].data = many;
        f->map->choices[id] = (ons_batch_choice){.remedy = ONS_BATCH_RESIZE, .axis = axis, .operand = i};
        *done = true;
    }
    return NULL;
}

static bool repeat(follower *f, ons_node_id id, uint32_t axis, ons_type *types, ons_tensor *constants) {
    const ons_node *node = ons_graph_node(f->graph, id);
    bool any = false;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE || carries(f, node->inputs[i])) continue;
        if (ons_batch_find_repeat(f->graph, f->registry, f->from, node->inputs[i], axis).source == ONS_NONE) continue;
        types[i].shape.dims[axis] *= SAMPLES;
        constants[i].data = NULL;
        any = true;
    }
    f->map->choices[id] = (ons_batch_choice){.remedy = ONS_BATCH_REPEAT, .axis = axis};
    return any;
}

/* Whether an operand with the batch has the same number of indices there as `id`, as of heads in [samples × heads]. */
static bool has_blocks_of(const follower *f, const ons_node *node, ons_value_id id, uint32_t axis) {
    const ons_shape *shape = &type_of(f, id)->shape;
    bool any = false;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (!carries(f, node->inputs[i])) continue;
        const ons_batch_place *place = &f->map->places[node->inputs[i]];
        const ons_shape *other = &type_of(f, node->inputs[i])->shape;
        any |= place->axis == axis && place->outer == 1 && other->rank == shape->rank &&
               other->dims[axis] == shape->dims[axis];
    }
    return any;
}

static bool repeat_blocks(follower *f, ons_node_id id, uint32_t axis, ons_type *types, ons_tensor *constants) {
    const ons_node *node = ons_graph_node(f->graph, id);
    bool any = false;
    f->map->choices[id] = (ons_batch_choice){.remedy = ONS_BATCH_REPEAT_BLOCK, .axis = axis};
    for (uint32_t i = 0; i < node->input_count && f->from == 1 && !any; ++i) {
        ons_value_id operand = node->inputs[i];
        if (operand == ONS_NONE || carries(f, operand) || axis >= types[i].shape.rank) continue;
        if (types[i].shape.rank == ONS_RANK_MAX || !has_blocks_of(f, node, operand, axis)) continue;
        types[i].shape.dims[axis] *= SAMPLES;
        constants[i].data = NULL;
        f->map->choices[id].operand = i;
        any = true;
    }
    return any;
}

/* The node's operands for many samples, the way of taking them applied. */
static ons_status *make_operands(follower *f, ons_node_id id, uint32_t way, ons_arena *scratch, ons_operands *o,
                                 bool *applies) {
    const ons_node *node = ons_graph_node(f->graph, id);
    ons_type *types;
    ons_tensor *constants;
    ONS_TRY(ons_operands_make(f->graph, node->op, node->name, node->attributes, node->inputs, node->input_count,
                              node->output_count, scratch, o));
    ONS_NEW(types, scratch, o->input_count + 1);
    ONS_NEW(constants, scratch, o->input_count + 1);
    memcpy(types, o->inputs, o->input_count * sizeof *types);
    memcpy(constants, o->constants, o->input_count * sizeof *constants);
    o->inputs = types;
    o->constants = constants;
    f->map->choices[id] = (ons_batch_choice){.remedy = ONS_BATCH_AS_IS};
    *applies = true;
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (carries(f, node->inputs[i])) types[i].shape.dims[f->map->places[node->inputs[i]].axis] *= SAMPLES;
    if (way >= IN_BLOCKS)
        *applies = repeat_blocks(f, id, way - IN_BLOCKS, types, constants);
    else if (way >= REPEATED)
        *applies = repeat(f, id, way - REPEATED, types, constants);
    else if (way >= RESIZED)
        ONS_TRY(resize(f, id, way - RESIZED, o, constants, applies));
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE) ONS_TRY(ons_shape_check(&types[i].shape));
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- results */

static bool is_view(const ons_node *node) {
    const ons_alias *alias = node->op->aliases;
    return alias->kind == ONS_ALIAS_VIEW && alias->output == 0 && alias->input == 0;
}

/* The outer factor of an operand whose batch lies in an axis of that size; operands that disagree: 0. */
static int64_t common_outer(const follower *f, const ons_node *node, int64_t size) {
    int64_t outer = size == f->from ? 1 : -1;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (!carries(f, node->inputs[i])) continue;
        const ons_batch_place *place = &f->map->places[node->inputs[i]];
        if (type_of(f, node->inputs[i])->shape.dims[place->axis] != size) continue;
        if (outer != -1 && outer != place->outer) return 0;
        outer = place->outer;
    }
    return outer == -1 ? 0 : outer;
}

/* Where the batch is in a result that has `many` for `one` sample each. */
static ons_status *place_result(follower *f, const ons_node *node, ons_value_id result, const ons_type *many,
                                bool *fits) {
    const ons_type *one = type_of(f, result);
    ons_batch_place *place = &f->map->places[result];
    uint32_t changed = 0, axis = 0;
    *fits = false;
    *place = (ons_batch_place){0};
    if (many->shape.rank != one->shape.rank) return misfit(f, "its result would have another number of axes");
    for (uint32_t i = 0; i < one->shape.rank; ++i) {
        if (many->shape.dims[i] == one->shape.dims[i]) continue;
        changed += 1;
        axis = i;
    }
    if (changed > 1) return misfit(f, "its result would hold the batch in two axes");
    if (changed == 0) { /* a running statistic is the same for all samples */
        *fits = f->map->sums || ons_graph_value(f->graph, result)->pair != ONS_NONE;
        return *fits ? NULL : misfit(f, "its result would not hold the batch any more");
    }
    if (many->shape.dims[axis] != one->shape.dims[axis] * SAMPLES)
        return misfit(f, "the size of its result would not be a multiple of the batch");
    if (is_view(node)) {
        int64_t before = elements_before(type_of(f, node->inputs[0]), &f->map->places[node->inputs[0]]);
        *fits = place_at(&one->shape, axis, before, f->from, place);
        return *fits ? NULL : misfit(f, "it would mix the elements of samples");
    }
    *place = (ons_batch_place){.carries = true, .axis = axis, .outer = common_outer(f, node, one->shape.dims[axis])};
    *fits = place->outer > 0;
    return *fits ? NULL : misfit(f, "its operands would hold the batch in different orders");
}

/* What shapes do not show: places that are counted along the axis of the batch. */
static const char *hidden_mixing(const follower *f, const ons_node *node) {
    const ons_attribute *attribute = node->attributes;
    uint32_t traits = node->op->roles.traits;
    bool counted = false;
    if (node->input_count == 0 || !carries(f, node->inputs[0])) return NULL;
    const ons_batch_place *place = &f->map->places[node->inputs[0]];
    if ((traits & ONS_TRAIT_ADDRESSES) != 0) {
        const ons_shape *tuples = &type_of(f, node->inputs[1])->shape;
        const char *name = node->op->attributes[0].name;
        int64_t first = name != NULL && strcmp(name, "batch_dims") == 0 ? attribute->i : 0;
        counted = first <= (int64_t)place->axis && place->axis < first + tuples->dims[tuples->rank - 1];
    }
    if ((traits & ONS_TRAIT_ALONG_AXIS) != 0)
        counted = (attribute->i + type_of(f, node->inputs[0])->shape.rank) % type_of(f, node->inputs[0])->shape.rank ==
                  place->axis;
    return counted ? "its indices count the samples of the batch that was exported" : NULL;
}

/* Operands that go together in all axes but one all have the batch. */
static bool goes_together(const follower *f, const ons_node *node, const ons_operands *o) {
    if ((node->op->roles.traits & ONS_TRAIT_TOGETHER) == 0) return true;
    bool together = true;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const ons_value_id id = node->inputs[i];
        together &= id == ONS_NONE || !ons_shape_equal(&o->inputs[i].shape, &type_of(f, id)->shape);
    }
    return together;
}

static ons_status *try_node(follower *f, ons_node_id id, uint32_t way, ons_arena *scratch, bool *fits) {
    const ons_node *node = ons_graph_node(f->graph, id);
    ons_operands o;
    *fits = false;
    const char *mixing = hidden_mixing(f, node);
    if (mixing != NULL) return misfit(f, mixing);
    ons_status *status = make_operands(f, id, way, scratch, &o, fits);
    if (status == NULL && !*fits) return NULL;
    *fits = false;
    if (status == NULL && !goes_together(f, node, &o)) return misfit(f, "one of its operands would not hold the batch");
    if (status == NULL) status = ons_operands_infer(&o);
    if (ons_status_get_code(status) == ONS_OUT_OF_MEMORY) return status;
    if (status != NULL) {
        const char *reason = ons_without_place(node, ons_status_get_message(status), f->arena);
        if (reason != NULL) reason = with_symbol(f, reason);
        ons_status_free(status);
        return reason == NULL ? ons_status_out_of_memory() : misfit(f, reason);
    }
    *fits = true;
    for (uint32_t i = 0; i < node->output_count && *fits; ++i)
        if (node->outputs[i] != ONS_NONE) ONS_TRY(place_result(f, node, node->outputs[i], &o.outputs[i], fits));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ nodes */

static bool takes_batch(const follower *f, const ons_node *node) {
    bool any = false;
    for (uint32_t i = 0; i < node->input_count; ++i) any |= carries(f, node->inputs[i]);
    return any;
}

/* A node that reads no sample gives the same to all; but what it draws was drawn for those of the export. */
static ons_status *place_constant(follower *f, ons_node_id id, bool *fits) {
    const ons_node *node = ons_graph_node(f->graph, id);
    f->map->choices[id] = (ons_batch_choice){.remedy = ONS_BATCH_AS_IS};
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE) f->map->places[node->outputs[i]] = (ons_batch_place){0};
    *fits = (node->op->roles.traits & ONS_TRAIT_RANDOM) == 0 || node->input_count > 0;
    return *fits ? NULL : misfit(f, "it draws numbers for the batch that was exported");
}

static ons_status *try_way(follower *f, ons_node_id id, uint32_t way, ons_arena *scratch, bool *fits) {
    const ons_node *node = ons_graph_node(f->graph, id);
    *fits = false;
    if (takes_batch(f, node))
        return has_role(f, node, ONS_ROLE_RESHAPE) ? try_reshape(f, id, way, fits)
                                                   : try_node(f, id, way, scratch, fits);
    if (way == AS_IS) return place_constant(f, id, fits);
    /* What looks a table up at the places of each sample, which are the same. */
    return f->from > 1 && way >= REPEATED && way < IN_BLOCKS ? try_node(f, id, way, scratch, fits) : NULL;
}

/* The first way from `first` on that fits; WAYS: none. The reason kept is that of the first. */
static ons_status *choose_first_fit(follower *f, ons_node_id id, uint32_t first) {
    const char *reason = NULL;
    bool fits = false;
    f->ways[id] = WAYS;
    for (uint32_t way = first; way < WAYS && !fits; ++way) {
        ons_arena *scratch = ons_arena_new();
        ons_status *status = scratch == NULL ? ons_status_out_of_memory() : try_way(f, id, way, scratch, &fits);
        ons_arena_free(scratch);
        ONS_TRY(status);
        if (fits) f->ways[id] = way;
        if (way == first) reason = f->reason;
    }
    f->reason = reason;
    return NULL;
}

/* Whether another way of the node may be looked at: where it takes the batch as it is, nothing has to be done to it. */
static bool may_differ(const follower *f, ons_node_id id) {
    const ons_node *node = ons_graph_node(f->graph, id);
    if (!takes_batch(f, node)) return f->from > 1;
    return f->ways[id] != AS_IS || has_role(f, node, ONS_ROLE_RESHAPE);
}

/* Back to the last node before `id` on which it depends and which has another way; ONS_NONE: there is none. */
static ons_status *go_back(follower *f, ons_node_id id, bool *depends, ons_node_id *back) {
    memset(depends, 0, f->graph->nodes.count * sizeof *depends);
    depends[id] = true;
    *back = ONS_NONE;
    for (ons_node_id i = id + 1; i-- > 0 && *back == ONS_NONE;) {
        if (!depends[i]) continue;
        const ons_node *node = ons_graph_node(f->graph, i);
        for (uint32_t k = 0; k < node->input_count; ++k) {
            ons_node_id producer =
                node->inputs[k] == ONS_NONE ? ONS_NONE : ons_graph_value(f->graph, node->inputs[k])->producer;
            if (producer != ONS_NONE) depends[producer] = true;
        }
        if (i == id || !may_differ(f, i)) continue;
        ONS_TRY(choose_first_fit(f, i, f->ways[i] + 1));
        if (f->ways[i] < WAYS) *back = i;
    }
    return NULL;
}

static ons_status *follow_nodes(follower *f, ons_blocker *obstacle) {
    bool *depends;
    size_t returns = RETURNS_PER_NODE * f->graph->nodes.count;
    ONS_NEW(depends, f->arena, f->graph->nodes.count + 1);
    for (ons_node_id id = 0; id < f->graph->nodes.count; ++id) {
        ONS_TRY(choose_first_fit(f, id, AS_IS));
        if (f->ways[id] < WAYS) continue;
        const ons_node *node = ons_graph_node(f->graph, id);
        if (obstacle->node == NULL) *obstacle = (ons_blocker){node->name, node->op->name, f->reason, NULL};
        ons_node_id back;
        ONS_TRY(go_back(f, id, depends, &back));
        if (back == ONS_NONE || returns-- == 0) return NULL;
        id = back;
    }
    *obstacle = (ons_blocker){0};
    return NULL;
}

/* Losses and predictions are taken sample by sample from the first axis. */
static void check_output(const follower *f, ons_value_id output, ons_blocker *obstacle) {
    const ons_batch_place *place = &f->map->places[output];
    const char *reason = !place->carries ? "it is the same for all samples"
                         : place->axis > 0 || type_of(f, output)->shape.dims[0] != f->from
                             ? "its first axis would not be the batch"
                             : NULL;
    if (reason != NULL) *obstacle = (ons_blocker){ons_graph_value(f->graph, output)->name, "output", reason, NULL};
}

ons_status *ons_follow_batch(const ons_graph *graph, const ons_registry *registry, int64_t from, ons_arena *arena,
                             ons_batch_map *map, ons_blocker *obstacle) {
    follower f = {.graph = graph, .registry = registry, .arena = arena, .from = from, .map = map};
    *obstacle = (ons_blocker){0};
    ONS_NEW(map->places, arena, graph->values.count + 1);
    ONS_NEW(map->choices, arena, graph->nodes.count + 1);
    ONS_NEW(f.ways, arena, graph->nodes.count + 1);
    for (size_t i = 0; i < graph->inputs.count; ++i) {
        const ons_shape *shape = &type_of(&f, graph->inputs.items[i])->shape;
        uint32_t axis = map->axes == NULL ? 0 : map->axes[i];
        bool once = ons_graph_value(graph, graph->inputs.items[i])->once;
        map->places[graph->inputs.items[i]] = (ons_batch_place){
            .carries = !once && axis < shape->rank && shape->dims[axis] == from, .axis = axis, .outer = 1};
    }
    ONS_TRY(follow_nodes(&f, obstacle));
    if (obstacle->node == NULL && graph->outputs.count > 0 && !map->sums)
        check_output(&f, graph->outputs.items[0], obstacle);
    return NULL;
}
