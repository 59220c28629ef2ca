/* Pfeife's search: against its paper's figures, against all splits, and under short memory. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "planner/partition/cuts.h"
#include "planner/search/pfeife.h"
#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/random_work.h"
#include "tests/rooms/planner/vision_work.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(pfeife, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void expect_refusal(ons_status *status, const char *part) {
    cr_assert(status != NULL, "accepted; expected '%s'", part);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

/* Times are held to their bars where the compiler was asked for speed, and no sanitizer looks on. */
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { IS_FAST = 1 };
#else
enum { IS_FAST = 0 };
#endif

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ons_planning_problem pose(const ons_workload *work, uint32_t devices, uint32_t micro_batches) {
    return (ons_planning_problem){.work = work,
                                  .pipeline = {.stages = devices, .devices = devices, .micro_batches = micro_batches}};
}

static ons_workload *vision(vision_work_options options) {
    ons_workload *work = ons_arena_allocate(arena, 1, sizeof *work);
    expect_success(vision_work_make(&options, arena, work));
    return work;
}

static ons_pfeife_plan search(const ons_planning_problem *problem, uint32_t least_loops, uint32_t most_loops,
                              uint32_t most_prefetch) {
    ons_pfeife_plan plan;
    ons_pfeife_options options = {.least_loops = least_loops, .most_loops = most_loops, .most_prefetch = most_prefetch};
    expect_success(ons_pfeife_search(problem, &options, arena, &plan));
    return plan;
}

/* --------------------------------------------------------------------------------------------------------- figure 2 */

/* v1 takes 15 and v2 10, a message 1, backward parts twice as long. */
static ons_workload *figure_2(void) {
    ons_workload *work = ons_arena_allocate(arena, 1, sizeof *work);
    expect_success(uniform_work_make(2, arena, work));
    for (uint32_t i = 0; i < 2; ++i) {
        double seconds = i == 0 ? 15 : 10;
        work->nodes[i].forward_seconds = work->nodes[i].input_gradient_seconds = seconds;
        work->nodes[i].weight_gradient_seconds = seconds;
        work->nodes[i].update_seconds = 0;
    }
    expect_success(ons_workload_finish(work, arena));
    return work;
}

/* "The child node's possible starting time (31)": of the second forward part of v2. */
Test(pfeife, figure_2_starts_at_31) {
    static const uint32_t first[] = {0, 1, 2}, prefetch[] = {1, 1};
    const ons_looped_vectors vectors = {2, 1, 2, 2, prefetch};
    ons_planning_problem p = pose(figure_2(), 2, 2);
    p.link_bandwidth = 1e18;
    p.link_latency = 1;
    expect_success(ons_generator_of_vectors(&vectors, "figure 2", arena, &p.pipeline.generator));
    ons_pipeline_setup setup = {.problem = &p, .first = first};
    ons_pipeline_forecast f;
    expect_success(ons_pipeline_simulate(&setup, arena, &f));
    double start = -1;
    for (uint32_t i = 0; i < ons_simulation_task_count(f.simulation); ++i) {
        const ons_action *a = &ons_simulation_task(f.simulation, i)->action;
        if (a->kind == ONS_ACTION_FORWARD && a->stage == 1 && a->micro_batch == 1)
            start = ons_simulation_times(f.simulation, i).start;
    }
    cr_expect_float_eq(start, 31, 1e-9, "%g", start);
    ons_simulation_free(f.simulation);
}

/* ----------------------------------------------------------------------------------------------- against all splits */

static double best_of_all(const ons_planning_problem *p, uint32_t *first, uint32_t stage) {
    const ons_beam_options options = {.part_seconds = 0};
    uint32_t stages = p->pipeline.stages;
    double best = INFINITY;
    if (stage == stages) {
        ons_beam_split split = {.first = first};
        expect_success(ons_beam_measure(p, &options, arena, &split));
        return split.over_bytes == 0 ? split.seconds : INFINITY;
    }
    for (first[stage] = first[stage - 1] + 1; first[stage] + (stages - stage) <= p->work->node_count; ++first[stage])
        best = fmin(best, best_of_all(p, first, stage + 1));
    return best;
}

