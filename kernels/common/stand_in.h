/* Kernels for dtypes that an operator has no fast kernel of its own for.
 *
 *   half, bfloat16      ──widen──▶ the operator's float32 kernel ──narrow──▶ half, bfloat16
 *   double, int8, …     ──words──▶ the operator's reference      ──────────▶ double, int8, …
 *
 * What they convert lies in the scratch that the plan grants, like any kernel's. They want ONNX's order of elements. */
#ifndef ONSTAGE_KERNELS_COMMON_STAND_IN_H
#define ONSTAGE_KERNELS_COMMON_STAND_IN_H

#include "graph/operator.h"

/* Prepares the operator's own CPU kernel or, where that refuses these dtypes, a stand-in. `run` is what to launch.
 * Fails with the own kernel's reason where no stand-in serves either. */
ons_status *ons_prepare_for_cpu(ons_prepare *p, ons_run_function **run);

/* The reference as a kernel: for operators of which nobody needs a faster one. */
ons_status *ons_reference_prepare(ons_prepare *p);
void ons_reference_run(const ons_launch *launch);
#define ONS_CPU_REFERENCE_KERNEL ONS_CPU_KERNEL(ons_reference_prepare, ons_reference_run)

#endif
