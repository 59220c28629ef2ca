#include "tests/rooms/timing/sleep_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "include/onstage.h"
#include "tests/rooms/timing/sleep_model.h"

enum { PATH = 512 };

float sleep_input(size_t element) { return (float)(element % 7) - 3; }

typedef struct training_run {
    const sleep_setting *s;
    char model_path[PATH], profile_path[PATH], trace_path[PATH];
    float *data;
    int64_t dims[2];
    ons_config *config;
    ons_model *model;
    ons_trainer *trainer;
    double *seconds; /* of steps behind the first */
    double planned;  /* of one stage, which is trained without a plan */
} training_run;

/* ---------------------------------------------------------------------------------------------------------- options */

static ons_status *set_number(const training_run *c, const char *option, uint32_t value) {
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    return ons_config_set(c->config, option, value == 0 ? "0" : text);
}

/* The exact split by the slowest stage is the one that gives each stage its layer. */
static ons_status *set_schedule(const training_run *c) {
    if (strcmp(c->s->pipeline, "graphpipe") == 0) return ons_config_set(c->config, "partition", c->s->pipeline);
    ONS_TRY(ons_config_set(c->config, "partition", "exact"));
    return ons_config_set(c->config, "pipeline", c->s->pipeline);
}

static ons_status *set_texts(const training_run *c) {
    const char *const texts[][2] = {
        {"loss", "mse"},
        {"optimizer", "sgd"},
        {"lr", SLEEP_RATE},
        {"threads", "1"},
        {"pin", "false"},
        {"shuffle", "false"},
        {"transport", c->s->processes ? "mpi" : "local"},
        {"device-profile", c->profile_path},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i)
        ONS_TRY(ons_config_set(c->config, texts[i][0], texts[i][1]));
    return set_schedule(c);
}

static uint32_t replicas_of(const sleep_setting *s) { return s->replicas > 0 ? s->replicas : 1; }

static ons_status *set_data(training_run *c) {
    const sleep_setting *s = c->s;
    c->dims[0] = (int64_t)SLEEP_ROWS * s->micro_batches * replicas_of(s);
    c->dims[1] = s->columns;
    size_t count = (size_t)(c->dims[0] * c->dims[1]);
    c->data = malloc(2 * count * sizeof *c->data);
    ONS_CHECK(c->data != NULL, ONS_OUT_OF_MEMORY, "no memory for data");
    for (size_t i = 0; i < count; ++i) {
        c->data[i] = sleep_input(i);
        c->data[count + i] = c->data[i] / 2;
    }
    ons_array_view view = {ONS_ELEMENT_FLOAT32, 2, c->dims, c->data};
    ONS_TRY(ons_config_array(c->config, "x", false, &view));
    view.data = c->data + count;
    return ons_config_array(c->config, "target", false, &view);
}

static ons_status *configure(training_run *c) {
    const sleep_setting *s = c->s;
    ONS_TRY(ons_config_new(&c->config));
    ONS_TRY(set_texts(c));
    ONS_TRY(set_number(c, "stages", s->stages));
    ONS_TRY(set_number(c, "devices", s->devices));
    ONS_TRY(set_number(c, "micro-batches", s->micro_batches));
    ONS_TRY(set_number(c, "batch", SLEEP_ROWS * s->micro_batches * replicas_of(s)));
    ONS_TRY(set_number(c, "replicas", replicas_of(s)));
    ONS_TRY(set_number(c, "steps", s->steps));
    if (s->slices > 0) ONS_TRY(set_number(c, "slices", s->slices));
    if (s->traced) ONS_TRY(ons_config_set(c->config, "trace", c->trace_path));
    return set_data(c);
}

/* ------------------------------------------------------------------------------------------------------------ steps */

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static ons_status *train(training_run *c, sleep_times *times) {
    uint32_t count = c->s->steps - 1;
    ons_trainer_status is;
    c->seconds = calloc(c->s->steps, sizeof *c->seconds);
    ONS_CHECK(c->seconds != NULL, ONS_OUT_OF_MEMORY, "no memory for times");
    for (uint32_t i = 0; i < c->s->steps; ++i) {
        ons_step_report report;
        ONS_TRY(ons_trainer_step(c->trainer, &report));
        if (i > 0) c->seconds[i - 1] = report.step_seconds;
        times->loss = report.loss;
    }
    ONS_TRY(ons_trainer_get_status(c->trainer, &is));
    qsort(c->seconds, count, sizeof *c->seconds, by_size);
    times->simulated = c->s->stages > 1 ? is.predicted_step_seconds : c->planned;
    times->measured = (c->seconds[count / 2] + c->seconds[(count - 1) / 2]) / 2;
    times->least = c->seconds[0];
    times->is_root = is.is_root;
    if (!c->s->processes) ONS_TRY(ons_trainer_read(c->trainer, "weight0", c->data, c->s->columns));
    times->weight = c->data[0];
    return ons_trainer_finish(c->trainer);
}

