/* Two towers over eight stages with sixteen micro-batches: as few are in flight as the longer way to the head has
 * stages, and threads take the memory that was planned for that, to the byte. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rooms/training/fixture.h"

#define TOWERS "tests/agreement/families/two_towers/"

static const char inputs[] = "x=" TOWERS "x.npy", targets[] = TOWERS "target.npy";

enum { STAGES = 8, STEPS = 3, IN_FLIGHT_MOST = 5 };

typedef struct stages {
    int64_t bytes[STAGES];
    int in_flight[STAGES]; /* of the stage on each device */
    double loss;
} stages;

static ons_config *configure(const char *const *options) {
    static const char *const usual[] = {
        "loss", "cross_entropy", "optimizer", "adamw",  "batch", "16",    "input", inputs, "threads",
        "1",    "micro-batches", "16",        "target", targets, "steps", "3",     NULL};
    ons_config *c;
    must(ons_config_new(&c));
    for (const char *const *o = usual; *o != NULL; o += 2) must(ons_config_set(c, o[0], o[1]));
    for (; *options != NULL; options += 2) must(ons_config_set(c, options[0], options[1]));
    return c;
}

static void write_plan(const char *path, const char *option, const char *value) {
    const char *const options[] = {"stages", "8", option, value, NULL};
    ons_config *c = configure(options);
    ons_planning *planning;
    must(ons_planning_new(TOWERS "model.onnx", c, &planning));
    must(ons_planning_write(planning, path));
    ons_planning_free(planning);
    ons_config_free(c);
}

/* Cells like 3F12 and 3B12, a line for each device. */
static void count_in_flight(const char *plan, stages *s) {
    char path[PATH_BYTES];
    ons_config *c;
    ons_replay *replay;
    int device = 0, now = 0;
    scratch_path(path, "lists.csv");
    must(ons_config_new(&c));
    must(ons_config_set(c, "write-schedule", path));
    must(ons_replay_new(plan, c, &replay));
    ons_replay_free(replay);
    ons_config_free(c);
    contents text = read_file(path);
    for (size_t i = 0; i < text.size && device < STAGES; ++i) {
        now += text.bytes[i] == 'F' ? 1 : text.bytes[i] == 'B' ? -1 : 0;
        if (now > s->in_flight[device]) s->in_flight[device] = now;
        if (text.bytes[i] != '\n') continue;
        cr_assert_eq(now, 0, "device %d: %d micro-batches do not come back", device, now);
        ++device;
    }
    cr_assert_eq(device, STAGES);
    free(text.bytes);
}

static ons_trainer *train(const char *const *options, ons_model **model, double *loss) {
    ons_config *c = configure(options);
    ons_trainer *trainer;
    ons_step_report report;
    must(ons_model_load(TOWERS "model.onnx", c, model));
    must(ons_trainer_new(*model, c, &trainer));
    for (int i = 0; i < STEPS; ++i) must(ons_trainer_step(trainer, &report));
    *loss = report.loss;
    ons_config_free(c);
    return trainer;
}

static stages run_plan(const char *plan, const char *memory) {
    const char *const options[] = {"plan", plan, memory == NULL ? NULL : "memory", memory, NULL};
    stages s = {.loss = 0};
    ons_model *model;
    ons_trainer *trainer = train(options, &model, &s.loss);
    count_in_flight(plan, &s);
    cr_assert_eq(ons_trainer_stage_count(trainer), STAGES);
    for (int i = 0; i < STAGES; ++i) {
        ons_stage_report r;
        must(ons_trainer_get_stage(trainer, i, &r));
        cr_expect_eq(r.planned_bytes, r.taken_bytes, "stage %d: %lld bytes are planned, %lld taken", i,
                     (long long)r.planned_bytes, (long long)r.taken_bytes);
        cr_expect_eq(r.arena_bytes, r.taken_bytes, "stage %d", i);
        s.bytes[i] = r.taken_bytes;
    }
    ons_trainer_free(trainer);
    ons_model_free(model);
    return s;
}

static int64_t largest(const stages *s) {
    int64_t most = 0;
    for (int i = 0; i < STAGES; ++i) most = s->bytes[i] > most ? s->bytes[i] : most;
    return most;
}

Test(towers, eight_stages_take_what_five_micro_batches_need) {
    static const char *const alone[] = {"stages", "1", NULL};
    char graph_plan[PATH_BYTES], line_plan[PATH_BYTES];
    ons_model *model;
    double loss;
    scratch_path(graph_plan, "graph.json");
    scratch_path(line_plan, "line.json");
    write_plan(graph_plan, "partition", "graphpipe");
    write_plan(line_plan, "pipeline", "1f1b");
    const stages graph = run_plan(graph_plan, NULL), line = run_plan(line_plan, NULL);
    cr_expect_leq(graph.in_flight[0], IN_FLIGHT_MOST, "%d micro-batches are in flight at the first stage",
                  graph.in_flight[0]);
    cr_expect_eq(line.in_flight[0], STAGES, "a line has %d in flight", line.in_flight[0]);
    ons_trainer *one = train(alone, &model, &loss);
    cr_expect(graph.loss == loss && line.loss == loss, "losses %.17g and %.17g instead of %.17g", graph.loss, line.loss,
              loss);
    ons_trainer_free(one);
    ons_model_free(model);
}

/* What the fullest stage takes is enough of a cap, and a byte less is not. */
Test(towers, planned_memory_is_enough) {
    char plan[PATH_BYTES], memory[32];
    ons_model *model;
    ons_trainer *trainer;
    scratch_path(plan, "capped.json");
    write_plan(plan, "partition", "graphpipe");
    const stages free = run_plan(plan, NULL);
    snprintf(memory, sizeof memory, "%lld", (long long)largest(&free));
    const stages capped = run_plan(plan, memory);
    cr_expect(capped.loss == free.loss);
    snprintf(memory, sizeof memory, "%lld", (long long)largest(&free) - 1);
    const char *const options[] = {"plan", plan, "memory", memory, NULL};
    ons_config *c = configure(options);
    must(ons_model_load(TOWERS "model.onnx", c, &model));
    must_fail(ons_trainer_new(model, c, &trainer), ONS_OUT_OF_MEMORY, "needed", NULL);
    ons_model_free(model);
    ons_config_free(c);
}
