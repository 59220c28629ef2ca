#include "kernels/convolution/winograd.h"

#include <omp.h>
#include <string.h>

#include "kernels/common/gemm/small_gemm.h"
#include "kernels/common/math/simd.h"
#include "kernels/common/rows/rows.h"

/* Products take their right operand in panels so wide: what a tile of ons_small_multiply has. */
enum { NUMBERS = 16, PANEL = 2 * ONS_SIMD_FLOATS, LINE = 16 };

#define ALWAYS_INLINE static inline __attribute__((always_inline))

static int64_t round_up(int64_t number, int64_t to) { return (number + to - 1) / to * to; }

/* ---------------------------------------------------------------------------------------------------------- prepare */

/* Tiles in a block: enough for products to be worth reading their filters, few enough for a core's cache. For the
 * filter's gradient the team goes through blocks together, and waits twice for each. */
enum { BLOCK = 96, SHARED_BLOCK = 192 };

static void divide(ons_winograd *w) {
    w->down = (w->to.height + 1) / 2;
    w->across = (w->to.width + 1) / 2;
    w->tiles = w->batch * w->down * w->across;
    bool shared = w->kind == ONS_CONVOLUTION_WEIGHT_GRADIENT;
    int64_t most = shared ? SHARED_BLOCK : BLOCK;
    w->blocks = (w->tiles + most - 1) / most;
    if (!shared) w->blocks = round_up(w->blocks, w->threads);
    if (w->blocks > w->tiles) w->blocks = w->tiles;
    w->block = (w->tiles + w->blocks - 1) / w->blocks;
}

static void book(ons_winograd *w) {
    bool filter = w->kind == ONS_CONVOLUTION_WEIGHT_GRADIENT;
    int64_t wide = w->from.channels > w->to.channels ? w->from.channels : w->to.channels;
    /* A line more, so that the 16 do not lie whole pages apart. */
    w->from_apart = w->block * w->from_row + LINE;
    w->to_apart = (filter ? round_up(w->to.channels, PANEL) : w->to_row) * w->block + LINE;
    int64_t panels = round_up(filter ? w->outputs : w->to.channels, PANEL);
    w->filter_apart = w->from.channels * panels + LINE;
    w->zeros_at = 0;
    w->filter_at = round_up(wide, LINE);
    w->team_at = w->filter_at + NUMBERS * w->filter_apart;
    w->member_floats = NUMBERS * (w->from_apart + w->to_apart) + round_up(wide, LINE);
}

ons_status *ons_winograd_prepare(ons_prepare *p, const ons_convolution *c, ons_winograd *w) {
    enum { HEIGHT = ONS_WINDOW_DIMS - 2, WIDTH = ONS_WINDOW_DIMS - 1 };
    const ons_window *window = &c->window;
    *w = (ons_winograd){.kind = c->kind,
                        .threads = ons_team_size(p),
                        .batch = c->x.shape.dims[0],
                        .channels = c->x.shape.dims[1],
                        .outputs = c->y.shape.dims[1],
                        .top = window->begin[HEIGHT],
                        .left = window->begin[WIDTH]};
    w->from = (ons_winograd_plane){window->input[HEIGHT], window->input[WIDTH], w->channels};
    w->to = (ons_winograd_plane){window->output[HEIGHT], window->output[WIDTH], w->outputs};
    if (c->kind == ONS_CONVOLUTION_INPUT_GRADIENT) {
        ons_winograd_plane x = w->from;
        w->from = w->to;
        w->to = x;
        w->top = 2 - w->top;
        w->left = 2 - w->left;
    }
    w->from_row = round_up(w->from.channels, LINE) + LINE;
    w->to_row = round_up(w->to.channels, LINE) + LINE;
    divide(w);
    book(w);
    int64_t members = c->kind == ONS_CONVOLUTION_WEIGHT_GRADIENT ? 1 : w->threads;
    p->scratch_bytes += (w->team_at + members * w->member_floats) * (int64_t)sizeof(float);
    p->implementation = "winograd";
    return ons_require_scratch(p, p->scratch_bytes);
}

/* -------------------------------------------------------------------------------------------------- where tiles are */

typedef struct tile {
    int64_t sample, row, column; /* of the first of its 2 × 2 positions in `to` */
} tile;

