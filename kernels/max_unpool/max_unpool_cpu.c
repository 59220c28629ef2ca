/* MaxUnpool on the CPU. */
#include "kernels/max_unpool/max_unpool_node.h"

#include <string.h>

ons_status *ons_max_unpool_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    ons_max_unpool *s;
    ONS_NEW_STATE(s, p);
    ons_resolved(ons_max_unpool_find_shapes(o, &s->made, &s->whole));
    s->values = ons_elements(&o->inputs[0]);
    s->room = ons_shape_elements(&s->made);
    s->elements = ons_shape_elements(&s->whole);
    s->planes = s->made.dims[0] * s->made.dims[1];
    s->grows = !ons_shape_equal(&s->made, &s->whole);
    return NULL;
}

/* Values [first, end) whose indices lie in [low, high); returns how many do not. */
static int64_t place_values(const ons_max_unpool *s, const float *x, const int64_t *indices, int64_t first, int64_t end,
                            int64_t low, int64_t high, float *y) {
    int64_t foreign = 0;
    for (int64_t i = first; i < end; ++i) {
        if (indices[i] < low || indices[i] >= high)
            ++foreign;
        else
            y[s->grows ? place_of(&s->made, &s->whole, indices[i]) : indices[i]] = x[i];
    }
    return foreign;
}

/* MaxPool's indices stay in their planes, which threads can share out; others are put down again one by one. */
static void max_unpool_run(const ons_launch *launch) {
    const ons_max_unpool *s = launch->state;
    const float *x = launch->inputs[0];
    const int64_t *indices = launch->inputs[1];
    float *y = launch->outputs[0];
    int64_t foreign = 0, planes = s->planes;
    if (s->values == 0) {
        memset(y, 0, (size_t)s->elements * sizeof *y);
        return;
    }
    int64_t values = s->values / planes, room = s->room / planes, elements = s->elements / planes;
#pragma omp parallel for schedule(static) reduction(+ : foreign) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < planes; ++i) {
        memset(y + i * elements, 0, (size_t)elements * sizeof *y);
        foreign += place_values(s, x, indices, i * values, (i + 1) * values, i * room, (i + 1) * room, y);
    }
    if (foreign == 0) return;
    memset(y, 0, (size_t)s->elements * sizeof *y);
    place_values(s, x, indices, 0, s->values, 0, s->room, y);
    for (int64_t i = 0; i < s->values && launch->fault != NULL && launch->fault->problem == NULL; ++i)
        if (indices[i] < 0 || indices[i] >= s->room)
            *launch->fault = (ons_fault){.problem = ONS_MAX_UNPOOL_PROBLEM, .index = i, .value = indices[i]};
}

ONS_KERNELS(cpu, max_unpool, ONS_KERNEL(ons_max_unpool_prepare, max_unpool_run))
