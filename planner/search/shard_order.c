#include "planner/search/shard_order.h"

#include <string.h>

#include "planner/workload/order.h"

/* Ranks of parts, in the order in which they stand: early ones by device, body, late ones by device, tail. */
typedef struct dividing {
    const ons_workload *work;
    const ons_node_shards *shards;
    uint32_t devices;
    ons_work_edges back; /* from readers to producers */
    uint32_t *leader;    /* [node]: nodes of a device's shards that hang together lead to the same one */
    bool *prepares;      /* [node]: it makes what tables are read by, of the data alone, as a cast of the words does */
    bool *late;          /* [leader] */
    uint32_t *rank;      /* [node]: of the part that it is in */
} dividing;

static bool is_sharded(const dividing *d, uint32_t node) { return d->shards->of[node] != ONS_NO_SHARD; }

static uint32_t device_of(const dividing *d, uint32_t node) {
    return (uint32_t)((uint64_t)d->shards->of[node] * d->devices / d->shards->count);
}

static uint32_t body_rank(const dividing *d) { return d->devices; }
static uint32_t tail_rank(const dividing *d) { return 2 * d->devices + 1; }

/* Finds the leader, and shortens the way to it for the next call (path halving). */
static uint32_t leader_of(const dividing *d, uint32_t node) {
    while (d->leader[node] != node) node = d->leader[node] = d->leader[d->leader[node]];
    return node;
}

static ons_status *check_shards(const dividing *d) {
    ONS_CHECK(
        d->shards->count > 0 && d->shards->count % d->devices == 0, ONS_INVALID_ARGUMENT,
        "%u shards of a vocabulary cannot be shared evenly by %u devices; take --vocabulary-shards %u, or another "
        "multiple of them",
        d->shards->count, d->devices, d->devices);
    for (uint32_t i = 0; i < d->work->node_count; ++i)
        ONS_CHECK(!is_sharded(d, i) || d->shards->of[i] < d->shards->count, ONS_INVALID_ARGUMENT,
                  "node '%s' is of shard %u, and there are %u", d->work->nodes[i].name, d->shards->of[i],
                  d->shards->count);
    return NULL;
}

/* Of the shards of a device, nodes that read each other's results are early or late together: what only prepares a late
 * node, as the transposed weight of a head does, would else be a stage in front of the body. */
static void join(dividing *d) {
    for (uint32_t i = 0; i < d->work->node_count; ++i) d->leader[i] = i;
    for (uint32_t i = 0; i < d->work->node_count; ++i)
        for (uint32_t k = d->back.begin[i]; k < d->back.begin[i + 1]; ++k) {
            uint32_t producer = d->back.next[k];
            if (!is_sharded(d, i) || !is_sharded(d, producer) || device_of(d, i) != device_of(d, producer)) continue;
            d->leader[leader_of(d, i)] = leader_of(d, producer);
        }
}

static bool has_backward(const ons_work_node *node) {
    return node->input_gradient_seconds > 0 || node->weight_gradient_seconds > 0;
}

/* Nodes without weights and gradients that need the data alone, or other such nodes, and lead to a shard. */
static void find_preparing(dividing *d, bool *weighs) {
    const ons_workload *work = d->work;
    for (uint32_t i = 0; i < work->weight_count; ++i)
        for (uint32_t k = 0; k < work->weights[i].user_count; ++k) weighs[work->weights[i].users[k]] = true;
    for (uint32_t i = 0; i < work->node_count; ++i) {
        d->prepares[i] = !is_sharded(d, i) && !weighs[i] && !has_backward(&work->nodes[i]);
        for (uint32_t k = d->back.begin[i]; k < d->back.begin[i + 1]; ++k)
            d->prepares[i] &= d->prepares[d->back.next[k]];
    }
    bool *leads = weighs; /* anew */
    memset(leads, 0, work->node_count * sizeof *leads);
    for (uint32_t i = work->node_count; i-- > 0;) {
        for (uint32_t k = d->back.begin[i]; k < d->back.begin[i + 1]; ++k)
            leads[d->back.next[k]] |= is_sharded(d, i) || leads[i];
        d->prepares[i] &= leads[i];
    }
}

/* What needs anything that is no shard's, but for what prepares the data. */
static void find_late(dividing *d, bool *behind_body) {
    for (uint32_t i = 0; i < d->work->node_count; ++i) {
        for (uint32_t k = d->back.begin[i]; k < d->back.begin[i + 1]; ++k) {
            uint32_t producer = d->back.next[k];
            behind_body[i] |= (!is_sharded(d, producer) && !d->prepares[producer]) || behind_body[producer];
        }
        if (is_sharded(d, i)) d->late[leader_of(d, i)] |= behind_body[i];
    }
}

/* Gives each node the part that it is in. What needs a late shard, directly or by other nodes, spreads along the edges:
 * of nodes that are no shard's it makes the tail. What shows a result goes with the node that makes it. */
static void find_ranks(dividing *d, bool *behind_late) {
    for (uint32_t i = 0; i < d->work->node_count; ++i) {
        for (uint32_t k = d->back.begin[i]; k < d->back.begin[i + 1]; ++k) {
            uint32_t producer = d->back.next[k];
            bool late = is_sharded(d, producer) && d->late[leader_of(d, producer)];
            behind_late[i] |= late || behind_late[producer];
        }
        if (d->prepares[i])
            d->rank[i] = 0; /* with what the first device does before the body */
        else if (!is_sharded(d, i))
            d->rank[i] = behind_late[i] ? tail_rank(d) : body_rank(d);
        else
            d->rank[i] = device_of(d, i) + (d->late[leader_of(d, i)] ? d->devices + 1 : 0);
        d->rank[i] = d->rank[ons_shown_by(d->shards, i)];
    }
}

