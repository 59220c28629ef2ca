#include "kernels/resampling/separable.h"

#include <assert.h>
#include <omp.h>

enum { LINE = 16 /* floats of a cache line */, NARROW = 16 /* fewer elements side by side are no row */ };

/* ---- tables */

static ons_status *copy_taps(ons_arena *arena, const ons_axis_map *map, ons_taps *taps) {
    int64_t count = map->first[map->outputs], *empty;
    int32_t *index;
    float *weight;
    ONS_NEW(index, arena, (size_t)count + 1);
    ONS_NEW(weight, arena, (size_t)count + 1);
    ONS_NEW(empty, arena, (size_t)map->outputs + 1);
    *taps = (ons_taps){.outputs = map->outputs, .first = map->first, .index = index, .weight = weight, .empty = empty};
    taps->copies = true;
    for (int64_t t = 0; t < count; ++t) {
        index[t] = (int32_t)map->index[t];
        weight[t] = (float)map->weight[t];
        taps->copies &= weight[t] == 1;
    }
    for (int64_t i = 0; i < map->outputs; ++i) {
        int64_t here = map->first[i + 1] - map->first[i];
        taps->most = here > taps->most ? here : taps->most;
        taps->copies &= here == 1;
        if (here == 0) empty[taps->empty_count++] = i;
    }
    return NULL;
}

static ons_status *turn_taps(ons_arena *arena, ons_taps *taps) {
    int32_t *index;
    float *weight;
    ONS_NEW(index, arena, (size_t)(taps->outputs * taps->most) + 1);
    ONS_NEW(weight, arena, (size_t)(taps->outputs * taps->most) + 1);
    for (int64_t i = 0; i < taps->outputs; ++i)
        for (int64_t k = 0; k < taps->most; ++k) {
            int64_t first = taps->first[i], at = first + k;
            bool there = at < taps->first[i + 1], any = first < taps->first[i + 1];
            index[k * taps->outputs + i] = there ? taps->index[at] : any ? taps->index[first] : 0;
            weight[k * taps->outputs + i] = there ? taps->weight[at] : 0;
        }
    taps->tap_index = index;
    taps->tap_weight = weight;
    return NULL;
}

/* Whether elements period × i + r have the same taps, moved on, as those of the pattern. */
static bool fits(const ons_taps *taps, int64_t i) {
    for (int r = 0; r < taps->period; ++r) {
        int64_t element = i * taps->period + r, first = taps->first[element];
        if (taps->first[element + 1] - first != taps->most) return false;
        for (int64_t k = 0; k < taps->most; ++k)
            if (taps->index[first + k] != taps->stride * i + taps->offset[r][k] ||
                taps->weight[first + k] != taps->factor[r][k])
                return false;
    }
    return true;
}

/* Takes the pattern of the middle and sees how far it reaches. */
static bool find_pattern(ons_taps *taps, int period, int stride) {
    int64_t groups = taps->outputs / period, middle = groups / 2;
    if (groups < NARROW) return false;
    taps->period = period;
    taps->stride = stride;
    for (int r = 0; r < period; ++r)
        for (int64_t k = 0, first = taps->first[middle * period + r]; k < taps->most; ++k) {
            if (first + k >= taps->first[middle * period + r + 1]) return false;
            taps->offset[r][k] = taps->index[first + k] - stride * middle;
            taps->factor[r][k] = taps->weight[first + k];
        }
    for (taps->begin = middle; taps->begin > 0 && fits(taps, taps->begin - 1);) --taps->begin;
    for (taps->end = middle; taps->end < groups && fits(taps, taps->end);) ++taps->end;
    return taps->end - taps->begin > groups / 2;
}

static ons_status *make_taps(ons_prepare *p, const ons_axis_map *map, const ons_taps **result) {
    ons_taps *taps;
    if (map->inputs > INT32_MAX) return ons_node_error(p->operands, "an axis of %lld elements", (long long)map->inputs);
    ONS_NEW(taps, p->arena, 1);
    ONS_TRY(copy_taps(p->arena, map, taps));
    *result = taps;
    if (taps->most == 0 || taps->most > ONS_TAPS_FEW) return NULL;
    ONS_TRY(turn_taps(p->arena, taps));
    if (!find_pattern(taps, 2, 1) && !find_pattern(taps, 1, 2)) taps->period = 0;
    return NULL;
}

