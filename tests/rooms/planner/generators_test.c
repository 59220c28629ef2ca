/* Schedules of every generator: lists that are whole and can run, the closed forms of their papers, their memory. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planner/schedule/flexpipe.h"
#include "planner/schedule/looped.h"
#include "planner/schedule/separate.h"
#include "tests/rooms/planner/longest_path.h"
#include "tests/rooms/planner/schedule_lists.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(generators, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void expect_refusal(ons_status *status, const char *part) {
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect_eq(ons_status_get_code(status), ONS_INVALID_ARGUMENT);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

static ons_schedule make(const ons_generator *generator, uint32_t stages, uint32_t devices, uint32_t micro_batches) {
    ons_schedule schedule;
    expect_success(ons_schedule_make(&(ons_pipeline){generator, stages, micro_batches, devices, 1}, arena, &schedule));
    cr_assert_eq(schedule.devices, devices);
    return schedule;
}

static ons_status *refuse(const ons_generator *generator, uint32_t stages, uint32_t devices, uint32_t micro_batches) {
    ons_schedule schedule;
    return ons_schedule_make(&(ons_pipeline){generator, stages, micro_batches, devices, 1}, arena, &schedule);
}

static double step_of(const ons_schedule *schedule, stage_times each) {
    stage_times times[64];
    for (uint32_t i = 0; i < schedule->stages; ++i) times[i] = each;
    longest_path path = longest_path_find(schedule, times, 0, arena);
    cr_assert_not(path.hangs);
    return path.step;
}

static void expect_step(const ons_schedule *s, stage_times t, double expected, const char *name) {
    double step = step_of(s, t);
    cr_expect(fabs(step - expected) <= 1e-12 * expected,
              "%s, %u stages on %u devices, %u micro-batches: %.15g, not %.15g", name, s->stages, s->devices,
              s->micro_batches, step, expected);
}

/* ----------------------------------------------------------------------------------------------------- closed forms */

static const uint32_t sizes[] = {2, 4, 8};
static const stage_times some_times[] = {{1, 1, 1}, {1, 1.25, 0.75}, {0.7, 0.9, 0.3}, {3, 1.5, 1.5}, {0.4, 1.1, 0.4}};
enum { TIMES = sizeof some_times / sizeof *some_times };

Test(generators, gpipe_and_1f1b_take_what_their_closed_form_says) {
    for (int i = 0; i < 3; ++i)
        for (uint32_t p = sizes[i], m = p; m <= 4 * p; m *= 2)
            for (int k = 0; k < TIMES; ++k) {
                stage_times t = some_times[k];
                double expected = (m + p - 1) * (t.forward + t.input + t.weight);
                ons_schedule gpipe = make(&ons_generator_gpipe, p, p, m);
                ons_schedule alternating = make(&ons_generator_one_f_one_b, p, p, m);
                expect_step(&gpipe, t, expected, "gpipe");
                expect_step(&alternating, t, expected, "1f1b");
            }
}

/* Times are those of a stage: a device's whole work of one micro-batch is that of all its stages. */
Test(generators, interleaved_takes_what_its_closed_form_says) {
    for (int i = 0; i < 3; ++i)
        for (uint32_t p = sizes[i], m = p; m <= 4 * p; m += m == p + 1 ? p - 1 : m == p ? 1 : m)
            for (uint32_t chunks = 1; chunks <= 4; chunks *= 2)
                for (int k = 0; k < TIMES; ++k) {
                    stage_times t = some_times[k];
                    ons_schedule s = make(&ons_generator_interleaved, p * chunks, p, m);
                    expect_step(&s, t, (chunks * m + p - 1) * (t.forward + t.input + t.weight), "interleaved");
                }
}

/* With i >= w the bubble is (p - 1)(f + i - w). That needs f >= w, too: in the memory of 1F1B the first stage waits for
 * the first gradient with every place taken, (p - 1) i, whatever its weight gradients could fill later. */
