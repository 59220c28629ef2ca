#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/det/cuda_determinant.h"
}

namespace {

struct cofactors {
    int64_t size;
    const float *dy, *matrices;
    double *rooms;
    float *dx, *unread; /* unread: the operator's own room, which is not needed here */
    __device__ void operator()(int64_t i) const {
        int64_t elements = size * size;
        double *matrix = rooms + 3 * i * elements, *made = matrix + elements, *work = made + elements;
        for (int64_t k = 0; k < elements; ++k) matrix[k] = matrices[i * elements + k];
        ons_cofactors(matrix, size, made, work);
        for (int64_t k = 0; k < elements; ++k) dx[i * elements + k] = (float)(made[k] * dy[i]);
        for (int64_t k = 0; unread != nullptr && k < elements; ++k) unread[i * elements + k] = (float)work[k];
    }
};

} // namespace

extern "C" void ons_cuda_run_det_gradient(const ons_launch *launch) {
    const ons_cuda_determinant *s = (const ons_cuda_determinant *)launch->state;
    ons::each(launch, s->count,
              cofactors{s->size, (const float *)launch->inputs[0], (const float *)launch->inputs[1],
                        (double *)launch->scratch, (float *)launch->outputs[0], (float *)launch->outputs[1]});
}
