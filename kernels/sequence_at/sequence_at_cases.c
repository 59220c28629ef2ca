/* SequenceAt: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_sequence_at[] = {
    {.name = "alone", .inputs = {ONS_F32(3), ONS_I64_SCALAR(0)}, .error = "sequences"},
    {.name = NULL},
};
