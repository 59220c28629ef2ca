#include "planner/cost/graph_work.h"

#include <math.h>
#include <stdlib.h>

#include "graph/arena_layout.h"
#include "graph/passes/update_in_backward.h"
#include "graph/sharing.h"
#include "planner/cost/graph_positions.h"
#include "planner/cost/graph_weights.h"
#include "planner/workload/layers.h"

typedef struct maker {
    const ons_graph_work_options *o;
    const ons_graph *graph;
    ons_arena *arena;
    ons_graph_work *r;
    uint32_t *tensor_of_value; /* by root; ONS_NONE: none */
    uint32_t *last_user;       /* of a backward value: the last node that reads it; ONS_NONE: nobody */
    bool *leaves;              /* of a backward value: a node at another position reads it */
    ons_node_id
        *early; /* of each node: see graph/passes/update_in_backward.h; NULL: updates wait for the end of the step */
    /* Tensors that each position's forward part reads: read[read_begin[i]] to read[read_begin[i + 1] - 1]. */
    uint32_t *read, *read_begin;
    /* The search for a path: positions to visit; by position, the tensor and the position that led there, and the
     * number of the search that did. */
    uint32_t *queue, *came_by, *came_from, *seen, search;
} maker;

static ons_value_id root_of(const maker *m, ons_value_id value) { return m->r->root_of_value[value]; }

static int64_t bytes_of(const maker *m, ons_value_id value) {
    return ons_arena_align(ons_registry_type_bytes(m->o->registry, &ons_graph_value(m->graph, value)->type));
}

/* ---------------------------------------------------------------------------------------------------------- tensors */

/* Values of the forward part, and data from outside. */
static bool is_tensor(const maker *m, ons_value_id id) {
    const ons_value *value = ons_graph_value(m->graph, id);
    if (root_of(m, id) != id || ons_is_persistent(value)) return false;
    return value->producer == ONS_NONE ? value->kind == ONS_INPUT
                                       : ons_is_forward_unit(ons_graph_node(m->graph, value->producer));
}

/* A tensor is data from outside, or what a forward node makes. A weight is none, nor is a view of another value. */
static ons_status *list_tensors(maker *m) {
    size_t count = m->graph->values.count;
    ONS_NEW(m->tensor_of_value, m->arena, count + 1);
    ONS_NEW(m->r->value_of_tensor, m->arena, count + 1);
    ONS_NEW(m->r->work.tensors, m->arena, count + 1);
    for (ons_value_id id = 0; id < count; ++id) {
        m->tensor_of_value[id] = ONS_NONE;
        if (!is_tensor(m, id)) continue;
        const ons_value *value = ons_graph_value(m->graph, id);
        uint32_t tensor = m->r->work.tensor_count++;
        m->tensor_of_value[id] = tensor;
        m->r->value_of_tensor[tensor] = id;
        m->r->work.tensors[tensor] = (ons_work_tensor){
            .name = value->name,
            .bytes = bytes_of(m, id),
            .producer = value->producer == ONS_NONE ? ONS_NO_NODE : m->r->position_of_node[value->producer],
        };
    }
    return NULL;
}

/* A position that reads or saves a tensor. */
typedef struct use {
    uint32_t tensor, position;
    bool saved;
} use;

static int compare_uses(const void *left, const void *right) {
    const use *a = left, *b = right;
    if (a->tensor != b->tensor) return a->tensor < b->tensor ? -1 : 1;
    if (a->saved != b->saved) return a->saved ? 1 : -1;
    return a->position < b->position ? -1 : a->position > b->position;
}

/* Counts, and writes where there is room, who reads each tensor in forward parts and who in backward parts. What a view
 * shows is read where the view is read. A backward node may stand at an earlier position than the node that made what
 * it reads: it then counts at that one, where the tensor is there. */
static size_t collect_uses(const maker *m, use *uses) {
    size_t count = 0;
    for (ons_node_id id = 0; id < m->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(m->graph, id);
        bool forward = ons_is_forward_unit(node);
        if (forward && ons_is_view(node->op)) continue;
        for (uint32_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] == ONS_NONE) continue;
            uint32_t tensor = m->tensor_of_value[root_of(m, node->inputs[i])];
            if (tensor == ONS_NONE) continue;
            uint32_t position = m->r->position_of_node[id], producer = m->r->work.tensors[tensor].producer;
            if (!forward && producer != ONS_NO_NODE && position < producer) position = producer;
            if (forward && producer != ONS_NO_NODE && position <= producer) continue;
            if (uses != NULL) uses[count] = (use){tensor, position, !forward};
            ++count;
        }
    }
    return count;
}

