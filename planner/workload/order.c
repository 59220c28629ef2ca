#include "planner/workload/order.h"

#include <stdlib.h>

static const char *const names[] = {
    [ONS_ORDER_DEPTH] = "depth",
    [ONS_ORDER_REVERSE_DEPTH] = "reverse-depth",
    [ONS_ORDER_DEPTH_FIRST] = "depth-first",
    [ONS_ORDER_PACKED] = "packed",
};

const char *ons_order_name(ons_order_kind kind) { return names[kind]; }

/* ------------------------------------------------------------------------------------------------------------ edges */

typedef void visit_edge(void *context, uint32_t from, uint32_t to);

/* Readers and savers both need what the producer makes: an edge is met once for each of them, and may be met twice. */
static void for_each_edge(const ons_workload *work, bool forward, visit_edge *visit, void *context) {
    for (uint32_t i = 0; i < work->tensor_count; ++i) {
        const ons_work_tensor *t = &work->tensors[i];
        if (t->producer == ONS_NO_NODE) continue;
        for (uint32_t r = 0; r < t->reader_count + t->saver_count; ++r) {
            bool reads = r < t->reader_count;
            uint32_t user = reads ? t->readers[r] : t->savers[r - t->reader_count];
            if (!reads && user == t->producer) continue; /* it saves its own result */
            visit(context, forward ? t->producer : user, forward ? user : t->producer);
        }
    }
}

static void count_edge(void *context, uint32_t from, uint32_t to) { ++((uint64_t *)context)[from + 1]; }

typedef struct edge_filler {
    uint32_t *place, *next;
} edge_filler;

static void fill_edge(void *context, uint32_t from, uint32_t to) {
    edge_filler *f = context;
    f->next[f->place[from]++] = to;
}