static tile tile_at(const ons_winograd *w, int64_t number) {
    return (tile){number / (w->down * w->across), number / w->across % w->down * 2, number % w->across * 2};
}

static int64_t place_of(const ons_winograd_plane *plane, int64_t sample, int64_t row, int64_t column) {
    bool inside = row >= 0 && row < plane->height && column >= 0 && column < plane->width;
    return inside ? ((sample * plane->height + row) * plane->width + column) * plane->channels : -1;
}

/* The 4 × 4 positions that a tile is made from. */
static void find_sources(const ons_winograd *w, const tile *t, const float *from, const float *zeros,
                         const float *sources[NUMBERS]) {
    for (int i = 0; i < NUMBERS; ++i) {
        int64_t at = place_of(&w->from, t->sample, t->row - w->top + i / 4, t->column - w->left + i % 4);
        sources[i] = at >= 0 ? from + at : zeros;
    }
}

/* The 2 × 2 positions of a tile in `to`; `outside` for those that are not there. */
static void find_targets(const ons_winograd *w, const tile *t, float *to, float *outside, float *targets[4]) {
    for (int i = 0; i < 4; ++i) {
        int64_t at = place_of(&w->to, t->sample, t->row + i / 2, t->column + i % 2);
        targets[i] = at >= 0 ? to + at : outside;
    }
}

/* ----------------------------------------------------------------------------------------- transforms, lane by lane */

/* Bᵀ of four numbers. */
#define SOURCE_TRANSFORM(TO, A, B, C, D)                                                                               \
    ((TO)[0] = (A) - (C), (TO)[1] = (B) + (C), (TO)[2] = (C) - (B), (TO)[3] = (B) - (D))

/* Channels from `c` on, `count` of them, of the 4 × 4 positions to the 16 numbers, `apart` floats apart. */
ALWAYS_INLINE void transform_source(const float *const sources[NUMBERS], int64_t c, int64_t count, float *to,
                                    int64_t apart) {
    ons_simd_float t[4][4]; /* by columns */
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
        ons_simd_float a = ons_simd_load_first(sources[j] + c, count),
                       b = ons_simd_load_first(sources[4 + j] + c, count),
                       d = ons_simd_load_first(sources[8 + j] + c, count),
                       e = ons_simd_load_first(sources[12 + j] + c, count);
        SOURCE_TRANSFORM(t[j], a, b, d, e);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        ons_simd_float v[4];
        SOURCE_TRANSFORM(v, t[0][i], t[1][i], t[2][i], t[3][i]);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) ons_simd_store_first(to + (4 * i + j) * apart + c, v[j], count);
    }
}

/* Aᵀ of four numbers. */
#define RESULT_TRANSFORM(TO, A, B, C, D) ((TO)[0] = (A) + (B) + (C), (TO)[1] = (B) - (C) - (D))

ALWAYS_INLINE void transform_result(const float *from, int64_t apart, int64_t c, int64_t count, const float *bias,
                                    float *const targets[4]) {
    ons_simd_float s[4][2];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
        const float *at = from + j * apart + c;
        ons_simd_float a = ons_simd_load_first(at, count), b = ons_simd_load_first(at + 4 * apart, count),
                       d = ons_simd_load_first(at + 8 * apart, count), e = ons_simd_load_first(at + 12 * apart, count);
        RESULT_TRANSFORM(s[j], a, b, d, e);
    }
    ons_simd_float added = bias != NULL ? ons_simd_load_first(bias + c, count) : (ons_simd_float){0};
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
        ons_simd_float y[2];
        RESULT_TRANSFORM(y, s[0][i], s[1][i], s[2][i], s[3][i]);
        ons_simd_store_first(targets[2 * i] + c, y[0] + added, count);
        ons_simd_store_first(targets[2 * i + 1] + c, y[1] + added, count);
    }
}

/* A of two numbers. */
#define COTANGENT_TRANSFORM(TO, A, B) ((TO)[0] = (A), (TO)[1] = (A) + (B), (TO)[2] = (A) - (B), (TO)[3] = -(B))

