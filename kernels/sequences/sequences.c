#include "kernels/sequences/sequences.h"

ons_status *ons_infer_sequence(ons_operands *o) {
    return ons_node_error(o, "sequences of tensors are resolved when shapes are bound; this one could not be");
}

ons_status *ons_sequence_position(const ons_replacement *m, uint32_t input, uint32_t count, uint32_t otherwise,
                                  uint32_t *position) {
    int64_t values[ONS_INTEGERS_MAX];
    uint32_t given;
    *position = otherwise;
    ONS_TRY(ons_constant_integers(m->operands, input, values, &given));
    if (given == 0) return NULL;
    int64_t at = values[0] < 0 ? values[0] + count : values[0];
    if (given != 1 || at < 0 || at > count)
        return ons_node_error(m->operands, "position %lld in a sequence of %u", (long long)values[0], count);
    *position = (uint32_t)at;
    return NULL;
}