/* Readers and savers of all tensors, as ascending lists without repeats. */
static ons_status *list_uses(maker *m) {
    size_t count = collect_uses(m, NULL), kept = 0;
    use *uses;
    uint32_t *positions;
    ONS_NEW(uses, m->arena, count + 1);
    ONS_NEW(positions, m->arena, count + 1);
    (void)collect_uses(m, uses);
    qsort(uses, count, sizeof *uses, compare_uses);
    for (size_t i = 0; i < count; ++i) {
        ons_work_tensor *t = &m->r->work.tensors[uses[i].tensor];
        if (i > 0 && compare_uses(&uses[i - 1], &uses[i]) == 0) continue;
        uint32_t *length = uses[i].saved ? &t->saver_count : &t->reader_count;
        const uint32_t **list = uses[i].saved ? &t->savers : &t->readers;
        if (*length == 0) *list = positions + kept;
        positions[kept++] = uses[i].position;
        ++*length;
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------- backward values */

static bool is_backward_value(const maker *m, ons_value_id id) {
    const ons_value *value = ons_graph_value(m->graph, id);
    return root_of(m, id) == id && value->producer != ONS_NONE &&
           ons_graph_node(m->graph, value->producer)->phase != ONS_FORWARD;
}

/* A tensor made at `to` and read at `from`, the best fit for a gradient of so many bytes; ONS_NONE: none. */
static uint32_t find_flow(const maker *m, uint32_t from, uint32_t to, int64_t bytes) {
    const ons_node *node = ons_graph_node(m->graph, m->r->node_of_position[to]);
    uint32_t found = ONS_NONE;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == ONS_NONE) continue;
        uint32_t tensor = m->tensor_of_value[root_of(m, node->outputs[i])];
        if (tensor == ONS_NONE || m->r->work.tensors[tensor].producer == ONS_NO_NODE) continue;
        const ons_work_tensor *t = &m->r->work.tensors[tensor];
        bool reads = t->producer < from && t->reader_count > 0 && t->readers[t->reader_count - 1] >= from;
        if (reads && (found == ONS_NONE || t->bytes == bytes)) found = tensor;
    }
    return found;
}

static void carry(maker *m, uint32_t tensor, int64_t bytes) {
    ons_work_tensor *t = &m->r->work.tensors[tensor];
    t->gradient_bytes = bytes > t->gradient_bytes ? bytes : t->gradient_bytes;
}

/* Turns the tensors' lists of readers round: which tensors each position reads, for the search for a path. */
static ons_status *list_reads(maker *m) {
    const ons_workload *work = &m->r->work;
    uint32_t count = 0;
    for (uint32_t i = 0; i < work->tensor_count; ++i) count += work->tensors[i].reader_count;
    ONS_NEW(m->read, m->arena, (size_t)count + 1);
    ONS_NEW(m->read_begin, m->arena, (size_t)work->node_count + 2);
    for (uint32_t i = 0; i < work->tensor_count; ++i)
        for (uint32_t k = 0; k < work->tensors[i].reader_count; ++k) ++m->read_begin[work->tensors[i].readers[k] + 2];
    for (uint32_t i = 2; i < work->node_count + 2; ++i) m->read_begin[i] += m->read_begin[i - 1];
    for (uint32_t i = 0; i < work->tensor_count; ++i)
        for (uint32_t k = 0; k < work->tensors[i].reader_count; ++k)
            m->read[m->read_begin[work->tensors[i].readers[k] + 1]++] = i;
    return NULL;
}

/* Some operators hand the gradient of their result on as it is (both sides of an Add): it goes back over a path of
 * tensors, all of which carry it, wherever the path is cut. The shortest path; `alike`: over tensors of as many bytes
 * alone. */
static bool carry_over_path(maker *m, uint32_t from, uint32_t to, int64_t bytes, bool alike) {
    const ons_workload *work = &m->r->work;
    uint32_t count = 0;
    m->seen[from] = ++m->search;
    m->queue[count++] = from;
    for (uint32_t next = 0; next < count && m->seen[to] != m->search; ++next) {
        uint32_t at = m->queue[next];
        for (uint32_t i = m->read_begin[at]; i < m->read_begin[at + 1]; ++i) {
            const ons_work_tensor *t = &work->tensors[m->read[i]];
            if (t->producer == ONS_NO_NODE || t->producer < to || m->seen[t->producer] == m->search) continue;
            if (alike && t->bytes != bytes) continue;
            m->seen[t->producer] = m->search;
            m->came_by[t->producer] = m->read[i];
            m->came_from[t->producer] = at;
            m->queue[count++] = t->producer;
        }
    }
    if (m->seen[to] != m->search) return false;
    for (uint32_t at = to; at != from; at = m->came_from[at]) carry(m, m->came_by[at], bytes);
    return true;
}