/* ---- the plan */

static ons_status *add_stage(ons_prepare *p, const ons_axis_map *rows, const ons_axis_map *columns, ons_shape *shape,
                             uint32_t axis, ons_separable *plan) {
    uint32_t after = axis + (rows != NULL) + (columns != NULL);
    ons_separable_stage *s = &plan->stages[plan->count++];
    *s = (ons_separable_stage){.outer = ons_shape_span(shape, 0, axis),
                               .in_rows = 1,
                               .out_rows = 1,
                               .in_columns = 1,
                               .out_columns = 1,
                               .width = ons_shape_span(shape, after, shape->rank)};
    if (rows != NULL) {
        s->in_rows = rows->inputs;
        s->out_rows = shape->dims[axis] = rows->outputs;
        ONS_TRY(make_taps(p, rows, &s->rows));
    }
    if (columns != NULL) {
        s->in_columns = columns->inputs;
        s->out_columns = shape->dims[after - 1] = columns->outputs;
        ONS_TRY(make_taps(p, columns, &s->columns));
    }
    if (rows != NULL && columns != NULL) {
        int64_t row = (s->in_columns * s->width + LINE - 1) / LINE * LINE;
        plan->buffer = plan->buffer < row ? row : plan->buffer;
    }
    return NULL;
}

/* Passes over the axes that change, the last two together where they are neighbours. */
static ons_status *add_stages(ons_prepare *p, const ons_axis_map *maps, ons_shape *shape, ons_separable *plan) {
    uint32_t changing[ONS_RANK_MAX], count = 0;
    for (uint32_t i = 0; i < shape->rank; ++i)
        if (!maps[i].identity) changing[count++] = i;
    if (count == 0) return add_stage(p, NULL, NULL, shape, shape->rank == 0 ? 0 : shape->rank - 1, plan);
    for (uint32_t k = 0; k < count; ++k) {
        uint32_t axis = changing[k];
        const ons_axis_map *map = &maps[axis], *next = map + 1;
        if (k + 2 == count && changing[k + 1] == axis + 1) return add_stage(p, map, next, shape, axis, plan);
        bool narrow = ons_shape_span(shape, axis + 1, shape->rank) < NARROW;
        ONS_TRY(add_stage(p, narrow ? NULL : map, narrow ? map : NULL, shape, axis, plan));
        if (k + 1 == count) break;
        ONS_TRY_AT(ons_shape_check(shape), "node '%s', between two axes", p->operands->name);
        int64_t elements = (ons_shape_elements(shape) + LINE - 1) / LINE * LINE;
        plan->passed_on = plan->passed_on < elements ? elements : plan->passed_on;
    }
    return NULL;
}

ons_status *ons_separable_plan(ons_prepare *p, uint32_t rank, const ons_axis_map *maps, double fill,
                               ons_separable *plan) {
    ons_shape shape = {.rank = rank};
    for (uint32_t i = 0; i < rank; ++i) shape.dims[i] = maps[i].inputs;
    *plan = (ons_separable){.fill = (float)fill, .threads = p->threads};
    ONS_TRY(add_stages(p, maps, &shape, plan));
    p->scratch_bytes = (2 * plan->passed_on + plan->threads * plan->buffer) * (int64_t)sizeof(float);
    p->implementation = plan->count == 1 ? "one pass" : "a pass for each axis";
    return NULL;
}

/* ---- rows */

static void fill_row(float *to, int64_t length, float value) {
    for (int64_t i = 0; i < length; ++i) to[i] = value;
}

/* to = Σ weight[k] × row index[k] of `from`; `add`: on top of what is there. */
static inline __attribute__((always_inline)) void combine_few(const float *restrict from, int64_t length,
                                                              const int32_t *index, const float *weight, int count,
                                                              bool add, float *restrict to) {
    for (int64_t i = 0; i < length; ++i) {
        float sum = add ? to[i] : 0;
        for (int k = 0; k < count; ++k) {
            float part = weight[k] * from[index[k] * length + i];
            sum = k == 0 && !add ? part : sum + part;
        }
        to[i] = sum;
    }
}

