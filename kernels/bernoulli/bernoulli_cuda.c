/* Bernoulli on CUDA: what the host works out. */
#include "kernels/bernoulli/bernoulli_node.h"

#include "graph/evaluate.h"

/* The result is of any type. */
static ons_status *bernoulli_prepare_cuda(ons_prepare *p) {
    ons_dtype dtype = p->operands->outputs[0].dtype;
    double real = 1;
    int64_t whole = 1;
    ONS_TRY(ons_bernoulli_make_state(p));
    ons_bernoulli *s = p->state;
    s->size = ons_dtype_size(dtype);
    ons_narrow(dtype, ons_dtype_is_float(dtype) ? (const void *)&real : &whole, 1, &s->one);
    return NULL;
}

ONS_CUDA_KERNEL(bernoulli, bernoulli_prepare_cuda)
