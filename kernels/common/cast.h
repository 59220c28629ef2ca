/* Conversion between element types: Cast and CastLike, which differ only in where the target stands.
 *
 * Floats become integers by truncation towards zero; what does not fit becomes the nearest that does, NaN becomes 0
 * (ONNX leaves both open), but those of 4 and 2 bits wrap around. Integers among themselves wrap around. Everything but
 * zero is true.
 */
#ifndef ONSTAGE_KERNELS_COMMON_CAST_H
#define ONSTAGE_KERNELS_COMMON_CAST_H

#include "kernels/common/kernel.h"

/* For inference: output 0 like input 0, with another dtype, which must be one that has bytes. */
ons_status *ons_cast_infer(ons_operands *o, ons_dtype to);

ons_reference_function ons_cast_reference;
ons_prepare_function ons_cast_prepare;
ons_run_function ons_cast_run;

/* A mode function: a conversion to the type that the value has already is nothing at all. */
ons_mode_function ons_cast_mode;

/* A gradient rule: back to the input's type. */
ons_gradient_function ons_cast_gradient;

#endif
