/* SpaceToDepth: blocks of pixels become channels. Before opset 28 the only mode was "DCR". */
#include "kernels/space_to_depth/space_to_depth.h"

#include "kernels/common/layout/channels.h"
#include "kernels/depth_to_space/depth_space.h"
#include "kernels/operators.h"

static ons_status *space_to_depth_infer(ons_operands *o) {
    int64_t block = ons_attribute_int(o, BLOCKSIZE);
    ONS_TRY(ons_depth_space_check_mode(o, MODE));
    const ons_shape *input = &o->inputs[0].shape;
    if (input->rank != 4 || block < 1 || block > 1024 || input->dims[2] % block != 0 || input->dims[3] % block != 0)
        return ons_node_error(o, "needs four axes and an image that divides into blocks");
    o->outputs[0] = o->inputs[0];
    o->outputs[0].shape.dims[2] /= block;
    o->outputs[0].shape.dims[3] /= block;
    return ons_depth_space_grow(o, 1, block * block, NULL);
}

static void space_to_depth_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    ons_depth_space_reference(&o->outputs[0].shape, ons_attribute_int(o, BLOCKSIZE), is_crd(o), false, inputs[0],
                              outputs[0]);
}

static ons_status *space_to_depth_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build(g->builder, &ons_op_depth_to_space, ONS_IN(g->cotangents[0]),
                                ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, BLOCKSIZE)),
                                         ONS_AT_STRING(1, ons_attribute_string(g->operands, MODE))));
    return NULL;
}

ONS_DEFINE_OPERATOR(space_to_depth, "SpaceToDepth", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("blocksize", ONS_ATTRIBUTE_INT),
                                   ONS_STRING_ATTRIBUTE("mode", "DCR")),
                    ONS_INFER(space_to_depth_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(space_to_depth_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_channels_keep_first),
                    ONS_ONE_FORM, ONS_REFERENCE(space_to_depth_reference));
