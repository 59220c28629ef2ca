#include "planner/cost/graph_weights.h"

#include <stdlib.h>
#include <string.h>

#include "graph/arena_layout.h"
#include "graph/passes/update.h"
#include "graph/slice.h"
#include "planner/cost/graph_work.h"

typedef struct finder {
    const ons_graph_work_options *o;
    const ons_graph *graph;
    ons_graph_work *r;
    ons_arena *arena;
    ons_value_id *weight_of_value; /* the parameter whose update a value ends in; ONS_NONE: none */
    ons_value_id *half_of;         /* the parameter that a value holds in a half type; ONS_NONE: none */
    uint32_t *entry_of_value;      /* index into work.weights; ONS_NONE: none */
    bool *in_micro_batch;          /* read by a backward node of every micro-batch */
} finder;

/* The parameter that a node updates, or ONS_NONE. */
static ons_value_id updated_by(const finder *f, const ons_node *node) {
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == ONS_NONE) continue;
        ons_value_id old = ons_graph_value(f->graph, node->outputs[i])->pair;
        if (old != ONS_NONE && ons_graph_value(f->graph, old)->kind == ONS_PARAMETER) return old;
    }
    return ONS_NONE;
}

/* From updates back to accumulators: every state belongs to the weight whose update reads it in the end. Norms and the
 * clip factor, which all updates read, belong to none: they come through nodes that read several weights' gradients. */
static ons_status *find_owners(finder *f) {
    ONS_NEW(f->weight_of_value, f->arena, f->graph->values.count + 1);
    ONS_NEW(f->half_of, f->arena, f->graph->values.count + 1);
    for (ons_value_id id = 0; id < f->graph->values.count; ++id) f->weight_of_value[id] = f->half_of[id] = ONS_NONE;
    for (ons_node_id id = (ons_node_id)f->graph->nodes.count; id-- > 0;) {
        const ons_node *node = ons_graph_node(f->graph, id);
        ons_value_id weight = updated_by(f, node), half = ons_update_half_of(node);
        if (half != ONS_NONE) f->half_of[half] = weight;
        for (uint32_t i = 0; i < node->output_count && weight == ONS_NONE; ++i)
            if (node->outputs[i] != ONS_NONE) weight = f->weight_of_value[node->outputs[i]];
        bool backward = node->phase == ONS_UPDATE || node->phase == ONS_WEIGHT_GRADIENT;
        if (weight == ONS_NONE || !backward || node->input_count > 8) continue;
        for (uint32_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] == ONS_NONE) continue;
            const ons_value *value = ons_graph_value(f->graph, node->inputs[i]);
            bool scalar = value->type.shape.rank == 0 && ons_graph_value(f->graph, weight)->type.shape.rank != 0;
            if (!scalar) f->weight_of_value[node->inputs[i]] = weight;
        }
    }
    return NULL;
}

static ons_status *find_repeated_reads(finder *f) {
    ONS_NEW(f->in_micro_batch, f->arena, f->graph->values.count + 1);
    for (ons_node_id id = 0; id < f->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(f->graph, id);
        if (node->per_step || node->phase == ONS_FORWARD) continue;
        for (uint32_t i = 0; i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE) f->in_micro_batch[node->inputs[i]] = true;
    }
    return NULL;
}

static ons_work_weight *entry_of(finder *f, ons_value_id id, const char *name) {
    if (f->entry_of_value[id] == ONS_NONE) {
        f->entry_of_value[id] = f->r->work.weight_count;
        f->r->work.weights[f->r->work.weight_count++] = (ons_work_weight){.name = name};
    }
    return &f->r->work.weights[f->entry_of_value[id]];
}

/* Whether a node keeps the value for the rest of the step: what runs once before the micro-batches. */
static bool is_made_at_start(const ons_graph *graph, const ons_value *value) {
    if (value->producer == ONS_NONE) return false;
    const ons_node *node = ons_graph_node(graph, value->producer);
    return node->per_step && node->phase == ONS_FORWARD;
}

