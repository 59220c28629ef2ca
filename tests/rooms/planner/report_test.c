/* The capacity report's figures against searches and sums of their own, on random workloads. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "planner/report/report.h"
#include "planner/workload/order.h"
#include "tests/rooms/planner/random_work.h"

enum { CASES = 6, NODES = 20, STAGES = 3, MICRO_BATCHES = 3, DEVICES = 2 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(report, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

/* Twice the samples: twice of everything but weights. */
static void make_double(const ons_workload *low, ons_workload *high) {
    *high = *low;
    high->samples *= 2;
    high->nodes = ons_arena_allocate(arena, low->node_count, sizeof *high->nodes);
    high->tensors = ons_arena_allocate(arena, low->tensor_count + 1, sizeof *high->tensors);
    cr_assert(high->nodes != NULL && high->tensors != NULL);
    for (uint32_t i = 0; i < low->node_count; ++i) {
        ons_work_node *n = &high->nodes[i];
        *n = low->nodes[i];
        n->forward_seconds *= 2;
        n->input_gradient_seconds *= 2;
        n->weight_gradient_seconds *= 2;
        n->forward_bytes *= 2;
        n->backward_bytes *= 2;
    }
    for (uint32_t i = 0; i < low->tensor_count; ++i) {
        high->tensors[i] = low->tensors[i];
        high->tensors[i].bytes *= 2;
        high->tensors[i].gradient_bytes *= 2;
    }
    expect_success(ons_workload_finish(high, arena));
}

typedef struct setting {
    ons_workload low, high;
    ons_device_profile profiles[DEVICES];
    ons_what_if_device devices[DEVICES];
    ons_planning_problem problem;
    ons_planned planned;
    ons_report_options options;
} setting;

/* `share`: of the memory that the whole model takes on one device, what a stage may use. */
static void make_setting(uint64_t seed, double share, setting *s) {
    random_work_options options = random_work_graph(seed, NODES);
    ons_stage_memory whole;
    ons_stage_load load = {.in_flight = 1, .versions = 1, .accumulates = true};
    memset(s, 0, sizeof *s);
    expect_success(random_work_make(&options, arena, &s->low));
    s->low.samples = 4;
    make_double(&s->low, &s->high);
    ons_work_stage_memory(&s->low, 0, s->low.node_count, &load, &whole);
    for (int i = 0; i < DEVICES; ++i) {
        s->profiles[i] = (ons_device_profile){.name = i == 0 ? "small" : "large", .title = i == 0 ? "Small" : "Large"};
        s->devices[i].profile = &s->profiles[i];
        s->devices[i].capacity_bytes = i == 0 ? (int64_t)(share * (double)whole.total) : 4 * whole.total;
        /* In two thirds of the cases stages swap, and in half of those copies cost computing. */
        s->profiles[i].host_bandwidth =
            seed % 3 == 0 ? 0 : (double)whole.total / ons_work_seconds(&s->low, 0, s->low.node_count);
        s->devices[i].charged_devices = seed % 3 == 1 ? STAGES : 0;
        s->devices[i].single = s->devices[i].summed = (ons_what_if_work){&s->low, &s->high};
    }
    s->problem = (ons_planning_problem){
        .work = &s->low,
        .pipeline = {&ons_generator_one_f_one_b, STAGES, MICRO_BATCHES, 0},
        .capacity_bytes = s->devices[0].capacity_bytes,
        .host_bandwidth = s->profiles[0].host_bandwidth,
        .host_share = s->devices[0].charged_devices > 0 ? 1 : 0,
        .memory = ons_memory_strategy_find("capuchin"),
    };
    s->options = (ons_report_options){
        .planned = &s->planned,
        .partition = ons_partition_strategy_find("dawnpiper"),
        .devices = s->devices,
        .device_count = DEVICES,
        .batch = 4 * MICRO_BATCHES,
        .micro_batches = MICRO_BATCHES,
    };
    expect_success(ons_planner_search(&s->problem, s->options.partition, arena, &s->planned));
}

