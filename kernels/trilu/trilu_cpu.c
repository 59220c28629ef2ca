/* Trilu on the CPU. */
#include "kernels/trilu/trilu_node.h"

#include "kernels/common/operator/kernel.h"

ons_status *ons_trilu_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    const ons_shape *shape = &o->outputs[0].shape;
    ons_trilu *state;
    ONS_NEW_STATE(state, p);
    *state = (ons_trilu){ons_shape_span(shape, 0, shape->rank - 1), shape->dims[shape->rank - 2],
                         shape->dims[shape->rank - 1], (int64_t)ons_dtype_size(o->outputs[0].dtype),
                         ons_attribute_int(o, UPPER) != 0};
    return NULL;
}

static int64_t clamp(int64_t value, int64_t high) { return value < 0 ? 0 : value > high ? high : value; }

static void trilu_run(const ons_launch *launch) {
    const ons_trilu *s = launch->state;
    const char *in = launch->inputs[0];
    char *out = launch->outputs[0];
    int64_t diagonal = launch->inputs[1] == NULL ? 0 : *(const int64_t *)launch->inputs[1];
    diagonal = diagonal < -s->height ? -s->height : diagonal > s->width ? s->width : diagonal;
#pragma omp parallel for schedule(static) if (s->rows * s->width > ONS_PARALLEL_GRAIN)
    for (int64_t row = 0; row < s->rows; ++row) {
        int64_t edge = row % s->height + diagonal, begin = s->upper ? clamp(edge, s->width) : 0;
        int64_t end = s->upper ? s->width : clamp(edge + 1, s->width);
        const char *from = in + row * s->width * s->size;
        char *to = out + row * s->width * s->size;
        if (to != from) memcpy(to + begin * s->size, from + begin * s->size, (size_t)((end - begin) * s->size));
        memset(to, 0, (size_t)(begin * s->size));
        memset(to + end * s->size, 0, (size_t)((s->width - end) * s->size));
    }
}

ONS_KERNELS(cpu, trilu, ONS_KERNEL(ons_trilu_prepare, trilu_run))
