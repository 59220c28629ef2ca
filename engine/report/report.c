#include "engine/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "engine/model/data.h"
#include "engine/profile/profile_data.h"
#include "engine/report/report_goal.h"

static void release(ons_capacity_report *r) {
    ons_report_free(&r->content);
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 2; ++k)
            for (int size = 0; size < ONS_REPORT_SIZES; ++size) ons_plan_input_free(&r->inputs[i][k][size]);
    ons_prices_free(&r->prices);
    ons_arena_free(r->arena);
}

/* As --samples says, or as the data that are given hold. */
static ons_status *count_epoch(ons_capacity_report *r) {
    const ons_planning *p = r->planning;
    ons_dataset *data;
    r->epoch_samples = p->config->samples;
    if (r->epoch_samples > 0 || p->model == NULL || !ons_profile_has_data(p->config)) return NULL;
    ONS_TRY(ons_open_training_data(p->model, p->config, &data));
    r->epoch_samples = (int64_t)ons_dataset_count(data);
    ons_dataset_free(data);
    return NULL;
}

static ons_status *gather(ons_capacity_report *r) {
    const ons_planning *p = r->planning;
    r->arena = ons_arena_new();
    if (r->arena == NULL) return ons_status_out_of_memory();
    if (p->config->prices != NULL) ONS_TRY(ons_prices_load(p->config->prices, p->profile.name, &r->prices));
    ONS_TRY(count_epoch(r));
    ONS_TRY(ons_report_read_goal(p, r->epoch_samples, &r->goal));
    ONS_TRY(ons_report_find_devices(r));
    ons_report_options options = {
        .planned = &p->planned,
        .partition = p->strategy,
        .devices = r->devices,
        .device_count = r->device_count,
        .batch = p->plan.subject.batch,
        .micro_batches = p->plan.subject.micro_batches,
    };
    r->exact = p->planned.partition.feasible && ons_planning_is_exact(p);
    int64_t need = r->exact ? ons_plan_fullest_bytes(&p->plan) : 0;
    if (need > p->problem.capacity_bytes) options.least_bytes = need;
    ONS_TRY(ons_report_make(&options, r->arena, &r->content));
    const ons_planned *shown = r->content.shown;
    if (shown != NULL)
        ONS_TRY(ons_timeline_make(&r->content.forecast, shown->problem.schedule, r->arena, &r->timeline));
    if (r->exact) r->content.fullest_bytes = need;
    if (p->portfolio.count > 0) ONS_TRY(ons_portfolio_rank(&p->portfolio, r->arena, &r->ranking, &r->ranked));
    return ons_arena_check(r->arena);
}

typedef void write_report(const ons_capacity_report *report, FILE *out);

static ons_status *print(const ons_capacity_report *r, write_report *write, char **text) {
    size_t length;
    FILE *out = open_memstream(text, &length);
    if (out == NULL) return ons_status_out_of_memory();
    write(r, out);
    return ons_text_close(out, text);
}

static ons_status *make(ons_capacity_report *r, const char *path, char **text) {
    char *page = NULL;
    ONS_TRY(gather(r));
    ONS_TRY(print(r, ons_report_write_page, &page));
    ons_status *status = ons_file_write_text(path, page);
    free(page);
    return status == NULL ? print(r, ons_report_write_text, text) : status;
}

ons_status *ons_planning_report(const ons_planning *planning, char **text) {
    ons_capacity_report report = {.planning = planning};
    ons_status *status = make(&report, planning->config->report, text);
    release(&report);
    return status;
}

/* ------------------------------------------------------------------------------------------------ for all its parts */

const char *const ons_memory_kind_names[ONS_MEMORY_KINDS] = {"weights", "versions", "gradients", "optimiser",
                                                             "stashed", "running",  "transfers"};

void ons_memory_kinds(const ons_stage_memory *m, int64_t kinds[static ONS_MEMORY_KINDS]) {
    const int64_t values[ONS_MEMORY_KINDS] = {m->weights, m->versions, m->gradients, m->states,
                                              m->stash,   m->peak,     m->transfers};
    memcpy(kinds, values, sizeof values);
}

const ons_stage_memory *ons_report_stage_memory(const ons_capacity_report *r, uint32_t stage) {
    return r->exact ? &r->planning->plan.stages[stage].memory : &r->content.shown->solutions[stage].memory;
}

uint32_t ons_report_stage_count(const ons_capacity_report *r) { return r->content.shown->partition.stages; }

bool ons_report_has_choice(const ons_capacity_report *r) { return r->planning->problem.choice != NULL; }

uint32_t ons_report_device_count(const ons_capacity_report *r) { return r->content.shown->problem.schedule->devices; }

uint32_t ons_report_device_of(const ons_capacity_report *r, uint32_t stage) {
    return r->content.shown->problem.schedule->device_of[stage];
}

int64_t ons_report_device_kinds(const ons_capacity_report *r, uint32_t device, int64_t kinds[static ONS_MEMORY_KINDS]) {
    int64_t total = 0;
    memset(kinds, 0, ONS_MEMORY_KINDS * sizeof *kinds);
    for (uint32_t i = 0; i < ons_report_stage_count(r); ++i) {
        const ons_stage_memory *memory = ons_report_stage_memory(r, i);
        int64_t own[ONS_MEMORY_KINDS];
        if (!ons_schedule_holds(r->content.shown->problem.schedule, i, device)) continue;
        ons_memory_kinds(memory, own);
        for (int k = 0; k < ONS_MEMORY_KINDS; ++k) kinds[k] += own[k];
        total += memory->total;
    }
    return total;
}

double ons_report_money(const ons_capacity_report *r, const ons_report_row *row) {
    double million = ons_what_if_money(&row->question, &row->answer);
    return r->epoch_samples > 0 ? million * 1e-6 * (double)r->epoch_samples : million;
}

double ons_report_slower(double seconds, double before) {
    return round(1000 * (seconds / before - 1)) / 10 + 0.0; /* not -0 */
}

const char *ons_report_money_unit(const ons_capacity_report *r) {
    return r->epoch_samples > 0 ? "an epoch" : "per million samples";
}

double ons_report_samples_per_second(const ons_report *c) {
    return c->forecast.iteration_seconds > 0 ? (double)c->asked.batch / c->forecast.iteration_seconds : 0;
}

const char *ons_report_model_name(const ons_capacity_report *r) {
    const char *path = r->planning->plan.subject.model, *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}
