/* DequantizeLinear: (x - zero point) × scale. Behind a QuantizeLinear the two become FakeQuantize when the graph is
 * bound, whatever else reads the integers. */
#include "kernels/dequantize_linear/dequantize_linear_node.h"

#include "graph/small_types.h"
#include "kernels/common/operator/expand.h"
#include "kernels/quantization/quantization.h"

enum { QUANTIZE_AXIS, QUANTIZE_BLOCK };

static ons_status *dequantize_linear_infer(ons_operands *o) {
    ons_scales s;
    double low, high;
    if (!ons_quantized_range(o->inputs[X].dtype, &low, &high) && o->inputs[X].dtype != ONS_INT32 &&
        !ons_is_small_float(o->inputs[X].dtype))
        return ons_node_error(o, "%s cannot be dequantised; integers of up to 16 bits, int32 and 8-bit floats can",
                              ons_dtype_name(o->inputs[X].dtype));
    ONS_TRY(ons_need_float(o, SCALE));
    if (ons_has_input(o, ZERO) && o->inputs[ZERO].dtype != o->inputs[X].dtype)
        return ons_node_error(o, "the zero point is %s, not of the input's type",
                              ons_dtype_name(o->inputs[ZERO].dtype));
    ONS_TRY(find_scales(o, &s));
    ons_dtype dtype = (ons_dtype)ons_attribute_int(o, OUTPUT_DTYPE);
    o->outputs[0] = ons_type_make(dtype == ONS_NO_DTYPE ? o->inputs[SCALE].dtype : dtype, o->inputs[X].shape);
    if (!ons_dtype_is_float(o->outputs[0].dtype))
        return ons_node_error(o, "the result cannot have element type %lld", (long long)dtype);
    return NULL;
}

static void dequantize_linear_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                        void *const *outputs) {
    ons_scales s;
    ons_resolved(find_scales(o, &s));
    bool is_float = ons_is_small_float(o->inputs[X].dtype);
    for (int64_t i = 0; i < s.elements; ++i) {
        if (is_float) { /* their zero point can only be 0 */
            ((double *)outputs[0])[i] =
                ((const double *)inputs[X])[i] * ((const double *)inputs[SCALE])[ons_scale_of(&s, i)];
            continue;
        }
        int64_t k = ons_scale_of(&s, i), zero = ons_has_input(o, ZERO) ? ((const int64_t *)inputs[ZERO])[k] : 0;
        ((double *)outputs[0])[i] =
            (double)(((const int64_t *)inputs[X])[i] - zero) * ((const double *)inputs[SCALE])[k];
    }
}

/* The integers times the cotangent, summed over what shares the scale: the driver sums an axis of size 1 away. */
static ons_status *dequantize_linear_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    ons_builder *b = g->builder;
    ons_scales s;
    ons_resolved(find_scales(o, &s));
    if (!g->wanted[SCALE]) return NULL;
    if (s.blocked) return ons_node_error(o, "no gradient to scales of blocks; leave them as they are");
    if (o->inputs[SCALE].dtype != o->outputs[0].dtype)
        return ons_node_error(o, "no gradient to a scale of another element type than the result");
    /* (x - zero point) is the result for scales of one. */
    ons_type type = o->inputs[SCALE];
    double *ones;
    ONS_NEW(ones, b->graph->arena, (size_t)s.count + 1);
    for (int64_t i = 0; i < s.count; ++i) ones[i] = 1;
    ons_value_id plain = ONS_NONE;
    ons_build_node_like(b, &ons_op_dequantize_linear,
                        ONS_IN(ons_gradient_input(g, X), ons_build_constant(b, o->name, &type, ones),
                               ons_has_input(o, ZERO) ? ons_gradient_input(g, ZERO) : (ons_value_id)ONS_NONE),
                        o->attributes, 1, NULL, &plain);
    ons_value_id product = ons_build(b, &ons_op_mul, ONS_IN(g->cotangents[0], plain), ONS_DEFAULTS);
    int64_t axes[ONS_RANK_MAX];
    uint32_t count = 0, kept = 0;
    if (s.count > 1) ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), o->inputs[X].shape.rank, &kept));
    for (uint32_t i = 0; i < o->inputs[X].shape.rank; ++i)
        if (s.count == 1 || i != kept) axes[count++] = i;
    if (count > 0)
        product = ons_build(b, &ons_op_reduce_sum, ONS_IN(product, ons_build_integers(b, axes, count)),
                            ONS_WITH(ONS_AT_INT(0, 0)));
    g->gradients[SCALE] =
        ons_build(b, &ons_op_reshape, ONS_IN(product, ons_build_integers(b, type.shape.dims, type.shape.rank)),
                  ONS_WITH(ONS_AT_INT(0, 1)));
    return NULL;
}

