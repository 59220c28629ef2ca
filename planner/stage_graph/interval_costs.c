#include "planner/stage_graph/interval_costs.h"

#include <math.h>
#include <stdlib.h>

#include "planner/partition/link.h"
#include "planner/partition/reduce.h"
#include "planner/workload/order.h"

enum { MOST_SIZES = 31, FIRST_ENTRIES = 1 << 12 };

/* An interval with 2^size samples on each replica. */
typedef struct entry {
    uint64_t key;             /* 0: free */
    int64_t bytes, saved;     /* of a device with one micro-batch in flight, and what each further one adds */
    int64_t sent, taken;      /* over the device's link, each way, for a micro-batch */
    int64_t weight_gradients; /* bytes that replicas add up in a step */
} entry;

struct ons_interval_costs {
    const ons_graph_problem *problem;
    ons_arena *arena;
    const ons_workload *work[MOST_SIZES]; /* in the intervals' order; NULL: not made yet */
    const uint32_t *order;
    uint32_t *joint; /* [position]: joint nodes before it; NULL: there are none */
    entry *entries;
    uint32_t capacity, count; /* a power of two */
};

static bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

static ons_status *check(const ons_graph_problem *p) {
    ONS_CHECK(p->devices > 0 && p->batch > 0 && p->batch <= INT32_MAX, ONS_INVALID_ARGUMENT,
              "a step of %lld samples on %u devices: there must be one of each at least", (long long)p->batch,
              p->devices);
    ONS_CHECK(p->sizes > 0 && p->sizes <= MOST_SIZES, ONS_INVALID_ARGUMENT, "%u sizes of micro-batches", p->sizes);
    for (uint32_t i = 0; i < p->sizes; ++i)
        ONS_CHECK(p->work[i]->samples == (int64_t)1 << i && p->work[i]->node_count == p->work[0]->node_count,
                  ONS_INVALID_ARGUMENT, "the workload of %lld samples is of %lld, or of other nodes", (long long)1 << i,
                  (long long)p->work[i]->samples);
    return NULL;
}

static ons_status *count_joint(ons_interval_costs *c) {
    uint32_t nodes = c->problem->work[0]->node_count;
    if (c->problem->joint == NULL) return NULL;
    ONS_NEW(c->joint, c->arena, (size_t)nodes + 1);
    for (uint32_t i = 0; i < nodes; ++i) c->joint[i + 1] = c->joint[i] + c->problem->joint[c->order[i]];
    return NULL;
}

ons_status *ons_interval_costs_new(const ons_graph_problem *problem, const uint32_t *order,
                                   ons_interval_costs **costs) {
    *costs = NULL;
    ONS_TRY(check(problem));
    ons_interval_costs *c = calloc(1, sizeof *c);
    if (c == NULL) return ons_status_out_of_memory();
    *c = (ons_interval_costs){
        problem, ons_arena_new(), {NULL}, order, NULL, calloc(FIRST_ENTRIES, sizeof(entry)), FIRST_ENTRIES, 0};
    ons_status *status = c->arena == NULL || c->entries == NULL ? ons_status_out_of_memory() : count_joint(c);
    for (uint32_t i = 0; i < problem->sizes && status == NULL; ++i) {
        ons_workload *work = ons_arena_allocate(c->arena, 1, sizeof *work);
        status = work == NULL ? ons_status_out_of_memory() : ons_work_reorder(problem->work[i], order, c->arena, work);
        c->work[i] = work;
    }
    if (status == NULL)
        *costs = c;
    else
        ons_interval_costs_free(c);
    return status;
}

void ons_interval_costs_free(ons_interval_costs *c) {
    if (c == NULL) return;
    ons_arena_free(c->arena);
    free(c->entries);
    free(c);
}

const ons_graph_problem *ons_interval_costs_problem(const ons_interval_costs *c) { return c->problem; }
const ons_workload *ons_interval_costs_work(const ons_interval_costs *c, uint32_t size) { return c->work[size]; }

static bool is_joint(const ons_interval_costs *c, const ons_interval_way *way) {
    return c->joint != NULL && c->joint[way->end] > c->joint[way->first];
}

/* The number of the workload that a replica runs; `sizes` where there is none. */
static uint32_t size_of(const ons_interval_costs *c, const ons_interval_way *way) {
    uint32_t all = 63u - (uint32_t)__builtin_clzll((uint64_t)way->samples);
    uint32_t most = c->problem->most_replicas;
    if (is_joint(c, way) && (way->samples != c->problem->batch || way->doubled > 0)) return c->problem->sizes;
    if (all < way->doubled || all - way->doubled >= c->problem->sizes) return c->problem->sizes;
    return most != 0 && (uint64_t)1 << way->doubled > most ? c->problem->sizes : all - way->doubled;
}

