/* Half and bfloat16 over all their bit patterns, and shapes. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "graph/type.h"

static uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float bits_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* By the definition of IEEE binary16. */
static double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double magnitude = exponent == 31  ? (mantissa == 0 ? INFINITY : NAN)
                       : exponent == 0 ? ldexp(mantissa, -24)
                                       : ldexp(1024 + mantissa, exponent - 25);
    return bits >> 15 ? -magnitude : magnitude;
}

Test(type, every_half_to_float_and_back) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        float value = ons_half_to_float((uint16_t)bits);
        double should = half_value((uint16_t)bits);
        if (isnan(should)) {
            cr_assert(isnan(value), "%04x is %g", bits, value);
            cr_assert(isnan(ons_half_to_float(ons_float_to_half(value))), "%04x", bits);
            continue;
        }
        cr_assert(value == should && !signbit(value) == !signbit(should), "%04x is %g, not %g", bits, value, should);
        cr_assert_eq(ons_float_to_half(value), bits, "%04x comes back as %04x", bits, ons_float_to_half(value));
    }
}

/* Between two neighbours: the middle goes to the even one, everything else to the nearer one. */
Test(type, half_rounds_to_nearest_even) {
    for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
        double low = half_value((uint16_t)bits), high = bits == 0x7bff ? 65536 : half_value((uint16_t)(bits + 1));
        float middle = (float)((low + high) / 2);
        uint16_t even = (uint16_t)(bits + (bits & 1));
        for (int sign = 0; sign < 2; ++sign) {
            float factor = sign ? -1.0f : 1.0f;
            uint16_t mark = (uint16_t)(sign << 15);
            cr_assert_eq(ons_float_to_half(factor * middle), even | mark, "the middle above %04x", bits);
            cr_assert_eq(ons_float_to_half(factor * nextafterf(middle, 0)), bits | mark, "below the middle above %04x",
                         bits);
            cr_assert_eq(ons_float_to_half(factor * nextafterf(middle, INFINITY)), (bits + 1) | mark,
                         "above the middle above %04x", bits);
        }
    }
    cr_assert_eq(ons_float_to_half(65504.0f), 0x7bff);
    cr_assert_eq(ons_float_to_half(1e30f), 0x7c00);
    cr_assert_eq(ons_float_to_half(-INFINITY), 0xfc00);
    cr_assert_eq(ons_float_to_half(1e-30f), 0);
    cr_assert_eq(ons_float_to_half(-1e-30f), 0x8000);
}

Test(type, every_bfloat16_to_float_and_back) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        float value = ons_bfloat16_to_float((uint16_t)bits);
        cr_assert_eq(float_bits(value), bits << 16, "%04x", bits);
        if (isnan(value))
            cr_assert(isnan(ons_bfloat16_to_float(ons_float_to_bfloat16(value))), "%04x", bits);
        else
            cr_assert_eq(ons_float_to_bfloat16(value), bits, "%04x comes back as %04x", bits,
                         ons_float_to_bfloat16(value));
    }
}

Test(type, bfloat16_rounds_to_nearest_even) {
    for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
        uint32_t middle = bits << 16 | 0x8000;
        cr_assert_eq(ons_float_to_bfloat16(bits_float(middle)), bits + (bits & 1), "the middle above %04x", bits);
        cr_assert_eq(ons_float_to_bfloat16(bits_float(middle - 1)), bits);
        cr_assert_eq(ons_float_to_bfloat16(bits_float(middle + 1)), bits + 1);
        cr_assert_eq(ons_float_to_bfloat16(-bits_float(middle)), (bits + (bits & 1)) | 0x8000);
    }
    /* A NaN whose upper bits are those of an infinity. */
    cr_assert(isnan(ons_bfloat16_to_float(ons_float_to_bfloat16(bits_float(0x7f800001)))));
}

static ons_shape shape(uint32_t rank, const int64_t *dims) { return ons_shape_make(rank, dims); }
#define DIMS(...) shape(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

Test(type, broadcasting) {
    ons_shape a = DIMS(2, 1, 4), b = DIMS(3, 1), should = DIMS(2, 3, 4), result;
    cr_assert(ons_shape_broadcast(&a, &b, &result) && ons_shape_equal(&result, &should));
    cr_assert(ons_shape_broadcast(&b, &a, &result) && ons_shape_equal(&result, &should));
    ons_shape scalar = {.rank = 0}, empty = DIMS(0, 4), wrong = DIMS(3, 5);
    cr_assert(ons_shape_broadcast(&a, &scalar, &result) && ons_shape_equal(&result, &a));
    ons_shape with_empty = DIMS(2, 0, 4);
    cr_assert(ons_shape_broadcast(&a, &empty, &result) && ons_shape_equal(&result, &with_empty));
    cr_assert_not(ons_shape_broadcast(&a, &wrong, &result));
}

Test(type, impossible_shapes) {
    ons_shape negative = DIMS(2, -1), large = DIMS(INT64_MAX / 16, 2), good = DIMS(0, INT64_MAX / 32);
    ons_status *status = ons_shape_check(&negative);
    cr_assert_not_null(status);
    ons_status_free(status);
    status = ons_shape_check(&large);
    cr_assert_not_null(status);
    ons_status_free(status);
    cr_assert_null(ons_shape_check(&good));
    cr_assert_eq(ons_shape_elements(&good), 0);
}

Test(type, axes_and_text) {
    uint32_t axis;
    cr_assert(ons_axis_resolve(-1, 3, &axis) && axis == 2);
    cr_assert(ons_axis_resolve(0, 3, &axis) && axis == 0);
    cr_assert_not(ons_axis_resolve(3, 3, &axis));
    cr_assert_not(ons_axis_resolve(-4, 3, &axis));
    cr_assert_not(ons_axis_resolve(0, 0, &axis));
    char text[ONS_TYPE_TEXT];
    ons_type type = ons_type_make(ONS_FLOAT32, DIMS(2, 3));
    cr_assert_str_eq(ons_type_print(&type, text), "float32[2,3]");
}
