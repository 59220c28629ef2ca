/* What the CPU runs of broadcast.h. */
#include "kernels/common/elementwise/broadcast.h"

#include <omp.h>

/* Whether all inputs walk from dimension `outer` to the merged dimension `inner` without a seam. */
static bool can_merge(const ons_broadcast *b, const int64_t (*all)[ONS_RANK_MAX], uint32_t outer, uint32_t inner) {
    for (uint32_t i = 0; i < b->input_count; ++i)
        if (all[i][outer] != b->strides[i][inner] * b->dims[inner]) return false;
    return true;
}

/* Drops dimensions of size 1 and merges neighbours; b->dims and b->strides are then innermost first. */
static void merge_dimensions(ons_broadcast *b, const ons_shape *shape, const int64_t (*all)[ONS_RANK_MAX]) {
    b->rank = 0;
    for (uint32_t axis = shape->rank; axis-- > 0;) {
        if (shape->dims[axis] == 1) continue;
        if (b->rank > 0 && can_merge(b, all, axis, b->rank - 1)) {
            b->dims[b->rank - 1] *= shape->dims[axis];
            continue;
        }
        b->dims[b->rank] = shape->dims[axis];
        for (uint32_t i = 0; i < b->input_count; ++i) b->strides[i][b->rank] = all[i][axis];
        ++b->rank;
    }
    if (b->rank == 0) b->dims[b->rank++] = 1;
}

static const char *form_name(const ons_broadcast *b) {
    bool vectors = true;
    for (uint32_t i = 0; i < b->input_count; ++i) vectors = vectors && b->steps[i] == 1;
    if (b->rank == 1) return vectors ? "elementwise: equal shapes" : "elementwise: scalar";
    if (b->rank == 2) return vectors ? "elementwise: row vector" : "elementwise: column vector";
    return "elementwise: strided";
}

ons_status *ons_broadcast_prepare(ons_prepare *p, ons_span_function *function, ons_broadcast **state) {
    ons_operands in_memory, *o = &in_memory;
    if (p->operands->input_count > ONS_BROADCAST_OPERANDS)
        return ons_node_error(p->operands, "%u operands, the CPU kernel takes at most %d; split the node",
                              p->operands->input_count, ONS_BROADCAST_OPERANDS);
    ONS_TRY(ons_broadcast_in_memory(p->operands, p->arena, o));
    ons_broadcast *b;
    int64_t(*all)[ONS_RANK_MAX];
    ONS_NEW_STATE(b, p);
    ONS_NEW(all, p->arena, o->input_count);
    ONS_NEW(b->strides, p->arena, o->input_count);
    ONS_NEW(b->steps, p->arena, o->input_count);
    ONS_NEW(b->input_sizes, p->arena, o->input_count);
    b->function = function;
    b->input_count = o->input_count;
    b->elements = ons_elements(&o->outputs[0]);
    b->grain = ONS_PARALLEL_GRAIN;
    b->output_size = ons_dtype_size(o->outputs[0].dtype);
    for (uint32_t i = 0; i < o->input_count; ++i) {
        ons_broadcast_strides(&o->outputs[0].shape, &o->inputs[i].shape, all[i]);
        b->input_sizes[i] = ons_dtype_size(o->inputs[i].dtype);
    }
    merge_dimensions(b, &o->outputs[0].shape, (const int64_t(*)[ONS_RANK_MAX])all);
    for (uint32_t i = 0; i < o->input_count; ++i) b->steps[i] = b->strides[i][0];
    p->implementation = form_name(b);
    *state = b;
    return NULL;
}

/* The position of a walk over the spans: an index in every dimension but the innermost, and the inputs there. */
typedef struct walk {
    int64_t index[ONS_RANK_MAX];
    const char *inputs[ONS_BROADCAST_OPERANDS];
} walk;

/* To the beginning of span number `span`. */
static void walk_to(walk *w, const ons_broadcast *b, const void *const *inputs, int64_t span) {
    for (uint32_t i = 0; i < b->input_count; ++i) w->inputs[i] = inputs[i];
    for (uint32_t d = 1; d < b->rank; ++d) {
        w->index[d] = span % b->dims[d];
        span /= b->dims[d];
        for (uint32_t i = 0; i < b->input_count; ++i)
            w->inputs[i] += w->index[d] * b->strides[i][d] * (int64_t)b->input_sizes[i];
    }
}

static void walk_on(walk *w, const ons_broadcast *b) {
    for (uint32_t d = 1; d < b->rank; ++d) {
        bool wraps = ++w->index[d] == b->dims[d];
        int64_t steps = wraps ? 1 - b->dims[d] : 1;
        for (uint32_t i = 0; i < b->input_count; ++i)
            w->inputs[i] += steps * b->strides[i][d] * (int64_t)b->input_sizes[i];
        if (!wraps) return;
        w->index[d] = 0;
    }
}

/* Elements [begin, end) of the output. */
static void run_range(const ons_broadcast *b, const ons_launch *launch, int64_t begin, int64_t end) {
    if (begin >= end) return;
    const void *inputs[ONS_BROADCAST_OPERANDS];
    ons_span span = {.inputs = inputs, .steps = b->steps, .input_count = b->input_count, .parameters = b->parameters};
    walk w;
    walk_to(&w, b, launch->inputs, begin / b->dims[0]);
    int64_t skipped = begin % b->dims[0];
    while (begin < end) {
        span.count = b->dims[0] - skipped < end - begin ? b->dims[0] - skipped : end - begin;
        span.output = (char *)launch->outputs[0] + (size_t)begin * b->output_size;
        for (uint32_t i = 0; i < b->input_count; ++i)
            inputs[i] = w.inputs[i] + skipped * b->steps[i] * (int64_t)b->input_sizes[i];
        b->function(&span);
        begin += span.count;
        skipped = 0;
        if (begin < end) walk_on(&w, b);
    }
}

void ons_broadcast_run(const ons_launch *launch) {
    const ons_broadcast *b = launch->state;
    if (b->elements <= b->grain) {
        run_range(b, launch, 0, b->elements);
        return;
    }
#pragma omp parallel
    {
        /* Ranges begin at whole cache lines. */
        int64_t share = (b->elements / omp_get_num_threads() + 64) / 64 * 64;
        int64_t begin = share * omp_get_thread_num();
        int64_t end = begin + share < b->elements ? begin + share : b->elements;
        run_range(b, launch, begin, end);
    }
}
