/* Whole runs through the public interface, drawn from a seed: a plan's file under a cap, checkpoints over stages, and
 * how a batch is split. ONSTAGE_TEST_SEEDS=A:B tries those seeds instead. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rooms/training/fixture.h"

enum { STEPS = 4, BREAK = 2 };

typedef struct draw {
    unsigned long long seed;
    uint64_t state;
    char where[128]; /* for messages */
    const char *model, *optimizer, *pipeline, *strategy, *dropout, *precision;
    int batch, micro_batches, stages;
} draw;

static uint32_t below(draw *d, uint32_t count) {
    d->state = d->state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(d->state >> 33) % count;
}

static draw make_draw(unsigned long long seed) {
    static const struct {
        const char *name;
        int rows;
        bool drops, fixed; /* fixed: no other number of rows */
    } models[] = {{"mlp", 8, false, false},    {"lenet", 4, false, false},     {"cnn_dynamic", 8, false, false},
                  {"gpt_tied", 4, true, true}, {"dynamo_gpt", 2, true, false}, {"gpt_decomposed", 2, true, false}};
    static const char *const optimizers[] = {"sgd", "adamw", "rmsprop"}, *const pipelines[] = {"gpipe", "1f1b"};
    static const char *const precisions[] = {"fp32", "bf16", "fp32", "fp16"};
    static const char *const strategies[] = {"capuchin", "recompute-all"};
    draw d = {.seed = seed, .state = seed * 0x9E3779B97F4A7C15U};
    uint32_t model = below(&d, sizeof models / sizeof *models);
    d.model = models[model].name;
    d.dropout = models[model].drops && below(&d, 2) == 0 ? "0.2" : "off";
    d.optimizer = optimizers[below(&d, 3)];
    d.precision = precisions[seed % 4];
    d.pipeline = pipelines[below(&d, 2)];
    d.strategy = strategies[below(&d, 3) == 0];
    d.micro_batches = 1 + (int)below(&d, 5);
    d.stages = 1 + (int)below(&d, 4);
    uint32_t more = below(&d, (uint32_t)d.micro_batches); /* that do not make a row more in each */
    d.batch = models[model].rows * d.micro_batches + (models[model].fixed ? 0 : (int)more);
    snprintf(d.where, sizeof d.where, "seed %llu: %s, %s, %s, %s, %d stages, %d in %d micro-batches, dropout %s", seed,
             d.model, d.precision, d.pipeline, d.strategy, d.stages, d.batch, d.micro_batches, d.dropout);
    return d;
}

/* Micro-batches as drawn, without stages. */
static run configure(const draw *d) {
    run r = run_golden(d->model);
    set(&r, "optimizer", d->optimizer);
    if (strcmp(d->optimizer, "sgd") == 0) set(&r, "momentum", "0.9");
    set(&r, "lr", "0.003");
    set(&r, "threads", "1");
    set(&r, "dropout", d->dropout);
    set(&r, "precision", d->precision);
    set(&r, "shuffle", "true");
    set_number(&r, "seed", (long long)d->seed);
    set_number(&r, "batch", d->batch);
    set_number(&r, "micro-batches", d->micro_batches);
    set_number(&r, "steps", STEPS);
    return r;
}

static void set_stages(const run *r, const draw *d, int stages, long long cap) {
    set_number(r, "stages", stages);
    if (stages > 1) set(r, "pipeline", d->pipeline);
    if (stages > 1 || cap > 0) set(r, "memory-strategy", d->strategy);
    if (cap > 0) set_number(r, "memory", cap);
}

typedef struct outcome {
    double losses[STEPS];
    weights values;
} outcome;

static outcome finish(const run *r, int first) {
    outcome o;
    for (int i = first; i < STEPS; ++i) o.losses[i] = run_step(r).loss;
    o.values = read_weights(r);
    return o;
}

static void must_be_same(const outcome *expected, const outcome *found, int first, const draw *d, const char *what) {
    for (int i = first; i < STEPS; ++i)
        cr_assert(expected->losses[i] == found->losses[i], "%s: %s: loss of step %d differs", d->where, what, i + 1);
    cr_assert(weights_equal(&expected->values, &found->values), "%s: %s: weights differ", d->where, what);
}

/* --------------------------------------------------------------------------------------------------- plans and caps */

/* What the largest stage takes without a cap. */
static long long find_largest(const draw *d) {
    run r = configure(d);
    set_stages(&r, d, d->stages, 0);
    run_open(&r);
    ons_trainer_status status;
    must(ons_trainer_get_status(r.trainer, &status));
    long long largest = ons_trainer_stage_count(r.trainer) == 0 ? status.arena_bytes : 0;
    for (int64_t i = 0; i < ons_trainer_stage_count(r.trainer); ++i) {
        ons_stage_report stage;
        must(ons_trainer_get_stage(r.trainer, i, &stage));
        largest = stage.arena_bytes > largest ? stage.arena_bytes : largest;
    }
    run_close(&r);
    return largest;
}

