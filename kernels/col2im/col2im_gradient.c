/* The gradient of Col2Im: blocks of the cotangent, an image, laid out as columns; zeros where they lie in padding.
 * Inputs: the cotangent, then Col2Im's image and block shapes. */
#include "kernels/col2im/unfold.h"

static ons_status *col2im_gradient_infer(ons_operands *o) {
    ons_unfold u;
    return ons_unfold_of_image(o, &o->inputs[0], &u, &o->outputs[0]);
}

static void col2im_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    ons_unfold u;
    ons_type columns;
    ons_resolved(ons_unfold_of_image(o, &o->inputs[0], &u, &columns));
    const double *image = inputs[0];
    for (int64_t i = 0, n = ons_elements(&columns); i < n; ++i) {
        int64_t row = i / u.positions, at = ons_unfold_pixel(&u, row % u.taps, i % u.positions);
        ((double *)outputs[0])[i] = at < 0 ? 0 : image[row / u.taps * u.pixels + at];
    }
}

ONS_DEFINE_OPERATOR(col2im_gradient, "Col2ImGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_UNFOLD_ATTRIBUTES), ONS_INFER(col2im_gradient_infer), ONS_COST(ons_cost_copy),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(col2im_gradient_reference));
