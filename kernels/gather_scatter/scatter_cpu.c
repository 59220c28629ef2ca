/* What the CPU runs of scatter.h. */
#include "kernels/gather_scatter/scatter.h"

#include <stdlib.h>

void ons_scatter_join(ons_scatter_mode mode, size_t size, char *to, const char *from, int64_t count) {
    if (mode == ONS_SCATTER_NONE) {
        memcpy(to, from, (size_t)count * size);
        return;
    }
    float *a = (float *)to;
    const float *b = (const float *)from;
    switch (mode) {
    case ONS_SCATTER_ADD:
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) a[i] += b[i];
        break;
    case ONS_SCATTER_MUL:
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) a[i] *= b[i];
        break;
    case ONS_SCATTER_MAX:
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) a[i] = b[i] > a[i] || b[i] != b[i] ? b[i] : a[i];
        break;
    default:
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) a[i] = b[i] < a[i] || b[i] != b[i] ? b[i] : a[i];
        break;
    }
}

ons_status *ons_scatter_check(const ons_operands *o, ons_scatter_mode mode) {
    ons_dtype dtype = o->inputs[0].dtype;
    if (mode != ONS_SCATTER_NONE && dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel reduces %s; convert the model to float32", ons_dtype_name(dtype));
    return NULL;
}