static ons_status *read_plan(training_run *c, const char *path) {
    ons_mapping file;
    ons_json *plan = NULL;
    const ons_json *predicted;
    ONS_TRY(ons_mapping_open(path, &file));
    ons_status *status = ons_json_parse(file.bytes, file.size, &plan);
    ons_mapping_close(&file);
    if (status == NULL) status = ons_json_get_object(plan, "predicted", &predicted);
    if (status == NULL) status = ons_json_get_double(predicted, "step_seconds", &c->planned);
    ons_json_free(plan);
    return status;
}

static ons_status *plan_one_stage(training_run *c) {
    char path[PATH + 8];
    ons_planning *planning;
    snprintf(path, sizeof path, "%s.plan", c->model_path);
    ONS_TRY(ons_planning_new(c->model_path, c->config, &planning));
    ons_status *status = ons_planning_write(planning, path);
    ons_planning_free(planning);
    if (status == NULL) status = read_plan(c, path);
    unlink(path);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- starts */

/* The first forward part of a step in a stage; INFINITY: there is none. */
static double first_forward(const ons_json *events, uint32_t stage, uint32_t step) {
    double first = INFINITY;
    for (const ons_json *e = events->child; e != NULL; e = e->next) {
        const ons_json *category = ons_json_find(e, "cat"), *pid = ons_json_find(e, "pid"),
                       *args = ons_json_find(e, "args");
        const ons_json *ts = ons_json_find(e, "ts"), *of = args == NULL ? NULL : ons_json_find(args, "step");
        if (category == NULL || pid == NULL || ts == NULL || of == NULL || category->valuestring == NULL) continue;
        if (strcmp(category->valuestring, "forward") != 0 || (uint32_t)pid->valuedouble != stage ||
            (uint32_t)of->valuedouble != step)
            continue;
        first = fmin(first, 1e-6 * ts->valuedouble);
    }
    return first;
}

/* The shortest of all steps but the first one. */
static ons_status *read_starts(const training_run *c, sleep_times *times) {
    ons_mapping file;
    ons_json *trace = NULL;
    const ons_json *events;
    ONS_TRY(ons_mapping_open(c->trace_path, &file));
    ons_status *status = ons_json_parse(file.bytes, file.size, &trace);
    ons_mapping_close(&file);
    if (status == NULL) status = ons_json_get_array(trace, "traceEvents", &events);
    times->start = INFINITY;
    for (uint32_t step = 2; status == NULL && step <= c->s->steps; ++step)
        times->start =
            fmin(times->start, first_forward(events, c->s->stages - 1, step) - first_forward(events, 0, step));
    ons_json_free(trace);
    return status;
}

static ons_status *run(training_run *c, sleep_times *times) {
    ONS_CHECK(c->s->steps > 1, ONS_INVALID_ARGUMENT, "of %u steps none is measured", c->s->steps);
    ONS_TRY(sleep_model_write(c->s, c->model_path));
    ONS_TRY(sleep_profile_write(c->s, c->profile_path));
    ONS_TRY(configure(c));
    if (c->s->stages == 1) ONS_TRY(plan_one_stage(c));
    ONS_TRY(ons_model_load(c->model_path, c->config, &c->model));
    ONS_TRY(ons_trainer_new(c->model, c->config, &c->trainer));
    ONS_TRY(train(c, times));
    ons_trainer_free(c->trainer);
    c->trainer = NULL;
    return c->s->traced ? read_starts(c, times) : NULL;
}

ons_status *sleep_run(const sleep_setting *s, sleep_times *times) {
    training_run c = {.s = s};
    const char *folder = getenv("TEST_TMPDIR");
    if (folder == NULL) folder = getenv("TMPDIR");
    if (folder == NULL) folder = "/tmp";
    snprintf(c.model_path, PATH, "%s/sleepers-%d.onnx", folder, (int)getpid());
    snprintf(c.profile_path, PATH, "%s/sleepers-%d.json", folder, (int)getpid());
    snprintf(c.trace_path, PATH, "%s/sleepers-%d-trace.json", folder, (int)getpid());
    *times = (sleep_times){0};
    ons_status *status = run(&c, times);
    ons_trainer_free(c.trainer);
    ons_model_free(c.model);
    ons_config_free(c.config);
    unlink(c.model_path);
    unlink(c.profile_path);
    unlink(c.trace_path);
    free(c.data);
    free(c.seconds);
    return status;
}