/* Writes a plan; returns its cap: as drawn, or the least that the refusal names. */
static long long write_plan(draw *d, const char *path) {
    long long cap = find_largest(d) * (60 + below(d, 41)) / 100;
    for (int attempt = 0;; ++attempt) {
        run r = configure(d);
        ons_planning *planning = NULL;
        set_stages(&r, d, d->stages, cap);
        ons_status *status = ons_planning_new(r.model_path, r.config, &planning);
        if (status == NULL) must(ons_planning_write(planning, path));
        ons_planning_free(planning);
        run_close(&r);
        if (status == NULL) return cap;
        cr_assert_eq(ons_status_get_code(status), ONS_OUT_OF_MEMORY, "%s: %s", d->where,
                     ons_status_get_message(status));
        const char *least = strstr(ons_status_get_message(status), "--memory ");
        cr_assert(attempt == 0 && least != NULL, "%s: %s", d->where, ons_status_get_message(status));
        cap = strtoll(least + strlen("--memory "), NULL, 10);
        ons_status_free(status);
    }
}

static long long relieved; /* values that were copied or made again, of all runs */
static int uneven;         /* runs whose micro-batches were not equal */

static void check_memory(const run *r, long long cap, const draw *d) {
    long long sum = 0;
    ons_trainer_status status;
    must(ons_trainer_get_status(r->trainer, &status));
    cr_assert_eq(ons_trainer_stage_count(r->trainer), d->stages, "%s", d->where);
    for (int64_t i = 0; i < d->stages; ++i) {
        ons_stage_report stage;
        must(ons_trainer_get_stage(r->trainer, i, &stage));
        cr_assert(stage.planned_bytes == stage.arena_bytes && stage.arena_bytes == stage.taken_bytes,
                  "%s: stage %lld: planned %lld bytes, laid out %lld, taken %lld", d->where, (long long)i,
                  (long long)stage.planned_bytes, (long long)stage.arena_bytes, (long long)stage.taken_bytes);
        cr_assert_leq(stage.taken_bytes, cap, "%s: stage %lld of %lld bytes", d->where, (long long)i, cap);
        sum += stage.taken_bytes;
        relieved += stage.swapped_values + stage.recomputed_values;
    }
    cr_assert_eq(status.arena_bytes, sum, "%s", d->where);
}

/* Whether the last batch of an epoch may need a program that no plan knows of. */
static bool leaves_rest(const draw *d, long long samples) {
    long long left = samples % d->batch;
    for (int i = 0; i < d->micro_batches; ++i) {
        int rows = d->batch / d->micro_batches + (i < d->batch % d->micro_batches);
        if (left >= rows) left -= rows;
    }
    return left > 0;
}

/* What was planned is what is taken, with a log or without; and the bits of one stage without a cap. */
static void try_plan(unsigned long long seed) {
    char path[PATH_BYTES], log[PATH_BYTES];
    draw d = make_draw(seed);
    scratch_path(path, "plan.json");
    scratch_path(log, "log.jsonl");
    run one = configure(&d);
    run_open(&one);
    ons_trainer_status status;
    must(ons_trainer_get_status(one.trainer, &status));
    while (leaves_rest(&d, status.samples)) {
        --d.batch;
        run_close(&one);
        one = configure(&d);
        run_open(&one);
    }
    uneven += d.batch % d.micro_batches != 0;
    outcome whole = finish(&one, 0);
    run_close(&one);

    long long cap = write_plan(&d, path);
    run r = configure(&d);
    set(&r, "plan", path);
    set_number(&r, "memory", cap);
    bool logs = below(&d, 2) == 0;
    if (logs) set(&r, "log-json", log);
    run_open(&r);
    outcome planned = finish(&r, 0);
    check_memory(&r, cap, &d);
    must_be_same(&whole, &planned, 0, &d, "planned");
    run_close(&r);
    weights_free(&whole.values);
    weights_free(&planned.values);
    unlink(path);
    if (logs) unlink(log);
}

/* ------------------------------------------------------------------------------------------------------ checkpoints */

