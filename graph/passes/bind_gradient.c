#include "graph/passes/bind_gradient.h"

#include "graph/operator.h"
#include "graph/passes/autograd.h"

enum { BY, OTHERS, OF };

static ons_value_id find(const ons_bound_names *names, const char *name) {
    ons_value_id id = ons_graph_find_value(names->from, name);
    return id == ONS_NONE ? (ons_value_id)ONS_NONE : names->map[id];
}

/* The names stand for the node's inputs: other values in their places would mean to evaluate the graph anew. */
static ons_status *check_names(const ons_bound_names *names, const ons_node *node, const ons_value_id *inputs) {
    uint32_t count = 0;
    for (int list = BY; list <= OTHERS; ++list) {
        const ons_attribute *given = &node->attributes[list];
        for (uint32_t i = 0; given->kind == ONS_ATTRIBUTE_STRINGS && i < given->count; ++i, ++count) {
            ONS_CHECK(count < node->input_count && inputs[count] != ONS_NONE, ONS_INVALID_MODEL,
                      "node '%s' (%s): it names more values than it has inputs", node->name, node->op->name);
            ons_value_id named = ons_graph_find_value(names->from, given->strings[i]);
            ONS_CHECK(named != ONS_NONE && (named == node->inputs[count] || names->map[named] == inputs[count]),
                      ONS_UNSUPPORTED, "node '%s' (%s): its input %u is not the value '%s' that it names", node->name,
                      node->op->name, count, given->strings[i]);
        }
    }
    return NULL;
}

static ons_value_id constant(ons_builder *b, const ons_type *type, double value) {
    int64_t count = ons_shape_elements(&type->shape);
    double *words = ons_arena_allocate(b->graph->arena, (size_t)count + 1, sizeof *words);
    if (words == NULL) {
        ons_builder_fail(b, ons_status_out_of_memory());
        return ONS_NONE;
    }
    for (int64_t i = 0; i < count; ++i) words[i] = value;
    return ons_build_constant(b, b->name, type, words);
}

static void make_forward(ons_graph *graph, size_t first_node, size_t first_value) {
    for (size_t i = first_node; i < graph->nodes.count; ++i) graph->nodes.items[i].phase = ONS_FORWARD;
    for (size_t i = first_value; i < graph->values.count; ++i)
        if (graph->values.items[i].kind == ONS_GRADIENT) graph->values.items[i].kind = ONS_ACTIVATION;
}

ons_status *ons_bind_gradient(ons_builder *b, const ons_bound_names *names, const ons_node *node,
                              const ons_value_id *inputs, ons_value_id *outputs) {
    ons_graph *graph = b->graph;
    const ons_attribute *by = &node->attributes[BY];
    ONS_TRY(check_names(names, node, inputs));
    ons_value_id of = find(names, node->attributes[OF].s);
    ONS_CHECK(of != ONS_NONE, ONS_INVALID_MODEL, "node '%s' (%s): nothing before it makes the value '%s'", node->name,
              node->op->name, node->attributes[OF].s);
    ons_type type = ons_graph_value(graph, of)->type;
    ONS_CHECK(ons_dtype_is_float(type.dtype), ONS_INVALID_MODEL, "node '%s' (%s): '%s' is not a float", node->name,
              node->op->name, node->attributes[OF].s);
    ons_value_id ones = constant(b, &type, 1); /* of a tensor: the derivative of its sum */
    ONS_TRY(ons_builder_finish(b));
    size_t first_node = graph->nodes.count, first_value = graph->values.count;
    ons_parameter_gradient *gradients;
    ONS_NEW(gradients, graph->arena, by->count + 1);
    ONS_TRY(ons_differentiate(graph, b->registry, of, ones, inputs, by->count, NULL, gradients));
    const ons_operator *add = ons_registry_role(b->registry, ONS_ROLE_ADD);
    for (uint32_t i = 0; i < by->count && i < node->output_count; ++i) {
        ons_type wanted = ons_graph_value(graph, inputs[i])->type;
        outputs[i] = gradients[i].use_count == 0 ? constant(b, &wanted, 0) : gradients[i].uses[0];
        for (uint32_t use = 1; use < gradients[i].use_count; ++use)
            outputs[i] = ons_build(b, add, ONS_IN(outputs[i], gradients[i].uses[use]), ONS_DEFAULTS);
    }
    make_forward(graph, first_node, first_value);
    return ons_builder_finish(b);
}
