/* Clip: max(low, min(high, x)), where either bound may be left out. */
#include <math.h>

#include "graph/operator.h"
#include "graph/upgrade.h"
#include "kernels/common/operator/checks.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/operators.h"

static bool agree(ons_dtype a, ons_dtype b) { return a == b || (ons_dtype_is_float(a) && ons_dtype_is_float(b)); }

/* A bound may be another float type than the data: before opset 11 it was an attribute. */
static ons_status *clip_infer(ons_operands *o) {
    ONS_TRY(ons_need_number(o, 0));
    for (uint32_t i = 1; i < o->input_count; ++i)
        if (ons_has_input(o, i) && (!agree(o->inputs[i].dtype, o->inputs[0].dtype) || ons_elements(&o->inputs[i]) != 1))
            return ons_node_error(o, "the %s must be a scalar of the data's element type, %s",
                                  i == 1 ? "minimum" : "maximum", ons_dtype_name(o->inputs[0].dtype));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

static void clip_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                           void *const *outputs) {
    int64_t n = ons_elements(&o->outputs[0]);
    if (ons_dtype_is_float(o->inputs[0].dtype)) {
        double low = ons_has_input(o, 1) ? *(const double *)inputs[1] : -INFINITY;
        double high = ons_has_input(o, 2) ? *(const double *)inputs[2] : INFINITY;
        for (int64_t i = 0; i < n; ++i) {
            double x = ((const double *)inputs[0])[i];
            x = x < low ? low : x;
            ((double *)outputs[0])[i] = x > high ? high : x;
        }
        return;
    }
    /* Moved by half the range, unsigned numbers are in the order of signed ones. */
    uint64_t shift = o->inputs[0].dtype == ONS_UINT64 ? (uint64_t)1 << 63 : 0;
    int64_t low = ons_has_input(o, 1) ? (int64_t)(*(const uint64_t *)inputs[1] ^ shift) : INT64_MIN;
    int64_t high = ons_has_input(o, 2) ? (int64_t)(*(const uint64_t *)inputs[2] ^ shift) : INT64_MAX;
    for (int64_t i = 0; i < n; ++i) {
        int64_t x = (int64_t)(((const uint64_t *)inputs[0])[i] ^ shift);
        x = x < low ? low : x;
        ((uint64_t *)outputs[0])[i] = (uint64_t)(x > high ? high : x) ^ shift;
    }
}

static ons_status *clip_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build(
        g->builder, &ons_op_clip_gradient,
        ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_input(g, 1), ons_gradient_input(g, 2)),
        ONS_DEFAULTS);
    return NULL;
}

/* Before opset 11 the bounds were attributes. */
static ons_status *clip_upgrade(ons_upgrade *u) {
    if (u->opset >= 11) return NULL;
    ONS_TRY(ons_upgrade_attribute_to_input(u, "min", 1, ONS_FLOAT32));
    return ons_upgrade_attribute_to_input(u, "max", 2, ONS_FLOAT32);
}

ONS_DEFINE_OPERATOR(clip, "Clip", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 3, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(clip_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(clip_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2), 0), ONS_ELEMENTWISE_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT,
                    ONS_FORMS(clip_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(clip_reference));
