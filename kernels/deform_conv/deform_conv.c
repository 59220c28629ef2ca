/* DeformConv: a convolution whose taps are moved by offsets and weighed by a mask. Inputs: x, weight, offset, bias,
 * mask. */
#include "kernels/deform_conv/deform_conv.h"

#include <oneapi/dnnl/dnnl.h>

#include "kernels/common/operator/rules.h"
#include "kernels/deform_conv/deformable.h"
#include "kernels/operators.h"

static ons_status *deform_conv_infer(ons_operands *o) {
    ons_deformable d;
    ONS_TRY(resolve_deformable(o, &d));
    if (ons_has_input(o, BIAS) && (o->inputs[BIAS].shape.rank != 1 || o->inputs[BIAS].shape.dims[0] != d.outputs ||
                                   o->inputs[BIAS].dtype != d.y.dtype))
        return ons_node_error(o, "the bias must be a vector of %lld", (long long)d.outputs);
    o->outputs[0] = d.y;
    return NULL;
}

static ons_cost deform_conv_cost(const ons_operands *o) {
    ons_deformable d;
    ons_resolved(resolve_deformable(o, &d));
    return (ons_cost){ons_deformable_flops(&d), ons_operand_bytes(o)};
}

static void deform_conv_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    ons_deformable d = {0};
    ons_resolved(resolve_deformable(o, &d));
    const double *bias = ons_has_input(o, BIAS) ? inputs[BIAS] : NULL, *w = inputs[W];
    int64_t share = d.channels / d.groups, positions = d.positions;
    for (int64_t i = 0, count = ons_elements(&d.y); i < count; ++i) {
        int64_t at = i % positions, output = i / positions % d.outputs, sample = i / positions / d.outputs;
        const double *offsets = (const double *)inputs[OFFSET] + sample * 2 * d.offset_groups * d.taps * positions;
        const double *mask =
            d.has_mask ? (const double *)inputs[MASK] + sample * d.offset_groups * d.taps * positions : NULL;
        double sum = bias != NULL ? bias[output] : 0;
        for (int64_t k = 0; k < share * d.taps; ++k) {
            int64_t tap = k % d.taps, channel = output / (d.outputs / d.groups) * share + k / d.taps;
            int64_t group = channel / (d.channels / d.offset_groups);
            int64_t offset = ons_deformable_offset_at(&d, group, tap, at);
            const double *plane = (const double *)inputs[X] + (sample * d.channels + channel) * d.pixels;
            double value = 0;
            ons_exact_corners c;
            ons_deformable_corners(&d, tap, at, offsets[offset], offsets[offset + positions], &c);
            for (int corner = 0; corner < 4 && d.pixels > 0; ++corner)
                value += c.weights[corner] * plane[c.pixels[corner]];
            if (mask != NULL) value *= mask[ons_deformable_mask_at(&d, group, tap, at)];
            sum += value * w[output * share * d.taps + k];
        }
        ((double *)outputs[0])[i] = sum;
    }
}

static ons_status *deform_conv_gradient(ons_gradient *g) {
    ons_deformable d;
    ons_resolved(resolve_deformable(g->operands, &d));
    if (ons_has_input(g->operands, BIAS) && g->wanted[BIAS])
        g->gradients[BIAS] = ons_make1(g, &ons_op_channel_sum, g->cotangents[0]);
    bool wanted[4] = {g->wanted[X], g->wanted[W], g->wanted[OFFSET], d.has_mask && g->wanted[MASK]};
    if (!wanted[0] && !wanted[1] && !wanted[2] && !wanted[3]) return NULL;
    ons_window_settings s;
    ons_window_get_settings(&d.window, &g->operands->inputs[X].shape, &s);
    ons_value_id made[4];
    ons_build_node(g->builder, &ons_op_deform_conv_gradient,
                   ONS_IN(g->cotangents[0], ons_gradient_input(g, X), ons_gradient_input(g, W),
                          ons_gradient_input(g, OFFSET), d.has_mask ? ons_gradient_input(g, MASK) : ONS_NONE),
                   ONS_WITH(ONS_WINDOW_WITH(&d.window, &s), ONS_AT_INT(ONS_DEFORMABLE_GROUP, d.groups),
                            ONS_AT_INT(ONS_DEFORMABLE_OFFSET_GROUP, d.offset_groups)),
                   4, wanted, made);
    for (uint32_t i = 0; i < 3; ++i)
        if (wanted[i]) g->gradients[i] = made[i];
    if (wanted[3]) g->gradients[MASK] = made[3];
    return NULL;
}

ONS_DEFINE_OPERATOR(deform_conv, "DeformConv", ONS_ONNX(19, ONS_NEWEST), ONS_ARITY(3, 5, 1, 1),
                    ONS_ATTRIBUTES(ONS_DEFORMABLE_ATTRIBUTES), ONS_INFER(deform_conv_infer), ONS_COST(deform_conv_cost),
                    ONS_GRADIENT_RULE(deform_conv_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(X) | ONS_INPUT_BIT(W) | ONS_INPUT_BIT(OFFSET) | ONS_INPUT_BIT(MASK), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_DENSE | ONS_TRAIT_FULL_PRECISION, 0), ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(deform_conv_reference));
