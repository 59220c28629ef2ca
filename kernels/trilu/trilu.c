/* Trilu: the upper or lower triangle of each matrix, zeros elsewhere; input 1 moves the diagonal. */
#include "kernels/trilu/trilu.h"
#include "kernels/common/index.h"
#include "kernels/common/kernel.h"

enum { UPPER };

static ons_status *trilu_infer(ons_operands *o) {
    if (o->inputs[0].shape.rank < 2) return ons_node_error(o, "needs matrices, not rank %u", o->inputs[0].shape.rank);
    if (ons_has_input(o, 1) && (o->inputs[1].dtype != ONS_INT64 || ons_elements(&o->inputs[1]) != 1))
        return ons_node_error(o, "the diagonal must be one int64");
    o->outputs[0] = o->inputs[0];
    return NULL;
}

static void trilu_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    const ons_shape *shape = &o->outputs[0].shape;
    int64_t diagonal = inputs[1] == NULL ? 0 : *(const int64_t *)inputs[1], index[ONS_RANK_MAX], zero = 0;
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        ons_unravel(shape, i, index);
        int64_t distance = index[shape->rank - 1] - index[shape->rank - 2];
        bool stays = ons_attribute_int(o, UPPER) != 0 ? distance >= diagonal : distance <= diagonal;
        ons_copy_word(outputs[0], i, stays ? inputs[0] : &zero, stays ? i : 0);
    }
}

static ons_status *trilu_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    const ons_shape *shape = &o->outputs[0].shape;
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_trilu), &memory));
    *(ons_trilu *)memory = (ons_trilu){ons_shape_span(shape, 0, shape->rank - 1), shape->dims[shape->rank - 2],
                                       shape->dims[shape->rank - 1], (int64_t)ons_dtype_size(o->outputs[0].dtype),
                                       ons_attribute_int(o, UPPER) != 0};
    return NULL;
}

static int64_t clamp(int64_t value, int64_t high) { return value < 0 ? 0 : value > high ? high : value; }

static void trilu_run(const ons_launch *launch) {
    const ons_trilu *s = launch->state;
    const char *in = launch->inputs[0];
    char *out = launch->outputs[0];
    int64_t diagonal = launch->inputs[1] == NULL ? 0 : *(const int64_t *)launch->inputs[1];
    diagonal = diagonal < -s->height ? -s->height : diagonal > s->width ? s->width : diagonal;
#pragma omp parallel for schedule(static) if (s->rows * s->width > ONS_PARALLEL_GRAIN)
    for (int64_t row = 0; row < s->rows; ++row) {
        int64_t edge = row % s->height + diagonal, begin = s->upper ? clamp(edge, s->width) : 0;
        int64_t end = s->upper ? s->width : clamp(edge + 1, s->width);
        const char *from = in + row * s->width * s->size;
        char *to = out + row * s->width * s->size;
        if (to != from) memcpy(to + begin * s->size, from + begin * s->size, (size_t)((end - begin) * s->size));
        memset(to, 0, (size_t)(begin * s->size));
        memset(to + end * s->size, 0, (size_t)((s->width - end) * s->size));
    }
}

static ons_status *trilu_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build(g->builder, &ons_op_trilu, ONS_IN(g->cotangents[0], ons_gradient_input(g, 1)),
                                ONS_WITH(ONS_AT_INT(UPPER, ons_attribute_int(g->operands, UPPER))));
    return NULL;
}

#define LOWER .settings = {ONS_SET_INT("upper", 0)}

static const ons_case trilu_cases[] = {
    {.name = "upper", .inputs = {ONS_F32(4, 5)}},
    {.name = "lower", .inputs = {ONS_F32(3, 5, 4)}, LOWER},
    {.name = "above", .inputs = {ONS_F32(5, 5), ONS_I64_SCALAR(2)}},
    {.name = "below", .inputs = {ONS_F32(5, 6), ONS_I64_SCALAR(-2)}, LOWER},
    {.name = "far", .inputs = {ONS_F32(3, 4), ONS_I64_SCALAR(99)}},
    {.name = "by_data", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, -2, 2)}},
    {.name = "booleans", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 6, 6)}, LOWER},
    {.name = "threads", .inputs = {ONS_F32(9, 50, 60)}, LOWER},
    {.name = "vector", .inputs = {ONS_F32(4)}, .error = "needs matrices"},
    {.name = "large", .inputs = {ONS_F32(96, 256, 256)}, LOWER, .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(trilu, "Trilu", ONS_ONNX(14, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("upper", 1)), ONS_INFER(trilu_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(trilu_gradient, ONS_INPUT_BIT(0)), ONS_SAVES(ONS_INPUT_BIT(1), 0),
                    ONS_ANY_PRECISION_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(trilu_reference), ONS_CPU_KERNEL(trilu_prepare, trilu_run),
                    ONS_CUDA_KERNEL(trilu_prepare, ons_cuda_trilu), trilu_cases);
