/* ScatterND: the data with updates put, or added, at the slices that index tuples name. */
#include "kernels/scatter_nd/scatter_nd.h"
#include "kernels/common/lines.h"
#include "kernels/common/nd_lookup.h"
#include "kernels/common/scatter.h"

enum { DATA, INDICES, UPDATES };
enum { REDUCTION };

static ons_status *find_lookup(const ons_operands *o, ons_nd_lookup *lookup, uint32_t *tail) {
    return ons_nd_lookup_of(o, &o->inputs[DATA].shape, 0, lookup, tail);
}

static ons_status *scatter_nd_infer(ons_operands *o) {
    ons_nd_lookup lookup;
    uint32_t tail;
    ons_shape updates;
    ONS_TRY(find_lookup(o, &lookup, &tail));
    ONS_TRY(ons_nd_lookup_shape(o, &o->inputs[DATA].shape, tail, &updates));
    if (!ons_shape_equal(&o->inputs[UPDATES].shape, &updates) || o->inputs[UPDATES].dtype != o->inputs[DATA].dtype)
        return ons_node_error(o, "data, indices and updates do not fit together");
    if (ons_scatter_mode_of(ons_attribute_string(o, REDUCTION)) == ONS_SCATTER_MODES)
        return ons_node_error(o, "unknown reduction '%s'", ons_attribute_string(o, REDUCTION));
    o->outputs[0] = o->inputs[DATA];
    return NULL;
}

static void scatter_nd_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    ons_nd_lookup lookup = {0};
    uint32_t tail;
    ons_status_free(find_lookup(o, &lookup, &tail)); /* has passed inference */
    ons_scatter_mode mode = ons_scatter_mode_of(ons_attribute_string(o, REDUCTION));
    memcpy(outputs[0], inputs[DATA], (size_t)ons_elements(&o->inputs[DATA]) * 8);
    for (int64_t i = 0; i < lookup.tuples; ++i) {
        int64_t to = ons_nd_lookup_reference(&lookup, step, inputs[INDICES], i);
        for (int64_t k = 0; to >= 0 && k < lookup.slice; ++k)
            ons_scatter_word(mode, o->inputs[DATA].dtype, outputs[0], to + k, inputs[UPDATES], i * lookup.slice + k);
    }
}

static ons_status *scatter_nd_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    void *memory;
    uint32_t tail;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_scatter_nd), &memory));
    ons_scatter_nd *s = memory;
    s->mode = ons_scatter_mode_of(ons_attribute_string(o, REDUCTION));
    s->size = ons_dtype_size(o->inputs[DATA].dtype);
    s->bytes = ons_type_dense_bytes(&o->inputs[DATA]);
    ONS_TRY(ons_scatter_check(o, s->mode));
    return find_lookup(o, &s->lookup, &tail);
}

/* Updates may meet in one place: one thread has a piece of all slices, in order. */
static void scatter_piece(const ons_scatter_nd *s, const ons_launch *launch, int64_t number) {
    ons_nd_task task = ons_nd_task_of(&s->lookup, number);
    const char *updates = launch->inputs[UPDATES];
    char *out = launch->outputs[0];
    ons_dtype dtype = s->lookup.index_dtype;
    for (int64_t i = task.first; i < task.last; ++i) {
        int64_t bad = 0, to = ons_nd_lookup_at(&s->lookup, dtype, launch->inputs[INDICES], i, &bad);
        if (to < 0)
            ons_fault_index(launch, bad, ons_index_at(dtype, launch->inputs[INDICES], bad));
        else
            ons_scatter_join(s->mode, s->size, out + (size_t)(to + task.begin) * s->size,
                             updates + (size_t)(i * s->lookup.slice + task.begin) * s->size, task.count);
    }
}

static void scatter_nd_run(const ons_launch *launch) {
    const ons_scatter_nd *s = launch->state;
    int64_t tasks = ons_nd_pieces(&s->lookup);
    if (launch->outputs[0] != launch->inputs[DATA]) ons_copy_bytes(launch->outputs[0], launch->inputs[DATA], s->bytes);
#pragma omp parallel for schedule(static) if (s->lookup.tuples * s->lookup.slice > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < tasks; ++i) scatter_piece(s, launch, i);
}

/* Without a reduction an element that was replaced has no gradient; where two updates meet, which ONNX leaves open,
 * both get that of the element, as in PyTorch. */
