/* ScatterND: the data with updates put, or added, at the slices that index tuples name. */
#include "kernels/common/nd_lookup.h"
#include "kernels/common/scatter.h"

enum { DATA, INDICES, UPDATES };
enum { REDUCTION };

static ons_status *scatter_nd_infer(ons_operands *o) {
    ons_nd_lookup lookup;
    uint32_t tail;
    ONS_TRY(ons_nd_lookup_of(o, 0, &lookup, &tail));
    if (ons_elements(&o->inputs[UPDATES]) != lookup.tuples * lookup.slice ||
        o->inputs[UPDATES].dtype != o->inputs[DATA].dtype)
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
    ons_status_free(ons_nd_lookup_of(o, 0, &lookup, &tail)); /* has passed inference */
    ons_scatter_mode mode = ons_scatter_mode_of(ons_attribute_string(o, REDUCTION));
    memcpy(outputs[0], inputs[DATA], (size_t)ons_elements(&o->inputs[DATA]) * 8);
    for (int64_t i = 0, bad = 0; i < lookup.tuples; ++i) {
        int64_t to = ons_nd_lookup_at(&lookup, ONS_INT64, inputs[INDICES], i, &bad);
        for (int64_t k = 0; to >= 0 && k < lookup.slice; ++k)
            ons_scatter_word(mode, o->inputs[DATA].dtype, outputs[0], to + k, inputs[UPDATES], i * lookup.slice + k);
    }
}

typedef struct state {
    ons_nd_lookup lookup;
    ons_scatter_mode mode;
    size_t size;
    int64_t bytes;
} state;

static ons_status *scatter_nd_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    void *memory;
    uint32_t tail;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
    s->mode = ons_scatter_mode_of(ons_attribute_string(o, REDUCTION));
    s->size = ons_dtype_size(o->inputs[DATA].dtype);
    s->bytes = ons_type_dense_bytes(&o->inputs[DATA]);
    ONS_TRY(ons_scatter_check(o, s->mode));
    return ons_nd_lookup_of(o, 0, &s->lookup, &tail);
}

/* Updates may meet in one place: one thread, in order. */
static void scatter_nd_run(const ons_launch *launch) {
    const state *s = launch->state;
    const char *updates = launch->inputs[UPDATES];
    char *out = launch->outputs[0];
    if (out != launch->inputs[DATA]) memcpy(out, launch->inputs[DATA], (size_t)s->bytes);
    for (int64_t i = 0; i < s->lookup.tuples; ++i) {
        int64_t bad = 0, to = ons_nd_lookup_at(&s->lookup, s->lookup.index_dtype, launch->inputs[INDICES], i, &bad);
        if (to < 0)
            ons_fault_index(launch, bad, ons_index_at(s->lookup.index_dtype, launch->inputs[INDICES], bad));
        else
            ons_scatter_join(s->mode, s->size, out + (size_t)to * s->size,
                             updates + (size_t)(i * s->lookup.slice) * s->size, s->lookup.slice);
    }
}

static ons_status *scatter_nd_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    ons_scatter_mode mode = ons_scatter_mode_of(ons_attribute_string(o, REDUCTION));
    ons_value_id indices = ons_gradient_input(g, INDICES);
    if (mode != ONS_SCATTER_NONE && mode != ONS_SCATTER_ADD)
        return ons_node_error(o, "no gradient of reduction '%s'; 'none' and 'add' have one",
                              ons_attribute_string(o, REDUCTION));
    if (g->wanted[UPDATES])
        g->gradients[UPDATES] =
            ons_build(g->builder, &ons_op_gather_nd, ONS_IN(g->cotangents[0], indices), ONS_DEFAULTS);
    if (g->wanted[DATA])
        g->gradients[DATA] =
            mode == ONS_SCATTER_ADD
                ? g->cotangents[0]
                : ons_build(g->builder, &ons_op_scatter_nd,
                            ONS_IN(g->cotangents[0], indices, ons_build_zeros(g->builder, &o->inputs[UPDATES])),
                            ONS_DEFAULTS);
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
     .settings = {ONS_SET_STRING("reduction", "max")},
     .no_gradient = true},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_RANDOM(ONS_INT64, 0, 4, 3, 1), ONS_RANDOM(ONS_INT64, -9, 9, 3)}},
    {.name = "misfit", .inputs = {ONS_F32(3, 4), TUPLES(2, 0, 1, 2, 3), ONS_F32(3)}, .error = "do not fit"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(scatter_nd, "ScatterND", ONS_ONNX(11, 22), ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("reduction", "none")), ONS_INFER(scatter_nd_infer),
                    ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(scatter_nd_gradient, ONS_INPUT_BIT(DATA) | ONS_INPUT_BIT(UPDATES)),
                    ONS_SAVES(ONS_INPUT_BIT(INDICES), 0), ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, DATA}),
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(scatter_nd_reference),
                    ONS_CPU_KERNEL(scatter_nd_prepare, scatter_nd_run), ONS_NO_CUDA_KERNEL("this build has no CUDA"),
                    scatter_nd_cases);
