/* Operators on ONNX's sequences. While shapes are bound a sequence is known value by value
 * (graph/passes/replacement.h); what is left afterwards works on tensors alone. */
#ifndef ONSTAGE_KERNELS_SEQUENCES_SEQUENCES_H
#define ONSTAGE_KERNELS_SEQUENCES_SEQUENCES_H

#include "graph/passes/replacement.h"
#include "kernels/common/operator/kernel.h"

/* The inference of them all: fails, as none can stand in a bound graph. */
ons_status *ons_infer_sequence(ons_operands *o);

/* A position among `count` elements (from the end where it is negative) by input `input`, or `otherwise` where that is
 * left out. */
ons_status *ons_sequence_position(const ons_replacement *m, uint32_t input, uint32_t count, uint32_t otherwise,
                                  uint32_t *position);

#define ONS_DEFINE_SEQUENCE_OPERATOR(SYMBOL, NAME, FIRST, ARITY, ATTRIBUTES, RESOLVE)                                  \
    const ons_operator ons_op_##SYMBOL = {NAME,                                                                        \
                                          ONS_ONNX(FIRST, ONS_NEWEST),                                                 \
                                          ARITY,                                                                       \
                                          ATTRIBUTES,                                                                  \
                                          ons_infer_sequence,                                                          \
                                          ons_cost_free,                                                               \
                                          ONS_NOT_DIFFERENTIABLE("sequences are resolved when shapes are bound"),      \
                                          ONS_SAVES_NOTHING,                                                           \
                                          ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_SEQUENCES, 0),                              \
                                          ONS_NO_ALIASES,                                                              \
                                          ONS_PLAIN_LAYOUT,                                                            \
                                          ONS_FORMS(NULL, ONS_NO_PATTERNS, RESOLVE),                                   \
                                          NULL}

#endif
