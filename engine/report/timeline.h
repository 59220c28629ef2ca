/* How a schedule goes, drawn: a row for each device, its actions where they lie in time. On a terminal as text, in the
 * capacity report and in a file of its own as SVG. What is drawn is what the simulation says of each action: its kind,
 * stage and micro-batch. */
#ifndef ONSTAGE_ENGINE_REPORT_TIMELINE_H
#define ONSTAGE_ENGINE_REPORT_TIMELINE_H

#include <stdio.h>

#include "planner/simulate/pipeline_simulation.h"

typedef struct ons_timeline {
    const ons_simulation *simulation;
    const ons_schedule *schedule; /* says where stages lie */
    uint32_t *chunk_of;           /* [stage]: its number among the stages of its device */
    uint32_t chunks;              /* most stages on a device */
    double start, seconds;        /* what is shown: a step, or of an asynchronous pipeline as long a stretch from the
                                     middle */
} ons_timeline;

/* Points into what it is made from; in `arena`. */
ons_status *ons_timeline_make(const ons_pipeline_forecast *forecast, const ons_schedule *schedule, ons_arena *arena,
                              ons_timeline *timeline);

/* ---------------------------------------------------------------------------------------------------------- as text */

/* Of so many columns, or a few more where they are too few; one line for each of the first `devices`. */
ons_status *ons_timeline_print(const ons_timeline *timeline, uint32_t devices, uint32_t columns, ons_arena *arena,
                               FILE *out);

/* ----------------------------------------------------------------------------------------------------------- as SVG */

/* Of a drawing 1000 wide: where time begins, and how long it is. */
enum { ONS_TIMELINE_LEFT = 96, ONS_TIMELINE_WIDTH = 880 };
/* Where a time lies in it. */
double ons_timeline_place(const ons_timeline *timeline, double seconds);
void ons_timeline_draw_axis(const ons_timeline *timeline, int y, FILE *out);

/* Rules for the classes of the drawing's actions, which are readable on light and dark ground. */
void ons_timeline_write_style(FILE *out);
/* The drawing as a part of a page that has these rules and those of its own text. */
void ons_timeline_draw(const ons_timeline *timeline, uint32_t devices, FILE *out);
/* The drawing as a file that needs nothing else. */
void ons_timeline_write_svg(const ons_timeline *timeline, const char *title, FILE *out);

#endif
