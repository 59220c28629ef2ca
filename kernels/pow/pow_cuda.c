/* Pow on CUDA: what the host works out. */
#include <math.h>

#include "kernels/common/elementwise/cuda_elementwise.h"

/* Pairs of types that pow.cu has. */
static bool has_cuda_kernel(ons_dtype base, ons_dtype exponent) {
    if (base == ONS_INT64 || base == ONS_INT32) return exponent == ONS_FLOAT32;
    bool number = exponent == ONS_FLOAT64 || exponent == ONS_INT64 || exponent == ONS_UINT64 || exponent == ONS_INT32;
    return base == exponent || (base == ONS_FLOAT32 && number);
}

static ons_status *pow_cuda_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (!has_cuda_kernel(o->inputs[0].dtype, o->inputs[1].dtype))
        return ons_node_error(o, "no CUDA kernel for %s to the power of %s", ons_dtype_name(o->inputs[0].dtype),
                              ons_dtype_name(o->inputs[1].dtype));
    return ons_cuda_number_prepare(p);
}

ONS_CUDA_KERNEL(pow, pow_cuda_prepare)
