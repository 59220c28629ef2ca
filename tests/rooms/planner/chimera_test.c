/* Chimera's schedule: its lists, lanes and refusals; steps of equal stages against the paper's formula, simulated and
 * estimated; and plans with two stages on each device, written and read again. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/partition/step_estimate.h"
#include "planner/plan/plan.h"
#include "planner/schedule/action_text.h"
#include "planner/schedule/csv.h"
#include "planner/schedule/lanes.h"
#include "planner/search/planner.h"
#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/random_work.h"

enum { MOST_STAGES = 12 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(chimera, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void expect_refusal(ons_status *status, int code, const char *part) {
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect_eq(ons_status_get_code(status), code, "%s", ons_status_get_message(status));
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

static ons_status *try_pipeline(uint32_t stages, uint32_t micro_batches, uint32_t devices, uint32_t replicas,
                                ons_schedule *s) {
    const ons_pipeline p = {&ons_generator_chimera, stages, micro_batches, devices, replicas};
    return ons_schedule_make(&p, arena, s);
}

static ons_schedule make_units(uint32_t stages, uint32_t units) {
    ons_schedule s;
    expect_success(try_pipeline(stages, units * stages, 0, 1, &s));
    expect_success(ons_schedule_verify(&s, NULL, arena));
    return s;
}

static ons_schedule make(uint32_t stages) { return make_units(stages, 1); }

static const char *text_of(const ons_action_list *list) {
    char action[ONS_ACTION_TEXT];
    const char *text = "";
    for (uint32_t i = 0; i < list->count; ++i)
        text = ons_arena_format(arena, "%s%s%s", text, i == 0 ? "" : " ", ons_action_print(&list->items[i], action));
    return text;
}

/* ------------------------------------------------------------------------------------------------------------ lists */

/* The paper's figure 3, of four stages. */
Test(chimera, four_stages_as_the_paper_draws_them) {
    static const char *const expected[] = {
        "0F0 0F1 3.1F0 3.1B0 3.1F1 3.1B1 0B0 0B1 0U1 3.1U1",
        "1F0 2.1F0 1F1 2.1F1 2.1B0 1B0 2.1B1 1B1 1U1 2.1U1",
        "1.1F0 2F0 1.1F1 2F1 2B0 1.1B0 2B1 1.1B1 1.1U1 2U1",
        "0.1F0 0.1F1 3F0 3B0 3F1 3B1 0.1B0 0.1B1 0.1U1 3U1",
    };
    ons_schedule s = make(4);
    for (uint32_t i = 0; i < 4; ++i) cr_expect_str_eq(text_of(&s.lists[i]), expected[i], "device %u", i);
}

/* The second unit's first forward part stands before the first one's last backward part. */
Test(chimera, units_follow_each_other_without_a_gap) {
    ons_schedule s = make_units(4, 2);
    cr_expect_str_eq(text_of(&s.lists[0]),
                     "0F0 0F1 3.1F0 3.1B0 3.1F1 3.1B1 0B0 0F2 0B1 0F3 3.1F2 3.1B2 3.1F3 3.1B3 0B2 "
                     "0B3 0U3 3.1U3");
}

Test(chimera, a_device_has_a_stage_of_either_direction) {
    for (uint32_t i = 0; i < 3 * MOST_STAGES / 2; ++i) {
        uint32_t p = 2 + i / 3 * 2;
        ons_schedule s = make_units(p, 1 + i % 3);
        cr_expect(ons_schedule_is_crossed(&s));
        cr_expect_eq(ons_schedule_most_local_stages(&s), 2);
        for (uint32_t stage = 0; stage < p; ++stage) {
            cr_expect_eq(ons_schedule_device(&s, stage, 0), stage);
            cr_expect_eq(ons_schedule_device(&s, stage, 1), p - 1 - stage);
            cr_expect_eq(ons_schedule_copy_on(&s, stage, p - 1 - stage), 1);
            /* The first of a direction's stages waits for the way there and back, but for no more than its half. */
            cr_expect_leq(s.loads[stage].in_flight, p / 2);
            cr_expect_geq(s.loads[stage].in_flight, 1);
            for (uint32_t device = 0; device < p; ++device)
                cr_expect_eq(ons_schedule_holds(&s, stage, device), device == stage || device == p - 1 - stage);
        }
    }
}

