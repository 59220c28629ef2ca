#include "kernels/quantization/quantization.h"

#include "graph/small_types.h"

static ons_status *misfit(const ons_operands *o, uint32_t input, const ons_type *x) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    return ons_node_error(o, "scales of %s do not fit a tensor of %s", ons_type_print(&o->inputs[input], left),
                          ons_type_print(x, right));
}

/* Scales of a tensor's own rank: a block of the axis shares one. */
static ons_status *resolve_blocks(const ons_operands *o, const ons_type *x, uint32_t scale, uint32_t axis,
                                  int64_t block, ons_scales *s) {
    const ons_shape *shape = &o->inputs[scale].shape;
    if (block < 0 || shape->rank != x->shape.rank) return misfit(o, scale, x);
    for (uint32_t i = 0; i < shape->rank; ++i)
        if (i != axis && shape->dims[i] != x->shape.dims[i]) return misfit(o, scale, x);
    s->blocked = true;
    s->block = block;
    s->blocks = shape->dims[axis];
    if (s->blocks != s->length / block + (s->length % block != 0)) return misfit(o, scale, x);
    return NULL;
}

bool ons_scales_alike(const ons_shape *a, const ons_shape *b) {
    bool single = a->rank <= 1 && b->rank <= 1 && ons_shape_elements(a) == 1 && ons_shape_elements(b) == 1;
    return single || ons_shape_equal(a, b);
}

ons_status *ons_scales_resolve(const ons_operands *o, const ons_type *x, uint32_t scale, uint32_t zero, int64_t axis,
                               int64_t block, ons_scales *s) {
    const ons_shape *shape = &o->inputs[scale].shape;
    *s = (ons_scales){.elements = ons_elements(x), .inner = 1, .length = 1, .block = 1, .blocks = 1, .count = 1};
    if (zero != ONS_NONE && ons_has_input(o, zero) && !ons_scales_alike(shape, &o->inputs[zero].shape))
        return ons_node_error(o, "scale and zero point differ in shape");
    if (shape->rank == 0 || (shape->rank == 1 && shape->dims[0] == 1 && block == 0)) return NULL;
    uint32_t resolved;
    ONS_TRY(ons_node_axis(o, axis, x->shape.rank, &resolved));
    s->inner = ons_shape_span(&x->shape, resolved + 1, x->shape.rank);
    s->length = x->shape.dims[resolved];
    s->count = ons_shape_elements(shape);
    if (block != 0) return resolve_blocks(o, x, scale, resolved, block, s);
    return shape->rank == 1 && shape->dims[0] == s->length ? NULL : misfit(o, scale, x);
}

bool ons_quantized_range(ons_dtype dtype, double *low, double *high) {
    if (ons_is_small_integer(dtype)) {
        int64_t numbers = INT64_C(1) << ons_small_bits(dtype);
        bool is_signed = dtype == ONS_INT4 || dtype == ONS_INT2;
        *low = is_signed ? -(double)numbers / 2 : 0;
        *high = *low + (double)numbers - 1;
        return true;
    }
    switch (dtype) {
    case ONS_UINT8: *low = 0, *high = 255; return true;
    case ONS_INT8: *low = -128, *high = 127; return true;
    case ONS_UINT16: *low = 0, *high = 65535; return true;
    case ONS_INT16: *low = -32768, *high = 32767; return true;
    default: return false;
    }
}
