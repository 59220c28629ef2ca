#include "kernels/deform_conv/deformable.h"

static bool has_dims(const ons_type *type, int64_t a, int64_t b, int64_t c, int64_t d) {
    ons_shape shape = {.rank = 4, .dims = {a, b, c, d}};
    return ons_shape_equal(&type->shape, &shape);
}

ons_status *ons_deformable_resolve(const ons_operands *o, const ons_type *x, const ons_type *w, const ons_type *offset,
                                   const ons_type *mask, ons_deformable *d) {
    char text[ONS_TYPE_TEXT];
    int64_t groups = ons_attribute_int(o, ONS_DEFORMABLE_GROUP);
    int64_t offset_groups = ons_attribute_int(o, ONS_DEFORMABLE_OFFSET_GROUP);
    d->has_mask = mask->dtype != ONS_NO_DTYPE;
    if (!ons_dtype_is_float(x->dtype) || w->dtype != x->dtype || offset->dtype != x->dtype ||
        (d->has_mask && mask->dtype != x->dtype))
        return ons_node_error(o, "input, weight, offset and mask must be floats of one type");
    if (x->shape.rank != 4 || w->shape.rank != 4)
        return ons_node_error(o, "input and weight need two spatial dimensions; others are not supported");
    int64_t channels = x->shape.dims[1], outputs = w->shape.dims[0];
    if (groups < 1 || offset_groups < 1 || channels % groups != 0 || outputs % groups != 0 ||
        channels % offset_groups != 0 || channels / groups != w->shape.dims[1])
        return ons_node_error(o, "%lld channels in %lld groups (%lld of offsets) do not fit a weight of %s",
                              (long long)channels, (long long)groups, (long long)offset_groups,
                              ons_type_print(w, text));
    ONS_TRY(ons_window_resolve(o, &x->shape, w->shape.dims + 2, false, &d->window));
    const ons_window *window = &d->window;
    d->batch = x->shape.dims[0];
    d->channels = channels;
    d->outputs = outputs;
    d->groups = groups;
    d->offset_groups = offset_groups;
    d->taps = ons_window_taps(window);
    d->positions = ons_window_outputs(window);
    d->pixels = ons_window_inputs(window);
    if (d->pixels > INT32_MAX) return ons_node_error(o, "the picture is too large");
    if (d->taps > INT32_MAX / offset_groups / 2) return ons_node_error(o, "the kernel is too large");
    if (!has_dims(offset, d->batch, 2 * offset_groups * d->taps, window->output[1], window->output[2]))
        return ons_node_error(o, "the offset %s does not fit an output of %lld × %lld", ons_type_print(offset, text),
                              (long long)window->output[1], (long long)window->output[2]);
    if (d->has_mask && !has_dims(mask, d->batch, offset_groups * d->taps, window->output[1], window->output[2]))
        return ons_node_error(o, "the mask %s does not fit an output of %lld × %lld", ons_type_print(mask, text),
                              (long long)window->output[1], (long long)window->output[2]);
    d->y = ons_type_make(x->dtype, ons_window_output_shape(window, d->batch, outputs));
    ONS_TRY_AT(ons_shape_check(&d->y.shape), "node '%s'", o->name);
    return NULL;
}

double ons_deformable_flops(const ons_deformable *d) {
    int64_t channels = d->channels / d->groups;
    return 2 * (double)ons_elements(&d->y) * (double)channels * (double)d->taps;
}
