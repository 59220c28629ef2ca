/* Exact integer arithmetic on the 8-byte words of references and on elements: wraps around instead of overflowing. */
#ifndef ONSTAGE_KERNELS_COMMON_MATH_INTEGERS_H
#define ONSTAGE_KERNELS_COMMON_MATH_INTEGERS_H

#include <stdint.h>

#include "graph/type.h"

static inline int64_t ons_wrapping_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t ons_wrapping_subtract(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t ons_wrapping_multiply(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
/* Towards zero; a division by zero, which ONNX leaves open, gives 0. */
static inline int64_t ons_wrapping_divide(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? ons_wrapping_subtract(0, a) : a / b;
}
/* The sign of the result is the dividend's, as in C. */
static inline int64_t ons_remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
/* The sign of the result is the divisor's, as in Python. */
static inline int64_t ons_modulo(int64_t a, int64_t b) {
    int64_t remainder = ons_remainder(a, b);
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
static inline int64_t ons_unsigned_power(int64_t base, uint64_t exponent) {
    int64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0) result = ons_wrapping_multiply(result, base);
        base = ons_wrapping_multiply(base, base);
    }
    return result;
}
/* To a negative power: truncated, as all integer divisions are. */
static inline int64_t ons_integer_power(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    return ons_unsigned_power(base, (uint64_t)exponent);
}

/* The value that a word has after a stay in memory as `dtype`, an integer or bool. */
static inline int64_t ons_wrap_to(ons_dtype dtype, int64_t value) {
    switch (dtype) {
    case ONS_UINT8: return (uint8_t)value;
    case ONS_INT8: return (int8_t)value;
    case ONS_UINT16: return (uint16_t)value;
    case ONS_INT16: return (int16_t)value;
    case ONS_UINT32: return (uint32_t)value;
    case ONS_INT32: return (int32_t)value;
    case ONS_BOOL: return value != 0;
    default: return value;
    }
}

/* The least and the greatest value of an integer dtype or bool, as words. */
static inline int64_t ons_least_of(ons_dtype dtype) {
    switch (dtype) {
    case ONS_INT8: return INT8_MIN;
    case ONS_INT16: return INT16_MIN;
    case ONS_INT32: return INT32_MIN;
    case ONS_INT64: return INT64_MIN;
    default: return 0;
    }
}
static inline int64_t ons_greatest_of(ons_dtype dtype) {
    switch (dtype) {
    case ONS_UINT8: return UINT8_MAX;
    case ONS_INT8: return INT8_MAX;
    case ONS_UINT16: return UINT16_MAX;
    case ONS_INT16: return INT16_MAX;
    case ONS_UINT32: return UINT32_MAX;
    case ONS_INT32: return INT32_MAX;
    case ONS_BOOL: return 1;
    case ONS_UINT64: return -1; /* all bits */
    default: return INT64_MAX;
    }
}

/* a < b, of words of that dtype. */
static inline bool ons_word_less(ons_dtype dtype, int64_t a, int64_t b) {
    return dtype == ONS_UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
}

/* One of three things for references, by the words of a type: doubles, integers, or uint64_t, whose words would be
 * taken for negative numbers. */
#define ONS_BY_WORDS(DTYPE, FLOATS, INTEGERS, UNSIGNED)                                                                \
    (ons_dtype_is_float(DTYPE) ? (FLOATS) : (DTYPE) == ONS_UINT64 ? (UNSIGNED) : (INTEGERS))

#endif
