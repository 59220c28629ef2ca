#include "graph/passes/autograd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/operands.h"

/* The gradients that flow into one value, in the order in which backward meets its uses (the last use first). */
typedef ONS_VECTOR(ons_value_id) flow;

typedef struct differentiation {
    ons_graph *graph;
    const ons_registry *registry;
    ons_builder builder;
    ons_blockers *blockers;
    size_t forward_values; /* ids below these counts are the forward graph's */
    size_t forward_nodes;
    bool *active;  /* of each forward value: a parameter's gradient passes through it */
    bool *is_leaf; /* of each forward value: a parameter: its uses are kept apart */
    flow *flows;   /* of each forward value */
} differentiation;

/* A gradient rule's call, as its functions here see it. */
typedef struct rule_call {
    ons_gradient gradient; /* first: this is the rule's argument */
    differentiation *differentiation;
} rule_call;

ons_value_id ons_gradient_input(const ons_gradient *g, uint32_t index) {
    const ons_node *node = ons_graph_node(g->builder->graph, g->node);
    return index < node->input_count ? node->inputs[index] : ONS_NONE;
}

static ons_status *add_output(ons_gradient *g, uint32_t index, ons_value_id *value) {
    ons_graph *graph = g->builder->graph;
    ons_node *node = ons_graph_node(graph, g->node);
    ONS_CHECK(index < g->operands->output_count && g->operands->outputs[index].dtype != ONS_NO_DTYPE, ONS_DEFECT,
              "node '%s' (%s): has no output %u", node->name, node->op->name, index);
    if (index >= node->output_count) {
        ons_value_id *outputs;
        ONS_NEW(outputs, graph->arena, g->operands->output_count);
        for (uint32_t i = 0; i < g->operands->output_count; ++i)
            outputs[i] = i < node->output_count ? node->outputs[i] : ONS_NONE;
        node->outputs = outputs;
        node->output_count = g->operands->output_count;
    }
    ONS_TRY(ons_graph_add_value(graph, node->name, ONS_ACTIVATION, &g->operands->outputs[index], value));
    ons_graph_set_output(graph, g->node, index, *value);
    return NULL;
}

ons_value_id ons_gradient_output(ons_gradient *g, uint32_t index) {
    const ons_node *node = ons_graph_node(g->builder->graph, g->node);
    if (index < node->output_count && node->outputs[index] != ONS_NONE) return node->outputs[index];
    ons_value_id value = ONS_NONE;
    return ons_builder_fail(g->builder, add_output(g, index, &value)) ? ONS_NONE : value;
}

/* Which values depend on a parameter by differentiable ways. */
static void find_active(differentiation *d) {
    for (size_t i = 0; i < d->forward_nodes; ++i) {
        const ons_node *node = &d->graph->nodes.items[i];
        bool reached = false;
        for (uint32_t k = 0; k < node->input_count; ++k)
            reached |= node->inputs[k] != ONS_NONE && d->active[node->inputs[k]] &&
                       (node->op->gradient.build == NULL || ons_is_differentiable(node->op, k));
        for (uint32_t k = 0; reached && k < node->output_count; ++k)
            if (node->outputs[k] != ONS_NONE &&
                ons_dtype_is_float(ons_graph_value(d->graph, node->outputs[k])->type.dtype))
                d->active[node->outputs[k]] = true;
    }
}

/* Sums a gradient of the broadcast shape down to the operand's own. */
static ons_value_id reduce_to(differentiation *d, ons_value_id gradient, const ons_shape *shape) {
    ons_builder *b = &d->builder;
    ons_shape from = ons_builder_type(b, gradient).shape;
    if (gradient == ONS_NONE || ons_shape_equal(&from, shape)) return gradient;
    int64_t axes[ONS_RANK_MAX];
    uint32_t count = 0, lead = from.rank > shape->rank ? from.rank - shape->rank : 0;
    for (uint32_t axis = 0; axis < from.rank; ++axis)
        if (axis < lead || (axis - lead < shape->rank && shape->dims[axis - lead] == 1 && from.dims[axis] != 1))
            axes[count++] = axis;
    const ons_operator *reduce = ons_registry_role(d->registry, ONS_ROLE_REDUCE_SUM);
    const ons_operator *reshape = ons_registry_role(d->registry, ONS_ROLE_RESHAPE);
    if (reduce == NULL || reshape == NULL) {
        ons_builder_fail(b, ons_status_new(ONS_DEFECT, "no operator sums or reshapes"));
        return ONS_NONE;
    }
    if (count > 0)
        gradient =
            ons_build(b, reduce, ONS_IN(gradient, ons_build_integers(b, axes, count)), ONS_WITH(ONS_AT_INT(0, 1)));
    ons_shape reduced = ons_builder_type(b, gradient).shape;
    if (gradient != ONS_NONE && !ons_shape_equal(&reduced, shape))
        gradient = ons_build(b, reshape, ONS_IN(gradient, ons_build_integers(b, shape->dims, shape->rank)),
                             ONS_WITH(ONS_AT_INT(0, 1)));
    return gradient;
}

