/* The formulas of elementwise operators as CUDA's own source: what kernels/fused_elementwise puts together and has
 * compiled at run time. The table is made by tools/build/formulas.sh from the operators' .cu files, whose text it
 * holds. */
#ifndef ONSTAGE_KERNELS_FUSED_ELEMENTWISE_FORMULAS_H
#define ONSTAGE_KERNELS_FUSED_ELEMENTWISE_FORMULAS_H

#include "kernels/common/operator/kernel.h"

/* Which of cuda_formula.cuh's macros made it: how many operands it has and of which types. */
typedef enum ons_formula_kind {
    ONS_FORMULA_UNARY,      /* one; the result is of its type */
    ONS_FORMULA_BINARY,     /* two of one type, which is the result's */
    ONS_FORMULA_VARIADIC,   /* any number of one type, which is the result's: two at a time from the first on */
    ONS_FORMULA_COMPARISON, /* two of one type; the result is a truth value */
    ONS_FORMULA_LOGIC,      /* two truth values, and one as the result */
    ONS_FORMULA_TEST,       /* one; the result is a truth value */
    ONS_FORMULA_TERNARY,    /* three of one type, which is the result's */
    ONS_FORMULA_MIXED,      /* what the operator has, of any types; some may be left out */
    ONS_FORMULA_TYPED,      /* what the operator has, of any types; the formula is a template by the result's type */
} ons_formula_kind;

typedef struct ons_formula {
    const ons_operator *op;
    const char *symbol; /* its struct is SYMBOL_formula */
    ons_formula_kind kind;
    const char *file; /* "kernels/relu/relu.cu" */
    const char *text; /* of that file */
} ons_formula;

extern const ons_formula ons_formulas[];
extern const uint32_t ons_formula_count;

/* Headers that the files include, by the names under which they do. */
typedef struct ons_formula_header {
    const char *name;
    const char *text;
} ons_formula_header;
enum { ONS_FORMULA_HEADERS = 4 };
extern const ons_formula_header ons_formula_headers[ONS_FORMULA_HEADERS];

#endif