Test(report, layers_hold_what_the_stages_hold) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        setting s;
        ons_report_layer *layers;
        uint32_t count;
        int64_t held = 0, stages = 0;
        make_setting(seed, 2, &s);
        cr_assert(s.planned.partition.feasible);
        expect_success(ons_report_find_layers(&s.planned, arena, &layers, &count));
        for (uint32_t i = 0; i < count; ++i) {
            held += layers[i].held;
            cr_expect(i == 0 || layers[i].held + layers[i].saved <= layers[i - 1].held + layers[i - 1].saved);
        }
        for (uint32_t i = 0; i < STAGES; ++i) {
            const ons_stage_memory *m = &s.planned.solutions[i].memory;
            stages += m->weights + m->versions + m->gradients + m->states;
        }
        cr_expect_eq(held, stages, "seed %llu: %lld in layers, %lld in stages", (unsigned long long)seed,
                     (long long)held, (long long)stages);
    }
}

/* -------------------------------------------------------------------------------- stages that take what they choose */

enum { GROUP_DEVICES = 4, UNITS = 8 };

/* However many samples there are. */
static void add_seconds(ons_workload *work, double seconds) {
    for (uint32_t i = 0; i < work->node_count; ++i) work->nodes[i].forward_seconds += seconds;
    expect_success(ons_workload_finish(work, arena));
}

static void choose_groups(uint64_t seed, ons_workload *most, ons_stage_choice *choice, setting *s) {
    const ons_workload **works = ons_arena_allocate(arena, 3, sizeof *works);
    make_setting(seed, 2, s);
    make_double(&s->high, most);
    double seconds = 4 * ons_work_seconds(&s->low, 0, s->low.node_count) / s->low.node_count;
    add_seconds(&s->low, seconds);
    add_seconds(&s->high, seconds);
    add_seconds(most, seconds);
    works[0] = &s->low, works[1] = &s->high, works[2] = most;
    *choice = (ons_stage_choice){.sizes = true, .replicas = true, .works = works, .work_count = 3};
    s->problem.choice = choice;
    s->problem.pipeline = (ons_pipeline){&ons_generator_one_f_one_b, GROUP_DEVICES, UNITS, 0, 1};
    s->problem.capacity_bytes = s->devices[0].capacity_bytes = INT64_C(1) << 40;
    s->options.partition = ons_partition_strategy_find("graphpipe");
    s->options.batch = 4 * UNITS;
    s->options.micro_batches = UNITS;
    expect_success(ons_planner_search(&s->problem, s->options.partition, arena, &s->planned));
}

/* What layers hold is what all replicas of the stages do, and the plan is shown as it is; what it is compared with has
 * as many devices, and stages that take one micro-batch each. */
Test(report, stages_with_sizes_and_replicas_are_shown) {
    uint32_t replicas = 0, larger = 0;
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        setting s;
        ons_workload most;
        ons_stage_choice choice;
        ons_report r;
        int64_t held = 0, stages = 0;
        choose_groups(seed, &most, &choice, &s);
        expect_success(ons_report_make(&s.options, arena, &r));
        for (uint32_t i = 0; i < r.layer_count; ++i) held += r.layers[i].held;
        for (uint32_t i = 0; i < s.planned.partition.stages; ++i) {
            ons_stage_grouping g = ons_schedule_grouping(s.planned.problem.schedule, i);
            const ons_stage_memory *m = &s.planned.solutions[i].memory;
            stages += g.copies * (m->weights + m->versions + m->gradients + m->states);
            replicas += g.copies > 1;
            larger += g.size > 1;
        }
        cr_expect_eq(held, stages, "seed %lu: %ld in layers, %ld in stages", seed, (long)held, (long)stages);
        cr_expect(r.fits && r.shown == &s.planned && r.forecast.device_count == GROUP_DEVICES);
        cr_expect_eq(ons_question_devices(&r.asked), GROUP_DEVICES);
        cr_expect(r.strategies.items[0].answer.feasible);
        cr_expect_geq(r.strategies.items[0].answer.step_seconds, r.forecast.iteration_seconds * (1 - 1e-9));
        for (uint32_t i = 0; i < r.grid->stage_count; ++i)
            cr_expect(r.grid->stages[i] > UNITS || r.grid->cells[0][i][0].answer.known ||
                          r.grid->cells[0][i][0].question.batch < r.grid->cells[0][i][0].question.micro_batches,
                      "seed %lu: %u stages", seed, r.grid->stages[i]);
        ons_report_free(&r);
    }
    cr_expect(replicas > 2 && larger > 2, "%u and %u stages", replicas, larger);
}

