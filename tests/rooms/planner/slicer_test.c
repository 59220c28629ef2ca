/* AutoPipe's Slicer: how many micro-batches it halves, and what the halves do to a simulated step. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "planner/schedule/action_text.h"
#include "planner/schedule/csv.h"
#include "planner/schedule/slicer.h"
#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/random_work.h"

enum { MOST_STAGES = 12 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(slicer, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void expect_refusal(ons_status *status, const char *part) {
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)); }

typedef struct step {
    double startup, seconds;
    int64_t bytes[MOST_STAGES];
} step;

/* A node is a stage. */
static step simulate(const ons_planning_problem *p, const ons_schedule *schedule) {
    uint32_t first[MOST_STAGES + 1];
    step s = {.startup = INFINITY};
    ons_pipeline_forecast f;
    for (uint32_t i = 0; i <= p->pipeline.stages; ++i) first[i] = i;
    ons_pipeline_setup setup = {.problem = p, .first = first, .schedule = schedule};
    expect_success(ons_pipeline_simulate(&setup, arena, &f));
    s.seconds = f.iteration_seconds;
    for (uint32_t i = 0; i < f.device_count; ++i) s.bytes[i] = f.devices[i].peak_bytes;
    for (ons_task_id i = 0; i < ons_simulation_task_count(f.simulation); ++i) {
        const ons_task_spec *task = ons_simulation_task(f.simulation, i);
        if (task->action.kind == ONS_ACTION_FORWARD && task->action.stage + 1 == p->pipeline.stages)
            s.startup = fmin(s.startup, ons_simulation_times(f.simulation, i).start);
    }
    ons_simulation_free(f.simulation);
    return s;
}

static ons_planning_problem make_problem(const ons_workload *work, uint32_t micro_batches) {
    uint32_t stages = work->node_count;
    return (ons_planning_problem){.work = work,
                                  .pipeline = {&ons_generator_one_f_one_b, stages, micro_batches, stages, 1}};
}

static void make_even(uint32_t stages, ons_workload *work) {
    expect_success(uniform_work_make(stages, arena, work));
    for (uint32_t i = 0; i < stages; ++i) work->nodes[i].update_seconds = 0;
    expect_success(ons_workload_finish(work, arena));
}

static uint32_t count(const ons_workload *work, uint32_t micro_batches) {
    double forward[MOST_STAGES], backward[MOST_STAGES];
    for (uint32_t i = 0; i < work->node_count; ++i) {
        forward[i] = ons_work_forward_seconds(work, i, i + 1);
        backward[i] = ons_work_backward_seconds(work, i, i + 1);
    }
    ons_slicer_stages s = {forward, backward, 0, work->node_count, micro_batches};
    return ons_slicer_count(&s);
}

static ons_schedule slice(const ons_pipeline *pipeline, uint32_t micro_batches) {
    ons_schedule whole, sliced;
    expect_success(ons_schedule_make(pipeline, arena, &whole));
    expect_success(ons_schedule_slice(&whole, micro_batches, arena, &sliced));
    return sliced;
}

/* Figure 8: one micro-batch at four stages. Two stages gain nothing (figure 10). */
Test(slicer, as_many_as_are_needed) {
    static const uint32_t expected[] = {[1] = 0, 0, 1, 1, 1, 2, 2, 2};
    for (uint32_t stages = 1; stages <= 8; ++stages) {
        ons_workload work;
        make_even(stages, &work);
        uint32_t found = count(&work, 2 * stages);
        cr_expect(found == expected[stages], "%u stages: %u", stages, found);
        cr_expect(count(&work, 1) <= 1);
    }
}

/* Equal stages over free links: the start is halved, and as much is won of the step, in no more memory. */
Test(slicer, halves_the_start_of_the_step) {
    for (uint32_t stages = 3; stages <= MOST_STAGES; ++stages)
        for (uint32_t m = stages; m <= 3 * stages; m += stages) {
            ons_workload work;
            make_even(stages, &work);
            ons_planning_problem p = make_problem(&work, m);
            ons_schedule whole = slice(&p.pipeline, 0), sliced = slice(&p.pipeline, count(&work, m));
            expect_success(ons_schedule_verify(&sliced, NULL, arena));
            step before = simulate(&p, &whole), after = simulate(&p, &sliced);
            cr_expect(near(before.startup, (stages - 1) * 1e-3) && near(after.startup, before.startup / 2),
                      "%u stages: %g, whole %g", stages, after.startup, before.startup);
            cr_expect(near(after.seconds, before.seconds - before.startup / 2), "%u stages, %u micro-batches: %g, %g",
                      stages, m, after.seconds, before.seconds);
            for (uint32_t i = 0; i < stages; ++i)
                cr_expect(after.bytes[i] <= before.bytes[i], "%u stages, stage %u: %ld bytes, whole %ld", stages, i,
                          (long)after.bytes[i], (long)before.bytes[i]);
            for (uint32_t i = 0; i < stages; ++i) cr_expect(sliced.loads[i].in_flight == whole.loads[i].in_flight);
        }
}

/* More is not better: the first micro-batches' start is halved by the first alone, and with fewer than are needed the
 * first stage comes late. */
Test(slicer, more_slices_win_no_more) {
    ons_workload work;
    make_even(8, &work);
    ons_planning_problem p = make_problem(&work, 16);
    double seconds[8];
    for (uint32_t n = 0; n < 8; ++n) {
        ons_schedule s = slice(&p.pipeline, n);
        seconds[n] = simulate(&p, &s).seconds;
    }
    uint32_t enough = count(&work, 16);
    cr_expect(seconds[enough] < seconds[enough - 1]);
    for (uint32_t n = enough; n < 8; ++n) cr_expect(near(seconds[n], seconds[enough]), "%u slices", n);
}

