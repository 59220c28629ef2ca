/* ConcatFromSequence: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_concat_from_sequence[] = {
    {.name = "alone", .inputs = {ONS_F32(3)}, .settings = {ONS_SET_INT("axis", 0)}, .error = "sequences"},
    {.name = NULL},
};
