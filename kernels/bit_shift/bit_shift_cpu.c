/* BitShift on the CPU. */
#include "kernels/bit_shift/bit_shift.h"

#include "kernels/common/elementwise/binary.h"

/* Where C leaves the result open there is nothing left. */
static inline uint64_t shifted(uint64_t a, uint64_t b, bool left) { return b > 63 ? 0 : left ? a << b : a >> b; }

ONS_BINARY_SPAN(bit_shift_8, uint8_t, uint64_t, uint8_t, shifted(a, b, parameters[0] != 0))

ONS_BINARY_SPAN(bit_shift_16, uint16_t, uint64_t, uint16_t, shifted(a, b, parameters[0] != 0))

ONS_BINARY_SPAN(bit_shift_32, uint32_t, uint64_t, uint32_t, shifted(a, b, parameters[0] != 0))

ONS_BINARY_SPAN(bit_shift_64, uint64_t, uint64_t, uint64_t, shifted(a, b, parameters[0] != 0))

ONS_BINARY_PREPARE(bit_shift_spans, {ONS_UINT8, bit_shift_8}, {ONS_UINT16, bit_shift_16}, {ONS_UINT32, bit_shift_32},
                   {ONS_UINT64, bit_shift_64})

static ons_status *bit_shift_prepare(ons_prepare *p) {
    ONS_TRY(bit_shift_spans_prepare(p));
    ((ons_broadcast *)p->state)->parameters[0] = goes_left(p->operands) ? 1 : 0;
    return NULL;
}

ONS_KERNELS(cpu, bit_shift, ONS_KERNEL(bit_shift_prepare, ons_broadcast_run))
