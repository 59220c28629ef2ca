/* Stages with micro-batches and copies of their own: what follows from their lists, and whether these can run. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/schedule/action_text.h"
#include "planner/schedule/places.h"
#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/branch_work.h"
#include "tests/rooms/planner/random_groupings.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(groupings, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void expect_refusal(ons_status *status, ons_status_code code, const char *part) {
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect_eq(ons_status_get_code(status), code, "%s", ons_status_get_message(status));
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

/* "0F0 0.1B0-2": as plans have them. */
static ons_action_list parse(const char *text) {
    ons_action_list list = {ons_arena_allocate(arena, 8 * strlen(text) + 1, sizeof(ons_action)), 0};
    while (*text != '\0') {
        char cell[32] = "";
        size_t length = strcspn(text, " ");
        ons_action a;
        uint32_t last;
        memcpy(cell, text, length);
        cr_assert(ons_action_parse(cell, &a, &last), "%s", cell);
        for (; a.micro_batch <= last; ++a.micro_batch) list.items[list.count++] = a;
        text += length;
        while (*text == ' ') ++text;
    }
    return list;
}

static ons_schedule lists(uint32_t units, uint32_t stages, const ons_stage_grouping *groupings, uint32_t devices,
                          const char *const *texts) {
    ons_schedule s = {.stages = stages, .devices = devices, .micro_batches = units, .groupings = groupings};
    s.lists = ons_arena_allocate(arena, devices, sizeof *s.lists);
    for (uint32_t i = 0; i < devices; ++i) s.lists[i] = parse(texts[i]);
    return s;
}

/* A stage of single units, two copies that take two units each in turn, and a stage that takes all four at once. */
static const ons_stage_grouping mixed[] = {{1, 1, 1}, {2, 2, 1}, {4, 1, 1}};
static const char *const mixed_lists[] = {"0F0-3 0B0-3 0U3", "1F0 1B0 1U0", "1.1F0 1.1B0 1.1U0", "2F0 2B0 2U0"};

static ons_status *verify_line(const ons_schedule *s, uint32_t ahead) {
    ons_stage_edge items[8];
    for (uint32_t i = 0; i + 1 < s->stages; ++i) items[i] = (ons_stage_edge){i, i + 1, true, false, ahead};
    const ons_stage_edges edges = {items, s->stages - 1};
    return ons_schedule_verify(s, &edges, arena);
}

Test(groupings, loads_are_of_a_copy_in_its_own_micro_batches) {
    ons_schedule s = lists(4, 3, mixed, 4, mixed_lists);
    expect_success(ons_schedule_take(&s, arena));
    cr_expect_eq(s.device_of[0], 0);
    cr_expect_eq(s.device_of[1], 1);
    cr_expect_eq(s.device_of[2], 3);
    cr_expect_eq(s.loads[0].in_flight, 4);
    cr_expect_eq(s.loads[1].in_flight, 1);
    for (uint32_t i = 0; i < 3; ++i) cr_expect(s.loads[i].accumulates, "all stages run the graph of a longer step");
    cr_expect_eq(ons_schedule_first_unit(&s, 1, 1, 0), 2);
    cr_expect(ons_schedule_holds(&s, 1, 2) && !ons_schedule_holds(&s, 1, 3) && !ons_schedule_holds(&s, 1, 0));
    cr_expect_eq(ons_schedule_most_local_stages(&s), 1);
    expect_success(ons_schedule_verify(&s, NULL, arena));
    expect_success(verify_line(&s, 0));
}

Test(groupings, room_is_in_micro_batches_of_the_receiver) {
    ons_schedule s = lists(4, 3, mixed, 4, mixed_lists);
    expect_success(ons_schedule_take(&s, arena));
    cr_expect_eq(ons_schedule_ahead(&s, 0, 1), 4, "both copies take two units at once");
    cr_expect_eq(ons_schedule_room(&s, 0, 1), 1);
    cr_expect_eq(ons_schedule_room(&s, 1, 0), 4);
}

