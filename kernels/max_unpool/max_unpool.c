/* MaxUnpool: puts each value where MaxPool found it, zeros elsewhere. The indices count through the tensor that the
 * window's sizes make; a larger output_shape adds zeros at the ends of its dims. */
#include "kernels/max_unpool/max_unpool_node.h"
#include "kernels/operators.h"

#include <string.h>

enum { KERNEL_SHAPE, PADS, STRIDES };

enum { DIM_MAX = 1 << 30 };

static ons_status *read_sizes(const ons_operands *o, uint32_t index, uint32_t count, int64_t least, int64_t *values) {
    const ons_attribute *given = &o->attributes[index];
    const char *name = o->op->attributes[index].name;
    if (given->kind == ONS_ATTRIBUTE_ABSENT) return NULL;
    if (given->count != count)
        return ons_node_error(o, "attribute '%s' has %u numbers where %u are needed", name, given->count, count);
    for (uint32_t i = 0; i < count; ++i) {
        if (given->ints[i] < least || given->ints[i] > DIM_MAX)
            return ons_node_error(o, "attribute '%s' holds %lld, which is out of range", name,
                                  (long long)given->ints[i]);
        values[i] = given->ints[i];
    }
    return NULL;
}

ons_status *ons_max_unpool_find_shapes(const ons_operands *o, ons_shape *made, ons_shape *whole) {
    const ons_shape *x = &o->inputs[0].shape;
    if (x->rank < 3) return ons_node_error(o, "the input needs batch, channels and spatial dimensions");
    if (o->inputs[1].dtype != ONS_INT64 || !ons_shape_equal(&o->inputs[1].shape, x))
        return ons_node_error(o, "the indices must be int64 of the input's shape");
    uint32_t spatial = x->rank - 2;
    int64_t kernel[ONS_RANK_MAX], pads[2 * ONS_RANK_MAX] = {0}, strides[ONS_RANK_MAX];
    for (uint32_t i = 0; i < spatial; ++i) kernel[i] = strides[i] = 1;
    ONS_TRY(read_sizes(o, KERNEL_SHAPE, spatial, 1, kernel));
    ONS_TRY(read_sizes(o, PADS, 2 * spatial, 0, pads));
    ONS_TRY(read_sizes(o, STRIDES, spatial, 1, strides));
    *made = *x;
    for (uint32_t i = 0; i < spatial; ++i) {
        if (x->dims[2 + i] > DIM_MAX) return ons_node_error(o, "a spatial dimension is too large");
        made->dims[2 + i] = (x->dims[2 + i] - 1) * strides[i] + kernel[i] - pads[i] - pads[spatial + i];
        if (made->dims[2 + i] < 0 || x->dims[2 + i] == 0)
            return ons_node_error(o, "spatial dimension %u would have a size of %lld", i, (long long)made->dims[2 + i]);
    }
    ONS_TRY_AT(ons_shape_check(made), "node '%s'", o->name);
    *whole = *made;
    if (!ons_has_input(o, 2)) return NULL;
    int64_t sizes[ONS_INTEGERS_MAX];
    uint32_t count;
    ONS_TRY(ons_constant_integers(o, 2, sizes, &count));
    if (count != x->rank) return ons_node_error(o, "output_shape has %u numbers where %u are needed", count, x->rank);
    for (uint32_t i = 0; i < count; ++i) {
        if (sizes[i] < made->dims[i] || (i < 2 && sizes[i] != made->dims[i]))
            return ons_node_error(o, "output_shape holds %lld where the window makes %lld", (long long)sizes[i],
                                  (long long)made->dims[i]);
        whole->dims[i] = sizes[i];
    }
    ONS_TRY_AT(ons_shape_check(whole), "node '%s'", o->name);
    return NULL;
}

static ons_status *max_unpool_infer(ons_operands *o) {
    ons_shape made, whole;
    ONS_TRY(ons_max_unpool_find_shapes(o, &made, &whole));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, whole);
    return NULL;
}

static void max_unpool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    ons_shape made = {0}, whole = {0};
    ons_resolved(ons_max_unpool_find_shapes(o, &made, &whole));
    const uint64_t *x = inputs[0];
    const int64_t *indices = inputs[1];
    uint64_t *y = outputs[0];
    if (ons_shape_elements(&whole) > 0) memset(y, 0, (size_t)ons_shape_elements(&whole) * sizeof *y);
    for (int64_t i = 0, count = ons_elements(&o->inputs[0]), room = ons_shape_elements(&made); i < count; ++i)
        if (indices[i] >= 0 && indices[i] < room)
            y[place_of(&made, &whole, indices[i])] = x[i];
        else
            ons_reference_fault(step, ONS_MAX_UNPOOL_PROBLEM, i, indices[i]);
}

/* The gradient of a value is that of its place. */
static ons_status *max_unpool_gradient(ons_gradient *g) {
    ons_shape made, whole;
    ons_builder *b = g->builder;
    ons_resolved(ons_max_unpool_find_shapes(g->operands, &made, &whole));
    ons_value_id dy = g->cotangents[0];
    if (!ons_shape_equal(&made, &whole)) {
        int64_t starts[ONS_RANK_MAX] = {0};
        dy =
            ons_build(b, &ons_op_slice,
                      ONS_IN(dy, ons_build_integers(b, starts, made.rank), ons_build_integers(b, made.dims, made.rank)),
                      ONS_DEFAULTS);
    }
    int64_t all = -1;
    ons_value_id flat = ons_build(b, ons_registry_role(b->registry, ONS_ROLE_RESHAPE),
                                  ONS_IN(dy, ons_build_integers(b, &all, 1)), ONS_DEFAULTS);
    g->gradients[0] = ons_build(b, &ons_op_gather, ONS_IN(flat, ons_gradient_input(g, 1)), ONS_DEFAULTS);
    return NULL;
}

ONS_DEFINE_OPERATOR(max_unpool, "MaxUnpool", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(2, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("kernel_shape", ONS_ATTRIBUTE_INTS),
                                   ONS_OPTIONAL_ATTRIBUTE("pads", ONS_ATTRIBUTE_INTS),
                                   ONS_OPTIONAL_ATTRIBUTE("strides", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(max_unpool_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(max_unpool_gradient, ONS_INPUT_BIT(0)), ONS_SAVES(ONS_INPUT_BIT(1), 0),
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(max_unpool_reference));
