/* The CPU's kernels are compiled several times: for what every processor of the target's ABI has (baseline) and, on
 * x86-64, for AVX2 with FMA (v3) and for AVX-512 (v4). The best that the machine has is chosen when the program starts.
 *
 * ONSTAGE_CPU=baseline|v3|v4 in the environment takes less than there is, never more, and caps oneDNN alike. */
#ifndef ONSTAGE_KERNELS_VARIANT_H
#define ONSTAGE_KERNELS_VARIANT_H

#include "kernels/backend.h"

/* The chosen one's name: "v3". */
const char *ons_cpu_variant(void);

/* Chooses, before anything has used oneDNN, which can be capped only then. Fails where ONSTAGE_CPU names no variant;
 * one that the machine does not have gives the best that it has. */
ons_status *ons_cpu_variant_check(void);

#endif