/* A gradient that goes from one position to another belongs to the tensor between them, or to all on the way; one that
 * fits none is alive at all positions from the one to the other. */
static void add_flow(maker *m, uint32_t from, uint32_t to, int64_t bytes) {
    uint32_t tensor = find_flow(m, from, to, bytes);
    if (tensor != ONS_NONE) {
        carry(m, tensor, bytes);
        return;
    }
    if (to < from && (carry_over_path(m, from, to, bytes, true) || carry_over_path(m, from, to, bytes, false))) return;
    uint32_t low = from < to ? from : to, high = from < to ? to : from;
    for (uint32_t i = low; i <= high; ++i) m->r->work.nodes[i].backward_bytes += bytes;
}

/* Whether a node runs when all micro-batches are through. */
static bool is_of_step(const maker *m, ons_node_id id) {
    return ons_graph_node(m->graph, id)->per_step && (m->early == NULL || m->early[id] == ONS_NONE);
}

/* What only the update reads waits for it through the rest of the backward part, at this position and all that are
 * before it: gradients that are not added up. */
static ons_status *add_waiting(maker *m) {
    int64_t *waiting, sum = 0;
    ONS_NEW(waiting, m->arena, (size_t)m->r->work.node_count + 1);
    for (ons_node_id id = 0; id < m->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(m->graph, id);
        for (uint32_t i = 0; is_of_step(m, id) && i < node->input_count; ++i) {
            ons_value_id value = node->inputs[i] == ONS_NONE ? ONS_NONE : root_of(m, node->inputs[i]);
            if (value == ONS_NONE || !is_backward_value(m, value) || m->leaves[value]) continue;
            ons_node_id producer = ons_graph_value(m->graph, value)->producer;
            if (is_of_step(m, producer)) continue;
            m->leaves[value] = true;
            waiting[m->r->position_of_node[producer]] += bytes_of(m, value);
        }
    }
    for (uint32_t p = m->r->work.node_count; p-- > 0;) {
        sum += waiting[p];
        m->r->work.nodes[p].backward_bytes += sum;
    }
    return NULL;
}

/* Gradients cross from node to node, and views pass them on: what a view at another position makes of them is theirs.
 */
static ons_status *find_flows(maker *m) {
    ONS_NEW(m->last_user, m->arena, m->graph->values.count + 1);
    ONS_NEW(m->leaves, m->arena, m->graph->values.count + 1);
    ONS_TRY(list_reads(m));
    ONS_NEW(m->queue, m->arena, m->r->work.node_count);
    ONS_NEW(m->came_by, m->arena, m->r->work.node_count);
    ONS_NEW(m->came_from, m->arena, m->r->work.node_count);
    ONS_NEW(m->seen, m->arena, m->r->work.node_count);
    for (ons_value_id id = 0; id < m->graph->values.count; ++id) m->last_user[id] = ONS_NONE;
    for (ons_node_id id = 0; id < m->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(m->graph, id);
        if (node->phase == ONS_FORWARD || is_of_step(m, id)) continue;
        for (uint32_t i = 0; i < node->input_count; ++i) {
            ons_value_id value = node->inputs[i] == ONS_NONE ? ONS_NONE : root_of(m, node->inputs[i]);
            if (value == ONS_NONE || !is_backward_value(m, value)) continue;
            uint32_t from = m->r->position_of_node[ons_graph_value(m->graph, value)->producer];
            uint32_t to = m->r->position_of_node[id];
            m->last_user[value] = id;
            if (from == to) continue;
            m->leaves[value] = true;
            add_flow(m, from, to, bytes_of(m, value));
        }
    }
    return NULL;
}

/* What one more backward node of a position needs beside what is alive already. */
static int64_t local_bytes(const maker *m, const ons_node *node, bool made) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id value = node->outputs[i];
        if (value == ONS_NONE || root_of(m, value) != value || m->leaves[value] ||
            (!made && m->last_user[value] != ONS_NONE))
            continue;
        bytes += bytes_of(m, value);
    }
    return bytes;
}

/* Frees what a backward node was the last to read, each value once even where the node reads it twice, and what it made
 * for nobody. */
