#include "planner/stage_graph/series_parallel.h"

#include <math.h>
#include <stdlib.h>

#include "planner/workload/order.h"

/* The nodes of the part that is looked at stand together in `nodes`; parts of it are stretches of that. */
typedef struct decomposer {
    const ons_workload *work;
    ons_arrangement arrangement;
    ons_arena *arena;
    ons_work_edges readers;
    uint64_t *before; /* [node · words …]: the nodes that precede it, a bit each */
    size_t words;
    uint64_t *members;   /* the part's nodes, a bit each */
    uint32_t *nodes;     /* of the part, in a legal order */
    uint32_t *sorted;    /* scratch */
    uint32_t *rank;      /* [node]: nodes of the part that precede it */
    uint32_t *component; /* [node] */
    double *seconds;     /* [node] */
    ons_series_parallel *result;
    uint32_t placed; /* positions given away */
} decomposer;

static const uint64_t *row_of(const decomposer *d, uint32_t node) { return d->before + node * d->words; }
static bool has(const uint64_t *bits, uint32_t node) { return (bits[node / 64] >> (node % 64)) & 1; }
static void set(uint64_t *bits, uint32_t node) { bits[node / 64] |= (uint64_t)1 << (node % 64); }

/* Nodes stand in a legal order, so whoever precedes a node is known when its readers are told: one pass over the edges,
 * O(edges · nodes / 64) time and nodes² bits. */
