/* Gradients of DeformConv: of x, weight, offset and mask. Inputs: the output's gradient, x, weight, offset, mask.
 *
 * What the taps read of a sample (columns) makes the weight's gradient; the gradient of that, weightᵀ dy, goes to the
 * pixels that were read, to the places where they were read, and to the mask. */
#include "kernels/deform_conv/deform_conv_gradient.h"

#include <oneapi/dnnl/dnnl.h>
#include <string.h>

#include "kernels/deform_conv/deformable.h"

static ons_status *deform_conv_gradient_infer(ons_operands *o) {
    ons_deformable d;
    ONS_TRY(resolve_deformable(o, &d));
    for (uint32_t i = 0; i < o->output_count; ++i) /* nobody asks for a mask's gradient where there is no mask */
        o->outputs[i] = o->inputs[i == DMASK && !d.has_mask ? X : X + i];
    return NULL;
}

/* Two products; a dozen operations for each pixel that is read. */
static ons_cost deform_conv_gradient_cost(const ons_operands *o) {
    ons_deformable d;
    ons_resolved(resolve_deformable(o, &d));
    return (ons_cost){2 * ons_deformable_flops(&d) +
                          12.0 * (double)(d.batch * d.channels * d.taps) * (double)d.positions,
                      ons_operand_bytes(o)};
}

static void *clear(const ons_operands *o, void *const *outputs, uint32_t index) {
    if (index >= o->output_count || outputs[index] == NULL) return NULL;
    return memset(outputs[index], 0, (size_t)ons_elements(&o->inputs[X + index]) * sizeof(double));
}

/* One tap of one channel into one output: g is the output's gradient times the weight. */
static void deform_conv_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    ons_deformable d = {0};
    ons_resolved(resolve_deformable(o, &d));
    const double *dy = inputs[DY], *x = inputs[X], *w = inputs[W], *offsets = inputs[OFFSET];
    const double *mask = d.has_mask ? inputs[MASK] : NULL;
    double *dx = clear(o, outputs, DX), *dw = clear(o, outputs, DW), *doffset = clear(o, outputs, DOFFSET);
    double *dmask = d.has_mask ? clear(o, outputs, DMASK) : NULL;
    int64_t share = d.channels / d.groups, lines = d.offset_groups * d.taps * d.positions;
    for (int64_t i = 0, count = d.pixels > 0 ? ons_elements(&d.y) : 0; i < count; ++i)
        for (int64_t k = 0; k < share * d.taps; ++k) {
            int64_t at = i % d.positions, output = i / d.positions % d.outputs, n = i / d.positions / d.outputs;
            int64_t tap = k % d.taps, channel = output / (d.outputs / d.groups) * share + k / d.taps;
            int64_t group = channel / (d.channels / d.offset_groups), plane = (n * d.channels + channel) * d.pixels;
            int64_t offset = 2 * n * lines + ons_deformable_offset_at(&d, group, tap, at);
            int64_t factor = n * lines + ons_deformable_mask_at(&d, group, tap, at);
            double m = mask != NULL ? mask[factor] : 1, value = 0, by_row = 0, by_column = 0;
            double g = dy[i] * w[output * share * d.taps + k];
            ons_exact_corners c;
            ons_deformable_corners(&d, tap, at, offsets[offset], offsets[offset + d.positions], &c);
            for (int corner = 0; corner < 4; ++corner) {
                double pixel = x[plane + c.pixels[corner]];
                value += c.weights[corner] * pixel;
                by_row += c.row_slopes[corner] * pixel;
                by_column += c.column_slopes[corner] * pixel;
                if (dx != NULL) dx[plane + c.pixels[corner]] += g * m * c.weights[corner];
            }
            if (dw != NULL) dw[output * share * d.taps + k] += dy[i] * m * value;
            if (dmask != NULL) dmask[factor] += g * value;
            if (doffset == NULL) continue;
            doffset[offset] += g * m * by_row;
            doffset[offset + d.positions] += g * m * by_column;
        }
}

ONS_DEFINE_OPERATOR(deform_conv_gradient, "DeformConvGradient", ONS_INTERNAL, ONS_ARITY(4, 5, 0, 4),
                    ONS_ATTRIBUTES(ONS_DEFORMABLE_ATTRIBUTES), ONS_INFER(deform_conv_gradient_infer),
                    ONS_COST(deform_conv_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_DENSE | ONS_TRAIT_FULL_PRECISION, 0),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(deform_conv_gradient_reference));