static const char *name_part(const dividing *d, uint32_t node) {
    if (d->rank[node] < body_rank(d)) return "what shards do before the body";
    if (d->rank[node] == body_rank(d)) return "the body";
    return d->rank[node] < tail_rank(d) ? "what shards do behind the body" : "what joins the shards";
}

/* Messages go to later stages alone. A node that reads a result of a part behind its own would need one that goes back.
 */
static ons_status *check_directions(const dividing *d) {
    for (uint32_t i = 0; i < d->work->node_count; ++i)
        for (uint32_t k = d->back.begin[i]; k < d->back.begin[i + 1]; ++k) {
            uint32_t producer = d->back.next[k];
            ONS_CHECK(d->rank[producer] <= d->rank[i], ONS_UNSUPPORTED,
                      "node '%s' (%s) reads what '%s' makes (%s), so that stages would wait for each other; train "
                      "without --vocabulary-shards",
                      d->work->nodes[i].name, name_part(d, i), d->work->nodes[producer].name, name_part(d, producer));
        }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- the order */

static void add_part(ons_shard_part *parts, uint32_t *count, uint32_t first, uint32_t end, uint32_t device) {
    if (first < end) parts[(*count)++] = (ons_shard_part){first, end, device};
}

/* Each node, and behind it what shows its result. */
static ons_status *place(const dividing *d, uint32_t *next, ons_arena *scratch, uint32_t *node_at) {
    uint32_t *first, *following, nodes = d->work->node_count;
    ONS_NEW(first, scratch, nodes);
    ONS_NEW(following, scratch, nodes);
    for (uint32_t i = nodes; i-- > 0;) {
        uint32_t shown = ons_shown_by(d->shards, i);
        if (shown == i) continue;
        following[i] = first[shown];
        first[shown] = i;
    }
    for (uint32_t i = 0; i < nodes; ++i) {
        if (ons_shown_by(d->shards, i) != i) continue;
        node_at[next[d->rank[i]]++] = i;
        for (uint32_t k = first[i]; k != 0; k = following[k]) node_at[next[d->rank[k]]++] = k; /* 0 shows nothing */
    }
    return NULL;
}

/* Of the body, those that a stage may begin with. */
static uint32_t count_beginnings(const dividing *d) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < d->work->node_count; ++i)
        count += d->rank[i] == body_rank(d) && ons_shown_by(d->shards, i) == i;
    return count;
}

/* Sorts the nodes by rank, and within a rank keeps the file's order: a stable sort keeps each part in a legal order. */
static ons_status *put_in_order(const dividing *d, ons_arena *scratch, ons_arena *arena, ons_shard_order *o) {
    uint32_t *begin, *next, ranks = tail_rank(d) + 1, nodes = d->work->node_count;
    ONS_NEW(begin, arena, (size_t)ranks + 1);
    ONS_NEW(next, arena, (size_t)ranks + 1);
    ONS_NEW(o->node_at, arena, nodes);
    ONS_NEW(o->early, arena, d->devices);
    ONS_NEW(o->late, arena, (size_t)d->devices + 1);
    for (uint32_t i = 0; i < nodes; ++i) ++begin[d->rank[i] + 1];
    for (uint32_t i = 0; i < ranks; ++i) next[i + 1] = begin[i + 1] += begin[i];
    ONS_TRY(place(d, next, scratch, o->node_at));
    o->devices = d->devices;
    o->body_first = begin[body_rank(d)];
    o->body_end = begin[body_rank(d) + 1];
    for (uint32_t i = 0; i < d->devices; ++i) {
        uint32_t late = body_rank(d) + 1 + i;
        add_part(o->early, &o->early_count, begin[i], begin[i + 1], i);
        add_part(o->late, &o->late_count, begin[late], begin[late + 1], i);
    }
    add_part(o->late, &o->late_count, begin[tail_rank(d)], begin[tail_rank(d) + 1], d->devices - 1);
    uint32_t beginnings = count_beginnings(d);
    ONS_CHECK(beginnings >= d->devices, ONS_INVALID_ARGUMENT,
              "beside its shards the model has %u nodes, too few for %u stages; take fewer --stages", beginnings,
              d->devices);
    return NULL;
}

static ons_status *divide(dividing *d, ons_arena *scratch, ons_arena *arena, ons_shard_order *order) {
    bool *behind_body, *behind_late, *weighs;
    uint32_t nodes = d->work->node_count;
    ONS_TRY(ons_work_edges_make(d->work, false, scratch, &d->back));
    ONS_NEW(behind_body, scratch, nodes);
    ONS_NEW(behind_late, scratch, nodes);
    ONS_NEW(weighs, scratch, nodes);
    ONS_NEW(d->prepares, scratch, nodes);
    ONS_NEW(d->leader, scratch, nodes);
    ONS_NEW(d->late, scratch, nodes);
    ONS_NEW(d->rank, scratch, nodes);
    join(d);
    find_preparing(d, weighs);
    find_late(d, behind_body);
    find_ranks(d, behind_late);
    ONS_TRY(check_directions(d));
    return put_in_order(d, scratch, arena, order);
}

ons_status *ons_shard_order_make(const ons_planning_problem *problem, ons_arena *arena, ons_shard_order *order) {
    dividing d = {.work = problem->work, .shards = problem->shards, .devices = problem->pipeline.stages};
    *order = (ons_shard_order){0};
    ONS_TRY(check_shards(&d));
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = divide(&d, scratch, arena, order);
    ons_arena_free(scratch);
    return status;
}