/* Channels of the 2 × 2 cotangents to the 16 numbers; `to` is the place of channel c in the first. */
ALWAYS_INLINE void transform_cotangent(const float *const sources[4], int64_t c, int64_t count, float *to,
                                       int64_t apart) {
    ons_simd_float t[2][4];
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
        ons_simd_float a = ons_simd_load_first(sources[j] + c, count),
                       b = ons_simd_load_first(sources[2 + j] + c, count);
        COTANGENT_TRANSFORM(t[j], a, b);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        ons_simd_float z[4];
        COTANGENT_TRANSFORM(z, t[0][i], t[1][i]);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) ons_simd_store_first(to + (4 * i + j) * apart, z[j], count);
    }
}

/* G of three numbers. */
#define FILTER_TRANSFORM(TO, A, B, C)                                                                                  \
    ((TO)[0] = (A), (TO)[1] = 0.5f * ((A) + (B) + (C)), (TO)[2] = 0.5f * ((A) - (B) + (C)), (TO)[3] = (C))

/* `taps`: of the first of count lanes; taps lie `between` floats apart, in reverse order where `between` < 0. */
ALWAYS_INLINE void transform_filter(const float *taps, int64_t between, int64_t count, float *to, int64_t apart) {
    ons_simd_float t[3][4];
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) {
        ons_simd_float a = ons_simd_load_first(taps + j * between, count),
                       b = ons_simd_load_first(taps + (3 + j) * between, count),
                       d = ons_simd_load_first(taps + (6 + j) * between, count);
        FILTER_TRANSFORM(t[j], a, b, d);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        ons_simd_float u[4];
        FILTER_TRANSFORM(u, t[0][i], t[1][i], t[2][i]);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) ons_simd_store_first(to + (4 * i + j) * apart, u[j], count);
    }
}

/* Gᵀ of four numbers. */
#define GRADIENT_TRANSFORM(TO, A, B, C, D)                                                                             \
    ((TO)[0] = (A) + 0.5f * ((B) + (C)), (TO)[1] = 0.5f * ((B) - (C)), (TO)[2] = 0.5f * ((B) + (C)) + (D))

ALWAYS_INLINE void transform_gradient(const float *from, int64_t apart, int64_t count, float *taps, int64_t between) {
    ons_simd_float t[4][3];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
        const float *at = from + j * apart;
        ons_simd_float a = ons_simd_load_first(at, count), b = ons_simd_load_first(at + 4 * apart, count),
                       d = ons_simd_load_first(at + 8 * apart, count), e = ons_simd_load_first(at + 12 * apart, count);
        GRADIENT_TRANSFORM(t[j], a, b, d, e);
    }
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i) {
        ons_simd_float g[3];
        GRADIENT_TRANSFORM(g, t[0][i], t[1][i], t[2][i], t[3][i]);
#pragma GCC unroll 3
        for (int j = 0; j < 3; ++j) ons_simd_store_first(taps + (3 * i + j) * between, g[j], count);
    }
}

/* STATEMENT for `c` and `count` of all `channels`: compiled for whole registers and for what is left. */
#define EACH_LANES(CHANNELS, STATEMENT)                                                                                \
    do {                                                                                                               \
        int64_t c = 0;                                                                                                 \
        for (; c + ONS_SIMD_FLOATS <= (CHANNELS); c += ONS_SIMD_FLOATS) {                                              \
            enum { count = ONS_SIMD_FLOATS };                                                                          \
            STATEMENT;                                                                                                 \
        }                                                                                                              \
        if (c < (CHANNELS)) {                                                                                          \
            int64_t count = (CHANNELS)-c;                                                                              \
            STATEMENT;                                                                                                 \
        }                                                                                                              \
    } while (0)

/* ---------------------------------------------------------------------------------------------------------- filters */

/* Panels of a product's right operand: [16][panel][depth][PANEL]. */
static float *panel_at(const ons_winograd *w, float *filter, int64_t column, int64_t depth) {
    return filter + column / PANEL * PANEL * depth;
}

/* Forwards, the outputs of one channel: row `channel` of all panels. */
static void transform_channel(const ons_winograd *w, const float *filter, int64_t channel, float *to) {
    const float *taps = filter + channel * w->outputs;
    int64_t between = w->channels * w->outputs;
    EACH_LANES(w->outputs,
               transform_filter(taps + c, between, count, panel_at(w, to, c, w->channels) + channel * PANEL + c % PANEL,
                                w->filter_apart));
}

/* For the input's gradient, taps in reverse and the product over the outputs: a panel of channels, transformed in
 * pieces of some outputs and transposed. */
