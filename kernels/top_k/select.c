#include "kernels/top_k/select.h"

#include <string.h>

enum { INSERTED_MOST = 32, SHORT_LINE = 128, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

bool ons_select_inserts(int64_t length, int64_t k) { return k <= INSERTED_MOST || length <= SHORT_LINE; }

int64_t ons_select_scratch(int64_t length, int64_t k) {
    int64_t words = ons_select_inserts(length, k) ? k + 1 : 2 * length + DIGITS / 2;
    return (words + 7) / 8 * 8;
}

/* Sorts like the value: NaN above all, both zeros alike; upside down where the largest come first. */
static uint64_t key_of(float value, int64_t index, bool largest) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = value == 0 ? 0x80000000u : bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    bits = value != value ? UINT32_MAX : bits;
    return (uint64_t)(largest ? ~bits : bits) << 32 | (uint64_t)index;
}

static const uint64_t *select_by_insertion(const float *x, int64_t length, int64_t stride, int64_t k, bool largest,
                                           uint64_t *kept) {
    int64_t count = 0;
    if (k == 0) return kept;
    for (int64_t i = 0; i < length; ++i) {
        uint64_t key = key_of(x[i * stride], i, largest);
        if (count == k && key > kept[k - 1]) continue;
        int64_t at = count < k ? count++ : k - 1;
        for (; at > 0 && kept[at - 1] > key; --at) kept[at] = kept[at - 1];
        kept[at] = key;
    }
    return kept;
}

/* Three stable passes over the value's digits; indices are in order to begin with. */
static const uint64_t *select_by_sorting(const float *x, int64_t length, int64_t stride, bool largest,
                                         uint64_t *scratch) {
    uint64_t *from = scratch, *to = scratch + length;
    uint32_t *counts = (uint32_t *)(scratch + 2 * length);
    for (int64_t i = 0; i < length; ++i) from[i] = key_of(x[i * stride], i, largest);
    for (int shift = 32; shift < 64; shift += DIGIT_BITS) {
        memset(counts, 0, DIGITS * sizeof *counts);
        for (int64_t i = 0; i < length; ++i) ++counts[from[i] >> shift & (DIGITS - 1)];
        for (uint32_t digit = 0, sum = 0; digit < DIGITS; ++digit) {
            uint32_t count = counts[digit];
            counts[digit] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < length; ++i) to[counts[from[i] >> shift & (DIGITS - 1)]++] = from[i];
        uint64_t *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

const uint64_t *ons_select(const float *x, int64_t length, int64_t stride, int64_t k, bool largest, uint64_t *scratch) {
    return ons_select_inserts(length, k) ? select_by_insertion(x, length, stride, k, largest, scratch)
                                         : select_by_sorting(x, length, stride, largest, scratch);
}
