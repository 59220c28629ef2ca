/* Two runs with one seed give the same bits, also where samples are shuffled and activations dropped. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "tests/rooms/training/fixture.h"

enum { STEPS = 15 }; /* more than an epoch of every golden model: the order of samples changes on the way */

typedef struct outcome {
    double losses[STEPS];
    weights weights;
} outcome;

typedef struct setting {
    const char *model, *optimizer, *dropout, *momentum;
    int threads, batch; /* 0: golden.json's */
    long long seed;
} setting;

static outcome train(const setting *s) {
    outcome o;
    run r = run_golden(s->model);
    set(&r, "shuffle", "true");
    set(&r, "dropout", s->dropout);
    set(&r, "optimizer", s->optimizer);
    set(&r, "lr", "0.01");
    set(&r, "momentum", s->momentum);
    set(&r, "clip-norm", "1");
    set_number(&r, "threads", s->threads);
    if (s->batch > 0) set_number(&r, "batch", s->batch);
    set_number(&r, "seed", s->seed);
    set_number(&r, "steps", STEPS);
    run_open(&r);
    for (int i = 0; i < STEPS; ++i) o.losses[i] = run_step(&r).loss;
    o.weights = read_weights(&r);
    run_close(&r);
    return o;
}

static uint64_t bits(double value) {
    uint64_t result;
    memcpy(&result, &value, sizeof result);
    return result;
}

static void check_same(const setting *s) {
    outcome first = train(s), second = train(s);
    for (int i = 0; i < STEPS; ++i)
        cr_assert_eq(bits(first.losses[i]), bits(second.losses[i]),
                     "%s, %d threads: loss of step %d has the bits %016" PRIx64 " and %016" PRIx64, s->model,
                     s->threads, i + 1, bits(first.losses[i]), bits(second.losses[i]));
    cr_assert(weights_equal(&first.weights, &second.weights), "%s, %d threads: weights differ", s->model, s->threads);
    weights_free(&first.weights);
    weights_free(&second.weights);
}

static bool same_losses(const setting *a, const setting *b) {
    outcome first = train(a), second = train(b);
    bool same = true;
    for (int i = 0; i < STEPS; ++i) same &= bits(first.losses[i]) == bits(second.losses[i]);
    weights_free(&first.weights);
    weights_free(&second.weights);
    return same;
}

#define GPT(THREADS, DROPOUT, SEED) ((setting){"gpt_tied", "adamw", DROPOUT, "0", THREADS, 0, SEED})

Test(determinism, dropout_as_exported_one_thread) { check_same(&GPT(1, "graph", 7)); }

Test(determinism, dropout_as_exported_two_threads) { check_same(&GPT(2, "graph", 7)); }

Test(determinism, dropout_by_ratio_one_thread) { check_same(&GPT(1, "0.1", 7)); }

Test(determinism, dropout_by_ratio_two_threads) { check_same(&GPT(2, "0.1", 7)); }

/* The file fixes four samples: a batch of 16 runs in four parts. */
Test(determinism, micro_batches) { check_same(&(setting){"gpt_tied", "sgd", "0.1", "0.9", 2, 16, 3}); }

Test(determinism, batch_normalisation) {
    check_same(&(setting){"cnn_dynamic", "sgd", "graph", "0.9", 2, 0, 3});
    check_same(&(setting){"resnet18", "sgd", "graph", "0.9", 2, 0, 3});
}

/* What the two runs share is not that the options are ignored. */
Test(determinism, seed_and_dropout_matter) {
    cr_assert_not(same_losses(&GPT(1, "0.1", 7), &GPT(1, "0.1", 8)), "the seed changes nothing");
    cr_assert_not(same_losses(&GPT(1, "0.1", 7), &GPT(1, "off", 7)), "dropout changes nothing");
    cr_assert_not(same_losses(&GPT(1, "graph", 7), &GPT(1, "off", 7)), "the file's dropout changes nothing");
}
