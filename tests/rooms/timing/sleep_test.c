/* Pipelines of layers that sleep. A sleep may last too long, where a machine has other work, and never ends too early:
 * so that a step is no shorter than the simulator says holds however busy the machine is. That it is no longer than
 * that, within 5 %, is measured by bench/pipeline_timing.sh. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "planner/schedule/schedule.h"
#include "tests/rooms/timing/sleep_run.h"

enum { COLUMNS = 8, STEPS = 4 };

static const sleep_setting usual = {.columns = COLUMNS,
                                    .steps = STEPS,
                                    .forward = 0.004,
                                    .input = 0.005,
                                    .weight = 0.003,
                                    .latency = 1e-9,
                                    .bandwidth = 1e12};

static sleep_times run(const ons_generator *generator, uint32_t stages, uint32_t micro_batches) {
    sleep_setting s = usual;
    sleep_times times;
    s.pipeline = generator->name;
    s.stages = stages;
    s.micro_batches = micro_batches;
    ons_status *status = sleep_run(&s, &times);
    cr_assert(status == NULL, "%s, %u stages: %s", s.pipeline, stages, ons_status_get_message(status));
    return times;
}

/* Layers without a first one's input gradient, one after the other. */
static double sum_of_sleeps(uint32_t layers, uint32_t micro_batches) {
    return micro_batches * (layers * (usual.forward + usual.input + usual.weight) - usual.input);
}

/* At least what is simulated; and much less than on one device. */
static void expect_step(const ons_generator *g, uint32_t stages, uint32_t micro_batches, const sleep_times *t) {
    double alone = sum_of_sleeps(stages, micro_batches);
    cr_expect(t->simulated < alone, "%s, %u stages: %g s simulated, %g s on one device", g->name, stages, t->simulated,
              alone);
    cr_expect(t->least >= 0.98 * t->simulated, "%s, %u stages: a step took %g s, simulated %g s", g->name, stages,
              t->least, t->simulated);
    cr_expect(t->least < alone, "%s, %u stages: the fastest step took %g s, on one device %g s", g->name, stages,
              t->least, alone);
}

static void try_stages(uint32_t stages) {
    sleep_times first = {0};
    for (const ons_generator *const *g = ons_generators; *g != NULL; ++g) {
        if ((*g)->group != NULL) continue;
        sleep_times t = run(*g, stages, 2 * stages);
        expect_step(*g, stages, 2 * stages, &t);
        if ((*g)->asynchronous) continue;
        if (first.weight == 0) first = t;
        cr_expect(t.loss == first.loss && t.weight == first.weight, "%s, %u stages: loss %.17g and not %.17g",
                  (*g)->name, stages, t.loss, first.loss);
    }
}

Test(sleep, every_schedule_over_4_stages) { try_stages(4); }
Test(sleep, every_schedule_over_8_stages) { try_stages(8); }

/* The two stages of a device compute one after the other. */
Test(sleep, chimera) {
    for (uint32_t stages = 2; stages <= 8; stages *= 2) {
        sleep_times t = run(&ons_generator_chimera, stages, stages);
        expect_step(&ons_generator_chimera, stages, stages, &t);
    }
}

/* Branches of three, two and one layers between a first and a last one: stages side by side, and the same bits. Of
 * fewer stages, some have layers of two branches, which wait for each its own. */
static void try_branches(uint32_t stages) {
    static const uint32_t branches[] = {3, 2, 1};
    sleep_setting s = usual;
    sleep_times line, graph;
    s.branches = branches;
    s.branch_count = 3;
    s.stages = stages;
    s.micro_batches = 12;
    s.pipeline = "1f1b";
    ons_status *status = sleep_run(&s, &line);
    cr_assert_null(status, "%s", ons_status_get_message(status));
    s.pipeline = "graphpipe";
    status = sleep_run(&s, &graph);
    cr_assert_null(status, "%s", ons_status_get_message(status));
    cr_expect(graph.loss == line.loss && graph.weight == line.weight, "loss %.17g and not %.17g", graph.loss,
              line.loss);
    cr_expect(graph.simulated <= line.simulated * (1 + 1e-6), "%g s simulated, as a line %g s", graph.simulated,
              line.simulated);
    cr_expect(line.least >= 0.98 * line.simulated, "a step took %g s, simulated %g s", line.least, line.simulated);
    cr_expect(graph.least >= 0.98 * graph.simulated, "a step took %g s, simulated %g s", graph.least, graph.simulated);
    cr_expect(graph.least < sum_of_sleeps(8, 12), "a step took %g s", graph.least);
}