Test(generators, zb_h1_takes_what_its_closed_form_says) {
    static const stage_times long_weights[] = {{0.3, 1, 0.8}, {0.1, 2, 2}};
    for (int i = 0; i < 3; ++i)
        for (uint32_t p = sizes[i], m = p; m <= 4 * p; m *= 2) {
            ons_schedule s = make(&ons_generator_zero_bubble, p, p, m);
            for (int k = 0; k < TIMES; ++k) {
                stage_times t = some_times[k];
                expect_step(&s, t, m * (t.forward + t.input + t.weight) + (p - 1) * (t.forward + t.input - t.weight),
                            "zb-h1");
            }
            for (int k = 0; k < 2; ++k) {
                stage_times t = long_weights[k];
                expect_step(&s, t, m * (t.forward + t.input + t.weight) + (p - 1) * t.input, "zb-h1, f < w");
            }
        }
}

/* ----------------------------------------------------------------------------------------------------------- memory */

Test(generators, zb_h1_holds_no_more_than_the_first_stage_of_1f1b) {
    for (uint32_t p = 1; p <= 9; ++p)
        for (uint32_t m = 1; m <= 4 * p; ++m) {
            ons_schedule s = make(&ons_generator_zero_bubble, p, p, m);
            for (uint32_t i = 0; i < p; ++i) {
                cr_assert_leq(s.loads[i].in_flight, p, "stage %u of %u, %u micro-batches", i, p, m);
                cr_assert(s.loads[i].apart);
            }
        }
}

/* ------------------------------------------------------------------------------------------------------ every point */

static void check_point(const ons_generator *generator, uint32_t stages, uint32_t devices, uint32_t micro_batches) {
    char place[128], damage[128];
    ons_schedule s = make(generator, stages, devices, micro_batches), shorter;
    snprintf(place, sizeof place, "%s, %u stages on %u devices, %u micro-batches", generator->name, stages, devices,
             micro_batches);
    cr_assert(schedule_lists_are_good(&s, arena, damage), "%s: %s", place, damage);
    uint32_t fewer = 1 + micro_batches / 2;
    if (fewer >= micro_batches) return;
    expect_success(ons_schedule_shorten(&s, fewer, arena, &shorter));
    cr_assert(schedule_lists_are_good(&shorter, arena, damage), "%s, shortened to %u: %s", place, fewer, damage);
}

static uint32_t most_chunks(const ons_generator *generator) {
    if (generator->chunks == 1) return 1;
    return generator == &ons_generator_v ? 2 : 4;
}

Test(generators, every_generator_makes_lists_that_run) {
    for (const ons_generator *const *g = ons_generators; *g != NULL; ++g)
        for (uint32_t devices = 1; devices <= 6 && (*g)->group == NULL; ++devices)
            for (uint32_t chunks = 1; chunks <= most_chunks(*g); ++chunks)
                for (uint32_t m = 1; m <= 3 * devices + 2; ++m) {
                    check_point(*g, devices * chunks, devices, m);
                    if (m % 8 == 0) free_arena(), make_arena();
                }
}

Test(generators, every_generator_makes_lists_that_run_at_random_points) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        random_source random = {seed};
        uint32_t kinds = 0;
        while (ons_generators[kinds] != NULL) ++kinds;
        const ons_generator *g = ons_generators[random_below(&random, kinds)];
        if (g->group != NULL) continue; /* chimera_test */
        uint32_t devices = 1 + random_below(&random, 12), chunks = 1 + random_below(&random, most_chunks(g));
        cr_log_info("seed %llu\n", (unsigned long long)seed);
        check_point(g, devices * chunks, devices, 1 + random_below(&random, 50));
        free_arena(), make_arena();
    }
}

Test(generators, devices_that_do_not_divide_the_stages_are_refused) {
    expect_refusal(refuse(&ons_generator_interleaved, 7, 3, 6), "take 6 or 9 --stages");
    expect_refusal(refuse(&ons_generator_looped, 7, 3, 6), "take 6 or 9 --stages");
    expect_refusal(refuse(&ons_generator_zero_bubble, 4, 2, 6), "each stage on a device of its own");
}

Test(generators, one_stage_on_a_device_is_1f1b) {
    for (uint32_t p = 1; p <= 6; ++p)
        for (uint32_t m = 1; m <= 14; ++m) {
            ons_schedule s = make(&ons_generator_interleaved, p, p, m);
            ons_schedule expected = make(&ons_generator_one_f_one_b, p, p, m);
            cr_assert(ons_schedule_equal(&s, &expected), "%u stages, %u micro-batches", p, m);
        }
}

/* ----------------------------------------------------------------------------------------------------------- looped */

