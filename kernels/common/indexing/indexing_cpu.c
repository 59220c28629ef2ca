/* What the CPU runs of indexing.h. */
#include "kernels/common/indexing/indexing.h"

void ons_fault_index(const ons_launch *launch, int64_t position, int64_t index) {
#pragma omp critical(ons_fault_index)
    {
        bool first = launch->fault->problem == NULL || position < launch->fault->index;
        if (first) *launch->fault = (ons_fault){.problem = ons_indexing_outside, .index = position, .value = index};
    }
}
