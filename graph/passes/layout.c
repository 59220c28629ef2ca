#include "graph/passes/layout.h"

#include <stdlib.h>

#include "graph/operands.h"
#include "graph/passes/prune.h"

/* A value in a layout in which it is read: made once from the value, then shared, or the value itself. */
typedef struct reordered {
    ons_value_id value;
    ons_layout layout;
    ons_value_id result;
} reordered;

typedef struct chooser {
    ons_graph *graph;
    const ons_registry *registry;
    const ons_operator *reorder;
    const ons_layout_choice_options *o;
    ONS_VECTOR(ons_node_id) order;
    ONS_VECTOR(reordered) known;
} chooser;

static bool is_weight(ons_value_kind kind) {
    return kind == ONS_PARAMETER || kind == ONS_CONSTANT || kind == ONS_BUFFER;
}

/* A weight, or what is made of one before the micro-batches (a cast). */
static bool is_made_once(const chooser *c, const ons_value *value) {
    if (is_weight(value->kind)) return value->pair == ONS_NONE;
    const ons_node *producer = value->producer == ONS_NONE ? NULL : ons_graph_node(c->graph, value->producer);
    return producer != NULL && producer->per_step && producer->phase == ONS_FORWARD;
}

static const reordered *find_known(const chooser *c, ons_value_id value, ons_layout layout) {
    for (size_t i = 0; i < c->known.count; ++i) {
        const reordered *each = &c->known.items[i];
        if (each->value == value && each->layout == layout) return each;
    }
    return NULL;
}

/* Whether elements are all that lies there, as whoever walks them by their number needs it. */
static bool is_dense(const chooser *c, const ons_type *type, ons_layout layout) {
    ons_type laid_out = *type;
    laid_out.layout = layout;
    return ons_registry_type_bytes(c->registry, &laid_out) == ons_type_dense_bytes(type);
}

/* The node that makes the value in the layout in which it is read first; NULL: there is none. */
static const ons_node *asked_producer(const chooser *c, const ons_value *value) {
    const ons_node *producer = value->producer == ONS_NONE ? NULL : ons_graph_node(c->graph, value->producer);
    return producer != NULL && producer->op->layout.policy == ONS_LAYOUT_ASKED ? producer : NULL;
}

/* Whether that node can make it in this one, nobody having read the value yet. */
static bool can_be_made(const chooser *c, const ons_node *producer, ons_value_id value, ons_layout layout) {
    const ons_type *type = &ons_graph_value(c->graph, value)->type,
                   *from = &ons_graph_value(c->graph, producer->inputs[0])->type;
    return find_known(c, value, type->layout) == NULL && is_dense(c, type, layout) &&
           c->registry->layout_broadcasts(&type->shape, layout, &from->shape);
}

/* `value` in `layout`, as node `user` needs it: a weight is reordered once a step, not for every micro-batch. */
static ons_status *in_layout(chooser *c, ons_value_id value, ons_layout layout, const ons_node *user,
                             ons_value_id *result) {
    *result = value;
    ons_value *v = ons_graph_value(c->graph, value);
    const ons_node *asked = asked_producer(c, v);
    if (asked == NULL && v->type.layout == layout) return NULL;
    const reordered *known = find_known(c, value, layout);
    if (known != NULL) {
        *result = known->result;
        return NULL;
    }
    if (asked != NULL && (v->type.layout == layout || can_be_made(c, asked, value, layout))) {
        v->type.layout = layout;
        ONS_PUSH(&c->known, (reordered){value, layout, value});
        return NULL;
    }
    ONS_CHECK(c->reorder != NULL, ONS_DEFECT, "no operator changes layouts");
    bool weight = is_made_once(c, v);
    ons_builder b = {
        .graph = c->graph,
        .registry = c->registry,
        .phase = user == NULL ? ONS_FORWARD : user->phase,
        .per_step = weight || (user != NULL && user->per_step),
        .origin = ONS_NONE,
        .name = ons_arena_format(c->graph->arena, "%s/reorder", v->name),
    };
    if (weight) b.phase = ONS_FORWARD;
    *result = ons_build(&b, c->reorder, ONS_IN(value), ONS_WITH(ONS_AT_INT(0, layout)));
    ONS_TRY(ons_builder_finish(&b));
    ons_graph_value(c->graph, *result)->type.layout = layout;
    ONS_PUSH(&c->order, (ons_node_id)(c->graph->nodes.count - 1));
    ONS_PUSH(&c->known, (reordered){value, layout, *result});
    return NULL;
}

