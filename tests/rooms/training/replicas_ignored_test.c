/* Replicas against plain training where targets that do not count are unevenly spread: a step's loss is the mean over
 * the targets that count in all replicas together, so weights go the same way but for roundings. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "tests/rooms/training/fixture.h"

enum { STEPS = 20 };

typedef struct setting {
    const char *model, *input_name;
    int64_t batch;
    const array *input, *target;
} setting;

static weights train(const setting *s, int replicas) {
    run r = run_without_data(s->model);
    must(ons_config_array(r.config, s->input_name, false, &s->input->view));
    must(ons_config_array(r.config, "target", false, &s->target->view));
    set(&r, "optimizer", "sgd");
    set(&r, "lr", "0.05");
    set(&r, "threads", "1");
    set_number(&r, "batch", s->batch);
    set_number(&r, "replicas", replicas);
    set_number(&r, "steps", STEPS);
    run_open(&r);
    for (int i = 0; i < STEPS; ++i) run_step(&r);
    weights result = read_weights(&r);
    run_close(&r);
    return result;
}

/* Of each batch the samples of the first replicas have few targets that count, those of the last ones all. */
static void ignore_unevenly(array *target, int64_t batch) {
    int64_t count = (int64_t)(target->bytes / sizeof(int64_t)), of_sample = count / target->dims[0];
    for (int64_t i = 0; i < count; ++i) {
        int64_t place = i / of_sample % batch;
        if (place < batch / 2 && i % 7 != 0) ((int64_t *)target->data)[i] = -100;
    }
}

static void compare(const char *model, const char *input_name, int64_t batch) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "tests/agreement/golden/%s/input.npy", model);
    array input = read_npy(path);
    snprintf(path, sizeof path, "tests/agreement/golden/%s/target.npy", model);
    array target = read_npy(path);
    input.view.dims = input.dims;
    target.view.dims = target.dims;
    ignore_unevenly(&target, batch);
    const setting s = {model, input_name, batch, &input, &target};
    weights plain = train(&s, 1);
    for (int replicas = 2; replicas <= 4; ++replicas) {
        weights shared = train(&s, replicas);
        cr_assert_eq(shared.count, plain.count);
        double most = 0;
        for (size_t i = 0; i < plain.count; ++i) {
            double apart = fabs((double)shared.values[i] - (double)plain.values[i]);
            most = apart <= most ? most : apart; /* NaN, too */
        }
        cr_expect(most <= 1e-5, "%s, %d replicas: a weight is %.3g apart", model, replicas, most);
        weights_free(&shared);
    }
    weights_free(&plain);
    array_free(&input);
    array_free(&target);
}

Test(replicas, ignored_targets_of_samples, .timeout = 300) { compare("mlp", "x", 24); }

Test(replicas, ignored_targets_of_tokens, .timeout = 300) { compare("dynamo_gpt", "tokens", 8); }
