/* Where on the CPU. */
#include "kernels/common/elementwise/broadcast.h"

/* One loop for steps of condition and operands that the compiler knows. */
#define WHERE_LOOP(TYPE, CONDITION_STEP, LEFT_STEP, RIGHT_STEP)                                                        \
    case (CONDITION_STEP)*4 + (LEFT_STEP)*2 + (RIGHT_STEP):                                                            \
        _Pragma("omp simd") for (int64_t i = 0; i < n; ++i) {                                                          \
            TYPE a = left[i * (LEFT_STEP)], b = right[i * (RIGHT_STEP)];                                               \
            out[i] = condition[i * (CONDITION_STEP)] != 0 ? a : b;                                                     \
        }                                                                                                              \
        break;

/* Elements are moved, not looked at: one span function for each size. */
#define WHERE_SPAN(NAME, TYPE)                                                                                         \
    static void NAME(const ons_span *span) {                                                                           \
        typedef TYPE __attribute__((may_alias)) element;                                                               \
        const uint8_t *condition = span->inputs[0];                                                                    \
        const element *left = span->inputs[1], *right = span->inputs[2];                                               \
        element *out = span->output;                                                                                   \
        int64_t n = span->count;                                                                                       \
        switch (span->steps[0] * 4 + span->steps[1] * 2 + span->steps[2]) {                                            \
            WHERE_LOOP(element, 0, 0, 0)                                                                               \
            WHERE_LOOP(element, 0, 0, 1)                                                                               \
            WHERE_LOOP(element, 0, 1, 0)                                                                               \
            WHERE_LOOP(element, 0, 1, 1)                                                                               \
            WHERE_LOOP(element, 1, 0, 0)                                                                               \
            WHERE_LOOP(element, 1, 0, 1)                                                                               \
            WHERE_LOOP(element, 1, 1, 0)                                                                               \
            WHERE_LOOP(element, 1, 1, 1)                                                                               \
        }                                                                                                              \
    }

WHERE_SPAN(where_8, uint8_t)

WHERE_SPAN(where_16, uint16_t)

WHERE_SPAN(where_32, uint32_t)

WHERE_SPAN(where_64, uint64_t)

static ons_status *where_prepare(ons_prepare *p) {
    size_t size = ons_dtype_size(p->operands->outputs[0].dtype);
    ons_broadcast *state;
    return ons_broadcast_prepare(p,
                                 size == 1   ? where_8
                                 : size == 2 ? where_16
                                 : size == 4 ? where_32
                                             : where_64,
                                 &state);
}

ONS_KERNELS(cpu, where, ONS_KERNEL(where_prepare, ons_broadcast_run))
