#include "tests/rooms/training/wrong_label.h"

#include <criterion/criterion.h>

#include "tests/rooms/training/fixture.h"

enum { BATCH = 16, ROW = 40, LABEL = 10 }; /* labels are 0 to 9 */

void expect_wrong_label_changes_nothing(const char *const *options, const char *what) {
    run r = run_without_data("mlp");
    array input = read_npy("tests/agreement/golden/mlp/input.npy"),
          target = read_npy("tests/agreement/golden/mlp/target.npy");
    input.view.dims = input.dims;
    target.view.dims = target.dims;
    ((int64_t *)target.data)[ROW] = LABEL;
    must(ons_config_array(r.config, "x", false, &input.view));
    must(ons_config_array(r.config, "target", false, &target.view));
    set(&r, "optimizer", "sgd");
    set(&r, "lr", "0.01");
    set(&r, "steps", "11"); /* not all samples: their labels are looked at by the steps alone */
    for (; *options != NULL; options += 2) set(&r, options[0], options[1]);
    run_open(&r);
    for (int i = 0; i < ROW / BATCH; ++i) run_step(&r);
    weights before = read_weights(&r);
    ons_step_report report;
    must_fail(ons_trainer_step(r.trainer, &report), ONS_INVALID_DATA, "step 3", "node 'loss", "10", NULL);
    weights after = read_weights(&r);
    cr_expect(weights_equal(&before, &after), "%s: a weight has changed", what);
    weights_free(&before);
    weights_free(&after);
    run_close(&r);
    array_free(&input);
    array_free(&target);
}