static ons_status *scatter_nd_gradient(ons_gradient *g) {
    const char *reduction = ons_attribute_string(g->operands, REDUCTION);
    ons_scatter_mode mode = ons_scatter_mode_of(reduction);
    ons_setting name = ONS_AT_STRING(REDUCTION, reduction);
    ons_value_id dy = g->cotangents[0], indices = ons_gradient_input(g, INDICES);
    if (mode != ONS_SCATTER_NONE && mode != ONS_SCATTER_ADD) {
        const bool wanted[2] = {g->wanted[DATA], g->wanted[UPDATES]};
        ons_value_id made[2] = {ONS_NONE, ONS_NONE};
        ons_build_node(
            g->builder, &ons_op_scatter_nd_gradient,
            ONS_IN(dy, indices, ons_gradient_input(g, DATA), ons_gradient_input(g, UPDATES), ons_gradient_output(g, 0)),
            ONS_WITH(name), 2, wanted, made);
        g->gradients[DATA] = made[0];
        g->gradients[UPDATES] = made[1];
        return NULL;
    }
    if (g->wanted[UPDATES])
        g->gradients[UPDATES] = ons_build(g->builder, &ons_op_gather_nd, ONS_IN(dy, indices), ONS_DEFAULTS);
    if (g->wanted[DATA])
        g->gradients[DATA] = mode == ONS_SCATTER_ADD ? dy
                                                     : ons_build(g->builder, &ons_op_scatter_nd_gradient,
                                                                 ONS_IN(dy, indices), ONS_WITH(name));
    return NULL;
}

#define TUPLES(ROWS, ...)                                                                                              \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(ROWS, 2), .value_count = 2 * (ROWS), .values = { __VA_ARGS__ }           \
    }

static const ons_case scatter_nd_cases[] = {
    {.name = "elements", .inputs = {ONS_F32(3, 4), TUPLES(3, 0, 1, 2, -1, 1, 0), ONS_F32(3)}},
    {.name = "slices", .inputs = {ONS_F32(3, 4, 5), TUPLES(2, 0, 1, 2, 3), ONS_F32(2, 5)}},
    {.name = "add",
     .inputs = {ONS_F32(4, 5), ONS_RANDOM(ONS_INT64, 0, 3, 7, 1), ONS_F32(7, 5)},
     .settings = {ONS_SET_STRING("reduction", "add")},
     .tolerance = 1e-6},
    {.name = "max",
     .inputs = {ONS_F32(4, 5), ONS_RANDOM(ONS_INT64, 0, 3, 7, 1), ONS_F32(7, 5)},
     .settings = {ONS_SET_STRING("reduction", "max")}},
    {.name = "min",
     .inputs = {ONS_F32(4, 5), ONS_RANDOM(ONS_INT64, -4, 3, 7, 2), ONS_F32(7)},
     .settings = {ONS_SET_STRING("reduction", "min")}},
    {.name = "mul",
     .inputs = {ONS_F32(4, 5), ONS_RANDOM(ONS_INT64, 0, 3, 7, 1), ONS_F32(7, 5)},
     .settings = {ONS_SET_STRING("reduction", "mul")},
     .tolerance = 1e-6},
    {.name = "threads",
     .inputs = {ONS_F32(9, 3000), ONS_RANDOM(ONS_INT64, 0, 8, 20, 1), ONS_F32(20, 3000)},
     .settings = {ONS_SET_STRING("reduction", "add")},
     .tolerance = 1e-6,
     .no_gradient = true},
    {.name = "none", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 0, 1), ONS_F32(0, 4)}},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_RANDOM(ONS_INT64, 0, 4, 3, 1), ONS_RANDOM(ONS_INT64, -9, 9, 3)}},
    {.name = "misfit", .inputs = {ONS_F32(3, 4), TUPLES(2, 0, 1, 2, 3), ONS_F32(3)}, .error = "do not fit"},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(2, 1), .value_count = 2, .values = {0, 3}},
                ONS_F32(2, 4)},
     .settings = {ONS_SET_STRING("reduction", "add")},
     .flops = -1,
     .fault = "index"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(2, 1), .value_count = 2, .values = {0, 3}},
                ONS_RANDOM(ONS_FLOAT64, -1, 1, 2, 4)},
     .settings = {ONS_SET_STRING("reduction", "add")},
     .flops = -1,
     .fault = "index"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(scatter_nd, "ScatterND", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("reduction", "none")), ONS_INFER(scatter_nd_infer),
                    ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(scatter_nd_gradient, ONS_INPUT_BIT(DATA) | ONS_INPUT_BIT(UPDATES)),
                    ONS_SAVES(ONS_INPUT_BIT(DATA) | ONS_INPUT_BIT(INDICES) | ONS_INPUT_BIT(UPDATES), ONS_INPUT_BIT(0)),
                    ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, DATA}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(scatter_nd_reference), ONS_CPU_KERNEL(scatter_nd_prepare, scatter_nd_run),
                    ONS_CUDA_KERNEL(scatter_nd_prepare, ons_cuda_scatter_nd), scatter_nd_cases);