/* Where the reader takes the micro-batch whole, its halves are one message; else two, with the same bytes. */
Test(slicer, halves_go_together_to_who_takes_them_whole) {
    ons_workload work;
    make_even(4, &work);
    ons_planning_problem p = make_problem(&work, 8);
    p.link_bandwidth = 1e9;
    ons_schedule s = slice(&p.pipeline, 2);
    uint32_t first[] = {0, 1, 2, 3, 4}, messages[3][2] = {{0}};
    ons_pipeline_setup setup = {.problem = &p, .first = first, .schedule = &s};
    ons_pipeline_forecast f;
    expect_success(ons_pipeline_simulate(&setup, arena, &f));
    for (ons_task_id i = 0; i < ons_simulation_task_count(f.simulation); ++i) {
        const ons_action *a = &ons_simulation_task(f.simulation, i)->action;
        if (a->kind == ONS_ACTION_SEND_ACTIVATION && a->micro_batch < 2) ++messages[a->stage][a->micro_batch];
    }
    for (uint32_t stage = 0; stage < 3; ++stage) cr_expect_eq(messages[stage][0], 2);
    cr_expect(messages[0][1] == 2 && messages[1][1] == 2); /* the third stage's second forward part is in its warm-up */
    cr_expect_eq(messages[2][1], 1);                       /* the last has come to a backward part */
    ons_simulation_free(f.simulation);
}

/* Random stages over free links: the first stage's parts begin earlier or as before, and so does all that follows. */
Test(slicer, never_slows_a_step_down) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        random_source random = {seed};
        ons_workload work;
        random_work_options options = {
            .seed = seed, .nodes = 2 + random_below(&random, MOST_STAGES - 1), .heavy_tailed = seed % 2};
        expect_success(random_work_make(&options, arena, &work));
        uint32_t m = 1 + random_below(&random, 20), n = random_below(&random, m + 1);
        ons_planning_problem p = make_problem(&work, m);
        if (seed % 3 == 0) p.pipeline.generator = &ons_generator_gpipe;
        if (seed % 3 == 1 && work.node_count % 2 == 0) {
            p.pipeline.generator = &ons_generator_interleaved;
            p.pipeline.devices = work.node_count / 2;
        }
        ons_schedule whole = slice(&p.pipeline, 0), sliced = slice(&p.pipeline, n);
        step before = simulate(&p, &whole), after = simulate(&p, &sliced);
        cr_expect(after.seconds <= before.seconds * (1 + 1e-12), "seed %lu, %u of %u sliced: %g, whole %g", seed, n, m,
                  after.seconds, before.seconds);
        for (uint32_t i = 0; i < work.node_count && p.pipeline.devices == work.node_count; ++i) {
            ons_stage_memory memory;
            ons_work_stage_memory(&work, i, i + 1, &sliced.loads[i], &memory);
            cr_expect(after.bytes[i] <= memory.total, "seed %lu, stage %u: %ld bytes of %ld", seed, i,
                      (long)after.bytes[i], (long)memory.total);
        }
    }
}

/* The lists come back from a file, which says the same again. */
Test(slicer, files_say_halves) {
    ons_pipeline p = {&ons_generator_one_f_one_b, 4, 8, 4, 1};
    ons_schedule s = slice(&p, 2), again;
    char *first, *second;
    expect_success(ons_schedule_print_csv(&s, &first));
    cr_expect(strncmp(first, "0F0/2,0F1/2,0F2,", 16) == 0, "%s", first);
    expect_success(ons_schedule_parse_csv(first, strlen(first), arena, &again));
    cr_expect(ons_schedule_equal(&s, &again));
    expect_success(ons_schedule_print_csv(&again, &second));
    cr_expect_str_eq(first, second);
    free(first);
    free(second);
    static const char *const wrong[] = {"0F0,0B0/2\n", "0F0/3,0B0\n", "0F0/2/2,0B0\n", "0F0/,0B0\n",
                                        "0UNSHARD/2,0F0,0B0\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        expect_refusal(ons_schedule_parse_csv(wrong[i], strlen(wrong[i]), arena, &again), "is no action");
}

Test(slicer, halves_are_of_forward_parts_of_synchronous_schedules) {
    ons_pipeline p = {&ons_generator_one_f_one_b, 4, 8, 4, 1};
    ons_schedule s = slice(&p, 1), whole;
    static const char *const wrong[] = {"2B0/2", "2F0/3", "2F0/", "2F0/2/2", "2F0/22", "2F/2"};
    char text[ONS_ACTION_TEXT];
    ons_action action;
    uint32_t last;
    cr_expect_str_eq(ons_action_print(&s.lists[2].items[0], text), "2F0/2");
    cr_expect(ons_action_parse(text, &action, &last) && action.halved && action.stage == 2 && last == 0);
    cr_expect(ons_action_parse("2F0-3/2", &action, &last) && action.halved && last == 3);
    cr_expect(ons_action_parse("2F0", &action, &last) && !action.halved);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        cr_expect(!ons_action_parse(wrong[i], &action, &last), "%s", wrong[i]);
    expect_success(ons_schedule_make(&p, arena, &whole));
    cr_expect(!ons_schedule_equal(&s, &whole));
    for (uint32_t i = 0; i < s.lists[0].count; ++i)
        if (s.lists[0].items[i].kind == ONS_ACTION_BACKWARD) s.lists[0].items[i].halved = true;
    expect_refusal(ons_schedule_verify(&s, NULL, arena), "only forward parts");
    p.generator = &ons_generator_pipedream;
    expect_success(ons_schedule_make(&p, arena, &whole));
    expect_refusal(ons_schedule_slice(&whole, 1, arena, &s), "asynchronous");
}