static void combine(const float *from, int64_t length, const int32_t *index, const float *weight, int64_t count,
                    float *to) {
    bool add = false;
    for (; count > 0; count -= 4, index += 4, weight += 4, add = true) {
        int64_t now = count > 4 ? 4 : count;
        switch (add ? now + 4 : now) {
        case 1: combine_few(from, length, index, weight, 1, false, to); break;
        case 2: combine_few(from, length, index, weight, 2, false, to); break;
        case 3: combine_few(from, length, index, weight, 3, false, to); break;
        case 4: combine_few(from, length, index, weight, 4, false, to); break;
        case 5: combine_few(from, length, index, weight, 1, true, to); break;
        case 6: combine_few(from, length, index, weight, 2, true, to); break;
        case 7: combine_few(from, length, index, weight, 3, true, to); break;
        default: combine_few(from, length, index, weight, 4, true, to); break;
        }
    }
}

/* ---- columns */

/* Elements [begin, end), a vector of them at a time. */
static inline __attribute__((always_inline)) void gather(const ons_taps *taps, const float *restrict row, int64_t begin,
                                                         int64_t end, int count, float *restrict to) {
    const int32_t *index = taps->tap_index;
    const float *weight = taps->tap_weight;
    for (int64_t i = begin; i < end; ++i) {
        float sum = weight[i] * row[index[i]];
        for (int k = 1; k < count; ++k) sum += weight[k * taps->outputs + i] * row[index[k * taps->outputs + i]];
        to[i] = sum;
    }
}

static void gather_copies(const ons_taps *taps, const float *restrict row, int64_t begin, int64_t end,
                          float *restrict to) {
    for (int64_t i = begin; i < end; ++i) to[i] = row[taps->tap_index[i]];
}

static void gather_range(const ons_taps *taps, const float *row, int64_t begin, int64_t end, float *to) {
    if (taps->copies) {
        gather_copies(taps, row, begin, end, to);
        return;
    }
    switch (taps->most) {
    case 1: gather(taps, row, begin, end, 1, to); break;
    case 2: gather(taps, row, begin, end, 2, to); break;
    case 3: gather(taps, row, begin, end, 3, to); break;
    default: gather(taps, row, begin, end, 4, to); break;
    }
}

static inline __attribute__((always_inline)) float take(const ons_taps *taps, const float *row, int r, int count) {
    float sum = taps->factor[r][0] * row[taps->offset[r][0]];
    for (int k = 1; k < count; ++k) sum += taps->factor[r][k] * row[taps->offset[r][k]];
    return sum;
}

static inline __attribute__((always_inline)) void double_up(const ons_taps *taps, const float *restrict row, int count,
                                                            float *restrict to) {
    const ons_taps t = *taps;
    for (int64_t i = t.begin; i < t.end; ++i) {
        to[2 * i] = take(&t, row + i, 0, count);
        to[2 * i + 1] = take(&t, row + i, 1, count);
    }
}

static inline __attribute__((always_inline)) void halve(const ons_taps *taps, const float *restrict row, int count,
                                                        float *restrict to) {
    const ons_taps t = *taps;
    for (int64_t i = t.begin; i < t.end; ++i) to[i] = take(&t, row + 2 * i, 0, count);
}

static void repeat_pattern(const ons_taps *taps, const float *row, float *to) {
    switch ((taps->period == 2 ? 0 : ONS_TAPS_FEW) + taps->most) {
    case 1: double_up(taps, row, 1, to); break;
    case 2: double_up(taps, row, 2, to); break;
    case 3: double_up(taps, row, 3, to); break;
    case 4: double_up(taps, row, 4, to); break;
    case 5: halve(taps, row, 1, to); break;
    case 6: halve(taps, row, 2, to); break;
    case 7: halve(taps, row, 3, to); break;
    default: halve(taps, row, 4, to); break;
    }
}

