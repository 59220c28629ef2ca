#include "tests/agreement/backend/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "graph/evaluate.h"

/* As onnx's own runner has it. */
static double tolerance_of(ons_dtype dtype) { return dtype == ONS_BFLOAT16 ? 0x1p-6 : 1e-3; }

static bool same_float(double got, double expected, double tolerance) {
    if (isnan(expected) || isnan(got)) return isnan(expected) && isnan(got);
    if (isinf(expected) || isinf(got)) return expected == got;
    return fabs(got - expected) <= 1e-7 + tolerance * fabs(expected);
}

static ons_status *compare_words(ons_dtype dtype, const void *got, const void *expected, int64_t count) {
    const double *got_float = got, *expected_float = expected;
    const int64_t *got_integer = got, *expected_integer = expected;
    for (int64_t i = 0; i < count; ++i) {
        if (ons_dtype_is_float(dtype))
            ONS_CHECK(same_float(got_float[i], expected_float[i], tolerance_of(dtype)), ONS_DEFECT,
                      "element %" PRId64 " is %.9g, not %.9g", i, got_float[i], expected_float[i]);
        else
            ONS_CHECK(got_integer[i] == expected_integer[i], ONS_DEFECT,
                      "element %" PRId64 " is %" PRId64 ", not %" PRId64, i, got_integer[i], expected_integer[i]);
    }
    return NULL;
}

ons_status *backend_compare(const ons_tensor *got, const ons_tensor *expected, bool *values_only) {
    char text[ONS_TYPE_TEXT], other[ONS_TYPE_TEXT];
    *values_only = false;
    ONS_CHECK(ons_type_equal(&got->type, &expected->type), ONS_DEFECT, "it is %s, not %s",
              ons_type_print(&got->type, text), ons_type_print(&expected->type, other));
    int64_t count = ons_shape_elements(&expected->type.shape);
    if (count == 0) return NULL;
    ONS_CHECK(got->data != NULL, ONS_DEFECT, "it has no place in the program");
    *values_only = true;
    void *words[2] = {calloc((size_t)count, 8), calloc((size_t)count, 8)};
    ons_status *status = words[0] == NULL || words[1] == NULL ? ons_status_out_of_memory() : NULL;
    if (status == NULL) {
        ons_widen(got->type.dtype, got->data, count, words[0]);
        ons_widen(expected->type.dtype, expected->data, count, words[1]);
        status = compare_words(expected->type.dtype, words[0], words[1], count);
    }
    free(words[0]), free(words[1]);
    return status;
}
