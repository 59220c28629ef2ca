/* Kernels for dtypes that an operator has no fast kernel of its own for.
 *
 *   half, bfloat16      ──widen──▶ the operator's float32 kernel ──narrow──▶ half, bfloat16
 *   double, int8, …     ──words──▶ the operator's reference      ──────────▶ double, int8, …
 *
 * What they convert lies in the scratch that the plan grants, like any kernel's. They want ONNX's order of elements. */
#ifndef ONSTAGE_KERNELS_COMMON_OPERATOR_STAND_IN_H
#define ONSTAGE_KERNELS_COMMON_OPERATOR_STAND_IN_H

#include "kernels/backend.h"

/* The two that stand behind every list of the CPU's kernels. Each declines where no operand is of its types. */
ons_prepare_function ons_widened_prepare, ons_stand_in_reference_prepare;
ons_run_function ons_widened_run;
#define ONS_WIDENED_KERNEL            ONS_KERNEL(ons_widened_prepare, ons_widened_run)
#define ONS_STAND_IN_REFERENCE_KERNEL ONS_KERNEL(ons_stand_in_reference_prepare, ons_reference_run)

/* The reference as a kernel of any types: for operators of which nobody needs a faster one. */
ons_prepare_function ons_reference_prepare;
ons_run_function ons_reference_run;
#define ONS_REFERENCE_KERNEL ONS_KERNEL(ons_reference_prepare, ons_reference_run)

#endif
