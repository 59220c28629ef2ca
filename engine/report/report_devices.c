#include <string.h>

#include "engine/model/batching.h"
#include "engine/model/data.h"
#include "engine/plan/problem.h"
#include "engine/report/report.h"

/* Of the other size: large enough that what alignment rounds up does not bend the line. */
static int64_t larger_size(int64_t samples) { return samples >= 8 ? 2 * samples : samples + 8; }

static ons_status *choose_sizes(ons_capacity_report *r) {
    const ons_planning *p = r->planning;
    ons_batching batching;
    r->sizes[0] = p->problem.work->samples;
    if (p->model == NULL) return NULL;
    ONS_TRY(ons_choose_batching(p->model, p->config, &batching));
    if (!batching.fixed && r->sizes[0] > 0 && r->sizes[0] < INT32_MAX) r->sizes[1] = larger_size(r->sizes[0]);
    return NULL;
}

static ons_status *make_input(ons_capacity_report *r, bool processor, bool accumulates, int size) {
    const ons_planning *p = r->planning;
    ons_device_profile profile = p->profile;
    profile.processor = processor;
    ons_plan_input_options options = {
        .model = p->model,
        .config = p->config,
        .profile = &profile,
        .batch = r->sizes[size],
        .micro_batches = 1,
        .accumulates = accumulates,
        .one_stage = !accumulates,
    };
    return ons_plan_input_make(&options, &r->inputs[processor][accumulates][size]);
}

/* A model that has no other size than the plan's is no failure. */
static ons_status *make_inputs(ons_capacity_report *r, bool processor) {
    for (int accumulates = 0; accumulates < 2; ++accumulates) {
        ONS_TRY(make_input(r, processor, accumulates, 0));
        if (r->sizes[1] == 0) continue;
        ons_status *status = make_input(r, processor, accumulates, 1);
        if (status != NULL && ons_status_get_code(status) == ONS_OUT_OF_MEMORY) return status;
        if (status != NULL) r->sizes[1] = 0;
        ons_status_free(status);
    }
    return NULL;
}

/* The workload of the run's graph with another device's times. */
static ons_status *cost_on(const ons_capacity_report *r, const ons_plan_input *input, bool accumulates,
                           const ons_device_profile *profile, const ons_workload **result) {
    ons_graph_cost cost;
    ons_graph_work *work;
    ONS_NEW(work, r->arena, 1);
    ONS_TRY(ons_graph_cost_analytic(input->stage.graph, profile, r->arena, &cost));
    ons_graph_work_options options = {
        .graph = input->stage.graph,
        .registry = r->planning->model->registry,
        .cost = &cost,
        .samples = input->stage.rows,
        .updates_in_backward = !accumulates,
        .owners = ons_config_update_owners(r->planning->config),
    };
    ONS_TRY(ons_graph_work_make(&options, r->arena, work));
    *result = &work->work;
    return NULL;
}

static ons_status *find_work(const ons_capacity_report *r, bool accumulates, const ons_device_profile *profile,
                             ons_what_if_work *work) {
    bool own = profile == &r->planning->profile;
    for (int size = 0; size < ONS_REPORT_SIZES && r->sizes[size] > 0; ++size) {
        const ons_plan_input *input = &r->inputs[profile->processor][accumulates][size];
        const ons_workload **place = size == 0 ? &work->low : &work->high;
        *place = &input->costs.graph_work.work;
        if (!own) ONS_TRY(cost_on(r, input, accumulates, profile, place));
    }
    return NULL;
}

static ons_status *add_device(ons_capacity_report *r, const ons_device_profile *profile) {
    ons_what_if_device *device = &r->devices[r->device_count++];
    const ons_planning *p = r->planning;
    device->profile = profile;
    device->capacity_bytes =
        profile == &p->profile ? p->problem.capacity_bytes : profile->memory_bytes - profile->reserve_bytes;
    ONS_TRY(ons_problem_charged_devices(p->config, profile, &device->charged_devices));
    device->money_per_hour = ons_prices_find(&r->prices, profile->name);
    if (p->model == NULL) {
        device->single.low = device->summed.low = p->problem.work;
        return NULL;
    }
    ONS_TRY(find_work(r, false, profile, &device->single));
    return find_work(r, true, profile, &device->summed);
}

/* "cpu" is whatever machine this is, and times of a cost graph belong to the device that they were measured on. */
static bool is_compared(const ons_planning *p, const char *name) {
    return p->model != NULL && strcmp(name, "cpu") != 0 && strcmp(name, p->profile.name) != 0;
}

ons_status *ons_report_find_devices(ons_capacity_report *r) {
    const char *const *names = ons_device_profile_names();
    uint32_t count = 0;
    while (names[count] != NULL) ++count;
    ONS_NEW(r->devices, r->arena, (size_t)count + 1);
    ONS_TRY(choose_sizes(r));
    if (r->planning->model != NULL) ONS_TRY(make_inputs(r, r->planning->profile.processor));
    if (r->planning->model != NULL && r->planning->profile.processor) ONS_TRY(make_inputs(r, false)); /* the others' */
    ONS_TRY(add_device(r, &r->planning->profile));
    for (uint32_t i = 0; i < count; ++i) {
        ons_device_profile *profile;
        if (!is_compared(r->planning, names[i])) continue;
        ONS_NEW(profile, r->arena, 1);
        ONS_TRY(ons_device_profile_load(names[i], r->arena, profile));
        ONS_TRY(add_device(r, profile));
    }
    return NULL;
}
