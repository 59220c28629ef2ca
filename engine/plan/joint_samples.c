#include "engine/plan/joint_samples.h"

#include "runtime/program/samples.h"

typedef struct finder {
    const ons_model_graph *few, *many;
    const ons_graph_work *work;
    bool *joint; /* [position] */
    bool any;
} finder;

static ons_sample_relation relation_of(const finder *f, ons_value_id value) {
    return ons_samples_relate(&ons_graph_value(f->many->graph, value)->type, f->many->rows,
                              &ons_graph_value(f->few->graph, value)->type, f->few->rows);
}

/* True where that is new. */
static bool mark(finder *f, uint32_t position) {
    if (f->joint[position]) return false;
    f->joint[position] = f->any = true;
    return true;
}

static bool compares(const finder *f, const ons_value_id *values, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        if (values[i] != ONS_NONE && relation_of(f, values[i]) == ONS_SAMPLES_UNLIKE) return true;
    return false;
}

static void mark_comparing(finder *f) {
    for (uint32_t i = 0; i < f->work->work.node_count; ++i) {
        const ons_node *node = ons_graph_node(f->few->graph, f->work->node_of_position[i]);
        if (compares(f, node->inputs, node->input_count) || compares(f, node->outputs, node->output_count)) mark(f, i);
    }
}

/* Both ends of a value that cannot be put together are joint if one of them is. */
static bool mark_ends(finder *f, uint32_t reader, ons_value_id value) {
    if (value == ONS_NONE) return false;
    ons_node_id maker = ons_graph_value(f->few->graph, value)->producer;
    if (maker == ONS_NONE || relation_of(f, value) != ONS_SAMPLES_WITHIN) return false;
    uint32_t producer = f->work->position_of_node[maker];
    if (f->joint[reader]) return mark(f, producer);
    return f->joint[producer] && mark(f, reader);
}

static bool mark_neighbours(finder *f) {
    bool changed = false;
    for (uint32_t i = 0; i < f->work->work.node_count; ++i) {
        const ons_node *node = ons_graph_node(f->few->graph, f->work->node_of_position[i]);
        for (uint32_t k = 0; k < node->input_count; ++k) changed |= mark_ends(f, i, node->inputs[k]);
    }
    return changed;
}

ons_status *ons_joint_samples_find(const ons_model_graph *few, const ons_model_graph *many, const ons_graph_work *work,
                                   ons_arena *arena, const bool **joint) {
    finder f = {.few = few, .many = many, .work = work};
    *joint = NULL;
    if (few->graph->values.count != many->graph->values.count) return NULL;
    ONS_NEW(f.joint, arena, (size_t)work->work.node_count + 1);
    mark_comparing(&f);
    while (f.any && mark_neighbours(&f)) continue;
    if (f.any) *joint = f.joint;
    return NULL;
}
