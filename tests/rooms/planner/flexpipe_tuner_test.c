/* FlexPipe's tuner: the number of points, what pruning leaves out, memory, and how long the search takes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "planner/search/flexpipe_tuner.h"
#include "tests/rooms/planner/random_work.h"
#include "tests/rooms/planner/vision_work.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(flexpipe_tuner, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ------------------------------------------------------------------------------------------------------------ works */

enum { SIZES = 8 };

/* For micro-batches of 1, 2, 4, … samples. */
typedef struct works {
    ons_workload of[SIZES];
} works;

static ons_status *find_work(void *context, int64_t samples, const ons_workload **work) {
    works *w = context;
    *work = &w->of[__builtin_ctzll((uint64_t)samples)];
    return NULL;
}

/* The paper's GPT without its embedding: 64 layers of 2560, 64 heads, 512 tokens, 5 billion parameters. */
static works *gpt_5b(uint32_t blocks) {
    works *w = ons_arena_allocate(arena, 1, sizeof *w);
    for (uint32_t i = 0; i < SIZES; ++i) {
        vision_work_options o = vision_work_gpt2((int64_t)1 << i);
        o.blocks = blocks;
        o.hidden = 2560;
        o.inner = 10240;
        o.heads = 64;
        expect_success(vision_work_make(&o, arena, &w->of[i]));
    }
    return w;
}

/* Chains whose times grow with the number of samples, each node's by a rule of its own. */
static works *random_chain(uint64_t seed, uint32_t nodes) {
    works *w = ons_arena_allocate(arena, 1, sizeof *w);
    for (uint32_t i = 0; i < SIZES; ++i) {
        random_source random = {seed};
        random_work_options o = {.seed = seed, .nodes = nodes};
        expect_success(random_work_make(&o, arena, &w->of[i]));
        for (uint32_t k = 0; k < nodes; ++k) {
            double factor = 0.5 + random_unit(&random) + (double)(1 << i);
            w->of[i].nodes[k].forward_seconds *= factor;
            w->of[i].nodes[k].input_gradient_seconds *= factor;
            w->of[i].nodes[k].weight_gradient_seconds *= factor;
        }
        expect_success(ons_workload_finish(&w->of[i], arena));
    }
    return w;
}

static ons_flexpipe_tuner tuner(works *w, uint32_t devices, int64_t batch) {
    return (ons_flexpipe_tuner){.space = {.least_devices = 2,
                                          .most_devices = devices,
                                          .batch = batch,
                                          .least_samples = 1,
                                          .most_samples = 1 << (SIZES - 1),
                                          .chunks = 2,
                                          .copies = true},
                                .works = {find_work, w}};
}

static ons_flexpipe_tuning tune(const ons_planning_problem *p, const ons_flexpipe_tuner *t) {
    ons_flexpipe_tuning result;
    expect_success(ons_flexpipe_tune(p, t, arena, &result));
    return result;
}

/* ------------------------------------------------------------------------------------------------------------ space */

/* The product of section 6 with the placements that are there: pp, mbs, and 32 + 8 + 8 types. */
Test(flexpipe_tuner, points_are_the_papers_product) {
    works *w = gpt_5b(16);
    const ons_planning_problem p = {0};
    uint32_t exponent = 1;
    for (uint32_t devices = 2; devices <= 8; devices *= 2, ++exponent) {
        ons_flexpipe_tuner t = tuner(w, devices, 32);
        uint64_t pairs = 0;
        for (uint32_t pp = 2; pp <= devices; pp *= 2)
            for (int64_t mbs = 1; mbs <= 32 / (devices / pp); mbs *= 2) ++pairs;
        cr_expect_eq(tune(&p, &t).points, pairs * (4 * 4 * 2 + 2 * 2 * 2 + 2 * 2 * 2));
        t.exhaustive = true;
        if (devices == 2) cr_expect_eq(tune(&p, &t).made, pairs * 48);
    }
    ons_flexpipe_space wide = {.chunks = 2, .forward_first = true, .intervals = true, .limits = true};
    cr_expect_eq(ons_flexpipe_types(&wide, ONS_PLACEMENT_V), 4 * 4 * 3 * 3);
}