static void transform_panel(const ons_winograd *w, const float *filter, int64_t first, float *to) {
    enum { PIECE = 32 };
    float piece[NUMBERS][PANEL][PIECE];
    int64_t between = w->channels * w->outputs, left = w->channels - first, width = left < PANEL ? left : PANEL;
    float *panel = panel_at(w, to, first, w->outputs);
    for (int64_t begin = 0; begin < w->outputs; begin += PIECE) {
        int64_t outputs = w->outputs - begin < PIECE ? w->outputs - begin : PIECE;
        for (int64_t i = 0; i < width; ++i) {
            const float *last = filter + 8 * between + (first + i) * w->outputs + begin;
            float *row = &piece[0][i][0];
            EACH_LANES(outputs, transform_filter(last + c, -between, count, row + c, PANEL * PIECE));
        }
        for (int number = 0; number < NUMBERS; ++number)
            ons_small_transpose(width, outputs, (ons_small_matrix){&piece[number][0][0], PIECE},
                                (ons_small_matrix){panel + number * w->filter_apart + begin * PANEL, PANEL});
    }
}

static void transform_filters(const ons_winograd *w, const float *filter, float *to) {
    if (w->kind == ONS_CONVOLUTION_FORWARD) {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < w->channels; ++i) transform_channel(w, filter, i, to);
    } else {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < w->channels; i += PANEL) transform_panel(w, filter, i, to);
    }
}

/* -------------------------------------------------------------------------- forwards, and the gradient of the input */

/* Tiles [first, last): `made` holds a thread's own transformed tiles, the products, and a place for what lies outside.
 */
static void run_block(const ons_winograd *w, const float *from, const float *zeros, float *filter, const float *bias,
                      int64_t first, int64_t last, float *to, float *made) {
    float *products = made + NUMBERS * w->from_apart, *outside = products + NUMBERS * w->to_apart;
    for (int64_t i = first; i < last; ++i) {
        const float *sources[NUMBERS];
        tile t = tile_at(w, i);
        find_sources(w, &t, from, zeros, sources);
        float *at = made + (i - first) * w->from_row;
        EACH_LANES(w->from.channels, transform_source(sources, c, count, at, w->from_apart));
    }
    for (int number = 0; number < NUMBERS; ++number)
        for (int64_t column = 0; column < w->to.channels; column += PANEL) {
            int64_t left = w->to.channels - column;
            ons_small_gemm product = {.m = last - first, .n = left < PANEL ? left : PANEL, .k = w->from.channels};
            ons_small_multiply(
                &product, (ons_small_matrix){made + number * w->from_apart, w->from_row},
                (ons_small_matrix){panel_at(w, filter + number * w->filter_apart, column, w->from.channels), PANEL},
                (ons_small_matrix){products + number * w->to_apart + column, w->to_row});
        }
    for (int64_t i = first; i < last; ++i) {
        float *targets[4];
        tile t = tile_at(w, i);
        find_targets(w, &t, to, outside, targets);
        const float *at = products + (i - first) * w->to_row;
        EACH_LANES(w->to.channels, transform_result(at, w->to_apart, c, count, bias, targets));
    }
}

static void run_tiles(const ons_winograd *w, const float *from, const float *filter, const float *bias, float *to,
                      float *scratch) {
    float *zeros = scratch + w->zeros_at, *filters = scratch + w->filter_at;
    memset(zeros, 0, (size_t)w->from.channels * sizeof(float));
#pragma omp parallel num_threads(w->threads) if (w->threads > 1)
    {
        float *made = scratch + w->team_at + omp_get_thread_num() * w->member_floats;
        transform_filters(w, filter, filters);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < w->blocks; ++i)
            run_block(w, from, zeros, filters, bias, ons_part_begin(w->tiles, (int)w->blocks, (int)i),
                      ons_part_begin(w->tiles, (int)w->blocks, (int)i + 1), to, made);
    }
}

/* --------------------------------------------------------------------------------------- the gradient of the filter */

