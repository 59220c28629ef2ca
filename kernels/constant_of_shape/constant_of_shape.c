/* ConstantOfShape: a tensor of the given shape, filled with one value. The file's attribute `value` becomes input 1. */
#include "graph/operator.h"
#include "graph/upgrade.h"
#include "kernels/common/layout/index.h"
#include "kernels/common/operator/kernel.h"

enum { SHAPE, VALUE };

static ons_status *constant_of_shape_infer(ons_operands *o) {
    int64_t dims[ONS_INTEGERS_MAX];
    uint32_t rank;
    ONS_TRY(ons_constant_integers(o, SHAPE, dims, &rank));
    if (rank > ONS_RANK_MAX)
        return ons_node_error(o, "the shape has rank %u, at most %d is possible", rank, ONS_RANK_MAX);
    if (ons_has_input(o, VALUE) && ons_elements(&o->inputs[VALUE]) != 1)
        return ons_node_error(o, "the value must be one element");
    ons_dtype dtype = ons_has_input(o, VALUE) ? o->inputs[VALUE].dtype : ONS_FLOAT32;
    o->outputs[0] = ons_type_make(dtype, ons_shape_make(rank, dims));
    return NULL;
}

static void constant_of_shape_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                        void *const *outputs) {
    uint64_t zero = 0;
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i)
        ons_copy_word(outputs[0], i, inputs[VALUE] == NULL ? &zero : inputs[VALUE], 0);
}

/* The importer has no place for a tensor among the inputs' dtypes, so the bytes are referred to as they are. */
static ons_status *constant_of_shape_upgrade(ons_upgrade *u) {
    const ons_attribute *found = ons_upgrade_find(u, "value");
    if (found == NULL) return NULL;
    ONS_CHECK(found->kind == ONS_ATTRIBUTE_TENSOR, ONS_INVALID_MODEL, "node '%s': attribute 'value' is not a tensor",
              u->node_name);
    ons_data_id data = found->tensor;
    ons_value_id value;
    ONS_TRY(
        ons_graph_add_value(u->graph, u->node_name, ONS_CONSTANT, &ons_store_get(u->graph->store, data)->type, &value));
    ons_graph_value(u->graph, value)->data = data;
    ons_graph_value(u->graph, value)->reason = ONS_FROM_CONSTANT_NODE;
    ons_upgrade_remove(u, "value");
    while (u->inputs.count <= VALUE) ONS_PUSH(&u->inputs, ONS_NONE);
    u->inputs.items[VALUE] = value;
    return NULL;
}

ONS_DEFINE_OPERATOR(constant_of_shape, "ConstantOfShape", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1),
                    ONS_NO_ATTRIBUTES, ONS_INFER(constant_of_shape_infer), ONS_COST(ons_cost_copy),
                    ONS_NOT_DIFFERENTIABLE("the result is a constant"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_FORMS(constant_of_shape_upgrade, ONS_NO_PATTERNS, NULL),
                    ONS_REFERENCE(constant_of_shape_reference));
