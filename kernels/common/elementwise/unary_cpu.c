/* What the CPU runs of unary.h. */
#include "kernels/common/elementwise/unary.h"

#include <omp.h>

static ons_status *prepare_state(ons_prepare *p) {
    ons_unary_state *state;
    ONS_NEW_STATE(state, p);
    state->elements = ons_elements(&p->operands->outputs[0]);
    state->dtype = p->operands->inputs[0].dtype;
    state->input_count = p->operands->input_count;
    ons_take_float_attributes(p->operands, state->parameters, ONS_UNARY_PARAMETERS);
    p->implementation = "elementwise";
    return NULL;
}

ons_status *ons_unary_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[0].dtype;
    return dtype == ONS_FLOAT32 ? prepare_state(p) : ons_refuse_dtype(p->operands, dtype);
}

ons_status *ons_unary_number_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[0].dtype;
    bool known = dtype == ONS_FLOAT32 || dtype == ONS_INT64 || dtype == ONS_INT32;
    return known ? prepare_state(p) : ons_refuse_dtype(p->operands, dtype);
}

ons_status *ons_unary_bool_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[0].dtype;
    return dtype == ONS_BOOL ? prepare_state(p) : ons_refuse_dtype(p->operands, dtype);
}

void ons_unary_share(const void *in, void *out, int64_t count, size_t in_size, size_t out_size,
                     ons_unary_span *function, const float *parameters) {
    if (count <= ONS_PARALLEL_GRAIN) {
        function(in, out, count, parameters);
        return;
    }
#pragma omp parallel
    {
        /* Ranges begin at whole cache lines. */
        int64_t share = (count / omp_get_num_threads() + 64) / 64 * 64;
        int64_t begin = share * omp_get_thread_num();
        int64_t end = begin + share < count ? begin + share : count;
        if (begin < end)
            function((const char *)in + (size_t)begin * in_size, (char *)out + (size_t)begin * out_size, end - begin,
                     parameters);
    }
}

void ons_unary_run(const ons_launch *launch, size_t in_size, size_t out_size, ons_unary_span *function) {
    const ons_unary_state *state = launch->state;
    ons_unary_share(launch->inputs[0], launch->outputs[0], state->elements, in_size, out_size, function,
                    state->parameters);
}
