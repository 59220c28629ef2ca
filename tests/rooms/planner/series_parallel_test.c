/* What a graph is made of: every part says something about which nodes precede which, and all of it is looked up. */
#include "planner/stage_graph/series_parallel.h"

#include <criterion/criterion.h>

#include "planner/stage_graph/late_joins.h"
#include "planner/workload/order.h"
#include "tests/rooms/planner/branch_work.h"

enum { CASES = 400, NODES_MOST = 40 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(series_parallel, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

typedef struct paths {
    uint32_t count;
    bool before[NODES_MOST][NODES_MOST]; /* a path leads from the one to the other */
} paths;

static void find_paths(const ons_workload *work, paths *p) {
    ons_work_edges readers;
    expect_success(ons_work_edges_make(work, true, arena, &readers));
    *p = (paths){.count = work->node_count};
    for (uint32_t i = 0; i < p->count; ++i)
        for (uint32_t e = readers.begin[i]; e < readers.begin[i + 1]; ++e) p->before[i][readers.next[e]] = true;
    for (uint32_t k = 0; k < p->count; ++k)
        for (uint32_t i = 0; i < p->count; ++i)
            for (uint32_t j = 0; j < p->count; ++j)
                if (p->before[i][k] && p->before[k][j]) p->before[i][j] = true;
}

/* Pairs of nodes of two children that no path joins. */
static uint64_t count_free(const paths *p, const ons_series_parallel *s, const ons_composed *a, const ons_composed *b,
                           bool row, const char *name) {
    uint64_t count = 0;
    for (uint32_t i = a->first; i < a->end; ++i)
        for (uint32_t j = b->first; j < b->end; ++j) {
            uint32_t x = s->order[i], y = s->order[j];
            cr_assert(!p->before[y][x], "%s: node %u precedes node %u, which stands before it", name, y, x);
            cr_assert(row || !p->before[x][y], "%s: nodes %u and %u are in branches", name, x, y);
            count += !p->before[x][y];
        }
    return count;
}

static uint64_t check_part(const paths *p, const ons_series_parallel *s, const ons_composed *part, const char *name) {
    uint64_t count = 0;
    uint32_t at = part->first;
    bool row = part->kind == ONS_COMPOSED_ROW;
    if (part->kind == ONS_COMPOSED_NODE) {
        cr_assert_eq(part->end, part->first + 1);
        return 0;
    }
    for (uint32_t i = 0; i < part->child_count; ++i) {
        const ons_composed *child = &s->parts[part->children[i]];
        cr_assert_eq(child->first, at, "%s: children do not follow each other", name);
        cr_assert_neq(child->kind, part->kind, "%s: a row in a row, or branches in branches", name);
        at = child->end;
        for (uint32_t k = i + 1; k < part->child_count; ++k) {
            uint64_t loose = count_free(p, s, child, &s->parts[part->children[k]], row, name);
            if (row) count += loose;
        }
        count += check_part(p, s, child, name);
    }
    cr_assert_eq(at, part->end);
    return count;
}

/* Gives how many pairs of nodes the parts join that no path joins. */
static uint64_t check_parts(const ons_workload *work, const ons_series_parallel *s) {
    paths p;
    bool seen[NODES_MOST] = {false};
    find_paths(work, &p);
    for (uint32_t i = 0; i < work->node_count; ++i) {
        cr_assert(!seen[s->order[i]]);
        seen[s->order[i]] = true;
    }
    const ons_composed *all = &s->parts[s->part_count - 1];
    cr_assert(all->kind == ONS_COMPOSED_ROW && all->first == 0 && all->end == work->node_count);
    return check_part(&p, s, all, work->name);
}

/* Everything is said by the parts: what they join is joined by paths, but for what was converted. */
static void check(const ons_workload *work, const ons_series_parallel *s) {
    cr_expect_eq(check_parts(work, s), s->converted, "%s", work->name);
}

Test(series_parallel, series_parallel_graphs_are_found_to_be) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        branch_graph g;
        ons_workload work;
        ons_series_parallel s;
        expect_success(random_series_parallel(seed, 1 + (uint32_t)(seed % NODES_MOST), arena, &g));
        expect_success(branch_graph_work(&g, 1, &work));
        expect_success(ons_series_parallel_make(&work, seed % 2, arena, &s));
        cr_expect_eq(s.converted, 0, "%s", work.name);
        check(&work, &s);
    }
}

Test(series_parallel, other_graphs_are_converted) {
    uint32_t converted = 0;
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        branch_graph g;
        ons_workload work;
        ons_series_parallel s;
        expect_success(random_dependencies(seed, 1 + (uint32_t)(seed % NODES_MOST), arena, &g));
        expect_success(branch_graph_work(&g, 1, &work));
        expect_success(ons_series_parallel_make(&work, seed % 2, arena, &s));
        converted += s.converted > 0;
        check(&work, &s);
    }
    cr_expect_gt(converted, CASES / 4);
}