/* Tiles [first, last) of x and of dy, by all threads; dy's to panels. */
static void transform_tiles(const ons_winograd *w, const float *x, const float *dy, const float *zeros, int64_t first,
                            int64_t last, float *xs, float *dys) {
    int64_t tiles = last - first;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < tiles; ++i) {
        const float *sources[NUMBERS], *cotangents[4];
        tile t = tile_at(w, first + i);
        find_sources(w, &t, x, zeros, sources);
        float *at = xs + i * w->from_row;
        EACH_LANES(w->channels, transform_source(sources, c, count, at, w->from_apart));
        for (int j = 0; j < 4; ++j) {
            int64_t place = place_of(&w->to, t.sample, t.row + j / 2, t.column + j % 2);
            cotangents[j] = place >= 0 ? dy + place : zeros;
        }
        EACH_LANES(w->outputs, transform_cotangent(cotangents, c, count,
                                                   panel_at(w, dys, c, tiles) + i * PANEL + c % PANEL, w->to_apart));
    }
}

/* Sums over tiles, into sums of [16][channels][outputs]. */
static void multiply_tiles(const ons_winograd *w, float *xs, float *dys, int64_t tiles, bool add, float *sums) {
    int64_t panels = (w->outputs + PANEL - 1) / PANEL, row = panels * PANEL;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < NUMBERS * panels; ++i) {
        int64_t number = i / panels, column = i % panels * PANEL, left = w->outputs - column;
        ons_small_gemm product = {
            .m = w->channels, .n = left < PANEL ? left : PANEL, .k = tiles, .transpose_a = true, .add = add};
        ons_small_multiply(&product, (ons_small_matrix){xs + number * w->from_apart, w->from_row},
                           (ons_small_matrix){panel_at(w, dys + number * w->to_apart, column, tiles), PANEL},
                           (ons_small_matrix){sums + number * w->filter_apart + column, row});
    }
}

/* In double: so many positions are a long sum. */
static void sum_bias(const ons_winograd *w, const float *dy, float *dbias) {
    int64_t positions = w->batch * w->to.height * w->to.width;
#pragma omp for schedule(static)
    for (int64_t first = 0; first < w->outputs; first += LINE) {
        double sums[LINE] = {0};
        int64_t left = w->outputs - first, count = left < LINE ? left : LINE;
        for (int64_t i = 0; i < positions; ++i)
            for (int64_t c = 0; c < count; ++c) sums[c] += dy[i * w->outputs + first + c];
        for (int64_t c = 0; c < count; ++c) dbias[first + c] = (float)sums[c];
    }
}

static void run_filter(const ons_winograd *w, const float *x, const float *dy, float *dw, float *dbias,
                       float *scratch) {
    float *zeros = scratch + w->zeros_at, *sums = scratch + w->filter_at;
    float *xs = scratch + w->team_at, *dys = xs + NUMBERS * w->from_apart;
    int64_t wide = w->channels > w->outputs ? w->channels : w->outputs, row = round_up(w->outputs, PANEL);
    memset(zeros, 0, (size_t)wide * sizeof(float));
#pragma omp parallel num_threads(w->threads) if (w->threads > 1)
    {
        for (int64_t i = 0; i < w->blocks; ++i) {
            int64_t first = ons_part_begin(w->tiles, (int)w->blocks, (int)i),
                    last = ons_part_begin(w->tiles, (int)w->blocks, (int)i + 1);
            transform_tiles(w, x, dy, zeros, first, last, xs, dys);
            multiply_tiles(w, xs, dys, last - first, i > 0, sums);
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < w->channels; ++i) {
            const float *at = sums + i * row;
            float *taps = dw + i * w->outputs;
            EACH_LANES(w->outputs,
                       transform_gradient(at + c, w->filter_apart, count, taps + c, w->channels * w->outputs));
        }
        if (dbias != NULL) sum_bias(w, dy, dbias);
    }
}

void ons_winograd_run(const ons_winograd *w, const void *const arguments[4], float *scratch) {
    switch (w->kind) {
    case ONS_CONVOLUTION_FORWARD:
        run_tiles(w, arguments[0], arguments[1], arguments[3], (float *)arguments[2], scratch);
        return;
    case ONS_CONVOLUTION_INPUT_GRADIENT:
        run_tiles(w, arguments[0], arguments[1], NULL, (float *)arguments[2], scratch);
        return;
    case ONS_CONVOLUTION_WEIGHT_GRADIENT:
        run_filter(w, arguments[0], arguments[1], (float *)arguments[2], (float *)arguments[3], scratch);
    }
}
