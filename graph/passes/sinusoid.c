#include "graph/passes/sinusoid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sines of many angles lie anywhere in between: this tells them from ones beside zeros, as a fresh normalisation has.
 */
static bool is_between(float x) { return fabsf(x) > 0.05f && fabsf(x) < 0.95f; }

/* Numbers of one type in a tensor of a mapped file, which lies anywhere. */
typedef struct numbers {
    const char *bytes;
    bool wide; /* float64, otherwise float32 */
} numbers;

static float at(const numbers *n, int64_t index) {
    double wide;
    float value;
    if (n->bytes == NULL) return 0; /* an external file that is missing */
    if (n->wide) {
        memcpy(&wide, n->bytes + index * (int64_t)sizeof wide, sizeof wide);
        return (float)wide;
    }
    memcpy(&value, n->bytes + index * (int64_t)sizeof value, sizeof value);
    return value;
}

/* Element k of the first of the pair is at a[k·stride], of the second at b[shift + k·stride]; `run` elements, then a
 * gap. */
typedef struct pairing {
    numbers a, b;
    int64_t shift, rows, row_length, run, stride;
} pairing;

static bool are_sine_and_cosine(const pairing *p) {
    int64_t between = 0;
    for (int64_t row = 0; row < p->rows; ++row)
        for (int64_t k = 0; k < p->run; ++k) {
            int64_t place = row * p->row_length + k * p->stride;
            float a = at(&p->a, place), b = at(&p->b, place + p->shift);
            if (!(fabsf(a * a + b * b - 1) < 1e-3f)) return false;
            between += is_between(a) && is_between(b);
        }
    return between * 20 >= p->rows * p->run && between > 1; /* slow angles of the first positions are few */
}

/* Its bytes are NULL where the value is neither a float parameter nor what a Constant node states. */
static numbers parameter_numbers(const ons_graph *graph, ons_value_id id) {
    const ons_value *value = ons_graph_value(graph, id);
    const ons_tensor *tensor = ons_store_get(graph->store, value->data);
    bool wide = value->type.dtype == ONS_FLOAT64;
    bool stated = value->kind == ONS_CONSTANT && value->reason == ONS_FROM_CONSTANT_NODE;
    bool fits = (value->kind == ONS_PARAMETER || stated) && value->producer == ONS_NONE && value->shard == 0 &&
                tensor != NULL && (wide || value->type.dtype == ONS_FLOAT32) &&
                ons_shape_elements(&value->type.shape) >= 4;
    return (numbers){fits ? tensor->data : NULL, wide};
}

/* Both in one table: interleaved, or the one in front of the other. */
static bool holds_both(const ons_shape *shape, numbers all) {
    int64_t length = shape->dims[shape->rank - 1], rows = ons_shape_elements(shape) / (length > 0 ? length : 1);
    if (length % 2 != 0 || rows < 2) return false;
    const int64_t half = length / 2;
    return are_sine_and_cosine(&(pairing){all, all, 1, rows, length, half, 2}) ||
           are_sine_and_cosine(&(pairing){all, all, half, rows, length, half, 1});
}

/* A tensor that may be a table: its first element lies in [-1, 1]. */
typedef struct candidate {
    ons_value_id id;
    numbers numbers;
    float first;
} candidate;

/* The table of the same shape behind candidate `index` that completes it; ONS_NONE. */
static ons_value_id find_partner(const ons_graph *graph, const candidate *list, size_t count, size_t index) {
    const candidate *one = &list[index];
    const ons_shape *shape = &ons_graph_value(graph, one->id)->type.shape;
    int64_t elements = ons_shape_elements(shape);
    for (size_t i = index + 1; i < count; ++i) {
        const candidate *other = &list[i];
        if (!(fabsf(one->first * one->first + other->first * other->first - 1) < 1e-3f)) continue;
        if (ons_shape_equal(shape, &ons_graph_value(graph, other->id)->type.shape) &&
            are_sine_and_cosine(&(pairing){one->numbers, other->numbers, 0, 1, elements, elements, 1}))
            return other->id;
    }
    return ONS_NONE;
}

static size_t list_candidates(const ons_graph *graph, candidate *list) {
    size_t count = 0;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        numbers all = parameter_numbers(graph, id);
        float first = all.bytes == NULL ? INFINITY : at(&all, 0);
        if (fabsf(first) < 1.001f) list[count++] = (candidate){id, all, first};
    }
    return count;
}

ons_status *ons_classify_sinusoids(ons_graph *graph, const ons_insistence *insistence) {
    candidate *list = calloc(graph->values.count + 1, sizeof *list);
    if (list == NULL) return ons_status_out_of_memory();
    size_t count = list_candidates(graph, list);
    for (size_t i = 0; i < count; ++i) {
        ons_value_id id = list[i].id;
        if (parameter_numbers(graph, id).bytes == NULL) continue; /* it has been found beside another */
        bool both = holds_both(&ons_graph_value(graph, id)->type.shape, list[i].numbers);
        ons_value_id partner = both ? id : find_partner(graph, list, count, i);
        if (partner == ONS_NONE) continue;
        ons_make_constant(graph, id, ONS_SINUSOIDS, insistence);
        ons_make_constant(graph, partner, ONS_SINUSOIDS, insistence);
    }
    free(list);
    return NULL;
}
