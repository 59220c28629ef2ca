/* A timeline as text: a line for each device, its time in columns. An action is its kind's letter and its micro-batch,
 * as far as it has columns, and then dashes. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "engine/report/timeline.h"
#include "planner/workload/print.h"

enum { COLUMNS_LEAST = 20, COLUMNS_MOST = 2000, LABEL = 32 };

static const char letters[ONS_ACTION_COUNT] = {
    [ONS_ACTION_FORWARD] = 'F',         [ONS_ACTION_BACKWARD] = 'B', [ONS_ACTION_INPUT_GRADIENT] = 'I',
    [ONS_ACTION_WEIGHT_GRADIENT] = 'W', [ONS_ACTION_UPDATE] = 'U',   [ONS_ACTION_RECOMPUTE] = 'R',
    [ONS_ACTION_ALL_REDUCE] = 'A',
};

/* What a column shows: the action that takes most of it, where less than half of it is idle. */
typedef struct cell {
    const ons_action *action;
    double most, busy;
} cell;

typedef struct chart {
    const ons_timeline *t;
    FILE *out;
    cell *cells;
    uint32_t columns; /* of time */
    int label;        /* columns of the device's name */
    bool used[ONS_ACTION_COUNT];
} chart;

static bool is_same(const ons_action *a, const ons_action *b) {
    return a != NULL && b != NULL && a->kind == b->kind && a->stage == b->stage && a->micro_batch == b->micro_batch;
}

/* ------------------------------------------------------------------------------------------------------------ cells */

/* Pieces of one action count together. */
static void add_to(cell *c, const ons_action *action, double share, double *own) {
    c->busy += share;
    *own += share;
    if (*own <= c->most) return;
    c->most = *own;
    c->action = action;
}

static void fill_cells(chart *c, uint32_t device) {
    const ons_simulation *s = c->t->simulation;
    ons_resource_id compute = device * ONS_DEVICE_STREAMS + ONS_STREAM_COMPUTE;
    const ons_action *last = NULL;
    double own = 0; /* of the last action, in the column */
    uint32_t own_column = 0;
    memset(c->cells, 0, c->columns * sizeof *c->cells);
    for (ons_task_id i = 0; i < ons_simulation_task_count(s); ++i) {
        const ons_task_spec *spec = ons_simulation_task(s, i);
        ons_task_times times = ons_simulation_times(s, i);
        if (spec->resource != compute || times.end <= times.start || c->t->seconds <= 0) continue;
        double from = (times.start - c->t->start) / c->t->seconds * c->columns;
        double to = (times.end - c->t->start) / c->t->seconds * c->columns;
        if (to <= 0 || from >= c->columns) continue;
        from = from < 0 ? 0 : from;
        to = to > c->columns ? c->columns : to;
        for (uint32_t k = (uint32_t)from; k < c->columns && k < to; ++k) {
            double begin = from > k ? from : k, end = to < k + 1 ? to : k + 1;
            if (!is_same(last, &spec->action) || k != own_column) own = 0;
            own_column = k;
            add_to(&c->cells[k], &spec->action, end - begin, &own);
            last = &spec->action;
        }
    }
    for (uint32_t k = 0; k < c->columns; ++k)
        if (c->cells[k].busy < 0.5) c->cells[k].action = NULL;
}

/* ------------------------------------------------------------------------------------------------------------ lines */

/* The longest that fits of "F13@2" (of stage 2, where devices hold several; a dash follows), "F13" and "F". A device's
 * second, fourth, … stage has small letters. */
static void print_action(const chart *c, const ons_action *a, uint32_t width) {
    char text[32];
    int letter = letters[a->kind] != '\0' ? letters[a->kind] : '?';
    uint32_t number = ons_schedule_number(c->t->schedule, a->stage, a->copy, a->micro_batch);
    if (c->t->chunk_of[a->stage] % 2 == 1) letter = tolower(letter);
    int length = snprintf(text, sizeof text, "%c%u@%u", letter, number, a->stage);
    if (c->t->chunks == 1 || length >= (int)width) length = snprintf(text, sizeof text, "%c%u", letter, number);
    if (length > (int)width) length = snprintf(text, sizeof text, "%c", letter);
    fputs(text, c->out);
    for (int i = length; i < (int)width; ++i) fputc('-', c->out);
}

