/* Element types of 8 bits and fewer that quantised models use besides int8 and uint8.
 *
 * In memory every element takes a byte, whatever its bits; files pack those of 4 and 2 bits, the first element lowest.
 * Nothing is computed in these types: they are what Cast, QuantizeLinear and DequantizeLinear convert from and to.
 * The numbers are those of TensorProto.DataType.
 */
#ifndef ONSTAGE_GRAPH_SMALL_TYPES_H
#define ONSTAGE_GRAPH_SMALL_TYPES_H

#include "graph/type.h"

#define ONS_FLOAT8E4M3FN   ((ons_dtype)17)
#define ONS_FLOAT8E4M3FNUZ ((ons_dtype)18)
#define ONS_FLOAT8E5M2     ((ons_dtype)19)
#define ONS_FLOAT8E5M2FNUZ ((ons_dtype)20)
#define ONS_UINT4          ((ons_dtype)21)
#define ONS_INT4           ((ons_dtype)22)
#define ONS_FLOAT4E2M1     ((ons_dtype)23)
#define ONS_FLOAT8E8M0     ((ons_dtype)24)
#define ONS_UINT2          ((ons_dtype)25)
#define ONS_INT2           ((ons_dtype)26)

bool ons_is_small_float(ons_dtype dtype);
bool ons_is_small_integer(ons_dtype dtype);

/* Bits of an element in a file: 2, 4 or 8. */
uint32_t ons_small_bits(ons_dtype dtype);

/* What a code of a small float stands for, and the code nearest to a value: of two equally near ones the even, beyond
 * the ends the last finite one. Infinity is itself where the type has it. */
double ons_small_float_decode(ons_dtype dtype, uint8_t code);
uint8_t ons_small_float_encode(ons_dtype dtype, double value);

typedef enum ons_power_rounding { ONS_POWER_UP, ONS_POWER_DOWN, ONS_POWER_NEAREST } ons_power_rounding;

/* The value as the type can hold it. `saturate` false: beyond the ends it becomes infinity or NaN, as the type has it.
 * `rounding` is float8e8m0's, which knows powers of two alone. */
double ons_small_float_round(ons_dtype dtype, double value, bool saturate, ons_power_rounding rounding);

/* The lowest bits of an integer, with its sign. */
int64_t ons_small_integer_wrap(ons_dtype dtype, int64_t value);

#endif