/* Makes two passes: one counts the edges of each node, one puts them in their places. */
ons_status *ons_work_edges_make(const ons_workload *work, bool forward, ons_arena *arena, ons_work_edges *edges) {
    uint64_t *sums;
    edge_filler filler;
    size_t count = (size_t)work->node_count + 1;
    ONS_NEW(sums, arena, count);
    ONS_NEW(edges->begin, arena, count);
    ONS_NEW(filler.place, arena, count);
    for_each_edge(work, forward, count_edge, sums);
    for (size_t i = 1; i < count; ++i) sums[i] += sums[i - 1];
    ONS_CHECK(sums[count - 1] < UINT32_MAX, ONS_UNSUPPORTED, "over 4 billion dependencies between nodes");
    for (size_t i = 0; i < count; ++i) edges->begin[i] = filler.place[i] = (uint32_t)sums[i];
    ONS_NEW(edges->next, arena, (size_t)sums[count - 1] + 1);
    filler.next = edges->next;
    for_each_edge(work, forward, fill_edge, &filler);
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- legal orders */

/* A node that was left over has one before it that was left over, too: going back must come to a node again. */
static ons_status *cycle(const ons_workload *work, const ons_work_edges *back, const uint32_t *missing,
                         uint32_t *seen) {
    uint32_t node = 0, steps = 0;
    while (missing[node] == 0) ++node;
    while (seen[node] == 0) {
        seen[node] = ++steps;
        for (uint32_t i = back->begin[node]; i < back->begin[node + 1]; ++i)
            if (missing[back->next[i]] > 0) {
                node = back->next[i];
                break;
            }
    }
    uint32_t length = steps - seen[node] + 1, before = node;
    for (uint32_t i = back->begin[node]; i < back->begin[node + 1]; ++i)
        if (missing[back->next[i]] > 0) {
            before = back->next[i];
            break;
        }
    return ons_status_new(ONS_INVALID_DATA,
                          "node '%s' needs its own result: the edges make a cycle of %u, by way of '%s'",
                          work->nodes[node].name, length, work->nodes[before].name);
}

/* Longest path from the nodes without predecessor. */
static ons_status *find_depths(const ons_workload *work, const ons_work_edges *there, const ons_work_edges *back,
                               ons_arena *arena, uint32_t **depths) {
    uint32_t count = work->node_count, *missing, *queue, *depth;
    ONS_NEW(missing, arena, (size_t)count + 1);
    ONS_NEW(queue, arena, (size_t)count + 1);
    ONS_NEW(depth, arena, (size_t)count + 1);
    uint32_t head = 0, tail = 0;
    for (uint32_t i = 0; i < count; ++i) {
        missing[i] = back->begin[i + 1] - back->begin[i];
        if (missing[i] == 0) queue[tail++] = i;
    }
    while (head < tail) {
        uint32_t node = queue[head++];
        for (uint32_t i = there->begin[node]; i < there->begin[node + 1]; ++i) {
            uint32_t next = there->next[i];
            if (depth[next] < depth[node] + 1) depth[next] = depth[node] + 1;
            if (--missing[next] == 0) queue[tail++] = next;
        }
    }
    if (tail < count) {
        memset(queue, 0, ((size_t)count + 1) * sizeof *queue);
        return cycle(work, back, missing, queue);
    }
    *depths = depth;
    return NULL;
}

/* Stable: nodes of the same depth stay as they were given. */
static ons_status *sort_by_depth(const uint32_t *depths, uint32_t count, ons_arena *arena, uint32_t *order) {
    uint32_t *place;
    ONS_NEW(place, arena, (size_t)count + 2);
    for (uint32_t i = 0; i < count; ++i) ++place[depths[i] + 1];
    for (uint32_t i = 1; i <= count; ++i) place[i] += place[i - 1];
    for (uint32_t i = 0; i < count; ++i) order[place[depths[i]]++] = i;
    return NULL;
}

/* Reversed order of finishing. Its own stack: a chain may have a hundred thousand nodes. */
static ons_status *search_depth_first(const ons_workload *work, const ons_work_edges *there, const ons_work_edges *back,
                                      ons_arena *arena, uint32_t *order) {
    uint32_t count = work->node_count, *next, *stack, place = count;
    bool *seen;
    ONS_NEW(next, arena, (size_t)count + 1);
    ONS_NEW(stack, arena, (size_t)count + 1);
    ONS_NEW(seen, arena, (size_t)count + 1);
    for (uint32_t root = count; root-- > 0;) {
        if (back->begin[root + 1] > back->begin[root]) continue;
        uint32_t depth = 0;
        stack[depth++] = root;
        seen[root] = true;
        while (depth > 0) {
            uint32_t node = stack[depth - 1];
            if (next[node] == there->begin[node + 1] - there->begin[node]) {
                order[--place] = node;
                --depth;
                continue;
            }
            uint32_t to = there->next[there->begin[node] + next[node]++];
            if (seen[to]) continue;
            seen[to] = true;
            stack[depth++] = to;
        }
    }
    return NULL;
}

/* Depth is looked at for every kind of order, as that is what notices a cycle. */
ons_status *ons_work_order(const ons_workload *work, ons_order_kind kind, uint32_t stages, ons_arena *arena,
                           uint32_t **result) {
    uint32_t count = work->node_count, *depths, *order;
    ons_work_edges there, back;
    ONS_NEW(order, arena, (size_t)count + 1);
    ONS_TRY(ons_work_edges_make(work, true, arena, &there));
    ONS_TRY(ons_work_edges_make(work, false, arena, &back));
    ONS_TRY(find_depths(work, &there, &back, arena, &depths)); /* finds cycles */
    *result = order;
    switch (kind) {
    case ONS_ORDER_DEPTH_FIRST: return search_depth_first(work, &there, &back, arena, order);
    case ONS_ORDER_REVERSE_DEPTH: {
        uint32_t greatest = 0;
        ONS_TRY(find_depths(work, &back, &there, arena, &depths));
        for (uint32_t i = 0; i < count; ++i) greatest = depths[i] > greatest ? depths[i] : greatest;
        for (uint32_t i = 0; i < count; ++i) depths[i] = greatest - depths[i];
        break;
    }
    case ONS_ORDER_PACKED: {
        uint32_t *legal;
        ONS_NEW(legal, arena, (size_t)count + 1);
        ONS_TRY(sort_by_depth(depths, count, arena, legal));
        return ons_work_order_pack(work, legal, stages, order);
    }
    default: break;
    }
    return sort_by_depth(depths, count, arena, order);
}

/* --------------------------------------------------------------------------------------------------------- renaming */

static int compare_numbers(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Ascending, each once. */
static ons_status *move_list(const uint32_t *list, uint32_t count, const uint32_t *position, ons_arena *arena,
                             const uint32_t **result, uint32_t *result_count) {
    uint32_t *moved, kept = 0;
    ONS_NEW(moved, arena, (size_t)count + 1);
    for (uint32_t i = 0; i < count; ++i) moved[i] = position[list[i]];
    qsort(moved, count, sizeof *moved, compare_numbers);
    for (uint32_t i = 0; i < count; ++i)
        if (kept == 0 || moved[kept - 1] != moved[i]) moved[kept++] = moved[i];
    *result = moved;
    *result_count = kept;
    return NULL;
}

static ons_status *move_layers(const ons_workload *work, ons_arena *arena, ons_workload *result) {
    ons_work_layer *layers;
    uint32_t count = 0, last = ONS_NO_NODE;
    ONS_NEW(layers, arena, (size_t)result->node_count + 1);
    for (uint32_t i = 0; i < result->node_count; ++i) {
        uint32_t layer = result->nodes[i].layer;
        if (layer != last) layers[count++] = (ons_work_layer){work->layers[layer].name, i, 0};
        last = layer;
        ++layers[count - 1].count;
        result->nodes[i].layer = count - 1;
    }
    result->layers = layers;
    result->layer_count = count;
    return NULL;
}

/* Positions change, and with them everything that names one: producers, readers, savers, users and layers. Lists must
 * ascend, so each is sorted anew. */
ons_status *ons_work_reorder(const ons_workload *work, const uint32_t *order, ons_arena *arena, ons_workload *result) {
    uint32_t *position;
    ons_workload moved = *work;
    ONS_NEW(position, arena, (size_t)work->node_count + 1);
    ONS_NEW(moved.nodes, arena, (size_t)work->node_count + 1);
    ONS_NEW(moved.tensors, arena, (size_t)work->tensor_count + 1);
    ONS_NEW(moved.weights, arena, (size_t)work->weight_count + 1);
    for (uint32_t i = 0; i < work->node_count; ++i) {
        position[order[i]] = i;
        moved.nodes[i] = work->nodes[order[i]];
    }
    for (uint32_t i = 0; i < work->tensor_count; ++i) {
        const ons_work_tensor *t = &work->tensors[i];
        ons_work_tensor *m = &moved.tensors[i];
        *m = *t;
        if (t->producer != ONS_NO_NODE) m->producer = position[t->producer];
        ONS_TRY(move_list(t->readers, t->reader_count, position, arena, &m->readers, &m->reader_count));
        ONS_TRY(move_list(t->savers, t->saver_count, position, arena, &m->savers, &m->saver_count));
    }
    for (uint32_t i = 0; i < work->weight_count; ++i) {
        const ons_work_weight *w = &work->weights[i];
        ons_work_weight *m = &moved.weights[i];
        *m = *w;
        ONS_TRY(move_list(w->users, w->user_count, position, arena, &m->users, &m->user_count));
    }
    ONS_TRY(move_layers(work, arena, &moved));
    moved.index = NULL;
    ONS_TRY(ons_workload_finish(&moved, arena));
    *result = moved;
    return NULL;
}
