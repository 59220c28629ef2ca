/* IsInf: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

#define FOUR_VALUES                                                                                                    \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = ONS_DIMS(4), .value_count = 4, .values = { NAN, INFINITY, -INFINITY, 0 }        \
    }

const ons_case ons_cases_is_inf[] = {
    ONS_UNARY_CASES(-1, 1, 0),
    {.name = "both", .inputs = {FOUR_VALUES}, .flops = 4},
    {.name = "negative", .inputs = {FOUR_VALUES}, .settings = {ONS_SET_INT("detect_positive", 0)}, .flops = 4},
    {.name = "positive", .inputs = {FOUR_VALUES}, .settings = {ONS_SET_INT("detect_negative", 0)}, .flops = 4},
    {.name = NULL},
};
