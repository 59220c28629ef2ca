#include "planner/report/report.h"

#include <stdlib.h>

enum { DEVICES_MOST = 32 }; /* that are tried of a kind */

int64_t ons_report_micro_batches(const ons_question *asked, uint32_t stages) {
    return asked->micro_batches == asked->stages ? stages : asked->micro_batches;
}

/* A strategy that makes lists with the stages makes others for other stages; a device has one of them. What is asked of
 * a model with shards is answered as if they were nodes like all others: how many devices share them is not asked. */
static ons_question make_question(const ons_report_options *o, const ons_what_if_device *device) {
    const ons_planning_problem *p = &o->planned->problem;
    bool makes_lists = (o->partition->search == NULL && !p->follows_lists) || p->shards != NULL;
    uint32_t devices = ons_pipeline_devices(&p->pipeline);
    return (ons_question){
        .device = device,
        .partition = o->partition,
        .memory = p->memory,
        .order = o->planned->node_at,
        .ordered = p->work,
        .generator = makes_lists ? &ons_generator_one_f_one_b : p->pipeline.generator,
        .follows_lists = p->follows_lists,
        .stages = makes_lists ? devices : p->pipeline.stages,
        .devices = makes_lists ? 0 : p->pipeline.devices,
        .replicas = p->pipeline.replicas,
        .batch = o->batch,
        .micro_batches = o->micro_batches,
        .capacity_bytes = device->capacity_bytes,
    };
}

/* ---------------------------------------------------------------------------------------------------- what is shown */

/* The plan, or where nothing fits, one for devices that are just large enough; stages that choose their micro-batches
 * and replicas are not looked for again. */
static ons_status *choose_shown(const ons_report_options *o, ons_arena *arena, ons_report *r) {
    bool found = o->planned->partition.feasible;
    r->fits = found && o->least_bytes == 0;
    r->least_bytes = found ? o->least_bytes : o->planned->partition.least_bytes;
    r->shown = found ? o->planned : NULL;
    if (found || r->least_bytes <= 0 || o->planned->problem.choice != NULL) return NULL;
    ons_planned *least;
    ons_planning_problem problem = o->planned->problem;
    problem.capacity_bytes = r->least_bytes;
    ONS_NEW(least, arena, 1);
    ONS_TRY(ons_planner_search_order(&problem, o->partition, arena, least));
    least->order = o->planned->order;
    if (least->partition.feasible) r->shown = least;
    return NULL;
}

static ons_status *describe_shown(ons_arena *arena, ons_report *r) {
    const ons_planned *planned = r->shown;
    ons_pipeline_setup setup = {.problem = &planned->problem,
                                .first = planned->partition.first,
                                .solutions = planned->solutions,
                                .schedule = planned->problem.schedule};
    int64_t *bytes;
    ONS_TRY(ons_planned_sum_devices(planned, arena, &bytes));
    for (uint32_t i = 0; i < planned->problem.schedule->devices; ++i)
        if (bytes[i] > r->fullest_bytes) r->fullest_bytes = bytes[i];
    ONS_TRY(ons_report_find_layers(planned, arena, &r->layers, &r->layer_count));
    return ons_pipeline_simulate(&setup, arena, &r->forecast);
}

/* ----------------------------------------------------------------------------------------------------------- tables */

static ons_status *add(ons_report_rows *rows, const char *what, const ons_question *question) {
    ons_report_row *row = &rows->items[rows->count++];
    *row = (ons_report_row){.what = what, .question = *question};
    return ons_what_if(question, &row->answer);
}

static ons_status *ask_strategies(const ons_report *r, ons_arena *arena, ons_report_rows *rows) {
    static const struct {
        const char *what, *strategy;
        bool unlimited, without_host;
    } ways[] = {
        {"nothing moved, memory without limit", "none", true, false},
        {"nothing moved", "none", false, false},
        {"everything recomputed", "recompute-all", false, false},
        {"recomputed where memory is short", "capuchin", false, true},
        {"recomputed or swapped where memory is short", "capuchin", false, false},
    };
    enum { WAYS = sizeof ways / sizeof *ways };
    ONS_NEW(rows->items, arena, WAYS);
    for (size_t i = 0; i < WAYS; ++i) {
        ons_question q = r->asked;
        q.memory = ons_memory_strategy_find(ways[i].strategy);
        q.capacity_bytes = ways[i].unlimited ? 0 : q.capacity_bytes;
        q.without_host = ways[i].without_host;
        ONS_TRY(add(rows, ways[i].what, &q));
    }
    return NULL;
}

/* What less memory costs, as shares of what the plan needs with nothing moved. */
static ons_status *ask_squeezed(const ons_report *r, ons_arena *arena, ons_report_rows *rows) {
    static const int percents[ONS_REPORT_SQUEEZES] = {90, 75, 60, 45, 30};
    const ons_report_row *ways = r->strategies.items;
    int64_t whole = ways[0].answer.fullest_bytes;
    if (!ways[0].answer.feasible || whole <= 0) return NULL;
    ONS_NEW(rows->items, arena, ONS_REPORT_SQUEEZES * ONS_REPORT_WAYS);
    for (int i = 0; i < ONS_REPORT_SQUEEZES; ++i)
        for (uint32_t way = r->strategies.count - ONS_REPORT_WAYS; way < r->strategies.count; ++way) {
            ons_question q = ways[way].question;
            q.capacity_bytes = whole / 100 * percents[i];
            ONS_TRY(add(rows, ways[way].what, &q));
        }
    return NULL;
}

