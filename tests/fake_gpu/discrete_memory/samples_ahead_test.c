/* Samples that are on the device before their step begins (runtime/pipeline/samples_ahead.h): when they are copied,
 * that bits are those of steps that copy their own, and where they have no place: then each step copies its own. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "runtime/pipeline/samples_ahead.h"
#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/rooms/pipeline/pipeline_run.h"
#include "tests/rooms/training/fixture.h"

/* The linker puts it in the place of the runtime's, which takes the samples of any test. */
enum { NOTHING_AHEAD, ANY = 1 << 28 };
static int64_t most = ANY;
int64_t __wrap_ons_samples_ahead_most(void);                 /* NOLINT */
int64_t __wrap_ons_samples_ahead_most(void) { return most; } /* NOLINT */

enum { STEPS_MOST = 8, FIELDS = 2 /* inputs and targets */ };

typedef struct result {
    int steps;
    double losses[STEPS_MOST];
    int64_t copied[STEPS_MOST]; /* fields that were copied ahead, up to the end of the step */
    int64_t arena;
    weights weights;
} result;

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static run open_run(const char *model, const char *graphs, const char *const *options, uint64_t seed) {
    run r = run_golden(model);
    discrete_seed(seed);
    cr_assert_eq(setenv("ONSTAGE_CUDA_GRAPHS", graphs, 1), 0);
    set(&r, "device", "cuda");
    set(&r, "lr", "0.01");
    for (; *options != NULL; options += 2) set(&r, options[0], options[1]);
    run_open(&r);
    return r;
}

/* `limit`: of the bytes that both places take. */
static result train(const char *model, int64_t limit, const char *graphs, const char *const *options, uint64_t seed) {
    result found = {0};
    ons_trainer_status status;
    most = limit;
    run r = open_run(model, graphs, options, seed);
    must(ons_trainer_get_status(r.trainer, &status));
    found.arena = status.arena_bytes;
    cr_expect_eq(status.arena_bytes, status.predicted_bytes);
    int64_t before = discrete_get_sample_copies().copies;
    while (!ons_trainer_done(r.trainer) && found.steps < STEPS_MOST) {
        found.losses[found.steps] = run_step(&r).loss;
        found.copied[found.steps++] = discrete_get_sample_copies().copies - before;
    }
    found.weights = read_weights(&r);
    run_close(&r);
    return found;
}

static void expect_same(const result *is, const result *should, const char *what) {
    cr_assert_eq(is->steps, should->steps);
    for (int i = 0; i < is->steps; ++i)
        cr_expect(is->losses[i] == should->losses[i], "%s: loss of step %d is %.9g instead of %.9g", what, i + 1,
                  is->losses[i], should->losses[i]);
    cr_expect(weights_equal(&is->weights, &should->weights), "%s: the weights differ", what);
}

/* When a step has been run, the samples of the next one have been copied, too. */
static void expect_ahead(const result *r, const char *what) {
    for (int i = 0; i < r->steps; ++i) {
        int steps = i + 2 < r->steps ? i + 2 : r->steps;
        cr_expect_eq(r->copied[i], FIELDS * steps, "%s: %lld fields were copied ahead up to step %d", what,
                     (long long)r->copied[i], i + 1);
    }
}

static void expect_not_ahead(const result *r, const char *what) {
    cr_expect_eq(r->copied[r->steps - 1], 0, "%s: %lld fields were copied ahead", what,
                 (long long)r->copied[r->steps - 1]);
}

/* Behind all that the step computes, and before the host waits for any of it. */
Test(samples_ahead, the_next_step_is_copied_during_a_step, .timeout = 300) {
    enum { STEPS = 4 };
    run r = open_run("mlp", "off", OPTIONS("batch", "16", "micro-batches", "4", "steps", "4"), 1);
    for (int i = 1; i <= STEPS; ++i) {
        discrete_counts before = discrete_get_counts();
        int64_t copies = discrete_get_sample_copies().copies;
        run_step(&r);
        discrete_stream_copies last = discrete_get_sample_copies();
        /* The first step copies its own, too, and behind the last one there is none. */
        cr_expect_eq(last.copies - copies, i == 1 ? 2 * FIELDS : i < STEPS ? FIELDS : 0, "step %d", i);
        if (i == STEPS) continue;
        cr_expect_eq(last.waits, before.waits, "step %d has been waited for", i);
        cr_expect_eq(last.kernels, discrete_get_counts().kernels, "step %d goes on behind the copy", i);
        cr_expect_gt(last.kernels, before.kernels);
    }
    run_close(&r);
}

/* In any order of the streams, whether steps are repeated from recordings or put on the streams each time. */
static void expect_bits(const char *model, const char *const *options) {
    result plain = train(model, NOTHING_AHEAD, "off", options, 1);
    expect_not_ahead(&plain, model);
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        result ahead = train(model, ANY, seed == 1 ? "off" : "", options, seed);
        expect_same(&ahead, &plain, model);
        expect_ahead(&ahead, model);
        weights_free(&ahead.weights);
    }
    weights_free(&plain.weights);
}

