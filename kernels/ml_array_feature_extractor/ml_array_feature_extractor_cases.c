/* ArrayFeatureExtractor: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_ml_array_feature_extractor[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 1, 3)}, .flops = 0},
    {.name = "classes", .inputs = {ONS_RANDOM(ONS_INT32, 0, 99, 10), ONS_RANDOM(ONS_INT64, 0, 9, 4, 1)}, .flops = 0},
    {.name = "outside",
     .inputs = {ONS_F32(5, 7),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1), .value_count = 1, .values = {7}, .constant = true}},
     .error = "7"},
    {.name = "number", .inputs = {ONS_F32(), ONS_RANDOM(ONS_INT64, 0, 6, 1)}, .error = "columns"},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(5, 7), {.dtype = ONS_INT64, .shape = ONS_DIMS(1), .value_count = 1, .values = {7}}},
     .fault = "index"},
    {.name = NULL},
};
