#include "graph/passes/tables.h"

#include <math.h>
#include <string.h>

#include "graph/passes/names.h"
#include "graph/passes/readers.h"

enum { PLACES_MIN = 4, CHANNELS_MIN = 2, CHANNELS_MAX = 4 };
static const double MASKED_MIN = 100; /* what masks add or subtract is this or more */

/* ---------------------------------------------------------------------------------------------------------- numbers */

/* Element k is at (first + k · stride) of a tensor. */
typedef struct numbers {
    const char *bytes;
    ons_dtype dtype;
    int64_t first, stride, count;
} numbers;

static double at(const numbers *n, int64_t k) {
    const char *place = n->bytes + (n->first + k * n->stride) * (int64_t)ons_dtype_size(n->dtype);
    double wide;
    float single;
    uint16_t half;
    switch (n->dtype) { /* tensors of a mapped file lie anywhere */
    case ONS_FLOAT64: memcpy(&wide, place, sizeof wide); return wide;
    case ONS_FLOAT32: memcpy(&single, place, sizeof single); return single;
    default:
        memcpy(&half, place, sizeof half);
        return n->dtype == ONS_BFLOAT16 ? ons_bfloat16_to_float(half) : ons_half_to_float(half);
    }
}

/* Relative rounding of the dtype, with room for the ways in which programs compute a table. */
static double tolerance_of(ons_dtype dtype) { return dtype == ONS_FLOAT16 || dtype == ONS_BFLOAT16 ? 8e-3 : 1e-5; }

static bool is_near(double a, double b, double within) { return fabs(a - b) <= within; /* false for NaN */ }

/* ------------------------------------------------------------------------------------------------------------ masks */

static bool holds_zeros(const numbers *n) {
    bool zeros = n->count > 0;
    for (int64_t k = 0; k < n->count && zeros; ++k) zeros = at(n, k) == 0;
    return zeros;
}

static bool is_additive_mask(const numbers *n) {
    double large = 0;
    bool zero = false, two = true;
    for (int64_t k = 0; k < n->count && two; ++k) {
        double value = at(n, k);
        if (value == 0)
            zero = true;
        else if (large == 0 && fabs(value) >= MASKED_MIN)
            large = value;
        else
            two = value == large;
    }
    return two && zero && large != 0;
}

/* Ones where row - column ≥ `from` (or, `upper`, where it is not), zeros elsewhere. */
static bool is_triangle_from(const numbers *n, int64_t size, int64_t from, bool upper) {
    bool fits = true;
    for (int64_t k = 0; k < n->count && fits; ++k) {
        int64_t row = k / size % size, column = k % size;
        fits = at(n, k) == (double)((row - column >= from) != upper);
    }
    return fits;
}

static bool is_triangle(const numbers *n, const ons_shape *shape) {
    int64_t size = shape->rank < 2 ? 0 : shape->dims[shape->rank - 1];
    if (size < PLACES_MIN || shape->dims[shape->rank - 2] != size) return false;
    return is_triangle_from(n, size, 0, false) || is_triangle_from(n, size, 1, false) ||
           is_triangle_from(n, size, 0, true) || is_triangle_from(n, size, 1, true);
}

/* ------------------------------------------------------------------------------------------------------ coordinates */

/* A coordinate along one axis, in memory order: element k is start + step · (k / run % places). */
typedef struct axis {
    double start, step;
    int64_t run, places;
} axis;

static bool find_axis(const numbers *n, axis *a) {
    if (n->count < PLACES_MIN) return false;
    *a = (axis){.start = at(n, 0), .run = 1, .places = 1};
    while (a->run < n->count && at(n, a->run) == a->start) ++a->run;
    if (a->run == n->count) return false;
    double step = at(n, a->run) - a->start, within = tolerance_of(n->dtype);
    for (int64_t k = a->run; k < n->count; k += a->run, ++a->places) {
        double here = at(n, k), before = at(n, k - a->run);
        if (!is_near(here - before, step, 100 * within * fabs(step) + within * fabs(here))) break;
    }
    if (a->places < PLACES_MIN || n->count % (a->run * a->places) != 0) return false;
    double end = at(n, (a->places - 1) * a->run);
    a->step = (end - a->start) / (double)(a->places - 1);
    within *= fmax(fabs(a->start), fabs(end));
    bool even = true;
    for (int64_t k = 0; k < n->count && even; ++k)
        even = is_near(at(n, k), a->start + a->step * (double)(k / a->run % a->places), within);
    return even;
}

static bool has_whole_steps(const axis *a, double within) {
    double step = fabs(a->step), ends = step * (double)(a->places - 1), centres = step * (double)a->places;
    return is_near(step, 1, within) || is_near(ends, 1, within) || is_near(ends, 2, within) ||
           is_near(centres, 1, within) || is_near(centres, 2, within);
}

