/* OneHot on the CPU. */
#include "kernels/one_hot/one_hot_node.h"

ons_status *ons_one_hot_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[INDICES].dtype;
    if (dtype != ONS_INT64 && dtype != ONS_INT32 && dtype != ONS_FLOAT32)
        return ons_node_error(p->operands, "no CPU kernel for indices of %s", ons_dtype_name(dtype));
    ons_one_hot *state;
    ONS_NEW_STATE(state, p);
    *state = make_state(p->operands);
    return NULL;
}

static int64_t read_index(ons_dtype dtype, const void *indices, int64_t i) {
    return dtype == ONS_INT64   ? ((const int64_t *)indices)[i]
           : dtype == ONS_INT32 ? ((const int32_t *)indices)[i]
                                : whole(((const float *)indices)[i]);
}

static void one_hot_run(const ons_launch *launch) {
    const ons_one_hot *s = launch->state;
    const char *values = launch->inputs[VALUES];
    char *out = launch->outputs[0];
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t outer = 0; outer < s->outer; ++outer) {
        char *to = out + outer * s->depth * s->inner * (int64_t)s->size;
        for (int64_t i = 0; i < s->depth * s->inner; ++i) memcpy(to + i * (int64_t)s->size, values, s->size);
        for (int64_t i = 0; i < s->inner; ++i) {
            int64_t index = read_index(s->index_dtype, launch->inputs[INDICES], outer * s->inner + i);
            index += index < 0 ? s->depth : 0;
            if (index >= 0 && index < s->depth)
                memcpy(to + (index * s->inner + i) * (int64_t)s->size, values + s->size, s->size);
        }
    }
}

ONS_KERNELS(cpu, one_hot, ONS_KERNEL(ons_one_hot_prepare, one_hot_run))