/* Each number of a type is a type of its own. */
Test(flexpipe_tuner, types_differ) {
    const ons_flexpipe_space space = {.chunks = 2, .forward_first = true, .limits = true};
    for (uint32_t placement = 0; placement < ONS_PLACEMENTS; ++placement) {
        uint32_t count = ons_flexpipe_types(&space, (ons_placement)placement);
        for (uint32_t i = 0; i < count; ++i)
            for (uint32_t k = 0; k < i; ++k) {
                ons_flexpipe_type a = ons_flexpipe_type_at(&space, (ons_placement)placement, 4, i);
                ons_flexpipe_type b = ons_flexpipe_type_at(&space, (ons_placement)placement, 4, k);
                cr_expect(strcmp(ons_flexpipe_name(&a, arena), ons_flexpipe_name(&b, arena)) != 0);
            }
    }
}

/* ---------------------------------------------------------------------------------------------------------- pruning */

static void compare(const ons_planning_problem *p, ons_flexpipe_tuner t, const char *name, uint64_t seed) {
    ons_flexpipe_tuning pruned = tune(p, &t);
    t.exhaustive = true;
    ons_flexpipe_tuning all = tune(p, &t);
    cr_assert_eq(pruned.best.feasible, all.best.feasible, "%s %lu", name, seed);
    cr_expect_eq(pruned.points, all.points);
    if (!all.best.feasible) return;
    cr_expect_float_eq(pruned.best.step_seconds, all.best.step_seconds, 1e-8 * all.best.step_seconds,
                       "%s %lu, %u devices: %.12g, of all points %.12g", name, seed, t.space.most_devices,
                       pruned.best.step_seconds, all.best.step_seconds);
    cr_expect_lt(pruned.simulated, all.simulated);
}

static ons_planning_problem random_device(const works *w, uint32_t devices, random_source *random) {
    static const ons_stage_load one = {.in_flight = 1, .versions = 1, .accumulates = true};
    ons_planning_problem p = {0};
    if (random_chance(random, 0.7)) p.link_bandwidth = random_between(random, 1e7, 1e9, true);
    if (random_chance(random, 0.5)) {
        ons_stage_memory m;
        ons_work_stage_memory(&w->of[0], 0, w->of[0].node_count, &one, &m);
        p.capacity_bytes = (int64_t)((double)m.total * (0.5 + 3 * random_unit(random)) / devices);
    }
    return p;
}

Test(flexpipe_tuner, up_to_four_devices_it_is_an_exhaustive_search) {
    for (uint64_t seed = 1; seed <= 30; ++seed) {
        random_source random = {seed};
        works *w = random_chain(seed, 12 + random_below(&random, 30));
        uint32_t devices = seed % 2 == 0 ? 2 : 4;
        ons_planning_problem p = random_device(w, devices, &random);
        ons_flexpipe_tuner t = tuner(w, devices, 16);
        t.space.forward_first = t.space.limits = seed % 3 == 0;
        compare(&p, t, "seed", seed);
        free_arena(), make_arena();
    }
}

Test(flexpipe_tuner, from_eight_devices_on_pruning_loses_nothing) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        random_source random = {seed};
        uint32_t devices = 8u << seed % 3;
        works *w = random_chain(seed, 2 * devices + random_below(&random, 60));
        ons_planning_problem p = random_device(w, devices, &random);
        ons_flexpipe_tuner t = tuner(w, devices, 32);
        t.space.least_devices = devices / 2;
        compare(&p, t, "seed", seed);
        free_arena(), make_arena();
    }
    for (uint32_t devices = 8; devices <= 32; devices *= 2) {
        ons_planning_problem p = {.link_bandwidth = 50e9, .link_latency = 1e-5};
        works *w = gpt_5b(64);
        ons_flexpipe_tuner t = tuner(w, devices, 32);
        t.space.least_devices = devices;
        compare(&p, t, "GPT", 0);
    }
}

/* What section 6 leaves out (forward first, and intervals with other placements than the circular one) can be faster,
 * seldom and not by much. */