/* The type that an operator with ONS_LAYOUT_FOLLOWS goes by; NULL: it has no output. */
static const ons_type *leading_output(const ons_operands *o) {
    for (uint32_t i = 0; i < o->output_count; ++i)
        if (ons_has_output(o, i)) return &o->outputs[i];
    return NULL;
}

/* One layout for all operands of that shape, if the other operands can be broadcast to it. */
static ons_layout common_layout(const chooser *c, const ons_operands *o, const ons_shape *shape) {
    ons_layout common = ONS_LAYOUT_ONNX;
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (ons_has_input(o, i) && common == ONS_LAYOUT_ONNX && ons_shape_equal(&o->inputs[i].shape, shape) &&
            is_dense(c, &o->inputs[i], o->inputs[i].layout))
            common = o->inputs[i].layout;
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (ons_has_input(o, i) && !ons_shape_equal(&o->inputs[i].shape, shape) &&
            !c->registry->layout_broadcasts(shape, common, &o->inputs[i].shape))
            return ONS_LAYOUT_ONNX;
    return common;
}

/* A single number lies the same in every layout. */
static bool is_other_float(const ons_type *type) {
    return type->dtype != ONS_FLOAT32 && ons_dtype_is_float(type->dtype) && type->shape.rank > 0;
}

/* The CPU's kernels for other floats want ONNX's order. */
static bool has_float32_alone(const ons_operands *o) {
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (is_other_float(&o->inputs[i])) return false;
    for (uint32_t i = 0; i < o->output_count; ++i)
        if (is_other_float(&o->outputs[i])) return false;
    return true;
}

static ons_status *as_halves(const ons_type *types, uint32_t count, ons_arena *scratch, ons_type **copy) {
    ONS_NEW(*copy, scratch, (size_t)count + 1);
    for (uint32_t i = 0; i < count; ++i) {
        (*copy)[i] = types[i];
        if (ons_dtype_is_float(types[i].dtype)) (*copy)[i].dtype = ONS_BFLOAT16;
    }
    return NULL;
}

static ons_status *ask_rule(const chooser *c, const ons_operands *o, ons_arena *scratch, ons_layout *inputs,
                            ons_layout *outputs) {
    if (c->o->kernels == ONS_LAYOUTS_FOR_CPU) return o->op->layout.choose(o, inputs, outputs);
    ons_operands halves = *o;
    ons_type *input_types;
    ONS_TRY(as_halves(o->inputs, o->input_count, scratch, &input_types));
    ONS_TRY(as_halves(o->outputs, o->output_count, scratch, &halves.outputs));
    halves.inputs = input_types;
    return o->op->layout.choose(&halves, inputs, outputs);
}

/* `place`: the layout of what the node brings up to date; NULL: nothing. */
static ons_status *ask_operands(const chooser *c, const ons_operands *o, const ons_layout *place, ons_arena *scratch,
                                ons_layout *inputs, ons_layout *outputs) {
    const ons_layout_rule *rule = &o->op->layout;
    const ons_type *leading = leading_output(o);
    for (uint32_t i = 0; i < o->input_count; ++i) inputs[i] = ONS_LAYOUT_ONNX;
    for (uint32_t i = 0; i < o->output_count; ++i) outputs[i] = ONS_LAYOUT_ONNX;
    if (c->o->kernels == ONS_LAYOUTS_FOR_CPU && !has_float32_alone(o)) return NULL;
    if (rule->policy == ONS_LAYOUT_CHOOSES) return ask_rule(c, o, scratch, inputs, outputs);
    if (rule->policy != ONS_LAYOUT_FOLLOWS || leading == NULL) return NULL;
    ons_layout common = place != NULL ? *place : common_layout(c, o, &leading->shape);
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (ons_has_input(o, i) && ons_shape_equal(&o->inputs[i].shape, &leading->shape)) inputs[i] = common;
    for (uint32_t i = 0; i < o->output_count; ++i)
        if (ons_has_output(o, i) && ons_shape_equal(&o->outputs[i].shape, &leading->shape)) outputs[i] = common;
    return NULL;
}

