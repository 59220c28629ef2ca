/* SequenceEmpty: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_sequence_empty[] = {
    {.name = "alone", .error = "sequences"},
    {.name = NULL},
};