Test(flexpipe_tuner, what_the_papers_rules_leave_out) {
    double worst = 0;
    uint32_t slower = 0, cases = 0;
    for (uint64_t seed = 1; seed <= 9; ++seed) {
        random_source random = {seed};
        uint32_t devices = 8u << seed % 3;
        works *w = random_chain(seed, 2 * devices + random_below(&random, 60));
        ons_planning_problem p = random_device(w, devices, &random);
        ons_flexpipe_tuner t = tuner(w, devices, 32);
        double ruled = tune(&p, &t).best.step_seconds;
        t.space.forward_first = t.space.intervals = true;
        ons_flexpipe_tuning wide = tune(&p, &t);
        if (wide.best.feasible) {
            ++cases;
            slower += ruled > wide.best.step_seconds * (1 + 1e-9);
            worst = fmax(worst, ruled / wide.best.step_seconds - 1);
        }
        free_arena(), make_arena();
    }
    printf("without forward first and intervals everywhere: %u of %u slower, by %.2f %% at most\n", slower, cases,
           100 * worst);
    cr_expect_lt(worst, 0.1);
}

/* ----------------------------------------------------------------------------------------------------------- memory */

Test(flexpipe_tuner, memory_is_a_constraint) {
    works *w = gpt_5b(32);
    ons_planning_problem p = {.link_bandwidth = 50e9, .link_latency = 1e-5};
    ons_flexpipe_tuner t = tuner(w, 4, 32);
    t.space.limits = true;
    ons_flexpipe_tuning free = tune(&p, &t);
    cr_assert(free.best.feasible);
    double before = 0;
    uint32_t feasible = 0;
    for (int share = 100; share >= 10; share -= 15) {
        p.capacity_bytes = free.best.bytes / 100 * share + 100;
        ons_flexpipe_tuning capped = tune(&p, &t);
        if (!capped.best.feasible) break;
        ++feasible;
        cr_expect_leq(capped.best.bytes, p.capacity_bytes);
        cr_expect_geq(capped.best.step_seconds, before);
        before = capped.best.step_seconds;
    }
    cr_expect_gt(feasible, 1);
    p.capacity_bytes = 1;
    ons_flexpipe_tuning none = tune(&p, &t);
    cr_expect(!none.best.feasible && none.best.bytes > 1);
}

/* Weight gradients in bubbles make it no slower. */
Test(flexpipe_tuner, separation_helps) {
    works *w = gpt_5b(32);
    ons_planning_problem p = {.link_bandwidth = 50e9, .link_latency = 1e-5};
    ons_flexpipe_tuner t = tuner(w, 4, 8);
    t.space.least_devices = 4;
    double whole = tune(&p, &t).best.step_seconds;
    t.separate = true;
    ons_flexpipe_tuning apart = tune(&p, &t);
    cr_expect_lt(apart.best.step_seconds, whole);
    cr_expect(apart.best.separated);
}

/* ------------------------------------------------------------------------------------------------------------- work */

/* On the model of the paper's figure 12 and devices of 80 GB. How long a search takes depends on the machine; what
 * takes the time are the lists that it makes and the schedules that it simulates, and those are counted. The seconds of
 * table 5 of the paper are printed beside. */
static void expect_little_work(bool copies, bool separate) {
    enum { MADE_MOST = 128, SIMULATED_MOST = 4 };
    static const double table_5[] = {4.73, 8.28, 71.28, 107.34, 534.78};
    for (int i = 0; i < 5; ++i) {
        works *w = gpt_5b(64);
        ons_planning_problem p = {.capacity_bytes = (int64_t)80e9, .link_bandwidth = 50e9, .link_latency = 1e-5};
        ons_flexpipe_tuner t = tuner(w, 2u << i, 128);
        t.space.copies = copies;
        t.separate = separate;
        double began = processor_seconds();
        ons_flexpipe_tuning x = tune(&p, &t);
        printf("%2u devices%s%s: %lu points, %lu made, %lu different, %lu refused, %lu simulated, %.3f s of %.2f s\n",
               2u << i, copies ? ", copies" : "", separate ? ", gradients apart" : "", x.points, x.made, x.different,
               x.refused, x.simulated, processor_seconds() - began, table_5[i]);
        cr_expect_leq(x.made, MADE_MOST);
        cr_expect_leq(4 * x.made, x.points);
        cr_expect_leq(x.simulated, SIMULATED_MOST);
        free_arena(), make_arena();
    }
}

Test(flexpipe_tuner, a_search_makes_few_lists_and_simulates_fewer) {
    expect_little_work(true, false);
    expect_little_work(false, false);
    expect_little_work(false, true);
}
