/* The gradient of Pad in the modes that continue the tensor: an element collects the cotangents of all places that show
 * it. Inputs: the cotangent, then Pad's pads and axes at their places; onstage_shape is what was padded. */
#include "kernels/common/channels.h"
#include "kernels/common/cuda_separable.h"
#include "kernels/common/padding.h"
#include "kernels/common/separable.h"

enum { SHAPE = ONS_PADDING_MODE + 1 };

static ons_status *padding_of(const ons_operands *o, ons_padding *padding) {
    const ons_attribute *given = &o->attributes[SHAPE];
    if (given->count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", given->count);
    ons_shape shape = ons_shape_make(given->count, given->ints);
    ONS_TRY_AT(ons_shape_check(&shape), "node '%s'", o->name);
    ONS_TRY(ons_padding_of(o, &shape, padding));
    if (!ons_shape_equal(&padding->output, &o->inputs[0].shape))
        return ons_node_error(o, "the cotangent does not have the shape of the padded tensor");
    return NULL;
}

static ons_status *pad_gradient_infer(ons_operands *o) {
    ons_padding padding;
    ONS_TRY(padding_of(o, &padding));
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "a cotangent of type %s", ons_dtype_name(o->inputs[0].dtype));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, padding.input);
    return NULL;
}

/* An addition for each cotangent. */
static ons_cost pad_gradient_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void pad_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    ons_padding padding;
    ons_status_free(padding_of(o, &padding)); /* has passed inference */
    const double *dy = inputs[0];
    double *dx = outputs[0];
    int64_t index[ONS_RANK_MAX];
    memset(dx, 0, (size_t)ons_elements(&o->outputs[0]) * sizeof *dx);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {
        bool inside = true;
        ons_unravel(&padding.output, i, index);
        for (uint32_t axis = 0; axis < padding.output.rank; ++axis) {
            index[axis] = ons_padding_source(&padding, axis, index[axis]);
            inside &= index[axis] >= 0;
        }
        if (inside) dx[ons_ravel(&padding.input, index)] += dy[i];
    }
}

static ons_status *pad_gradient_prepare(ons_prepare *p) {
    ons_padding padding;
    ons_axis_map maps[ONS_RANK_MAX], transposed[ONS_RANK_MAX];
    void *plan;
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(padding_of(p->operands, &padding));
    padding = ons_padding_in_memory(&padding, p->operands->inputs[0].layout);
    ONS_TRY(ons_padding_maps(&padding, p->arena, maps));
    for (uint32_t i = 0; i < padding.input.rank; ++i)
        ONS_TRY(ons_axis_map_transpose(p->arena, &maps[i], &transposed[i]));
    ONS_TRY(ons_prepare_state(p, sizeof(ons_separable), &plan));
    return ons_separable_plan(p, padding.input.rank, transposed, 0, plan);
}

static void pad_gradient_run(const ons_launch *launch) {
    ons_separable_run(launch->state, launch->inputs[0], launch->outputs[0], launch->scratch);
}

static ons_status *pad_gradient_prepare_cuda(ons_prepare *p) {
    ons_padding padding;
    ons_axis_map maps[ONS_RANK_MAX], transposed[ONS_RANK_MAX];
    ONS_TRY(padding_of(p->operands, &padding));
    ONS_TRY(ons_padding_maps(&padding, p->arena, maps));
    for (uint32_t i = 0; i < padding.input.rank; ++i)
        ONS_TRY(ons_axis_map_transpose(p->arena, &maps[i], &transposed[i]));
    return ons_cuda_separable_prepare(p, padding.input.rank, transposed, 0);
}

#define MODE_AND_SHAPE(MODE, ...) .settings = {ONS_SET_STRING("mode", MODE), ONS_SET_INTS("onstage_shape", __VA_ARGS__)}

static const ons_case pad_gradient_cases[] = {
    {.name = "reflect",
     .inputs = {ONS_F32(2, 8, 9), ONS_I64(0, 1, 2, 0, 2, 1)},
     MODE_AND_SHAPE("reflect", 2, 5, 6),
     .tolerance = 1e-6,
     .flops = 144},
    {.name = "edge",
     .inputs = {ONS_F32(2, 8, 9), ONS_I64(0, 1, 2, 0, 2, 1)},
     MODE_AND_SHAPE("edge", 2, 5, 6),
     .tolerance = 1e-6,
     .flops = 144},
    {.name = "wrap",
     .inputs = {ONS_F32(9, 4), ONS_I64(5, 0, 1, -2)},
     MODE_AND_SHAPE("wrap", 3, 6),
     .tolerance = 1e-6,
     .flops = 36},
    {.name = "axes",
     .inputs = {ONS_F32(4, 70, 31), ONS_I64(3, 3), ONS_LEFT_OUT, ONS_I64(1)},
     MODE_AND_SHAPE("reflect", 4, 64, 31),
     .tolerance = 1e-6,
     .flops = 8680},
    {.name = "threads",
     .inputs = {ONS_F32(2, 3, 66, 66), ONS_I64(0, 0, 3, 3, 0, 0, 3, 3)},
     MODE_AND_SHAPE("reflect", 2, 3, 60, 60),
     .tolerance = 1e-6,
     .flops = 26136},
    {.name = "nothing_shown",
     .inputs = {ONS_F32(3, 0), ONS_I64(0, -2, 0, -2)},
     MODE_AND_SHAPE("edge", 3, 4),
     .flops = 0},
    {.name = "misfit",
     .inputs = {ONS_F32(2, 8), ONS_I64(0, 1, 0, 2)},
     MODE_AND_SHAPE("edge", 2, 4),
     .error = "shape of the padded"},
    {.name = "large",
     .inputs = {ONS_F32(32, 64, 58, 58), ONS_I64(0, 0, 1, 1, 0, 0, 1, 1)},
     MODE_AND_SHAPE("reflect", 32, 64, 56, 56),
     .tolerance = 1e-6,
     .flops = 6889472,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(pad_gradient, "PadGradient", ONS_INTERNAL, ONS_ARITY(2, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("mode", "constant"),
                                   ONS_REQUIRED_ATTRIBUTE("onstage_shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(pad_gradient_infer), ONS_COST(pad_gradient_cost), ONS_NOT_DIFFERENTIABLE("a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(ons_channels_choose_first), ONS_ONE_FORM, ONS_REFERENCE(pad_gradient_reference),
                    ONS_CPU_KERNEL(pad_gradient_prepare, pad_gradient_run),
                    ONS_CUDA_KERNEL(pad_gradient_prepare_cuda, ons_cuda_pad_gradient), pad_gradient_cases);