static ons_planning_problem small_problem(uint64_t seed, bool capped) {
    static const ons_generator *const generators[] = {&ons_generator_one_f_one_b, &ons_generator_looped,
                                                      &ons_generator_gpipe, &ons_generator_zero_bubble};
    random_source random = {seed};
    ons_workload *work = ons_arena_allocate(arena, 1, sizeof *work);
    random_work_options w = {.seed = seed, .nodes = 9 + random_below(&random, 6)};
    expect_success(random_work_make(&w, arena, work));
    ons_planning_problem p = pose(work, 3, 3 + random_below(&random, 4));
    p.pipeline.generator = generators[random_below(&random, 4)];
    if (p.pipeline.generator == &ons_generator_looped) p.pipeline.stages = 4, p.pipeline.devices = 2;
    if (random_chance(&random, 0.5)) p.link_bandwidth = random_between(&random, 1e7, 1e9, true);
    ons_schedule *schedule = ons_arena_allocate(arena, 1, sizeof *schedule);
    expect_success(ons_schedule_make(&p.pipeline, arena, schedule));
    p.schedule = schedule;
    if (!capped) return p;
    uint32_t first[8];
    int64_t bytes[4];
    for (uint32_t i = 0; i <= p.pipeline.stages; ++i) first[i] = work->node_count * i / p.pipeline.stages;
    p.capacity_bytes = (int64_t)((double)ons_cuts_bytes(&p, first, bytes) * (0.8 + 0.4 * random_unit(&random)));
    return p;
}

static void compare_with_all(bool capped, double most_mean) {
    const ons_beam_options options = {.part_seconds = 0};
    double sum = 0, worst = 0;
    uint32_t cases = 0, missed = 0;
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        uint32_t first[8] = {0};
        ons_planning_problem p = small_problem(seed, capped);
        ons_beam_split found;
        first[p.pipeline.stages] = p.work->node_count;
        double best = best_of_all(&p, first, 1);
        expect_success(ons_beam_search(&p, &options, arena, &found));
        if (found.over_bytes == 0) cr_expect_geq(found.seconds, best * (1 - 1e-9), "seed %lu", seed);
        if (isinf(best)) cr_expect_gt(found.over_bytes, 0, "seed %lu", seed);
        if (isfinite(best)) {
            ++cases;
            missed += found.over_bytes > 0;
            double gap = found.over_bytes > 0 ? 0 : found.seconds / best - 1;
            sum += gap;
            worst = fmax(worst, gap);
        }
        free_arena(), make_arena();
    }
    printf("%s: %u problems, %u with a split that fits not found, gap to the best split %.3f %% on average, at most "
           "%.2f %%\n",
           capped ? "capped" : "free", cases, missed, 100 * sum / cases, 100 * worst);
    cr_expect_lt(sum / cases, most_mean);
    cr_expect_eq(missed, 0);
}

Test(pfeife, the_beam_is_near_the_best_of_all_splits) { compare_with_all(false, 0.002); }
Test(pfeife, under_a_cap_too) { compare_with_all(true, 0.002); }

/* ---------------------------------------------------------------------------------------------------------- its ViT */

static double even_1f1b(const ons_planning_problem *problem) {
    const ons_beam_options options = {.part_seconds = 0};
    ons_planning_problem p = *problem;
    ons_schedule schedule;
    double *before;
    ons_beam_split split;
    p.pipeline.generator = &ons_generator_one_f_one_b;
    expect_success(ons_schedule_make(&p.pipeline, arena, &schedule));
    p.schedule = &schedule;
    split.first = ons_arena_allocate(arena, p.pipeline.stages + 1, sizeof *split.first);
    expect_success(ons_cuts_seconds_before(p.work, arena, &before));
    ons_cuts_even(before, p.work->node_count, 0, p.pipeline.stages, split.first);
    expect_success(ons_beam_measure(&p, &options, arena, &split));
    return split.seconds;
}

static double simulate(const ons_planning_problem *problem, const ons_pfeife_plan *plan) {
    ons_planning_problem p = *problem;
    p.pipeline = plan->pipeline;
    p.schedule = plan->schedule;
    ons_pipeline_setup setup = {.problem = &p, .first = plan->split.first, .times_alone = true};
    ons_pipeline_forecast f;
    expect_success(ons_pipeline_simulate(&setup, arena, &f));
    ons_simulation_free(f.simulation);
    return f.iteration_seconds;
}