/* The first owner's, which is no smaller than the others'. */
static int64_t slice_bytes(const finder *f, const ons_type *type, int64_t whole) {
    if (f->o->owners <= 1) return whole;
    int64_t count = ons_slice_of(ons_shape_elements(&type->shape), 0, f->o->owners).count;
    return ons_arena_align(count * (int64_t)ons_dtype_size(type->dtype));
}

static void add_entries(finder *f) {
    for (ons_value_id id = 0; id < f->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(f->graph, id);
        bool source = value->producer == ONS_NONE && ons_is_persistent(value);
        if (f->r->root_of_value[id] != id || (!source && !is_made_at_start(f->graph, value))) continue;
        int64_t bytes = ons_arena_align(ons_registry_type_bytes(f->o->registry, &value->type));
        ons_value_id weight = value->kind == ONS_STATE ? f->weight_of_value[id] : f->half_of[id];
        if (weight == ONS_NONE) {
            entry_of(f, id, value->name)->bytes += bytes;
            continue;
        }
        ons_work_weight *entry = entry_of(f, weight, ons_graph_value(f->graph, weight)->name);
        f->entry_of_value[id] = f->entry_of_value[weight];
        /* A half weight is where the weight is. An accumulator takes in every micro-batch's gradient; what only the
         * update reads is the optimiser's. */
        if (f->half_of[id] != ONS_NONE)
            entry->bytes += bytes;
        else if (f->in_micro_batch[id])
            entry->gradient_bytes += bytes;
        else
            entry->state_bytes += slice_bytes(f, &value->type, bytes);
    }
}

/* A position that uses a weight. */
typedef struct use {
    uint32_t weight, position;
} use;

static int compare_uses(const void *left, const void *right) {
    const use *a = left, *b = right;
    if (a->weight != b->weight) return a->weight < b->weight ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

static size_t collect_uses(const finder *f, use *uses) {
    size_t count = 0;
    for (ons_node_id id = 0; id < f->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(f->graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i) {
            ons_value_id root = node->inputs[i] == ONS_NONE ? ONS_NONE : f->r->root_of_value[node->inputs[i]];
            if (root == ONS_NONE || f->entry_of_value[root] == ONS_NONE) continue;
            if (uses != NULL) uses[count] = (use){f->entry_of_value[root], f->r->position_of_node[id]};
            ++count;
        }
    }
    return count;
}

static ons_status *list_users(finder *f) {
    size_t count = collect_uses(f, NULL), kept = 0;
    use *uses;
    uint32_t *positions;
    ONS_NEW(uses, f->arena, count + 1);
    ONS_NEW(positions, f->arena, count + 1);
    (void)collect_uses(f, uses);
    qsort(uses, count, sizeof *uses, compare_uses);
    for (size_t i = 0; i < count; ++i) {
        ons_work_weight *w = &f->r->work.weights[uses[i].weight];
        if (i > 0 && compare_uses(&uses[i - 1], &uses[i]) == 0) continue;
        if (w->user_count == 0) w->users = positions + kept;
        positions[kept++] = uses[i].position;
        ++w->user_count;
    }
    return NULL;
}

/* What nobody uses takes no memory in any stage. */
static void drop_unused(ons_workload *work) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < work->weight_count; ++i)
        if (work->weights[i].user_count > 0) work->weights[kept++] = work->weights[i];
    work->weight_count = kept;
}

ons_status *ons_graph_weights_find(const ons_graph_work_options *options, ons_graph_work *r, ons_arena *arena) {
    finder f = {.o = options, .graph = options->graph, .r = r, .arena = arena};
    ONS_TRY(find_owners(&f));
    ONS_TRY(find_repeated_reads(&f));
    ONS_NEW(f.entry_of_value, arena, f.graph->values.count + 1);
    for (ons_value_id id = 0; id < f.graph->values.count; ++id) f.entry_of_value[id] = ONS_NONE;
    ONS_NEW(r->work.weights, arena, f.graph->values.count + 1);
    add_entries(&f);
    ONS_TRY(list_users(&f));
    drop_unused(&r->work);
    return NULL;
}
