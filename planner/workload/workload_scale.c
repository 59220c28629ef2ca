#include "planner/workload/workload_scale.h"

#include <math.h>
#include <string.h>

typedef struct line {
    int64_t low, high, at; /* samples */
} line;

static int64_t draw_bytes(const line *l, int64_t low, int64_t high) {
    double value = (double)low + ((double)high - (double)low) * (double)(l->at - l->low) / (double)(l->high - l->low);
    return value > 0 ? (int64_t)(value + 0.5) : 0;
}

static double draw_seconds(const line *l, double low, double high) {
    double value = low + (high - low) * (double)(l->at - l->low) / (double)(l->high - l->low);
    return value > 0 ? value : 0;
}

static bool same_shape(const ons_workload *a, const ons_workload *b) {
    if (a->node_count != b->node_count || a->tensor_count != b->tensor_count || a->weight_count != b->weight_count ||
        a->samples == b->samples)
        return false;
    for (uint32_t i = 0; i < a->tensor_count; ++i)
        if (a->tensors[i].producer != b->tensors[i].producer ||
            a->tensors[i].reader_count != b->tensors[i].reader_count ||
            a->tensors[i].saver_count != b->tensors[i].saver_count)
            return false;
    for (uint32_t i = 0; i < a->node_count; ++i)
        if (strcmp(a->nodes[i].kind, b->nodes[i].kind) != 0) return false;
    return true;
}

static void draw_nodes(const line *l, const ons_workload *low, const ons_workload *high, ons_work_node *nodes) {
    for (uint32_t i = 0; i < low->node_count; ++i) {
        const ons_work_node *a = &low->nodes[i], *b = &high->nodes[i];
        nodes[i] = *a;
        nodes[i].forward_seconds = draw_seconds(l, a->forward_seconds, b->forward_seconds);
        nodes[i].input_gradient_seconds = draw_seconds(l, a->input_gradient_seconds, b->input_gradient_seconds);
        nodes[i].weight_gradient_seconds = draw_seconds(l, a->weight_gradient_seconds, b->weight_gradient_seconds);
        nodes[i].late_weight_seconds =
            fmin(draw_seconds(l, a->late_weight_seconds, b->late_weight_seconds), nodes[i].weight_gradient_seconds);
        nodes[i].update_seconds = draw_seconds(l, a->update_seconds, b->update_seconds);
        nodes[i].forward_bytes = draw_bytes(l, a->forward_bytes, b->forward_bytes);
        nodes[i].backward_bytes = draw_bytes(l, a->backward_bytes, b->backward_bytes);
    }
}

static void draw_values(const line *l, const ons_workload *low, const ons_workload *high, ons_workload *result) {
    for (uint32_t i = 0; i < low->tensor_count; ++i) {
        result->tensors[i] = low->tensors[i];
        result->tensors[i].bytes = draw_bytes(l, low->tensors[i].bytes, high->tensors[i].bytes);
        result->tensors[i].gradient_bytes =
            draw_bytes(l, low->tensors[i].gradient_bytes, high->tensors[i].gradient_bytes);
    }
    for (uint32_t i = 0; i < low->weight_count; ++i) {
        result->weights[i] = low->weights[i];
        result->weights[i].bytes = draw_bytes(l, low->weights[i].bytes, high->weights[i].bytes);
    }
}

ons_status *ons_workload_scale(const ons_workload *low, const ons_workload *high, int64_t samples, ons_arena *arena,
                               ons_workload *result, bool *same) {
    *same = same_shape(low, high);
    if (!*same) return NULL;
    line l = {low->samples, high->samples, samples};
    *result = *low;
    result->samples = samples;
    ONS_NEW(result->nodes, arena, low->node_count);
    ONS_NEW(result->tensors, arena, (size_t)low->tensor_count + 1);
    ONS_NEW(result->weights, arena, (size_t)low->weight_count + 1);
    draw_nodes(&l, low, high, result->nodes);
    draw_values(&l, low, high, result);
    return ons_workload_finish(result, arena);
}
