/* SwiGLU: the Swish of a gate, times b of the same shape. */
#include <math.h>

#include "graph/passes/fuse.h"
#include "kernels/common/elementwise/binary.h"
#include "kernels/operators.h"

enum { ALPHA };

ONS_BINARY_FLOAT_REFERENCE(swi_glu, a / (1 + exp(-ons_attribute_float(o, ALPHA) * a)) * b)

static ons_status *swi_glu_infer(ons_operands *o) {
    ONS_TRY(ons_infer_broadcast_floats(o));
    if (!ons_shape_equal(&o->inputs[0].shape, &o->inputs[1].shape))
        return ons_node_error(o, "the gate and the value differ in shape");
    return NULL;
}

static ons_status *swi_glu_gradient(ons_gradient *g) {
    ons_build_node_like(g->builder, &ons_op_swi_glu_gradient,
                        ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_input(g, 1)),
                        g->operands->attributes, 2, g->wanted, g->gradients);
    return NULL;
}

static ons_value_id replace(ons_match *match) {
    ons_type a = ons_match_type(match, "a"), b = ons_match_type(match, "b");
    const ons_operands *gate = ons_match_node(match, "gate");
    if (gate == NULL || !ons_type_equal(&a, &b) || ons_match_value(match, "a") == ons_match_value(match, "b"))
        return ONS_NONE;
    return ons_build(ons_match_builder(match), &ons_op_swi_glu,
                     ONS_IN(ons_match_value(match, "a"), ons_match_value(match, "b")),
                     ONS_WITH(ONS_AT_FLOAT(ALPHA, ons_attribute_float(gate, 0))));
}

/* The gate is a Swish by then: it has patterns of its own. */
static const ons_pattern swi_glu_patterns[] = {
    {"Mul(gate=Swish(a), b)", replace},
    {.form = NULL},
};

ONS_DEFINE_BINARY(swi_glu, "SwiGLU", ONS_ONNX(28, ONS_NEWEST), ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)),
                  ONS_INFER(swi_glu_infer), ONS_GRADIENT_RULE(swi_glu_gradient, ONS_ALL_INPUTS),
                  ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0),
                  ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_CHEAP_AGAIN, 0),
                  ONS_FORMS(NULL, swi_glu_patterns, NULL), ONS_REFERENCE(swi_glu_reference));
