/* The gradient of GatherElements, and of TopK's values: zeros, and the cotangents added at the elements that were
 * looked up, line by line in the order of the indices. */
#include "kernels/gather_elements_gradient/gather_elements_gradient.h"
#include "kernels/common/lines.h"

enum { COTANGENT, INDICES };
enum { AXIS, SHAPE };

static ons_status *find_map(const ons_operands *o, ons_line_map *map) {
    const ons_attribute *given = &o->attributes[SHAPE];
    if (given->count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", given->count);
    ons_shape shape = ons_shape_make(given->count, given->ints);
    ONS_TRY_AT(ons_shape_check(&shape), "node '%s'", o->name);
    return ons_line_map_of(o, &shape, INDICES, ons_attribute_int(o, AXIS), map);
}

static ons_status *gather_elements_gradient_infer(ons_operands *o) {
    ons_line_map map;
    ONS_TRY(find_map(o, &map));
    if (!ons_shape_equal(&o->inputs[COTANGENT].shape, &map.indices))
        return ons_node_error(o, "the cotangent does not have the shape of what was looked up");
    o->outputs[0] = ons_type_make(o->inputs[COTANGENT].dtype, map.data);
    return NULL;
}

static ons_cost gather_elements_gradient_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[COTANGENT]), ons_operand_bytes(o)};
}

static void gather_elements_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                               void *const *outputs) {
    ons_line_map map = {0};
    ons_status_free(find_map(o, &map)); /* has passed inference */
    double *out = outputs[0];
    memset(out, 0, (size_t)ons_elements(&o->outputs[0]) * sizeof *out);
    for (int64_t i = 0, n = ons_elements(&o->inputs[COTANGENT]); i < n; ++i) {
        int64_t to = ons_line_target(&map, i, ((const int64_t *)inputs[INDICES])[i]);
        if (to >= 0) out[to] += ((const double *)inputs[COTANGENT])[i];
    }
}

static ons_status *gather_elements_gradient_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(ons_prepare_state(p, sizeof(ons_gather_elements_gradient), &memory));
    ons_gather_elements_gradient *s = memory;
    s->bytes = ons_type_dense_bytes(&p->operands->outputs[0]);
    return find_map(p->operands, &s->map);
}

static void gather_elements_gradient_run(const ons_launch *launch) {
    const ons_gather_elements_gradient *s = launch->state;
    const float *cotangent = launch->inputs[COTANGENT];
    float *out = launch->outputs[0];
    ons_zero_bytes(out, s->bytes);
#pragma omp parallel for schedule(static) if (ons_lines_parallel(&s->map))
    for (int64_t task = 0; task < s->map.tasks; ++task) {
        ons_line_block block;
        ons_line_begin(&s->map, task, &block);
        for (int64_t step = 0; step < s->map.steps; ++step) {
            ons_line_step(&s->map, launch->inputs[INDICES], step, &block, NULL);
            for (int64_t i = 0; i < block.count; ++i)
                if (block.targets[i] >= 0) out[block.targets[i]] += cotangent[block.first + i];
        }
    }
}

#define OF_DATA(AXIS, ...) .settings = {ONS_SET_INT("axis", AXIS), ONS_SET_INTS("shape", __VA_ARGS__)}

static const ons_case gather_elements_gradient_cases[] = {
    {.name = "rows",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, -5, 4, 3, 4)},
     OF_DATA(0, 5, 4),
     .tolerance = 1e-6,
     .flops = 12},
    {.name = "columns",
     .inputs = {ONS_F32(3, 9), ONS_RANDOM(ONS_INT32, 0, 5, 3, 9)},
     OF_DATA(-1, 3, 6),
     .tolerance = 1e-6,
     .flops = 27},
    {.name = "fewer",
     .inputs = {ONS_F32(2, 6, 3), ONS_RANDOM(ONS_INT64, 0, 4, 2, 6, 3)},
     OF_DATA(1, 3, 5, 4),
     .tolerance = 1e-6,
     .flops = 36},
    {.name = "none", .inputs = {ONS_F32(0, 4), ONS_RANDOM(ONS_INT64, 0, 4, 0, 4)}, OF_DATA(0, 5, 4)},
    {.name = "threads",
     .inputs = {ONS_F32(40, 33, 70), ONS_RANDOM(ONS_INT64, 0, 9, 40, 33, 70)},
     OF_DATA(1, 40, 10, 70),
     .tolerance = 1e-5,
     .flops = 92400},
    {.name = "misfit",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 4, 2, 4)},
     OF_DATA(0, 5, 4),
     .error = "looked up"},
    {.name = "large",
     .inputs = {ONS_F32(64, 64, 196), ONS_RANDOM(ONS_INT64, 0, 255, 64, 64, 196)},
     OF_DATA(1, 64, 256, 196),
     .flops = 802816,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(gather_elements_gradient, "GatherElementsGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0), ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(gather_elements_gradient_infer), ONS_COST(gather_elements_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(gather_elements_gradient_reference),
                    ONS_CPU_KERNEL(gather_elements_gradient_prepare, gather_elements_gradient_run),
                    ONS_CUDA_KERNEL(gather_elements_gradient_prepare, ons_cuda_gather_elements_gradient),
                    gather_elements_gradient_cases);
