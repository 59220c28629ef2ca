#include "kernels/common/reduction.h"

#include "kernels/common/rules.h"

/* Columns that a task takes at once, and what it needs on its stack for them. */
enum { TASKS_ENOUGH = 32, PART_GRAIN = 16 * 1024, ROWS_AT_ONCE = 64, SPAN_WIDTH = 4096 };

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

/* ------------------------------------------------------------------------------------------------------ axes and
 * shapes */

ons_status *ons_reduction_axes(const ons_operands *o, bool reduced[static ONS_RANK_MAX]) {
    int64_t axes[ONS_INTEGERS_MAX];
    uint32_t count, rank = o->inputs[0].shape.rank;
    ONS_TRY(ons_constant_integers(o, 1, axes, &count));
    ONS_TRY(ons_node_axes(o, axes, count, rank, reduced));
    for (uint32_t i = 0; count == 0 && i < rank; ++i) reduced[i] = ons_attribute_int(o, ONS_REDUCTION_NOOP) == 0;
    return NULL;
}

int64_t ons_reduction_count(const ons_operands *o) {
    bool reduced[ONS_RANK_MAX];
    int64_t count = 1;
    ons_status_free(ons_reduction_axes(o, reduced)); /* has passed inference */
    for (uint32_t i = 0; i < o->inputs[0].shape.rank; ++i) count *= reduced[i] ? o->inputs[0].shape.dims[i] : 1;
    return count;
}

static ons_shape kept_shape(const ons_shape *input, const bool *reduced) {
    ons_shape shape = *input;
    for (uint32_t i = 0; i < shape.rank; ++i) shape.dims[i] = reduced[i] ? 1 : shape.dims[i];
    return shape;
}