Test(chimera, what_cannot_be_is_refused) {
    ons_schedule s;
    expect_refusal(try_pipeline(3, 3, 0, 1, &s), ONS_INVALID_ARGUMENT, "take 4 --stages");
    expect_refusal(try_pipeline(1, 1, 0, 1, &s), ONS_INVALID_ARGUMENT, "an even number of stages");
    expect_refusal(try_pipeline(4, 4, 2, 1, &s), ONS_INVALID_ARGUMENT, "cannot put 4 stages on 2 devices");
    expect_refusal(try_pipeline(4, 6, 0, 1, &s), ONS_INVALID_ARGUMENT, "take 8 --micro-batches");
    expect_refusal(try_pipeline(4, 2, 0, 1, &s), ONS_INVALID_ARGUMENT, "take 4 --micro-batches");
    expect_refusal(try_pipeline(4, 4, 0, 2, &s), ONS_INVALID_ARGUMENT, "no 2 replicas of the pipeline");
}

Test(chimera, pytorch_has_no_words_for_it) {
    ons_schedule s = make(4);
    char *text = NULL;
    expect_refusal(ons_schedule_print_csv(&s, &text), ONS_UNSUPPORTED, "replicas of their own");
}

/* An action that is missing, or stands in the place of another one. */
Test(chimera, damaged_lists_are_refused) {
    for (uint32_t device = 0; device < 4; ++device)
        for (uint32_t at = 0; at < 10; ++at)
            for (uint32_t to = 0; to < 10; ++to) {
                ons_schedule s = make(4);
                ons_action_list *list = &s.lists[device];
                if (at == to)
                    memmove(list->items + at, list->items + at + 1, (--list->count - at) * sizeof *list->items);
                else
                    list->items[to] = list->items[at];
                ons_status *status = ons_schedule_verify(&s, NULL, arena);
                cr_assert_not_null(status, "device %u: action %u in the place of %u passes", device, at, to);
                ons_status_free(status);
            }
}

/* On another device, as another copy, of a third stage, with other sizes. */
Test(chimera, copies_that_do_not_lie_crosswise_are_refused) {
    ons_schedule s = make(4);
    ons_stage_grouping groupings[4];
    memcpy(groupings, s.groupings, sizeof groupings);
    s.groupings = groupings;
    groupings[0].stride = 1;
    expect_refusal(ons_schedule_take(&s, arena), ONS_UNSUPPORTED, "two copies on the same two devices");
    groupings[0].stride = 3;
    groupings[0].size = 2;
    expect_refusal(ons_schedule_take(&s, arena), ONS_UNSUPPORTED, "micro-batches of the same size");
    groupings[0].size = 1;
    expect_success(ons_schedule_take(&s, arena));
    groupings[0].stride = 99;
    groupings[3].stride = -99;
    expect_refusal(ons_schedule_take(&s, arena), ONS_INVALID_DATA, "lie on devices 99 apart, and there are 4");
    groupings[0].stride = 3;
    groupings[3].stride = -3;
    for (uint32_t i = 0; i < s.lists[0].count; ++i) s.lists[0].items[i].copy ^= 1;
    ons_status *status = ons_schedule_take(&s, arena);
    cr_expect_not_null(status, "the devices of both copies are changed");
    ons_status_free(status);
    s = make(4);
    s.lists[0].count = 1;
    expect_refusal(ons_schedule_take(&s, arena), ONS_UNSUPPORTED, "device 0 computes stage 0 alone");
    s = make(4);
    s.lists[1].items[0].stage = 0;
    expect_refusal(ons_schedule_take(&s, arena), ONS_UNSUPPORTED, "device 1 computes stages");
}

