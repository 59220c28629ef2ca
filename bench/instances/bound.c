/* Values that no solution is below. */
#include <math.h>

#include "bench/instances/check.h"

typedef struct bounds {
    const instance *in;
    graph_node *nodes;   /* the least that a micro-batch takes, however many are taken at once */
    double *head, *tail; /* [node]: the longest chain of forward parts up to it, of input gradients from it on */
    uint32_t *order;     /* nodes, each behind those that it reads */
    ons_arena *arena;
} bounds;

/* ----------------------------------------------------------------------------------------------------------- chains */

static double seconds_of(const graph_node *n) { return n->forward + n->input_gradient + n->weight_gradient; }

/* On a straight line between one and the most at once, the least of a micro-batch's share is at one of its ends. */
static ons_status *find_least(bounds *b) {
    const instance *in = b->in;
    double most = in->most_at_once;
    ONS_NEW(b->nodes, b->arena, in->node_count);
    for (uint32_t i = 0; i < in->node_count; ++i) {
        graph_node *n = &b->nodes[i];
        *n = in->nodes[i];
        if (in->nodes_at_once == NULL) continue;
        const graph_node *all = &in->nodes_at_once[i];
        n->forward = fmin(n->forward, all->forward / most);
        n->input_gradient = fmin(n->input_gradient, all->input_gradient / most);
        n->weight_gradient = fmin(n->weight_gradient, all->weight_gradient / most);
        n->update = fmin(n->update, all->update);
    }
    return NULL;
}

/* Nodes in an order in which they can run: passes over the tensors until nothing is left. */
static ons_status *find_order(bounds *b) {
    const instance *in = b->in;
    uint32_t count = 0, before;
    bool *placed;
    ONS_NEW(placed, b->arena, in->node_count);
    ONS_NEW(b->order, b->arena, in->node_count);
    do {
        bool *waits;
        before = count;
        ONS_NEW(waits, b->arena, in->node_count);
        for (uint32_t i = 0; i < in->tensor_count; ++i) {
            const graph_tensor *t = &in->tensors[i];
            bool there = t->producer == NOBODY || placed[t->producer];
            for (uint32_t k = 0; k < t->readers.count && !there; ++k) waits[t->readers.items[k]] = true;
        }
        for (uint32_t i = 0; i < in->node_count; ++i)
            if (!placed[i] && !waits[i]) b->order[count++] = i;
        for (uint32_t i = before; i < count; ++i) placed[b->order[i]] = true;
    } while (count > before);
    ONS_CHECK(count == in->node_count, ONS_INVALID_DATA, "nodes of the graph wait for each other in a circle");
    return NULL;
}

/* Of the first micro-batch that a stage takes: its own, with as many of the step's as is fastest. */
static double first_forward(const bounds *b, uint32_t node) {
    double one = b->in->nodes[node].forward;
    return b->in->nodes_at_once == NULL ? one : fmin(one, b->in->nodes_at_once[node].forward);
}
static double first_gradient(const bounds *b, uint32_t node) {
    double one = b->in->nodes[node].input_gradient;
    return b->in->nodes_at_once == NULL ? one : fmin(one, b->in->nodes_at_once[node].input_gradient);
}

static ons_status *find_chains(bounds *b) {
    const instance *in = b->in;
    ONS_NEW(b->head, b->arena, in->node_count);
    ONS_NEW(b->tail, b->arena, in->node_count);
    for (uint32_t i = 0; i < in->node_count; ++i) {
        uint32_t node = b->order[i];
        for (uint32_t k = 0; k < in->tensor_count; ++k) {
            const graph_tensor *t = &in->tensors[k];
            bool reads = false;
            for (uint32_t r = 0; r < t->readers.count; ++r) reads = reads || t->readers.items[r] == node;
            if (!reads || t->producer == NOBODY) continue;
            b->head[node] = fmax(b->head[node], b->head[t->producer]);
            if (t->gradient_bytes > 0) b->tail[node] = fmax(b->tail[node], b->tail[t->producer]);
        }
        b->head[node] += first_forward(b, node);
        b->tail[node] += first_gradient(b, node);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- bottleneck */

/* Whether every node reads what the one before it makes, and nothing else: then a stage is a stretch of the chain. */
static bool is_chain(const bounds *b) {
    const instance *in = b->in;
    for (uint32_t i = 0; i + 1 < in->node_count; ++i) {
        bool follows = false;
        for (uint32_t k = 0; k < in->tensor_count && !follows; ++k) {
            const graph_tensor *t = &in->tensors[k];
            for (uint32_t r = 0; r < t->readers.count && t->producer == b->order[i]; ++r)
                follows = follows || t->readers.items[r] == b->order[i + 1];
        }
        if (!follows) return false;
    }
    return true;
}

/* The fastest slowest of as many stretches as devices, without the cap and with free links: best[i], of the first i
 * nodes, for one stage more each time. */
static ons_status *split_chain(const bounds *b, double *value) {
    uint32_t n = b->in->node_count;
    double *best, *next, *sum;
    ONS_NEW(best, b->arena, (size_t)n + 1);
    ONS_NEW(next, b->arena, (size_t)n + 1);
    ONS_NEW(sum, b->arena, (size_t)n + 1);
    for (uint32_t i = 0; i < n; ++i) sum[i + 1] = sum[i] + seconds_of(&b->nodes[b->order[i]]);
    for (uint32_t i = 0; i <= n; ++i) best[i] = sum[i];
    for (uint32_t d = 1; d < b->in->devices; ++d) {
        for (uint32_t i = 0; i <= n; ++i) {
            next[i] = best[i];
            for (uint32_t k = 0; k < i; ++k) next[i] = fmin(next[i], fmax(best[k], sum[i] - sum[k]));
        }
        double *swap = best;
        best = next;
        next = swap;
    }
    *value = best[n];
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- bounds */

static void take(double candidate, const char *name, double *value, const char **from) {
    if (candidate <= *value) return;
    *value = candidate;
    *from = name;
}

ons_status *instance_bound(const instance *in, ons_arena *arena, double *value, const char **from) {
    bounds b = {.in = in, .arena = arena};
    double m = in->objective == STEP_SECONDS ? in->micro_batches : 1, work = 0, updates = 0, split;
    double copies = fmin(in->copies_of_a_stage, in->devices);
    *value = 0;
    *from = "nothing";
    ONS_TRY(find_order(&b));
    ONS_TRY(find_chains(&b));
    ONS_TRY(find_least(&b));
    for (uint32_t i = 0; i < in->node_count; ++i) {
        const graph_node *n = &b.nodes[i];
        work += seconds_of(n);
        updates += n->update;
        if (in->objective == BOTTLENECK_SECONDS) {
            take(seconds_of(n) / copies, "heaviest node", value, from);
            continue;
        }
        take(b.head[i] - first_forward(&b, i) + m * seconds_of(n) / copies + n->update, "heaviest node", value, from);
        take(b.head[i] + b.tail[i], "longest chain of one micro-batch", value, from);
    }
    if (in->objective == STEP_SECONDS) {
        take((m * work + updates) / in->devices, "all devices always busy", value, from);
        return NULL;
    }
    take(work / in->devices, "all devices equally busy", value, from);
    if (in->stages_of_a_device != 1 || copies > 1 || !is_chain(&b)) return NULL;
    ONS_TRY(split_chain(&b, &split));
    take(split, "best split of the chain", value, from);
    return NULL;
}
