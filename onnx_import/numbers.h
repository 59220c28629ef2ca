/* Single numbers of a model: parameters (a learned temperature) among the constants of a computation. */
#ifndef ONSTAGE_ONNX_IMPORT_NUMBERS_H
#define ONSTAGE_ONNX_IMPORT_NUMBERS_H

#include "graph/store.h"

typedef enum ons_number_kind {
    ONS_NUMBER_FREE,     /* nothing explains it */
    ONS_NUMBER_ROUND,    /* 0, ±1, 2, a half: where a parameter may start, and what computations are full of */
    ONS_NUMBER_COMPUTED, /* what sizes give (1/√64, 1/49), an epsilon, a large number of a mask, a number of an
                            approximation, a logarithm of 2, 10 or 2π */
} ons_number_kind;

/* Of the one element of a float tensor; ONS_NUMBER_COMPUTED where it is missing. */
ons_number_kind ons_number_kind_of(const ons_tensor *tensor);

/* Whether a name could be a module's for a number of its own ("t", "clip.logit_scale"), and not one that an exporter
 * made up ("onnx::Mul_12", "/norm/Constant_1", "mul_3"). */
bool ons_may_name_number(const char *name);

/* Whether it is spelled as learned numbers often are: "temperature", "alpha". Says nothing alone. */
bool ons_is_spelled_as_parameter(const char *name);

#endif
