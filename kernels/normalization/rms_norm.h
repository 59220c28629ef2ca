/* RMSNormalization under its several names: y = x / √(mean(x²) + epsilon) × scale over an axis and all after it. Every
 * form declares `axis` and `epsilon` first; output 1 is 1 / √(mean(x²) + epsilon) of every row, for the gradient.
 */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_RMS_NORM_H
#define ONSTAGE_KERNELS_NORMALIZATION_RMS_NORM_H

#include "kernels/normalization/norm_rows.h"

enum { ONS_RMS_AXIS, ONS_RMS_EPSILON };

ons_status *ons_rms_norm_infer(ons_operands *o);
ons_cost ons_rms_norm_cost(const ons_operands *o);
void ons_rms_norm_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs);
ons_status *ons_rms_norm_prepare(ons_prepare *p);
void ons_rms_norm_run(const ons_launch *launch);
ons_status *ons_rms_norm_cuda_prepare(ons_prepare *p);

/* By an RMSNormalizationGradient node. The rule reads inputs 0 and 1 and output 1. */
ons_status *ons_rms_norm_gradient(ons_gradient *g);

ons_status *ons_rms_norm_find_norm(const ons_operands *o, ons_layer_norm *norm);

#endif
