/* ZeRO (Rajbhandari et al., SC 2020), for comparison: data parallelism whose devices share what data parallelism would
 * copy. Memory alone; nothing here is planned or run.
 *
 *   level 1   every device keeps 1/N of the optimiser states
 *   level 2   and 1/N of the gradients                            "ZeRO-2"
 *   level 3   and 1/N of the weights                              "ZeRO-3"
 *
 * Beside its share a device holds, while it works on a layer, that layer's gradients before they are summed up over the
 * devices (from level 2 on) and its weights gathered from all (level 3). Assumed is one layer at a time, nothing
 * prefetched, and no buffers of the library's own: a lower bound of what is measured.
 */
#ifndef ONSTAGE_PLANNER_WORKLOAD_ZERO_H
#define ONSTAGE_PLANNER_WORKLOAD_ZERO_H

#include "planner/workload/workload.h"

typedef struct ons_zero_memory {
    int64_t weights, gradients, states; /* this device's share */
    int64_t gathered;                   /* of the layer that needs most */
    int64_t activations;                /* saved tensors, gradients and transients of the local batch */
    int64_t total;
} ons_zero_memory;

/* Finds the bytes of each of `devices` (> 0). `work`: the whole model with the local batch as its micro-batch. `level`:
 * 1 to 3.
 */
void ons_zero_memory_find(const ons_workload *work, int level, uint32_t devices, ons_zero_memory *memory);

#endif