static ons_schedule make_vectors(const char *text) {
    ons_looped_vectors *v = ons_arena_allocate(arena, 1, sizeof *v);
    const ons_generator *g;
    expect_success(ons_looped_parse(text, arena, v));
    expect_success(ons_generator_of_vectors(v, text, arena, &g));
    return make(g, v->loops * v->devices, v->devices, v->micro_batches);
}

/* Forward parts before the first backward part. */
static uint32_t fetched(const ons_schedule *s, uint32_t device) {
    uint32_t n = 0;
    while (s->lists[device].items[n].kind == ONS_ACTION_FORWARD) ++n;
    return n;
}

Test(generators, presets_of_the_looped_paper) {
    static const struct {
        const char *name;
        uint32_t fetched[4];
    } drawn[] = {
        {"gpipe", {8, 8, 8, 8}},    {"pipedream", {4, 4, 3, 1}}, {"dapple", {4, 3, 2, 1}},
        {"terapipe", {8, 8, 8, 8}}, {"megatron", {11, 9, 7, 5}}, {"breadth-first", {32, 32, 32, 32}},
    };
    char damage[128];
    for (int i = 0; i < 6; ++i) {
        ons_schedule s = make_vectors(drawn[i].name);
        cr_assert_str_eq(ons_looped_presets[i].name, drawn[i].name);
        cr_assert(schedule_lists_are_good(&s, arena, damage), "%s: %s", drawn[i].name, damage);
        for (uint32_t device = 0; device < 4; ++device)
            cr_expect_eq(fetched(&s, device), drawn[i].fetched[device], "%s, device %u: %u", drawn[i].name, device,
                         fetched(&s, device));
    }
}

Test(generators, presets_are_the_schedules_that_they_name) {
    ons_schedule looped[] = {make_vectors("gpipe"), make_vectors("dapple"), make_vectors("megatron")};
    ons_schedule expected[] = {make(&ons_generator_gpipe, 4, 4, 8), make(&ons_generator_one_f_one_b, 4, 4, 6),
                               make(&ons_generator_interleaved, 8, 4, 8)};
    for (int i = 0; i < 3; ++i) cr_expect(ons_schedule_equal(&looped[i], &expected[i]), "preset %d", i);
}

Test(generators, vectors_run_where_they_are_taken) {
    uint32_t taken = 0, refused = 0;
    char damage[128];
    for (uint64_t seed = 1; seed <= 2000; ++seed) {
        random_source random = {seed};
        uint32_t prefetch[5], devices = 1 + random_below(&random, 5);
        for (uint32_t i = 0; i < devices; ++i) prefetch[i] = random_below(&random, seed % 2 ? 3 : 16);
        ons_looped_vectors v = {0, 1 + random_below(&random, 3), devices + random_below(&random, 3), devices, prefetch};
        ons_pipeline p = {NULL, v.loops * devices, v.loop_micro_batches * (1 + random_below(&random, 3)), devices, 1};
        ons_schedule s;
        expect_success(ons_generator_of_vectors(&v, "vectors", arena, &p.generator));
        ons_status *status = ons_schedule_make(&p, arena, &s);
        ++*(status == NULL ? &taken : &refused);
        if (status == NULL)
            cr_assert(schedule_lists_are_good(&s, arena, damage), "seed %llu: %s", (unsigned long long)seed, damage);
        ons_status_free(status);
        if (seed % 50 == 0) free_arena(), make_arena();
    }
    cr_assert(taken > 500 && refused > 100, "%u taken, %u refused: the test says little", taken, refused);
}

static ons_status *read_vectors(const char *text) {
    ons_looped_vectors v;
    return ons_looped_parse(text, arena, &v);
}

Test(generators, vectors_that_are_none_are_refused) {
    static const char *const bad[] = {
        "", "gpip", "(8, 2, 4)", "(8, 2, 4, ())", "(8, 0, 4, (1))", "(8, 2, 4, (3, 2)) x", "(8, 2, 99999999999, (1))"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) expect_refusal(read_vectors(bad[i]), "or one of gpipe, ");
    static const uint32_t rising[] = {0, 2}, steep[] = {9, 0};
    ons_looped_vectors v = {8, 2, 2, 2, rising};
    const ons_generator *g;
    expect_success(ons_generator_of_vectors(&v, "looped", arena, &g));
    expect_refusal(refuse(g, 4, 2, 8), "rises by 1 at most");
    expect_refusal(refuse(g, 4, 2, 6), "B = 8");
    expect_refusal(refuse(g, 6, 2, 8), "take 4 stages");
    v.prefetch = steep;
    expect_refusal(refuse(g, 4, 2, 8), "take less prefetch");
    v.loop_micro_batches = 3;
    expect_refusal(refuse(g, 4, 2, 8), "must divide");
}