/* The layouts of a node's operands, in `scratch`. */
static ons_status *ask_layout_rule(const chooser *c, ons_node_id id, const ons_layout *place, ons_arena *scratch,
                                   ons_layout **inputs, ons_layout **outputs) {
    ons_operands o;
    ONS_TRY(ons_operands_of(c->graph, id, scratch, &o));
    ONS_NEW(*inputs, scratch, o.input_count + 1);
    ONS_NEW(*outputs, scratch, o.output_count + 1);
    return ask_operands(c, &o, place, scratch, *inputs, *outputs);
}

/* The layout of the value that persists and in whose place the node's first result lies; NULL: there is none. */
static const ons_layout *find_place(const chooser *c, ons_node_id id) {
    const ons_node *node = ons_graph_node(c->graph, id);
    ons_value_id first = node->output_count == 0 ? ONS_NONE : node->outputs[0];
    ons_value_id pair = first == ONS_NONE ? ONS_NONE : ons_graph_value(c->graph, first)->pair;
    return pair == ONS_NONE ? NULL : &ons_graph_value(c->graph, pair)->type.layout;
}

static ons_status *choose_node(chooser *c, ons_node_id id, ons_arena *scratch) {
    ons_layout *inputs, *outputs;
    ONS_TRY(ask_layout_rule(c, id, find_place(c, id), scratch, &inputs, &outputs));
    for (uint32_t i = 0; i < ons_graph_node(c->graph, id)->input_count; ++i) {
        ons_node node =
            *ons_graph_node(c->graph, id); /* a copy: reorders move the array, not the ids that it points to */
        if (node.inputs[i] != ONS_NONE) ONS_TRY(in_layout(c, node.inputs[i], inputs[i], &node, &node.inputs[i]));
    }
    const ons_node *node = ons_graph_node(c->graph, id);
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE) ons_graph_value(c->graph, node->outputs[i])->type.layout = outputs[i];
    ONS_PUSH(&c->order, id);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------- what persists */

static bool persists(const ons_value *value) {
    return value->producer == ONS_NONE && (value->kind == ONS_PARAMETER || value->kind == ONS_STATE);
}

/* Of the node's inputs that are as large as `like`, the first that the step makes; ONS_NONE: there is none. */
static ons_value_id find_made(const chooser *c, const ons_node *node, const ons_shape *like) {
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const ons_value *value = node->inputs[i] == ONS_NONE ? NULL : ons_graph_value(c->graph, node->inputs[i]);
        if (value != NULL && value->producer != ONS_NONE && ons_shape_equal(&value->type.shape, like))
            return node->inputs[i];
    }
    return ONS_NONE;
}

/* How the node's result comes, by its rule; what its operands have is not chosen yet. */
static ons_status *ask_output(const chooser *c, ons_node_id id, ons_value_id output, ons_arena *scratch,
                              ons_layout *layout) {
    ons_layout *inputs, *outputs;
    ONS_TRY(ask_layout_rule(c, id, NULL, scratch, &inputs, &outputs));
    const ons_node *node = ons_graph_node(c->graph, id);
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] == output) *layout = outputs[i];
    return NULL;
}

/* How a gradient comes from the operator that chooses its layout, behind sums and factors that follow. */
static ons_status *find_source(const chooser *c, ons_value_id value, ons_arena *scratch, ons_layout *layout) {
    ons_shape shape = ons_graph_value(c->graph, value)->type.shape;
    *layout = ONS_LAYOUT_ONNX;
    while (value != ONS_NONE) {
        ons_node_id id = ons_graph_value(c->graph, value)->producer;
        const ons_node *node = ons_graph_node(c->graph, id);
        if (node->op->layout.policy == ONS_LAYOUT_CHOOSES) return ask_output(c, id, value, scratch, layout);
        if (node->op->layout.policy != ONS_LAYOUT_FOLLOWS) return NULL;
        value = find_made(c, node, &shape);
    }
    return NULL;
}

static void place_inputs(const chooser *c, const ons_node *node, const ons_shape *shape, ons_layout layout) {
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_value *value = node->inputs[i] == ONS_NONE ? NULL : ons_graph_value(c->graph, node->inputs[i]);
        if (value != NULL && persists(value) && ons_shape_equal(&value->type.shape, shape)) value->type.layout = layout;
    }
}