/* ---------------------------------------------------------------------------------------------------------- entries */

/* Tests whether an ascending list has an item in [first, end). */
static bool is_within(const uint32_t *list, uint32_t count, uint32_t first, uint32_t end) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle] < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && list[low] < end;
}

static bool is_used(const ons_work_tensor *t, uint32_t first, uint32_t end) {
    return is_within(t->readers, t->reader_count, first, end) || is_within(t->savers, t->saver_count, first, end);
}

/* Values that the stage takes and makes; `arriving`: what may lie there ahead of its use. */
static void find_messages(const ons_workload *work, uint32_t first, uint32_t end, entry *e, int64_t *arriving) {
    ons_work_list in = ons_work_crossing(work, first), out = ons_work_crossing(work, end);
    *arriving = 0;
    for (uint32_t i = 0; i < in.count; ++i) {
        const ons_work_tensor *t = &work->tensors[in.items[i]];
        if (!is_used(t, first, end)) continue;
        e->taken += t->bytes;
        e->sent += t->gradient_bytes;
        *arriving += t->bytes;
    }
    for (uint32_t i = 0; i < out.count; ++i) {
        const ons_work_tensor *t = &work->tensors[out.items[i]];
        if (t->producer < first) continue;
        e->sent += t->bytes;
        e->taken += t->gradient_bytes;
        *arriving += t->gradient_bytes;
    }
}

/* Memory grows by the same bytes with each micro-batch in flight, so that two of them tell all. The workload knows of
 * no branches and counts what crosses the cuts as a line would have it; what really comes to the stage is counted in
 * its place. */
static void fill(const ons_workload *work, uint32_t first, uint32_t end, entry *e) {
    ons_stage_load load = {.in_flight = 1, .versions = 1, .accumulates = true};
    ons_stage_memory one, two;
    int64_t arriving;
    ons_work_stage_memory(work, first, end, &load, &one);
    load.in_flight = 2;
    ons_work_stage_memory(work, first, end, &load, &two);
    find_messages(work, first, end, e, &arriving);
    e->bytes = one.total - one.transfers + arriving;
    e->saved = two.total - one.total;
    e->weight_gradients = one.gradients;
}

