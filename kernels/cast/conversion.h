/* Conversion between element types: Cast and CastLike, which differ only in where the target stands.
 *
 * Floats become integers by truncation towards zero; what does not fit becomes the nearest that does, NaN becomes 0
 * (ONNX leaves both open), but those of 4 and 2 bits wrap around. Integers among themselves wrap around. Everything but
 * zero is true.
 */
#ifndef ONSTAGE_KERNELS_CAST_CONVERSION_H
#define ONSTAGE_KERNELS_CAST_CONVERSION_H

#include <string.h>

#include "graph/small_types.h"
#include "kernels/common/operator/kernel.h"

/* For inference: output 0 like input 0, with another dtype, which must be one that has bytes. */
ons_status *ons_cast_infer(ons_operands *o, ons_dtype to);

ons_reference_function ons_cast_reference;
ons_prepare_function ons_cast_prepare;
ons_run_function ons_cast_run;

/* A decomposition: a conversion to the type that the value has already is nothing at all. */
ons_decompose_function ons_cast_decompose;

/* A gradient rule: back to the input's type. */
ons_gradient_function ons_cast_gradient;

/* How a small float takes what it cannot hold. */
typedef struct ons_cast_rounding {
    bool saturate;
    ons_power_rounding power;
} ons_cast_rounding;

static inline const ons_attribute *ons_cast_find_attribute(const ons_operands *o, const char *name) {
    for (uint32_t i = 0; o->op->attributes[i].name != NULL; ++i)
        if (strcmp(o->op->attributes[i].name, name) == 0) return &o->attributes[i];
    return NULL;
}

static inline ons_cast_rounding ons_cast_rounding_of(const ons_operands *o) {
    const ons_attribute *saturate = ons_cast_find_attribute(o, "saturate"),
                        *mode = ons_cast_find_attribute(o, "round_mode");
    const char *name = mode == NULL || mode->kind != ONS_ATTRIBUTE_STRING ? "up" : mode->s;
    return (ons_cast_rounding){
        .saturate = saturate == NULL || saturate->kind != ONS_ATTRIBUTE_INT || saturate->i != 0,
        .power = strcmp(name, "down") == 0      ? ONS_POWER_DOWN
                 : strcmp(name, "nearest") == 0 ? ONS_POWER_NEAREST
                                                : ONS_POWER_UP,
    };
}

void ons_cast_convert_words(ons_dtype from, ons_dtype to, ons_cast_rounding how, const void *in, void *out,
                            int64_t count);

#endif
