#include "bench/schedules_fit.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "planner/search/pfeife.h"

static const fit_row table_5[] = {
    {"ViT-g/14", 2, 1, 1, 1899, 0},    {"ViT-g/14", 2, 2, 1, 1808, 0},    {"ViT-g/14", 2, 3, 1, 1776, 0},
    {"ViT-g/14", 4, 1, 2, 1121, 0},    {"ViT-g/14", 4, 2, 3, 966, 0},     {"ViT-g/14", 4, 3, 3, 936, 0},
    {"ViT-g/14", 8, 1, 3, 760, 0},     {"ViT-g/14", 8, 2, 3, 621, 0},     {"ViT-g/14", 8, 3, 3, 591, 0},
    {"GPT-2 large", 2, 1, 0, 1230, 0}, {"GPT-2 large", 2, 2, 1, 1142, 0}, {"GPT-2 large", 4, 1, 2, 699, 0},
    {"GPT-2 large", 4, 2, 2, 622, 0},  {"GPT-2 large", 8, 1, 2, 486, 0},  {"GPT-2 large", 8, 2, 3, 420, 0},
};
enum { ROWS = sizeof table_5 / sizeof *table_5, MICRO_BATCHES = 8, MODELS = 2, STEPS = 6 };

typedef struct fitting {
    fit_row rows[ROWS];
    double seconds[MODELS]; /* of a micro-batch's work */
    double link, part;
} fitting;

static int model_of(const fit_row *row) { return strcmp(row->model, table_5[0].model) != 0; }

/* The step of a row, with the cuts and the prefetch, up to the row's, that are best. */
static ons_status *predict(const fitting *f, const fit_row *row, ons_arena *arena, double *step) {
    vision_work_options o = model_of(row) == 0 ? vision_work_vit(6) : vision_work_gpt2(2);
    ons_workload work;
    ons_pfeife_plan plan;
    o.seconds = f->seconds[model_of(row)];
    ONS_TRY(vision_work_make(&o, arena, &work));
    ons_planning_problem p = {.work = &work,
                              .pipeline = {.devices = row->devices, .micro_batches = MICRO_BATCHES},
                              .link_bandwidth = f->link > 0 ? 1e18 : 0,
                              .link_latency = f->link};
    ons_pfeife_options options = {.least_loops = row->loops,
                                  .most_loops = row->loops,
                                  .most_prefetch = row->prefetch,
                                  .endless_room = true,
                                  .beam = {.part_seconds = f->part}};
    ONS_TRY(ons_pfeife_search(&p, &options, arena, &plan));
    *step = plan.split.seconds;
    return NULL;
}

static ons_status *predict_row(const fitting *f, const fit_row *row, double *step) {
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = predict(f, row, arena, step);
    ons_arena_free(arena);
    return status;
}

/* The work with which the row without loops comes out right. */
static ons_status *find_work(fitting *f, const fit_row *row) {
    double *seconds = &f->seconds[model_of(row)];
    *seconds = 1e-3 * row->paper_ms * row->devices / (MICRO_BATCHES + 1);
    for (int i = 0; i < STEPS; ++i) {
        double step;
        ONS_TRY(predict_row(f, row, &step));
        *seconds *= 1e-3 * row->paper_ms / step;
    }
    return NULL;
}

/* Sum of squared relative errors of the rows for two devices. */
static ons_status *find_error(fitting *f, double *error) {
    *error = 0;
    for (uint32_t i = 0; i < ROWS; ++i) {
        double step;
        if (table_5[i].devices != 2) continue;
        if (table_5[i].loops == 1) ONS_TRY(find_work(f, &table_5[i]));
        ONS_TRY(predict_row(f, &table_5[i], &step));
        *error += pow(1e3 * step / table_5[i].paper_ms - 1, 2);
    }
    return NULL;
}

static ons_status *try_pair(fitting *f, double link, double part, double *least, double pair[2]) {
    double error;
    f->link = fmax(link, 0);
    f->part = fmax(part, 0);
    ONS_TRY(find_error(f, &error));
    if (error >= *least) return NULL;
    *least = error;
    pair[0] = f->link;
    pair[1] = f->part;
    return NULL;
}

/* By grids that shrink around the best pair. */
static ons_status *fit(fitting *f) {
    double least = INFINITY, pair[2] = {8e-3, 4e-3}, width[2] = {8e-3, 4e-3};
    for (int round = 0; round < 4; ++round) {
        double middle[2] = {pair[0], pair[1]};
        for (int i = -3; i <= 3; ++i)
            for (int k = -3; k <= 3; ++k)
                ONS_TRY(try_pair(f, middle[0] + width[0] * i / 3, middle[1] + width[1] * k / 3, &least, pair));
        for (int i = 0; i < 2; ++i) width[i] /= 3;
    }
    f->link = pair[0];
    f->part = pair[1];
    return find_error(f, &least);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

ons_status *fit_table_5(ons_arena *arena, fit_result *result) {
    double began = now();
    fitting f = {0};
    ONS_TRY(fit(&f));
    *result = (fit_result){.link_ms = 1e3 * f.link, .part_ms = 1e3 * f.part, .count = ROWS};
    ONS_NEW(result->rows, arena, ROWS);
    memcpy(result->rows, table_5, sizeof table_5);
    for (uint32_t i = 0; i < ROWS; ++i) {
        double step;
        ONS_TRY(predict_row(&f, &table_5[i], &step));
        result->rows[i].predicted_ms = 1e3 * step;
    }
    result->seconds = now() - began;
    return NULL;
}
