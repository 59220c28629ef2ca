#include "bench/paper_splits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/workload/order.h"
#include "tests/rooms/planner/loads.h"

typedef struct finder {
    const ons_workload *work;
    ons_memory_workspace *workspace;
    const ons_memory_strategy *none;
    int64_t capacity;
} finder;

/* Longer stages need more, so that they are not looked at, where this says so. */
static ons_status *stage_fits(const finder *f, uint32_t first, uint32_t end, const ons_stage_load *load, bool *fits,
                              bool *far) {
    ons_stage_memory memory;
    ons_work_stage_memory(f->work, first, end, load, &memory);
    *fits = memory.total <= f->capacity;
    *far = memory.total > f->capacity + f->capacity / 2;
    if (*fits || *far) return NULL;
    ons_stage_problem problem = {
        .work = f->work, .first = first, .end = end, .load = *load, .capacity_bytes = f->capacity};
    ons_stage_solution solution = {0};
    ONS_TRY(f->none->solve(&problem, f->workspace, NULL, &solution));
    *fits = solution.feasible;
    return NULL;
}

/* From the places where a stage can begin to those where it can end. */
static ons_status *extend(const finder *f, const ons_stage_load *load, const bool *begins, bool *ends) {
    uint32_t count = f->work->node_count;
    memset(ends, 0, count + 1);
    for (uint32_t first = 0; first < count; ++first)
        for (uint32_t end = first + 1; begins[first] && end <= count; ++end) {
            bool fits, far;
            if (ends[end]) continue;
            ONS_TRY(stage_fits(f, first, end, load, &fits, &far));
            if (far) break;
            ends[end] = fits;
        }
    return NULL;
}

static ons_status *order_fits(const finder *f, const ons_pipeline *pipeline, ons_arena *arena, bool *fits) {
    uint32_t count = f->work->node_count;
    bool *now, *next;
    ONS_NEW(now, arena, (size_t)count + 1);
    ONS_NEW(next, arena, (size_t)count + 1);
    now[0] = true;
    for (uint32_t stage = 0; stage < pipeline->stages; ++stage) {
        ons_stage_load load = load_of_stage(pipeline, stage);
        ONS_TRY(extend(f, &load, now, next));
        bool *ends = next;
        next = now;
        now = ends;
    }
    *fits = now[count];
    return NULL;
}

static ons_status *try_order(paper_model *m, const ons_workload *work, const ons_pipeline *pipeline, ons_arena *arena,
                             bool *fits) {
    finder f = {.work = work, .none = ons_memory_strategy_find("none"), .capacity = paper_capacity(m)};
    ONS_TRY(ons_memory_workspace_new(work, &f.workspace));
    ons_status *status = order_fits(&f, pipeline, arena, fits);
    ons_memory_workspace_free(f.workspace);
    return status;
}

static ons_status *try_orders(paper_model *m, const ons_workload *work, const ons_pipeline *pipeline, ons_arena *arena,
                              bool *fits) {
    ONS_TRY(try_order(m, work, pipeline, arena, fits));
    for (int kind = 0; !*fits && kind < ONS_ORDER_PACKED; ++kind) {
        uint32_t *order;
        ons_workload reordered;
        ONS_TRY(ons_work_order(work, (ons_order_kind)kind, pipeline->stages, arena, &order));
        ONS_TRY(ons_work_reorder(work, order, arena, &reordered));
        ONS_TRY(try_order(m, &reordered, pipeline, arena, fits));
    }
    return NULL;
}

ons_status *paper_any_split_fits(paper_model *m, const ons_generator *kind, uint32_t stages, int64_t rows, bool *fits) {
    const ons_pipeline pipeline = {.generator = kind, .stages = stages, .micro_batches = stages};
    const ons_workload *work;
    ONS_TRY(paper_work(m, rows, &work));
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = try_orders(m, work, &pipeline, arena, fits);
    ons_arena_free(arena);
    return status;
}

static ons_status *print_model(const paper_subject *subject, char **arguments, int64_t step, const char *profile) {
    paper_model m;
    const ons_generator *kind;
    int64_t to = atoll(arguments[4]);
    ONS_TRY(ons_generator_parse(arguments[2], &kind));
    ONS_TRY(paper_model_open(subject, profile, &m));
    ons_status *status = NULL;
    for (int64_t rows = atoll(arguments[3]); rows > 0 && rows <= to && status == NULL; rows += step) {
        bool fits = false;
        status = paper_any_split_fits(&m, kind, (uint32_t)atoi(arguments[1]), rows, &fits);
        if (status == NULL)
            printf("%s, %s stages, %s, micro-batches of %lld: %s\n", subject->name, arguments[1], arguments[2],
                   (long long)rows, fits ? "a split fits" : "no split fits");
        fflush(stdout);
    }
    paper_model_close(&m);
    return status;
}

ons_status *paper_splits_print(int count, char **arguments, const char *profile) {
    int64_t step = count > 5 ? atoll(arguments[5]) : 1;
    ONS_CHECK(count >= 5 && step > 0 && atoi(arguments[1]) > 0 && atoi(arguments[1]) <= PAPER_STAGES_MAX,
              ONS_INVALID_ARGUMENT, "--splits MODEL STAGES SCHEDULE FROM TO [STEP]");
    for (int k = 0; k < PAPER_MODELS; ++k)
        if (strcmp(paper_subjects[k].name, arguments[0]) == 0)
            return print_model(&paper_subjects[k], arguments, step, profile);
    return ons_status_new(ONS_INVALID_ARGUMENT, "--splits: there is no model %s", arguments[0]);
}
