/* What the CPU runs of reduction.h. */
#include "kernels/reduction/reduction.h"

#include "kernels/common/layout/channels.h"

/* SPAN_WIDTH: columns that a task takes at most; their results lie on its stack. */
enum { TASKS_ENOUGH = 32, PART_GRAIN = 16 * 1024, SPAN_WIDTH = 2048 };

/* Axes in the order of loops. */
typedef struct loops {
    uint32_t rank;
    int64_t dims[ONS_RANK_MAX];
    int64_t strides[ONS_RANK_MAX];
} loops;

typedef struct reduction_state {
    const ons_reducer *reducer;
    bool columns;
    loops kept;       /* around each result, or each row of results */
    loops reduced;    /* around each row; its last one is the rows of columns */
    int64_t width;    /* elements of a row, or columns */
    int64_t outer;    /* product of kept */
    int64_t combined; /* product of reduced */
    int64_t spans;    /* pieces of the columns that are tasks of their own */
    int64_t parts;
    int64_t results;
    double count;
} reduction_state;

static void add_loop(loops *l, int64_t dim, int64_t stride) {
    l->dims[l->rank] = dim;
    l->strides[l->rank++] = stride;
}

static int64_t loops_product(const loops *l) {
    int64_t product = 1;
    for (uint32_t i = 0; i < l->rank; ++i) product *= l->dims[i];
    return product;
}

/* Joins neighbouring axes of the same fate, as they lie in memory, then sorts the groups into loops. */
static void find_loops(reduction_state *s, const ons_type *type, const bool *reduced) {
    const ons_shape *shape = &type->shape;
    struct {
        int64_t dim;
        bool reduced;
    } groups[ONS_RANK_MAX + 1];
    uint32_t count = 0;
    for (uint32_t place = 0; place < shape->rank; ++place) {
        uint32_t i = ons_channels_axis(type->layout, shape->rank, place);
        if (shape->dims[i] == 1) continue;
        if (count > 0 && groups[count - 1].reduced == reduced[i]) {
            groups[count - 1].dim *= shape->dims[i];
        } else {
            groups[count].dim = shape->dims[i];
            groups[count++].reduced = reduced[i];
        }
    }
    s->columns = count > 1 && !groups[count - 1].reduced;
    s->width = count > 0 && (groups[count - 1].reduced || s->columns) ? groups[--count].dim : 1;
    int64_t strides[ONS_RANK_MAX + 1], stride = s->width;
    for (uint32_t i = count; i-- > 0; stride *= groups[i].dim) strides[i] = stride;
    for (uint32_t i = 0; i < count; ++i)
        add_loop(groups[i].reduced ? &s->reduced : &s->kept, groups[i].dim, strides[i]);
}

/* More tasks where the results alone are too few: first pieces of the columns, then parts of each result. */
static void choose_parts(reduction_state *s, int64_t elements) {
    s->spans = s->columns ? (s->width + SPAN_WIDTH - 1) / SPAN_WIDTH : 1;
    int64_t tasks = s->outer * s->spans, cuttable = s->columns || s->combined > 1 ? s->combined : s->width;
    s->parts = tasks >= TASKS_ENOUGH ? 1 : (TASKS_ENOUGH + tasks - 1) / tasks;
    s->parts = s->parts > elements / PART_GRAIN ? elements / PART_GRAIN : s->parts;
    s->parts = s->parts > cuttable ? cuttable : s->parts;
    s->parts = s->parts < 1 ? 1 : s->parts;
}

ons_status *ons_reduction_prepare(ons_prepare *p, const ons_reducer *reducer) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    bool reduced[ONS_RANK_MAX];
    ons_resolved(ons_reduction_axes(o, reduced));
    reduction_state *s;
    ONS_NEW_STATE(s, p);
    s->reducer = reducer;
    s->results = ons_elements(&o->outputs[0]);
    s->count = (double)ons_reduction_count(o);
    int64_t elements = ons_elements(&o->inputs[0]);
    if (elements == 0) return NULL;
    find_loops(s, &o->inputs[0], reduced);
    s->outer = loops_product(&s->kept);
    s->combined = loops_product(&s->reduced);
    choose_parts(s, elements);
    int64_t bytes = s->parts * s->results * (int64_t)sizeof(double);
    if (s->parts > 1 && bytes > p->scratch_limit) s->parts = 1;
    p->scratch_bytes = s->parts > 1 ? (bytes + 63) / 64 * 64 : 0;
    p->implementation = s->columns ? "columns" : "rows";
    return NULL;
}

