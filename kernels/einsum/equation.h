/* The equation of an Einsum: which axes of the operands are the same index, and which of them the result has. */
#ifndef ONSTAGE_KERNELS_EINSUM_EQUATION_H
#define ONSTAGE_KERNELS_EINSUM_EQUATION_H

#include "kernels/common/operator/kernel.h"

/* Letters A-Z and a-z in the order of ASCII, then the axes that an ellipsis stands for, counted so that the last axis
 * is the last label. */
enum { ONS_EINSUM_LETTERS = 52, ONS_EINSUM_LABELS = ONS_EINSUM_LETTERS + ONS_RANK_MAX, ONS_EINSUM_OPERANDS = 32 };

/* A set of labels. */
typedef uint64_t ons_labels;
#define ONS_LABEL_BIT(label) ((ons_labels)1 << (label))

/* The labels of an operand's axes. */
typedef struct ons_term {
    uint32_t rank;
    uint8_t labels[ONS_RANK_MAX];
} ons_term;

typedef struct ons_einsum {
    uint32_t count;
    ons_term operands[ONS_EINSUM_OPERANDS];
    ons_term result;
    int64_t sizes[ONS_EINSUM_LABELS]; /* an operand may have 1 instead: it repeats along that axis */
} ons_einsum;

ons_labels ons_term_labels(const ons_term *term);

/* Reads the equation for operands of these types. Fails with the node's name. */
ons_status *ons_einsum_read(const ons_operands *o, const char *equation, ons_einsum *einsum);

#endif
