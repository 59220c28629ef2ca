/* An Einsum as nodes: transposes, sums, and one matrix product or elementwise product for each further operand. */
#ifndef ONSTAGE_KERNELS_EINSUM_CONTRACT_H
#define ONSTAGE_KERNELS_EINSUM_CONTRACT_H

#include "kernels/einsum/equation.h"

/* A value and what its axes are. */
typedef struct ons_factor {
    ons_value_id value;
    ons_term term;
} ons_factor;

/* Builds Σ of the product of the factors over all labels that `result` does not have; every label of `result` is one of
 * a factor's. Operands are multiplied from the left to the right. */
ons_value_id ons_einsum_contract(ons_builder *builder, const int64_t *sizes, const ons_factor *factors, uint32_t count,
                                 const ons_term *result);

#endif
