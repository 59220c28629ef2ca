#include "graph/small_types.h"

#include <math.h>

/* sign, exponent, mantissa; FN: no infinities; FNUZ: no infinities, no negative zero, NaN in its place. */
typedef struct format {
    int exponent_bits, mantissa_bits, bias;
    uint8_t last; /* code of the largest finite value */
    uint8_t nan;
    bool has_infinity, has_negative_zero, has_nan;
} format;

static format format_of(ons_dtype dtype) {
    switch ((int)dtype) {
    case 17: return (format){4, 3, 7, 0x7e, 0x7f, false, true, true};
    case 18: return (format){4, 3, 8, 0x7f, 0x80, false, false, true};
    case 19: return (format){5, 2, 15, 0x7b, 0x7f, true, true, true};
    case 20: return (format){5, 2, 16, 0x7f, 0x80, false, false, true};
    default: return (format){2, 1, 1, 0x07, 0x00, false, true, false}; /* float4e2m1 */
    }
}

bool ons_is_small_float(ons_dtype dtype) {
    int number = (int)dtype;
    return (number >= 17 && number <= 20) || number == 23 || number == 24;
}

bool ons_is_small_integer(ons_dtype dtype) {
    int number = (int)dtype;
    return number == 21 || number == 22 || number == 25 || number == 26;
}

uint32_t ons_small_bits(ons_dtype dtype) {
    int number = (int)dtype;
    return number >= 21 && number <= 23 ? 4 : number == 25 || number == 26 ? 2 : 8;
}

static double decode_magnitude(const format *f, uint8_t code) {
    int exponent = code >> f->mantissa_bits, mantissa = code & ((1 << f->mantissa_bits) - 1);
    if (exponent == 0) return ldexp(mantissa, 1 - f->bias - f->mantissa_bits);
    return ldexp((1 << f->mantissa_bits) + mantissa, exponent - f->bias - f->mantissa_bits);
}

static uint8_t sign_of(const format *f) { return (uint8_t)(1u << (f->exponent_bits + f->mantissa_bits)); }

double ons_small_float_decode(ons_dtype dtype, uint8_t code) {
    if (dtype == ONS_FLOAT8E8M0) return code == 0xff ? NAN : ldexp(1, code - 127);
    format f = format_of(dtype);
    uint8_t sign = sign_of(&f), magnitude = code & (sign - 1u);
    if (f.has_nan && !f.has_negative_zero && code == f.nan) return NAN;
    double value = decode_magnitude(&f, magnitude);
    if (magnitude > f.last) value = f.has_infinity && magnitude == f.last + 1 ? INFINITY : NAN;
    return code & sign ? -value : value;
}

/* The nearest power of two, by its exponent. */
static uint8_t encode_power(double value, ons_power_rounding rounding) {
    if (value != value || value < 0) return 0xff;
    int exponent;
    if (value == 0) return 0;
    if (isinf(value)) return 0xfe;
    double part = frexp(value, &exponent); /* in [0.5, 1): value = 2 · part · 2^(exponent - 1) */
    int power = exponent - 1;
    if (rounding == ONS_POWER_UP && part > 0.5) ++power;
    if (rounding == ONS_POWER_NEAREST && part >= 0.75) ++power;
    power += 127;
    return (uint8_t)(power < 0 ? 0 : power > 0xfe ? 0xfe : power);
}

/* The codes of positive values rise with them, so the neighbours of a value are next to each other. */
static uint8_t encode_magnitude(const format *f, double value) {
    uint8_t below = 0;
    while (below < f->last && decode_magnitude(f, (uint8_t)(below + 1)) <= value) ++below;
    if (below == f->last) return below;
    double low = value - decode_magnitude(f, below), high = decode_magnitude(f, (uint8_t)(below + 1)) - value;
    bool up = high < low || (high == low && (below & 1));
    return (uint8_t)(below + up);
}

uint8_t ons_small_float_encode(ons_dtype dtype, double value) {
    if (dtype == ONS_FLOAT8E8M0) return encode_power(value, ONS_POWER_NEAREST);
    format f = format_of(dtype);
    if (value != value) return f.nan;
    uint8_t code = isinf(value) && f.has_infinity ? (uint8_t)(f.last + 1) : encode_magnitude(&f, fabs(value));
    bool negative = signbit(value) && (code != 0 || f.has_negative_zero);
    return (uint8_t)(negative ? code | sign_of(&f) : code);
}

/* Whether a value rounds to something behind the last. */
static bool overflows(const format *f, double value) {
    double last = decode_magnitude(f, f->last), step = last - decode_magnitude(f, (uint8_t)(f->last - 1));
    double limit = last + step / 2;
    return fabs(value) > limit || (fabs(value) == limit && (f->last & 1));
}

double ons_small_float_round(ons_dtype dtype, double value, bool saturate, ons_power_rounding rounding) {
    if (dtype == ONS_FLOAT8E8M0) return ons_small_float_decode(dtype, encode_power(value, rounding));
    format f = format_of(dtype);
    if (f.has_nan && value == value && !saturate && overflows(&f, value))
        return f.has_infinity ? copysign(INFINITY, value) : NAN;
    if (isinf(value)) return copysign(decode_magnitude(&f, f.last), value);
    return ons_small_float_decode(dtype, ons_small_float_encode(dtype, value));
}

int64_t ons_small_integer_wrap(ons_dtype dtype, int64_t value) {
    unsigned spare = 64 - ons_small_bits(dtype);
    uint64_t top = (uint64_t)value << spare;
    bool is_signed = dtype == ONS_INT4 || dtype == ONS_INT2;
    return is_signed ? (int64_t)top >> spare : (int64_t)(top >> spare);
}