Test(sleep, branches_of_unequal_length) { try_branches(8); }
Test(sleep, branches_on_half_as_many_devices) { try_branches(4); }

/* The gradient of a layer's input leaves while that of its weight is computed. */
Test(sleep, gradients_leave_when_they_are_made) {
    for (const ons_generator *const *g = ons_generators; *g != NULL; ++g) {
        sleep_setting s = usual;
        sleep_times t;
        if ((*g)->group != NULL) continue;
        s.pipeline = (*g)->name;
        s.stages = 4;
        s.micro_batches = 8;
        s.input_first = true;
        ons_status *status = sleep_run(&s, &t);
        cr_assert(status == NULL, "%s: %s", s.pipeline, ons_status_get_message(status));
        expect_step(*g, 4, 8, &t);
    }
}

/* The last of the stages begins when half a micro-batch has come through the others: no sooner, however it is timed,
 * and long before a whole one has. That it is half within 5 % is measured: bench/slicer_start.sh. */
static void try_start(uint32_t stages, uint32_t slices) {
    enum { MILLISECONDS = 30 };
    sleep_setting s = {.pipeline = "1f1b",
                       .stages = stages,
                       .micro_batches = stages,
                       .slices = slices,
                       .traced = true,
                       .columns = COLUMNS,
                       .steps = STEPS,
                       .forward = MILLISECONDS * 1e-3,
                       .input = 0.005,
                       .weight = 0.003,
                       .latency = 1e-9,
                       .bandwidth = 1e12};
    sleep_times t;
    ons_status *status = sleep_run(&s, &t);
    cr_assert(status == NULL, "%u stages, %u sliced: %s", stages, slices, ons_status_get_message(status));
    double whole = (stages - 1) * s.forward, share = slices > 0 ? 0.5 : 1;
    cr_expect(t.start >= 0.98 * share * whole, "%u stages, %u sliced: the last one begins after %g s of %g s", stages,
              slices, t.start, whole);
    cr_expect(slices == 0 || t.start < 0.9 * whole, "%u stages, %u sliced: the last one begins after %g s of %g s",
              stages, slices, t.start, whole);
}

Test(sleep, slices_halve_the_start_of_4_stages) {
    try_start(4, 0);
    try_start(4, 2);
}
Test(sleep, slices_halve_the_start_of_8_stages) {
    try_start(8, 0);
    try_start(8, 2);
}

/* The layers' weights stay alike: y = x · w^layers, and each is one of so many factors. */
static double train_by_hand(uint32_t layers, uint32_t micro_batches) {
    double w = 1;
    uint32_t rows = SLEEP_ROWS * micro_batches;
    for (int step = 0; step < STEPS; ++step) {
        double gradient = 0;
        for (uint32_t row = 0; row < rows; ++row) {
            double x = sleep_input((size_t)row * COLUMNS), wrong = x * pow(w, layers) - x / 2;
            gradient += 2 * wrong * x * pow(w, layers - 1) / (rows * COLUMNS);
        }
        w -= strtod(SLEEP_RATE, NULL) * gradient;
    }
    return w;
}

Test(sleep, the_layers_learn_what_they_should) {
    sleep_times t = run(&ons_generator_zero_bubble, 3, 6);
    double expected = train_by_hand(3, 6);
    cr_expect(fabs(expected - 1) > 1e-3, "weights hardly change: the test says little");
    cr_expect(fabs(t.weight - expected) < 1e-6, "a weight is %.9g and not %.9g", t.weight, expected);
}
