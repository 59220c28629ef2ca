/* `onstage simulate`: a plan's file, simulated again without its model. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "base/text.h"
#include "engine/config/config.h"
#include "engine/config/given.h"
#include "engine/config/plan_libraries.h"
#include "engine/model/results.h"
#include "engine/plan/plan_subject.h"
#include "engine/report/timeline.h"
#include "planner/plan/plan_check.h"
#include "planner/plan/plan_replay.h"
#include "planner/schedule/csv.h"
#include "planner/search/planner.h"

struct ons_replay {
    ons_arena *arena;
    ons_plan plan;
    ons_pipeline_forecast forecast;
    ons_timeline timeline;
    char *text, *chart;
};

static ons_status *load(ons_replay *r, const char *path) {
    ons_mapping file;
    ONS_TRY(ons_mapping_open(path, &file));
    ons_status *status = ons_plan_parse((const char *)file.bytes, file.size, r->arena, &r->plan);
    ons_mapping_close(&file);
    /* What `onstage train --plan` refuses: a simulation of it would promise something. */
    if (status == NULL) status = ons_plan_check_costs(&r->plan, r->arena);
    return status == NULL ? NULL : ons_status_at(status, "%s", path);
}

/* ------------------------------------------------------------------------------------------------------------- text */

static double idle_share(const ons_replay *r) {
    const ons_pipeline_forecast *f = &r->forecast;
    double busy = 0;
    for (uint32_t i = 0; i < f->device_count; ++i) busy += f->devices[i].busy_seconds;
    return f->iteration_seconds > 0 ? 1 - busy / (f->iteration_seconds * f->device_count) : 0;
}

static void describe_devices(const ons_replay *r, FILE *out) {
    const ons_pipeline_forecast *f = &r->forecast;
    fprintf(out, "device  busy          bubbles  sends         swaps out and in          peak memory\n");
    for (uint32_t i = 0; i < f->device_count; ++i) {
        const ons_device_forecast *d = &f->devices[i];
        char peak[ONS_BYTES_TEXT];
        fprintf(out, "%6u  %9.3f ms  %5.1f %%  %9.3f ms  %9.3f ms %9.3f ms  %s\n", i, 1e3 * d->busy_seconds,
                100 * d->bubble_share, 1e3 * d->send_seconds, 1e3 * d->swap_out_seconds, 1e3 * d->swap_in_seconds,
                ons_bytes_print((double)d->peak_bytes, peak));
    }
}

/* How long each kind of action is on the critical path, in order of the kinds, and on which device the path stays
 * longest. */
static void describe_critical_path(const ons_replay *r, FILE *out) {
    const ons_pipeline_forecast *f = &r->forecast;
    double seconds[ONS_ACTION_COUNT] = {0}, all = 0;
    uint32_t counts[ONS_ACTION_COUNT] = {0};
    for (uint32_t i = 0; i < f->critical_count; ++i) {
        ons_task_times times = ons_simulation_times(f->simulation, f->critical_path[i]);
        ons_action_kind kind = ons_simulation_task(f->simulation, f->critical_path[i])->action.kind;
        seconds[kind] += times.end - times.start;
        ++counts[kind];
        all += times.end - times.start;
    }
    double end = ons_simulation_seconds(f->simulation);
    fprintf(out, "\ncritical path of %u tasks, %.3f ms\n", f->critical_count, 1e3 * end);
    for (int kind = 0; kind < ONS_ACTION_COUNT; ++kind)
        if (counts[kind] > 0)
            fprintf(out, "  %-20s %6u  %9.3f ms  %5.1f %%\n", ons_action_name((ons_action_kind)kind), counts[kind],
                    1e3 * seconds[kind], end > 0 ? 100 * seconds[kind] / end : 0);
    if (end > all * (1 + 1e-9)) fprintf(out, "  %-20s %6s  %9.3f ms\n", "waiting", "", 1e3 * (end - all));
}

static ons_status *describe(ons_replay *r, const char *path) {
    size_t length;
    const ons_plan *plan = &r->plan;
    const ons_pipeline_forecast *f = &r->forecast;
    char stages[ONS_STAGES_TEXT];
    FILE *out = open_memstream(&r->text, &length);
    if (out == NULL) return ons_status_out_of_memory();
    fprintf(out, "%s: %s, ", path, plan->subject.model);
    ons_plan_subject_print_batch(&plan->subject, out);
    fprintf(out, ", %s, schedule %s\n", ons_stages_print(plan->pipeline.stages, plan->schedule.devices, stages),
            plan->pipeline.generator->name);
    fprintf(out, "a step takes %.3f ms (the plan says %.3f ms): %.1f samples/s, %.1f %% bubbles\n\n",
            1e3 * f->iteration_seconds, 1e3 * plan->step_seconds, f->samples_per_second, 100 * idle_share(r));
    describe_devices(r, out);
    describe_critical_path(r, out);
    ons_plan_libraries_compare(&plan->subject, out);
    return ons_text_close(out, &r->text);
}

