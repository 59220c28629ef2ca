/* RMSNormalizationGradient on the CPU. */
#include "kernels/rms_normalization/rms_normalization_gradient.h"

#include "kernels/normalization/norm_rows.h"

static ons_status *rms_normalization_gradient_prepare(ons_prepare *p) {
    ons_layer_norm norm;
    ons_resolved(find_norm(p->operands, &norm));
    return ons_norm_gradient_prepare(p, &norm, EXTRA);
}

static void rms_normalization_gradient_run(const ons_launch *launch) {
    ons_norm_gradient_run(launch, &(ons_norm_gradient){.dy = launch->inputs[0],
                                                       .x = launch->inputs[1],
                                                       .scale = launch->inputs[2],
                                                       .inverses = launch->inputs[3],
                                                       .dx = launch->outputs[0],
                                                       .dscale = launch->outputs[1]});
}

ONS_KERNELS(cpu, rms_normalization_gradient,
            ONS_KERNEL(rms_normalization_gradient_prepare, rms_normalization_gradient_run))
