#include "graph/type.h"

#include <stdio.h>
#include <string.h>

#include "graph/small_types.h"

static const struct {
    const char *name;
    uint8_t size;
} dtypes[] = {
    [ONS_NO_DTYPE] = {"none", 0},
    [ONS_FLOAT32] = {"float32", 4},
    [ONS_UINT8] = {"uint8", 1},
    [ONS_INT8] = {"int8", 1},
    [ONS_UINT16] = {"uint16", 2},
    [ONS_INT16] = {"int16", 2},
    [ONS_INT32] = {"int32", 4},
    [ONS_INT64] = {"int64", 8},
    [ONS_STRING] = {"string", 0},
    [ONS_BOOL] = {"bool", 1},
    [ONS_FLOAT16] = {"float16", 2},
    [ONS_FLOAT64] = {"float64", 8},
    [ONS_UINT32] = {"uint32", 4},
    [ONS_UINT64] = {"uint64", 8},
    [14] = {"complex64", 0},
    [15] = {"complex128", 0},
    [ONS_BFLOAT16] = {"bfloat16", 2},
    [17] = {"float8e4m3fn", 1},
    [18] = {"float8e4m3fnuz", 1},
    [19] = {"float8e5m2", 1},
    [20] = {"float8e5m2fnuz", 1},
    [21] = {"uint4", 1},
    [22] = {"int4", 1},
    [23] = {"float4e2m1", 1},
    [24] = {"float8e8m0", 1},
    [25] = {"uint2", 1},
    [26] = {"int2", 1},
};

static bool known(ons_dtype dtype) { return (unsigned)dtype < sizeof dtypes / sizeof dtypes[0]; }

size_t ons_dtype_size(ons_dtype dtype) { return known(dtype) ? dtypes[dtype].size : 0; }

const char *ons_dtype_name(ons_dtype dtype) { return known(dtype) ? dtypes[dtype].name : "unknown"; }

bool ons_dtype_is_half(ons_dtype dtype) { return dtype == ONS_FLOAT16 || dtype == ONS_BFLOAT16; }

bool ons_dtype_is_float(ons_dtype dtype) {
    return dtype == ONS_FLOAT32 || dtype == ONS_FLOAT64 || dtype == ONS_FLOAT16 || dtype == ONS_BFLOAT16 ||
           ons_is_small_float(dtype);
}

bool ons_dtype_is_integer(ons_dtype dtype) {
    return (dtype >= ONS_UINT8 && dtype <= ONS_INT64) || dtype == ONS_UINT32 || dtype == ONS_UINT64 ||
           ons_is_small_integer(dtype);
}

ons_shape ons_shape_make(uint32_t rank, const int64_t *dims) {
    ons_shape shape = {.rank = rank};
    if (rank > 0) memcpy(shape.dims, dims, rank * sizeof dims[0]);
    return shape;
}

bool ons_shape_equal(const ons_shape *a, const ons_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

int64_t ons_shape_span(const ons_shape *shape, uint32_t first, uint32_t last) {
    int64_t product = 1;
    for (uint32_t i = first; i < last; ++i) product *= shape->dims[i];
    return product;
}

int64_t ons_shape_elements(const ons_shape *shape) { return ons_shape_span(shape, 0, shape->rank); }

ons_status *ons_shape_check(const ons_shape *shape) {
    ONS_CHECK(shape->rank <= ONS_RANK_MAX, ONS_UNSUPPORTED, "rank %u is above %d", shape->rank, ONS_RANK_MAX);
    /* A zero does not excuse the rest: the product of the others must fit too, since spans are taken of parts. */
    int64_t product = 16;
    for (uint32_t i = 0; i < shape->rank; ++i) {
        ONS_CHECK(shape->dims[i] >= 0, ONS_INVALID_MODEL, "dimension %u is negative (%lld)", i,
                  (long long)shape->dims[i]);
        int64_t factor = shape->dims[i] == 0 ? 1 : shape->dims[i];
        ONS_CHECK(!__builtin_mul_overflow(product, factor, &product), ONS_INVALID_MODEL,
                  "the product of the dimensions overflows");
    }
    return NULL;
}

ons_type ons_type_make(ons_dtype dtype, ons_shape shape) {
    return (ons_type){.dtype = dtype, .layout = ONS_LAYOUT_ONNX, .shape = shape};
}

bool ons_type_equal(const ons_type *a, const ons_type *b) {
    return a->dtype == b->dtype && a->layout == b->layout && ons_shape_equal(&a->shape, &b->shape);
}

int64_t ons_type_dense_bytes(const ons_type *type) {
    return ons_shape_elements(&type->shape) * (int64_t)ons_dtype_size(type->dtype);
}

const char *ons_type_print(const ons_type *type, char text[static ONS_TYPE_TEXT]) {
    int length = snprintf(text, ONS_TYPE_TEXT, "%s[", ons_dtype_name(type->dtype));
    for (uint32_t i = 0; i < type->shape.rank && i < ONS_RANK_MAX; ++i) {
        const char *separator = i == 0 ? "" : ",";
        if (type->shape.dims[i] < 0)
            length += snprintf(text + length, (size_t)(ONS_TYPE_TEXT - length), "%s?", separator);
        else
            length += snprintf(text + length, (size_t)(ONS_TYPE_TEXT - length), "%s%lld", separator,
                               (long long)type->shape.dims[i]);
        if (length > ONS_TYPE_TEXT - 16) break;
    }
    snprintf(text + length, (size_t)(ONS_TYPE_TEXT - length), "]");
    return text;
}

bool ons_shape_broadcast(const ons_shape *a, const ons_shape *b, ons_shape *result) {
    ons_shape joined = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (uint32_t i = 0; i < joined.rank; ++i) {
        uint32_t from_end = joined.rank - i;
        int64_t left = from_end <= a->rank ? a->dims[a->rank - from_end] : 1;
        int64_t right = from_end <= b->rank ? b->dims[b->rank - from_end] : 1;
        if (left != right && left != 1 && right != 1) return false;
        joined.dims[i] = left == 1 ? right : left;
    }
    *result = joined;
    return true;
}

bool ons_axis_resolve(int64_t axis, uint32_t rank, uint32_t *resolved) {
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) return false;
    *resolved = (uint32_t)(axis < 0 ? axis + (int64_t)rank : axis);
    return true;
}

static float float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float ons_half_to_float(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = (bits >> 10) & 0x1f;
    uint32_t fraction = bits & 0x3ff;
    if (exponent == 0x1f) return float_from_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0) { /* zero or subnormal: fraction × 2⁻²⁴ is exact in float */
        float magnitude = (float)fraction * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    return float_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t ons_float_to_half(float value) {
    uint32_t bits = bits_of_float(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return sign | 0x7e00;
    if (bits >= 0x477ff000) /* rounds past the largest half */
        return sign | 0x7c00;
    if (bits < 0x38800000) { /* subnormal: let the adder round at the right place */
        float shifted = float_from_bits(bits) + 0.5f;
        return (uint16_t)(sign | (bits_of_float(shifted) - 0x3f000000));
    }
    uint32_t rounded = bits + 0xfff + (bits >> 13 & 1);
    return (uint16_t)(sign | ((rounded - 0x38000000) >> 13));
}

float ons_bfloat16_to_float(uint16_t bits) { return float_from_bits((uint32_t)bits << 16); }

uint16_t ons_float_to_bfloat16(float value) {
    uint32_t bits = bits_of_float(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
