/* A case of an operator: operands, attributes, and what must come of them. Tests and benchmarks expand the cases of
 * every operator, which stand in its folder, in NAME_cases.c; the program holds none of them. */
#ifndef ONSTAGE_KERNELS_CASE_H
#define ONSTAGE_KERNELS_CASE_H

#include "graph/operator.h"

enum { ONS_CASE_OPERANDS = 12, ONS_CASE_VALUES = 16, ONS_CASE_SETTINGS = 8 };

/* An input of a case: random values in [low, high], or given integers or floats. */
typedef struct ons_case_input {
    ons_dtype dtype;
    ons_shape shape;
    double low, high;
    uint32_t value_count; /* > 0: `values` in order, repeated where there are fewer than elements */
    double values[ONS_CASE_VALUES];
    bool constant; /* contents known when shapes are inferred (axes, shapes) */
} ons_case_input;

typedef struct ons_case_setting {
    const char *name; /* NULL: end */
    ons_attribute value;
} ons_case_setting;

typedef struct ons_case {
    const char *name; /* NULL: end of the list */
    ons_case_input inputs[ONS_CASE_OPERANDS];
    ons_case_setting settings[ONS_CASE_SETTINGS];
    uint32_t outputs;  /* how many are asked for; 0 means 1 */
    double tolerance;  /* fp32 against the double reference, relative to max(1, |reference|); 0: exact */
    int roundings;     /* results on the way to the operator's own that kernels for half types round as well */
    double flops;      /* written by hand, checked against the cost function; < 0: not checked */
    bool no_gradient;  /* the gradient check skips it (a kink, or an input that is not differentiable here) */
    bool benchmark;    /* large: benchmarks run it, tests do not */
    const char *error; /* not NULL: shape inference must fail with a message that holds this text */
    const char *fault; /* not NULL: kernel and reference must report a fault of the data whose text holds this */
} ons_case;
#define ONS_CASES(...) ((const ons_case[]){__VA_ARGS__, {.name = NULL}})

#define ONS_DIMS(...)                                                                                                  \
    {                                                                                                                  \
        sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), { __VA_ARGS__ }                                            \
    }
/* ONS_F32(2, 3): random in [-1, 1]. ONS_F32_IN(0.1, 2, 2, 3): the same shape in [0.1, 2]. */
#define ONS_F32(...)                                                                                                   \
    { .dtype = ONS_FLOAT32, .shape = ONS_DIMS(__VA_ARGS__), .low = -1, .high = 1 }
#define ONS_F32_IN(LOW, HIGH, ...)                                                                                     \
    { .dtype = ONS_FLOAT32, .shape = ONS_DIMS(__VA_ARGS__), .low = (LOW), .high = (HIGH) }
#define ONS_F32_SCALAR(VALUE)                                                                                          \
    { .dtype = ONS_FLOAT32, .value_count = 1, .values = {VALUE}, .constant = true }
#define ONS_RANDOM(DTYPE, LOW, HIGH, ...)                                                                              \
    { .dtype = (DTYPE), .shape = ONS_DIMS(__VA_ARGS__), .low = (LOW), .high = (HIGH) }
/* ONS_I64(0, -1): a known vector of int64. */
#define ONS_I64(...)                                                                                                   \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = {1, {sizeof((double[]){__VA_ARGS__}) / sizeof(double)}},                          \
        .value_count = sizeof((double[]){__VA_ARGS__}) / sizeof(double), .values = {__VA_ARGS__}, .constant = true     \
    }
#define ONS_I64_SCALAR(VALUE)                                                                                          \
    { .dtype = ONS_INT64, .value_count = 1, .values = {VALUE}, .constant = true }
#define ONS_LEFT_OUT                                                                                                   \
    { .dtype = ONS_NO_DTYPE }
#define ONS_SET_INT(NAME, VALUE)                                                                                       \
    {                                                                                                                  \
        (NAME), { .kind = ONS_ATTRIBUTE_INT, .i = (VALUE) }                                                            \
    }
#define ONS_SET_FLOAT(NAME, VALUE)                                                                                     \
    {                                                                                                                  \
        (NAME), { .kind = ONS_ATTRIBUTE_FLOAT, .f = (VALUE) }                                                          \
    }
#define ONS_SET_STRING(NAME, VALUE)                                                                                    \
    {                                                                                                                  \
        (NAME), { .kind = ONS_ATTRIBUTE_STRING, .s = (VALUE) }                                                         \
    }
#define ONS_SET_INTS(NAME, ...)                                                                                        \
    {                                                                                                                  \
        (NAME), {                                                                                                      \
            .kind = ONS_ATTRIBUTE_INTS, .count = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                   \
            .ints = (const int64_t[]) {                                                                                \
                __VA_ARGS__                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }

/* The cases of an operator: the list ends with one without a name. NULL for an operator that is not in the registry.
 * Of the library //kernels:cases, which tests and benchmarks link. */
const ons_case *ons_cases_of(const ons_operator *op);

#endif
