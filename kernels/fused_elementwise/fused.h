/* Several elementwise operators as one node: what its attributes say.
 *
 *     steps    "Mul(0,1);Clip(2,-,0);LeakyRelu[0f=0x1.99999ap-4](3);Cast[0i=16](4)"
 *     outputs  [5]
 *
 * Inputs are numbered from 0, steps go on from there; "-" is an operand left out. Each step is an operator of the table
 * of formulas (formulas.h) with the attributes that are not left out, by position, i, f or s saying how: an integer, a
 * float, a word. Every step has the same shape, to which the inputs broadcast, and a type of its own. `outputs` are the
 * steps that somebody else reads; what the others make is never in memory. */
#ifndef ONSTAGE_KERNELS_FUSED_ELEMENTWISE_FUSED_H
#define ONSTAGE_KERNELS_FUSED_ELEMENTWISE_FUSED_H

#include "device/cuda_compiler.h"
#include "kernels/fused_elementwise/formulas.h"
#include "kernels/fused_elementwise/fused_arguments.h"

/* Results that a formula's operator can have; a chain takes the first. */
enum { ONS_FUSED_STEP_OUTPUTS = 2 };
enum { ONS_FUSED_OPERANDS = 8, ONS_FUSED_ATTRIBUTES = 8, ONS_FUSED_VALUES = ONS_FUSED_INPUTS + ONS_FUSED_STEPS };

typedef struct ons_fused_step {
    const ons_formula *formula;
    ons_operands operands;               /* arrays in the arena */
    uint32_t inputs[ONS_FUSED_OPERANDS]; /* ONS_NONE: left out */
    uint32_t first_join;                 /* row of its parameters */
    uint32_t joins;
} ons_fused_step;

typedef struct ons_fused {
    uint32_t input_count, step_count, output_count;
    ons_fused_step steps[ONS_FUSED_STEPS];
    ons_type types[ONS_FUSED_VALUES]; /* inputs, then steps */
    uint32_t outputs[ONS_FUSED_OUTPUTS];
    uint32_t width; /* elements that ons_fused_wide makes at a time: 16 bytes of float32 or of half types. From 8 it
                       may be made 4 where shapes want it */
} ons_fused;

/* An element type of the kernels, as they call it; NULL for others. */
const char *ons_fused_element(ons_dtype dtype);

/* The formula of an operator; NULL where it has none. */
const ons_formula *ons_formula_of(const ons_operator *op);

/* Whether the node can be a step: a formula, types that the kernels compute in, attributes that can be written. */
bool ons_fused_takes(const ons_operands *o);

/* Writes a step's text, "Mul(0,1)"; false where it is longer than `size`. */
bool ons_fused_write_step(const ons_operands *o, const uint32_t *inputs, char *text, size_t size);

/* Reads the node's attributes and infers all types. Fails with the node's name. */
ons_status *ons_fused_read(const ons_operands *o, ons_arena *arena, ons_fused *fused);

/* The kernels ons_fused_wide and ons_fused_1 of fused.cuh, and every header that they include once. In `arena`. */
ons_status *ons_fused_source(const ons_fused *fused, ons_arena *arena, ons_cuda_source *source);

#endif
