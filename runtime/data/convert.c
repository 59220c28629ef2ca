#include "runtime/data/convert.h"

#include <string.h>

/* Elements in files may lie at any address. */
#define UNALIGNED __attribute__((aligned(1), may_alias))
typedef float f32 UNALIGNED;
typedef double f64 UNALIGNED;
typedef int8_t i8 UNALIGNED;
typedef int16_t i16 UNALIGNED;
typedef int32_t i32 UNALIGNED;
typedef int64_t i64 UNALIGNED;
typedef uint8_t u8 UNALIGNED;
typedef uint16_t u16 UNALIGNED;
typedef uint32_t u32 UNALIGNED;
typedef uint64_t u64 UNALIGNED;

typedef bool convert_function(const void *source, void *destination, size_t count);

/* Converts element `i`; true: something of it was lost. */
typedef bool convert_element(const void *source, void *destination, size_t i);

/* Compiled for each pair of types. */
__attribute__((always_inline)) static inline bool convert_elements(const void *source, void *destination, size_t count,
                                                                   convert_element *convert) {
    int lost = 0;
    for (size_t i = 0; i < count; ++i) lost |= convert(source, destination, i);
    return lost == 0;
}

/* What becomes of an element, `wide`, and whether that, `narrow`, is something else. */
#define CONVERT(NAME, FROM, TO, NARROW, LOST)                                                                          \
    static inline bool NAME##_element(const void *source, void *destination, size_t i) {                               \
        const FROM wide = ((const FROM *)source)[i];                                                                   \
        const TO narrow = (NARROW);                                                                                    \
        ((TO *)destination)[i] = narrow;                                                                               \
        return LOST;                                                                                                   \
    }                                                                                                                  \
    static bool NAME(const void *source, void *destination, size_t count) {                                            \
        return convert_elements(source, destination, count, NAME##_element);                                           \
    }

/* Floats take any number. */
#define TO_FLOAT(NAME, FROM, TO) CONVERT(NAME, FROM, TO, (TO)wide, false)

/* An integer must survive: same value and, where signedness differs, same sign. */
#define TO_INTEGER(NAME, FROM, TO)                                                                                     \
    CONVERT(NAME, FROM, TO, (TO)wide, ((FROM)narrow != wide) | ((narrow < 1 && narrow != 0) != (wide < 1 && wide != 0)))

#define TO_BOOL(NAME, FROM) CONVERT(NAME, FROM, u8, wide != 0, false)

#define FROM_INTEGER(T)                                                                                                \
    TO_FLOAT(T##_f32, T, f32)                                                                                          \
    TO_FLOAT(T##_f64, T, f64)                                                                                          \
    TO_INTEGER(T##_i8, T, i8)                                                                                          \
    TO_INTEGER(T##_i16, T, i16)                                                                                        \
    TO_INTEGER(T##_i32, T, i32)                                                                                        \
    TO_INTEGER(T##_i64, T, i64)                                                                                        \
    TO_INTEGER(T##_u8, T, u8)                                                                                          \
    TO_INTEGER(T##_u16, T, u16)                                                                                        \
    TO_INTEGER(T##_u32, T, u32)                                                                                        \
    TO_INTEGER(T##_u64, T, u64)                                                                                        \
    TO_BOOL(T##_bool, T)

FROM_INTEGER(i8)
FROM_INTEGER(i16)
FROM_INTEGER(i32)
FROM_INTEGER(i64)
FROM_INTEGER(u8)
FROM_INTEGER(u16)
FROM_INTEGER(u32)
FROM_INTEGER(u64)
TO_FLOAT(f64_f32, f64, f32)
TO_FLOAT(f32_f64, f32, f64)

enum { DTYPES = ONS_BFLOAT16 + 1 };

#define ROW(T)                                                                                                         \
    {                                                                                                                  \
        [ONS_FLOAT32] = T##_f32, [ONS_FLOAT64] = T##_f64, [ONS_INT8] = T##_i8, [ONS_INT16] = T##_i16,                  \
        [ONS_INT32] = T##_i32, [ONS_INT64] = T##_i64, [ONS_UINT8] = T##_u8, [ONS_UINT16] = T##_u16,                    \
        [ONS_UINT32] = T##_u32, [ONS_UINT64] = T##_u64, [ONS_BOOL] = T##_bool                                          \
    }

/* Without the 16-bit floats, which go through float32. */
static convert_function *const direct[DTYPES][DTYPES] = {
    [ONS_INT8] = ROW(i8),
    [ONS_INT16] = ROW(i16),
    [ONS_INT32] = ROW(i32),
    [ONS_INT64] = ROW(i64),
    [ONS_UINT8] = ROW(u8),
    [ONS_UINT16] = ROW(u16),
    [ONS_UINT32] = ROW(u32),
    [ONS_UINT64] = ROW(u64),
    [ONS_BOOL] = ROW(u8),
    [ONS_FLOAT32] = {[ONS_FLOAT64] = f32_f64},
    [ONS_FLOAT64] = {[ONS_FLOAT32] = f64_f32},
};

static bool is_short_float(ons_dtype dtype) { return dtype == ONS_FLOAT16 || dtype == ONS_BFLOAT16; }

/* What is known about `dtype` in the table's terms. */
static ons_dtype long_form(ons_dtype dtype) { return is_short_float(dtype) ? ONS_FLOAT32 : dtype; }

bool ons_convert_possible(ons_dtype from, ons_dtype to) {
    if (ons_dtype_size(from) == 0 || ons_dtype_size(to) == 0) return false;
    return from == to || long_form(from) == long_form(to) || direct[long_form(from)][long_form(to)] != NULL;
}

static void widen(ons_dtype from, const void *source, float *destination, size_t count) {
    const u16 *x = source;
    for (size_t i = 0; i < count; ++i)
        destination[i] = from == ONS_FLOAT16 ? ons_half_to_float(x[i]) : ons_bfloat16_to_float(x[i]);
}

static void narrow(ons_dtype to, const float *source, void *destination, size_t count) {
    u16 *y = destination;
    for (size_t i = 0; i < count; ++i)
        y[i] = to == ONS_FLOAT16 ? ons_float_to_half(source[i]) : ons_float_to_bfloat16(source[i]);
}

/* A few elements, through float32. */
enum { PIECE = 256 };

static void convert_piece(ons_dtype from, const void *source, ons_dtype to, void *destination, size_t count) {
    float wide[PIECE];
    if (is_short_float(from))
        widen(from, source, wide, count);
    else if (from == ONS_FLOAT32)
        memcpy(wide, source, count * sizeof wide[0]);
    else
        direct[from][ONS_FLOAT32](source, wide, count);
    if (is_short_float(to))
        narrow(to, wide, destination, count);
    else if (to == ONS_FLOAT32)
        memcpy(destination, wide, count * sizeof wide[0]);
    else
        direct[ONS_FLOAT32][to](wide, destination, count);
}

bool ons_convert(ons_dtype from, const void *source, ons_dtype to, void *destination, size_t count) {
    if (!ons_convert_possible(from, to)) return false;
    if (count == 0) return true;
    size_t from_size = ons_dtype_size(from), to_size = ons_dtype_size(to);
    if (from == to) {
        memcpy(destination, source, count * to_size);
        return true;
    }
    if (!is_short_float(from) && !is_short_float(to)) return direct[from][to](source, destination, count);
    for (size_t done = 0; done < count; done += PIECE) {
        size_t piece = count - done < PIECE ? count - done : PIECE;
        convert_piece(from, (const char *)source + done * from_size, to, (char *)destination + done * to_size, piece);
    }
    return true;
}
