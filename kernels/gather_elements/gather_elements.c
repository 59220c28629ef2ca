/* GatherElements: element i of the result is the data's element at the same indices, but along one axis at indices[i].
 */
#include "kernels/gather_elements/gather_elements.h"
#include "kernels/common/lines.h"

enum { DATA, INDICES };
enum { AXIS };

static ons_status *find_map(const ons_operands *o, ons_line_map *map) {
    return ons_line_map_of(o, &o->inputs[DATA].shape, INDICES, ons_attribute_int(o, AXIS), map);
}

static ons_status *gather_elements_infer(ons_operands *o) {
    ons_line_map map;
    ONS_TRY(find_map(o, &map));
    o->outputs[0] = ons_type_make(o->inputs[DATA].dtype, map.indices);
    return NULL;
}

static void gather_elements_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    ons_line_map map = {0};
    ons_status_free(find_map(o, &map)); /* has passed inference */
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]), zero = 0; i < n; ++i) {
        int64_t from = ons_line_reference(&map, step, i, ((const int64_t *)inputs[INDICES])[i]);
        ons_copy_word(outputs[0], i, from < 0 ? &zero : inputs[DATA], from < 0 ? 0 : from);
    }
}

static ons_status *gather_elements_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_gather_elements), &memory));
    ons_gather_elements *s = memory;
    s->size = ons_dtype_size(p->operands->inputs[DATA].dtype);
    return find_map(p->operands, &s->map);
}

#define COPY(TYPE)                                                                                                     \
    for (int64_t i = 0; i < b->count; ++i)                                                                             \
    ((TYPE *)out)[b->first + i] = b->targets[i] < 0 ? 0 : ((const TYPE *)data)[b->targets[i]]

static void copy_block(size_t size, const ons_line_block *b, const void *data, void *out) {
    switch (size) {
    case 1: COPY(uint8_t); break;
    case 2: COPY(uint16_t); break;
    case 4: COPY(uint32_t); break;
    default: COPY(uint64_t); break;
    }
}

static void gather_elements_run(const ons_launch *launch) {
    const ons_gather_elements *s = launch->state;
#pragma omp parallel for schedule(static) if (ons_lines_parallel(&s->map))
    for (int64_t task = 0; task < s->map.tasks; ++task) {
        ons_line_block block;
        ons_line_begin(&s->map, task, &block);
        for (int64_t step = 0; step < s->map.steps; ++step) {
            ons_line_step(&s->map, launch->inputs[INDICES], step, &block, launch);
            copy_block(s->size, &block, launch->inputs[DATA], launch->outputs[0]);
        }
    }
}

static ons_status *gather_elements_gradient(ons_gradient *g) {
    const ons_shape *shape = &g->operands->inputs[DATA].shape;
    g->gradients[DATA] = ons_build(
        g->builder, &ons_op_gather_elements_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, INDICES)),
        ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, AXIS)), ONS_AT_INTS(1, shape->rank, shape->dims)));
    return NULL;
}

static const ons_case gather_elements_cases[] = {
    {.name = "rows", .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, -5, 4, 3, 4)}},
    {.name = "columns",
     .inputs = {ONS_F32(3, 6), ONS_RANDOM(ONS_INT64, 0, 5, 3, 2)},
     .settings = {ONS_SET_INT("axis", 1)}},
    {.name = "fewer",
     .inputs = {ONS_F32(3, 5, 4), ONS_RANDOM(ONS_INT32, 0, 4, 2, 6, 3)},
     .settings = {ONS_SET_INT("axis", -2)}},
    {.name = "fewer_axes",
     .inputs = {ONS_F32(3, 5, 2, 4), ONS_RANDOM(ONS_INT32, 0, 4, 2, 6, 1, 3)},
     .settings = {ONS_SET_INT("axis", 1)}},
    {.name = "wide",
     .inputs = {ONS_F32(2, 5, 150), ONS_RANDOM(ONS_INT64, -5, 4, 2, 3, 150)},
     .settings = {ONS_SET_INT("axis", 1)}},
    {.name = "threads",
     .inputs = {ONS_F32(90, 70), ONS_RANDOM(ONS_INT64, 0, 69, 90, 60)},
     .settings = {ONS_SET_INT("axis", 1)}},
    {.name = "long_lines",
     .inputs = {ONS_F32(3, 70), ONS_RANDOM(ONS_INT64, 0, 69, 2, 2000)},
     .settings = {ONS_SET_INT("axis", 1)}},
    {.name = "none", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 0, 4)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_RANDOM(ONS_INT64, 0, 4, 3)}},
    {.name = "bytes", .inputs = {ONS_RANDOM(ONS_UINT8, 0, 9, 5), ONS_RANDOM(ONS_INT64, 0, 4, 3)}},
    {.name = "outside", .inputs = {ONS_F32(3), ONS_I64(3)}, .error = "index 3"},
    {.name = "rank", .inputs = {ONS_F32(3, 2), ONS_I64(1)}, .error = "rank"},
    {.name = "too_long", .inputs = {ONS_F32(3, 2), ONS_RANDOM(ONS_INT64, 0, 2, 3, 3)}, .error = "longer"},
    {.name = "classes",
     .inputs = {ONS_F32(8192, 1000), ONS_RANDOM(ONS_INT64, 0, 999, 8192, 1)},
     .settings = {ONS_SET_INT("axis", 1)},
     .benchmark = true},
    {.name = "large",
     .inputs = {ONS_F32(64, 256, 196), ONS_RANDOM(ONS_INT64, 0, 255, 64, 64, 196)},
     .settings = {ONS_SET_INT("axis", 1)},
     .benchmark = true},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4), {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 2), .value_count = 2, .values = {0, -4}}},
     .flops = -1,
     .fault = "index"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 2), .value_count = 2, .values = {0, -4}}},
     .flops = -1,
     .fault = "index"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(gather_elements, "GatherElements", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0)), ONS_INFER(gather_elements_infer),
                    ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(gather_elements_gradient, ONS_INPUT_BIT(DATA)),
                    ONS_SAVES(ONS_INPUT_BIT(INDICES), 0), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(gather_elements_reference),
                    ONS_CPU_KERNEL(gather_elements_prepare, gather_elements_run),
                    ONS_CUDA_KERNEL(gather_elements_prepare, ons_cuda_gather_elements), gather_elements_cases);
