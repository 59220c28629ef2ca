/* DepthToSpace: channels become blocks of pixels. */
#include "kernels/depth_to_space/depth_to_space.h"

#include "kernels/common/layout/channels.h"
#include "kernels/depth_to_space/depth_space.h"
#include "kernels/operators.h"

static ons_status *depth_to_space_infer(ons_operands *o) {
    int64_t block = ons_attribute_int(o, BLOCKSIZE);
    ONS_TRY(ons_depth_space_check_mode(o, MODE));
    if (o->inputs[0].shape.rank != 4 || block < 1 || block > 1024 || o->inputs[0].shape.dims[1] % (block * block) != 0)
        return ons_node_error(o, "needs four axes and channels that divide by the block's area");
    o->outputs[0] = o->inputs[0];
    o->outputs[0].shape.dims[1] /= block * block;
    return ons_depth_space_grow(o, 2, block, ons_depth_space_grow(o, 3, block, NULL));
}

static void depth_to_space_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    ons_depth_space_reference(&o->inputs[0].shape, ons_attribute_int(o, BLOCKSIZE), is_crd(o), true, inputs[0],
                              outputs[0]);
}

static ons_status *depth_to_space_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build(g->builder, &ons_op_space_to_depth, ONS_IN(g->cotangents[0]),
                                ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, BLOCKSIZE)),
                                         ONS_AT_STRING(1, ons_attribute_string(g->operands, MODE))));
    return NULL;
}

ONS_DEFINE_OPERATOR(depth_to_space, "DepthToSpace", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("blocksize", ONS_ATTRIBUTE_INT),
                                   ONS_STRING_ATTRIBUTE("mode", "DCR")),
                    ONS_INFER(depth_to_space_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(depth_to_space_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_channels_keep_first),
                    ONS_ONE_FORM, ONS_REFERENCE(depth_to_space_reference));
