/* The capacity report of a plan: gathered by planner/report/report.h, here with what it is made from and written as a
 * page. */
#ifndef ONSTAGE_ENGINE_REPORT_REPORT_H
#define ONSTAGE_ENGINE_REPORT_REPORT_H

#include <stdio.h>

#include "engine/plan/planning.h"
#include "engine/report/html.h"
#include "engine/report/prices.h"
#include "engine/report/timeline.h"
#include "planner/report/goal.h"
#include "planner/report/report.h"

enum { ONS_REPORT_SIZES = 2 };

typedef struct ons_capacity_report {
    const ons_planning *planning;
    ons_arena *arena; /* owned */
    ons_prices prices;
    /* [for a CPU][gradients are added up][size]: a CPU's graph has the blocked layouts of its kernels, that of others
     * none; those that no compared device needs are empty. */
    ons_plan_input inputs[2][2][ONS_REPORT_SIZES];
    int64_t sizes[ONS_REPORT_SIZES]; /* samples in a micro-batch; [1] 0: no other than the first */
    ons_what_if_device *devices;
    uint32_t device_count;
    int64_t epoch_samples; /* 0: not known */
    ons_goal goal;         /* samples 0: none */
    bool exact;            /* the planning knows the memory to the byte: see ons_planning_is_exact */
    ons_report content;
    ons_timeline timeline; /* of what is shown */
    uint32_t *ranking;     /* of the planning's portfolio: those that were simulated, the fastest first */
    uint32_t ranked;
} ons_capacity_report;

/* The devices that are compared: the planning's own, then all shipped ones. */
ons_status *ons_report_find_devices(ons_capacity_report *report);

/* The page, with everything in it; written to `out`, whose failures the caller finds with ferror. */
void ons_report_write_page(const ons_capacity_report *report, FILE *out);
/* Its parts. */
void ons_report_write_tables(const ons_capacity_report *report, FILE *out);
void ons_report_write_schedules(const ons_capacity_report *report, FILE *out);
void ons_report_write_degrees(const ons_capacity_report *report, FILE *out);
void ons_report_write_what_if(const ons_capacity_report *report, FILE *out);
void ons_report_write_layouts(const ons_capacity_report *report, FILE *out);
void ons_report_write_goal(const ons_capacity_report *report, FILE *out);
void ons_report_draw_devices(const ons_capacity_report *report, FILE *out);
void ons_report_draw_timeline(const ons_capacity_report *report, FILE *out);
void ons_report_write_assumptions(const ons_capacity_report *report, FILE *out);
/* The page's parts in a few lines for the terminal. */
void ons_report_write_text(const ons_capacity_report *report, FILE *out);
void ons_report_write_layouts_text(const ons_capacity_report *report, FILE *out);
void ons_report_write_goal_text(const ons_capacity_report *report, FILE *out);
/* Whether the question has the stages and replicas that were asked for. */
bool ons_report_is_asked(const ons_report *content, const ons_question *question);

/* Cells of its tables; a dash for what is 0. */
void ons_report_size_cell(FILE *out, int64_t bytes);
void ons_report_time_cell(FILE *out, double seconds);
/* Step and samples a second, where it fits. */
void ons_report_speed_cells(const ons_report_row *row, FILE *out);
/* Nothing where there are no prices. */
void ons_report_money_cell(const ons_capacity_report *report, const ons_report_row *row, FILE *out);
void ons_report_money_head(const ons_capacity_report *report, FILE *out);
/* How a cell is coloured by whether it fits, and the words for it. */
const char *ons_report_fit_class(const ons_answer *answer);
const char *ons_report_fit_text(const ons_answer *answer);

/* Parts of memory in the order in which they are drawn and listed. */
enum { ONS_MEMORY_KINDS = 7 };
extern const char *const ons_memory_kind_names[ONS_MEMORY_KINDS];
void ons_memory_kinds(const ons_stage_memory *memory, int64_t kinds[static ONS_MEMORY_KINDS]);

/* What a stage of the plan that is shown needs: of this machine exactly, else as the search found. */
const ons_stage_memory *ons_report_stage_memory(const ons_capacity_report *report, uint32_t stage);
/* Its stages and devices, and what the stages of a device need together. */
uint32_t ons_report_stage_count(const ons_capacity_report *report);
uint32_t ons_report_device_count(const ons_capacity_report *report);
uint32_t ons_report_device_of(const ons_capacity_report *report, uint32_t stage);
int64_t ons_report_device_kinds(const ons_capacity_report *report, uint32_t device,
                                int64_t kinds[static ONS_MEMORY_KINDS]); /* their sum */

/* Whether stages chose micro-batches and replicas of their own; no plan that it is compared with does. */
bool ons_report_has_choice(const ons_capacity_report *report);

/* What an epoch costs or, where its samples are not known, a million samples; 0: not known. */
double ons_report_money(const ons_capacity_report *report, const ons_report_row *row);
/* "an epoch" or "per million samples" */
const char *ons_report_money_unit(const ons_capacity_report *report);

/* How much slower than `before`, in percent, to one decimal; what is printed as nothing has no sign. */
double ons_report_slower(double seconds, double before);

/* The model's file without its folders: the page says nothing of where it was made. */
const char *ons_report_model_name(const ons_capacity_report *report);
/* Of all replicas, by the plan that is shown. */
double ons_report_samples_per_second(const ons_report *content);

#endif
