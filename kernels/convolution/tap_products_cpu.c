#include "kernels/convolution/tap_products.h"

#include <string.h>

enum { HEIGHT = ONS_WINDOW_DIMS - 2, WIDTH = ONS_WINDOW_DIMS - 1 };

ons_status *ons_tap_products_prepare(ons_prepare *p, const ons_convolution *c, ons_tap_products *t) {
    *t = (ons_tap_products){.kind = c->kind,
                            .window = c->window,
                            .threads = ons_team_size(p),
                            .batch = c->x.shape.dims[0],
                            .channels = c->x.shape.dims[1],
                            .outputs = c->y.shape.dims[1]};
    int64_t positions = t->batch * ons_window_outputs(&c->window);
    t->y_at = (positions * t->channels + 15) / 16 * 16;
    int64_t floats = t->y_at + (positions * t->outputs + 15) / 16 * 16;
    p->scratch_bytes += floats * (int64_t)sizeof(float);
    p->implementation = "onednn:sgemm, one for each tap";
    return ons_require_scratch(p, p->scratch_bytes);
}

/* ------------------------------------------------------------------------------------------- the positions of a tap */

/* A tap and the outputs [first, end) in each dim at which it lies in the input. */
typedef struct tap {
    int64_t row, column; /* of the input's element, less the output's times the stride */
    int64_t first[2], end[2];
} tap;

static void clip(const ons_window *w, int dim, int64_t at, int64_t *first, int64_t *end) {
    int64_t stride = w->stride[dim], behind = w->input[dim] - at; /* at + output × stride lies in [0, input) */
    *first = at < 0 ? (-at + stride - 1) / stride : 0;
    *end = behind <= 0 ? 0 : (behind + stride - 1) / stride;
    if (*end > w->output[dim]) *end = w->output[dim];
    if (*end < *first) *end = *first;
}

static tap tap_at(const ons_window *w, int64_t number) {
    tap t = {.row = number / w->kernel[WIDTH] * w->dilation[HEIGHT] - w->begin[HEIGHT],
             .column = number % w->kernel[WIDTH] * w->dilation[WIDTH] - w->begin[WIDTH]};
    clip(w, HEIGHT, t.row, &t.first[0], &t.end[0]);
    clip(w, WIDTH, t.column, &t.first[1], &t.end[1]);
    return t;
}

static int64_t rows_of(const ons_tap_products *t, const tap *at) {
    return t->batch * (at->end[0] - at->first[0]) * (at->end[1] - at->first[1]);
}

/* Where row `i` of a tap's rows lies, in positions: of x, or of y. */
static int64_t position_of(const ons_tap_products *t, const tap *at, int64_t i, bool of_x) {
    const ons_window *w = &t->window;
    int64_t across = at->end[1] - at->first[1], down = at->end[0] - at->first[0];
    int64_t row = at->first[0] + i / across % down, column = at->first[1] + i % across, sample = i / across / down;
    if (!of_x) return (sample * w->output[HEIGHT] + row) * w->output[WIDTH] + column;
    return (sample * w->input[HEIGHT] + row * w->stride[HEIGHT] + at->row) * w->input[WIDTH] +
           column * w->stride[WIDTH] + at->column;
}

static void gather(const ons_tap_products *t, const tap *at, const float *from, bool of_x, float *to) {
    int64_t rows = rows_of(t, at), width = of_x ? t->channels : t->outputs;
#pragma omp parallel for schedule(static) num_threads(t->threads) if (rows * width > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < rows; ++i)
        memcpy(to + i * width, from + position_of(t, at, i, of_x) * width, (size_t)width * sizeof(float));
}

static void add_rows(const ons_tap_products *t, const tap *at, const float *from, bool of_x, float *to) {
    int64_t rows = rows_of(t, at), width = of_x ? t->channels : t->outputs;
#pragma omp parallel for schedule(static) num_threads(t->threads) if (rows * width > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < rows; ++i) {
        const float *row = from + i * width;
        float *sum = to + position_of(t, at, i, of_x) * width;
        for (int64_t c = 0; c < width; ++c) sum[c] += row[c];
    }
}

