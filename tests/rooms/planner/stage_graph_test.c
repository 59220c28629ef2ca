/* Plans whose stages form a graph: samples in flight by GraphPipe's Table 2, and what is not a plan. */
#include "planner/stage_graph/stage_graph.h"

#include <criterion/criterion.h>
#include <string.h>

#include "planner/stage_graph/stage_lists.h"
#include "tests/rooms/planner/branch_work.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(stage_graph, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void expect_refusal(ons_status *status, const char *part) {
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

/* -------------------------------------------------------------------------------------------------------- in flight */

typedef struct table_row {
    int64_t own, own_turns, next, next_turns, asked; /* beside what is in flight behind it */
} table_row;

/* Each row of the table with numbers that meet its condition, computed by hand. */
Test(stage_graph, each_row_of_the_table) {
    static const table_row rows[] = {
        {2, 2, 2, 4, 4},  /* max < own turn < next turn: 2 max */
        {4, 1, 2, 4, 4},  /* max = own turn < next turn: max */
        {2, 4, 2, 2, 8},  /* own <= next < next turn < own turn: 8 - 4 + 2·2 */
        {2, 4, 4, 1, 8},  /* own <= next = next turn < own turn: own turn */
        {4, 4, 2, 4, 16}, /* next <= own < next turn < own turn: 16 - 8 + 2·4 */
        {4, 4, 2, 2, 16}, /* next <= own = next turn < own turn: own turn */
        {2, 2, 4, 1, 4},  /* max = both turns: next turn */
        {2, 2, 2, 2, 4},  /* max < both turns, equal: 2 max */
        {1, 2, 4, 1, 4},  /* own turn < next: next */
        {4, 2, 1, 2, 10}, /* next turn < own: 8 - 2 + 4 */
        {3, 1, 3, 1, 3},  /* plain 1F1B: one micro-batch more */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const table_row *r = &rows[i];
        ons_stage_pace own = {r->own, (uint32_t)r->own_turns}, next = {r->next, (uint32_t)r->next_turns};
        cr_expect_eq(ons_in_flight_before(own, next, 24), 24 + r->asked, "row %zu: %lld", i + 1,
                     (long long)ons_in_flight_before(own, next, 24));
    }
}

/* A line of three stages over three nodes, and what each has in flight. */
static ons_stage_graph line_of_three(const int64_t samples[3]) {
    static uint32_t order[] = {0, 1, 2};
    ons_stage_graph g = {.batch = 16, .devices = 3, .order = order, .node_count = 3, .stage_count = 3, .edge_count = 2};
    g.stages = ons_arena_allocate(arena, 3, sizeof *g.stages);
    g.edges = ons_arena_allocate(arena, 2, sizeof *g.edges);
    for (uint32_t i = 0; i < 3; ++i)
        g.stages[i] =
            (ons_graph_stage){.first = i, .end = i + 1, .first_device = i, .replicas = 1, .pace = {samples[i], 1}};
    for (uint32_t i = 0; i < 2; ++i) g.edges[i] = (ons_graph_edge){.from = i, .to = i + 1};
    ons_stage_graph_set_in_flight(&g);
    return g;
}

Test(stage_graph, figure_5_has_10_samples_in_flight_instead_of_12) {
    ons_stage_graph same = line_of_three((const int64_t[]){4, 4, 4}), own = line_of_three((const int64_t[]){1, 2, 4});
    cr_expect_eq(same.stages[0].in_flight, 12);
    cr_expect_eq(own.stages[0].in_flight, 10);
    cr_expect_eq(own.stages[1].in_flight, 8);
    cr_expect_eq(own.stages[2].in_flight, 4);
    ons_action_list *lists;
    expect_success(ons_stage_lists_make(&own, arena, &lists));
    expect_success(ons_stage_lists_check(&own, lists));
    for (uint32_t i = 0; i < 3; ++i)
        cr_expect_eq(ons_stage_lists_in_flight(&own, lists, i), own.stages[i].in_flight, "stage %u", i);
}

/* ------------------------------------------------------------------------------------------------------- conditions */

/* Two towers of two nodes and a head: stages {0 1}, {2 3}, {4} on devices 0 1, 2, 3. */
typedef struct subject {
    ons_workload work;
    ons_stage_graph graph;
    ons_action_list *lists;
    uint32_t order[5];
} subject;

static void make_subject(subject *s) {
    branch_graph towers;
    expect_success(two_towers(2, 1, arena, &towers));
    expect_success(branch_graph_work(&towers, 1, &s->work));
    for (uint32_t i = 0; i < 5; ++i) s->order[i] = i;
    s->graph = (ons_stage_graph){.batch = 8, .devices = 4, .order = s->order, .node_count = 5, .stage_count = 3};
    s->graph.stages = ons_arena_allocate(arena, 3, sizeof *s->graph.stages);
    for (uint32_t i = 0, device = 0; i < 3; device += s->graph.stages[i++].replicas)
        s->graph.stages[i] = (ons_graph_stage){.first = 2 * i,
                                               .end = i == 2 ? 5 : 2 * i + 2,
                                               .first_device = device,
                                               .replicas = i == 0 ? 2 : 1,
                                               .pace = {2, 1}};
    expect_success(ons_stage_graph_connect(&s->graph, &s->work, false, arena));
    ons_stage_graph_set_in_flight(&s->graph);
    expect_success(ons_stage_lists_make(&s->graph, arena, &s->lists));
}