static void print_device(chart *c, uint32_t device) {
    char name[LABEL];
    snprintf(name, sizeof name, "device %u", device);
    fprintf(c->out, "%-*s", c->label, name);
    fill_cells(c, device);
    for (uint32_t from = 0, to; from < c->columns; from = to) {
        const ons_action *a = c->cells[from].action;
        for (to = from + 1; to < c->columns && is_same(a, c->cells[to].action); ++to) {
        }
        if (a == NULL) {
            fputc('.', c->out);
            continue;
        }
        c->used[a->kind] = true;
        print_action(c, a, to - from);
    }
    fputc('\n', c->out);
}

/* Columns that a text of UTF-8 takes. */
static int width_of(const char *text) {
    int width = 0;
    for (; *text != '\0'; ++text) width += !ons_utf8_continues(*text);
    return width;
}

/* Times at the beginning, in quarters or halves, and at the end. */
static void print_axis(const chart *c) {
    int parts = c->columns >= 60 ? 4 : 2, at = 0;
    fprintf(c->out, "%*s", c->label, "");
    for (int i = 0; i <= parts; ++i) {
        char text[ONS_SECONDS_TEXT];
        ons_seconds_print(c->t->seconds * i / parts, text);
        if (i == 0) strcpy(text, "0");
        int width = width_of(text), tick = (int)((uint64_t)c->columns * (unsigned)i / (unsigned)parts);
        int begin = i == 0 ? 0 : i == parts ? tick - width : tick - width / 2;
        if (begin < at + (i > 0)) continue;
        fprintf(c->out, "%*s%s", begin - at, "", text);
        at = begin + width;
    }
    fputc('\n', c->out);
}

/* ----------------------------------------------------------------------------------------------------------- legend */

typedef struct paragraph {
    FILE *out;
    int at, most;
} paragraph;

static void put_words(paragraph *p, const char *text) {
    int width = width_of(text);
    if (p->at > 0 && p->at + 2 + width > p->most) fputc('\n', p->out), p->at = 0;
    fprintf(p->out, "%s%s", p->at > 0 ? "  " : "", text);
    p->at += width + (p->at > 0 ? 2 : 0);
}

static void print_legend(const chart *c, uint32_t columns) {
    paragraph p = {c->out, 0, (int)columns};
    char text[64];
    for (int kind = 0; kind < ONS_ACTION_COUNT; ++kind) {
        if (!c->used[kind]) continue;
        snprintf(text, sizeof text, "%c %s", letters[kind], ons_action_name((ons_action_kind)kind));
        put_words(&p, text);
    }
    put_words(&p, ". idle");
    if (c->t->chunks > 1) {
        put_words(&p, "F0@2 micro-batch 0 of stage 2");
        put_words(&p, "small letters: a device's second stage, fourth, …");
    } else {
        put_words(&p, "F0 micro-batch 0");
    }
    fputc('\n', c->out);
}

/* ------------------------------------------------------------------------------------------------------------ chart */

ons_status *ons_timeline_print(const ons_timeline *t, uint32_t devices, uint32_t columns, ons_arena *arena, FILE *out) {
    char name[LABEL];
    chart c = {.t = t, .out = out};
    c.label = snprintf(name, sizeof name, "device %u  ", devices > 0 ? devices - 1 : 0);
    if (columns > COLUMNS_MOST) columns = COLUMNS_MOST;
    c.columns = columns > (uint32_t)c.label + COLUMNS_LEAST ? columns - (uint32_t)c.label : COLUMNS_LEAST;
    ONS_NEW(c.cells, arena, c.columns);
    for (uint32_t i = 0; i < devices; ++i) print_device(&c, i);
    print_axis(&c);
    print_legend(&c, columns);
    return NULL;
}
