/* MaxRoiPoolGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_max_roi_pool_gradient[] = {
    {.name = "two_regions",
     .inputs =
         {ONS_F32(2, 3, 2, 3),
          {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(2, 5), .value_count = 10, .values = {0, 1, 1, 4, 5, 1, 0, 2, 6, 3}},
          ONS_RANDOM(ONS_INT32, -1, 41, 2, 3, 2, 3)},
     .settings = {ONS_SET_INTS("input_shape", 2, 3, 6, 7)},
     .tolerance = 1e-6,
     .flops = 36},
    {.name = "vgg",
     .inputs = {ONS_F32(64, 512, 7, 7),
                {.dtype = ONS_FLOAT32,
                 .shape = ONS_DIMS(64, 5),
                 .value_count = 10,
                 .values = {0, 20, 20, 500, 400, 1, 64, 10, 300, 333}},
                ONS_RANDOM(ONS_INT32, 0, 1899, 64, 512, 7, 7)},
     .settings = {ONS_SET_INTS("input_shape", 2, 512, 38, 50)},
     .tolerance = 1e-6,
     .flops = 1605632,
     .benchmark = true},
    {.name = NULL},
};