Test(samples_ahead, bits, .timeout = 600) {
    expect_bits("mlp", OPTIONS("batch", "16", "micro-batches", "4", "steps", "5", "shuffle", "true"));
    expect_bits("gpt_tied", OPTIONS("batch", "2", "micro-batches", "2", "steps", "3", "precision", "bf16"));
}

/* An epoch's last step has fewer samples: one whole micro-batch and one of two of them. */
Test(samples_ahead, bits_of_short_last_steps, .timeout = 600) {
    expect_bits("mlp", OPTIONS("rows", "0:30", "batch", "12", "micro-batches", "3", "epochs", "2"));
}

/* The first stage has inputs, the last one targets. */
Test(samples_ahead, bits_of_two_stages, .timeout = 600) {
    expect_bits("mlp", OPTIONS("batch", "16", "micro-batches", "4", "steps", "4", "stages", "2"));
}

static const char *const *some_steps(void) {
    static const char *const options[] = {"batch", "16", "micro-batches", "4", "steps", "4", NULL};
    return options;
}

/* Bytes of both places: the difference of the arenas. */
static int64_t places_of(const result *ahead, const result *plain) {
    int64_t bytes = ahead->arena - plain->arena;
    cr_assert_gt(bytes, 0);
    return bytes;
}

Test(samples_ahead, more_than_the_limit, .timeout = 300) {
    result plain = train("mlp", NOTHING_AHEAD, "", some_steps(), 1), ahead = train("mlp", ANY, "", some_steps(), 1);
    int64_t bytes = places_of(&ahead, &plain);
    result fits = train("mlp", bytes, "", some_steps(), 2), over = train("mlp", bytes - 1, "", some_steps(), 2);
    expect_same(&fits, &plain, "at the limit");
    expect_ahead(&fits, "at the limit");
    expect_same(&over, &plain, "over the limit");
    expect_not_ahead(&over, "over the limit");
    cr_expect_eq(over.arena, plain.arena);
    weights_free(&fits.weights);
    weights_free(&over.weights);
    weights_free(&ahead.weights);
    weights_free(&plain.weights);
}

/* `room`: bytes beside what a run takes that copies its samples itself. */
static result train_under_cap(const result *plain, int64_t room) {
    char cap[32];
    long long bytes = plain->arena + FAR_SLACK + room;
    snprintf(cap, sizeof cap, "%lld", bytes);
    return train("mlp", ANY, "", OPTIONS("batch", "16", "micro-batches", "4", "steps", "4", "memory", cap), 3);
}

Test(samples_ahead, no_room_under_a_cap, .timeout = 300) {
    result plain = train("mlp", NOTHING_AHEAD, "", some_steps(), 1), ahead = train("mlp", ANY, "", some_steps(), 1);
    int64_t bytes = places_of(&ahead, &plain);
    result fits = train_under_cap(&plain, bytes), none = train_under_cap(&plain, bytes - 1);
    expect_same(&fits, &plain, "with room");
    expect_ahead(&fits, "with room");
    expect_same(&none, &plain, "without room");
    expect_not_ahead(&none, "without room");
    cr_expect_eq(none.arena, plain.arena);
    weights_free(&fits.weights);
    weights_free(&none.weights);
    weights_free(&ahead.weights);
    weights_free(&plain.weights);
}

/* Each copy has its own micro-batches ahead, whatever is left of them in an epoch's last step. */
Test(samples_ahead, bits_of_copies_of_a_stage, .timeout = 600) {
    static const char *const options[] = {"device", "cuda", NULL};
    static const uint32_t copies[] = {2, 1};
    pipeline_setting s = {.model = "mlp",
                          .options = options,
                          .kind = &ons_generator_one_f_one_b,
                          .batch = 50,
                          .micro_batches = 6,
                          .stages = 2,
                          .steps = 5,
                          .copies = copies};
    pipeline_record plain, ahead;
    int64_t copied[3] = {discrete_get_sample_copies().copies};
    most = NOTHING_AHEAD;
    must(pipeline_run(&s, &plain));
    copied[1] = discrete_get_sample_copies().copies;
    most = ANY;
    discrete_seed(5);
    must(pipeline_run(&s, &ahead));
    copied[2] = discrete_get_sample_copies().copies;
    cr_expect_eq(copied[1], copied[0]);
    cr_expect_geq(copied[2] - copied[1], 5 * 3, "%lld fields, of three copies", (long long)(copied[2] - copied[1]));
    must(pipeline_compare(&plain, &ahead));
    pipeline_record_free(&plain);
    pipeline_record_free(&ahead);
}
