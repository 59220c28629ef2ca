/* DepthToSpace: channels become blocks of pixels. */
#include "kernels/common/depth_space.h"

enum { BLOCKSIZE, MODE };

static bool is_crd(const ons_operands *o) { return strcmp(ons_attribute_string(o, MODE), "CRD") == 0; }

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

static ons_status *depth_to_space_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_strided copy =
        ons_depth_space_copy(o->inputs[0].dtype, &o->inputs[0].shape, ons_attribute_int(o, BLOCKSIZE), is_crd(o), true);
    return ons_strided_prepare(p, &copy);
}

static ons_status *depth_to_space_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build(g->builder, &ons_op_space_to_depth, ONS_IN(g->cotangents[0]),
                                ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, BLOCKSIZE)),
                                         ONS_AT_STRING(1, ons_attribute_string(g->operands, MODE))));
    return NULL;
}

static const ons_case depth_to_space_cases[] = {
    {.name = "dcr", .inputs = {ONS_F32(2, 12, 3, 4)}, .settings = {ONS_SET_INT("blocksize", 2)}},
    {.name = "crd",
     .inputs = {ONS_F32(2, 18, 2, 3)},
     .settings = {ONS_SET_INT("blocksize", 3), ONS_SET_STRING("mode", "CRD")}},
    {.name = "unknown",
     .inputs = {ONS_F32(2, 12, 3, 4)},
     .settings = {ONS_SET_INT("blocksize", 2), ONS_SET_STRING("mode", "RCD")},
     .error = "unknown mode"},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 9, 1, 4, 2, 2)},
     .settings = {ONS_SET_INT("blocksize", 2)}},
    {.name = "empty", .inputs = {ONS_F32(2, 4, 0, 3)}, .settings = {ONS_SET_INT("blocksize", 2)}},
    {.name = "odd", .inputs = {ONS_F32(2, 6, 3, 4)}, .settings = {ONS_SET_INT("blocksize", 2)}, .error = "divide"},
    {.name = "large",
     .inputs = {ONS_F32(8, 64, 64, 64)},
     .settings = {ONS_SET_INT("blocksize", 2), ONS_SET_STRING("mode", "CRD")},
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(depth_to_space, "DepthToSpace", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("blocksize", ONS_ATTRIBUTE_INT),
                                   ONS_STRING_ATTRIBUTE("mode", "DCR")),
                    ONS_INFER(depth_to_space_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(depth_to_space_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(depth_to_space_reference), ONS_CPU_KERNEL(depth_to_space_prepare, ons_strided_run),
                    ONS_CUDA_KERNEL(depth_to_space_prepare, ons_cuda_depth_to_space), depth_to_space_cases);