static bool is_grid_of(const numbers *channel) {
    axis a;
    return find_axis(channel, &a) && channel->count > a.places && has_whole_steps(&a, tolerance_of(channel->dtype));
}

static bool is_grid_of_channels(const numbers *n, int64_t channels, bool first) {
    if (channels < CHANNELS_MIN || channels > CHANNELS_MAX) return false;
    int64_t places = n->count / channels;
    bool all = true;
    for (int64_t c = 0; c < channels && all; ++c) {
        numbers channel = {n->bytes, n->dtype, first ? c * places : c, first ? 1 : channels, places};
        all = is_grid_of(&channel);
    }
    return all;
}

static bool is_grid(const numbers *n, const ons_shape *shape) {
    int64_t large[ONS_RANK_MAX];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < shape->rank; ++i)
        if (shape->dims[i] != 1) large[rank++] = shape->dims[i];
    return rank >= 2 &&
           (is_grid_of(n) || is_grid_of_channels(n, large[rank - 1], false) || is_grid_of_channels(n, large[0], true));
}

static bool has_one_dimension(const ons_shape *shape) {
    int large = 0;
    for (uint32_t i = 0; i < shape->rank; ++i) large += shape->dims[i] != 1;
    return large == 1;
}

static bool is_geometric(const numbers *n) {
    double ratio = n->count < PLACES_MIN ? 0 : at(n, 1) / at(n, 0), within = 10 * tolerance_of(n->dtype);
    bool even = ratio > 0 && !is_near(ratio, 1, within) && at(n, 0) > 0;
    for (int64_t k = 1; k < n->count && even; ++k) even = is_near(at(n, k) / at(n, k - 1), ratio, within * ratio);
    return even;
}

/* ------------------------------------------------------------------------------------------------------------ rules */

/* Whether it is read, and in none but these ways. */
static bool is_read_only(uint32_t readings, uint32_t ways) { return readings != 0 && (readings & ~ways) == 0; }

static ons_role_reason reason_of_line(const numbers *n, bool result, const ons_graph *graph, ons_value_id id) {
    axis a;
    if (find_axis(n, &a)) {
        bool counts = a.start == 0 && is_near(a.step, 1, tolerance_of(n->dtype));
        uint32_t ways = result ? ONS_READ_ELEMENTWISE | ONS_READ_ADDED : counts ? ONS_READ_ELEMENTWISE : 0;
        return is_read_only(ons_readings(graph, id), ways) ? ONS_COORDINATES : ONS_WEIGHT;
    }
    bool series = result && is_geometric(n) && is_read_only(ons_readings(graph, id), ONS_READ_ELEMENTWISE);
    return series ? ONS_FREQUENCIES : ONS_WEIGHT;
}

static ons_role_reason find_reason(const ons_graph *graph, ons_value_id id, const numbers *n) {
    const ons_value *value = ons_graph_value(graph, id);
    const ons_shape *shape = &value->type.shape;
    const uint32_t operand = ONS_READ_ADDED | ONS_READ_ELEMENTWISE;
    bool result = ons_is_result_name(value->name);
    if (holds_zeros(n)) return result && ons_readings(graph, id) == ONS_READ_STATE ? ONS_FIRST_STATE : ONS_WEIGHT;
    if (has_one_dimension(shape)) return reason_of_line(n, result, graph, id);
    if (shape->rank >= 2 && is_additive_mask(n) && is_read_only(ons_readings(graph, id), operand)) return ONS_MASK;
    if (is_triangle(n, shape) && is_read_only(ons_readings(graph, id), ONS_READ_ELEMENTWISE)) return ONS_MASK;
    bool grid = is_grid(n, shape) && is_read_only(ons_readings(graph, id), operand | ONS_READ_COORDINATES);
    return grid ? ONS_COORDINATES : ONS_WEIGHT;
}

ons_role_reason ons_find_table(const ons_graph *graph, ons_value_id id) {
    const ons_tensor *tensor = ons_store_get(graph->store, ons_graph_value(graph, id)->data);
    if (tensor == NULL || tensor->data == NULL || !ons_dtype_is_float(tensor->type.dtype) ||
        ons_dtype_size(tensor->type.dtype) == 1)
        return ONS_WEIGHT;
    numbers n = {tensor->data, tensor->type.dtype, 0, 1, ons_shape_elements(&tensor->type.shape)};
    return find_reason(graph, id, &n);
}

bool ons_holds_coordinates(const ons_tensor *tensor) {
    numbers n = {tensor->data, tensor->type.dtype, 0, 1, ons_shape_elements(&tensor->type.shape)};
    axis a;
    return has_one_dimension(&tensor->type.shape) ? find_axis(&n, &a) : is_grid(&n, &tensor->type.shape);
}