/* Joins all that flows into a value so far to one gradient. */
static ons_value_id sum_flow(differentiation *d, const flow *f) {
    if (f->count == 0) return ONS_NONE;
    const ons_operator *add = ons_registry_role(d->registry, ONS_ROLE_ADD);
    ons_value_id sum = f->items[0];
    for (size_t i = 1; i < f->count; ++i) sum = ons_build(&d->builder, add, ONS_IN(sum, f->items[i]), ONS_DEFAULTS);
    return sum;
}

ons_value_id ons_gradient_take_flow(ons_gradient *g, uint32_t index) {
    differentiation *d = ((rule_call *)(void *)g)->differentiation;
    ons_value_id input = g->wanted[index] ? ons_gradient_input(g, index) : ONS_NONE;
    if (input == ONS_NONE || d->is_leaf[input]) return ONS_NONE;
    ons_value_id sum = sum_flow(d, &d->flows[input]);
    d->flows[input].count = 0;
    return sum;
}

void ons_gradient_take_summands(ons_gradient *g, uint32_t index, ons_value_id *first, ons_value_id *second) {
    const differentiation *d = ((rule_call *)(void *)g)->differentiation;
    ons_value_id sum = g->cotangents[index];
    *first = sum;
    *second = ONS_NONE;
    if (sum == ONS_NONE || d->flows[ons_graph_node(d->graph, g->node)->outputs[index]].count < 2) return;
    const ons_node *adding = ons_graph_node(d->graph, ons_graph_value(d->graph, sum)->producer);
    *first = adding->inputs[0];
    *second = adding->inputs[1];
}

static ons_status *take_gradients(differentiation *d, const ons_gradient *g, const ons_node *node) {
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (!g->wanted[i] || g->gradients[i] == ONS_NONE) continue;
        ons_type type = ons_graph_value(d->graph, node->inputs[i])->type;
        ons_value_id gradient = reduce_to(d, g->gradients[i], &type.shape);
        if (gradient == ONS_NONE) break;
        ons_type made = ons_builder_type(&d->builder, gradient);
        char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
        ONS_CHECK(made.dtype == type.dtype && ons_shape_equal(&made.shape, &type.shape), ONS_DEFECT,
                  "node '%s' (%s): the gradient of input %u is %s, the input %s", node->name, node->op->name, i,
                  ons_type_print(&made, left), ons_type_print(&type, right));
        ONS_PUSH(&d->flows[node->inputs[i]], gradient);
    }
    return ons_builder_finish(&d->builder);
}

static ons_status *not_differentiable(differentiation *d, const ons_node *node, const char *reason,
                                      const bool *wanted) {
    if (d->blockers == NULL)
        return ons_status_new(
            ONS_UNSUPPORTED,
            "node '%s' (%s) lies between a weight and the loss but is not differentiable: %s; freeze the "
            "weights before it, or take it out of the model",
            node->name, node->op->name, reason);
    ONS_PUSH(d->blockers, (ons_blocker){node->name, node->op->name, reason,
                                        "freeze the weights before it, or take it out of the model"});
    /* Nothing of this will run: the inputs stand for their gradients, so that what lies before is looked at, too. */
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (wanted[i]) ONS_PUSH(&d->flows[node->inputs[i]], node->inputs[i]);
    return NULL;
}

/* A rule that refuses its node does so for a form that it does not cover (a mode, an output): the model itself is
 * valid, and `check` goes on to the next node. */