/* Two stages of 15 and 10, a link of 1, two micro-batches, each with the forward part before it as a parent. */
Test(generators, looped_paper_figure_2_starts_the_second_forward_part_at_31) {
    static const stage_times times[] = {{15, 15, 15}, {10, 10, 10}};
    ons_schedule s = make(&ons_generator_gpipe, 2, 2, 2);
    longest_path path = longest_path_find(&s, times, 1, arena);
    cr_assert_not(path.hangs);
    cr_expect_float_eq(path.forward[3] - times[1].forward, 31, 1e-12);
}

/* --------------------------------------------------------------------------------------------------------- FlexPipe */

static ons_schedule make_flexpipe(const ons_flexpipe_options *options, uint32_t stages, uint32_t devices, uint32_t m) {
    const ons_generator *g;
    expect_success(ons_generator_of_flexpipe(options, "flexpipe", arena, &g));
    return make(g, stages, devices, m);
}

/* FlexPipe's figure 5. It sets no limits, and so holds more than 1F1B in the same time; with 1F1B's it is 1F1B. */
Test(generators, flexpipe_makes_1f1b_and_gpipe) {
    for (uint32_t p = 1; p <= 8; ++p)
        for (uint32_t m = 1; m <= 20; ++m) {
            uint32_t limits[8];
            for (uint32_t i = 0; i < p; ++i) limits[i] = p - i;
            ons_flexpipe_options backward = {.type = ONS_BACKWARD_FIRST}, forward = {.type = ONS_FORWARD_FIRST};
            ons_schedule free = make_flexpipe(&backward, p, p, m), gpipe = make_flexpipe(&forward, p, p, m);
            backward.stage_limits = limits;
            ons_schedule limited = make_flexpipe(&backward, p, p, m);
            ons_schedule expected[] = {make(&ons_generator_one_f_one_b, p, p, m), make(&ons_generator_gpipe, p, p, m)};
            cr_assert(ons_schedule_equal(&limited, &expected[0]), "%u stages, %u micro-batches", p, m);
            cr_assert(ons_schedule_equal(&gpipe, &expected[1]), "%u stages, %u micro-batches", p, m);
            cr_assert_eq(step_of(&free, some_times[0]), step_of(&expected[0], some_times[0]));
        }
}

/* The priorities of figure 9: circular, interleaved, (breadth-first, D) forward, (depth-first, D) backward. */
Test(generators, flexpipe_takes_the_time_of_interleaved) {
    for (int i = 0; i < 3; ++i)
        for (uint32_t p = sizes[i], m = p; m <= 4 * p; m += p)
            for (uint32_t chunks = 1; chunks <= 4; ++chunks) {
                ons_flexpipe_options o = {.placement = ONS_PLACEMENT_CIRCULAR,
                                          .type = ONS_INTERLEAVED,
                                          .forward = {.depth_first = false, .interval = p},
                                          .backward = {.depth_first = true, .interval = p}};
                ons_schedule s = make_flexpipe(&o, p * chunks, p, m);
                for (int k = 0; k < TIMES; ++k) {
                    stage_times t = some_times[k];
                    expect_step(&s, t, (chunks * m + p - 1) * (t.forward + t.input + t.weight), "flexpipe");
                }
                ons_schedule interleaved = make(&ons_generator_interleaved, p * chunks, p, m);
                if (m == p && chunks > 1)
                    cr_expect(ons_schedule_equal(&s, &interleaved), "%u devices, %u chunks", p, chunks);
            }
}

