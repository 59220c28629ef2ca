/* Transpose: axis i of the result is axis perm[i] of the input; without perm, all axes in reverse order. */
#include "kernels/common/strided.h"

enum { PERM };

/* Fails unless perm holds every axis once. */
static ons_status *find_permutation(const ons_operands *o, uint32_t perm[static ONS_RANK_MAX]) {
    uint32_t rank = o->inputs[0].shape.rank;
    const ons_attribute *given = &o->attributes[PERM];
    bool used[ONS_RANK_MAX] = {false};
    if (given->kind != ONS_ATTRIBUTE_ABSENT && given->count != rank)
        return ons_node_error(o, "perm has %u entries for a tensor of rank %u", given->count, rank);
    for (uint32_t i = 0; i < rank; ++i) {
        int64_t axis = given->kind == ONS_ATTRIBUTE_ABSENT ? rank - 1 - i : given->ints[i];
        if (!ons_axis_resolve(axis, rank, &perm[i]) || used[perm[i]])
            return ons_node_error(o, "perm is not a permutation of %u axes", rank);
        used[perm[i]] = true;
    }
    return NULL;
}

static ons_status *transpose_infer(ons_operands *o) {
    uint32_t perm[ONS_RANK_MAX];
    ONS_TRY(find_permutation(o, perm));
    o->outputs[0] = o->inputs[0];
    for (uint32_t i = 0; i < o->inputs[0].shape.rank; ++i)
        o->outputs[0].shape.dims[i] = o->inputs[0].shape.dims[perm[i]];
    return NULL;
}

static void transpose_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                void *const *outputs) {
    uint32_t perm[ONS_RANK_MAX];
    ons_status_free(find_permutation(o, perm));
    int64_t index[ONS_RANK_MAX], source[ONS_RANK_MAX];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        ons_unravel(&o->outputs[0].shape, i, index);
        for (uint32_t axis = 0; axis < o->outputs[0].shape.rank; ++axis) source[perm[axis]] = index[axis];
        ons_copy_word(outputs[0], i, inputs[0], ons_ravel(&o->inputs[0].shape, source));
    }
}

static ons_status *transpose_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    uint32_t perm[ONS_RANK_MAX];
    ONS_TRY(find_permutation(o, perm));
    ons_strided copy = ons_strided_dense(o->outputs[0].dtype, &o->outputs[0].shape);
    int64_t strides[ONS_RANK_MAX];
    ons_dense_strides(&o->inputs[0].shape, strides);
    for (uint32_t i = 0; i < copy.rank; ++i) copy.from[i] = strides[perm[i]];
    return ons_strided_prepare(p, &copy);
}

static ons_status *transpose_gradient(ons_gradient *g) {
    uint32_t perm[ONS_RANK_MAX], rank = g->operands->inputs[0].shape.rank;
    int64_t inverse[ONS_RANK_MAX] = {0};
    ONS_TRY(find_permutation(g->operands, perm));
    for (uint32_t i = 0; i < rank; ++i) inverse[perm[i]] = i;
    g->gradients[0] =
        ons_build(g->builder, &ons_op_transpose, ONS_IN(g->cotangents[0]), ONS_WITH(ONS_AT_INTS(PERM, rank, inverse)));
    return NULL;
}

#define PERMUTED(...) .settings = {ONS_SET_INTS("perm", __VA_ARGS__)}

static const ons_case transpose_cases[] = {
    {.name = "reverse", .inputs = {ONS_F32(5, 7, 3)}},
    {.name = "rank0", .inputs = {ONS_F32()}},
    {.name = "rank1", .inputs = {ONS_F32(5)}},
    {.name = "matrix", .inputs = {ONS_F32(67, 45)}, PERMUTED(1, 0)},
    {.name = "batched_matrix", .inputs = {ONS_F32(3, 33, 18)}, PERMUTED(0, 2, 1)},
    {.name = "heads", .inputs = {ONS_F32(2, 9, 3, 16)}, PERMUTED(0, 2, 1, 3)},
    {.name = "keys", .inputs = {ONS_F32(2, 33, 3, 17)}, PERMUTED(0, 2, 3, 1)},
    {.name = "rotated", .inputs = {ONS_F32(2, 3, 4, 5, 6)}, PERMUTED(4, 0, 2, 3, 1)},
    {.name = "identity", .inputs = {ONS_F32(4, 5)}, PERMUTED(0, 1)},
    {.name = "threads", .inputs = {ONS_F32(3, 130, 141)}, PERMUTED(2, 0, 1)},
    {.name = "empty", .inputs = {ONS_F32(3, 0, 2)}, PERMUTED(2, 0, 1)},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5, 20)}},
    {.name = "booleans", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 19, 20)}},
    {.name = "halves", .inputs = {ONS_RANDOM(ONS_FLOAT16, -1, 1, 19, 20)}},
    {.name = "twice", .inputs = {ONS_F32(4, 5)}, PERMUTED(0, 0), .error = "permutation"},
    {.name = "short", .inputs = {ONS_F32(4, 5)}, PERMUTED(0), .error = "entries"},
    {.name = "large_heads", .inputs = {ONS_F32(16, 256, 12, 64)}, PERMUTED(0, 2, 1, 3), .benchmark = true},
    {.name = "large_keys", .inputs = {ONS_F32(16, 256, 12, 64)}, PERMUTED(0, 2, 3, 1), .benchmark = true},
    {.name = "large_matrix", .inputs = {ONS_F32(2048, 3072)}, PERMUTED(1, 0), .benchmark = true},
    {.name = "small_keys", .inputs = {ONS_F32(8, 64, 4, 32)}, PERMUTED(0, 2, 3, 1), .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(transpose, "Transpose", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_OPTIONAL_ATTRIBUTE("perm", ONS_ATTRIBUTE_INTS)), ONS_INFER(transpose_infer),
                    ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(transpose_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_MOVING_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(transpose_reference), ONS_CPU_KERNEL(transpose_prepare, ons_strided_run),
                    ONS_CUDA_KERNEL(transpose_prepare, ons_cuda_transpose), transpose_cases);