static ons_status *refused(differentiation *d, const ons_node *node, ons_status *problem, const bool *wanted) {
    ons_status_code code = ons_status_get_code(problem);
    if (code != ONS_INVALID_MODEL && code != ONS_UNSUPPORTED) return problem;
    char place[256]; /* the message begins with the node, which is named again */
    int length = snprintf(place, sizeof place, "node '%s' (%s): ", node->name, node->op->name);
    const char *reason = ons_status_get_message(problem);
    if (length > 0 && (size_t)length < sizeof place && strncmp(reason, place, (size_t)length) == 0) reason += length;
    reason = ons_arena_copy_text(d->graph->arena, reason);
    ons_status_free(problem);
    return reason == NULL ? ons_status_out_of_memory() : not_differentiable(d, node, reason, wanted);
}

static ons_status *differentiate_node(differentiation *d, ons_node_id id, ons_arena *scratch) {
    ons_node node = *ons_graph_node(d->graph, id); /* a copy: building moves the array */
    ons_value_id *cotangents, *gradients;
    bool *wanted;
    /* Rules may ask for any output that the operator can have. */
    uint32_t outputs = node.op->arity.outputs_max;
    outputs = outputs == (uint32_t)ONS_VARIADIC || outputs < node.output_count ? node.output_count : outputs;
    ONS_NEW(cotangents, scratch, outputs + 1);
    for (uint32_t i = 0; i < outputs; ++i) cotangents[i] = ONS_NONE;
    ONS_NEW(gradients, scratch, node.input_count + 1);
    ONS_NEW(wanted, scratch, node.input_count + 1);
    d->builder.name = ons_arena_format(d->graph->arena, "%s/gradient", node.name);
    d->builder.origin = node.origin;
    bool flows = false, any = false;
    for (uint32_t i = 0; i < node.input_count; ++i) {
        gradients[i] = ONS_NONE;
        wanted[i] = node.inputs[i] != ONS_NONE && d->active[node.inputs[i]] &&
                    (node.op->gradient.build == NULL || ons_is_differentiable(node.op, i));
        any |= wanted[i];
    }
    for (uint32_t i = 0; any && i < node.output_count; ++i) {
        cotangents[i] = node.outputs[i] == ONS_NONE ? ONS_NONE : sum_flow(d, &d->flows[node.outputs[i]]);
        flows |= cotangents[i] != ONS_NONE;
    }
    if (!any || !flows) return ons_builder_finish(&d->builder);
    if (node.op->gradient.build == NULL) return not_differentiable(d, &node, node.op->gradient.why_not, wanted);
    ons_operands operands;
    ONS_TRY(ons_operands_make(d->graph, node.op, node.name, node.attributes, node.inputs, node.input_count,
                              node.output_count, scratch, &operands));
    ONS_TRY(ons_operands_infer(&operands));
    rule_call call = {{&d->builder, id, cotangents, wanted, gradients, &operands}, d};
    ons_status *problem = node.op->gradient.build(&call.gradient);
    if (problem != NULL) return refused(d, &node, problem, wanted);
    return take_gradients(d, &call.gradient, &node);
}

/* A backward node is on the way to earlier stages where a gradient of an activation depends on it. */
static ons_status *set_phases(differentiation *d) {
    ons_graph *graph = d->graph;
    bool *critical = calloc(graph->values.count + 1, sizeof *critical);
    if (critical == NULL) return ons_status_out_of_memory();
    for (size_t id = 0; id < d->forward_values; ++id)
        for (size_t i = 0; !d->is_leaf[id] && i < d->flows[id].count; ++i) critical[d->flows[id].items[i]] = true;
    for (size_t i = graph->nodes.count; i-- > d->forward_nodes;) {
        ons_node *node = &graph->nodes.items[i];
        bool leads_on = false;
        for (uint32_t k = 0; k < node->output_count; ++k)
            leads_on |= node->outputs[k] != ONS_NONE && critical[node->outputs[k]];
        node->phase = leads_on ? ONS_INPUT_GRADIENT : ONS_WEIGHT_GRADIENT;
        for (uint32_t k = 0; leads_on && k < node->input_count; ++k)
            if (node->inputs[k] != ONS_NONE) critical[node->inputs[k]] = true;
    }
    free(critical);
    return NULL;
}

