#include "kernels/normalization/norm_rows.h"

#include <math.h>

#include "kernels/common/math/simd.h"
#include "kernels/common/rows/rows.h"

/* ---------------------------------------------------------------------------------------------------------- forward */

/* Four sums side by side, as one would wait for the adder. */
static float sum_row(const float *x, int64_t n) {
    ons_simd_float sums[4] = {0};
    int64_t i = 0;
    for (; i + 4 * ONS_SIMD_FLOATS <= n; i += 4 * ONS_SIMD_FLOATS)
        for (int k = 0; k < 4; ++k) sums[k] += ons_simd_load(x + i + k * ONS_SIMD_FLOATS);
    for (; i + ONS_SIMD_FLOATS <= n; i += ONS_SIMD_FLOATS) sums[0] += ons_simd_load(x + i);
    if (i < n) sums[1] += ons_simd_load_some(x + i, n - i, 0);
    return ons_simd_sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

static float sum_squares(const float *x, float mean, int64_t n) {
    ons_simd_float sums[4] = {0};
    int64_t i = 0;
    for (; i + 4 * ONS_SIMD_FLOATS <= n; i += 4 * ONS_SIMD_FLOATS)
        for (int k = 0; k < 4; ++k) {
            ons_simd_float d = ons_simd_load(x + i + k * ONS_SIMD_FLOATS) - mean;
            sums[k] += d * d;
        }
    for (; i + ONS_SIMD_FLOATS <= n; i += ONS_SIMD_FLOATS) {
        ons_simd_float d = ons_simd_load(x + i) - mean;
        sums[0] += d * d;
    }
    if (i < n) {
        ons_simd_float d = ons_simd_load_some(x + i, n - i, mean) - mean;
        sums[1] += d * d;
    }
    return ons_simd_sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

static inline void normalize_row(const float *x, const float *scale, const float *bias, float mean, float inverse,
                                 float *y, int64_t n) {
    int64_t i = 0;
    for (; i + ONS_SIMD_FLOATS <= n; i += ONS_SIMD_FLOATS) {
        ons_simd_float a = (ons_simd_load(x + i) - mean) * inverse * ons_simd_load(scale + i);
        ons_simd_store(y + i, bias == NULL ? a : a + ons_simd_load(bias + i));
    }
    if (i < n) {
        ons_simd_float a =
            (ons_simd_load_some(x + i, n - i, 0) - mean) * inverse * ons_simd_load_some(scale + i, n - i, 0);
        ons_simd_store_some(y + i, bias == NULL ? a : a + ons_simd_load_some(bias + i, n - i, 0), n - i);
    }
}

void ons_normalize_rows(const ons_layer_norm *norm, float epsilon, bool centered, const float *x, const float *scale,
                        const float *bias, float *y, float *means, float *inverses) {
    int64_t rows = norm->rows, n = norm->columns;
#pragma omp parallel for schedule(static) if (rows * n > ONS_PARALLEL_GRAIN)
    for (int64_t row = 0; row < rows; ++row) {
        const float *from = x + row * n;
        float mean = centered ? sum_row(from, n) / (float)n : 0;
        float inverse = 1 / sqrtf(sum_squares(from, mean, n) / (float)n + epsilon);
        normalize_row(from, scale, bias, mean, inverse, y + row * n, n);
        if (means != NULL) means[row] = mean;
        if (inverses != NULL) inverses[row] = inverse;
    }
}

/* --------------------------------------------------------------------------------------------------------- gradient */

/* Rows are cut into parts; each adds up dscale and dbias in scratch of its own, and the parts are then added in order.
 */
enum { PARTS_MAX = 16, ROWS = 4 };

typedef struct gradient_state {
    ons_layer_norm norm;
    uint32_t extra;
    bool adds, adds_before;
    int parts;
    int64_t stride; /* floats of one part's sums for scale or bias */
} gradient_state;

ons_status *ons_norm_gradient_prepare(ons_prepare *p, const ons_layer_norm *norm, uint32_t extra) {
    ONS_TRY(ons_require_float32(p->operands));
    gradient_state *state;
    ONS_NEW_STATE(state, p);
    state->norm = *norm;
    state->extra = extra;
    state->adds = ons_has_input(p->operands, extra);
    state->adds_before = ons_has_input(p->operands, extra + 1);
    int most = p->threads > PARTS_MAX ? p->threads : PARTS_MAX;
    int parts = ons_parts(state->norm.rows, state->norm.columns);
    state->parts = parts < most ? parts : most;
    state->stride = (state->norm.columns + ONS_SIMD_FLOATS - 1) / ONS_SIMD_FLOATS * ONS_SIMD_FLOATS;
    p->scratch_bytes = 2 * state->parts * state->stride * (int64_t)sizeof(float);
    return NULL;
}

/* What stays the same from row to row. */
typedef struct row_work {
    const float *dy, *more;                    /* the cotangent's summands; more may be NULL */
    const float *x, *scale, *means, *inverses; /* means NULL: all 0 */
    const float *added;                        /* to dx; NULL: nothing */
    float *dx, *dscale, *dbias;                /* dx may be NULL; the sums are one part's, or NULL */
    int64_t columns;
} row_work;

static inline ons_simd_float load(const float *from, int64_t count) {
    return count == ONS_SIMD_FLOATS ? ons_simd_load(from) : ons_simd_load_some(from, count, 0);
}

static inline void store(float *to, ons_simd_float x, int64_t count) {
    if (count == ONS_SIMD_FLOATS)
        ons_simd_store(to, x);
    else
        ons_simd_store_some(to, x, count);
}

static inline float mean_of(const row_work *w, int64_t row) { return w->means != NULL ? w->means[row] : 0; }

/* Which summands are there: constants, so that loops do not ask. */
typedef struct summands {
    bool more, added;
} summands;

static inline __attribute__((always_inline)) ons_simd_float cotangent_of(const row_work *w, summands is, int64_t at,
                                                                         int64_t count) {
    ons_simd_float dy = load(w->dy + at, count);
    return is.more ? dy + load(w->more + at, count) : dy;
}

/* `count` (≤ ONS_SIMD_FLOATS) columns of `rows` rows: adds a and a n to sums[row], and to the part's dscale and dbias,
 * which have room for whole lanes. */
static inline __attribute__((always_inline)) void add_columns(const row_work *w, summands is, int64_t row, int rows,
                                                              int64_t column, int64_t count,
                                                              ons_simd_float (*sums)[2]) {
    ons_simd_float scale = load(w->scale + column, count), dscale = {0}, dbias = {0};
    for (int k = 0; k < rows; ++k) {
        int64_t at = (row + k) * w->columns + column;
        ons_simd_float dy = cotangent_of(w, is, at, count), a = dy * scale;
        ons_simd_float n = (load(w->x + at, count) - mean_of(w, row + k)) * w->inverses[row + k];
        sums[k][0] += a;
        sums[k][1] += a * n;
        dscale += dy * n;
        dbias += dy;
    }
    if (w->dscale == NULL) return;
    ons_simd_store(w->dscale + column, ons_simd_load(w->dscale + column) + dscale);
    ons_simd_store(w->dbias + column, ons_simd_load(w->dbias + column) + dbias);
}

static inline __attribute__((always_inline)) void
write_columns(const row_work *w, summands is, int64_t row, int64_t column, int64_t count, float first, float second) {
    int64_t at = row * w->columns + column;
    float mean = mean_of(w, row), r = w->inverses[row];
    ons_simd_float n = (load(w->x + at, count) - mean) * r;
    ons_simd_float a = cotangent_of(w, is, at, count) * load(w->scale + column, count);
    ons_simd_float dx = r * (a - first - n * second);
    store(w->dx + at, is.added ? dx + load(w->added + at, count) : dx, count);
}

static inline __attribute__((always_inline)) void work_rows(const row_work *w, summands is, int64_t row, int rows) {
    ons_simd_float sums[ROWS][2] = {{{0}}};
    int64_t n = w->columns, column = 0;
    for (; column + ONS_SIMD_FLOATS <= n; column += ONS_SIMD_FLOATS)
        add_columns(w, is, row, rows, column, ONS_SIMD_FLOATS, sums);
    if (column < n) add_columns(w, is, row, rows, column, n - column, sums);
    for (int k = 0; w->dx != NULL && k < rows; ++k) {
        float first = w->means != NULL ? ons_simd_sum_of(sums[k][0]) / (float)n : 0;
        float second = ons_simd_sum_of(sums[k][1]) / (float)n;
        for (column = 0; column + ONS_SIMD_FLOATS <= n; column += ONS_SIMD_FLOATS)
            write_columns(w, is, row + k, column, ONS_SIMD_FLOATS, first, second);
        if (column < n) write_columns(w, is, row + k, column, n - column, first, second);
    }
}

static inline __attribute__((always_inline)) void work_all(const row_work *w, summands is, int64_t begin, int64_t end) {
    int64_t row = begin;
    for (; row + ROWS <= end; row += ROWS) work_rows(w, is, row, ROWS);
    for (; row < end; ++row) work_rows(w, is, row, 1);
}

static void work_part(row_work w, int64_t begin, int64_t end) {
    for (int64_t i = 0; w.dscale != NULL && i < w.columns; ++i) w.dscale[i] = w.dbias[i] = 0;
    if (w.more == NULL && w.added == NULL)
        work_all(&w, (summands){false, false}, begin, end);
    else if (w.more == NULL)
        work_all(&w, (summands){false, true}, begin, end);
    else if (w.added == NULL)
        work_all(&w, (summands){true, false}, begin, end);
    else
        work_all(&w, (summands){true, true}, begin, end);
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

void ons_norm_gradient_run(const ons_launch *launch, const ons_norm_gradient *g) {
    const gradient_state *state = launch->state;
    int64_t rows = state->norm.rows, columns = state->norm.columns, stride = state->stride;
    int parts = state->parts;
    float *scales = launch->scratch, *biases = scales + parts * stride;
    bool wants_sums = g->dscale != NULL || g->dbias != NULL;
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        row_work work = {.dy = g->dy,
                         .more = state->adds_before ? launch->inputs[state->extra + 1] : NULL,
                         .x = g->x,
                         .scale = g->scale,
                         .means = g->means,
                         .inverses = g->inverses,
                         .added = state->adds ? launch->inputs[state->extra] : NULL,
                         .dx = g->dx,
                         .dscale = wants_sums ? scales + part * stride : NULL,
                         .dbias = wants_sums ? biases + part * stride : NULL,
                         .columns = columns};
        work_part(work, ons_part_begin(rows, parts, part), ons_part_begin(rows, parts, part + 1));
    }
    add_parts(scales, parts, stride, columns, g->dscale);
    add_parts(biases, parts, stride, columns, g->dbias);
}
