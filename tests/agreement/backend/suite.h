/* All cases below a folder: the packaged set, or one that onnx's own tools have generated. */
#ifndef ONSTAGE_TESTS_AGREEMENT_BACKEND_SUITE_H
#define ONSTAGE_TESTS_AGREEMENT_BACKEND_SUITE_H

#include <stddef.h>

#include "base/vector.h"
#include "tests/agreement/backend/case.h"

typedef struct suite_case {
    char *folder;
    const char *name; /* "test_relu" */
    char *set;        /* "node", "simple", … */
    backend_result result;
} suite_case;

typedef struct suite {
    ONS_VECTOR(suite_case) cases; /* by set, then by name */
} suite;

/* Finds the folders with a model.onnx, up to three levels below `folder`. The models in real/ are not among them: they
 * would have to be downloaded. */
ons_status *suite_find(const char *folder, suite *found);
void suite_free(suite *s);

/* Where the packaged set is: the environment variable ONSTAGE_BACKEND_DATA, set by the test's rule, else its installed
 * place. */
const char *suite_packaged(void);

#endif
