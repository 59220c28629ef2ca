/* Lists of axes and views: what operators that change the shape alone share. */
#ifndef ONSTAGE_KERNELS_COMMON_LAYOUT_AXES_H
#define ONSTAGE_KERNELS_COMMON_LAYOUT_AXES_H

#include "graph/upgrade.h"
#include "kernels/common/layout/index.h"
#include "kernels/common/operator/kernel.h"

/* Marks each listed axis of a tensor of that rank; fails with the node's name where one lies outside or comes twice. */
ons_status *ons_node_axes(const ons_operands *o, const int64_t *axes, uint32_t count, uint32_t rank,
                          bool chosen[ONS_AT_LEAST(ONS_RANK_MAX)]);

/* ---- views: the same elements under another shape */
void ons_view_reference(const ons_operands *o, const ons_step *step, const void *const *inputs, void *const *outputs);
/* Reshapes the cotangent to input 0's shape. */
ons_status *ons_view_gradient(ons_gradient *g);
ons_value_id ons_build_reshape(ons_builder *builder, ons_value_id value, const ons_shape *shape);
/* The value itself where it has the shape already. */
ons_value_id ons_build_with_shape(ons_builder *builder, ons_value_id value, const ons_shape *shape);
#define ONS_VIEW_ALIASES ONS_ALIASES({ONS_ALIAS_VIEW, 0, 0})

/* ---- steps from older opsets: an attribute of that name that became an input */
ons_status *ons_upgrade_axes_to_input_1(ons_upgrade *u);

#endif
