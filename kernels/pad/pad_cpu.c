/* Pad on the CPU. */
#include "kernels/pad/pad_node.h"

#include "graph/evaluate.h"
#include "kernels/common/layout/strided.h"
#include "kernels/pad/padding.h"

/* constant: fill, then copy the box that the input and the result share. Others: a list of sources for each axis, of
 * which the last one has a stretch [begin, end) that lies side by side. */
typedef struct state {
    ons_strided copy, fill;
    uint64_t value; /* where it is not an input */
    bool by_lists;
    ons_shape result;
    size_t size;
    int64_t *sources[ONS_RANK_MAX]; /* offsets in elements */
    int64_t begin, end;
} state;

static void prepare_box(const ons_operands *o, const ons_padding *padding, state *s) {
    ons_dtype dtype = o->inputs[ONS_PADDING_DATA].dtype;
    uint64_t word = own_value(o);
    ons_narrow(dtype, &word, 1, &s->value);
    s->fill = ons_strided_dense(dtype, &padding->output);
    memset(s->fill.from, 0, sizeof s->fill.from);
    ons_strided_plan(&s->fill);
    s->copy = ons_strided_dense(dtype, &padding->input);
    int64_t strides[ONS_RANK_MAX];
    ons_dense_strides(&padding->output, strides);
    memcpy(s->copy.to, strides, sizeof strides);
    for (uint32_t i = 0; i < padding->input.rank; ++i) {
        int64_t before = padding->before[i], after = padding->after[i];
        int64_t first = before < 0 ? -before : 0, last = padding->input.dims[i] + (after < 0 ? after : 0);
        s->copy.dims[i] = last > first ? last - first : 0;
        s->copy.from_offset += first * s->copy.from[i];
        s->copy.to_offset += (first + before) * strides[i];
    }
    ons_strided_plan(&s->copy);
}

static int64_t between(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* Numbers in all lists. */
enum { LISTED_MOST = 1 << 22 };

static ons_status *prepare_lists(ons_prepare *p, const ons_padding *padding, state *s) {
    int64_t listed = 0;
    for (uint32_t i = 0; i < padding->output.rank; ++i)
        ONS_CHECK(
            padding->output.dims[i] <= LISTED_MOST && (listed += padding->output.dims[i]) <= LISTED_MOST,
            ONS_UNSUPPORTED,
            "node '%s' (%s): the axes of the result are longer than %d elements; pad shorter pieces, or with mode "
            "'constant'",
            p->operands->name, p->operands->op->name, LISTED_MOST);
    int64_t strides[ONS_RANK_MAX];
    uint32_t last = padding->output.rank - 1;
    ons_dense_strides(&padding->input, strides);
    s->by_lists = true;
    s->result = padding->output;
    for (uint32_t axis = 0; axis <= last; ++axis) {
        ONS_NEW(s->sources[axis], p->arena, (size_t)s->result.dims[axis] + 1);
        for (int64_t i = 0; i < s->result.dims[axis]; ++i)
            s->sources[axis][i] = strides[axis] * ons_padding_source(padding, axis, i);
    }
    s->begin = between(padding->before[last], 0, s->result.dims[last]);
    s->end = between(padding->before[last] + padding->input.dims[last], s->begin, s->result.dims[last]);
    return NULL;
}

static ons_status *pad_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_padding padding;
    ons_resolved(ons_padding_of(o, &o->inputs[ONS_PADDING_DATA].shape, &padding));
    padding = ons_padding_in_memory(&padding, o->inputs[ONS_PADDING_DATA].layout);
    state *s;
    ONS_NEW_STATE(s, p);
    s->size = ons_dtype_size(o->inputs[ONS_PADDING_DATA].dtype);
    if (padding.mode != ONS_PAD_CONSTANT && padding.output.rank > 0) return prepare_lists(p, &padding, s);
    prepare_box(o, &padding, s);
    return NULL;
}

/* Elements are moved, not looked at. Inlined with a size that the compiler knows. */
static inline __attribute__((always_inline)) void copy_elements(int64_t size, const int64_t *sources, int64_t begin,
                                                                int64_t end, const char *in, char *out) {
    for (int64_t i = begin; i < end; ++i) memcpy(out + i * size, in + sources[i] * size, (size_t)size);
}

static void copy_listed(const state *s, int64_t begin, int64_t end, const char *in, char *out) {
    const int64_t *sources = s->sources[s->result.rank - 1];
    switch (s->size) {
    case 1: copy_elements(1, sources, begin, end, in, out); break;
    case 2: copy_elements(2, sources, begin, end, in, out); break;
    case 4: copy_elements(4, sources, begin, end, in, out); break;
    default: copy_elements(8, sources, begin, end, in, out); break;
    }
}

static void run_lists(const state *s, const char *in, char *out) {
    uint32_t last = s->result.rank - 1;
    int64_t rows = ons_shape_span(&s->result, 0, last), width = s->result.dims[last], size = (int64_t)s->size;
#pragma omp parallel for schedule(static) if (rows * width > ONS_PARALLEL_GRAIN)
    for (int64_t row = 0; row < rows; ++row) {
        int64_t rest = row, offset = 0;
        for (uint32_t axis = last; axis-- > 0;) {
            offset += s->sources[axis][rest % s->result.dims[axis]];
            rest /= s->result.dims[axis];
        }
        const char *from = in + offset * size;
        char *to = out + row * width * size;
        copy_listed(s, 0, s->begin, from, to);
        if (s->end > s->begin)
            memcpy(to + s->begin * size, from + s->sources[last][s->begin] * size,
                   (size_t)((s->end - s->begin) * size));
        copy_listed(s, s->end, width, from, to);
    }
}

static void pad_run(const ons_launch *launch) {
    const state *s = launch->state;
    const void *value = launch->inputs[ONS_PADDING_VALUE];
    if (s->by_lists) {
        run_lists(s, launch->inputs[ONS_PADDING_DATA], launch->outputs[0]);
        return;
    }
    ons_strided_copy(&s->fill, value == NULL ? &s->value : value, launch->outputs[0]);
    ons_strided_copy(&s->copy, launch->inputs[ONS_PADDING_DATA], launch->outputs[0]);
}

ONS_KERNELS(cpu, pad, ONS_KERNEL(pad_prepare, pad_run))
