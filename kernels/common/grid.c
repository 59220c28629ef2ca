#include "kernels/common/grid.h"

#include <math.h>
#include <string.h>

static ons_status *read_attributes(const ons_operands *o, ons_grid *g) {
    const char *mode = ons_attribute_string(o, ONS_GRID_MODE), *padding = ons_attribute_string(o, ONS_GRID_PADDING);
    g->align_corners = ons_attribute_int(o, ONS_GRID_ALIGN_CORNERS) != 0;
    if (strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0) /* the names of opset 20 and of opset 16 */
        g->mode = ONS_GRID_LINEAR;
    else if (strcmp(mode, "cubic") == 0 || strcmp(mode, "bicubic") == 0)
        g->mode = ONS_GRID_CUBIC;
    else if (strcmp(mode, "nearest") == 0)
        g->mode = ONS_GRID_NEAREST;
    else
        return ons_node_error(o, "unknown mode '%s'", mode);
    if (strcmp(padding, "zeros") == 0)
        g->padding = ONS_GRID_ZEROS;
    else if (strcmp(padding, "border") == 0)
        g->padding = ONS_GRID_BORDER;
    else if (strcmp(padding, "reflection") == 0)
        g->padding = ONS_GRID_REFLECTION;
    else
        return ons_node_error(o, "unknown padding_mode '%s'", padding);
    return NULL;
}

static int32_t taps_of(const ons_grid *g) {
    return g->mode == ONS_GRID_NEAREST ? 1 : g->mode == ONS_GRID_LINEAR ? 2 : ONS_GRID_TAPS;
}

ons_status *ons_grid_of(const ons_operands *o, const ons_type *x, const ons_type *grid, ons_grid *g) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    uint32_t rank = x->shape.rank;
    *g = (ons_grid){.combinations = 1};
    ONS_TRY(read_attributes(o, g));
    if (rank < 3 || rank > 2 + ONS_GRID_DIMS)
        return ons_node_error(o, "%s has not 1 to 3 spatial dimensions", ons_type_print(x, left));
    g->dims = (int32_t)rank - 2;
    if (grid->shape.rank != rank || grid->shape.dims[rank - 1] != g->dims || grid->shape.dims[0] != x->shape.dims[0] ||
        !ons_dtype_is_float(grid->dtype))
        return ons_node_error(o, "%s is no grid for %s", ons_type_print(grid, right), ons_type_print(x, left));
    g->batch = x->shape.dims[0];
    g->channels = x->shape.dims[1];
    g->result = (ons_shape){.rank = rank, .dims = {g->batch, g->channels}};
    for (int32_t i = 0; i < g->dims; ++i) {
        g->lengths[i] = x->shape.dims[2 + i];
        g->result.dims[2 + i] = grid->shape.dims[1 + i];
        g->combinations *= taps_of(g);
    }
    ONS_TRY_AT(ons_shape_check(&g->result), "node '%s'", o->name);
    g->inputs = ons_shape_span(&x->shape, 2, rank);
    g->outputs = ons_shape_span(&g->result, 2, rank);
    if (g->inputs == 0 && g->outputs > 0) return ons_node_error(o, "nothing to sample in %s", ons_type_print(x, left));
    return NULL;
}

/* ---- one axis */

typedef struct taps {
    int64_t index[ONS_GRID_TAPS];
    double weight[ONS_GRID_TAPS], slope[ONS_GRID_TAPS];
} taps;

/* Mirrored at the ends until it lies between them; *sign changes with the direction. */
static double reflect(double x, double low, double high, double *sign) {
    double range = high - low;
    if (range <= 0) {
        *sign = 0;
        return low;
    }
    double offset = fmod(x - low, 2 * range);
    if (offset < 0) offset += 2 * range;
    *sign = offset <= range ? 1 : -1;
    return offset <= range ? low + offset : high - (offset - range);
}

/* The position along an axis, and its derivative by the coordinate. */
static double locate(const ons_grid *g, int64_t length, double coordinate, double *derivative) {
    double last = (double)(length - 1), sign;
    double x = g->align_corners ? (coordinate + 1) / 2 * last : ((coordinate + 1) * (double)length - 1) / 2;
    double low = g->align_corners ? 0 : -0.5, high = g->align_corners ? last : last + 0.5;
    *derivative = (g->align_corners ? last : (double)length) / 2;
    if (!isfinite(x)) x = -9; /* outside, as for PyTorch */
    if (g->mode == ONS_GRID_NEAREST) x = rint(x);
    if (g->padding == ONS_GRID_ZEROS) return fmin(fmax(x, -9), (double)length + 9); /* sees nothing there */
    if (x >= low && x <= high) return x;
    if (g->padding == ONS_GRID_BORDER) {
        *derivative = 0;
        return fmin(fmax(x, 0), last);
    }
    x = reflect(x, low, high, &sign);
    *derivative *= sign;
    return x;
}