static int64_t offset_of(const loops *l, int64_t number) {
    int64_t offset = 0;
    for (uint32_t i = l->rank; i-- > 0;) {
        offset += number % l->dims[i] * l->strides[i];
        number /= l->dims[i];
    }
    return offset;
}

/* Part `part` of result `outer`. */
static double reduce_row(const reduction_state *s, const float *x, int64_t outer, int64_t part) {
    x += offset_of(&s->kept, outer);
    if (s->combined == 1) {
        int64_t begin = s->width * part / s->parts, end = s->width * (part + 1) / s->parts;
        return s->reducer->row(x + begin, end - begin);
    }
    double result = s->reducer->identity;
    for (int64_t i = s->combined * part / s->parts; i < s->combined * (part + 1) / s->parts; ++i) {
        double next = s->reducer->row(x + offset_of(&s->reduced, i), s->width);
        s->reducer->join(&result, &next, 1);
    }
    return result;
}

static void reduce_rows(const reduction_state *s, const float *x, double *parts, float *out) {
    int64_t tasks = s->outer * s->parts;
#pragma omp parallel for schedule(static) if (s->count * (double)s->results > ONS_PARALLEL_GRAIN)
    for (int64_t task = 0; task < tasks; ++task) {
        double result = reduce_row(s, x, task / s->parts, task % s->parts);
        if (s->parts > 1)
            parts[task % s->parts * s->outer + task / s->parts] = result;
        else
            s->reducer->finish(&result, out + task, 1, s->count);
    }
}

/* At most SPAN_WIDTH columns of one row of results, from part `part` of the rows. */
static void reduce_span(const reduction_state *s, const float *x, int64_t part, int64_t width, double *results) {
    uint32_t last = s->reduced.rank - 1;
    int64_t height = s->reduced.dims[last], stride = s->reduced.strides[last];
    int64_t row = s->combined * part / s->parts, row_end = s->combined * (part + 1) / s->parts;
    for (int64_t j = 0; j < width; ++j) results[j] = s->reducer->identity;
    while (row < row_end) {
        int64_t rows = height - row % height;
        rows = rows > row_end - row ? row_end - row : rows;
        s->reducer->columns(x + offset_of(&s->reduced, row), rows, stride, width, results);
        row += rows;
    }
}

static void reduce_columns(const reduction_state *s, const float *x, double *parts, float *out) {
    int64_t tasks = s->outer * s->spans * s->parts;
#pragma omp parallel for schedule(static) if (s->count * (double)s->results > ONS_PARALLEL_GRAIN)
    for (int64_t task = 0; task < tasks; ++task) {
        int64_t part = task % s->parts, span = task / s->parts % s->spans, outer = task / s->parts / s->spans;
        int64_t begin = s->width * span / s->spans, width = s->width * (span + 1) / s->spans - begin;
        const float *from = x + offset_of(&s->kept, outer) + begin;
        int64_t to = outer * s->width + begin;
        if (s->parts > 1) {
            reduce_span(s, from, part, width, parts + part * s->results + to);
        } else {
            double results[SPAN_WIDTH];
            reduce_span(s, from, part, width, results);
            s->reducer->finish(results, out + to, width, s->count);
        }
    }
}

void ons_reduction_run(const ons_launch *launch) {
    const reduction_state *s = launch->state;
    float *out = launch->outputs[0];
    double *parts = launch->scratch;
    if (s->count * (double)s->results == 0) {
        for (int64_t i = 0; i < s->results; ++i) s->reducer->finish(&s->reducer->identity, out + i, 1, s->count);
        return;
    }
    (s->columns ? reduce_columns : reduce_rows)(s, launch->inputs[0], parts, out);
    if (s->parts == 1) return;
    for (int64_t part = 1; part < s->parts; ++part) s->reducer->join(parts, parts + part * s->results, s->results);
    s->reducer->finish(parts, out, s->results, s->count);
}
