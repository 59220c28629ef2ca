/* SequenceErase: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_sequence_erase[] = {
    {.name = "alone", .inputs = {ONS_F32(3)}, .error = "sequences"},
    {.name = NULL},
};
