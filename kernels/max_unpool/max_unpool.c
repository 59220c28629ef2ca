/* MaxUnpool: puts each value where MaxPool found it, zeros elsewhere. The indices count through the tensor that the
 * window's sizes make; a larger output_shape adds zeros at the ends of its dims. */
#include <string.h>

#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/max_unpool/max_unpool.h"

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

/* The shape that the indices count through, and the output's. */
static ons_status *find_shapes(const ons_operands *o, ons_shape *made, ons_shape *whole) {
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
    ONS_TRY(find_shapes(o, &made, &whole));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, whole);
    return NULL;
}

/* Where an index of the made shape lies in the whole one. */
static int64_t place_of(const ons_shape *made, const ons_shape *whole, int64_t index) {
    int64_t place = 0, scale = 1;
    for (uint32_t i = made->rank; i-- > 0;) {
        place += index % made->dims[i] * scale;
        scale *= whole->dims[i];
        index /= made->dims[i];
    }
    return place;
}

static void max_unpool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    ons_shape made = {0}, whole = {0};
    ons_status_free(find_shapes(o, &made, &whole));
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

static ons_status *max_unpool_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_max_unpool), &memory));
    ons_max_unpool *s = memory;
    ONS_TRY(find_shapes(o, &s->made, &s->whole));
    s->values = ons_elements(&o->inputs[0]);
    s->room = ons_shape_elements(&s->made);
    s->elements = ons_shape_elements(&s->whole);
    s->planes = s->made.dims[0] * s->made.dims[1];
    s->grows = !ons_shape_equal(&s->made, &s->whole);
    return NULL;
}

/* Values [first, end) whose indices lie in [low, high); returns how many do not. */
static int64_t place_values(const ons_max_unpool *s, const float *x, const int64_t *indices, int64_t first, int64_t end,
                            int64_t low, int64_t high, float *y) {
    int64_t foreign = 0;
    for (int64_t i = first; i < end; ++i) {
        if (indices[i] < low || indices[i] >= high)
            ++foreign;
        else
            y[s->grows ? place_of(&s->made, &s->whole, indices[i]) : indices[i]] = x[i];
    }
    return foreign;
}

/* MaxPool's indices stay in their planes, which threads can share out; others are put down again one by one. */
static void max_unpool_run(const ons_launch *launch) {
    const ons_max_unpool *s = launch->state;
    const float *x = launch->inputs[0];
    const int64_t *indices = launch->inputs[1];
    float *y = launch->outputs[0];
    int64_t foreign = 0, planes = s->planes;
    if (s->values == 0) {
        memset(y, 0, (size_t)s->elements * sizeof *y);
        return;
    }
    int64_t values = s->values / planes, room = s->room / planes, elements = s->elements / planes;
#pragma omp parallel for schedule(static) reduction(+ : foreign) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < planes; ++i) {
        memset(y + i * elements, 0, (size_t)elements * sizeof *y);
        foreign += place_values(s, x, indices, i * values, (i + 1) * values, i * room, (i + 1) * room, y);
    }
    if (foreign == 0) return;
    memset(y, 0, (size_t)s->elements * sizeof *y);
    place_values(s, x, indices, 0, s->values, 0, s->room, y);
    for (int64_t i = 0; i < s->values && launch->fault != NULL && launch->fault->problem == NULL; ++i)
        if (indices[i] < 0 || indices[i] >= s->room)
            *launch->fault = (ons_fault){ONS_MAX_UNPOOL_PROBLEM, i, indices[i]};
}

/* The gradient of a value is that of its place. */
static ons_status *max_unpool_gradient(ons_gradient *g) {
    ons_shape made, whole;
    ons_builder *b = g->builder;
    ONS_TRY(find_shapes(g->operands, &made, &whole));
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

/* Scratch: which value each element of the result takes, as its number from 1. */
static ons_status *max_unpool_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_prepare_like_cpu(p, max_unpool_prepare));
    p->scratch_bytes = (((const ons_max_unpool *)p->state)->elements * (int64_t)sizeof(uint64_t) + 63) / 64 * 64;
    return NULL;
}

static const ons_case max_unpool_cases[] = {
    {.name = "halves",
     .inputs = {ONS_F32(1, 1, 2, 2),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 1, 2, 2), .value_count = 4, .values = {5, 7, 13, 15}}},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .flops = 0},
    {.name = "two_planes",
     .inputs = {ONS_F32(2, 1, 2),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(2, 1, 2), .value_count = 4, .values = {1, 4, 6, 7}}},
     .settings = {ONS_SET_INTS("kernel_shape", 3), ONS_SET_INTS("strides", 2)},
     .flops = 0},
    {.name = "output_shape",
     .inputs = {ONS_F32(1, 1, 2, 2),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 1, 2, 2), .value_count = 4, .values = {5, 7, 13, 15}},
                ONS_I64(1, 1, 5, 5)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .flops = 0},
    {.name = "planes_exchanged",
     .inputs = {ONS_F32(2, 1, 2),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(2, 1, 2), .value_count = 4, .values = {4, 7, 1, 2}}},
     .settings = {ONS_SET_INTS("kernel_shape", 2), ONS_SET_INTS("strides", 2)},
     .flops = 0},
    {.name = "pads",
     .inputs = {ONS_F32(1, 1, 3),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 1, 3), .value_count = 3, .values = {0, 2, 3}}},
     .settings = {ONS_SET_INTS("kernel_shape", 2), ONS_SET_INTS("strides", 2), ONS_SET_INTS("pads", 1, 1)},
     .flops = 0},
    {.name = "empty",
     .inputs = {ONS_F32(0, 1, 3), ONS_RANDOM(ONS_INT64, 0, 0, 0, 1, 3)},
     .settings = {ONS_SET_INTS("kernel_shape", 2)},
     .flops = 0},
    {.name = "outside",
     .inputs = {ONS_F32(1, 1, 3),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 1, 3), .value_count = 3, .values = {0, 2, 99}}},
     .settings = {ONS_SET_INTS("kernel_shape", 2), ONS_SET_INTS("strides", 2)},
     .flops = 0,
     .fault = "an index"},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 56, 56), ONS_RANDOM(ONS_INT64, 0, 12845055, 16, 64, 56, 56)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .flops = 0,
     .benchmark = true},
    {.name = "indices_differ",
     .inputs = {ONS_F32(1, 1, 3), ONS_RANDOM(ONS_INT64, 0, 0, 1, 1, 2)},
     .settings = {ONS_SET_INTS("kernel_shape", 2)},
     .error = "indices"},
    {.name = "output_too_small",
     .inputs = {ONS_F32(1, 1, 3), ONS_RANDOM(ONS_INT64, 0, 0, 1, 1, 3), ONS_I64(1, 1, 3)},
     .settings = {ONS_SET_INTS("kernel_shape", 2)},
     .error = "output_shape"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(max_unpool, "MaxUnpool", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(2, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("kernel_shape", ONS_ATTRIBUTE_INTS),
                                   ONS_OPTIONAL_ATTRIBUTE("pads", ONS_ATTRIBUTE_INTS),
                                   ONS_OPTIONAL_ATTRIBUTE("strides", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(max_unpool_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(max_unpool_gradient, ONS_INPUT_BIT(0)), ONS_SAVES(ONS_INPUT_BIT(1), 0),
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(max_unpool_reference), ONS_CPU_KERNEL(max_unpool_prepare, max_unpool_run),
                    ONS_CUDA_KERNEL(max_unpool_prepare_cuda, ons_cuda_max_unpool), max_unpool_cases);
