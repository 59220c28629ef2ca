/* ArgMin: the index of the smallest element along an axis; of several the first, or the last. */
#include <math.h>

#include "kernels/common/extreme_index.h"

static void arg_min_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    ons_extreme_index_reference(o, false, inputs[0], outputs[0]);
}

/* Rows of one element each (inner = 1) and columns alike: candidates are compared in the order of the axis. */
static void arg_min_run(const ons_launch *launch) {
    const ons_extreme_index *s = launch->state;
    const float *in = launch->inputs[0];
    int64_t *out = launch->outputs[0];
#pragma omp parallel for schedule(static) if (s->outer * s->length * s->inner > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < s->outer * s->inner; ++i) {
        const float *x = in + i / s->inner * s->length * s->inner + i % s->inner;
        float best = x[0];
        int64_t index = 0;
        for (int64_t k = 1; k < s->length; ++k) {
            float next = x[k * s->inner];
            bool better = next < best || (next != next && best == best) ||
                          (s->last && (next == best || (next != next && best != best)));
            best = better ? next : best;
            index = better ? k : index;
        }
        out[i] = index;
    }
}

static const ons_case arg_min_cases[] = {
    {.name = "first_axis", .inputs = {ONS_F32(9, 5)}, .flops = 45},
    {.name = "last_axis",
     .inputs = {ONS_F32(4, 11)},
     .settings = {ONS_SET_INT("axis", -1), ONS_SET_INT("keepdims", 0)},
     .flops = 44},
    {.name = "middle", .inputs = {ONS_F32(3, 5, 4)}, .settings = {ONS_SET_INT("axis", 1)}, .flops = 60},
    {.name = "ties",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 3, .values = {1, 2, 0}}},
     .flops = 6},
    {.name = "last_tie",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 3, .values = {1, 2, 0}}},
     .settings = {ONS_SET_INT("select_last_index", 1)},
     .flops = 6},
    {.name = "not_numbers",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {1, NAN, 2, NAN, 9, -9}}},
     .flops = 6},
    {.name = "last_not_number",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {1, NAN, 2, NAN, 9, -9}}},
     .settings = {ONS_SET_INT("select_last_index", 1)},
     .flops = 6},
    {.name = "bytes", .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 7, 3)}, .flops = 21},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 7)}, .flops = 7},
    {.name = "threads", .inputs = {ONS_F32(300, 99)}, .settings = {ONS_SET_INT("axis", 1)}, .flops = 29700},
    {.name = "nothing", .inputs = {ONS_F32(0)}, .error = "no elements"},
    {.name = "large",
     .inputs = {ONS_F32(4096, 1000)},
     .settings = {ONS_SET_INT("axis", 1)},
     .flops = 4096000,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(arg_min, "ArgMin", ONS_ONNX(1, 22), ONS_ARITY(1, 1, 1, 1), ONS_EXTREME_INDEX_ATTRIBUTES,
                    ONS_INFER(ons_extreme_index_infer), ONS_COST(ons_extreme_index_cost),
                    ONS_NOT_DIFFERENTIABLE("an index does not change gradually"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(arg_min_reference),
                    ONS_CPU_KERNEL(ons_extreme_index_prepare, arg_min_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), arg_min_cases);
