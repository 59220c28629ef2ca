/* Gradients of LayerNormalization, all in one pass over the rows: from cotangent dy, input x, scale, and the saved mean
 * and inverse standard deviation r of every row, with n = (x - mean) r and a = dy scale:
 *
 *   dx = r (a - mean(a) - n mean(a n)),   dscale = Σ dy n,   dbias = Σ dy   (sums over rows)
 *
 * Rows are cut into parts; each adds up dscale and dbias in scratch of its own, and the parts are then added in order.
 */
#include "kernels/common/lanes.h"
#include "kernels/common/layer_norm.h"
#include "kernels/common/rows.h"

static ons_status *find_norm(const ons_operands *o, ons_layer_norm *norm) {
    static const ons_type none = {0};
    return ons_layer_norm_of(o, &o->inputs[1], ons_attribute_int(o, 0), &o->inputs[2], &none, norm);
}

static ons_status *layer_normalization_gradient_infer(ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    ons_layer_norm norm;
    ONS_TRY(find_norm(o, &norm));
    if (!ons_type_equal(&o->inputs[0], &o->inputs[1]))
        return ons_node_error(o, "cotangent %s and input %s differ", ons_type_print(&o->inputs[0], left),
                              ons_type_print(&o->inputs[1], right));
    for (uint32_t i = 3; i < 5; ++i)
        if (ons_elements(&o->inputs[i]) != norm.rows)
            return ons_node_error(o, "input %u must hold a number for each of %lld rows, not %s", i,
                                  (long long)norm.rows, ons_type_print(&o->inputs[i], left));
    o->outputs[0] = o->inputs[1];
    o->outputs[1] = o->outputs[2] = o->inputs[2];
    return NULL;
}

/* Normalisation 2, scale 1, the two means 3, dx 4, the two sums 3. */
static ons_cost layer_normalization_gradient_cost(const ons_operands *o) {
    return (ons_cost){13 * (double)ons_elements(&o->inputs[1]), ons_operand_bytes(o)};
}

static void layer_normalization_gradient_reference(const ons_operands *o, const ons_step *step,
                                                   const void *const *inputs, void *const *outputs) {
    (void)step;
    ons_layer_norm norm;
    ons_status_free(find_norm(o, &norm));
    const double *scale = inputs[2];
    double *dscale = outputs[1], *dbias = outputs[2], columns = (double)norm.columns;
    for (int64_t i = 0; i < norm.columns; ++i) {
        if (dscale != NULL) dscale[i] = 0;
        if (dbias != NULL) dbias[i] = 0;
    }
    for (int64_t row = 0; row < norm.rows; ++row) {
        const double *dy = (const double *)inputs[0] + row * norm.columns;
        const double *x = (const double *)inputs[1] + row * norm.columns;
        double mean = ((const double *)inputs[3])[row], r = ((const double *)inputs[4])[row], first = 0, second = 0;
        for (int64_t i = 0; i < norm.columns; ++i) {
            double n = (x[i] - mean) * r;
            first += dy[i] * scale[i] / columns;
            second += dy[i] * scale[i] * n / columns;
            if (dscale != NULL) dscale[i] += dy[i] * n;
            if (dbias != NULL) dbias[i] += dy[i];
        }
        for (int64_t i = 0; outputs[0] != NULL && i < norm.columns; ++i)
            ((double *)outputs[0])[row * norm.columns + i] =
                r * (dy[i] * scale[i] - first - (x[i] - mean) * r * second);
    }
}

enum { PARTS_MAX = 16, ROWS = 4 };

typedef struct gradient_state {
    ons_layer_norm norm;
    int parts;
    int64_t stride; /* floats of one part's sums for scale or bias */
} gradient_state;

static ons_status *layer_normalization_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(gradient_state), &memory));
    gradient_state *state = memory;
    ONS_TRY(find_norm(o, &state->norm));
    int most = p->threads > PARTS_MAX ? p->threads : PARTS_MAX;
    int parts = ons_parts(state->norm.rows, state->norm.columns);
    state->parts = parts < most ? parts : most;
    state->stride = (state->norm.columns + ONS_LANES - 1) / ONS_LANES * ONS_LANES;
    p->scratch_bytes = 2 * state->parts * state->stride * (int64_t)sizeof(float);
    return NULL;
}

/* What stays the same from row to row. */
typedef struct row_work {
    const float *dy, *x, *scale, *means, *inverses;
    float *dx, *dscale, *dbias; /* dx may be NULL; the sums are one part's, or NULL */
    int64_t columns;
} row_work;

static inline ons_lanes load(const float *from, int64_t count) {
    return count == ONS_LANES ? ons_lanes_load(from) : ons_lanes_load_some(from, count, 0);
}

static inline void store(float *to, ons_lanes x, int64_t count) {
    if (count == ONS_LANES)
        ons_lanes_store(to, x);
    else
        ons_lanes_store_some(to, x, count);
}

/* `count` (≤ ONS_LANES) columns of `rows` rows: adds a and a n to sums[row], and to the part's dscale and dbias, which
 * have room for whole lanes. */
static inline __attribute__((always_inline)) void add_columns(const row_work *w, int64_t row, int rows, int64_t column,
                                                              int64_t count, ons_lanes (*sums)[2]) {
    ons_lanes scale = load(w->scale + column, count), dscale = {0}, dbias = {0};
    for (int k = 0; k < rows; ++k) {
        int64_t at = (row + k) * w->columns + column;
        ons_lanes dy = load(w->dy + at, count), a = dy * scale;
        ons_lanes n = (load(w->x + at, count) - w->means[row + k]) * w->inverses[row + k];
        sums[k][0] += a;
        sums[k][1] += a * n;
        dscale += dy * n;
        dbias += dy;
    }
    if (w->dscale == NULL) return;
    ons_lanes_store(w->dscale + column, ons_lanes_load(w->dscale + column) + dscale);
    ons_lanes_store(w->dbias + column, ons_lanes_load(w->dbias + column) + dbias);
}