/* Written with some number of stages, and resumed with others, perhaps under a cap. */
static void try_resume(unsigned long long seed) {
    char folder[PATH_BYTES], command[PATH_BYTES + 16];
    draw d = make_draw(seed);
    scratch_path(folder, "c");
    run one = configure(&d);
    run_open(&one);
    outcome whole = finish(&one, 0);
    run_close(&one);

    run first = configure(&d);
    set_stages(&first, &d, d.stages, 0);
    set(&first, "checkpoint", folder);
    set_number(&first, "checkpoint-every", BREAK);
    run_open(&first);
    for (int i = 0; i < BREAK + 1; ++i) run_step(&first);
    run_close(&first);

    run second = configure(&d);
    set_stages(&second, &d, 1 + (int)below(&d, 4), 0);
    set(&second, "checkpoint", folder);
    set(&second, "resume", "true");
    run_open(&second);
    outcome resumed = finish(&second, BREAK);
    cr_assert(ons_trainer_done(second.trainer), "%s: not resumed from step %d", d.where, BREAK);
    must_be_same(&whole, &resumed, BREAK, &d, "resumed");
    run_close(&second);
    weights_free(&whole.values);
    weights_free(&resumed.values);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);
}

/* ------------------------------------------------------------------------------------------------------------ scale */

/* Norms of a first gradient; the first is that of all. */
typedef struct norms {
    double items[128];
    int count;
    double loss;
} norms;

static norms first_gradient(const draw *d, const char *model, int batch, int micro_batches, int stages) {
    char path[PATH_BYTES];
    scratch_path(path, "norms.jsonl");
    run r = run_golden(model);
    set(&r, "optimizer", "sgd");
    set(&r, "lr", "0.1");
    set(&r, "threads", "1");
    set(&r, "dropout", "off");
    set(&r, "batchnorm", "eval"); /* samples do not depend on each other */
    set_number(&r, "batch", batch);
    set_number(&r, "micro-batches", micro_batches);
    set_number(&r, "steps", 1);
    set_stages(&r, d, stages, 0);
    set(&r, "log-json", path);
    set(&r, "log-grad-norms", "true");
    run_open(&r);
    norms n = {.loss = run_step(&r).loss, .count = 1};
    must(ons_trainer_finish(r.trainer));
    run_close(&r);
    log_lines lines = read_log(path);
    const cJSON *norm;
    n.items[0] = log_number(&lines, 0, "grad_norm");
    cJSON_ArrayForEach(norm, ons_json_find(lines.items[0], "grad_norms")) {
        cr_assert_lt(n.count, 128);
        n.items[n.count++] = norm->valuedouble;
    }
    log_free(&lines);
    unlink(path);
    return n;
}

/* Relative to the whole gradient: a single weight's norm may be small (tests/rooms/training/micro_batch_test.c). */
static void try_scale(unsigned long long seed) {
    static const char *const models[] = {"mlp", "cnn_dynamic", "dynamo_gpt", "lenet"};
    static const double tolerance = 1e-6;
    draw d = make_draw(seed);
    const char *model = models[below(&d, 4)];
    int batch = 4 + (int)below(&d, 13), parts = 2 + (int)below(&d, 3), stages = 1 + (int)below(&d, 4);
    norms whole = first_gradient(&d, model, batch, 1, 1), split = first_gradient(&d, model, batch, parts, stages);
    snprintf(d.where, sizeof d.where, "seed %llu: %s, %d samples in %d micro-batches, %d stages", seed, model, batch,
             parts, stages);
    cr_assert(fabs(split.loss - whole.loss) <= tolerance * fabs(whole.loss), "%s: loss %.9g instead of %.9g", d.where,
              split.loss, whole.loss);
    cr_assert(whole.count == split.count && whole.count > 1, "%s", d.where);
    for (int i = 0; i < whole.count; ++i)
        cr_assert(fabs(split.items[i] - whole.items[i]) <= tolerance * whole.items[0],
                  "%s: gradient norm %d is %.9g instead of %.9g", d.where, i, split.items[i], whole.items[i]);
}

/* ------------------------------------------------------------------------------------------------------------ tests */

static void try_seeds(void (*try_one)(unsigned long long seed), unsigned long long last) {
    unsigned long long first = 1;
    const char *seeds = getenv("ONSTAGE_TEST_SEEDS");
    if (seeds != NULL) cr_assert_eq(sscanf(seeds, "%llu:%llu", &first, &last), 2);
    for (unsigned long long seed = first; seed <= last; ++seed) try_one(seed);
}

Test(random_run, what_is_planned_is_taken_and_keeps_the_bits, .timeout = 300) {
    try_seeds(try_plan, 24);
    cr_expect_gt(relieved, 0, "no cap took anything away");
    cr_expect(uneven > 0 || getenv("ONSTAGE_TEST_SEEDS") != NULL, "all micro-batches were equal");
}

Test(random_run, checkpoints_know_of_no_stages, .timeout = 300) { try_seeds(try_resume, 24); }

Test(random_run, gradients_are_of_one_scale, .timeout = 300) { try_seeds(try_scale, 40); }
