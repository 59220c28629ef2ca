#include <stdlib.h>
#include <string.h>

#include "planner/report/report.h"

typedef struct tally {
    const ons_planned *planned;
    ons_report_layer *layers;
    uint32_t *layer_of; /* of the workload's layers: several may have one name */
} tally;

/* Stretches of one layer are told from its name. */
static ons_status *merge_names(tally *t, ons_arena *arena, uint32_t *count) {
    const ons_workload *work = t->planned->problem.work;
    ONS_NEW(t->layers, arena, (size_t)work->layer_count + 1);
    ONS_NEW(t->layer_of, arena, (size_t)work->layer_count + 1);
    *count = 0;
    for (uint32_t i = 0; i < work->layer_count; ++i) {
        uint32_t at = 0;
        while (at < *count && strcmp(t->layers[at].name, work->layers[i].name) != 0) ++at;
        if (at == *count) t->layers[(*count)++] = (ons_report_layer){.name = work->layers[i].name, .stage = UINT32_MAX};
        t->layer_of[i] = at;
    }
    return NULL;
}

static ons_report_layer *layer_of(const tally *t, uint32_t node) {
    return &t->layers[t->layer_of[t->planned->problem.work->nodes[node].layer]];
}

static uint32_t stage_of(const tally *t, uint32_t node) {
    uint32_t stage = 0;
    while (t->planned->partition.first[stage + 1] <= node) ++stage;
    return stage;
}

/* Of a micro-batch as large as the stage's own. */
static const ons_workload *work_of(const tally *t, uint32_t stage) {
    const ons_planning_problem *p = &t->planned->problem;
    return p->stage_works != NULL ? p->stage_works[stage] : p->work;
}

static int64_t copies_of(const tally *t, uint32_t stage) {
    return ons_schedule_grouping(t->planned->problem.schedule, stage).copies;
}

static void add_nodes(const tally *t) {
    const ons_workload *work = t->planned->problem.work;
    for (uint32_t i = 0; i < work->node_count; ++i) {
        ons_report_layer *layer = layer_of(t, i);
        uint32_t stage = stage_of(t, i);
        if (stage < layer->stage) layer->stage = stage;
        layer->seconds += ons_work_seconds(work_of(t, stage), i, i + 1);
    }
}

/* Each copy of a stage that uses a weight has it. */
static void add_weights(const tally *t) {
    const ons_workload *work = t->planned->problem.work;
    for (uint32_t i = 0; i < work->weight_count; ++i) {
        const ons_work_weight *w = &work->weights[i];
        uint32_t last = UINT32_MAX;
        for (uint32_t k = 0; k < w->user_count; ++k) {
            uint32_t stage = stage_of(t, w->users[k]);
            if (stage == last) continue;
            last = stage;
            ons_stage_load load = t->planned->problem.schedule->loads[stage];
            int64_t versions = w->gradient_bytes > 0 ? load.versions : 1;
            int64_t gradient = load.accumulates ? w->gradient_bytes : 0;
            layer_of(t, w->users[0])->held += copies_of(t, stage) * (versions * w->bytes + gradient + w->state_bytes);
        }
    }
}

static bool is_moved(const tally *t, uint32_t stage, uint32_t tensor) {
    const ons_stage_solution *s = &t->planned->solutions[stage];
    for (uint32_t i = 0; i < s->decision_count; ++i)
        if (s->decisions[i].tensor == tensor && s->decisions[i].decision != ONS_KEEP) return true;
    return false;
}

static void add_tensors(const tally *t) {
    const ons_workload *work = t->planned->problem.work;
    for (uint32_t i = 0; i < work->tensor_count; ++i) {
        const ons_work_tensor *tensor = &work->tensors[i];
        uint32_t last = UINT32_MAX;
        for (uint32_t k = 0; k < tensor->saver_count; ++k) {
            uint32_t stage = stage_of(t, tensor->savers[k]);
            if (stage == last) continue;
            last = stage;
            uint32_t owner = tensor->producer == ONS_NO_NODE ? tensor->savers[k] : tensor->producer;
            ons_report_layer *layer = layer_of(t, owner);
            int64_t bytes = work_of(t, stage)->tensors[i].bytes * copies_of(t, stage) *
                            t->planned->problem.schedule->loads[stage].in_flight;
            *(is_moved(t, stage, i) ? &layer->moved : &layer->saved) += bytes;
        }
    }
}

static int compare(const void *a, const void *b) {
    const ons_report_layer *x = a, *y = b;
    int64_t left = x->held + x->saved, right = y->held + y->saved;
    if (left != right) return left < right ? 1 : -1;
    return strcmp(x->name, y->name);
}

ons_status *ons_report_find_layers(const ons_planned *planned, ons_arena *arena, ons_report_layer **layers,
                                   uint32_t *count) {
    tally t = {.planned = planned};
    ONS_TRY(merge_names(&t, arena, count));
    add_nodes(&t);
    add_weights(&t);
    add_tensors(&t);
    qsort(t.layers, *count, sizeof *t.layers, compare);
    *layers = t.layers;
    return NULL;
}