/* ------------------------------------------------------------------------------------------------------------ kinds */

/* Rows of `from` times the tap's filter, or its transpose, added to rows of `to`. */
static bool multiply_filter(const ons_tap_products *t, const tap *at, const float *from, const float *filter, float *to,
                            float *scratch) {
    bool forward = t->kind == ONS_CONVOLUTION_FORWARD;
    int64_t in = forward ? t->channels : t->outputs, out = forward ? t->outputs : t->channels;
    float *rows = scratch + (forward ? t->x_at : t->y_at), *made = scratch + (forward ? t->y_at : t->x_at);
    gather(t, at, from, forward, rows);
    bool good = dnnl_sgemm('N', forward ? 'N' : 'T', rows_of(t, at), out, in, 1, rows, in, filter, t->outputs, 0, made,
                           out) == dnnl_success;
    if (good) add_rows(t, at, made, !forward, to);
    return good;
}

static bool multiply_rows(const ons_tap_products *t, const tap *at, const float *x, const float *dy, float *filter,
                          float *scratch) {
    gather(t, at, x, true, scratch + t->x_at);
    gather(t, at, dy, false, scratch + t->y_at);
    return dnnl_sgemm('T', 'N', t->channels, t->outputs, rows_of(t, at), 1, scratch + t->x_at, t->channels,
                      scratch + t->y_at, t->outputs, 0, filter, t->outputs) == dnnl_success;
}

/* The bias in all rows, or zeros. */
static void fill(float *to, int64_t rows, int64_t width, const float *bias) {
    for (int64_t i = 0; i < rows; ++i) {
        if (bias != NULL)
            memcpy(to + i * width, bias, (size_t)width * sizeof(float));
        else
            memset(to + i * width, 0, (size_t)width * sizeof(float));
    }
}

static void sum_rows(const float *from, int64_t rows, int64_t width, float *to) {
    for (int64_t c = 0; c < width; ++c) {
        double sum = 0;
        for (int64_t i = 0; i < rows; ++i) sum += from[i * width + c];
        to[c] = (float)sum;
    }
}

static bool run_taps(const ons_tap_products *t, const float *first, const float *second, float *result,
                     float *scratch) {
    int64_t taps = ons_window_taps(&t->window), size = t->channels * t->outputs;
    bool good = true, of_filter = t->kind == ONS_CONVOLUTION_WEIGHT_GRADIENT;
    for (int64_t i = 0; i < taps; ++i) {
        tap at = tap_at(&t->window, i);
        bool sees = rows_of(t, &at) > 0;
        if (of_filter && !sees) memset(result + i * size, 0, (size_t)size * sizeof(float));
        if (of_filter && sees) good &= multiply_rows(t, &at, first, second, result + i * size, scratch);
        if (!of_filter && sees) good &= multiply_filter(t, &at, first, second + i * size, result, scratch);
    }
    return good;
}

void ons_tap_products_run(const ons_tap_products *t, const void *const arguments[4], const ons_launch *launch) {
    int64_t xs = t->batch * ons_window_inputs(&t->window), ys = t->batch * ons_window_outputs(&t->window);
    float *result = (float *)arguments[2];
    int before = ons_onednn_enter(t->threads);
    if (t->kind == ONS_CONVOLUTION_FORWARD) fill(result, ys, t->outputs, arguments[3]);
    if (t->kind == ONS_CONVOLUTION_INPUT_GRADIENT) fill(result, xs, t->channels, NULL);
    if (t->kind == ONS_CONVOLUTION_WEIGHT_GRADIENT && arguments[3] != NULL)
        sum_rows(arguments[1], ys, t->outputs, (float *)arguments[3]);
    bool good = run_taps(t, arguments[0], arguments[1], result, launch->scratch);
    ons_onednn_leave(before);
    if (!good && launch->fault != NULL && launch->fault->problem == NULL)
        launch->fault->problem = "oneDNN failed to multiply the taps of a convolution";
}