static ons_status *dequantize_linear_decompose(ons_replacement *m) {
    const ons_operands *o = m->operands;
    const ons_graph *graph = m->builder->graph;
    ons_node_id producer = ons_graph_value(graph, m->inputs[X])->producer;
    if (producer == ONS_NONE) return NULL;
    const ons_node *node = ons_graph_node(graph, producer);
    bool dynamic = node->op == &ons_op_dynamic_quantize_linear;
    if (node->op != &ons_op_quantize_linear && !dynamic) return NULL;
    ons_value_id x = node->inputs[0], zero = ons_expand_input(m, ZERO);
    ons_value_id from_scale = dynamic ? m->inputs[SCALE] : node->inputs[1];
    ons_value_id from_zero = dynamic ? zero : node->input_count > 2 ? node->inputs[2] : (ons_value_id)ONS_NONE;
    ons_type x_type = ons_builder_type(m->builder, x), scale_type = ons_builder_type(m->builder, from_scale);
    bool same_axis = dynamic || o->inputs[SCALE].shape.rank == 0 || scale_type.shape.dims[0] == 1 ||
                     (node->attributes[QUANTIZE_AXIS].i == ons_attribute_int(o, AXIS) &&
                      node->attributes[QUANTIZE_BLOCK].i == ons_attribute_int(o, BLOCK));
    if (x_type.dtype != o->outputs[0].dtype || !ons_type_equal(&scale_type, &o->inputs[SCALE]) ||
        x_type.dtype != scale_type.dtype || !same_axis || (dynamic && m->inputs[X] != node->outputs[0]))
        return NULL;
    double low, high;
    if (!ons_quantized_range(o->inputs[X].dtype, &low, &high)) return NULL;
    ons_value_id y =
        ons_build(m->builder, &ons_op_fake_quantize, ONS_IN(x, from_scale, m->inputs[SCALE], from_zero, zero),
                  ONS_WITH(ONS_AT_INT(0, ons_attribute_int(o, AXIS)), ONS_AT_INT(1, ons_attribute_int(o, BLOCK)),
                           ONS_AT_FLOAT(2, low), ONS_AT_FLOAT(3, high), ONS_AT_INT(4, dynamic)));
    return ons_expand_finish(m, y);
}

ONS_DEFINE_OPERATOR(dequantize_linear, "DequantizeLinear", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(2, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 1), ONS_INT_ATTRIBUTE("block_size", 0),
                                   ONS_INT_ATTRIBUTE("output_dtype", 0)),
                    ONS_INFER(dequantize_linear_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_ON_REQUEST(dequantize_linear_gradient, ONS_INPUT_BIT(X) | ONS_INPUT_BIT(SCALE),
                                            ONS_INPUT_BIT(SCALE)),
                    ONS_SAVES(ONS_INPUT_BIT(X) | ONS_INPUT_BIT(ZERO), 0), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_FORMS(NULL, ONS_NO_PATTERNS, dequantize_linear_decompose),
                    ONS_REFERENCE(dequantize_linear_reference));