static uint64_t mix(uint64_t key) {
    key *= 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

static entry *slot_of(entry *entries, uint32_t capacity, uint64_t key) {
    uint64_t at = mix(key);
    while (entries[at & (capacity - 1)].key != 0 && entries[at & (capacity - 1)].key != key) ++at;
    return &entries[at & (capacity - 1)];
}

static bool grow(ons_interval_costs *c) {
    entry *larger = calloc((size_t)c->capacity * 2, sizeof *larger);
    if (larger == NULL) return false;
    for (uint32_t i = 0; i < c->capacity; ++i)
        if (c->entries[i].key != 0) *slot_of(larger, c->capacity * 2, c->entries[i].key) = c->entries[i];
    free(c->entries);
    c->entries = larger;
    c->capacity *= 2;
    return true;
}

/* NULL where memory is short. It stays where it is until the next one is asked for. */
static const entry *find(ons_interval_costs *c, const ons_interval_way *way, uint32_t size) {
    uint64_t key = ((uint64_t)way->first << 36 | (uint64_t)way->end << 12 | size << 4) + 1;
    entry *e = slot_of(c->entries, c->capacity, key);
    if (e->key == key) return e;
    if (c->count >= c->capacity / 2) {
        if (!grow(c)) return NULL;
        e = slot_of(c->entries, c->capacity, key);
    }
    *e = (entry){.key = key};
    fill(c->work[size], way->first, way->end, e);
    ++c->count;
    return e;
}

/* ------------------------------------------------------------------------------------------------------------ costs */

double ons_interval_computing(const ons_interval_costs *c, const ons_interval_way *way) {
    uint32_t size = size_of(c, way);
    if (size == c->problem->sizes) return INFINITY;
    return ons_work_seconds(c->work[size], way->first, way->end) / (double)way->samples;
}

/* Gives what is left of the sum over replicas when the backward part, beside which it runs, is over. */
static double reduce_seconds(const ons_interval_costs *c, const ons_interval_way *way, uint32_t size, const entry *e) {
    double backward = ons_work_backward_seconds(c->work[size], way->first, way->end);
    return ons_reduce_bytes_seconds(c->problem->hardware, e->weight_gradients, backward, 1u << way->doubled);
}

double ons_interval_seconds(ons_interval_costs *c, const ons_interval_way *way) {
    uint32_t size = size_of(c, way);
    const entry *e = size == c->problem->sizes ? NULL : find(c, way, size);
    if (e == NULL) return INFINITY;
    const ons_planning_problem *hardware = c->problem->hardware;
    int64_t message = e->sent > e->taken ? e->sent : e->taken;
    double messages = message > 0 ? ons_link_seconds(ons_link_in_node(hardware), message) : 0;
    double part = fmax(ons_work_seconds(c->work[size], way->first, way->end), messages);
    double once = reduce_seconds(c, way, size, e) + ons_work_update_seconds(c->work[size], way->first, way->end);
    return part / (double)way->samples + once / (double)c->problem->batch;
}

int64_t ons_interval_bytes(ons_interval_costs *c, const ons_interval_way *way, int64_t in_flight) {
    uint32_t size = size_of(c, way);
    const entry *e = size == c->problem->sizes ? NULL : find(c, way, size);
    if (e == NULL) return INT64_MAX;
    int64_t micro_batches = in_flight / way->samples;
    return e->bytes + (micro_batches > 1 ? (micro_batches - 1) * e->saved : 0);
}

ons_interval_parts ons_interval_parts_of(ons_interval_costs *c, const ons_interval_way *way) {
    uint32_t size = size_of(c, way);
    const entry *e = size == c->problem->sizes ? NULL : find(c, way, size);
    if (e == NULL) return (ons_interval_parts){INFINITY, INFINITY, INFINITY, INFINITY};
    return (ons_interval_parts){.forward = ons_work_forward_seconds(c->work[size], way->first, way->end),
                                .backward = ons_work_backward_seconds(c->work[size], way->first, way->end),
                                .reduce = reduce_seconds(c, way, size, e),
                                .update = ons_work_update_seconds(c->work[size], way->first, way->end)};
}

/* -------------------------------------------------------------------------------------------------------- of a plan */

static uint32_t logarithm(uint32_t power) { return 31u - (uint32_t)__builtin_clz(power); }

static ons_interval_way way_of(const ons_graph_stage *s) {
    return (ons_interval_way){s->first, s->end, s->pace.samples, logarithm(s->replicas)};
}

/* Counts the values that the sender made and the receiver uses. What goes forth is of the sender's micro-batch, and
 * gradients are of the receiver's. */
static void predict_edge(const ons_stage_graph *g, const ons_interval_costs *c, ons_graph_edge *e) {
    const ons_graph_stage *from = &g->stages[e->from], *to = &g->stages[e->to];
    const ons_interval_way forth = way_of(from), back = way_of(to);
    const ons_workload *sent = c->work[size_of(c, &forth)], *returned = c->work[size_of(c, &back)];
    ons_work_list out = ons_work_crossing(sent, from->end);
    e->bytes = e->gradient_bytes = 0;
    for (uint32_t i = 0; i < out.count; ++i) {
        const ons_work_tensor *t = &sent->tensors[out.items[i]];
        if (t->producer < from->first || !is_used(t, to->first, to->end)) continue;
        e->bytes += t->bytes;
        e->gradient_bytes += returned->tensors[out.items[i]].gradient_bytes;
    }
}

ons_status *ons_stage_graph_predict(ons_stage_graph *g, ons_interval_costs *c) {
    ons_stage_graph_set_in_flight(g);
    g->seconds_per_sample = 0;
    g->memory_bytes = 0;
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        ons_graph_stage *s = &g->stages[i];
        const ons_interval_way way = way_of(s);
        ONS_CHECK(s->replicas > 0 && (s->replicas & (s->replicas - 1)) == 0 && is_power_of_two(s->pace.samples) &&
                      size_of(c, &way) < c->problem->sizes,
                  ONS_INVALID_ARGUMENT, "stage %u: %u replicas cannot share micro-batches of %lld samples", i,
                  s->replicas, (long long)s->pace.samples);
        s->seconds_per_sample = ons_interval_seconds(c, &way);
        s->memory_bytes = ons_interval_bytes(c, &way, s->in_flight);
        g->seconds_per_sample = fmax(g->seconds_per_sample, s->seconds_per_sample);
        if (s->memory_bytes > g->memory_bytes) g->memory_bytes = s->memory_bytes;
    }
    for (uint32_t i = 0; i < g->edge_count; ++i) predict_edge(g, c, &g->edges[i]);
    return NULL;
}