Test(groupings, places_are_those_of_the_copy) {
    ons_schedule s = lists(4, 3, mixed, 4, mixed_lists);
    ons_device_places places;
    expect_success(ons_schedule_take(&s, arena));
    expect_success(ons_schedule_places(&s, 2, arena, &places));
    cr_expect_eq(places.chunks, 1);
    cr_expect_eq(places.micro_batches, 1);
    cr_expect(places.ordered);
    expect_success(ons_schedule_places(&s, 0, arena, &places));
    cr_expect_eq(places.micro_batches, 4);
    cr_expect_eq(places.of[ONS_PART_FORWARD * ons_part_count(1) + ons_part_of(1, ONS_PART_BACKWARD, 0)], 4);
}

Test(groupings, rules_are_checked) {
    static const struct {
        uint32_t device;
        const char *list, *part;
    } cases[] = {
        {1, "1F0 1U0", "stage 1.0, micro-batch 0: backward is missing"},
        {2, "1.1F0 1.1B0", "stage 1.1: no update"},
        {2, "1.1F0 1.1B0 1.1F1 1.1U0", "there are 3 stages and 1 micro-batches"},
        {0, "0F0 0F1 0F3 0F2 0B0 0B1 0B2 0B3 0U3", "overtakes"},
        {0, "0F0-2 0B0-3 0F3 0U3", "backward stands before forward"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *texts[4];
        memcpy(texts, mixed_lists, sizeof texts);
        texts[cases[i].device] = cases[i].list;
        ons_schedule s = lists(4, 3, mixed, 4, texts);
        expect_refusal(verify_line(&s, 4), ONS_INVALID_DATA, cases[i].part);
    }
}

Test(groupings, units_that_a_stage_waits_for_come_before_it) {
    /* Stage 0 waits for a gradient of units that stage 1 has not got all of. */
    static const ons_stage_grouping two[] = {{1, 1, 1}, {2, 1, 1}};
    ons_schedule s = lists(2, 2, two, 2, (const char *const[]){"0F0 0B0 0F1 0B1 0U1", "1F0 1B0 1U0"});
    expect_refusal(verify_line(&s, 2), ONS_INVALID_DATA, "hangs with room for 2 units");
    s = lists(2, 2, two, 2, (const char *const[]){"0F0 0F1 0B0 0B1 0U1", "1F0 1B0 1U0"});
    expect_success(verify_line(&s, 0));
    /* The larger one first: its first gradient comes of two smaller ones. */
    static const ons_stage_grouping turned[] = {{2, 1, 1}, {1, 1, 1}};
    s = lists(2, 2, turned, 2, (const char *const[]){"0F0 0B0 0U0", "1F0 1B0 1F1 1B1 1U1"});
    expect_success(verify_line(&s, 0));
    s = lists(2, 2, turned, 2, (const char *const[]){"0F0 0B0 0U0", "1F0 1F1 1B0 1B1 1U1"});
    expect_success(verify_line(&s, 0));
}

Test(groupings, what_lists_cannot_hold_yet_is_refused) {
    static const ons_stage_grouping large[] = {{2, 1, 1}, {2, 1, 1}}, unlike[] = {{1, 1, 1}, {2, 1, 1}},
                                    copies[] = {{1, 2, 1}, {1, 1, 1}}, uneven[] = {{2, 1, 1}, {3, 1, 1}};
    ons_schedule s = lists(2, 2, large, 1, (const char *const[]){"0F0 1F0 1B0 0B0 0U0 1U0"});
    expect_success(ons_schedule_take(&s, arena));
    expect_success(ons_schedule_verify(&s, NULL, arena));
    s = lists(2, 2, unlike, 1, (const char *const[]){"0F0-1 1F0 1B0 0B0-1 0U1 1U0"});
    expect_refusal(ons_schedule_take(&s, arena), ONS_UNSUPPORTED, "of the same size");
    s = lists(2, 2, copies, 2, (const char *const[]){"0F0 0B0 0U0", "0.1F0 1F0-1 1B0-1 0.1B0 0.1U0 1U1"});
    expect_refusal(ons_schedule_take(&s, arena), ONS_UNSUPPORTED, "one copy each");
    s = lists(2, 2, large, 2, (const char *const[]){"0F0 0I0 0W0 0U0", "1F0 1B0 1U0"});
    expect_refusal(ons_schedule_take(&s, arena), ONS_UNSUPPORTED, "input gradient of stage 0 apart");
    s = lists(2, 2, large, 2, (const char *const[]){"0F0/2 0B0 0U0", "1F0 1B0 1U0"});
    expect_refusal(verify_line(&s, 2), ONS_UNSUPPORTED, "in two halves");
    s = lists(2, 2, large, 2, (const char *const[]){"0F0 0B0 0U0", "1F0 1B0 1U0"});
    s.asynchronous = true;
    expect_refusal(ons_schedule_take(&s, arena), ONS_UNSUPPORTED, "asynchronous");
    s = lists(2, 2, uneven, 2, (const char *const[]){"0F0 0B0 0U0", "1F0 1B0 1U0"});
    expect_refusal(ons_schedule_take(&s, arena), ONS_INVALID_DATA, "does not divide the step's 2 units");
}

Test(groupings, copies_lie_on_devices_in_a_row) {
    static const ons_stage_grouping copies[] = {{1, 2, 1}, {1, 1, 1}};
    ons_schedule s =
        lists(2, 2, copies, 3, (const char *const[]){"0F0 0B0 0U0", "1F0-1 1B0-1 1U1", "0.1F0 0.1B0 0.1U0"});
    expect_refusal(ons_schedule_take(&s, arena), ONS_INVALID_DATA, "in a row");
    expect_refusal(verify_line(&s, 2), ONS_INVALID_DATA, "in a row");
    s = lists(2, 2, copies, 3, (const char *const[]){"1F0-1 1B0-1 1U1", "0.1F0 0.1B0 0.1U0", "0F0 0B0 0U0"});
    expect_refusal(ons_schedule_take(&s, arena), ONS_INVALID_DATA, "in a row");
    s = lists(2, 2, copies, 3, (const char *const[]){"0F0 0B0 0U0", "0.2F0 0.2B0 0.2U0", "1F0-1 1B0-1 1U1"});
    expect_refusal(ons_schedule_take(&s, arena), ONS_INVALID_DATA, "2 copies, from number 0 on");
}

/* ------------------------------------------------------------------------------------------------------- generators */

Test(groupings, lists_that_are_given_keep_them) {
    ons_schedule s = lists(4, 3, mixed, 4, mixed_lists), made, none = s;
    const ons_generator *generator;
    expect_success(ons_schedule_take(&s, arena));
    expect_success(ons_generator_recognise(&s, "gpipe", arena, &generator));
    cr_expect_eq(generator->given, &s);
    const ons_pipeline p = {generator, 3, 4, 4, 1}, shorter = {generator, 3, 2, 4, 1}, twice = {generator, 3, 4, 4, 2};
    expect_success(ons_schedule_make(&p, arena, &made));
    cr_expect(ons_schedule_equal(&made, &s));
    none.groupings = NULL;
    cr_expect(!ons_schedule_equal(&made, &none));
    expect_refusal(ons_schedule_make(&shorter, arena, &made), ONS_INVALID_ARGUMENT, "stage 1 takes 2 at once");
    expect_refusal(ons_schedule_make(&twice, arena, &made), ONS_UNSUPPORTED, "2 replicas of the whole pipeline");
}

Test(groupings, a_shorter_step_has_whole_micro_batches) {
    static const ons_stage_grouping two[] = {{1, 2, 1}, {2, 1, 1}};
    static const char *const texts[] = {"0F0-3 0B0-3 0U3", "0.1F0-3 0.1B0-3 0.1U3",
                                        "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3 1U3"};
    ons_schedule s = lists(8, 2, two, 3, texts), shorter;
    expect_success(ons_schedule_take(&s, arena));
    expect_success(ons_schedule_shorten(&s, 4, arena, &shorter));
    cr_expect_eq(shorter.lists[1].count, 5);
    cr_expect_eq(shorter.lists[2].count, 5);
    cr_expect_eq(shorter.lists[2].items[4].micro_batch, 1, "the update is of the last one that is left");
    cr_expect_eq(shorter.loads[0].in_flight, 2);
    expect_success(ons_schedule_verify(&shorter, NULL, arena));
    expect_refusal(ons_schedule_shorten(&s, 3, arena, &shorter), ONS_INVALID_ARGUMENT, "cannot be shortened to 3");
}

/* ------------------------------------------------------------------------------------------------------- simulation */

/* Two nodes, each a stage: a sample takes a second forth and two back, and its value, as its gradient, half a second
 * over a link. The second node has weights. */
static ons_pipeline_forecast simulate_two(const ons_stage_grouping *groupings, uint32_t devices,
                                          const char *const *texts, int64_t weight_bytes) {
    const ons_workload *const *works;
    const ons_workload *stage_works[2];
    const uint32_t first[] = {0, 1, 2};
    branch_graph graph;
    ons_pipeline_forecast forecast;
    uint32_t node;
    branch_node each = {.name = "first", .seconds = 1, .backward = 2, .output_bytes = 1000};
    ons_schedule s = lists(2, 2, groupings, devices, texts);
    expect_success(branch_graph_new("two", 2, arena, &graph));
    expect_success(branch_graph_add(&graph, &each, &node));
    each.name = "second";
    each.inputs = &node;
    each.input_count = 1;
    each.weight_bytes = weight_bytes;
    expect_success(branch_graph_add(&graph, &each, &(uint32_t){0}));
    expect_success(branch_graph_works(&graph, 2, &works));
    for (uint32_t i = 0; i < 2; ++i) stage_works[i] = works[groupings[i].size - 1];
    expect_success(ons_schedule_take(&s, arena));
    ons_planning_problem problem = {.work = works[0],
                                    .stage_works = stage_works,
                                    .schedule = &s,
                                    .link_bandwidth = 2000,
                                    .pipeline = {.stages = 2, .micro_batches = 2, .devices = devices, .replicas = 1}};
    expect_success(ons_generator_of_lists(&s, "lists", arena, &problem.pipeline.generator));
    const ons_pipeline_setup setup = {.problem = &problem, .first = first, .schedule = &s};
    expect_success(ons_pipeline_simulate(&setup, arena, &forecast));
    ons_simulation_free(forecast.simulation);
    return forecast;
}

/* The second stage begins when both units have come, and its gradients leave one by one. */
Test(groupings, a_message_has_the_units_that_both_ends_have_in_common) {
    static const ons_stage_grouping larger[] = {{1, 1, 1}, {2, 1, 1}};
    ons_pipeline_forecast f = simulate_two(larger, 2, (const char *const[]){"0F0-1 0B0-1 0U1", "1F0 1B0 1U0"}, 0);
    cr_expect_float_eq(f.iteration_seconds, 2.5 + 2 + 4 + 0.5 + 2 + 2, 1e-9, "%g", f.iteration_seconds);
    cr_expect_eq(f.devices[0].sent_bytes, 2000);
    cr_expect_eq(f.devices[1].sent_bytes, 2000);
    cr_expect_float_eq(f.devices[1].receive_seconds, 1, 1e-9);
    cr_expect_float_eq(f.devices[1].busy_seconds, 6, 1e-9);
}

/* Copies take units in turn, and sum their gradients up when the last of them has its own. */
Test(groupings, copies_sum_up_before_they_update) {
    static const ons_stage_grouping copies[] = {{1, 1, 1}, {1, 2, 1}};
    static const char *const texts[] = {"0F0-1 0B0-1 0U1", "1F0 1B0 1U0", "1.1F0 1.1B0 1.1U0"};
    ons_pipeline_forecast f = simulate_two(copies, 3, texts, 0);
    cr_expect_float_eq(f.iteration_seconds, 1.5 + 1 + 2 + 0.5 + 2 + 2, 1e-9, "%g", f.iteration_seconds);
    cr_expect_eq(f.devices[1].received_bytes, 1000);
    cr_expect_eq(f.devices[2].sent_bytes, 1000);
    f = simulate_two(copies, 3, texts, 8000); /* half of it, twice: four seconds */
    cr_expect_float_eq(f.iteration_seconds, 2.5 + 1 + 2 + 4, 1e-9, "%g", f.iteration_seconds);
}

/* ----------------------------------------------------------------------------------------------------- random lists */

Test(groupings, random_lists_hang_where_running_them_says_so) {
    uint32_t hung = 0, ran = 0;
    for (uint64_t seed = 1; seed <= 4000; ++seed) {
        random_source random = {seed};
        random_groupings r = random_groupings_make(&random, seed % 2 == 0, seed % 4 > 0, arena);
        bool expected = random_groupings_run(&r, arena);
        const ons_stage_edges edges = {r.edges, r.edge_count};
        ons_status *status = ons_schedule_verify(&r.s, &edges, arena);
        cr_assert_eq(status == NULL, expected, "seed %llu: %s", (unsigned long long)seed,
                     status != NULL ? ons_status_get_message(status) : "run unit by unit, it hangs");
        cr_assert(status == NULL || strstr(ons_status_get_message(status), "hangs") != NULL, "seed %llu: %s",
                  (unsigned long long)seed, ons_status_get_message(status));
        ons_status_free(status);
        ++*(expected ? &ran : &hung);
        if (seed % 100 == 0) free_arena(), make_arena();
    }
    cr_assert(hung > 400 && ran > 400, "%u hung, %u ran: the test says little", hung, ran);
}

/* What does not hang where messages never wait does not with the room that a schedule says there must be. */
Test(groupings, room_is_as_much_as_an_order_needs) {
    for (uint64_t seed = 1; seed <= 2000; ++seed) {
        random_source random = {seed};
        random_groupings r = random_groupings_make(&random, true, true, arena);
        expect_success(ons_status_at(ons_schedule_take(&r.s, arena), "seed %llu", (unsigned long long)seed));
        expect_success(ons_status_at(ons_schedule_verify(&r.s, NULL, arena), "seed %llu", (unsigned long long)seed));
        for (uint32_t i = 0; i < r.s.stages; ++i) {
            uint32_t most = 0;
            for (uint32_t copy = 0; copy < r.s.groupings[i].copies; ++copy) {
                uint32_t here = random_groupings_in_flight(&r, i, copy);
                if (here > most) most = here;
            }
            cr_assert_eq(r.s.loads[i].in_flight, most, "seed %llu, stage %u", (unsigned long long)seed, i);
            cr_assert_eq(r.s.device_of[i], r.first_device[i]);
        }
        if (seed % 100 == 0) free_arena(), make_arena();
    }
}

/* An action that is missing, or stands where another one was, is found, whichever it is. */
Test(groupings, damaged_lists_are_refused) {
    uint32_t tried = 0;
    for (uint64_t seed = 1; seed <= 2000; ++seed) {
        random_source random = {seed};
        random_groupings r = random_groupings_make(&random, true, true, arena);
        ons_action_list *list = &r.s.lists[random_below(&random, r.s.devices)];
        uint32_t at = random_below(&random, list->count), to = random_below(&random, list->count);
        if (at == to)
            memmove(list->items + at, list->items + at + 1, (--list->count - at) * sizeof *list->items);
        else
            list->items[to] = list->items[at];
        ons_status *status = verify_line(&r.s, 64);
        cr_assert_not_null(status, "seed %llu: action %u of %u in the place of %u passes", (unsigned long long)seed, at,
                           list->count, to);
        ons_status_free(status);
        ++tried;
        if (seed % 100 == 0) free_arena(), make_arena();
    }
    cr_assert_eq(tried, 2000);
}