/* An element beside the ends. */
static int64_t settle(const ons_grid *g, int64_t length, int64_t index) {
    if (index >= 0 && index < length) return index;
    if (g->padding == ONS_GRID_ZEROS) return -1;
    if (g->padding == ONS_GRID_BORDER) return index < 0 ? 0 : length - 1;
    int64_t period = g->align_corners ? 2 * (length - 1) : 2 * length;
    if (period == 0) return 0;
    index %= period;
    index += index < 0 ? period : 0;
    return index < length ? index : g->align_corners ? period - index : period - 1 - index;
}

/* Keys' cubic convolution with a = -0.75, and its derivative. */
static void cubic_weights(double t, double *weight, double *slope) {
    const double a = -0.75;
    double far = t + 1, near = 1 - t, beyond = 2 - t;
    weight[0] = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a;
    weight[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    weight[2] = ((a + 2) * near - (a + 3)) * near * near + 1;
    weight[3] = ((a * beyond - 5 * a) * beyond + 8 * a) * beyond - 4 * a;
    slope[0] = (3 * a * far - 10 * a) * far + 8 * a;
    slope[1] = (3 * (a + 2) * t - 2 * (a + 3)) * t;
    slope[2] = -(3 * (a + 2) * near - 2 * (a + 3)) * near;
    slope[3] = -((3 * a * beyond - 10 * a) * beyond + 8 * a);
}

static void find_taps(const ons_grid *g, int64_t length, double coordinate, taps *t) {
    double derivative, x = locate(g, length, coordinate, &derivative), base = floor(x);
    int64_t first = (int64_t)base - (g->mode == ONS_GRID_CUBIC);
    *t = (taps){.weight = {1}};
    if (g->mode == ONS_GRID_LINEAR) {
        t->weight[0] = 1 - (x - base);
        t->weight[1] = x - base;
        t->slope[0] = -1;
        t->slope[1] = 1;
    } else if (g->mode == ONS_GRID_CUBIC) {
        cubic_weights(x - base, t->weight, t->slope);
    }
    for (int32_t k = 0; k < taps_of(g); ++k) {
        t->index[k] = settle(g, length, first + k);
        t->slope[k] *= derivative;
    }
}

/* ---- all axes */

void ons_grid_look(const ons_grid *g, const double *place, ons_grid_view *view) {
    taps axes[ONS_GRID_DIMS];
    int32_t count = taps_of(g);
    for (int32_t i = 0; i < g->dims; ++i) find_taps(g, g->lengths[i], place[g->dims - 1 - i], &axes[i]);
    for (int32_t k = 0; k < g->combinations; ++k) {
        int64_t element = 0;
        double weight = 1, slope[ONS_GRID_DIMS] = {1, 1, 1};
        bool inside = true;
        for (int32_t i = 0, rest = k; i < g->dims; ++i, rest /= count) {
            const taps *axis = &axes[i];
            int32_t tap = rest % count;
            inside &= axis->index[tap] >= 0;
            element = element * g->lengths[i] + axis->index[tap];
            weight *= axis->weight[tap];
            for (int32_t j = 0; j < g->dims; ++j) slope[j] *= j == i ? axis->slope[tap] : axis->weight[tap];
        }
        view->element[k] = inside ? element : -1;
        view->weight[k] = weight;
        for (int32_t i = 0; i < g->dims; ++i) view->slope[g->dims - 1 - i][k] = slope[i];
    }
}

void ons_grid_look_at_block(const ons_grid *g, const float *places, int64_t count, bool slopes, ons_grid_block *block) {
    for (int64_t i = 0; i < count; ++i) {
        ons_grid_view view;
        double place[ONS_GRID_DIMS] = {0};
        for (int32_t j = 0; j < g->dims; ++j) place[j] = places[i * g->dims + j];
        ons_grid_look(g, place, &view);
        for (int32_t k = 0; k < g->combinations; ++k) {
            bool inside = view.element[k] >= 0;
            block->element[k][i] = inside ? (int32_t)view.element[k] : 0;
            block->weight[k][i] = inside ? (float)view.weight[k] : 0;
            for (int32_t j = 0; slopes && j < g->dims; ++j)
                block->slope[j][k][i] = inside ? (float)view.slope[j][k] : 0;
        }
    }
}

ons_status *ons_grid_prepare(ons_prepare *p, const ons_grid *grid) {
    const ons_operands *o = p->operands;
    void *memory;
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (o->inputs[i].dtype != ONS_FLOAT32)
            return ons_node_error(o, "no CPU kernel for %s; convert the model to float32",
                                  ons_dtype_name(o->inputs[i].dtype));
    if (grid->inputs > INT32_MAX) return ons_node_error(o, "%lld positions in a plane", (long long)grid->inputs);
    ONS_TRY(ons_prepare_state(p, sizeof(ons_grid_state), &memory));
    *(ons_grid_state *)memory = (ons_grid_state){*grid, p->threads};
    p->scratch_bytes = p->threads * (int64_t)((sizeof(ons_grid_block) + 63) / 64 * 64);
    return NULL;
}