ons_status *ons_reduction_infer(ons_operands *o) {
    bool reduced[ONS_RANK_MAX];
    const ons_shape *input = &o->inputs[0].shape;
    ONS_TRY(ons_reduction_axes(o, reduced));
    ons_shape shape = {0};
    bool keeps = ons_attribute_int(o, ONS_REDUCTION_KEEPDIMS) != 0;
    for (uint32_t i = 0; i < input->rank; ++i)
        if (!reduced[i] || keeps) shape.dims[shape.rank++] = reduced[i] ? 1 : input->dims[i];
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

ons_cost ons_reduction_cost(const ons_operands *o) {
    double elements = (double)ons_elements(&o->inputs[0]);
    return (ons_cost){elements,
                      (elements + (double)ons_elements(&o->outputs[0])) * (double)ons_dtype_size(o->inputs[0].dtype)};
}

int64_t ons_reduction_target(const ons_operands *o, const bool reduced[static ONS_RANK_MAX], int64_t number) {
    int64_t index[ONS_RANK_MAX];
    ons_unravel(&o->inputs[0].shape, number, index);
    for (uint32_t i = 0; i < o->inputs[0].shape.rank; ++i) index[i] = reduced[i] ? 0 : index[i];
    ons_shape kept = kept_shape(&o->inputs[0].shape, reduced);
    return ons_ravel(&kept, index);
}

ons_value_id ons_reduction_keep(ons_gradient *g, ons_value_id value) {
    bool reduced[ONS_RANK_MAX];
    if (ons_attribute_int(g->operands, ONS_REDUCTION_KEEPDIMS) != 0 ||
        ons_builder_fail(g->builder, ons_reduction_axes(g->operands, reduced)))
        return value;
    ons_shape kept = kept_shape(&g->operands->inputs[0].shape, reduced);
    ons_shape now = ons_builder_type(g->builder, value).shape;
    return ons_shape_equal(&kept, &now) ? value : ons_build_reshape(g->builder, value, &kept);
}

ons_value_id ons_reduction_spread(ons_gradient *g, ons_value_id value) {
    const ons_shape *shape = &g->operands->inputs[0].shape;
    value = ons_reduction_keep(g, value);
    ons_shape now = ons_builder_type(g->builder, value).shape;
    if (value == ONS_NONE || ons_shape_equal(&now, shape)) return value;
    return ons_build(g->builder, &ons_op_expand,
                     ONS_IN(value, ons_build_integers(g->builder, shape->dims, shape->rank)), ONS_DEFAULTS);
}

ons_status *ons_reduction_extreme_gradient(ons_gradient *g) {
    ons_value_id result = ons_reduction_keep(g, ons_gradient_output(g, 0));
    ons_value_id same = ons_make2(g, &ons_op_equal, ons_gradient_input(g, 0), result);
    ons_value_id mask =
        ons_build(g->builder, &ons_op_cast, ONS_IN(same), ONS_WITH(ONS_AT_INT(0, g->operands->outputs[0].dtype)));
    ons_value_id ties = ons_make_like(g, &ons_op_reduce_sum, ONS_IN(mask, ons_gradient_input(g, 1)));
    ons_value_id share = ons_make2(g, &ons_op_div, g->cotangents[0], ties);
    g->gradients[0] = ons_make2(g, &ons_op_mul, mask, ons_reduction_keep(g, share));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- prepare
 */

static void add_loop(loops *l, int64_t dim, int64_t stride) {
    l->dims[l->rank] = dim;
    l->strides[l->rank++] = stride;
}

static int64_t loops_product(const loops *l) {
    int64_t product = 1;
    for (uint32_t i = 0; i < l->rank; ++i) product *= l->dims[i];
    return product;
}

/* Joins neighbouring axes of the same fate, then sorts the groups into loops. */
static void find_loops(reduction_state *s, const ons_shape *shape, const bool *reduced) {
    struct {
        int64_t dim;
        bool reduced;
    } groups[ONS_RANK_MAX + 1];
    uint32_t count = 0;
    for (uint32_t i = 0; i < shape->rank; ++i) {
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
    if (o->inputs[0].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(o->inputs[0].dtype));
    bool reduced[ONS_RANK_MAX];
    ONS_TRY(ons_reduction_axes(o, reduced));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(reduction_state), &memory));
    reduction_state *s = memory;
    s->reducer = reducer;
    s->results = ons_elements(&o->outputs[0]);
    s->count = (double)ons_reduction_count(o);
    int64_t elements = ons_elements(&o->inputs[0]);
    if (elements == 0) return NULL;
    find_loops(s, &o->inputs[0].shape, reduced);
    s->outer = loops_product(&s->kept);
    s->combined = loops_product(&s->reduced);
    choose_parts(s, elements);
    int64_t bytes = s->parts * s->results * (int64_t)sizeof(double);
    if (s->parts > 1 && bytes > p->scratch_limit) s->parts = 1;
    p->scratch_bytes = s->parts > 1 ? (bytes + 63) / 64 * 64 : 0;
    p->implementation = s->columns ? "columns" : "rows";
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------------- run
 */

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

/* At most SPAN_WIDTH columns of one row of results, from part `part` of the rows: so many rows at once that they stay
 * in a near cache while all columns are visited. */
static void reduce_span(const reduction_state *s, const float *x, int64_t part, int64_t width, double *results) {
    uint32_t last = s->reduced.rank - 1;
    int64_t height = s->reduced.dims[last], stride = s->reduced.strides[last];
    int64_t row = s->combined * part / s->parts, row_end = s->combined * (part + 1) / s->parts;
    for (int64_t j = 0; j < width; ++j) results[j] = s->reducer->identity;
    while (row < row_end) {
        int64_t rows = height - row % height;
        rows = rows > row_end - row ? row_end - row : rows;
        rows = rows > ROWS_AT_ONCE ? ROWS_AT_ONCE : rows;
        const float *from = x + offset_of(&s->reduced, row);
        for (int64_t j = 0; j < width; j += ONS_REDUCTION_WIDTH) {
            int some = width - j < ONS_REDUCTION_WIDTH ? (int)(width - j) : ONS_REDUCTION_WIDTH;
            s->reducer->columns(from + j, rows, stride, some, results + j);
        }
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
