/* AlignAxis: cases for tests and benchmarks. */
#include "kernels/align_axis/align_axis.h"
#include "kernels/case.h"

#define AT(AXIS) .settings = {ONS_SET_INT("axis", AXIS)}

const ons_case ons_cases_align_axis[] = {
    {.name = "channels", .inputs = {ONS_F32(3), ONS_F32(2, 3, 4, 5)}, AT(1)},
    {.name = "middle", .inputs = {ONS_F32(3, 4), ONS_F32(2, 3, 4, 5)}, AT(1)},
    {.name = "end", .inputs = {ONS_F32(4, 5), ONS_F32(2, 3, 4, 5)}, AT(2)},
    {.name = "negative", .inputs = {ONS_F32(3), ONS_F32(2, 3, 4)}, AT(-2)},
    {.name = "one", .inputs = {ONS_F32(1), ONS_F32(2)}, AT(1)},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, AT(0)},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 3), ONS_RANDOM(ONS_INT64, -9, 9, 3, 2)}, AT(0)},
    {.name = "too_far", .inputs = {ONS_F32(3), ONS_F32(2, 3)}, AT(2), .error = "from axis 2"},
    {.name = "too_long", .inputs = {ONS_F32(2, 3, 4), ONS_F32(2, 3)}, AT(0), .error = "rank 3"},
    {.name = NULL},
};
