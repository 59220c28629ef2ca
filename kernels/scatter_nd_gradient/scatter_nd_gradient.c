/* The gradient of ScatterND for data and updates (see kernels/common/scatter_shares.h). Without a reduction it is the
 * data's alone; the updates' is GatherND. */
#include "kernels/scatter_nd_gradient/scatter_nd_gradient.h"
#include "kernels/common/lines.h"
#include "kernels/common/nd_lookup.h"
#include "kernels/common/scatter_shares.h"

enum { REDUCTION };

static ons_status *find_lookup(const ons_operands *o, ons_nd_lookup *lookup, uint32_t *tail) {
    return ons_nd_lookup_of(o, &o->inputs[ONS_SHARES_COTANGENT].shape, 0, lookup, tail);
}

static ons_status *scatter_nd_gradient_infer(ons_operands *o) {
    ons_nd_lookup lookup;
    uint32_t tail;
    ons_shape shape;
    ONS_TRY(find_lookup(o, &lookup, &tail));
    ONS_TRY(ons_nd_lookup_shape(o, &o->inputs[ONS_SHARES_COTANGENT].shape, tail, &shape));
    ons_type updates = ons_type_make(o->inputs[ONS_SHARES_COTANGENT].dtype, shape);
    return ons_shares_infer(o, ons_scatter_mode_of(ons_attribute_string(o, REDUCTION)), &updates);
}

static int64_t target_of(const void *map, const int64_t *indices, int64_t update) {
    const ons_nd_lookup *lookup = map;
    int64_t bad = 0, to = ons_nd_lookup_at(lookup, ONS_INT64, indices, update / lookup->slice, &bad);
    return to < 0 ? -1 : to + update % lookup->slice;
}

static void scatter_nd_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    ons_nd_lookup lookup = {0};
    uint32_t tail;
    ons_status_free(find_lookup(o, &lookup, &tail)); /* has passed inference */
    ons_shares_reference(o, ons_scatter_mode_of(ons_attribute_string(o, REDUCTION)), inputs, outputs,
                         lookup.tuples * lookup.slice, &lookup, target_of);
}

static ons_status *scatter_nd_gradient_prepare(ons_prepare *p) {
    void *memory;
    uint32_t tail;
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(ons_prepare_state(p, sizeof(ons_scatter_nd_gradient), &memory));
    ons_scatter_nd_gradient *s = memory;
    s->mode = ons_scatter_mode_of(ons_attribute_string(p->operands, REDUCTION));
    s->elements = ons_elements(&p->operands->inputs[ONS_SHARES_COTANGENT]);
    p->scratch_bytes = ons_scatter_scratch(s->mode, s->elements);
    return find_lookup(p->operands, &s->lookup, &tail);
}

/* Element `to` of the data and update `u`: the update is noted, or has its share written (`d_updates` not NULL), or (no
 * reduction) takes the data's. */
static void meet(const ons_scatter_shares *shares, int64_t to, int64_t u, float *d_data, float *d_updates) {
    if (shares->mode == ONS_SCATTER_NONE)
        d_data[to] = 0;
    else if (d_updates != NULL)
        d_updates[u] = ons_shares_of(shares, shares->updates[u], to);
    else
        ons_shares_note(shares, u, to);
}

static void walk(const ons_scatter_nd_gradient *s, const void *indices, const ons_scatter_shares *shares, float *d_data,
                 float *d_updates) {
    const ons_nd_lookup *lookup = &s->lookup;
    int64_t tasks = ons_nd_pieces(lookup);
#pragma omp parallel for schedule(static) if (lookup->tuples * lookup->slice > ONS_PARALLEL_GRAIN)
    for (int64_t number = 0; number < tasks; ++number) {
        ons_nd_task task = ons_nd_task_of(lookup, number);
        for (int64_t i = task.first, bad = 0; i < task.last; ++i) {
            int64_t to = ons_nd_lookup_at(lookup, lookup->index_dtype, indices, i, &bad);
            int64_t u = i * lookup->slice + task.begin;
            if (to < 0 && d_updates != NULL) memset(d_updates + u, 0, (size_t)task.count * sizeof *d_updates);
            for (int64_t k = 0; to >= 0 && k < task.count; ++k)
                meet(shares, to + task.begin + k, u + k, d_data, d_updates);
        }
    }
}

static void scatter_nd_gradient_run(const ons_launch *launch) {
    const ons_scatter_nd_gradient *s = launch->state;
    const void *const *in = launch->inputs;
    const void *indices = in[ONS_SHARES_INDICES];
    float *d_data = launch->outputs[0], *counts = launch->scratch;
    ons_scatter_shares shares = {.mode = s->mode};
    if (s->mode == ONS_SCATTER_NONE) {
        if (d_data == NULL) return;
        ons_copy_bytes(d_data, in[ONS_SHARES_COTANGENT], s->elements * (int64_t)sizeof(float));
        walk(s, indices, &shares, d_data, NULL);
        return;
    }
    shares = (ons_scatter_shares){
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

static const ons_case scatter_nd_gradient_cases[] = {
    {.name = "none", .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, -5, 4, 3, 1)}},
    {.name = "mul",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 6, 1), THIRDS(3, 4), THIRDS(6, 4), ONS_F32(3, 4)},
     REDUCED("mul"),
     .outputs = 2,
     .tolerance = 1e-6},
    {.name = "max",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT32, -3, 2, 6, 2), THIRDS(3, 4), THIRDS(6), THIRDS(3, 4)},
     REDUCED("max"),
     .outputs = 2,
     .tolerance = 1e-6},
    {.name = "threads",
     .inputs = {ONS_F32(4, 900), ONS_RANDOM(ONS_INT64, 0, 3, 20, 1), THIRDS(4, 900), THIRDS(20, 900), THIRDS(4, 900)},
     REDUCED("min"),
     .outputs = 2,
     .tolerance = 1e-6},
    {.name = "no_data", .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, 0, 4, 3, 1)}, REDUCED("max"), .error = "fit"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(scatter_nd_gradient, "ScatterNDGradient", ONS_INTERNAL, ONS_ARITY(2, 5, 1, 2),
                    ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("reduction", "none")), ONS_INFER(scatter_nd_gradient_infer),
                    ONS_COST(ons_cost_copy), ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(scatter_nd_gradient_reference),
                    ONS_CPU_KERNEL(scatter_nd_gradient_prepare, scatter_nd_gradient_run),
                    ONS_CUDA_KERNEL(scatter_nd_gradient_prepare, ons_cuda_scatter_nd_gradient),
                    scatter_nd_gradient_cases);
