/* --precision fp16: the scale of the loss, and steps that are skipped. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/rooms/training/fixture.h"

enum { STEPS = 6 };

/* Inputs a hundred times too large: the first layer's gradients overflow float16 with the scale that runs begin with,
 * and with some smaller ones. */
static run overflowing(const char *optimizer) {
    run r = run_golden("mlp");
    set(&r, "precision", "fp16");
    set(&r, "optimizer", optimizer);
    set(&r, "lr", "1e-5");
    set(&r, "normalize", "x=0,0.01");
    set_number(&r, "steps", STEPS);
    return r;
}

static void expect_skips(const char *optimizer, const char *stages) {
    run r = overflowing(optimizer);
    set(&r, "stages", stages);
    set(&r, "micro-batches", "2");
    run_open(&r);
    double scale = 65536;
    int skipped = 0;
    for (int i = 0; i < STEPS; ++i) {
        weights before = read_weights(&r);
        ons_step_report report = run_step(&r);
        weights after = read_weights(&r);
        cr_expect_eq(report.loss_scale, scale, "step %d: the scale is %g instead of %g", i + 1, report.loss_scale,
                     scale);
        cr_expect_eq(weights_equal(&before, &after), report.skipped, "step %d", i + 1);
        cr_expect_eq(isnan(report.grad_norm), report.skipped, "step %d", i + 1);
        cr_expect(i > 0 || report.skipped, "the first step was not skipped: this test tries nothing");
        skipped += report.skipped;
        scale /= report.skipped ? 2 : 1;
        weights_free(&before);
        weights_free(&after);
    }
    cr_expect_lt(skipped, STEPS, "no step was taken");
    run_close(&r);
}

Test(loss_scale, skipped_steps_change_nothing) { expect_skips("adamw", "1"); }
Test(loss_scale, all_stages_skip) { expect_skips("adamw", "3"); }
Test(loss_scale, momentum) { expect_skips("sgd", "1"); }
Test(loss_scale, adagrad) { expect_skips("adagrad", "1"); }
Test(loss_scale, rmsprop) { expect_skips("rmsprop", "2"); }

/* With the scale taken out again, clipping and norms are those of float32, nearly. */
Test(loss_scale, norms_are_of_the_gradients_without_it) {
    double norms[2];
    for (int i = 0; i < 2; ++i) {
        run r = run_golden("mlp");
        set(&r, "precision", i == 0 ? "fp32" : "fp16");
        set(&r, "clip-norm", "0.1");
        set_number(&r, "steps", 1);
        run_open(&r);
        norms[i] = run_step(&r).grad_norm;
        run_close(&r);
    }
    cr_expect(fabs(norms[1] - norms[0]) <= 1e-2 * norms[0], "%g instead of %g", norms[1], norms[0]);
}

Test(loss_scale, is_logged_and_resumed) {
    char folder[PATH_BYTES], log[PATH_BYTES];
    scratch_path(folder, "checkpoint");
    scratch_path(log, "log");
    weights whole, resumed;
    {
        run r = overflowing("adamw");
        set(&r, "log-json", log);
        run_open(&r);
        for (int i = 0; i < STEPS; ++i) run_step(&r);
        must(ons_trainer_finish(r.trainer));
        whole = read_weights(&r);
        run_close(&r);
    }
    log_lines lines = read_log(log);
    cr_assert_eq(lines.count, STEPS);
    cr_expect_eq(log_number(&lines, 0, "loss_scale"), 65536);
    cr_expect_eq(log_number(&lines, 1, "loss_scale"), 32768);
    log_free(&lines);
    for (int part = 0; part < 2; ++part) {
        run r = overflowing("adamw");
        set(&r, "checkpoint", folder);
        set_number(&r, "checkpoint-every", 2);
        if (part == 1) set(&r, "resume", "true");
        run_open(&r);
        for (int i = part * 2; i < (part == 0 ? 2 : STEPS); ++i) run_step(&r);
        if (part == 1) resumed = read_weights(&r);
        run_close(&r);
    }
    cr_expect(weights_equal(&whole, &resumed));
    weights_free(&whole);
    weights_free(&resumed);
    unlink(log);
}
