#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/det/cuda_determinant.h"
}

namespace {

struct eliminated {
    int64_t size;
    const float *matrices;
    double *rooms;
    float *determinants, *unread; /* unread: the operator's own room, which is not needed here */
    __device__ void operator()(int64_t i) const {
        int64_t elements = size * size;
        double *work = rooms + i * elements;
        for (int64_t k = 0; k < elements; ++k) work[k] = matrices[i * elements + k];
        determinants[i] = (float)ons_determinant(work, size);
        for (int64_t k = 0; unread != nullptr && k < elements; ++k) unread[i * elements + k] = (float)work[k];
    }
};

} // namespace

extern "C" void ons_cuda_run_det(const ons_launch *launch) {
    const ons_cuda_determinant *s = (const ons_cuda_determinant *)launch->state;
    ons::each(launch, s->count,
              eliminated{s->size, (const float *)launch->inputs[0], (double *)launch->scratch,
                         (float *)launch->outputs[0], (float *)launch->outputs[1]});
}
