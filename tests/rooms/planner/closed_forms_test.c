/* Steps of equal stages over free links, simulated: what the papers' formulas say, p devices, m micro-batches. */
#include <criterion/criterion.h>
#include <math.h>

#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/random_work.h"

enum { MOST_STAGES = 32 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(closed_forms, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

typedef struct stage_seconds {
    double f, i, w; /* forward, input and weight gradients */
} stage_seconds;

/* i >= w and f >= w */
static const stage_seconds some_seconds[] = {
    {1e-3, 1e-3, 1e-3}, {1e-3, 1.25e-3, 0.75e-3}, {0.7e-3, 0.9e-3, 0.3e-3}, {3e-3, 1.5e-3, 1.5e-3}};
enum { SECONDS = sizeof some_seconds / sizeof *some_seconds };
static const uint32_t sizes[] = {2, 4, 8};

/* A node is a stage. */
static double simulate(const ons_generator *generator, uint32_t stages, uint32_t devices, uint32_t m, stage_seconds t) {
    ons_workload work;
    uint32_t first[MOST_STAGES + 1];
    expect_success(uniform_work_make(stages, arena, &work));
    for (uint32_t i = 0; i < stages; ++i) {
        work.nodes[i].forward_seconds = t.f;
        work.nodes[i].input_gradient_seconds = t.i;
        work.nodes[i].weight_gradient_seconds = t.w;
        work.nodes[i].update_seconds = 0;
    }
    expect_success(ons_workload_finish(&work, arena));
    for (uint32_t i = 0; i <= stages; ++i) first[i] = i;
    ons_planning_problem p = {.work = &work, .pipeline = {generator, stages, m, devices}};
    ons_pipeline_setup setup = {.problem = &p, .first = first};
    ons_pipeline_forecast forecast;
    expect_success(ons_pipeline_simulate(&setup, arena, &forecast));
    ons_simulation_free(forecast.simulation);
    return forecast.iteration_seconds;
}

static void expect_step(const ons_generator *g, uint32_t p, uint32_t v, uint32_t m, stage_seconds t, double expected) {
    double step = simulate(g, p * v, p, m, t);
    cr_expect(fabs(step - expected) <= 1e-12 * expected,
              "%s, %u devices of %u stages, %u micro-batches, f %g, i %g, w %g: %.15g, not %.15g", g->name, p, v, m,
              t.f, t.i, t.w, step, expected);
}

Test(closed_forms, gpipe_and_1f1b) {
    for (int i = 0; i < 3; ++i)
        for (uint32_t p = sizes[i], m = p; m <= 4 * p; m *= 2)
            for (int k = 0; k < SECONDS; ++k) {
                stage_seconds t = some_seconds[k];
                double expected = (m + p - 1) * (t.f + t.i + t.w);
                expect_step(&ons_generator_gpipe, p, 1, m, t, expected);
                expect_step(&ons_generator_one_f_one_b, p, 1, m, t, expected);
            }
}

/* f and b are a device's whole work of a micro-batch, which its v stages share. */
Test(closed_forms, interleaved) {
    for (int i = 0; i < 3; ++i)
        for (uint32_t p = sizes[i], m = p; m <= 4 * p; m *= 2)
            for (uint32_t v = 1; v <= 4; v *= 2)
                for (int k = 0; k < SECONDS; ++k) {
                    stage_seconds t = some_seconds[k], share = {t.f / v, t.i / v, t.w / v};
                    double expected = (v * m + p - 1) * (t.f + t.i + t.w) / v;
                    expect_step(&ons_generator_interleaved, p, v, m, share, expected);
                }
}

Test(closed_forms, zb_h1) {
    for (int i = 0; i < 3; ++i)
        for (uint32_t p = sizes[i], m = p; m <= 4 * p; m *= 2)
            for (int k = 0; k < SECONDS; ++k) {
                stage_seconds t = some_seconds[k];
                double expected = m * (t.f + t.i + t.w) + (p - 1) * (t.f + t.i - t.w);
                expect_step(&ons_generator_zero_bubble, p, 1, m, t, expected);
            }
}
