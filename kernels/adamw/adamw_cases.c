/* AdamW: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/optimizers/optimizer.h"

const ons_case ons_cases_adamw[] = {
    ONS_ADAM_CASES,
    {.name = "gpt_large",
     .inputs = ONS_ADAM_OPERANDS(1536, 384),
     .outputs = 3,
     .tolerance = 2e-6,
     .flops = 10027008,
     .benchmark = true},
    {.name = "mlp",
     .inputs = ONS_ADAM_OPERANDS(1024, 1024),
     .outputs = 3,
     .tolerance = 2e-6,
     .flops = 17825792,
     .benchmark = true},
    {.name = NULL},
};
