/* The gradient of Resize and Upsample: every cotangent goes back to the elements that it was made from, by the
 * transposed maps. Inputs: the cotangent, then Resize's roi, scales and sizes; onstage_shape is what was resized. */
#include "kernels/resampling/resample.h"

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
    ons_resolved(ons_resampling_of_gradient(o, &r));
    return ons_resampling_cost(o, &r);
}

static void resize_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    ons_resampling r;
    ons_resolved(ons_resampling_of_gradient(o, &r));
    ons_axis_map maps[ONS_RANK_MAX];
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : ons_resampling_maps(&r, arena, maps);
    if (status == NULL) ons_axis_map_apply_transposed(r.input.rank, maps, inputs[0], outputs[0]);
    ons_status_free(status); /* a reference cannot report that memory is short */
    ons_arena_free(arena);
}

ONS_DEFINE_OPERATOR(resize_gradient, "ResizeGradient", ONS_INTERNAL, ONS_ARITY(1, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_RESAMPLE_ATTRIBUTES), ONS_INFER(resize_gradient_infer),
                    ONS_COST(resize_gradient_cost), ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_channels_choose_first), ONS_ONE_FORM,
                    ONS_REFERENCE(resize_gradient_reference));