static ons_status *differentiate_loss(differentiation *d, ons_value_id loss, ons_value_id cotangent,
                                      const ons_value_id *parameters, uint32_t count,
                                      ons_parameter_gradient *gradients) {
    for (uint32_t i = 0; i < count; ++i) d->active[parameters[i]] = d->is_leaf[parameters[i]] = true;
    find_active(d);
    if (cotangent == ONS_NONE)
        cotangent = ons_build_scalar(&d->builder, ons_graph_value(d->graph, loss)->type.dtype, 1);
    ONS_TRY(ons_builder_finish(&d->builder));
    ONS_PUSH(&d->flows[loss], cotangent);
    for (size_t i = d->forward_nodes; i-- > 0;) {
        ons_arena *scratch = ons_arena_new();
        ons_status *status =
            scratch == NULL ? ons_status_out_of_memory() : differentiate_node(d, (ons_node_id)i, scratch);
        ons_arena_free(scratch);
        ons_status *left = ons_builder_finish(&d->builder);
        ons_status_free(status == NULL ? NULL : left);
        if (status == NULL) status = left;
        if (ons_status_get_code(status) == ONS_OUT_OF_MEMORY)
            return ons_status_at(status, "node '%s', its gradient", d->graph->nodes.items[i].name);
        ONS_TRY(status);
    }
    for (uint32_t i = 0; i < count; ++i) {
        const flow *f = &d->flows[parameters[i]];
        gradients[i] = (ons_parameter_gradient){.parameter = parameters[i], .use_count = (uint32_t)f->count};
        ONS_NEW(gradients[i].uses, d->graph->arena, f->count);
        for (size_t k = 0; k < f->count; ++k) gradients[i].uses[k] = f->items[f->count - 1 - k];
    }
    return set_phases(d);
}

ons_status *ons_differentiate(ons_graph *graph, const ons_registry *registry, ons_value_id loss, ons_value_id cotangent,
                              const ons_value_id *parameters, uint32_t parameter_count, ons_blockers *blockers,
                              ons_parameter_gradient *gradients) {
    differentiation d = {
        .graph = graph,
        .registry = registry,
        .builder = {.graph = graph, .registry = registry, .phase = ONS_INPUT_GRADIENT, .origin = ONS_NONE},
        .blockers = blockers,
        .forward_values = graph->values.count,
        .forward_nodes = graph->nodes.count,
    };
    d.active = calloc(d.forward_values + 1, sizeof *d.active);
    d.is_leaf = calloc(d.forward_values + 1, sizeof *d.is_leaf);
    d.flows = calloc(d.forward_values + 1, sizeof *d.flows);
    ons_status *status = d.active == NULL || d.is_leaf == NULL || d.flows == NULL
                             ? ons_status_out_of_memory()
                             : differentiate_loss(&d, loss, cotangent, parameters, parameter_count, gradients);
    for (size_t i = 0; d.flows != NULL && i < d.forward_values; ++i) ons_vector_free(&d.flows[i]);
    free(d.active), free(d.is_leaf), free(d.flows);
    return status;
}

ons_status *ons_gradient_reaches(const ons_graph *graph, ons_value_id loss, bool **result) {
    bool *reaches = calloc(graph->values.count + 1, sizeof *reaches);
    if (reaches == NULL) return ons_status_out_of_memory();
    reaches[loss] = true;
    for (size_t i = graph->nodes.count; i-- > 0;) {
        const ons_node *node = &graph->nodes.items[i];
        bool reached = false;
        for (uint32_t k = 0; k < node->output_count; ++k)
            reached |= node->outputs[k] != ONS_NONE && reaches[node->outputs[k]];
        /* A node without a rule counts as reached through all its float inputs, so that the weight behind it is asked
         * for, and the missing gradient is reported rather than the weight silently left alone. */
        for (uint32_t k = 0; reached && k < node->input_count; ++k)
            if (node->inputs[k] != ONS_NONE &&
                (node->op->gradient.build == NULL || ons_is_differentiable(node->op, k)) &&
                ons_dtype_is_float(ons_graph_value(graph, node->inputs[k])->type.dtype))
                reaches[node->inputs[k]] = true;
    }
    *result = reaches;
    return NULL;
}
