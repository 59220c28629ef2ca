/* What a batch normalisation does to its result in the same pass over memory, and which of the results the gradient
 * goes through: the bits are those of Relu and Clip as nodes of their own. */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_BATCH_ACTIVATION_H
#define ONSTAGE_KERNELS_NORMALIZATION_BATCH_ACTIVATION_H

#include <stdbool.h>

#include "base/host_device.h"
#include "kernels/common/operator/kernel.h"

typedef enum ons_batch_activation_kind { ONS_BATCH_PLAIN, ONS_BATCH_RELU, ONS_BATCH_CLIP } ons_batch_activation_kind;

typedef struct ons_batch_activation {
    ons_batch_activation_kind kind;
    float low, high; /* of Clip: low ≤ high */
} ons_batch_activation;

/* Of a node whose attributes from `first` on are kind, low and high. */
static inline ons_batch_activation ons_batch_activation_of(const ons_operands *o, uint32_t first) {
    return (ons_batch_activation){(ons_batch_activation_kind)ons_attribute_int(o, first),
                                  (float)ons_attribute_float(o, first + 1), (float)ons_attribute_float(o, first + 2)};
}
static inline ons_status *ons_batch_check_activation(const ons_operands *o, uint32_t first) {
    int64_t kind = ons_attribute_int(o, first);
    if (kind < ONS_BATCH_PLAIN || kind > ONS_BATCH_CLIP)
        return ons_node_error(o, "there is no activation %lld", (long long)kind);
    return NULL;
}
#define ONS_BATCH_ACTIVATION_ATTRIBUTES(KIND)                                                                          \
    ONS_INT_ATTRIBUTE("activation", (KIND)), ONS_FLOAT_ATTRIBUTE("low", 0), ONS_FLOAT_ATTRIBUTE("high", 0)

static inline ONS_HOST_DEVICE float ons_batch_activate(ons_batch_activation a, float x) {
    if (a.kind == ONS_BATCH_RELU) return x < 0 ? 0 : x;
    if (a.kind == ONS_BATCH_PLAIN) return x;
    float least = x < a.low ? a.low : x;
    return least > a.high ? a.high : least;
}

/* Whether the gradient goes through a result that was `x` before. */
static inline ONS_HOST_DEVICE bool ons_batch_is_open(ons_batch_activation a, float x) {
    if (a.kind == ONS_BATCH_RELU) return x > 0;
    return a.kind == ONS_BATCH_PLAIN || ((x > a.low) & (x < a.high));
}

#endif
