#include "graph/passes/sinusoid.h"

#include <math.h>
#include <string.h>

/* Sines of many angles lie anywhere in between: this tells them from ones beside zeros, as a fresh normalisation has.
 */
static bool is_between(float x) { return fabsf(x) > 0.05f && fabsf(x) < 0.95f; }

static float at(const char *bytes, int64_t index) {
    float value; /* tensors of a mapped file lie anywhere */
    memcpy(&value, bytes + index * (int64_t)sizeof value, sizeof value);
    return value;
}

/* Element k of the first of the pair is at a + k·stride, of the second at b + k·stride; `run` elements, then a gap. */
typedef struct pairing {
    const char *a, *b;
    int64_t rows, row_length, run, stride;
} pairing;

static bool are_sine_and_cosine(const pairing *p) {
    int64_t between = 0;
    for (int64_t row = 0; row < p->rows; ++row)
        for (int64_t k = 0; k < p->run; ++k) {
            float a = at(p->a, row * p->row_length + k * p->stride), b = at(p->b, row * p->row_length + k * p->stride);
            if (!(fabsf(a * a + b * b - 1) < 1e-3f)) return false;
            between += is_between(a) && is_between(b);
        }
    return between * 20 >= p->rows * p->run && between > 1; /* slow angles of the first positions are few */
}

static const char *parameter_bytes(const ons_graph *graph, ons_value_id id) {
    const ons_value *value = ons_graph_value(graph, id);
    const ons_tensor *tensor = ons_store_get(graph->store, value->data);
    bool fits = value->kind == ONS_PARAMETER && value->producer == ONS_NONE && value->type.dtype == ONS_FLOAT32 &&
                tensor != NULL && ons_shape_elements(&value->type.shape) >= 4;
    return fits ? tensor->data : NULL;
}

/* Both in one table: interleaved, or the one in front of the other. */
static bool holds_both(const ons_shape *shape, const char *bytes) {
    int64_t length = shape->dims[shape->rank - 1], rows = ons_shape_elements(shape) / (length > 0 ? length : 1);
    if (length % 2 != 0 || rows < 2) return false;
    const int64_t half = length / 2, element = sizeof(float);
    return are_sine_and_cosine(&(pairing){bytes, bytes + element, rows, length, half, 2}) ||
           are_sine_and_cosine(&(pairing){bytes, bytes + half * element, rows, length, half, 1});
}

/* The table of the same shape that completes this one; ONS_NONE. */
static ons_value_id find_partner(const ons_graph *graph, ons_value_id id, const char *bytes) {
    const ons_shape *shape = &ons_graph_value(graph, id)->type.shape;
    int64_t count = ons_shape_elements(shape);
    for (ons_value_id other = id + 1; other < graph->values.count; ++other) {
        const char *others = parameter_bytes(graph, other);
        if (others != NULL && ons_shape_equal(shape, &ons_graph_value(graph, other)->type.shape) &&
            are_sine_and_cosine(&(pairing){bytes, others, 1, count, count, 1}))
            return other;
    }
    return ONS_NONE;
}

void ons_classify_sinusoids(ons_graph *graph, bool (*insists)(const void *context, const char *name),
                            const void *context) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const char *bytes = parameter_bytes(graph, id);
        if (bytes == NULL) continue;
        bool both = holds_both(&ons_graph_value(graph, id)->type.shape, bytes);
        ons_value_id tables[] = {id, both ? ONS_NONE : find_partner(graph, id, bytes)};
        for (int i = 0; i < 2 && (both || tables[1] != ONS_NONE); ++i) {
            if (tables[i] == ONS_NONE) continue;
            ons_value *value = ons_graph_value(graph, tables[i]);
            if (insists != NULL && insists(context, value->name)) continue;
            value->kind = ONS_CONSTANT;
            value->reason = ONS_SINUSOIDS;
        }
    }
}
