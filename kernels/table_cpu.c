/* The CPU's backend, once for each variant of the code: the build says which one with ONS_CPU_VARIANT. */
#include "kernels/backend.h"
#include "kernels/common/operator/stand_in.h"

#define BACKEND(SYMBOL) ons_cpu_##SYMBOL
#include "kernels/table.inc"

#define JOIN(A, B)       A##B
#define NAME_OF(VARIANT) JOIN(ons_cpu_backend_, VARIANT)
#define QUOTE(TEXT)      #TEXT
#define TEXT_OF(VARIANT) QUOTE(VARIANT)

static const ons_kernel behind_every_list[] = {ONS_WIDENED_KERNEL, ONS_STAND_IN_REFERENCE_KERNEL};
static const ons_kernel_list fallbacks = {behind_every_list, 2, NULL};

extern const ons_backend NAME_OF(ONS_CPU_VARIANT);
const ons_backend NAME_OF(ONS_CPU_VARIANT) = {
    .name = "cpu",
    .title = "the CPU",
    .variant = TEXT_OF(ONS_CPU_VARIANT),
    .find = ons_backend_in_table,
    .fallbacks = &fallbacks,
    .scratch_alignment = 64,
    .table = table,
};