/* Elements that lie alone. */
static void map_elements(const ons_taps *taps, const float *row, float *to) {
    if (taps->most == 0) return;
    if (taps->most > ONS_TAPS_FEW) {
        for (int64_t i = 0; i < taps->outputs; ++i) {
            float sum = 0;
            for (int64_t t = taps->first[i]; t < taps->first[i + 1]; ++t) sum += taps->weight[t] * row[taps->index[t]];
            to[i] = sum;
        }
    } else if (taps->period > 0) {
        gather_range(taps, row, 0, taps->begin * taps->period, to);
        repeat_pattern(taps, row, to);
        gather_range(taps, row, taps->end * taps->period, taps->outputs, to);
    } else {
        gather_range(taps, row, 0, taps->outputs, to);
    }
}

static void map_columns(const ons_separable_stage *s, float fill, const float *row, float *to) {
    const ons_taps *taps = s->columns;
    int64_t width = s->width;
    if (width == 1) {
        map_elements(taps, row, to);
    } else {
        for (int64_t i = 0; i < taps->outputs; ++i) {
            int64_t first = taps->first[i], count = taps->first[i + 1] - first;
            if (taps->copies)
                memcpy(to + i * width, row + taps->index[first] * width, (size_t)width * sizeof *to);
            else
                combine(row, width, taps->index + first, taps->weight + first, count, to + i * width);
        }
    }
    for (int64_t i = 0; i < taps->empty_count; ++i) fill_row(to + taps->empty[i] * width, width, fill);
}

/* ---- a stage */

/* Rows [begin, end) of the result, counted through all planes. */
static void run_rows(const ons_separable_stage *s, float fill, int64_t begin, int64_t end, const float *in, float *out,
                     float *buffer) {
    int64_t in_row = s->in_columns * s->width, out_row = s->out_columns * s->width;
    if (begin >= end) return;
    assert(in != NULL && out != NULL);
    const float *shown = NULL; /* the row of the operand that the row before is made from */
    for (int64_t unit = begin; unit < end; ++unit) {
        const float *plane = in + unit / s->out_rows * s->in_rows * in_row, *row = plane;
        float *to = out + unit * out_row, *target = s->columns == NULL ? to : buffer;
        int64_t y = unit % s->out_rows, first = s->rows == NULL ? 0 : s->rows->first[y];
        int64_t count = s->rows == NULL ? 1 : s->rows->first[y + 1] - first;
        if (count == 0) {
            fill_row(to, out_row, fill);
            shown = NULL;
            continue;
        }
        if (s->rows != NULL && count == 1 && s->rows->weight[first] == 1) {
            row = plane + s->rows->index[first] * in_row;
        } else if (s->rows != NULL) {
            combine(plane, in_row, s->rows->index + first, s->rows->weight + first, count, target);
            row = target;
        }
        if (shown != NULL && row == shown)
            memcpy(to, to - out_row, (size_t)out_row * sizeof *to);
        else if (s->columns != NULL)
            map_columns(s, fill, row, to);
        else if (row != to)
            memcpy(to, row, (size_t)out_row * sizeof *to);
        shown = row == target ? NULL : row;
    }
}

static void run_stage(const ons_separable *plan, const ons_separable_stage *s, const float *in, float *out,
                      float *buffers) {
    int64_t units = s->outer * s->out_rows, work = units * (s->in_columns + s->out_columns) * s->width;
#pragma omp parallel num_threads(plan->threads) if (work > ONS_PARALLEL_GRAIN)
    {
        int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
        run_rows(s, plan->fill, units * thread / threads, units * (thread + 1) / threads, in, out,
                 buffers + thread * plan->buffer);
    }
}

void ons_separable_run(const ons_separable *plan, const float *in, float *out, void *scratch) {
    float *between[2] = {scratch, (float *)scratch + plan->passed_on};
    float *buffers = (float *)scratch + 2 * plan->passed_on;
    for (uint32_t i = 0; i < plan->count; ++i) {
        float *to = i + 1 == plan->count ? out : between[i % 2];
        run_stage(plan, &plan->stages[i], in, to, buffers);
        in = to;
    }
}
