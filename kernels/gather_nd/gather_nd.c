/* GatherND: the slices of the data that index tuples name. */
#include "kernels/gather_nd/gather_nd_node.h"

#include "kernels/common/nd_lookup.h"

extern const ons_operator ons_op_gather_nd_gradient;

static ons_status *gather_nd_infer(ons_operands *o) {
    ons_nd_lookup lookup;
    uint32_t tail;
    ons_shape shape;
    ONS_TRY(find_lookup(o, &lookup, &tail));
    ONS_TRY(ons_nd_lookup_shape(o, &o->inputs[DATA].shape, tail, &shape));
    o->outputs[0] = ons_type_make(o->inputs[DATA].dtype, shape);
    return NULL;
}

static void gather_nd_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                void *const *outputs) {
    ons_nd_lookup lookup = {0};
    uint32_t tail;
    ons_status_free(find_lookup(o, &lookup, &tail)); /* has passed inference */
    for (int64_t i = 0, zero = 0; i < lookup.batches * lookup.tuples; ++i) {
        int64_t from = ons_nd_lookup_reference(&lookup, step, inputs[INDICES], i);
        for (int64_t k = 0; k < lookup.slice; ++k)
            ons_copy_word(outputs[0], i * lookup.slice + k, from < 0 ? &zero : inputs[DATA], from < 0 ? 0 : from + k);
    }
}

static ons_status *gather_nd_gradient(ons_gradient *g) {
    const ons_shape *shape = &g->operands->inputs[DATA].shape;
    g->gradients[DATA] = ons_build(
        g->builder, &ons_op_gather_nd_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, INDICES)),
        ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, BATCH_DIMS)), ONS_AT_INTS(1, shape->rank, shape->dims)));
    return NULL;
}

ONS_DEFINE_OPERATOR(gather_nd, "GatherND", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("batch_dims", 0)), ONS_INFER(gather_nd_infer),
                    ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(gather_nd_gradient, ONS_INPUT_BIT(DATA)),
                    ONS_SAVES(ONS_INPUT_BIT(INDICES), 0), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(gather_nd_reference));
