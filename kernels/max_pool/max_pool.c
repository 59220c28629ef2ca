/* MaxPool. Beside ONNX's two outputs there is a third one for the gradient: where in its window each maximum was found.
 */
#include "kernels/max_pool/max_pool.h"

#include <math.h>
#include <string.h>

#include "kernels/common/layout/channels.h"
#include "kernels/operators.h"
#include "kernels/pooling/pooling.h"

static ons_status *max_pool_infer(ons_operands *o) {
    ons_pooling pooling;
    if (!ons_dtype_is_float(o->inputs[0].dtype) && !ons_dtype_is_integer(o->inputs[0].dtype))
        return ons_node_error(o, "pooling of %s is not supported", ons_dtype_name(o->inputs[0].dtype));
    ONS_TRY(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    o->outputs[Y] = pooling.y;
    if (o->output_count > INDICES) o->outputs[INDICES] = ons_type_make(ONS_INT64, pooling.y.shape);
    if (o->output_count > POSITIONS) o->outputs[POSITIONS] = ons_type_make(pooling.position, pooling.y.shape);
    return NULL;
}

static ons_cost max_pool_cost(const ons_operands *o) {
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    double comparisons = (double)ons_elements(&pooling.y) * (double)ons_window_taps(&pooling.window);
    return (ons_cost){comparisons, ons_operand_bytes(o)};
}

/* Indices count through the whole tensor in ONNX's order; so do the stand-ins for other dtypes. */
static ons_status *max_pool_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    if (!ons_has_output(o, INDICES) && (o->inputs[0].dtype == ONS_FLOAT32 || ons_layout_is_for_cuda(o)))
        return ons_pooling_choose(o, inputs, outputs);
    return NULL; /* ONNX's order for all */
}

/* Whether a tap's value takes the place of the best one so far; NaN always does. */
static bool is_better(ons_dtype dtype, const void *x, int64_t at, int64_t best) {
    if (best < 0) return true;
    if (dtype == ONS_UINT64) return ((const uint64_t *)x)[at] > ((const uint64_t *)x)[best];
    if (!ons_dtype_is_float(dtype)) return ((const int64_t *)x)[at] > ((const int64_t *)x)[best];
    const double *words = x;
    return words[at] > words[best] || isnan(words[at]);
}

static void max_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs) {
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    const ons_window *w = &pooling.window;
    const uint64_t *words = inputs[0];
    uint64_t *y = outputs[Y];
    int64_t *indices = o->output_count > INDICES ? outputs[INDICES] : NULL;
    int64_t *positions = o->output_count > POSITIONS ? outputs[POSITIONS] : NULL;
    int64_t planes = pooling.x.shape.dims[0] * pooling.x.shape.dims[1], count = ons_window_outputs(w);
    bool column_major = ons_attribute_int(o, ONS_POOLING_STORAGE_ORDER) != 0;
    static const double nothing = -INFINITY;
    for (int64_t i = 0; i < planes * count; ++i) {
        int64_t found = 0, best = -1, base = i / count * ons_window_inputs(w);
        for (int64_t tap = 0, taps = ons_window_taps(w); tap < taps; ++tap) {
            int64_t at;
            if (!ons_window_position(w, i % count, tap, &at) || !is_better(pooling.x.dtype, words, base + at, best))
                continue;
            best = base + at;
            found = tap;
        }
        if (best >= 0)
            y[i] = words[best];
        else if (ons_dtype_is_float(pooling.x.dtype))
            memcpy(&y[i], &nothing, sizeof nothing);
        else
            y[i] = 0;
        if (indices != NULL) indices[i] = index_of(w, column_major, i / count, best < 0 ? 0 : best - base);
        if (positions != NULL) positions[i] = found;
    }
}

static ons_status *max_pool_gradient(ons_gradient *g) {
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve(g->operands, &g->operands->inputs[0], &pooling));
    g->gradients[0] = ons_pooling_build_gradient(g, &ons_op_max_pool_gradient, &pooling,
                                                 ONS_IN(g->cotangents[Y], ons_gradient_output(g, POSITIONS)));
    return NULL;
}

ONS_DEFINE_OPERATOR(max_pool, "MaxPool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 3),
                    ONS_ATTRIBUTES(ONS_POOLING_ATTRIBUTES), ONS_INFER(max_pool_infer), ONS_COST(max_pool_cost),
                    ONS_GRADIENT_RULE(max_pool_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, 1u << POSITIONS),
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(max_pool_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(max_pool_reference));
