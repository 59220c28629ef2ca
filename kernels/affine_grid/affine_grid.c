/* AffineGrid: the places (x, y, or x, y, z) that an affine map gives to the positions of an image or a volume, for
 * GridSample: a product of the positions, which are constants, with the map. */
#include "kernels/common/operator/expand.h"

enum { THETA, SIZE };

enum { ALIGN_CORNERS };

/* Batch, channels, then the spatial dims. */
static ons_status *find_size(const ons_operands *o, int64_t size[static ONS_INTEGERS_MAX], uint32_t *dims) {
    const ons_shape *theta = &o->inputs[THETA].shape;
    uint32_t count;
    char text[ONS_TYPE_TEXT];
    ONS_TRY(ons_need_float(o, THETA));
    ONS_TRY(ons_constant_integers(o, SIZE, size, &count));
    if (count != 4 && count != 5) return ons_node_error(o, "a size of %u numbers; 4 or 5 are possible", count);
    *dims = count - 2;
    ons_shape all = ons_shape_make(count, size);
    ONS_TRY_AT(ons_shape_check(&all), "node '%s'", o->name);
    if (theta->rank != 3 || theta->dims[0] != size[0] || theta->dims[1] != *dims || theta->dims[2] != *dims + 1)
        return ons_node_error(o, "theta is %s, which does not fit the size", ons_type_print(&o->inputs[THETA], text));
    return NULL;
}

static ons_status *affine_grid_infer(ons_operands *o) {
    int64_t size[ONS_INTEGERS_MAX];
    uint32_t dims;
    ONS_TRY(find_size(o, size, &dims));
    ons_shape shape = {.rank = dims + 2, .dims = {size[0]}};
    for (uint32_t i = 0; i < dims; ++i) shape.dims[1 + i] = size[2 + i];
    shape.dims[dims + 1] = dims;
    o->outputs[0] = ons_type_make(o->inputs[THETA].dtype, shape);
    return NULL;
}

static ons_cost affine_grid_cost(const ons_operands *o) {
    double terms = (double)o->inputs[THETA].shape.dims[2];
    return (ons_cost){2 * terms * (double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

/* Between -1 and 1: at the middles of the elements, or from the first one's to the last one's. */
static double coordinate(bool align_corners, int64_t index, int64_t length) {
    if (!align_corners) return (2 * (double)index + 1) / (double)length - 1;
    return length > 1 ? 2 * (double)index / (double)(length - 1) - 1 : 0;
}

/* x, y, (z,) 1 of position `number`. */
static void find_position(const ons_operands *o, const int64_t *lengths, uint32_t dims, int64_t number,
                          double *position) {
    for (uint32_t i = 0; i < dims; ++i) { /* x is the last axis */
        int64_t length = lengths[dims - 1 - i];
        position[i] = coordinate(ons_attribute_int(o, ALIGN_CORNERS) != 0, number % length, length);
        number /= length;
    }
    position[dims] = 1;
}

static ons_status *affine_grid_expand(ons_replacement *m) {
    const ons_operands *o = m->operands;
    int64_t size[ONS_INTEGERS_MAX], order[] = {0, 2, 1};
    uint32_t dims;
    ons_resolved(find_size(o, size, &dims));
    const ons_shape *result = &o->outputs[0].shape;
    int64_t count = ons_shape_span(result, 1, dims + 1);
    double *positions;
    ONS_NEW(positions, m->builder->graph->arena, (size_t)count * (dims + 1) + 1);
    for (int64_t i = 0; i < count; ++i) find_position(o, size + 2, dims, i, positions + i * (dims + 1));
    ons_type type = ons_type_make(o->inputs[THETA].dtype, (ons_shape){2, {count, dims + 1}});
    ons_value_id base = ons_build_constant(m->builder, o->name, &type, positions);
    ons_value_id places = ons_expand2(m, &ons_op_matmul, base, ons_expand_transpose(m, m->inputs[THETA], 3, order));
    return ons_expand_finish(m, ons_expand_reshape(m, places, result->rank, result->dims));
}

static void affine_grid_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    int64_t size[ONS_INTEGERS_MAX];
    uint32_t dims = 0;
    ons_resolved(find_size(o, size, &dims));
    if (dims == 0) return;
    const double *theta = inputs[THETA];
    double *grid = outputs[0], position[4];
    int64_t points = ons_elements(&o->outputs[0]) / dims, plane = size[0] > 0 ? points / size[0] : 0;
    if (plane == 0) return;
    for (int64_t i = 0; i < points; ++i) {
        find_position(o, size + 2, dims, i % plane, position);
        for (uint32_t row = 0; row < dims; ++row) {
            double sum = 0;
            for (uint32_t k = 0; k <= dims; ++k) sum += theta[(i / plane * dims + row) * (dims + 1) + k] * position[k];
            grid[i * dims + row] = sum;
        }
    }
}

ONS_DEFINE_EXPANSION(affine_grid, "AffineGrid", ONS_ONNX(20, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                     ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("align_corners", 0)), affine_grid_infer, affine_grid_cost,
                     ONS_INPUT_BIT(THETA), affine_grid_expand, affine_grid_reference);
