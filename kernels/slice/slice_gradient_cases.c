/* SliceGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

#define OF_SHAPE(...) .settings = {ONS_SET_INTS("shape", __VA_ARGS__)}

const ons_case ons_cases_slice_gradient[] = {
    {.name = "middle", .inputs = {ONS_F32(3, 4), ONS_I64(1, 2), ONS_I64(4, 6)}, OF_SHAPE(5, 7)},
    {.name = "backwards",
     .inputs = {ONS_F32(4, 3), ONS_I64(-1), ONS_I64((double)INT64_MIN), ONS_I64(1), ONS_I64(-2)},
     OF_SHAPE(4, 5)},
    {.name = "everything", .inputs = {ONS_F32(4, 3), ONS_I64(0), ONS_I64(9), ONS_I64(1)}, OF_SHAPE(4, 3)},
    {.name = "nothing", .inputs = {ONS_F32(0, 3), ONS_I64(2), ONS_I64(1)}, OF_SHAPE(4, 3)},
    {.name = "threads", .inputs = {ONS_F32(60, 500), ONS_I64(100), ONS_I64(600), ONS_I64(1)}, OF_SHAPE(60, 700)},
    {.name = "misfit",
     .inputs = {ONS_F32(3, 4), ONS_I64(0), ONS_I64(2)},
     OF_SHAPE(5, 7),
     .error = "shape of the slice"},
    {.name = "large",
     .inputs = {ONS_F32(16, 256, 768), ONS_I64(768), ONS_I64(1536), ONS_I64(2)},
     OF_SHAPE(16, 256, 2304),
     .benchmark = true},
    {.name = NULL},
};
