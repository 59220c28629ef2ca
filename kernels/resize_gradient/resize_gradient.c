/* The gradient of Resize and Upsample: every cotangent goes back to the elements that it was made from, by the
 * transposed maps. Inputs: the cotangent, then Resize's roi, scales and sizes; onstage_shape is what was resized. */
#include "kernels/common/resample.h"

static ons_status *resize_gradient_infer(ons_operands *o) {
    ons_resampling r;
    ONS_TRY(ons_resampling_of_gradient(o, &r));
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "a cotangent of type %s", ons_dtype_name(o->inputs[0].dtype));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, r.input);
    return NULL;
}

static ons_cost resize_gradient_cost(const ons_operands *o) {
    ons_resampling r;
    ons_status_free(ons_resampling_of_gradient(o, &r)); /* has passed inference */
    return ons_resampling_cost(o, &r);
}

static void resize_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    ons_resampling r;
    ons_axis_map maps[ONS_RANK_MAX];
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : ons_resampling_of_gradient(o, &r);
    if (status == NULL) status = ons_resampling_maps(&r, arena, maps);
    if (status == NULL) ons_axis_map_apply_transposed(r.input.rank, maps, inputs[0], outputs[0]);
    ons_status_free(status);
    ons_arena_free(arena);
}

static ons_status *resize_gradient_prepare(ons_prepare *p) {
    ons_resampling r;
    ONS_TRY(ons_resampling_of_gradient(p->operands, &r));
    return ons_resampling_prepare(p, &r, true);
}

#define OF_SHAPE(...) ONS_SET_INTS("onstage_shape", __VA_ARGS__)
static ons_status *resize_gradient_prepare_cuda(ons_prepare *p) {
    ons_resampling r;
    ONS_TRY(ons_resampling_of_gradient(p->operands, &r));
    return ons_cuda_resampling_prepare(p, &r, true);
}

#define LINEAR ONS_SET_STRING("mode", "linear")
#define CUBIC  ONS_SET_STRING("mode", "cubic")

static const ons_case resize_gradient_cases[] = {
    {.name = "nearest",
     .inputs = {ONS_F32(2, 3, 40, 42), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 2)},
     .settings = {OF_SHAPE(2, 3, 20, 21)},
     .tolerance = 1e-6},
    {.name = "linear",
     .inputs = {ONS_F32(2, 3, 40, 70), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 2)},
     .settings = {LINEAR, OF_SHAPE(2, 3, 20, 35)},
     .tolerance = 1e-6,
     .flops = 134400},
    {.name = "sizes",
     .inputs = {ONS_F32(1, 17, 9, 11), ONS_LEFT_OUT, ONS_LEFT_OUT, ONS_I64(1, 17, 9, 11)},
     .settings = {LINEAR, OF_SHAPE(1, 17, 5, 23)},
     .tolerance = 1e-6,
     .flops = 13464},
    {.name = "cubic",
     .inputs = {ONS_F32(1, 2, 15, 15), ONS_LEFT_OUT, ONS_LEFT_OUT, ONS_I64(1, 2, 15, 15)},
     .settings = {CUBIC, OF_SHAPE(1, 2, 5, 23)},
     .tolerance = 2e-6,
     .flops = 7200},
    {.name = "three_dims",
     .inputs = {ONS_F32(1, 2, 6, 7, 8), ONS_LEFT_OUT, ONS_LEFT_OUT, ONS_I64(1, 2, 6, 7, 8)},
     .settings = {LINEAR, OF_SHAPE(1, 2, 3, 4, 5)},
     .tolerance = 1e-6,
     .flops = 8064},
    {.name = "misfit",
     .inputs = {ONS_F32(2, 3, 40, 42), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 2)},
     .settings = {OF_SHAPE(2, 3, 20, 20)},
     .error = "shape of the result"},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 112, 112), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 2)},
     .settings = {LINEAR, OF_SHAPE(16, 64, 56, 56)},
     .tolerance = 1e-6,
     .flops = 102760448,
     .benchmark = true},
    {.name = "large_nearest",
     .inputs = {ONS_F32(16, 64, 112, 112), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 2)},
     .settings = {OF_SHAPE(16, 64, 56, 56)},
     .tolerance = 1e-6,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(resize_gradient, "ResizeGradient", ONS_INTERNAL, ONS_ARITY(1, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_RESAMPLE_ATTRIBUTES), ONS_INFER(resize_gradient_infer),
                    ONS_COST(resize_gradient_cost), ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_channels_choose_first), ONS_ONE_FORM,
                    ONS_REFERENCE(resize_gradient_reference),
                    ONS_CPU_KERNEL(resize_gradient_prepare, ons_resampling_run),
                    ONS_CUDA_KERNEL(resize_gradient_prepare_cuda, ons_cuda_resize_gradient), resize_gradient_cases);