static inline __attribute__((always_inline)) void write_columns(const row_work *w, int64_t row, int64_t column,
                                                                int64_t count, float first, float second) {
    int64_t at = row * w->columns + column;
    float mean = w->means[row], r = w->inverses[row];
    ons_lanes n = (load(w->x + at, count) - mean) * r;
    ons_lanes a = load(w->dy + at, count) * load(w->scale + column, count);
    store(w->dx + at, r * (a - first - n * second), count);
}

static inline __attribute__((always_inline)) void work_rows(const row_work *w, int64_t row, int rows) {
    ons_lanes sums[ROWS][2] = {{{0}}};
    int64_t n = w->columns, column = 0;
    for (; column + ONS_LANES <= n; column += ONS_LANES) add_columns(w, row, rows, column, ONS_LANES, sums);
    if (column < n) add_columns(w, row, rows, column, n - column, sums);
    for (int k = 0; w->dx != NULL && k < rows; ++k) {
        float first = ons_lanes_sum_of(sums[k][0]) / (float)n, second = ons_lanes_sum_of(sums[k][1]) / (float)n;
        for (column = 0; column + ONS_LANES <= n; column += ONS_LANES)
            write_columns(w, row + k, column, ONS_LANES, first, second);
        if (column < n) write_columns(w, row + k, column, n - column, first, second);
    }
}

static void work_part(row_work w, int64_t begin, int64_t end) {
    for (int64_t i = 0; w.dscale != NULL && i < w.columns; ++i) w.dscale[i] = w.dbias[i] = 0;
    int64_t row = begin;
    for (; row + ROWS <= end; row += ROWS) work_rows(&w, row, ROWS);
    for (; row < end; ++row) work_rows(&w, row, 1);
}

static void add_parts(const float *sums, int parts, int64_t stride, int64_t columns, float *result) {
    if (result == NULL) return;
    for (int64_t i = 0; i < columns; ++i) result[i] = sums[i];
    for (int part = 1; part < parts; ++part) {
        const float *next = sums + part * stride;
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) result[i] += next[i];
    }
}

static void layer_normalization_gradient_run(const ons_launch *launch) {
    const gradient_state *state = launch->state;
    int64_t rows = state->norm.rows, columns = state->norm.columns, stride = state->stride;
    int parts = state->parts;
    float *scales = launch->scratch, *biases = scales + parts * stride;
    bool wants_sums = launch->outputs[1] != NULL || launch->outputs[2] != NULL;
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        row_work work = {
            .dy = launch->inputs[0],
            .x = launch->inputs[1],
            .scale = launch->inputs[2],
            .means = launch->inputs[3],
            .inverses = launch->inputs[4],
            .dx = launch->outputs[0],
            .dscale = wants_sums ? scales + part * stride : NULL,
            .dbias = wants_sums ? biases + part * stride : NULL,
            .columns = columns,
        };
        work_part(work, ons_part_begin(rows, parts, part), ons_part_begin(rows, parts, part + 1));
    }
    add_parts(scales, parts, stride, columns, launch->outputs[1]);
    add_parts(biases, parts, stride, columns, launch->outputs[2]);
}

static const ons_case layer_normalization_gradient_cases[] = {
    {.name = "rows",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(7), ONS_F32(5, 1), ONS_F32_IN(0.5, 2, 5, 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 455},
    {.name = "input_alone",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(7), ONS_F32(5, 1), ONS_F32_IN(0.5, 2, 5, 1)},
     .tolerance = 1e-5,
     .flops = 455},
    {.name = "two_axes",
     .inputs = {ONS_F32(2, 3, 4, 5), ONS_F32(2, 3, 4, 5), ONS_F32(4, 5), ONS_F32(2, 3, 1, 1),
                ONS_F32_IN(0.5, 2, 2, 3, 1, 1)},
     .settings = {ONS_SET_INT("axis", 2)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 1560},
    {.name = "long_rows",
     .inputs = {ONS_F32(6, 333), ONS_F32(6, 333), ONS_F32(333), ONS_F32(6, 1), ONS_F32_IN(0.5, 2, 6, 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 25974},
    {.name = "empty",
     .inputs = {ONS_F32(0, 7), ONS_F32(0, 7), ONS_F32(7), ONS_F32(0, 1), ONS_F32(0, 1)},
     .outputs = 3,
     .flops = 0},
    {.name = "threads",
     .inputs = {ONS_F32(301, 100), ONS_F32(301, 100), ONS_F32(100), ONS_F32(301, 1), ONS_F32_IN(0.5, 2, 301, 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 391300},
    {.name = "gpt",
     .inputs = {ONS_F32(16, 128, 256), ONS_F32(16, 128, 256), ONS_F32(256), ONS_F32(16, 128, 1),
                ONS_F32_IN(0.5, 2, 16, 128, 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 6815744,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(layer_normalization_gradient, "LayerNormalizationGradient", ONS_INTERNAL, ONS_ARITY(5, 5, 1, 3),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1)), ONS_INFER(layer_normalization_gradient_infer),
                    ONS_COST(layer_normalization_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}),
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(layer_normalization_gradient_reference),
                    ONS_CPU_KERNEL(layer_normalization_gradient_prepare, layer_normalization_gradient_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), layer_normalization_gradient_cases);