/* Where such stages do not fit there is nothing to show, but what would do. */
Test(report, stages_with_sizes_and_replicas_that_do_not_fit) {
    setting s;
    ons_workload most;
    ons_stage_choice choice;
    ons_report r;
    choose_groups(1, &most, &choice, &s);
    s.problem.capacity_bytes = s.devices[0].capacity_bytes = 1;
    expect_success(ons_planner_search(&s.problem, s.options.partition, arena, &s.planned));
    expect_success(ons_report_make(&s.options, arena, &r));
    cr_expect(!r.fits && r.shown == NULL && r.least_bytes > 1);
    ons_report_free(&r);
}

Test(report, asking_for_the_plan_gives_the_plan) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        setting s;
        ons_report r;
        make_setting(seed, 0.4, &s);
        expect_success(ons_report_make(&s.options, arena, &r));
        cr_expect_eq(r.fits, s.planned.partition.feasible);
        bool found = false;
        for (uint32_t m = 0; m < r.grid->memory_count; ++m)
            for (uint32_t i = 0; i < r.grid->stage_count; ++i)
                for (uint32_t b = 0; b < r.grid->batch_count; ++b) {
                    const ons_report_row *cell = &r.grid->cells[m][i][b];
                    if (cell->question.capacity_bytes != r.asked.capacity_bytes || cell->question.stages != STAGES ||
                        cell->question.batch != r.asked.batch)
                        continue;
                    found = true;
                    cr_expect_eq(cell->answer.feasible, r.fits, "seed %llu", (unsigned long long)seed);
                    if (!r.fits) continue;
                    cr_expect_eq(cell->answer.fullest_bytes, r.fullest_bytes, "seed %llu", (unsigned long long)seed);
                    cr_expect(cell->answer.step_seconds == r.forecast.iteration_seconds, "seed %llu",
                              (unsigned long long)seed);
                }
        cr_expect(found);
        ons_report_free(&r);
    }
}

/* What another device runs may have other nodes, fewer than the order names. */
Test(report, an_order_is_for_the_nodes_that_it_was_made_for) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        setting s;
        ons_report r;
        ons_answer answer;
        ons_workload moved, other;
        uint32_t *order;
        make_setting(seed, 2, &s);
        random_work_options options = random_work_graph(seed + CASES, NODES / 2);
        expect_success(random_work_make(&options, arena, &other));
        other.samples = s.low.samples;
        s.devices[1].single = s.devices[1].summed = (ons_what_if_work){&other, NULL};
        expect_success(ons_work_order(&s.low, ONS_ORDER_DEPTH_FIRST, STAGES, arena, &order));
        expect_success(ons_work_reorder(&s.low, order, arena, &moved));
        s.problem.work = &moved;
        expect_success(ons_planner_search(&s.problem, s.options.partition, arena, &s.planned));
        s.planned.node_at = order;
        expect_success(ons_report_make(&s.options, arena, &r));
        cr_assert_eq(r.devices.count, DEVICES);
        ons_question asked = r.devices.items[1].question;
        asked.order = NULL;
        expect_success(ons_what_if(&asked, &answer));
        cr_expect(answer.step_seconds == r.devices.items[1].answer.step_seconds, "seed %llu", (unsigned long long)seed);
        ons_report_free(&r);
    }
}

Test(report, the_largest_batch_fits_and_one_more_does_not) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        setting s;
        int64_t batch;
        ons_answer answer, more;
        ons_report r;
        make_setting(seed, 0.5, &s);
        expect_success(ons_report_make(&s.options, arena, &r));
        ons_question q = r.asked;
        expect_success(ons_what_if_largest(&q, &batch, &answer));
        cr_expect_eq(batch, r.largest_batch);
        if (batch > 0) cr_expect(answer.feasible && answer.fullest_bytes <= q.capacity_bytes);
        q.batch = batch + MICRO_BATCHES;
        expect_success(ons_what_if(&q, &more));
        cr_expect(more.known && !more.feasible, "seed %llu: %lld is not the largest", (unsigned long long)seed,
                  (long long)batch);
        ons_report_free(&r);
    }
}