static ons_status *find_before(decomposer *d) {
    uint32_t count = d->work->node_count;
    d->words = ((size_t)count + 63) / 64;
    ONS_NEW(d->before, d->arena, d->words * count);
    for (uint32_t node = 0; node < count; ++node)
        for (uint32_t i = d->readers.begin[node]; i < d->readers.begin[node + 1]; ++i) {
            uint64_t *to = d->before + d->readers.next[i] * d->words;
            for (size_t w = 0; w < d->words; ++w) to[w] |= row_of(d, node)[w];
            set(to, node);
        }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ parts */

typedef struct parts {
    uint32_t *items, count;
} parts;

static ons_status *parts_new(decomposer *d, uint32_t most, parts *p) {
    p->count = 0;
    ONS_NEW(p->items, d->arena, most);
    return NULL;
}

static uint32_t add_part(decomposer *d, ons_composition kind, uint32_t first, const parts *children) {
    ons_composed *part = &d->result->parts[d->result->part_count];
    *part = (ons_composed){.kind = kind, .first = first, .end = d->placed};
    if (children != NULL) {
        part->children = children->items;
        part->child_count = children->count;
    }
    return d->result->part_count++;
}

static ons_status *decompose(decomposer *d, uint32_t from, uint32_t end, uint32_t *part);

/* --------------------------------------------------------------------------------------------------------- branches */

static uint32_t find_root(uint32_t *component, uint32_t node) {
    while (component[node] != node) node = component[node] = component[component[node]];
    return node;
}

/* Nodes that edges connect get the same component; gives how many there are. */
static uint32_t connect(decomposer *d, uint32_t from, uint32_t end) {
    uint32_t count = end - from;
    for (uint32_t i = from; i < end; ++i) {
        d->component[d->nodes[i]] = d->nodes[i];
        d->members[d->nodes[i] / 64] = 0;
    }
    for (uint32_t i = from; i < end; ++i) set(d->members, d->nodes[i]);
    for (uint32_t i = from; i < end; ++i)
        for (uint32_t e = d->readers.begin[d->nodes[i]]; e < d->readers.begin[d->nodes[i] + 1]; ++e) {
            uint32_t reader = d->readers.next[e];
            if (!has(d->members, reader)) continue;
            uint32_t a = find_root(d->component, d->nodes[i]), b = find_root(d->component, reader);
            if (a == b) continue;
            d->component[a] = b;
            --count;
        }
    for (uint32_t i = from; i < end; ++i) d->members[d->nodes[i] / 64] = 0;
    return count;
}

typedef struct branch {
    uint32_t root, first, count, begin;
    double seconds;
} branch;

static int by_seconds(const void *a, const void *b) {
    const branch *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return x->first < y->first ? -1 : 1;
}

static int by_beginning(const void *a, const void *b) {
    const branch *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Sorts the nodes by branch, keeping their order within each. Branches stand from the longest to the shortest; in the
 * mixed arrangement long and short ones alternate, so that neighbours, which may be one stage, add up to about the
 * same. `branches`: room for `count`. */
static void gather(decomposer *d, uint32_t from, uint32_t end, branch *branches) {
    uint32_t count = 0;
    for (uint32_t i = from; i < end; ++i) {
        uint32_t root = find_root(d->component, d->nodes[i]);
        if (d->rank[root] == UINT32_MAX) {
            branches[count] = (branch){.root = root, .first = i};
            d->rank[root] = count++;
        }
        branch *b = &branches[d->rank[root]];
        ++b->count;
        b->seconds += d->seconds[d->nodes[i]];
    }
    for (uint32_t i = 0; i < count; ++i) d->rank[branches[i].root] = UINT32_MAX;
    qsort(branches, count, sizeof *branches, by_seconds);
    bool mixed = d->arrangement == ONS_ARRANGED_MIXED && branches[0].seconds != branches[count - 1].seconds;
    for (uint32_t i = 0, at = from; i < count; ++i) {
        uint32_t which = !mixed ? i : i % 2 == 0 ? i / 2 : count - 1 - i / 2;
        d->rank[branches[which].root] = which;
        branches[which].begin = at;
        at += branches[which].count;
        branches[which].count = 0;
    }
    for (uint32_t i = from; i < end; ++i) {
        branch *b = &branches[d->rank[find_root(d->component, d->nodes[i])]];
        d->sorted[b->begin + b->count++] = d->nodes[i];
    }
    for (uint32_t i = from; i < end; ++i) d->nodes[i] = d->sorted[i];
}

static ons_status *make_branches(decomposer *d, uint32_t from, uint32_t end, uint32_t count, uint32_t *part) {
    branch *branches;
    parts children;
    uint32_t first = d->placed;
    ONS_NEW(branches, d->arena, count);
    ONS_TRY(parts_new(d, count, &children));
    for (uint32_t i = from; i < end; ++i) d->rank[d->nodes[i]] = UINT32_MAX;
    gather(d, from, end, branches);
    qsort(branches, count, sizeof *branches, by_beginning);
    for (uint32_t i = 0; i < count; ++i)
        ONS_TRY(
            decompose(d, branches[i].begin, branches[i].begin + branches[i].count, &children.items[children.count++]));
    *part = add_part(d, ONS_COMPOSED_BRANCHES, first, &children);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- rows */

static uint32_t count_before(const decomposer *d, uint32_t node) {
    uint32_t count = 0;
    for (size_t w = 0; w < d->words; ++w) count += (uint32_t)__builtin_popcountll(row_of(d, node)[w] & d->members[w]);
    return count;
}

/* Sorts the nodes by how many of the part precede each, which is a legal order. */
static void rank(decomposer *d, uint32_t from, uint32_t end) {
    uint32_t count = end - from, *begin = d->component; /* free here */
    for (uint32_t i = from; i < end; ++i) set(d->members, d->nodes[i]);
    for (uint32_t i = from; i < end; ++i) d->rank[d->nodes[i]] = count_before(d, d->nodes[i]);
    for (uint32_t i = from; i < end; ++i) d->members[d->nodes[i] / 64] = 0;
    for (uint32_t i = 0; i < count; ++i) begin[i] = 0;
    for (uint32_t i = from; i < end; ++i) ++begin[d->rank[d->nodes[i]]];
    for (uint32_t i = 0, before = 0; i < count; ++i) {
        uint32_t here = begin[i];
        begin[i] = before;
        before += here;
    }
    for (uint32_t i = from; i < end; ++i) d->sorted[from + begin[d->rank[d->nodes[i]]]++] = d->nodes[i];
    for (uint32_t i = from; i < end; ++i) d->nodes[i] = d->sorted[i];
}

/* Every node from `cut` on is preceded by all in front of it: the nodes in front are preceded by none of the others, so
 * that a node which as many precede as stand in front, and which is among the first from `cut` on, has them all. */
static bool is_row_cut(const decomposer *d, uint32_t from, uint32_t cut) {
    return d->rank[d->nodes[cut]] >= cut - from;
}

/* Puts the children of a row into the row that it is part of. */
static void take_up(const decomposer *d, uint32_t part, parts *row) {
    const ons_composed *p = &d->result->parts[part];
    if (p->kind != ONS_COMPOSED_ROW) {
        row->items[row->count++] = part;
        return;
    }
    for (uint32_t i = 0; i < p->child_count; ++i) row->items[row->count++] = p->children[i];
}

/* ------------------------------------------------------------------------------------------------------- conversion */

/* Seconds of the nodes of [from, end) in `nodes` that neither precede the node nor are preceded by it. */
static double beside(const decomposer *d, uint32_t node, uint32_t from, uint32_t end, uint64_t *pairs) {
    double seconds = 0;
    for (uint32_t i = from; i < end; ++i) {
        uint32_t other = d->nodes[i];
        if (other == node || has(row_of(d, node), other) || has(row_of(d, other), node)) continue;
        seconds += d->seconds[other];
        ++*pairs;
    }
    return seconds;
}

/* Of the beginnings of the part in its order, the one that loses least: pairs of nodes that could have run beside each
 * other, by their seconds, for what the cut divides. */
static uint32_t find_conversion(decomposer *d, uint32_t from, uint32_t end, uint64_t *lost_pairs) {
    double all = 0, front = 0, lost = 0, least = INFINITY;
    uint64_t pairs = 0;
    uint32_t best = from + 1;
    for (uint32_t i = from; i < end; ++i) all += d->seconds[d->nodes[i]];
    for (uint32_t cut = from + 1; cut < end; ++cut) {
        uint32_t node = d->nodes[cut - 1];
        uint64_t won = 0, given = 0;
        lost += d->seconds[node] * (beside(d, node, cut, end, &given) - beside(d, node, from, cut - 1, &won));
        pairs += given - won;
        front += d->seconds[node];
        double share = lost / (front * (all - front));
        if (!(share < least)) continue;
        least = share;
        best = cut;
        *lost_pairs = pairs;
    }
    return best;
}

/* Cuts the nodes wherever a row can be cut. Where it cannot, it is converted: cut once, where least freedom is lost. A
 * child may be a row itself, and its children are then taken up, since rows in rows say nothing. */
static ons_status *make_row(decomposer *d, uint32_t from, uint32_t end, uint32_t *part) {
    parts row;
    uint32_t first = d->placed, cut = from, begin = from, child, *cuts, cut_count = 0;
    ONS_TRY(parts_new(d, end - from, &row));
    ONS_NEW(cuts, d->arena, (size_t)(end - from) + 1);
    rank(d, from, end);
    while (++cut < end)
        if (is_row_cut(d, from, cut)) cuts[cut_count++] = cut;
    if (cut_count == 0) {
        uint64_t pairs = 0;
        cuts[cut_count++] = find_conversion(d, from, end, &pairs);
        d->result->converted += pairs;
    }
    cuts[cut_count++] = end;
    for (uint32_t i = 0; i < cut_count; begin = cuts[i++]) {
        ONS_TRY(decompose(d, begin, cuts[i], &child));
        take_up(d, child, &row);
    }
    *part = add_part(d, ONS_COMPOSED_ROW, first, &row);
    return NULL;
}

static ons_status *decompose(decomposer *d, uint32_t from, uint32_t end, uint32_t *part) {
    if (end - from == 1) {
        uint32_t first = d->placed;
        d->result->order[d->placed++] = d->nodes[from];
        *part = add_part(d, ONS_COMPOSED_NODE, first, NULL);
        return NULL;
    }
    uint32_t count = connect(d, from, end);
    return count > 1 ? make_branches(d, from, end, count, part) : make_row(d, from, end, part);
}

/* -------------------------------------------------------------------------------------------------------- the whole */

static ons_status *allocate(decomposer *d) {
    size_t count = d->work->node_count;
    ONS_NEW(d->members, d->arena, (count + 63) / 64);
    ONS_NEW(d->nodes, d->arena, count);
    ONS_NEW(d->sorted, d->arena, count);
    ONS_NEW(d->rank, d->arena, count);
    ONS_NEW(d->component, d->arena, count + 1);
    ONS_NEW(d->seconds, d->arena, count);
    return NULL;
}

static ons_status *result_new(const ons_workload *work, ons_arena *arena, ons_series_parallel *result) {
    *result = (ons_series_parallel){0};
    ONS_CHECK(work->node_count < UINT16_MAX, ONS_UNSUPPORTED,
              "a graph of %u nodes: stages are searched in graphs of fewer than %u", work->node_count, UINT16_MAX);
    ONS_NEW(result->order, arena, work->node_count);
    ONS_NEW(result->parts, arena, 2 * (size_t)work->node_count + 1);
    return NULL;
}

/* The whole graph is a row, if only of one part, so that a search begins everywhere alike. */
static ons_status *wrap(ons_arena *arena, ons_series_parallel *result) {
    uint32_t *only, last = result->part_count - 1;
    const ons_composed *whole = &result->parts[last];
    if (whole->kind == ONS_COMPOSED_ROW) return NULL;
    ONS_NEW(only, arena, 1);
    *only = last;
    result->parts[result->part_count++] = (ons_composed){ONS_COMPOSED_ROW, whole->first, whole->end, only, 1};
    return NULL;
}

ons_status *ons_series_parallel_make(const ons_workload *work, ons_arrangement arrangement, ons_arena *arena,
                                     ons_series_parallel *result) {
    decomposer d = {.work = work, .arrangement = arrangement, .arena = arena, .result = result};
    uint32_t whole;
    ONS_TRY(result_new(work, arena, result));
    ONS_TRY(ons_work_edges_make(work, true, arena, &d.readers));
    ONS_TRY(allocate(&d));
    ONS_TRY(find_before(&d));
    for (uint32_t i = 0; i < work->node_count; ++i) {
        double seconds = ons_work_seconds(work, i, i + 1);
        d.nodes[i] = i;
        d.seconds[i] = seconds > 0 ? seconds : 1e-12; /* so that nodes that cost nothing are not all alike */
    }
    ONS_TRY(decompose(&d, 0, work->node_count, &whole));
    return wrap(arena, result);
}

ons_status *ons_series_parallel_line(const ons_workload *work, ons_arena *arena, ons_series_parallel *result) {
    uint32_t *children, count = work->node_count;
    ONS_TRY(result_new(work, arena, result));
    ONS_NEW(children, arena, count);
    for (uint32_t i = 0; i < count; ++i) {
        result->order[i] = children[i] = i;
        result->parts[i] = (ons_composed){.kind = ONS_COMPOSED_NODE, .first = i, .end = i + 1};
    }
    result->parts[count] = (ons_composed){ONS_COMPOSED_ROW, 0, count, children, count};
    result->part_count = count + 1;
    return NULL;
}
