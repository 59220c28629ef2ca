#include "kernels/resampling/axis_map.h"

ons_status *ons_axis_map_make(ons_arena *arena, int64_t inputs, int64_t outputs, int64_t taps, ons_axis_map *map) {
    *map = (ons_axis_map){.inputs = inputs, .outputs = outputs};
    ONS_NEW(map->first, arena, (size_t)outputs + 1);
    ONS_NEW(map->index, arena, (size_t)taps + 1);
    ONS_NEW(map->weight, arena, (size_t)taps + 1);
    return NULL;
}

void ons_axis_map_keep(ons_axis_map *map, int64_t length) {
    *map = (ons_axis_map){.identity = true, .inputs = length, .outputs = length};
}

static ons_shape shape_of(uint32_t rank, const ons_axis_map *maps, bool inputs) {
    ons_shape shape = {.rank = rank};
    for (uint32_t i = 0; i < rank; ++i) shape.dims[i] = inputs ? maps[i].inputs : maps[i].outputs;
    return shape;
}

static void tap_range(const ons_axis_map *map, int64_t output, int64_t *begin, int64_t *end) {
    *begin = map->identity ? output : map->first[output];
    *end = map->identity ? output + 1 : map->first[output + 1];
}

/* Calls for every combination of one tap along each axis, last axis fastest; false: there are none. */
typedef struct combination {
    int64_t begin[ONS_RANK_MAX], end[ONS_RANK_MAX], tap[ONS_RANK_MAX];
} combination;

static bool first_combination(uint32_t rank, const ons_axis_map *maps, const int64_t *output, combination *c) {
    for (uint32_t i = 0; i < rank; ++i) {
        tap_range(&maps[i], output[i], &c->begin[i], &c->end[i]);
        c->tap[i] = c->begin[i];
        if (c->begin[i] == c->end[i]) return false;
    }
    return true;
}

static bool next_combination(uint32_t rank, combination *c) {
    for (uint32_t i = rank; i-- > 0;) {
        if (++c->tap[i] < c->end[i]) return true;
        c->tap[i] = c->begin[i];
    }
    return false;
}

static int64_t offset_of(uint32_t rank, const ons_axis_map *maps, const combination *c, double *weight) {
    int64_t offset = 0;
    *weight = 1;
    for (uint32_t i = 0; i < rank; ++i) {
        offset = offset * maps[i].inputs + (maps[i].identity ? c->tap[i] : maps[i].index[c->tap[i]]);
        *weight *= maps[i].identity ? 1 : maps[i].weight[c->tap[i]];
    }
    return offset;
}

void ons_axis_map_apply(uint32_t rank, const ons_axis_map *maps, double fill, const double *from, double *to) {
    ons_shape shape = shape_of(rank, maps, false);
    int64_t output[ONS_RANK_MAX];
    combination c;
    for (int64_t i = 0, n = ons_shape_elements(&shape); i < n; ++i) {
        ons_unravel(&shape, i, output);
        double sum = 0, weight;
        bool any = first_combination(rank, maps, output, &c);
        for (bool more = any; more; more = next_combination(rank, &c)) {
            int64_t offset = offset_of(rank, maps, &c, &weight);
            sum += weight * from[offset];
        }
        to[i] = any ? sum : fill;
    }
}

void ons_axis_map_apply_transposed(uint32_t rank, const ons_axis_map *maps, const double *from, double *to) {
    ons_shape shape = shape_of(rank, maps, false), result = shape_of(rank, maps, true);
    int64_t output[ONS_RANK_MAX];
    combination c;
    memset(to, 0, (size_t)ons_shape_elements(&result) * sizeof *to);
    for (int64_t i = 0, n = ons_shape_elements(&shape); i < n; ++i) {
        ons_unravel(&shape, i, output);
        double weight;
        for (bool more = first_combination(rank, maps, output, &c); more; more = next_combination(rank, &c)) {
            int64_t offset = offset_of(rank, maps, &c, &weight);
            to[offset] += weight * from[i];
        }
    }
}

int64_t ons_axis_map_source(uint32_t rank, const ons_axis_map *maps, int64_t output) {
    ons_shape shape = shape_of(rank, maps, false);
    int64_t at[ONS_RANK_MAX];
    combination c;
    double weight;
    ons_unravel(&shape, output, at);
    return first_combination(rank, maps, at, &c) ? offset_of(rank, maps, &c, &weight) : -1;
}
