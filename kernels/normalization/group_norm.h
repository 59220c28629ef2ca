/* What GroupNormalization, InstanceNormalization (a group for each channel) and their gradient share: a sample's
 * channels are cut into groups, and each group is normalised by its own mean and deviation. Saved for the gradient are
 * both, (batch, groups).
 */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_GROUP_NORM_H
#define ONSTAGE_KERNELS_NORMALIZATION_GROUP_NORM_H

#include "kernels/normalization/batch_statistics.h"

typedef struct ons_group_norm {
    ons_channels size;
    int64_t groups, width; /* width: channels of a group */
    bool scale_per_group;  /* scale (and bias) have a number for each group instead of each channel */
} ons_group_norm;

/* Checks x against the number of groups and the scale. */
ons_status *ons_group_norm_of(const ons_operands *o, const ons_type *x, const ons_type *scale, int64_t groups,
                              bool scale_per_group, ons_group_norm *norm);

/* Of the saved mean and inverse deviation. */
ons_type ons_group_norm_saved(const ons_group_norm *norm);

/* Outputs 0 to 2: y, mean, inverse deviation. Inputs x, scale, bias. */
ons_status *ons_group_norm_infer(ons_operands *o, const ons_group_norm *norm);
/* Chooses the layouts of such a node, or of its gradient: ons_layout_rule.choose. */
ons_status *ons_group_norm_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs);
ons_status *ons_group_norm_prepare(ons_prepare *p, const ons_group_norm *norm, double epsilon);
void ons_group_norm_run(const ons_launch *launch);
void ons_group_norm_reference(const ons_operands *o, const ons_group_norm *norm, double epsilon,
                              const void *const *inputs, void *const *outputs);

/* The gradient of either operator by a GroupNormalizationGradient node: its inputs are x, scale, bias, its outputs 1
 * and 2 mean and inverse deviation. */
ons_status *ons_group_norm_build_gradient(ons_gradient *g, const ons_group_norm *norm);

/* Outputs dx, dscale, dbias. Inputs dy, x, scale, mean, inverse deviation. */
ons_status *ons_group_norm_prepare_gradient(ons_prepare *p, const ons_group_norm *norm);
void ons_group_norm_run_gradient(const ons_launch *launch);

#endif
