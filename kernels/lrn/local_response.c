#include "kernels/lrn/local_response.h"

ons_status *ons_local_response_of(const ons_operands *o, const ons_type *x, ons_local_response *l) {
    int64_t size = ons_attribute_int(o, ONS_LRN_SIZE);
    if (x->shape.rank < 2) return ons_node_error(o, "the input needs batch and channels");
    if (!ons_dtype_is_float(x->dtype))
        return ons_node_error(o, "normalisation of %s is not supported", ons_dtype_name(x->dtype));
    if (size < 1) return ons_node_error(o, "size is %lld; the window needs a channel", (long long)size);
    *l = (ons_local_response){.size = ons_channels_of(x),
                              .before = (size - 1) / 2,
                              .after = size - 1 - (size - 1) / 2,
                              .weight = (float)(ons_attribute_float(o, ONS_LRN_ALPHA) / (double)size),
                              .bias = (float)ons_attribute_float(o, ONS_LRN_BIAS),
                              .beta = (float)ons_attribute_float(o, ONS_LRN_BETA)};
    return NULL;
}

double ons_local_sum_exact(const ons_operands *o, const ons_type *x, const double *words, int64_t at) {
    ons_local_response l;
    ons_resolved(ons_local_response_of(o, x, &l));
    int64_t positions = l.size.positions, channel = at / positions % l.size.channels;
    double sum = 0;
    for (int64_t c = ons_local_first(channel, l.before); c < ons_local_end(&l, channel, l.after); ++c) {
        double value = words[at + (c - channel) * positions];
        sum += value * value;
    }
    return ons_attribute_float(o, ONS_LRN_BIAS) +
           ons_attribute_float(o, ONS_LRN_ALPHA) / (double)ons_attribute_int(o, ONS_LRN_SIZE) * sum;
}
