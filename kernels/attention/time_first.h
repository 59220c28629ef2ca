/* Transposes of samples and time around attention and its layers. */
#ifndef ONSTAGE_KERNELS_ATTENTION_TIME_FIRST_H
#define ONSTAGE_KERNELS_ATTENTION_TIME_FIRST_H

#include "graph/passes/fuse.h"

/* For patterns that name a Transpose `t` of `x`, the layer `p` over that, its result `v` as Attention reads it. */
ons_value_id ons_attention_untranspose_operand(ons_match *match);
/* For patterns with a Transpose as their root that name the layer `p` in front of it, and its Attention `a`. */
ons_value_id ons_attention_untranspose_result(ons_match *match);

#endif