Test(stage_graph, towers_do_not_wait_for_each_other) {
    subject s;
    make_subject(&s);
    expect_success(ons_stage_graph_check(&s.graph, &s.work, arena));
    cr_assert_eq(s.graph.edge_count, 2);
    for (uint32_t i = 0; i < 2; ++i) {
        cr_expect_eq(s.graph.edges[i].from, i);
        cr_expect_eq(s.graph.edges[i].to, 2);
        cr_expect_eq(s.graph.stages[i].in_flight, 4);
    }
    expect_success(ons_stage_graph_connect(&s.graph, &s.work, true, arena));
    ons_stage_graph_set_in_flight(&s.graph);
    cr_expect_eq(s.graph.edge_count, 3);
    cr_expect_eq(s.graph.stages[0].in_flight, 6, "as a line, it waits for the other tower");
}

typedef void damage(subject *s);

static void node_twice(subject *s) { s->order[1] = 0; }
static void gap(subject *s) { s->graph.stages[1].first = 3; }
static void too_short(subject *s) { s->graph.stages[2].end = 4; }
static void comes_back(subject *s) { /* stage 0 gets the head, which reads stage 1 */
    const uint32_t order[] = {0, 4, 1, 2, 3};
    memcpy(s->order, order, sizeof order);
}
static void no_edge(subject *s) { s->graph.edge_count = 1; }
static void edge_back(subject *s) { s->graph.edges[1] = (ons_graph_edge){.from = 2, .to = 1}; }
static void device_twice(subject *s) { s->graph.stages[1].first_device = 1; }
static void device_missing(subject *s) { s->graph.stages[2].first_device = 4; }
static void device_idle(subject *s) { s->graph.devices = 5; }
static void no_replica(subject *s) { s->graph.stages[1].replicas = 0; }
static void odd_samples(subject *s) { s->graph.stages[1].pace.samples = 3; }
static void too_few_in_flight(subject *s) { s->graph.stages[0].in_flight = 2; }

Test(stage_graph, what_is_not_a_plan_is_named) {
    static const struct {
        damage *damage;
        const char *part;
    } cases[] = {
        {node_twice, "C1"},         {gap, "C1: stage 1"},      {too_short, "C1"},
        {comes_back, "C1: a path"}, {no_edge, "C2"},           {edge_back, "C2: an edge"},
        {device_twice, "C3"},       {device_missing, "C3"},    {device_idle, "C3: 4"},
        {no_replica, "C3"},         {odd_samples, "stage 1:"}, {too_few_in_flight, "stage 0: 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        subject s;
        make_subject(&s);
        cases[i].damage(&s);
        expect_refusal(ons_stage_graph_check(&s.graph, &s.work, arena), cases[i].part);
    }
}

static void swap_forwards(subject *s) {
    s->lists[0].items[0].micro_batch = 1;
    s->lists[0].items[1].micro_batch = 0;
}
static void backward_first(subject *s) { s->lists[2].items[0].kind = ONS_ACTION_BACKWARD; }
static void one_less(subject *s) { s->lists[2].count -= 2; }
static void other_stage(subject *s) { s->lists[1].items[0].stage = 0; }
static void runs_ahead(subject *s) { /* F0 F1 B0 … becomes F0 F1 F2 … */
    ons_action keep = s->lists[0].items[2];
    s->lists[0].items[2] = s->lists[0].items[3];
    s->lists[0].items[3] = keep;
}

Test(stage_graph, lists_out_of_order_are_named) {
    static const struct {
        damage *damage;
        const char *part;
    } cases[] = {
        {swap_forwards, "C4"}, {backward_first, "C4"}, {one_less, "C4"}, {other_stage, "C4"}, {runs_ahead, "in flight"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        subject s;
        make_subject(&s);
        expect_success(ons_stage_lists_check(&s.graph, s.lists));
        cases[i].damage(&s);
        expect_refusal(ons_stage_lists_check(&s.graph, s.lists), cases[i].part);
    }
}

/* Two replicas share two samples, so each computes one at a time; the other stages take two at a time. */
Test(stage_graph, replicas_are_copies_of_a_schedule) {
    subject s;
    ons_schedule schedule;
    make_subject(&s);
    expect_success(ons_stage_lists_schedule(&s.graph, 0, arena, &schedule));
    cr_expect_eq(schedule.micro_batches, 8);
    cr_expect_eq(schedule.devices, 4);
    cr_assert_not_null(schedule.groupings);
    cr_expect_eq(schedule.groupings[0].size, 1);
    cr_expect_eq(schedule.groupings[0].copies, 2);
    for (uint32_t i = 1; i < 3; ++i) {
        cr_expect_eq(schedule.groupings[i].size, 2);
        cr_expect_eq(schedule.groupings[i].copies, 1);
        cr_expect_eq(schedule.device_of[i], i + 1);
    }
    for (uint32_t i = 0; i < 3; ++i) {
        cr_expect_eq(schedule.loads[i].in_flight, s.graph.stages[i].in_flight / s.graph.stages[i].pace.samples);
        cr_expect_eq(ons_schedule_copy_micro_batches(&schedule, i), 4);
    }
    ons_stage_edge items[] = {{0, 2, true, true, ons_schedule_ahead(&schedule, 0, 2)},
                              {1, 2, true, false, ons_schedule_ahead(&schedule, 1, 2)}};
    const ons_stage_edges edges = {items, 2};
    expect_success(ons_schedule_verify(&schedule, &edges, arena));
}

Test(stage_graph, stages_of_one_size_and_replica_have_no_groupings) {
    subject s;
    ons_schedule schedule;
    make_subject(&s);
    s.graph.devices = 3;
    for (uint32_t i = 0; i < 3; ++i) s.graph.stages[i].replicas = 1, s.graph.stages[i].first_device = i;
    expect_success(ons_stage_lists_schedule(&s.graph, 0, arena, &schedule));
    cr_expect_null(schedule.groupings);
    cr_expect_eq(schedule.micro_batches, 4);
}
