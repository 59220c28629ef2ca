/* SliceGradient on the CPU. */
#include "kernels/slice/slicing.h"

typedef ons_slice_gradient state;

ons_status *ons_slice_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_slicing slicing;
    ons_resolved(ons_slicing_of(o, &o->outputs[0].shape, &slicing));
    state *s;
    ONS_NEW_STATE(s, p);
    s->copy = ons_slicing_copy(&slicing, &o->outputs[0], true);
    s->elements = ons_elements(&o->inputs[0]);
    s->bytes = ons_type_dense_bytes(&o->outputs[0]);
    s->adds = ons_has_input(o, ONS_SLICE_GRADIENT_ADDED);
    s->covers = s->elements == ons_elements(&o->outputs[0]);
    return s->adds ? ons_require_float32(o) : NULL;
}

/* What lies in the output where the slice is not: `from`, or zeros where that is NULL. */
static void fill(char *out, const char *from, int64_t bytes) {
    enum { PIECE = 64 * 1024 };
#pragma omp parallel for schedule(static) if (bytes > PIECE)
    for (int64_t at = 0; at < bytes; at += PIECE) {
        size_t some = (size_t)(bytes - at < PIECE ? bytes - at : PIECE);
        if (from != NULL)
            memcpy(out + at, from + at, some);
        else
            memset(out + at, 0, some);
    }
}

static void add_row(const float *x, int64_t x_step, float *y, int64_t y_step, int64_t count) {
    if (x_step == 1 && y_step == 1) {
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) y[i] += x[i];
    } else {
        for (int64_t i = 0; i < count; ++i) y[i * y_step] += x[i * x_step];
    }
}

static void add_box(const state *s, const float *x, float *y) {
    enum { PIECE = 16 * 1024 };
    const ons_strided *box = &s->copy;
    uint32_t last = box->rank - 1;
    int64_t columns = box->dims[last], rows = s->elements == 0 ? 0 : s->elements / columns;
    int64_t pieces = (columns + PIECE - 1) / PIECE; /* of a row, which may be all there is */
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t task = 0; task < rows * pieces; ++task) {
        int64_t first = task % pieces * PIECE, count = columns - first < PIECE ? columns - first : PIECE;
        int64_t from = box->from_offset + first * box->from[last], to = box->to_offset + first * box->to[last];
        int64_t rest = task / pieces;
        for (uint32_t i = last; i-- > 0; rest /= box->dims[i]) {
            from += rest % box->dims[i] * box->from[i];
            to += rest % box->dims[i] * box->to[i];
        }
        add_row(x + from, box->from[last], y + to, box->to[last], count);
    }
}

static void slice_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    char *out = launch->outputs[0];
    const char *added = s->adds ? launch->inputs[ONS_SLICE_GRADIENT_ADDED] : NULL;
    if (s->adds ? added != out : !s->covers) fill(out, added, s->bytes);
    if (s->adds)
        add_box(s, launch->inputs[0], launch->outputs[0]);
    else
        ons_strided_copy(&s->copy, launch->inputs[0], out);
}

ONS_KERNELS(cpu, slice_gradient, ONS_KERNEL(ons_slice_gradient_prepare, slice_gradient_run))