/* ---------------------------------------------------------------------------------------------------------- picture */

static ons_status *print_svg(const ons_replay *r, const char *path, char **text) {
    size_t length;
    const ons_pipeline_forecast *f = &r->forecast;
    const char *slash = strrchr(path, '/'); /* a picture says nothing of where it was made */
    char stages[ONS_STAGES_TEXT], step[ONS_SECONDS_TEXT];
    const char *title = ons_arena_format(
        r->arena, "%s: %s, schedule %s, %u micro-batches; a step takes %s, %.1f %% bubbles%s",
        slash == NULL ? path : slash + 1, ons_stages_print(r->plan.pipeline.stages, r->plan.schedule.devices, stages),
        r->plan.pipeline.generator->name, r->plan.pipeline.micro_batches, ons_seconds_print(f->iteration_seconds, step),
        100 * idle_share(r), r->plan.schedule.asynchronous ? "; a stretch from the middle" : "");
    if (title == NULL) return ons_status_out_of_memory();
    FILE *out = open_memstream(text, &length);
    if (out == NULL) return ons_status_out_of_memory();
    ons_timeline_write_svg(&r->timeline, title, out);
    return ons_text_close(out, text);
}

static ons_status *write_svg(const ons_replay *r, const char *path, const char *svg) {
    char *text;
    ONS_TRY(print_svg(r, path, &text));
    ons_status *status = ons_file_write_text(svg, text);
    free(text);
    return status;
}

static ons_status *write_schedule(const ons_replay *r, const char *path) {
    char *text;
    ONS_TRY_AT(ons_schedule_print_csv(&r->plan.schedule, &text), "--write-schedule");
    ons_status *status = ons_file_write_text(path, text);
    free(text);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- interface */

static ons_status *make(ons_replay *r, const char *path, const ons_config *config) {
    ONS_TRY(ons_check_replay(path, config));
    ONS_TRY(load(r, path));
    ONS_TRY_AT(ons_plan_replay(&r->plan, r->arena, &r->forecast), "%s", path);
    ONS_TRY(ons_timeline_make(&r->forecast, &r->plan.schedule, r->arena, &r->timeline));
    ONS_TRY(describe(r, path));
    if (config->written_schedule != NULL) ONS_TRY(write_schedule(r, config->written_schedule));
    if (config->svg != NULL) ONS_TRY(write_svg(r, path, config->svg));
    return config->trace == NULL ? NULL : ons_simulation_write_trace(r->forecast.simulation, config->trace);
}

ons_status *ons_replay_new(const char *path, const ons_config *config, ons_replay **result) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(path, "path");
    ONS_GIVEN(config, "config");
    ONS_GIVEN(result, "replay");
    ons_replay *r = calloc(1, sizeof *r);
    if (r == NULL) return ons_status_out_of_memory();
    r->arena = ons_arena_new();
    ons_status *status = r->arena == NULL ? ons_status_out_of_memory() : make(r, path, config);
    if (status != NULL) {
        ons_replay_free(r);
        return status;
    }
    *result = r;
    return NULL;
}

void ons_replay_free(ons_replay *r) {
    if (r == NULL) return;
    ons_simulation_free(r->forecast.simulation);
    ons_arena_free(r->arena);
    free(r->text);
    free(r->chart);
    free(r);
}

enum { LINES_MOST = 64 }; /* of the chart */

static ons_status *draw(ons_replay *r, uint32_t columns) {
    size_t length;
    uint32_t devices = r->plan.schedule.devices, shown = devices < LINES_MOST ? devices : LINES_MOST;
    free(r->chart);
    r->chart = NULL;
    FILE *out = open_memstream(&r->chart, &length);
    if (out == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_timeline_print(&r->timeline, shown, columns, r->arena, out);
    if (shown < devices) fprintf(out, "the first %u of %u devices; --svg draws all\n", shown, devices);
    ons_status *closed = ons_text_close(out, &r->chart);
    if (status == NULL) return closed;
    ons_status_free(closed);
    return status;
}

ons_status *ons_replay_draw(ons_replay *r, size_t columns, const char **chart) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(r, "replay");
    ONS_GIVEN(chart, "chart");
    ONS_TRY(draw(r, columns < UINT32_MAX ? (uint32_t)columns : UINT32_MAX));
    *chart = r->chart;
    return NULL;
}

const char *ons_replay_text(const ons_replay *r) { return r == NULL ? "" : r->text; }
