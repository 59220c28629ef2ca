/* The gradient of an official case against finite differences, both by the references, in double. */
#ifndef ONSTAGE_TESTS_AGREEMENT_BACKEND_GRADIENT_H
#define ONSTAGE_TESTS_AGREEMENT_BACKEND_GRADIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/agreement/backend/case.h"

typedef struct gradient_result {
    bool differentiable; /* something was checked; else the reason says why not */
    bool agrees;         /* every element that was checked does */
    double error;        /* the worst one, relative to the largest element of its gradient, or to 1 */
    uint32_t elements;   /* that were checked, with each float output in turn */
    uint32_t kinks;      /* of these: where the function has no derivative, see README.md */
    uint32_t rounded;    /* of these: compared coarsely, since a cast to half precision makes steps */
    bool single;         /* the case is one node; else a function's body */
    char operator_name[BACKEND_OPERATOR];
    char reason[BACKEND_REASON];
} gradient_result;

/* In a process of its own. */
void backend_gradient_apart(const char *folder, gradient_result *result);

#endif