/* Section 4.3: four devices, eight micro-batches of six images; 8 % by uneven cuts with prefetch, 16 % with loops. */
Test(pfeife, gains_on_the_vit) {
    ons_planning_problem p = pose(vision(vision_work_vit(6)), 4, 8);
    cr_assert_eq(p.work->node_count, 406);
    p.link_bandwidth = 50e9;
    p.link_latency = 1e-5;
    double plain = even_1f1b(&p);
    ons_pfeife_plan looped = search(&p, 1, 3, ONS_PFEIFE_ANY);
    double uneven = search(&p, 1, 1, 0).split.seconds, prefetch = search(&p, 1, 1, ONS_PFEIFE_ANY).split.seconds;
    double all = looped.split.seconds, simulated = simulate(&p, &looped);
    printf("of 1F1B's time with even cuts: uneven %.4f, with prefetch %.4f, with loops %.4f (simulated %.4f)\n",
           uneven / plain, prefetch / plain, all / plain, simulated / plain);
    cr_expect_leq(prefetch, 0.92 * plain);
    cr_expect_leq(all, 0.84 * plain);
    cr_expect_leq(simulated, 0.84 * plain);
}

static void expect_search_time(const vision_work_options *options, uint32_t devices, uint32_t micro_batches,
                               double most) {
    ons_planning_problem p = pose(vision(*options), devices, micro_batches);
    p.link_bandwidth = 50e9;
    p.link_latency = 1e-5;
    double began = processor_seconds();
    ons_pfeife_plan plan = search(&p, 3, 3, ONS_PFEIFE_ANY);
    double took = processor_seconds() - began;
    printf("%u nodes, %u cuts: %u schedules, %lu splits, %.3f s\n", p.work->node_count, plan.pipeline.stages - 1,
           plan.schedules, plan.looked_at, took);
    cr_expect(!IS_FAST || took < most);
}

/* The paper's largest searches, of 406 nodes and of a U-Net's 1,645, each with three loops. */
Test(pfeife, search_time) {
    vision_work_options vit = vision_work_vit(6), unet = vision_work_vit(1);
    unet.blocks = 164;
    unet.across = true;
    expect_search_time(&vit, 4, 4, 1);
    expect_search_time(&unet, 8, 8, 10);
}

/* ----------------------------------------------------------------------------------------------------------- memory */

static int64_t fullest(const ons_planning_problem *problem, const ons_pfeife_plan *plan) {
    int64_t bytes[8];
    ons_planning_problem p = *problem;
    p.pipeline = plan->pipeline;
    p.schedule = plan->schedule;
    return ons_cuts_bytes(&p, plan->split.first, bytes);
}

/* All stages of a device count. What is simulated then fits as well. */
Test(pfeife, stays_within_what_devices_hold) {
    ons_planning_problem p = pose(vision(vision_work_vit(6)), 4, 8);
    double before = 0;
    ons_pfeife_plan unlimited = search(&p, 1, 3, ONS_PFEIFE_ANY);
    int64_t all = fullest(&p, &unlimited);
    for (int share = 100; share >= 50; share -= 10) {
        p.capacity_bytes = all / 100 * share + 1;
        ons_pfeife_plan plan = search(&p, 1, 3, ONS_PFEIFE_ANY);
        if (plan.split.over_bytes > 0) break;
        cr_expect_leq(fullest(&p, &plan), p.capacity_bytes);
        cr_expect_geq(plan.split.seconds, before * 0.999, "less memory is not faster");
        before = plan.split.seconds;
    }
    p.capacity_bytes = 1 << 20;
    cr_expect_gt(search(&p, 1, 1, 0).split.over_bytes, 0);
}

/* --------------------------------------------------------------------------------------------------------- the rest */

/* A frozen half has no backward part, so that it goes to fewer devices than half of them. */
Test(pfeife, a_frozen_beginning_is_kept_whole_where_that_is_best) {
    vision_work_options options = vision_work_vit(6);
    options.frozen_blocks = 10;
    ons_planning_problem p = pose(vision(options), 4, 8);
    uint32_t frozen = ons_cuts_frozen(p.work);
    cr_assert_geq(frozen, 100);
    ons_pfeife_plan plan = search(&p, 1, 1, ONS_PFEIFE_ANY);
    cr_expect_geq(plan.split.first[1], frozen, "cut at %u in front of node %u, the first that is trained",
                  plan.split.first[1], frozen);
}

Test(pfeife, what_cannot_be_looped_is_refused) {
    ons_planning_problem p = pose(vision(vision_work_vit(1)), 4, 3);
    ons_pfeife_options options = {.most_prefetch = ONS_PFEIFE_ANY};
    ons_pfeife_plan plan;
    expect_refusal(ons_pfeife_search(&p, &options, arena, &plan), "more than 3 --micro-batches");
    p.pipeline.micro_batches = 8;
    options.beam.least_forward = 10;
    expect_refusal(ons_pfeife_search(&p, &options, arena, &plan), "take fewer loops");
}