static ons_flexpipe_options random_options(random_source *random, uint32_t devices, uint32_t chunks) {
    uint32_t *limits = ons_arena_allocate(arena, devices * chunks, sizeof *limits);
    uint32_t *places = ons_arena_allocate(arena, devices, sizeof *places);
    for (uint32_t i = 0; i < devices * chunks; ++i) limits[i] = 1 + random_below(random, 2 * devices);
    for (uint32_t i = 0; i < devices; ++i) places[i] = chunks + random_below(random, 2 * devices);
    return (ons_flexpipe_options){
        .placement = (ons_placement)(chunks == 1 ? random_below(random, 3) : 1 + random_below(random, 2)),
        .type = (ons_type_priority)random_below(random, 3),
        .forward_unit = random_below(random, 4),
        .backward_unit = random_below(random, 4),
        .forward = {random_chance(random, 0.5), random_below(random, 2) * random_below(random, 6)},
        .backward = {random_chance(random, 0.5), random_below(random, 2) * random_below(random, 6)},
        .stage_limits = random_chance(random, 0.5) ? limits : NULL,
        .device_limits = random_chance(random, 0.5) ? places : NULL};
}

static void check_limits(const ons_flexpipe_options *o, const ons_schedule *s, uint64_t seed) {
    for (uint32_t i = 0; o->stage_limits != NULL && i < s->stages; ++i)
        cr_assert_leq(s->loads[i].in_flight, o->stage_limits[i], "seed %llu", (unsigned long long)seed);
    for (uint32_t device = 0; o->device_limits != NULL && device < s->devices; ++device) {
        uint32_t held = 0;
        for (uint32_t i = 0; i < s->lists[device].count; ++i) {
            held += s->lists[device].items[i].kind == ONS_ACTION_FORWARD;
            cr_assert_leq(held, o->device_limits[device], "seed %llu", (unsigned long long)seed);
            held -= s->lists[device].items[i].kind == ONS_ACTION_BACKWARD;
        }
    }
}

Test(generators, flexpipe_makes_lists_that_run_whatever_the_options) {
    char damage[128];
    for (uint64_t seed = 1; seed <= 2000; ++seed) {
        random_source random = {seed};
        uint32_t devices = 1 + random_below(&random, 6), chunks = 1 + random_below(&random, 4);
        ons_flexpipe_options o = random_options(&random, devices, chunks);
        ons_schedule s = make_flexpipe(&o, devices * chunks, devices, 1 + random_below(&random, 20));
        cr_assert(schedule_lists_are_good(&s, arena, damage), "seed %llu: %s", (unsigned long long)seed, damage);
        check_limits(&o, &s, seed);
        if (seed % 50 == 0) free_arena(), make_arena();
    }
}

Test(generators, v_holds_what_the_first_stage_of_1f1b_holds) {
    for (uint32_t p = 1; p <= 8; ++p)
        for (uint32_t m = 1; m <= 4 * p; ++m) {
            ons_schedule s = make(&ons_generator_v, 2 * p, p, m);
            for (uint32_t d = 0; d < p; ++d) {
                cr_assert_eq(s.device_of[2 * p - 1 - d], d);
                uint32_t halves = s.loads[d].in_flight + s.loads[2 * p - 1 - d].in_flight;
                cr_assert_leq(halves, 2 * p, "device %u of %u, %u micro-batches: %u", d, p, m, halves);
            }
            if (m % p == 0) expect_step(&s, (stage_times){2, 1, 1}, (2 * m + p - 1) * 4, "v");
        }
}

Test(generators, limits_and_placements_that_cannot_be_are_refused) {
    static const uint32_t none[] = {1, 0, 1, 1}, few[] = {2, 1};
    ons_flexpipe_options o = {.placement = ONS_PLACEMENT_CIRCULAR, .stage_limits = none};
    const ons_generator *g;
    expect_success(ons_generator_of_flexpipe(&o, "flexpipe", arena, &g));
    expect_refusal(refuse(g, 4, 2, 4), "stage 1 may hold no micro-batch");
    o.stage_limits = NULL, o.device_limits = few;
    expect_refusal(refuse(g, 4, 2, 4), "device 1 may hold 1 micro-batches in flight");
    expect_refusal(refuse(g, 5, 2, 4), "take 4 or 6 --stages");
    o.placement = ONS_PLACEMENT_ONE_TO_ONE;
    expect_refusal(refuse(g, 4, 2, 4), "each stage on a device of its own");
    expect_refusal(refuse(&ons_generator_v, 6, 2, 4), "take 4 --stages");
}

