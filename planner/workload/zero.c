#include "planner/workload/zero.h"

/* The first node of the layer that uses the weight is `node`: it counts once for the layer. */
static bool is_first_use(const ons_work_weight *w, uint32_t layer_first, uint32_t node) {
    for (uint32_t i = 0; i < w->user_count; ++i)
        if (w->users[i] >= layer_first) return w->users[i] == node;
    return false;
}

static int64_t gathered_for(const ons_workload *work, const ons_work_layer *layer, int level) {
    int64_t bytes = 0;
    for (uint32_t node = layer->first; node < layer->first + layer->count; ++node) {
        ons_work_list uses = ons_work_uses(work, node);
        for (uint32_t i = 0; i < uses.count; ++i) {
            const ons_work_weight *w = &work->weights[uses.items[i]];
            if (!is_first_use(w, layer->first, node)) continue;
            bytes += w->gradient_bytes + (level >= 3 ? w->bytes : 0);
        }
    }
    return bytes;
}

static int64_t share(int64_t bytes, bool shared, uint32_t devices) {
    return shared ? bytes / devices + (bytes % devices != 0) : bytes;
}

void ons_zero_memory_find(const ons_workload *work, int level, uint32_t devices, ons_zero_memory *m) {
    static const ons_stage_load one = {.in_flight = 1, .versions = 1, .accumulates = true};
    ons_stage_memory whole;
    ons_work_stage_memory(work, 0, work->node_count, &one, &whole);
    *m = (ons_zero_memory){.weights = share(whole.weights, level >= 3, devices),
                           .gradients = share(whole.gradients, level >= 2, devices),
                           .states = share(whole.states, level >= 1, devices),
                           .activations = whole.peak};
    for (uint32_t i = 0; i < work->layer_count && level >= 2; ++i) {
        int64_t bytes = gathered_for(work, &work->layers[i], level);
        m->gathered = bytes > m->gathered ? bytes : m->gathered;
    }
    m->total = m->weights + m->gradients + m->states + m->gathered + m->activations;
}
