/* The border of Pad and of its gradient: where each element of the padded tensor comes from. */
#ifndef ONSTAGE_KERNELS_PAD_PADDING_H
#define ONSTAGE_KERNELS_PAD_PADDING_H

#include "kernels/resampling/axis_map.h"

enum { ONS_PADDING_DATA, ONS_PADDING_PADS, ONS_PADDING_VALUE, ONS_PADDING_AXES };
enum { ONS_PADDING_MODE };

typedef enum ons_padding_mode { ONS_PAD_CONSTANT, ONS_PAD_REFLECT, ONS_PAD_EDGE, ONS_PAD_WRAP } ons_padding_mode;

typedef struct ons_padding {
    ons_padding_mode mode;
    ons_shape input, output;
    int64_t before[ONS_RANK_MAX], after[ONS_RANK_MAX];
} ons_padding;

/* From attribute 0 and the constant inputs, for a tensor of that shape. */
ons_status *ons_padding_of(const ons_operands *o, const ons_shape *input, ons_padding *padding);

/* The input's index along an axis that shows at `index` of the result; -1: the constant. */
int64_t ons_padding_source(const ons_padding *padding, uint32_t axis, int64_t index);

/* A padding with its axes in the order of memory, for kernels. */
ons_padding ons_padding_in_memory(const ons_padding *padding, ons_layout layout);

/* The map of every axis. */
ons_status *ons_padding_maps(const ons_padding *padding, ons_arena *arena,
                             ons_axis_map maps[ONS_AT_LEAST(ONS_RANK_MAX)]);

#endif
