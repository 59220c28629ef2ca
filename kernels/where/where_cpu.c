/* Where on the CPU. */
#include "kernels/common/elementwise/broadcast.h"

typedef uint8_t element8 __attribute__((may_alias));
typedef uint16_t element16 __attribute__((may_alias));
typedef uint32_t element32 __attribute__((may_alias));
typedef uint64_t element64 __attribute__((may_alias));

/* Elements are moved, not looked at: out[i] = condition ? left[l] : right[r], of one size. */
typedef void pick_element(void *out, int64_t i, bool condition, const void *left, int64_t l, const void *right,
                          int64_t r);

#define PICK(NAME, TYPE)                                                                                               \
    static inline void NAME(void *out, int64_t i, bool condition, const void *left, int64_t l, const void *right,      \
                            int64_t r) {                                                                               \
        TYPE a = ((const TYPE *)left)[l], b = ((const TYPE *)right)[r];                                                \
        ((TYPE *)out)[i] = condition ? a : b;                                                                          \
    }

PICK(pick_8, element8)
PICK(pick_16, element16)
PICK(pick_32, element32)
PICK(pick_64, element64)

/* Compiled for each size and for steps of condition and operands that the compiler knows. */
__attribute__((always_inline)) static inline void
where_steps(const ons_span *span, pick_element *pick, int64_t condition_step, int64_t left_step, int64_t right_step) {
    const uint8_t *condition = span->inputs[0];
    const void *left = span->inputs[1], *right = span->inputs[2];
    void *out = span->output;
    int64_t n = span->count;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
        pick(out, i, condition[i * condition_step] != 0, left, i * left_step, right, i * right_step);
}

__attribute__((always_inline)) static inline void where_span(const ons_span *span, pick_element *pick) {
    switch (span->steps[0] * 4 + span->steps[1] * 2 + span->steps[2]) {
    case 0: where_steps(span, pick, 0, 0, 0); return;
    case 1: where_steps(span, pick, 0, 0, 1); return;
    case 2: where_steps(span, pick, 0, 1, 0); return;
    case 3: where_steps(span, pick, 0, 1, 1); return;
    case 4: where_steps(span, pick, 1, 0, 0); return;
    case 5: where_steps(span, pick, 1, 0, 1); return;
    case 6: where_steps(span, pick, 1, 1, 0); return;
    default: where_steps(span, pick, 1, 1, 1); return;
    }
}

static void where_8(const ons_span *span) { where_span(span, pick_8); }
static void where_16(const ons_span *span) { where_span(span, pick_16); }
static void where_32(const ons_span *span) { where_span(span, pick_32); }
static void where_64(const ons_span *span) { where_span(span, pick_64); }

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