Test(report, what_does_not_fit_shows_the_least_and_changes_that_do) {
    uint32_t refused = 0;
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        setting s;
        ons_report r;
        make_setting(seed, 0.05, &s);
        s.devices[0].money_per_hour = s.devices[1].money_per_hour = 1;
        expect_success(ons_report_make(&s.options, arena, &r));
        refused += !r.fits;
        if (r.fits) cr_expect_eq(r.changes.count, 0);
        if (!r.fits) {
            cr_expect(r.shown != NULL && r.fullest_bytes <= r.least_bytes && r.fullest_bytes > r.asked.capacity_bytes,
                      "seed %llu", (unsigned long long)seed);
            cr_expect(r.changes.count > 0, "seed %llu: the large device does", (unsigned long long)seed);
        }
        for (uint32_t i = 0; i < r.changes.count; ++i) {
            const ons_report_row *row = &r.changes.items[i], *before = i == 0 ? row : row - 1;
            cr_expect(row->answer.feasible && row->answer.fullest_bytes <= row->question.capacity_bytes);
            cr_expect(ons_what_if_money(&before->question, &before->answer) <=
                      ons_what_if_money(&row->question, &row->answer));
        }
        ons_report_free(&r);
    }
    cr_expect(refused >= CASES / 2, "only %u of %d cases did not fit", refused, CASES);
}

Test(report, other_sizes_of_a_fixed_batch_are_not_known) {
    setting s;
    ons_report r;
    make_setting(1, 2, &s);
    for (int i = 0; i < DEVICES; ++i) s.devices[i].single.high = s.devices[i].summed.high = NULL;
    expect_success(ons_report_make(&s.options, arena, &r));
    cr_expect_eq(r.largest_batch, 0);
    for (uint32_t b = 0; b < r.grid->batch_count; ++b)
        for (uint32_t i = 0; i < r.grid->stage_count; ++i) {
            const ons_report_row *cell = &r.grid->cells[0][i][b];
            cr_expect_eq(cell->answer.known, cell->question.batch == 4 * cell->question.micro_batches);
        }
    ons_report_free(&r);
}

/* --------------------------------------------------------------------------------------------------------- replicas */

static ons_question ask_replicas(const setting *s, uint32_t replicas) {
    return (ons_question){
        .device = &s->devices[0],
        .partition = s->options.partition,
        .memory = s->problem.memory,
        .generator = s->problem.pipeline.generator,
        .stages = STAGES,
        .replicas = replicas,
        .batch = 4 * MICRO_BATCHES * replicas,
        .micro_batches = MICRO_BATCHES,
    };
}

/* With links that cost nothing R replicas do R times the work in the same time. */
Test(report, replicas_multiply_samples_devices_and_the_largest_batch) {
    enum { REPLICAS = 3 };
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        setting s;
        ons_answer one, three;
        int64_t batch_of_one, batch_of_three;
        make_setting(seed, 2, &s);
        s.devices[0].money_per_hour = 2;
        ons_question q = ask_replicas(&s, 1), r = ask_replicas(&s, REPLICAS);
        expect_success(ons_what_if(&q, &one));
        expect_success(ons_what_if(&r, &three));
        cr_assert(one.feasible && three.feasible, "seed %llu", (unsigned long long)seed);
        cr_expect_eq(ons_question_rows(&q), ons_question_rows(&r));
        cr_expect_eq(ons_question_all_devices(&r), REPLICAS * STAGES);
        cr_expect(one.step_seconds == three.step_seconds && three.reduce_seconds == 0);
        cr_expect_float_eq(three.samples_per_second, REPLICAS * one.samples_per_second,
                           1e-9 * three.samples_per_second);
        cr_expect_float_eq(ons_what_if_money(&q, &one), ons_what_if_money(&r, &three),
                           1e-9 * ons_what_if_money(&q, &one));
        q.capacity_bytes = r.capacity_bytes = s.devices[0].capacity_bytes;
        expect_success(ons_what_if_largest(&q, &batch_of_one, &one));
        expect_success(ons_what_if_largest(&r, &batch_of_three, &three));
        cr_expect(batch_of_one > 0 && batch_of_three == REPLICAS * batch_of_one, "seed %llu: %lld and %lld",
                  (unsigned long long)seed, (long long)batch_of_one, (long long)batch_of_three);
    }
}

/* A link that is slow enough for nothing to hide the sum: the last bucket is no more than the whole of it. */
Test(report, the_sum_over_replicas_is_what_it_adds_to_a_step) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        setting s;
        ons_answer alone, two;
        make_setting(seed, 2, &s);
        ons_question q = ask_replicas(&s, 1), r = ask_replicas(&s, 2);
        q.stages = r.stages = 1;
        s.profiles[0].link_bandwidth = 1e3;
        s.profiles[0].link_latency = 1e-6;
        expect_success(ons_what_if(&q, &alone));
        expect_success(ons_what_if(&r, &two));
        cr_assert(alone.feasible && two.feasible);
        cr_expect(alone.reduce_seconds == 0 && two.reduce_seconds > 0, "seed %llu", (unsigned long long)seed);
        cr_expect_float_eq(two.step_seconds, alone.step_seconds + two.reduce_seconds, 1e-9 * two.step_seconds,
                           "seed %llu", (unsigned long long)seed);
    }
}