/* ------------------------------------------------------------------------------------------------------------ lanes */

Test(chimera, lanes_have_the_device_s_actions_between_them) {
    for (uint32_t p = 2; p <= MOST_STAGES; p += 2) {
        ons_schedule s = make(p);
        ons_schedule_lanes lanes;
        uint32_t seen = 0, actions = 0;
        expect_success(ons_schedule_lanes_find(&s, arena, &lanes));
        expect_success(ons_schedule_verify(&lanes.schedule, NULL, arena));
        cr_assert_eq(lanes.schedule.devices, 2 * p);
        cr_expect_not(ons_schedule_is_crossed(&lanes.schedule));
        for (uint32_t i = 0; i < p; ++i) actions += s.lists[i].count;
        for (uint32_t lane = 0; lane < 2 * p; ++lane) {
            const ons_action_list *list = &lanes.schedule.lists[lane];
            const ons_action_list *all = &s.lists[lanes.device[lane]];
            uint32_t last = 0;
            cr_expect_eq(lanes.beside[lanes.beside[lane]], lane);
            cr_expect_neq(lanes.beside[lane], lane);
            cr_expect_eq(lanes.device[lanes.beside[lane]], lanes.device[lane]);
            for (uint32_t i = 0; i < list->count; ++i, ++seen) {
                const ons_action *a = &list->items[i];
                cr_expect_eq(2 * a->stage + a->copy, lane);
                if (a->kind == ONS_ACTION_UPDATE) continue;
                uint32_t at = lanes.places[lane][2 * a->micro_batch + (a->kind == ONS_ACTION_BACKWARD)];
                cr_expect(i == 0 || at > last, "lane %u, action %u", lane, i);
                const ons_action *there = &all->items[at];
                cr_expect(there->kind == a->kind && there->stage == a->stage && there->copy == a->copy &&
                              there->micro_batch == a->micro_batch,
                          "lane %u, action %u", lane, i);
                last = at;
            }
        }
        cr_expect_eq(seen, actions);
    }
}

Test(chimera, other_schedules_have_a_lane_a_device) {
    const ons_pipeline p = {&ons_generator_interleaved, 4, 4, 2, 1};
    ons_schedule s;
    ons_schedule_lanes lanes;
    expect_success(ons_schedule_make(&p, arena, &s));
    expect_success(ons_schedule_lanes_find(&s, arena, &lanes));
    cr_expect(ons_schedule_equal(&lanes.schedule, &s));
    cr_expect_null(lanes.beside);
    cr_expect_eq(lanes.device[1], 1);
}

/* ------------------------------------------------------------------------------------------------------------ times */

typedef struct problem {
    ons_workload work;
    ons_planning_problem planning;
    ons_schedule schedule;
    uint32_t first[MOST_STAGES + 1];
} problem;

/* A node is a stage. */
static void pose(uint32_t stages, uint32_t micro_batches, double f, double b, problem *p) {
    *p = (problem){.schedule = make_units(stages, micro_batches / stages)};
    expect_success(uniform_work_make(stages, arena, &p->work));
    for (uint32_t i = 0; i < stages; ++i) {
        p->work.nodes[i].forward_seconds = f;
        p->work.nodes[i].input_gradient_seconds = p->work.nodes[i].weight_gradient_seconds = b / 2;
        p->work.nodes[i].update_seconds = 0;
    }
    expect_success(ons_workload_finish(&p->work, arena));
    for (uint32_t i = 0; i <= stages; ++i) p->first[i] = i;
    p->planning = (ons_planning_problem){.work = &p->work,
                                         .pipeline = {&ons_generator_chimera, stages, micro_batches, stages, 1},
                                         .memory = ons_memory_strategy_find("capuchin")};
}

