/* LossScale: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/loss_scale/loss_scale_node.h"

#define SCALED(VALUE) ONS_F32_SCALAR(VALUE)

#define COUNTED(GOOD, BAD)                                                                                             \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = ONS_DIMS(2), .value_count = 2, .values = {(GOOD), (BAD) }                       \
    }

#define SQUARE(VALUE)                                                                                                  \
    {                                                                                                                  \
        .dtype = ONS_FLOAT64, .value_count = 1, .values = {(VALUE) }                                                   \
    }

const ons_case ons_cases_loss_scale[] = {
    {.name = "finite",
     .inputs = {SCALED(1024), COUNTED(7, 3), SQUARE(65536), SQUARE(32768), SQUARE(4)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 5},
    {.name = "clipped",
     .inputs = {SCALED(1024), COUNTED(7, 3), SQUARE(0x1p40), SQUARE(0x1p41)},
     .settings = {ONS_SET_FLOAT("max_norm", 0.5)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 4},
    {.name = "grows",
     .inputs = {SCALED(4), COUNTED(1, 0), SQUARE(9)},
     .settings = {ONS_SET_FLOAT("interval", 2)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 3},
    {.name = "usual_interval",
     .inputs = {SCALED(4), COUNTED(1999, 0), SQUARE(9)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 3},
    {.name = "growth_ends",
     .inputs = {SCALED(0x1p100), COUNTED(1999, 0), SQUARE(9)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 3},
    {.name = "infinite",
     .inputs = {SCALED(1024), COUNTED(7, 3), SQUARE(9), SQUARE(INFINITY)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 4},
    {.name = "not_a_number",
     .inputs = {SCALED(1024), COUNTED(7, 3), SQUARE(9), SQUARE(NAN)},
     .settings = {ONS_SET_FLOAT("max_norm", 0.5)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 4},
    {.name = "shrinking_ends",
     .inputs = {SCALED(0x1p-24), COUNTED(7, 3), SQUARE(INFINITY)},
     .outputs = RESULTS,
     .tolerance = 1e-6,
     .flops = 3},
    {.name = "no_counts", .inputs = {SCALED(4), SCALED(4), SQUARE(9)}, .outputs = RESULTS, .error = "counts"},
    {.name = "no_sum", .inputs = {SCALED(4), COUNTED(0, 0), ONS_F32(1)}, .outputs = RESULTS, .error = "float64"},
    {.name = NULL},
};
