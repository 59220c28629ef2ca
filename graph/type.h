/* What a value is: element type, logical shape, layout in memory. */
#ifndef ONSTAGE_GRAPH_TYPE_H
#define ONSTAGE_GRAPH_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/at_least.h"
#include "base/status.h"

/* Numbered as ONNX's TensorProto.DataType. */
typedef enum ons_dtype {
    ONS_NO_DTYPE = 0, /* an optional input or output that is left out */
    ONS_FLOAT32 = 1,
    ONS_UINT8 = 2,
    ONS_INT8 = 3,
    ONS_UINT16 = 4,
    ONS_INT16 = 5,
    ONS_INT32 = 6,
    ONS_INT64 = 7,
    ONS_STRING = 8, /* named in messages only */
    ONS_BOOL = 9,
    ONS_FLOAT16 = 10,
    ONS_FLOAT64 = 11,
    ONS_UINT32 = 12,
    ONS_UINT64 = 13,
    ONS_BFLOAT16 = 16,
} ons_dtype;

enum { ONS_RANK_MAX = 8 };

/* A dimension that is not yet bound to a number; only in a graph fresh from a file. */
enum { ONS_DIM_UNKNOWN = -1 };

typedef struct ons_shape {
    uint32_t rank;
    int64_t dims[ONS_RANK_MAX]; /* unused ones are 0 */
} ons_shape;

/* How the elements lie in memory. 0 is ONNX's order (row-major, dense). Any other number belongs to kernels/, which
 * alone knows its meaning; the rest of the program compares and carries it. */
typedef uint32_t ons_layout;
enum { ONS_LAYOUT_ONNX = 0 };

typedef struct ons_type {
    ons_dtype dtype;
    ons_layout layout;
    ons_shape shape;
} ons_type;

/* A type together with its bytes. Not the owner. */
typedef struct ons_tensor {
    ons_type type;
    const void *data; /* NULL: contents not known */
} ons_tensor;

/* Bytes of one element; 0 for ONS_NO_DTYPE and ONS_STRING. */
size_t ons_dtype_size(ons_dtype dtype);
const char *ons_dtype_name(ons_dtype dtype); /* "float32" */
bool ons_dtype_is_float(ons_dtype dtype);
bool ons_dtype_is_half(ons_dtype dtype);    /* float16 or bfloat16 */
bool ons_dtype_is_integer(ons_dtype dtype); /* bool is not */

ons_shape ons_shape_make(uint32_t rank, const int64_t *dims);
bool ons_shape_equal(const ons_shape *a, const ons_shape *b);
/* Product of dims [first, last). The shape has passed ons_shape_check. */
int64_t ons_shape_span(const ons_shape *shape, uint32_t first, uint32_t last);
int64_t ons_shape_elements(const ons_shape *shape);
/* Fails unless every dim is ≥ 0 and the product of the elements with 16 bytes each fits into int64. */
ons_status *ons_shape_check(const ons_shape *shape);

ons_type ons_type_make(ons_dtype dtype, ons_shape shape);
bool ons_type_equal(const ons_type *a, const ons_type *b);
/* Bytes in ONNX's order, whatever the layout says. */
int64_t ons_type_dense_bytes(const ons_type *type);

/* "float32[2,3]"; at most `size` bytes with the terminator. Returns `text`. */
enum { ONS_TYPE_TEXT = 160 };
const char *ons_type_print(const ons_type *type, char text[ONS_AT_LEAST(ONS_TYPE_TEXT)]);

/* ONNX's multidirectional broadcasting. False where the shapes do not agree. */
bool ons_shape_broadcast(const ons_shape *a, const ons_shape *b, ons_shape *result);

/* A negative axis counts from the end; false where the axis lies outside [-rank, rank). */
bool ons_axis_resolve(int64_t axis, uint32_t rank, uint32_t *resolved);

/* IEEE half and bfloat16 from and to float, by bits; round to nearest even. */
float ons_half_to_float(uint16_t bits);
uint16_t ons_float_to_half(float value);
float ons_bfloat16_to_float(uint16_t bits);
uint16_t ons_float_to_bfloat16(float value);

#endif
