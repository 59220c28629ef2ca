/* One official backend case: a folder with model.onnx and test_data_set_N/{input,output}_I.pb. */
#ifndef ONSTAGE_TESTS_AGREEMENT_BACKEND_CASE_H
#define ONSTAGE_TESTS_AGREEMENT_BACKEND_CASE_H

#include "base/status.h"

typedef enum backend_verdict {
    BACKEND_PASS,  /* the program ran and all outputs agree */
    BACKEND_BOUND, /* they agree, but every input had to be known when shapes were bound, so nothing was left to run */
    BACKEND_FAIL,  /* the reason says what went wrong */
    BACKEND_OUTSIDE, /* not a matter of static graphs of numbers; the reason says why */
    BACKEND_VERDICTS,
} backend_verdict;

enum { BACKEND_REASON = 300, BACKEND_OPERATOR = 64 };

typedef struct backend_result {
    backend_verdict verdict;
    char reason[BACKEND_REASON];
    char operator_name[BACKEND_OPERATOR]; /* of the model's first node that is not a constant, or one unknown to us */
} backend_result;

/* In this process. */
void backend_run(const char *folder, backend_result *result);

/* In a process of its own: a crash or an endless loop is a failure of the case alone. */
void backend_run_apart(const char *folder, backend_result *result);

#endif
