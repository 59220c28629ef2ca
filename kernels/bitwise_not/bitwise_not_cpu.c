/* BitwiseNot on the CPU. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_SPAN(bitwise_not_bytes, uint8_t, uint8_t, uint8_t, ~x)

static ons_status *bitwise_not_prepare(ons_prepare *p) {
    ons_unary_state *state;
    ONS_NEW_STATE(state, p);
    state->elements = ons_type_dense_bytes(&p->operands->outputs[0]);
    p->implementation = "elementwise";
    return NULL;
}

static void bitwise_not_run(const ons_launch *launch) { ons_unary_run(launch, 1, 1, bitwise_not_bytes); }

ONS_KERNELS(cpu, bitwise_not, ONS_KERNEL(bitwise_not_prepare, bitwise_not_run))