/* Weight and states of an update, and what the gradient is added up in on its way there. */
static ons_status *place_update(const chooser *c, const ons_node *update, ons_arena *scratch) {
    ons_type type = ons_graph_value(c->graph, update->inputs[0])->type;
    ons_value_id gradient = find_made(c, update, &type.shape);
    if (gradient == ONS_NONE) return NULL;
    ONS_TRY(find_source(c, gradient, scratch, &type.layout));
    if (type.layout == ONS_LAYOUT_ONNX || !is_dense(c, &type, type.layout)) return NULL;
    place_inputs(c, update, &type.shape, type.layout);
    while (gradient != ONS_NONE) {
        const ons_node *node = ons_graph_node(c->graph, ons_graph_value(c->graph, gradient)->producer);
        if (node->op->layout.policy != ONS_LAYOUT_FOLLOWS) return NULL;
        place_inputs(c, node, &type.shape, type.layout);
        gradient = find_made(c, node, &type.shape);
    }
    return NULL;
}

/* Whether the node brings a weight up to date that lies in its first operand. */
static bool is_update(const chooser *c, const ons_node *node) {
    if (node->phase != ONS_UPDATE || node->op->layout.policy != ONS_LAYOUT_FOLLOWS) return false;
    if (node->input_count == 0 || node->outputs[0] == ONS_NONE || node->inputs[0] == ONS_NONE) return false;
    const ons_value *weight = ons_graph_value(c->graph, node->inputs[0]);
    return weight->kind == ONS_PARAMETER && persists(weight) &&
           ons_graph_value(c->graph, node->outputs[0])->pair == node->inputs[0];
}

static ons_status *place_by_gradients(const chooser *c, ons_arena *scratch) {
    for (ons_node_id id = 0; id < c->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(c->graph, id);
        if (is_update(c, node)) ONS_TRY(place_update(c, node, scratch));
    }
    return NULL;
}

/* As another graph has what is of the same name. */
static void place_alike(const chooser *c, const ons_graph *like) {
    for (ons_value_id id = 0; id < c->graph->values.count; ++id) {
        ons_value *value = ons_graph_value(c->graph, id);
        ons_value_id same = persists(value) ? ons_graph_find_value(like, value->name) : ONS_NONE;
        if (same != ONS_NONE) value->type.layout = ons_graph_value(like, same)->type.layout;
    }
}

static ons_status *place_persistent(const chooser *c) {
    if (c->o->like != NULL) place_alike(c, c->o->like);
    if (c->o->like != NULL || !c->o->keeps_weights) return NULL;
    ons_arena *scratch = ons_arena_new();
    ons_status *status = scratch == NULL ? ons_status_out_of_memory() : place_by_gradients(c, scratch);
    ons_arena_free(scratch);
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- all */

static ons_status *choose_all(chooser *c) {
    size_t nodes = c->graph->nodes.count;
    ONS_TRY(place_persistent(c));
    for (ons_node_id id = 0; id < nodes; ++id) {
        ons_arena *scratch = ons_arena_new();
        ons_status *status = scratch == NULL ? ons_status_out_of_memory() : choose_node(c, id, scratch);
        ons_arena_free(scratch);
        ONS_TRY(status);
    }
    for (size_t i = 0; i < c->graph->outputs.count; ++i)
        ONS_TRY(in_layout(c, c->graph->outputs.items[i], ONS_LAYOUT_ONNX, NULL, &c->graph->outputs.items[i]));
    return NULL;
}

ons_status *ons_choose_layouts(ons_graph *graph, const ons_registry *registry, const ons_layout_choice_options *options,
                               ons_tracked_values *tracked) {
    chooser c = {
        .graph = graph, .registry = registry, .reorder = ons_registry_role(registry, ONS_ROLE_REORDER), .o = options};
    ons_status *status = choose_all(&c);
    /* A tracked value (a prediction that the host reads, say) is wanted in ONNX's order, but for what persists. */
    for (size_t i = 0; status == NULL && i < ons_tracked_count(tracked); ++i) {
        ons_value_id *id = &tracked->ids[i];
        if (*id != ONS_NONE && !persists(ons_graph_value(graph, *id)))
            status = in_layout(&c, *id, ONS_LAYOUT_ONNX, NULL, id);
    }
    if (status == NULL) status = ons_prune(graph, c.order.items, tracked);
    ons_vector_free(&c.order);
    ons_vector_free(&c.known);
    return status;
}