static int64_t dying_bytes(const maker *m, ons_node_id id) {
    const ons_node *node = ons_graph_node(m->graph, id);
    int64_t bytes = local_bytes(m, node, false);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_value_id value = node->inputs[i] == ONS_NONE ? ONS_NONE : root_of(m, node->inputs[i]);
        if (value == ONS_NONE || m->last_user[value] != id || m->leaves[value]) continue;
        bool again = false;
        for (uint32_t k = 0; k < i; ++k) again |= node->inputs[k] != ONS_NONE && root_of(m, node->inputs[k]) == value;
        if (!again) bytes += bytes_of(m, value);
    }
    return bytes;
}

/* The most that a position's backward nodes hold for themselves, in the order in which they run. */
static ons_status *find_local_peaks(maker *m) {
    int64_t *alive, *peak;
    ONS_NEW(alive, m->arena, (size_t)m->r->work.node_count + 1);
    ONS_NEW(peak, m->arena, (size_t)m->r->work.node_count + 1);
    for (ons_node_id id = 0; id < m->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(m->graph, id);
        if (node->phase == ONS_FORWARD || is_of_step(m, id)) continue;
        uint32_t position = m->r->position_of_node[id];
        alive[position] += local_bytes(m, node, true);
        int64_t now = alive[position] + m->o->cost->scratch_bytes[id];
        peak[position] = now > peak[position] ? now : peak[position];
        alive[position] -= dying_bytes(m, id);
    }
    for (uint32_t i = 0; i < m->r->work.node_count; ++i) m->r->work.nodes[i].backward_bytes += peak[i];
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ nodes */

/* A position's times are those of the forward node there and of all backward and update nodes that go with it. Weight
 * gradients behind the last input gradient are late: what the stage sends back does not wait for them. */
static ons_status *list_nodes(maker *m) {
    ONS_NEW(m->r->work.nodes, m->arena, m->r->work.node_count);
    for (uint32_t i = 0; i < m->r->work.node_count; ++i) {
        ons_node_id id = m->r->node_of_position[i];
        const ons_node *node = ons_graph_node(m->graph, id);
        m->r->work.nodes[i] = (ons_work_node){.name = node->name,
                                              .kind = node->op->name,
                                              .forward_bytes = m->o->cost->scratch_bytes[id],
                                              .recomputable = true};
    }
    for (ons_node_id id = 0; id < m->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(m->graph, id);
        ons_work_node *work = &m->r->work.nodes[m->r->position_of_node[id]];
        double *seconds = node->per_step || node->phase == ONS_UPDATE ? &work->update_seconds
                          : node->phase == ONS_FORWARD                ? &work->forward_seconds
                          : node->phase == ONS_INPUT_GRADIENT         ? &work->input_gradient_seconds
                                                                      : &work->weight_gradient_seconds;
        bool divided = m->o->owners > 1 && ons_role_is_optimizer(node->op->roles.role);
        *seconds += m->o->cost->seconds[id] / (divided ? m->o->owners : 1);
        if (seconds == &work->input_gradient_seconds) work->late_weight_seconds = 0;
        if (seconds == &work->weight_gradient_seconds) work->late_weight_seconds += m->o->cost->seconds[id];
    }
    for (uint32_t i = 0; i < m->r->work.node_count; ++i)
        m->r->work.nodes[i].late_weight_seconds =
            fmin(m->r->work.nodes[i].late_weight_seconds, m->r->work.nodes[i].weight_gradient_seconds);
    m->r->work.nodes[0].forward_seconds += m->o->cost->feed_seconds;
    m->r->work.step_seconds = m->o->cost->handover_seconds;
    return NULL;
}

ons_status *ons_graph_work_make(const ons_graph_work_options *options, ons_arena *arena, ons_graph_work *r) {
    *r = (ons_graph_work){.work = {.name = options->graph->name, .samples = options->samples}};
    maker m = {.o = options, .graph = options->graph, .arena = arena, .r = r};
    ONS_TRY(ons_graph_positions_find(options, arena, r, &r->work.node_count));
    ONS_TRY(list_nodes(&m));
    ONS_TRY(list_tensors(&m));
    ONS_TRY(list_uses(&m));
    if (options->updates_in_backward) ONS_TRY(ons_find_updates_in_backward(m.graph, arena, &m.early));
    ONS_TRY(find_flows(&m));
    ONS_TRY(add_waiting(&m));
    ONS_TRY(find_local_peaks(&m));
    ONS_TRY(ons_graph_weights_find(options, r, arena));
    ONS_TRY(ons_layers_find(&r->work, arena));
    return ons_workload_finish(&r->work, arena);
}