/* ---------------------------------------------------------------------------------------------- gradient separation */

static ons_schedule separate(const ons_schedule *s, const stage_times *times, const uint32_t *in_flight) {
    ons_stage_times *same = ons_arena_allocate(arena, s->stages, sizeof *same);
    ons_schedule separate;
    for (uint32_t i = 0; i < s->stages; ++i)
        same[i] = (ons_stage_times){times[i].forward, times[i].input, times[i].weight};
    expect_success(ons_schedule_separate(s, same, in_flight, arena, &separate));
    return separate;
}

/* The bubble of 1F1B, (p - 1)(f + i + w), becomes (p - 1)(f + i - w) where i, f >= w, in the memory of ZB-H1. */
Test(generators, separation_makes_1f1b_as_fast_as_zb_h1) {
    for (int i = 0; i < 3; ++i)
        for (uint32_t p = sizes[i], m = p; m <= 4 * p; m *= 2) {
            ons_schedule whole = make(&ons_generator_one_f_one_b, p, p, m);
            for (int k = 0; k < TIMES; ++k) {
                stage_times t = some_times[k], all[8];
                for (uint32_t stage = 0; stage < p; ++stage) all[stage] = t;
                ons_schedule apart = separate(&whole, all, NULL);
                expect_step(&apart, t,
                            m * (t.forward + t.input + t.weight) + (p - 1) * (t.forward + t.input - t.weight),
                            "1f1b taken apart");
                for (uint32_t stage = 0; stage < p; ++stage) cr_assert_leq(apart.loads[stage].in_flight, p);
            }
        }
}

typedef struct separation_case {
    ons_schedule whole;
    stage_times times[64];
    uint32_t in_flight[64];
} separation_case;

static separation_case random_separation(random_source *random) {
    separation_case c;
    uint32_t kinds = 0, chosen;
    while (ons_generators[kinds] != NULL) ++kinds;
    do chosen = random_below(random, kinds);
    while (ons_generators[chosen]->asynchronous || ons_generators[chosen] == &ons_generator_zero_bubble ||
           ons_generators[chosen]->group != NULL);
    const ons_generator *g = ons_generators[chosen];
    uint32_t devices = 1 + random_below(random, 6), chunks = 1 + random_below(random, most_chunks(g));
    c.whole = make(g, devices * chunks, devices, 1 + random_below(random, 16));
    for (uint32_t i = 0; i < c.whole.stages; ++i) {
        c.times[i] = (stage_times){0.5 + random_unit(random), 0.5 + random_unit(random), 0.2 + random_unit(random)};
        c.in_flight[i] = c.whole.loads[i].in_flight + random_below(random, 4);
    }
    return c;
}

Test(generators, separation_is_never_slower_and_stays_within_its_limits) {
    char damage[128];
    uint32_t faster = 0;
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        random_source random = {seed};
        separation_case c = random_separation(&random);
        ons_schedule apart = separate(&c.whole, c.times, c.in_flight);
        cr_assert(schedule_lists_are_good(&apart, arena, damage), "seed %llu: %s", (unsigned long long)seed, damage);
        double before = longest_path_find(&c.whole, c.times, 0, arena).step;
        double after = longest_path_find(&apart, c.times, 0, arena).step;
        cr_assert_leq(after, before * (1 + 1e-12), "seed %llu", (unsigned long long)seed);
        faster += after < before * 0.999;
        for (uint32_t i = 0; i < apart.stages; ++i)
            cr_assert_leq(apart.loads[i].in_flight, c.in_flight[i], "seed %llu, stage %u", (unsigned long long)seed, i);
        if (seed % 20 == 0) free_arena(), make_arena();
    }
    cr_assert_gt(faster, 200, "%u of 300 are faster", faster);
}

Test(generators, what_cannot_be_taken_apart_is_refused) {
    static const ons_stage_times times[] = {{1, 1, 1}, {1, 1, 1}};
    ons_schedule apart, asynchronous = make(&ons_generator_pipedream, 2, 2, 4);
    ons_schedule divided = make(&ons_generator_zero_bubble, 2, 2, 4);
    expect_refusal(ons_schedule_separate(&asynchronous, times, NULL, arena, &apart), "take a synchronous one");
    expect_refusal(ons_schedule_separate(&divided, times, NULL, arena, &apart), "whole backward parts");
}