/* a ─▶ c, a ─▶ d, b ─▶ d: the smallest graph that is neither. The cheapest conversion loses one pair. */
Test(series_parallel, the_smallest_graph_that_is_not) {
    branch_graph g;
    ons_workload work;
    ons_series_parallel s;
    uint32_t a, b, c, d;
    expect_success(branch_graph_new("N", 4, arena, &g));
    branch_node node = {.seconds = 1, .backward = 2, .output_bytes = 8};
    expect_success(branch_graph_add(&g, &node, &a));
    expect_success(branch_graph_add(&g, &node, &b));
    node.inputs = (uint32_t[]){a, b};
    node.input_count = 1;
    expect_success(branch_graph_add(&g, &node, &c));
    node.input_count = 2;
    expect_success(branch_graph_add(&g, &node, &d));
    expect_success(branch_graph_work(&g, 1, &work));
    expect_success(ons_series_parallel_make(&work, ONS_ARRANGED_FALLING, arena, &s));
    cr_expect_eq(s.converted, 1);
    check(&work, &s);
}

Test(series_parallel, a_line_is_one_row) {
    ons_workload work;
    ons_series_parallel found, line;
    expect_success(uniform_work_make(12, arena, &work));
    expect_success(ons_series_parallel_make(&work, ONS_ARRANGED_FALLING, arena, &found));
    expect_success(ons_series_parallel_line(&work, arena, &line));
    cr_expect_eq(found.part_count, 13);
    cr_expect_eq(line.part_count, 13);
    check(&work, &found);
    check(&work, &line);
}

/* ------------------------------------------------------------------------------------------------------- late joins */

/* Of every third node that reads several there is little to compute. */
static void make_joins_cheap(branch_graph *g) {
    for (uint32_t i = 0; i < g->count; ++i)
        if (g->nodes[i].input_count > 1 && i % 3 > 0) g->nodes[i].fixed_seconds = g->nodes[i].seconds = 0;
}

Test(series_parallel, joins_that_wait_for_more_are_legal) {
    uint32_t different = 0;
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        branch_graph g;
        ons_workload work;
        ons_series_parallel s, late;
        bool changed;
        expect_success((seed % 4 > 0 ? random_series_parallel
                                     : random_dependencies)(seed, 1 + (uint32_t)(seed % NODES_MOST), arena, &g));
        make_joins_cheap(&g);
        expect_success(branch_graph_work(&g, 1, &work));
        expect_success(ons_series_parallel_make(&work, ONS_ARRANGED_FALLING, arena, &s));
        expect_success(ons_series_parallel_join_late(&s, &work, arena, &late, &changed));
        uint64_t joined = check_parts(&work, &late);
        cr_expect(changed || joined == s.converted, "%s", work.name);
        cr_expect_geq(joined, s.converted, "%s", work.name);
        different += changed;
    }
    cr_expect_gt(different, CASES / 20);
}

/* Four branches of one to four nodes behind a first one; a chain of sums of two. */
static void add_branches_and_sums(branch_graph *g) {
    uint32_t fork, ends[4], sum[2];
    branch_node node = {.fixed_seconds = 1, .backward = 2, .output_bytes = 8};
    expect_success(branch_graph_add(g, &node, &fork));
    for (uint32_t i = 0; i < 4; ++i) {
        ends[i] = fork;
        node.input_count = 1;
        for (uint32_t k = 0; k <= i; ++k) {
            node.inputs = &ends[i];
            expect_success(branch_graph_add(g, &node, &ends[i]));
        }
    }
    sum[0] = ends[0];
    node = (branch_node){.backward = 1, .output_bytes = 8, .inputs = sum, .input_count = 2};
    for (uint32_t i = 1; i < 4; ++i) {
        sum[1] = ends[i];
        expect_success(branch_graph_add(g, &node, &sum[0]));
        if (sum[0] < sum[1]) cr_assert_fail("sums come behind what they add");
    }
}

Test(series_parallel, a_chain_of_sums_is_one_join) {
    branch_graph g;
    ons_workload work;
    ons_series_parallel s, late;
    bool changed;
    expect_success(branch_graph_new("sums", 20, arena, &g));
    add_branches_and_sums(&g);
    expect_success(branch_graph_work(&g, 1, &work));
    expect_success(ons_series_parallel_make(&work, ONS_ARRANGED_FALLING, arena, &s));
    expect_success(ons_series_parallel_join_late(&s, &work, arena, &late, &changed));
    check_parts(&work, &late);
    const ons_composed *row = &late.parts[late.part_count - 1];
    cr_assert(changed && row->child_count == 5); /* the first node, branches, three sums */
    const ons_composed *branches = &late.parts[row->children[1]];
    cr_assert(branches->kind == ONS_COMPOSED_BRANCHES && branches->child_count == 4);
    for (uint32_t i = 0; i < 4; ++i) {
        const ons_composed *branch = &late.parts[branches->children[i]];
        cr_expect_eq(branch->end - branch->first, 4 - i, "the longest comes first");
    }
}
