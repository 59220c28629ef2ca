#include "planner/stage_graph/late_joins.h"

#include <stdlib.h>

/* A node with at most this share of all work joins late. */
static const double CHEAP = 1e-3;

typedef struct list {
    uint32_t *items, count;
} list;

typedef struct builder {
    const ons_series_parallel *from;
    const ons_workload *work;
    ons_arena *arena;
    ons_series_parallel *to;
    double cheap; /* seconds */
    uint32_t placed;
    bool changed;
} builder;

/* A branch of what is built: a part of the old graph, of a row its first `children`. */
typedef struct branch {
    uint32_t part, children, number;
    double seconds;
} branch;

static const ons_composed *old_part(const builder *b, uint32_t part) { return &b->from->parts[part]; }

static ons_status *list_new(builder *b, uint32_t most, list *l) {
    l->count = 0;
    ONS_NEW(l->items, b->arena, most);
    return NULL;
}

static double seconds_of(const builder *b, const ons_composed *part) {
    double seconds = 0;
    for (uint32_t i = part->first; i < part->end; ++i)
        seconds += ons_work_seconds(b->work, b->from->order[i], b->from->order[i] + 1);
    return seconds;
}

static bool is_cheap(const builder *b, uint32_t part) {
    const ons_composed *p = old_part(b, part);
    return p->kind == ONS_COMPOSED_NODE && seconds_of(b, p) <= b->cheap;
}

/* How many children of a row are left without the cheap nodes that its last branches end in. */
static uint32_t count_without_joins(const builder *b, const ons_composed *row) {
    uint32_t end = row->child_count;
    while (end > 1 && is_cheap(b, row->children[end - 1])) --end;
    return old_part(b, row->children[end - 1])->kind == ONS_COMPOSED_BRANCHES ? end : row->child_count;
}

/* ------------------------------------------------------------------------------------------------------------ parts */

static uint32_t add_part(builder *b, ons_composition kind, uint32_t first, const list *children) {
    ons_composed *part = &b->to->parts[b->to->part_count];
    *part = (ons_composed){.kind = kind, .first = first, .end = b->placed};
    if (children != NULL) {
        part->children = children->items;
        part->child_count = children->count;
    }
    return b->to->part_count++;
}

static void put_node(builder *b, uint32_t part, list *row) {
    uint32_t first = b->placed;
    b->to->order[b->placed++] = b->from->order[old_part(b, part)->first];
    row->items[row->count++] = add_part(b, ONS_COMPOSED_NODE, first, NULL);
}

static ons_status *build_branches(builder *b, const ons_composed *old, list *row);

static ons_status *build_children(builder *b, const uint32_t *children, uint32_t count, list *row) {
    for (uint32_t i = 0; i < count; ++i) {
        const ons_composed *child = old_part(b, children[i]);
        if (child->kind == ONS_COMPOSED_BRANCHES)
            ONS_TRY(build_branches(b, child, row));
        else
            put_node(b, children[i], row);
    }
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- branches */

typedef struct branches {
    branch *items;
    uint32_t count;
    list joins; /* that come behind all of them */
} branches;

/* Lists the branches of a part; those of a row that is nothing but branches and their joins are among them. */
static void collect(builder *b, const ons_composed *old, branches *found) {
    for (uint32_t i = 0; i < old->child_count; ++i) {
        const ons_composed *child = old_part(b, old->children[i]);
        uint32_t end = child->kind == ONS_COMPOSED_ROW ? count_without_joins(b, child) : 0;
        if (end == 1)
            collect(b, old_part(b, child->children[0]), found);
        else
            found->items[found->count] = (branch){old->children[i], end, found->count, seconds_of(b, child)};
        found->count += end != 1;
        for (uint32_t k = end; child->kind == ONS_COMPOSED_ROW && k < child->child_count; ++k) {
            found->joins.items[found->joins.count++] = child->children[k];
            b->changed = true;
        }
    }
}

static int by_seconds(const void *left, const void *right) {
    const branch *x = left, *y = right;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Builds what stands in front of the old branch's late joins. A row of one child is that child. */
static ons_status *build_branch(builder *b, const branch *from, list *children) {
    const ons_composed *old = old_part(b, from->part);
    list row;
    uint32_t first = b->placed;
    if (old->kind == ONS_COMPOSED_NODE) {
        put_node(b, from->part, children);
        return NULL;
    }
    ONS_TRY(list_new(b, old->end - old->first, &row));
    ONS_TRY(build_children(b, old->children, from->children, &row));
    children->items[children->count++] = row.count == 1 ? row.items[0] : add_part(b, ONS_COMPOSED_ROW, first, &row);
    return NULL;
}

/* Branches whose ends joined early stand beside each other, the longest first, and the cheap nodes that joined them
 * follow in the row. */
static ons_status *build_branches(builder *b, const ons_composed *old, list *row) {
    branches found = {.count = 0};
    list children;
    uint32_t first = b->placed;
    ONS_NEW(found.items, b->arena, old->end - old->first);
    ONS_TRY(list_new(b, old->end - old->first, &found.joins));
    ONS_TRY(list_new(b, old->end - old->first, &children));
    collect(b, old, &found);
    qsort(found.items, found.count, sizeof *found.items, by_seconds);
    for (uint32_t i = 0; i < found.count; ++i) ONS_TRY(build_branch(b, &found.items[i], &children));
    row->items[row->count++] = add_part(b, ONS_COMPOSED_BRANCHES, first, &children);
    for (uint32_t i = 0; i < found.joins.count; ++i) put_node(b, found.joins.items[i], row);
    return NULL;
}

ons_status *ons_series_parallel_join_late(const ons_series_parallel *graph, const ons_workload *work, ons_arena *arena,
                                          ons_series_parallel *late, bool *changed) {
    builder b = {.from = graph, .work = work, .arena = arena, .to = late};
    const ons_composed *whole = &graph->parts[graph->part_count - 1];
    list row;
    b.cheap = CHEAP * seconds_of(&b, whole);
    *late = (ons_series_parallel){.converted = graph->converted};
    ONS_NEW(late->order, arena, work->node_count);
    ONS_NEW(late->parts, arena, 2 * (size_t)work->node_count + 1);
    ONS_TRY(list_new(&b, work->node_count, &row));
    ONS_TRY(build_children(&b, whole->children, whole->child_count, &row));
    add_part(&b, ONS_COMPOSED_ROW, 0, &row);
    *changed = b.changed;
    return NULL;
}
