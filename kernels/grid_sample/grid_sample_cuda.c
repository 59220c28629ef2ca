/* GridSample on CUDA: what the host works out. */
#include "kernels/grid_sample/grid_sample.h"

#include "kernels/common/operator/checks.h"
#include "kernels/grid_sample/grid.h"

static ons_status *grid_sample_prepare_cuda(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->inputs[GRID].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[GRID].dtype);
    ons_cuda_grid *s;
    ONS_NEW_STATE(s, p);
    s->size = ons_dtype_size(o->inputs[X].dtype);
    ONS_TRY(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &s->grid));
    bool moves = s->grid.mode == ONS_GRID_NEAREST || o->inputs[X].dtype == ONS_FLOAT32;
    return moves ? NULL : ons_refuse_dtype(o, o->inputs[X].dtype);
}

ONS_CUDA_KERNEL(grid_sample, grid_sample_prepare_cuda)