static double simulate(const problem *p) {
    const ons_pipeline_setup setup = {.problem = &p->planning, .first = p->first};
    ons_pipeline_forecast forecast;
    expect_success(ons_pipeline_simulate(&setup, arena, &forecast));
    ons_simulation_free(forecast.simulation);
    return forecast.iteration_seconds;
}

static double estimate(const problem *p, double f, double b, double *bound) {
    ons_step_walk walk;
    ons_step_stage stages[MOST_STAGES];
    for (uint32_t i = 0; i < MOST_STAGES; ++i)
        stages[i] = (ons_step_stage){.forward = f, .backward = b, .weight = b / 2};
    expect_success(ons_step_walk_make(&p->planning.pipeline, NULL, arena, &walk));
    *bound = ons_step_bound(&walk, stages);
    for (uint32_t i = 0; i < p->schedule.stages; ++i) {
        double most = ons_step_most(&walk, stages, i, ons_step_estimate(&walk, stages));
        cr_expect_geq(most, f + b, "%u stages: stage %u may take %g s", p->schedule.stages, i, most);
    }
    return ons_step_estimate(&walk, stages);
}

/* N = D: N f + (N + D - 2) b for b >= f; run backwards, the same schedule says what b < f takes. */
Test(chimera, a_step_takes_what_the_closed_form_says) {
    static const double ratios[] = {1, 1.25, 1.5, 2, 3, 4, 0.5, 0.25};
    for (uint32_t d = 2; d <= MOST_STAGES; d += 2)
        for (size_t i = 0; i < sizeof ratios / sizeof *ratios; ++i) {
            double f = 1e-3, b = ratios[i] * f, expected = d * fmin(f, b) + (2 * d - 2) * fmax(f, b), bound;
            problem p;
            pose(d, d, f, b, &p);
            double simulated = simulate(&p), estimated = estimate(&p, f, b, &bound);
            cr_expect(fabs(simulated - expected) <= 1e-12 * expected, "N = D = %u, b = %g f: %.15g, not %.15g", d,
                      ratios[i], simulated, expected);
            cr_expect(fabs(estimated - expected) <= 1e-12 * expected, "N = D = %u, b = %g f: estimated %.15g", d,
                      ratios[i], estimated);
            cr_expect_leq(bound, expected);
        }
}

/* The bubbles of one unit: 2 N + D - 2 slots. */
Test(chimera, units_of_equal_parts_have_no_bubbles_between_them) {
    for (uint32_t d = 2; d <= MOST_STAGES; d += 2)
        for (uint32_t n = 2 * d; n <= 5 * d; n += d) {
            double slot = 1e-3, expected = (2 * n + d - 2) * slot, bound;
            problem p;
            pose(d, n, slot, slot, &p);
            double simulated = simulate(&p), estimated = estimate(&p, slot, slot, &bound);
            cr_expect(fabs(simulated - expected) <= 1e-12 * expected, "D = %u, N = %u: %.15g", d, n, simulated);
            cr_expect(fabs(estimated - expected) <= 1e-12 * expected, "D = %u, N = %u: estimated %.15g", d, n,
                      estimated);
            cr_expect_leq(bound, expected);
        }
}

/* Links take time for gradients alone. */
static double simulate_sums(uint32_t stages, bool tied, double bandwidth) {
    static const uint32_t both[] = {0, 1};
    problem p;
    pose(stages, stages, 1, 2, &p);
    for (uint32_t i = 0; i < stages; ++i) p.work.tensors[i].bytes = p.work.tensors[i].gradient_bytes = 0;
    if (tied) p.work.weights[0].users = both, p.work.weights[0].user_count = 2;
    expect_success(ons_workload_finish(&p.work, arena));
    p.planning.link_bandwidth = bandwidth;
    return simulate(&p);
}

/* A stage's 100 bytes, or 200, go in halves, forth and back, one stage after the other; then each of a device's two
 * stages sends its 100 bytes to the other stage's copy of the same direction. */
