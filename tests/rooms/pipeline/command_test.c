/* Stages and caps as the command has them, through the public interface: the bits of one stage without a cap. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rooms/training/fixture.h"

enum { STEPS = 3 };

/* Options beyond those of the golden model; NULL: the default. */
typedef struct setting {
    const char *model, *stages, *pipeline, *micro_batches, *threads, *memory_strategy, *clip_norm;
    long long memory; /* cap; 0: none */
} setting;

typedef struct outcome {
    double losses[STEPS];
    contents log; /* losses and norms of every step, without what tells of time and memory */
    weights values;
    long long bytes; /* taken on all devices */
} outcome;

static void set_unless_null(const run *r, const char *option, const char *value) {
    if (value != NULL) set(r, option, value);
}

/* Numbers of the log that must be the same. */
static contents read_numbers(const char *path) {
    log_lines lines = read_log(path);
    size_t size = 0;
    char *text = NULL;
    FILE *stream = open_memstream(&text, &size);
    for (size_t i = 0; i < lines.count; ++i) {
        const cJSON *norm;
        fprintf(stream, "%.17g %.17g", log_number(&lines, i, "loss"), log_number(&lines, i, "grad_norm"));
        cJSON_ArrayForEach(norm, ons_json_find(lines.items[i], "grad_norms"))
            fprintf(stream, " %s=%.17g", norm->string, norm->valuedouble);
        fprintf(stream, "\n");
    }
    fclose(stream);
    log_free(&lines);
    return (contents){(unsigned char *)text, size};
}

static run configure(const setting *s, const char *log) {
    run r = run_golden(s->model);
    set_number(&r, "steps", STEPS);
    set(&r, "log-json", log);
    set(&r, "log-grad-norms", "true");
    set(&r, "optimizer", "adamw");
    set(&r, "threads", s->threads == NULL ? "1" : s->threads);
    /* Some models take no other number of samples than golden.json's. */
    const char *micro_batches = s->micro_batches == NULL ? "4" : s->micro_batches;
    ons_json *golden = read_golden(s->model);
    set_number(&r, "batch", ons_json_find(golden, "batch")->valueint * strtoll(micro_batches, NULL, 10));
    ons_json_free(golden);
    set(&r, "micro-batches", micro_batches);
    bool several = s->stages != NULL && strcmp(s->stages, "1") != 0;
    set_unless_null(&r, "stages", s->stages);
    set_unless_null(&r, "pipeline", several ? s->pipeline : NULL);
    set_unless_null(&r, "memory-strategy", several || s->memory > 0 ? s->memory_strategy : NULL);
    set_unless_null(&r, "clip-norm", s->clip_norm);
    if (s->memory > 0) set_number(&r, "memory", s->memory);
    return r;
}

static outcome train(const setting *s) {
    outcome o;
    char log[PATH_BYTES];
    scratch_path(log, "stages.jsonl");
    run r = configure(s, log);
    run_open(&r);
    for (int i = 0; i < STEPS; ++i) o.losses[i] = run_step(&r).loss;
    ons_trainer_status status;
    must(ons_trainer_get_status(r.trainer, &status));
    cr_assert_eq(status.arena_bytes, status.predicted_bytes);
    o.bytes = status.arena_bytes;
    o.values = read_weights(&r);
    must(ons_trainer_finish(r.trainer));
    run_close(&r);
    o.log = read_numbers(log);
    unlink(log);
    return o;
}

static void free_outcome(outcome *o) {
    free(o->log.bytes);
    weights_free(&o->values);
}

static void must_be_same(const outcome *a, const outcome *b, const setting *s) {
    const char *what = s->stages == NULL ? "one stage under a cap" : s->stages;
    for (size_t i = 0; i < sizeof a->losses / sizeof a->losses[0]; ++i)
        cr_assert(a->losses[i] == b->losses[i], "%s, %s: loss %zu differs", s->model, what, i + 1);
    cr_assert_str_eq((const char *)a->log.bytes, (const char *)b->log.bytes, "%s, %s: norms differ", s->model, what);
    cr_assert(weights_equal(&a->values, &b->values), "%s, %s: weights differ", s->model, what);
}

static long long try_setting(const setting *s, const outcome *whole) {
    outcome cut = train(s);
    must_be_same(whole, &cut, s);
    free_outcome(&cut);
    return cut.bytes;
}

Test(command, stages_have_the_bits_of_one) {
    static const setting settings[] = {
        {.model = "mlp", .stages = "2", .pipeline = "gpipe"},
        {.model = "lenet", .stages = "3", .pipeline = "1f1b"},
        {.model = "cnn_dynamic", .stages = "4", .pipeline = "1f1b"},
        {.model = "gpt_tied", .stages = "2", .pipeline = "1f1b"},
        {.model = "gpt_decomposed", .stages = "8", .pipeline = "gpipe", .clip_norm = "0.1"},
        {.model = "resnet18", .stages = "2", .pipeline = "1f1b", .micro_batches = "2"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
        setting one = settings[i];
        one.stages = one.pipeline = NULL;
        outcome whole = train(&one);
        try_setting(&settings[i], &whole);
        free_outcome(&whole);
    }
}

/* The least cap that is accepted, from the message of the refusal. */
static long long find_least(const setting *s) {
    setting tight = *s;
    tight.memory = 1000;
    char log[PATH_BYTES];
    scratch_path(log, "refused.jsonl");
    run r = configure(&tight, log);
    ons_status *status = run_try_open(&r);
    cr_assert_eq(ons_status_get_code(status), ONS_OUT_OF_MEMORY, "%s", ons_status_get_message(status));
    const char *number = strstr(ons_status_get_message(status), "too little: ");
    cr_assert_not_null(number, "no minimum in '%s'", ons_status_get_message(status));
    long long least = strtoll(number + strlen("too little: "), NULL, 10);
    ons_status_free(status);
    run_close(&r);
    unlink(log);
    return least;
}

/* A run under caps between the least and what it takes without one. */
static void try_caps(setting s) {
    outcome whole = train(&s);
    long long least = find_least(&s);
    cr_assert_lt(least, whole.bytes, "%s: nothing can be saved", s.model);
    for (int i = 0; i < 3; ++i) {
        s.memory = least + (whole.bytes - least) * i / 4;
        cr_assert_leq(try_setting(&s, &whole), s.memory);
    }
    free_outcome(&whole);
}

Test(command, caps_hold_and_keep_the_bits) {
    try_caps((setting){.model = "cnn_dynamic"});
    try_caps((setting){.model = "gpt_decomposed"});
    try_caps((setting){.model = "gpt_decomposed", .memory_strategy = "recompute-all"});
}

Test(command, a_cap_for_each_of_two_stages) {
    setting s = {.model = "lenet", .stages = "2"}, one = {.model = "lenet"};
    outcome whole = train(&one);
    s.memory = find_least(&s);
    cr_assert_leq(try_setting(&s, &whole), 2 * s.memory);
    free_outcome(&whole);
}
