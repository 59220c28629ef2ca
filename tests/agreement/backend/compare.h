/* Whether a result is what the official data says, by the rule of onnx's own runner. */
#ifndef ONSTAGE_TESTS_AGREEMENT_BACKEND_COMPARE_H
#define ONSTAGE_TESTS_AGREEMENT_BACKEND_COMPARE_H

#include <stdbool.h>

#include "graph/type.h"

/* Type and shape exactly, integers exactly, floats within 1e-7 + 1e-3 |expected| (the half types within two units in
 * the last place); infinities and NaN only where they are expected. *values_only: nothing but the values of elements
 * differ. */
ons_status *backend_compare(const ons_tensor *got, const ons_tensor *expected, bool *values_only);

#endif
