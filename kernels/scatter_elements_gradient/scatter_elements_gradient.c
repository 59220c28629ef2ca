/* The gradient of ScatterElements for data and updates (see kernels/common/scatter_shares.h). Without a reduction it is
 * the data's alone; the updates' is GatherElements. */
#include "kernels/scatter_elements_gradient/scatter_elements_gradient.h"
#include "kernels/common/lines.h"
#include "kernels/common/scatter_shares.h"

enum { AXIS, REDUCTION };

static ons_status *find_map(const ons_operands *o, ons_line_map *map) {
    return ons_line_map_of(o, &o->inputs[ONS_SHARES_COTANGENT].shape, ONS_SHARES_INDICES, ons_attribute_int(o, AXIS),
                           map);
}

static ons_status *scatter_elements_gradient_infer(ons_operands *o) {
    ons_line_map map;
    ONS_TRY(find_map(o, &map));
    ons_type updates = ons_type_make(o->inputs[ONS_SHARES_COTANGENT].dtype, map.indices);
    return ons_shares_infer(o, ons_scatter_mode_of(ons_attribute_string(o, REDUCTION)), &updates);
}

static int64_t target_of(const void *map, const int64_t *indices, int64_t update) {
    return ons_line_target(map, update, indices[update]);
}

static void scatter_elements_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                                void *const *outputs) {
    ons_line_map map = {0};
    ons_status_free(find_map(o, &map)); /* has passed inference */
    ons_shares_reference(o, ons_scatter_mode_of(ons_attribute_string(o, REDUCTION)), inputs, outputs,
                         ons_elements(&o->inputs[ONS_SHARES_INDICES]), &map, target_of);
}

static ons_status *scatter_elements_gradient_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(ons_prepare_state(p, sizeof(ons_scatter_elements_gradient), &memory));
    ons_scatter_elements_gradient *s = memory;
    s->mode = ons_scatter_mode_of(ons_attribute_string(p->operands, REDUCTION));
    s->elements = ons_elements(&p->operands->inputs[ONS_SHARES_COTANGENT]);
    p->scratch_bytes = ons_scatter_scratch(s->mode, s->elements);
    return find_map(p->operands, &s->map);
}

/* Every update is noted, or has its share written (`d_updates` not NULL), or (no reduction) takes the data's. */
static void walk(const ons_scatter_elements_gradient *s, const void *indices, const ons_scatter_shares *shares,
                 float *d_data, float *d_updates) {
#pragma omp parallel for schedule(static) if (ons_lines_parallel(&s->map))
    for (int64_t task = 0; task < s->map.tasks; ++task) {
        ons_line_block block;
        ons_line_begin(&s->map, task, &block);
        for (int64_t step = 0; step < s->map.steps; ++step) {
            ons_line_step(&s->map, indices, step, &block, NULL);
            for (int64_t i = 0; i < block.count; ++i) {
                int64_t to = block.targets[i], u = block.first + i;
                if (s->mode == ONS_SCATTER_NONE) {
                    if (to >= 0) d_data[to] = 0;
                } else if (d_updates != NULL) {
                    d_updates[u] = to < 0 ? 0 : ons_shares_of(shares, shares->updates[u], to);
                } else if (to >= 0) {
                    ons_shares_note(shares, u, to);
                }
            }
        }
    }
}

static void scatter_elements_gradient_run(const ons_launch *launch) {
    const ons_scatter_elements_gradient *s = launch->state;
    const void *const *in = launch->inputs;
    const void *indices = in[ONS_SHARES_INDICES];
    float *d_data = launch->outputs[0];
    if (s->mode == ONS_SCATTER_NONE) {
        if (d_data == NULL) return;
        if (d_data != in[ONS_SHARES_COTANGENT])
            ons_copy_bytes(d_data, in[ONS_SHARES_COTANGENT], s->elements * (int64_t)sizeof(float));
        walk(s, indices, NULL, d_data, NULL);
        return;
    }
    float *counts = launch->scratch;
    ons_scatter_shares shares = {
        s->mode, in[ONS_SHARES_COTANGENT], in[ONS_SHARES_DATA], in[ONS_SHARES_UPDATES], in[ONS_SHARES_RESULT],
        counts,  counts + s->elements};
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < s->elements; ++i) ons_shares_begin(&shares, i);
    walk(s, indices, &shares, NULL, NULL);
    if (launch->outputs[1] != NULL) walk(s, indices, &shares, NULL, launch->outputs[1]);
    if (d_data == NULL) return;
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < s->elements; ++i) d_data[i] = ons_shares_of(&shares, shares.data[i], i);
}

#define REDUCED(NAME) .settings = {ONS_SET_STRING("reduction", NAME)}
#define THIRDS(...)                                                                                                    \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = ONS_DIMS(__VA_ARGS__), .value_count = 3, .values = { 0.5, 2, 0 }                \
    }

static const ons_case scatter_elements_gradient_cases[] = {
    {.name = "none", .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, -5, 4, 3, 4)}},
    {.name = "mul",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 6, 4), THIRDS(3, 4), THIRDS(6, 4), ONS_F32(3, 4)},
     REDUCED("mul"),
     .outputs = 2,
     .tolerance = 1e-6},
    {.name = "max",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 6, 4), THIRDS(3, 4), THIRDS(6, 4), THIRDS(3, 4)},
     REDUCED("max"),
     .outputs = 2,
     .tolerance = 1e-6},
    {.name = "threads",
     .inputs = {ONS_F32(40, 300), ONS_RANDOM(ONS_INT64, 0, 39, 30, 300), THIRDS(40, 300), THIRDS(30, 300),
                THIRDS(40, 300)},
     REDUCED("min"),
     .outputs = 2,
     .tolerance = 1e-6},
    {.name = "no_data", .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, 0, 4, 3, 4)}, REDUCED("max"), .error = "fit"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(scatter_elements_gradient, "ScatterElementsGradient", ONS_INTERNAL, ONS_ARITY(2, 5, 1, 2),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0), ONS_STRING_ATTRIBUTE("reduction", "none")),
                    ONS_INFER(scatter_elements_gradient_infer), ONS_COST(ons_cost_copy),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(scatter_elements_gradient_reference),
                    ONS_CPU_KERNEL(scatter_elements_gradient_prepare, scatter_elements_gradient_run),
                    ONS_CUDA_KERNEL(scatter_elements_gradient_prepare, ons_cuda_scatter_elements_gradient),
                    scatter_elements_gradient_cases);