static bool same_answer(const ons_answer *a, const ons_answer *b) {
    return a->known == b->known && a->feasible == b->feasible && a->optimised == b->optimised &&
           a->step_seconds == b->step_seconds && a->samples_per_second == b->samples_per_second &&
           a->reduce_seconds == b->reduce_seconds && a->recompute_seconds == b->recompute_seconds &&
           a->stall_seconds == b->stall_seconds && a->fullest_bytes == b->fullest_bytes &&
           a->least_bytes == b->least_bytes;
}

Test(report, layouts_use_all_devices_and_answer_what_is_asked_of_each) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        setting s;
        ons_report r;
        make_setting(seed, 0.6, &s);
        s.options.batch = 4 * MICRO_BATCHES * 4;
        expect_success(ons_report_make(&s.options, arena, &r));
        uint32_t own = 0, shares[3] = {0};
        for (uint32_t i = 0; i < r.layouts.count; ++i) {
            const ons_report_row *row = &r.layouts.items[i];
            int64_t devices = ons_question_all_devices(&row->question);
            ons_answer again;
            own += ons_question_devices(&row->question) == STAGES && ons_question_replicas(&row->question) == 1;
            for (int k = 0; k < 3; ++k) shares[k] += devices == (int64_t)STAGES << k;
            cr_expect_eq(row->question.batch, s.options.batch);
            cr_expect(row->answer.known);
            expect_success(ons_what_if(&row->question, &again));
            cr_expect(same_answer(&again, &row->answer));
            if (row->answer.feasible) cr_expect_leq(row->answer.fullest_bytes, r.asked.capacity_bytes);
        }
        cr_expect_eq(own, 1);
        /* 3 devices: 3 x 1, 1 x 3; 6: 6, 3, 2 and 1 stages; 12: those of 12 */
        cr_expect(shares[0] == 2 && shares[1] == 4 && shares[2] == 6, "%u %u %u", shares[0], shares[1], shares[2]);
        ons_report_free(&r);
    }
}

Test(report, updates_between_micro_batches_have_no_replicas) {
    setting s;
    ons_answer answer;
    make_setting(1, 2, &s);
    ons_question q = ask_replicas(&s, 2);
    q.generator = &ons_generator_pipedream;
    expect_success(ons_what_if(&q, &answer));
    cr_expect_not(answer.known);
    q.replicas = 1;
    expect_success(ons_what_if(&q, &answer));
    cr_expect(answer.known);
}

/* Four replicas of one stage each hold all weights; the same devices as stages hold a part of them. */
Test(report, fewer_replicas_of_more_stages_are_a_change_that_fits) {
    uint32_t refused = 0;
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        setting s;
        ons_report r;
        bool offered = false;
        make_setting(seed, 0.55, &s);
        s.problem.pipeline = (ons_pipeline){&ons_generator_one_f_one_b, 1, 1, 0, 4};
        s.problem.memory = s.options.planned->problem.memory;
        s.options.batch = 16;
        s.options.micro_batches = 1;
        expect_success(ons_planner_search(&s.problem, s.options.partition, arena, &s.planned));
        expect_success(ons_report_make(&s.options, arena, &r));
        refused += !r.fits;
        for (uint32_t i = 0; i < r.changes.count; ++i) {
            const ons_report_row *row = &r.changes.items[i];
            bool layout = strstr(row->what, "--replicas") != NULL;
            offered |= layout;
            if (layout)
                cr_expect(row->answer.feasible && ons_question_all_devices(&row->question) == 4 && row->rank == 0);
        }
        bool one_fits = false; /* of the layouts of four devices with fewer replicas */
        for (uint32_t i = 0; i < r.layouts.count; ++i)
            one_fits |= ons_question_all_devices(&r.layouts.items[i].question) == 4 &&
                        ons_question_replicas(&r.layouts.items[i].question) < 4 && r.layouts.items[i].answer.feasible;
        cr_expect_eq(offered, !r.fits && one_fits, "seed %llu", (unsigned long long)seed);
        ons_report_free(&r);
    }
    cr_expect_gt(refused, 0u);
}