/* Of each device the fewest that fit. */
static ons_status *ask_devices(const ons_report_options *o, const ons_report *r, ons_arena *arena,
                               ons_report_rows *rows) {
    ONS_NEW(rows->items, arena, o->device_count);
    for (uint32_t i = 0; i < o->device_count; ++i) {
        ons_report_row row = {.what = o->devices[i].profile->title, .question = r->asked}, tried = row;
        tried.question.device = &o->devices[i];
        tried.question.capacity_bytes = o->devices[i].capacity_bytes;
        for (uint32_t devices = 1; devices <= DEVICES_MOST && !tried.answer.feasible; devices *= 2) {
            tried.question.stages = r->asked.stages;
            tried.question.devices = r->asked.devices;
            ons_question_set_devices(&tried.question, devices);
            tried.question.micro_batches = ons_report_micro_batches(&r->asked, tried.question.stages);
            ONS_TRY(ons_what_if(&tried.question, &tried.answer));
            if (tried.answer.known || devices == 1) row = tried;
        }
        if (!row.answer.known) { /* lists that somebody wrote are for so many devices as they are for */
            row.question = r->asked;
            row.question.device = tried.question.device;
            row.question.capacity_bytes = tried.question.capacity_bytes;
            ONS_TRY(ons_what_if(&row.question, &row.answer));
        }
        rows->items[rows->count++] = row;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- grid */

static int compare_stages(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* 1, 2, 4, 8, 16 and the plan's own. */
static void choose_grid_stages(uint32_t own, uint32_t nodes, ons_report_grid *g) {
    bool has_own = false;
    for (uint32_t stages = 1; stages <= 16 && stages <= nodes; stages *= 2) {
        g->stages[g->stage_count++] = stages;
        has_own |= stages == own;
    }
    if (!has_own) g->stages[g->stage_count++] = own;
    qsort(g->stages, g->stage_count, sizeof *g->stages, compare_stages);
}

static void choose_grid(const ons_report *r, uint32_t nodes, ons_report_grid *g) {
    const ons_what_if_device *device = r->asked.device;
    int64_t memory = device->capacity_bytes + device->profile->reserve_bytes;
    const int64_t memories[] = {memory / 2, memory, memory <= INT64_MAX / 2 ? 2 * memory : memory};
    choose_grid_stages(r->asked.stages, nodes, g);
    for (int i = 0; i < ONS_REPORT_MEMORIES; ++i)
        if (memories[i] > device->profile->reserve_bytes) g->memories[g->memory_count++] = memories[i];
    for (int shift = -2; shift <= 2; ++shift) {
        int64_t batch = r->asked.batch;
        if (shift < 0 && batch % (INT64_C(1) << -shift) != 0) continue;
        if (batch > INT64_MAX / 4) continue;
        g->batches[g->batch_count++] = shift < 0 ? batch >> -shift : batch << shift;
    }
}

static ons_status *ask_grid(const ons_report *r, ons_report_grid *g) {
    for (uint32_t m = 0; m < g->memory_count; ++m)
        for (uint32_t s = 0; s < g->stage_count; ++s)
            for (uint32_t b = 0; b < g->batch_count; ++b) {
                ons_report_row *cell = &g->cells[m][s][b];
                cell->question = r->asked;
                cell->question.capacity_bytes = g->memories[m] - r->asked.device->profile->reserve_bytes;
                ons_question_set_stages(&cell->question, g->stages[s]);
                cell->question.micro_batches = ons_report_micro_batches(&r->asked, g->stages[s]);
                cell->question.batch = g->batches[b];
                ONS_TRY(ons_what_if(&cell->question, &cell->answer));
            }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- report */

static ons_status *make(const ons_report_options *o, ons_arena *arena, ons_report *r) {
    r->asked = make_question(o, &o->devices[0]);
    ONS_TRY(choose_shown(o, arena, r));
    if (r->shown != NULL) ONS_TRY(describe_shown(arena, r));
    ONS_TRY(ons_what_if_largest(&r->asked, &r->largest_batch, &r->largest));
    r->largest_is_bound =
        r->largest_batch >= ONS_WHAT_IF_ROWS * r->asked.micro_batches * ons_question_replicas(&r->asked);
    ONS_TRY(ask_strategies(r, arena, &r->strategies));
    ONS_TRY(ask_squeezed(r, arena, &r->squeezed));
    ONS_TRY(ask_devices(o, r, arena, &r->devices));
    ONS_TRY(ons_report_find_layouts(&r->asked, arena, &r->layouts));
    if (!r->fits) ONS_TRY(ons_report_find_changes(o, &r->asked, arena, &r->changes));
    ONS_NEW(r->grid, arena, 1);
    choose_grid(r, o->planned->problem.work->node_count, r->grid);
    return ask_grid(r, r->grid);
}

ons_status *ons_report_make(const ons_report_options *options, ons_arena *arena, ons_report *report) {
    *report = (ons_report){0};
    ons_status *status = make(options, arena, report);
    if (status != NULL) ons_report_free(report);
    return status;
}

void ons_report_free(ons_report *report) {
    ons_simulation_free(report->forecast.simulation);
    *report = (ons_report){0};
}
