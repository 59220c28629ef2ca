/* Learning rates of all steps against the formulas, in the report and in the log; clipping and frozen weights. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/rooms/training/fixture.h"

enum { STEPS = 20 };

/* `warmup` steps rise linearly to the base rate, which is reached at the last of them; the rest falls to 0 at the last
 * step. */
static double formula(const char *schedule, double base, int warmup, int step) {
    if (step <= warmup) return base * step / warmup;
    double done = (double)(step - warmup) / (STEPS - warmup);
    if (schedule[0] == 'l') return base * (1 - done);
    if (schedule[1] == 'o' && schedule[2] == 's') return base * (1 + cos(acos(-1) * done)) / 2;
    return base;
}

static void check(const char *schedule, int warmup) {
    const double base = 0.02;
    char log[PATH_BYTES];
    scratch_path(log, "schedule.jsonl");
    run r = run_golden("mlp");
    set(&r, "lr", "0.02");
    set(&r, "lr-schedule", schedule);
    set_number(&r, "warmup", warmup);
    set_number(&r, "steps", STEPS);
    set(&r, "log-json", log);
    run_open(&r);
    for (int step = 1; step <= STEPS; ++step) {
        ons_step_report report = run_step(&r);
        double should = formula(schedule, base, warmup, step);
        cr_assert(fabs(report.learning_rate - should) <= 1e-12, "%s, warm-up %d: rate %.9g at step %d, not %.9g",
                  schedule, warmup, report.learning_rate, step, should);
    }
    run_close(&r);
    log_lines lines = read_log(log);
    cr_assert_eq(lines.count, STEPS);
    for (int step = 1; step <= STEPS; ++step) {
        cr_assert_eq(log_number(&lines, (size_t)step - 1, "step"), step);
        cr_assert(fabs(log_number(&lines, (size_t)step - 1, "lr") - formula(schedule, base, warmup, step)) <= 1e-9);
    }
    log_free(&lines);
    unlink(log);
}

Test(schedule, constant) {
    check("constant", 0);
    check("constant", 7);
}

Test(schedule, linear) {
    check("linear", 0);
    check("linear", 7);
}

Test(schedule, cosine) {
    check("cosine", 0);
    check("cosine", 7);
}

Test(schedule, warm_up_as_long_as_the_run) {
    check("cosine", STEPS);
    check("linear", STEPS + 10);
}

Test(schedule, unknown) {
    run r = run_golden("mlp");
    must_fail(ons_config_set(r.config, "lr-schedule", "polynomial"), ONS_INVALID_ARGUMENT, "polynomial", "cosine",
              NULL);
    run_close(&r);
}

/* The rate is what the optimiser uses: without momentum a step is -rate · gradient, so its length is rate · norm. */
Test(schedule, rate_and_clipping_reach_the_weights) {
    for (int clipped = 0; clipped < 2; ++clipped) {
        run r = run_golden("mlp");
        set(&r, "optimizer", "sgd");
        set(&r, "lr", "0.5");
        set(&r, "warmup", "4");
        set(&r, "steps", "4");
        set(&r, "clip-norm", clipped ? "0.25" : "1e6");
        run_open(&r);
        weights before = read_weights(&r);
        ons_step_report report = run_step(&r);
        weights after = read_weights(&r);
        cr_assert_gt(report.grad_norm, 0.3, "nothing to clip");
        double moved = 0;
        for (size_t i = 0; i < before.count; ++i)
            moved += ((double)after.values[i] - before.values[i]) * ((double)after.values[i] - before.values[i]);
        double should = 0.125 * (clipped ? 0.25 : report.grad_norm);
        cr_assert(fabs(sqrt(moved) - should) <= 1e-5 * should, "moved by %.9g, not %.9g", sqrt(moved), should);
        weights_free(&before);
        weights_free(&after);
        run_close(&r);
    }
}