Test(chimera, sums_over_both_directions_come_before_updates) {
    double plain = simulate_sums(2, false, 1000), tied = simulate_sums(2, true, 1000), compute = 2 * 1 + 2 * 2;
    cr_expect_float_eq(plain, compute + 0.1 + 0.1, 1e-9, "%.12g", plain);
    cr_expect_float_eq(tied, compute + 0.1 + 0.2 + 2 * 0.1, 1e-9, "%.12g", tied);
    for (uint32_t stages = 4; stages <= MOST_STAGES; stages += 2)
        cr_expect_gt(simulate_sums(stages, true, 1000), simulate_sums(stages, false, 1000), "%u stages", stages);
}

/* ------------------------------------------------------------------------------------------------------------ plans */

static ons_plan plan_of(problem *p, uint32_t stages) {
    const ons_partition_strategy *strategy = ons_partition_strategy_find("auto");
    ons_planned planned;
    ons_plan plan = {.subject = {.model = "work", .batch = stages, .micro_batches = stages, .replicas = 1},
                     .partition = "auto"};
    pose(MOST_STAGES, MOST_STAGES, 1e-3, 2e-3, p);
    p->planning.pipeline.stages = p->planning.pipeline.devices = p->planning.pipeline.micro_batches = stages;
    expect_success(ons_planner_search(&p->planning, strategy, arena, &planned));
    expect_success(ons_planner_fill(&planned, arena, &plan));
    return plan;
}

Test(chimera, a_plan_is_written_and_read) {
    for (uint32_t stages = 2; stages <= 6; stages += 2) {
        problem p;
        ons_plan plan = plan_of(&p, stages), again;
        char *text, *second;
        expect_success(ons_plan_print(&plan, &text));
        expect_success(ons_plan_parse(text, strlen(text), arena, &again));
        cr_expect(ons_schedule_equal(&plan.schedule, &again.schedule));
        cr_expect_eq(again.pipeline.generator, &ons_generator_chimera);
        expect_success(ons_plan_print(&again, &second));
        cr_expect_str_eq(text, second);
        free(text);
        free(second);
    }
}

/* What is put in the place of a part of the file, and what that is refused with. */
Test(chimera, a_plan_s_second_device_is_looked_at) {
    static const struct {
        const char *part, *in_its_place, *message;
    } cases[] = {
        {"\"second_device\":\t3", "\"second_device\":\t0", "'second_device' is 0, as is 'device'"},
        {"\"second_device\":\t3", "\"second_device\":\t2", "computes stages 0 and 3"},
        {"\"second_device\":\t3", "\"second_device\":\t99", "computes stages 0 and 3"},
        {"\"replicas\":\t2", "\"replicas\":\t1", "'second_device' is of a stage with two 'replicas'"},
        {"\"replicas\":\t2,", "", "'second_device' is of a stage with two 'replicas'"},
        {"\"second_device\":\t3,", "", "computes stages 0 and 3"},
        {"\"3.1F0\"", "\"3F0\"", "computes stages 0 and 3"},
    };
    problem p;
    ons_plan plan = plan_of(&p, 4), again;
    char *text;
    expect_success(ons_plan_print(&plan, &text));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *at = strstr(text, cases[i].part);
        cr_assert_not_null(at, "%s", cases[i].part);
        const char *edited = ons_arena_format(arena, "%.*s%s%s", (int)(at - text), text, cases[i].in_its_place,
                                              at + strlen(cases[i].part));
        ons_status *status = ons_plan_parse(edited, strlen(edited), arena, &again);
        cr_assert_not_null(status, "%s passes", cases[i].in_its_place);
        cr_expect(strstr(ons_status_get_message(status), cases[i].message) != NULL, "'%s' lacks '%s'",
                  ons_status_get_message(status), cases[i].message);
        ons_status_free(status);
    }
    free(text);
}
