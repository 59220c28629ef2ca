/* LayerNormalizationGradient on the CPU. */
#include "kernels/layer_normalization/layer_normalization_gradient.h"

#include "kernels/normalization/norm_rows.h"

static ons_status *layer_normalization_gradient_prepare(ons_prepare *p) {
    ons_layer_norm norm;
    ons_resolved(find_norm(p->operands, &norm));
    return ons_norm_gradient_prepare(p, &norm, EXTRA);
}

static void layer_normalization_gradient_run(const ons_launch *launch) {
    ons_norm_gradient_run(launch, &(ons_norm_gradient){.dy = launch->inputs[0],
                                                       .x = launch->inputs[1],
                                                       .scale = launch->inputs[2],
                                                       .means = launch->inputs[3],
                                                       .inverses = launch->inputs[4],
                                                       .dx = launch->outputs[0],
                                                       .dscale = launch->outputs[1],
                                                       .dbias = launch->outputs[2]});
}

ONS_KERNELS(cpu, layer_normalization_gradient,
            ONS_KERNEL(layer_normalization_gradient_prepare, layer_normalization_gradient_run))
