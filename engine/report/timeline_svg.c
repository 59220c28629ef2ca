/* A timeline as SVG. Colours say what is done; of several stages on a device each has a tint of them. */
#include <math.h>
#include <string.h>

#include "engine/report/html.h"
#include "engine/report/timeline.h"
#include "planner/workload/print.h"

enum { LEFT = ONS_TIMELINE_LEFT, WIDTH = ONS_TIMELINE_WIDTH, TINTS = 4, LINE = 18, LETTER = 7 };

/* ---------------------------------------------------------------------------------------------------------- colours */

typedef enum colour {
    FORWARD,
    BACKWARD,
    INPUT_GRADIENT,
    WEIGHT_GRADIENT,
    RECOMPUTE,
    UPDATE,
    SWAP,
    TRANSFER,
    COLOURS,
    NO_COLOUR = COLOURS
} colour;

static const struct {
    const char *name;
    unsigned char red, green, blue;
    bool computes; /* for a stage: has tints */
} colours[COLOURS] = {
    {"forward", 0x2f, 0x7f, 0xc4, true},
    {"backward", 0x2c, 0x9d, 0x74, true},
    {"input gradient", 0x12, 0x8c, 0xa0, true},
    {"weight gradient", 0xc9, 0x5f, 0x1e, true},
    {"recompute", 0xc9, 0x92, 0x00, true},
    {"update", 0x7d, 0x5b, 0xa6, true},
    {"copy to or from the host", 0xd0, 0x60, 0x9b, false},
    {"transfer", 0x8a, 0x93, 0x9d, false},
};

static colour colour_of(ons_action_kind kind) {
    switch (kind) {
    case ONS_ACTION_FORWARD: return FORWARD;
    case ONS_ACTION_BACKWARD: return BACKWARD;
    case ONS_ACTION_INPUT_GRADIENT: return INPUT_GRADIENT;
    case ONS_ACTION_WEIGHT_GRADIENT: return WEIGHT_GRADIENT;
    case ONS_ACTION_RECOMPUTE: return RECOMPUTE;
    case ONS_ACTION_UPDATE: return UPDATE;
    case ONS_ACTION_SWAP_OUT:
    case ONS_ACTION_SWAP_IN: return SWAP;
    default: return TRANSFER;
    }
}

/* How much white is in a tint. */
static const double white[TINTS] = {0, 0.42, 0.64, 0.80};

static unsigned mix(unsigned char part, int tint) { return (unsigned)lround(part + (255 - part) * white[tint]); }

void ons_timeline_write_style(FILE *out) {
    for (int c = 0; c < COLOURS; ++c)
        for (int tint = 0; tint < (colours[c].computes ? TINTS : 1); ++tint)
            fprintf(out, ".a%d%c{fill:#%02x%02x%02x}", c, 'a' + tint, mix(colours[c].red, tint),
                    mix(colours[c].green, tint), mix(colours[c].blue, tint));
    fputs("\nsvg text.n{fill:#fff;font-size:11px;text-anchor:middle}svg "
          "text.d{fill:#10141a;font-size:11px;text-anchor:middle}\n",
          out);
}

static int tint_of(const ons_timeline *t, const ons_action *action) {
    return colours[colour_of(action->kind)].computes ? (int)(t->chunk_of[action->stage] % TINTS) : 0;
}

/* ------------------------------------------------------------------------------------------------------------ boxes */

typedef struct drawing {
    const ons_timeline *t;
    FILE *out;  /* NULL: only its height is wanted */
    bool names; /* each action has a text that tells it, for whoever points at it */
    bool used[COLOURS];
} drawing;

typedef struct box {
    double from, to;
    colour colour;
    ons_action action;
    ons_task_times times;
    bool single; /* one action, or parts of it */
} box;

/* "3", or "8–11" where the stage takes several of the step's micro-batches at once; returns the letters. */
static int print_number(const ons_schedule *s, const ons_action *a, char text[static 32]) {
    uint32_t first = ons_schedule_first_unit(s, a->stage, a->copy, a->micro_batch);
    uint32_t size = ons_schedule_grouping(s, a->stage).size;
    if (!colours[colour_of(a->kind)].computes) return snprintf(text, 32, "%u", a->micro_batch);
    if (size == 1) return snprintf(text, 32, "%u", first);
    return snprintf(text, 32, "%u–%u", first, first + size - 1) - 2; /* the dash has three bytes */
}

/* In a row of actions, where the number has room. */
static void write_number(const drawing *d, const box *b, int y, int height) {
    char number[32];
    bool numbered = b->single && colours[b->colour].computes && b->colour != UPDATE;
    int digits = print_number(d->t->schedule, &b->action, number);
    if (!numbered || height < 14 || b->to - b->from < 4 + LETTER * digits) return;
    fprintf(d->out, "<text class=\"%s\" x=\"%.1f\" y=\"%d\">%s</text>", tint_of(d->t, &b->action) == 0 ? "n" : "d",
            (b->from + b->to) / 2, y + height - 6, number);
}

static void write_name(const drawing *d, const box *b) {
    char from[ONS_SECONDS_TEXT], seconds[ONS_SECONDS_TEXT];
    if (!d->names || !b->single) return;
    ons_stage_grouping g = ons_schedule_grouping(d->t->schedule, b->action.stage);
    char number[32];
    print_number(d->t->schedule, &b->action, number);
    fprintf(d->out, "<title>%s of stage %u, ", ons_action_name(b->action.kind), b->action.stage);
    if (g.copies > 1) fprintf(d->out, "replica %u, ", b->action.copy);
    fprintf(d->out, "micro-batch%s %s: at %s, takes %s</title>", strstr(number, "–") != NULL ? "es" : "", number,
            ons_seconds_print(b->times.start - d->t->start, from),
            ons_seconds_print(b->times.end - b->times.start, seconds));
}

static void draw_box(const drawing *d, const box *b, int y, int height) {
    if (b->colour == NO_COLOUR) return;
    fprintf(d->out, "<rect class=\"a%d%c\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"", b->colour,
            'a' + tint_of(d->t, &b->action), b->from, y, fmax(b->to - b->from, 0.4), height);
    if (d->names && b->single) {
        fputs(">", d->out);
        write_name(d, b);
        fputs("</rect>", d->out);
    } else {
        fputs("/>", d->out);
    }
    write_number(d, b, y, height);
}

static bool is_same(const box *a, const box *b) {
    return a->colour == b->colour && a->action.stage == b->action.stage &&
           a->action.micro_batch == b->action.micro_batch;
}

/* What would touch on the page becomes one box. */
static bool take_in(box *last, const box *b, int height) {
    bool same = is_same(last, b) || (height < 14 && last->colour == b->colour);
    if (last->colour == NO_COLOUR || b->from - last->to >= 0.3 || !(same || b->to - last->from < 0.8)) return false;
    last->single &= is_same(last, b);
    last->to = fmax(b->to, last->to);
    last->times.end = fmax(last->times.end, b->times.end);
    return true;
}

static bool is_shown(const ons_timeline *t, ons_task_id task, ons_resource_id resource) {
    const ons_task_spec *spec = ons_simulation_task(t->simulation, task);
    ons_task_times times = ons_simulation_times(t->simulation, task);
    return (spec->resource == resource || spec->second_resource == resource) && times.end > t->start &&
           times.start < t->start + t->seconds && times.end > times.start;
}

static bool has_any(const ons_timeline *t, ons_resource_id resource) {
    for (ons_task_id i = 0; i < ons_simulation_task_count(t->simulation); ++i)
        if (is_shown(t, i, resource)) return true;
    return false;
}

/* Tasks of a stream, in order. */
static void draw_stream(drawing *d, ons_resource_id resource, int y, int height) {
    box last = {.colour = NO_COLOUR};
    for (ons_task_id i = 0; i < ons_simulation_task_count(d->t->simulation); ++i) {
        if (!is_shown(d->t, i, resource)) continue;
        const ons_task_spec *spec = ons_simulation_task(d->t->simulation, i);
        ons_task_times times = ons_simulation_times(d->t->simulation, i);
        box b = {ons_timeline_place(d->t, times.start),
                 ons_timeline_place(d->t, times.end),
                 colour_of(spec->action.kind),
                 spec->action,
                 times,
                 true};
        d->used[b.colour] = true;
        if (take_in(&last, &b, height)) continue;
        /* A hairline between two micro-batches of one colour. */
        if (last.colour == b.colour && b.from - last.to < 0.6 && last.to - last.from > 3) last.to -= 0.8;
        draw_box(d, &last, y, height);
        last = b;
    }
    draw_box(d, &last, y, height);
}

/* ------------------------------------------------------------------------------------------------------------- rows */

static void draw_row(drawing *d, ons_resource_id row, uint32_t device, const char *name, int y, int height) {
    bool compute = row % ONS_DEVICE_STREAMS == ONS_STREAM_COMPUTE;
    fprintf(d->out, "<rect class=\"track\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>", LEFT, y, WIDTH, height);
    draw_stream(d, row, y, height);
    if (compute)
        fprintf(d->out, "<text class=\"end\" x=\"%d\" y=\"%d\">device %u</text>\n", LEFT - 10, y + 15, device);
    else
        fprintf(d->out, "<text class=\"soft end\" x=\"%d\" y=\"%d\">%s</text>\n", LEFT - 10, y + 8, name);
}

/* The rows of one device, of streams that do something; returns the height. */
static int draw_device(drawing *d, uint32_t device, int y) {
    int top = y;
    for (ons_resource_id stream = 0; stream < ONS_STREAM_LOCAL; ++stream) {
        ons_resource_id row = device * ONS_DEVICE_STREAMS + stream;
        int height = stream == ONS_STREAM_COMPUTE ? 20 : 9;
        if (stream != ONS_STREAM_COMPUTE && !has_any(d->t, row)) continue;
        if (d->out != NULL) draw_row(d, row, device, ons_simulation_resource_name(d->t->simulation, row), y, height);
        y += height + 3;
    }
    return y - top + 7;
}

void ons_timeline_draw_axis(const ons_timeline *t, int y, FILE *out) {
    char text[ONS_SECONDS_TEXT];
    for (int i = 0; i <= 4; ++i) {
        double x = LEFT + WIDTH * i / 4.0;
        fprintf(out, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", x, x, y - 4, y);
        fprintf(out, "<text class=\"soft %s\" x=\"%.1f\" y=\"%d\">%s</text>", i == 4 ? "end" : "mid", x, y + 12,
                i == 0 ? "0" : ons_seconds_print(t->seconds * i / 4, text));
    }
    fputc('\n', out);
}

/* ----------------------------------------------------------------------------------------------------------- legend */

typedef struct legend {
    FILE *out;
    int x, y;
} legend;

static void put_entry(legend *l, colour c, int tint, const char *text) {
    int width = 20 + LETTER * (int)strlen(text) + 16;
    if (l->x + width > LEFT + WIDTH) l->x = LEFT, l->y += LINE;
    if (l->out != NULL) {
        fprintf(l->out, "<rect class=\"a%d%c\" x=\"%d\" y=\"%d\" width=\"12\" height=\"12\"/>", c, 'a' + tint, l->x,
                l->y);
        fprintf(l->out, "<text x=\"%d\" y=\"%d\">%s</text>\n", l->x + 18, l->y + 10, text);
    }
    l->x += width;
}

/* "stages 0 to 3", "stages 0, 2": those that are a device's number `chunk`, so far as the text has room. */
static void list_stages(const ons_timeline *t, uint32_t chunk, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "stages ");
    const char *comma = "";
    uint32_t stages = t->schedule->stages;
    for (uint32_t i = 0; i < stages && used + 24 < size; ++i) {
        uint32_t last = i;
        if (t->chunk_of[i] != chunk) continue;
        while (last + 1 < stages && t->chunk_of[last + 1] == chunk) ++last;
        used += (size_t)snprintf(text + used, size - used, "%s%u", comma, i);
        if (last > i) used += (size_t)snprintf(text + used, size - used, "%s%u", last > i + 1 ? " to " : ", ", last);
        comma = ", ";
        i = last;
    }
}

/* Returns the height. */
static int write_legend(const drawing *d, int y) {
    legend l = {d->out, LEFT, y};
    for (int c = 0; c < COLOURS; ++c)
        if (d->used[c]) put_entry(&l, (colour)c, 0, colours[c].name);
    for (uint32_t chunk = 0; d->t->chunks > 1 && chunk < d->t->chunks && chunk < TINTS; ++chunk) {
        char stages[96];
        list_stages(d->t, chunk, stages, sizeof stages);
        put_entry(&l, FORWARD, (int)chunk, stages);
    }
    return l.y - y + LINE;
}

/* What the legend has to tell. */
static void find_colours(drawing *d, uint32_t devices) {
    for (ons_task_id i = 0; i < ons_simulation_task_count(d->t->simulation); ++i) {
        const ons_task_spec *spec = ons_simulation_task(d->t->simulation, i);
        if (spec->resource == ONS_NO_RESOURCE || spec->resource % ONS_DEVICE_STREAMS == ONS_STREAM_LOCAL) continue;
        if (spec->resource / ONS_DEVICE_STREAMS < devices && is_shown(d->t, i, spec->resource))
            d->used[colour_of(spec->action.kind)] = true;
    }
}

/* ------------------------------------------------------------------------------------------------------------ whole */

enum { TITLE_HEIGHT = 26 };

/* Legend, rows and axis from `y` on; returns where they end. */
static int draw_all(drawing *d, uint32_t devices, int y) {
    y += write_legend(d, y) + 4;
    for (uint32_t i = 0; i < devices; ++i) y += draw_device(d, i, y);
    if (d->out != NULL) ons_timeline_draw_axis(d->t, y, d->out);
    return y + 20;
}

static int measure(const drawing *d, uint32_t devices, int y) {
    drawing blind = *d;
    blind.out = NULL;
    return draw_all(&blind, devices, y);
}

void ons_timeline_draw(const ons_timeline *t, uint32_t devices, FILE *out) {
    drawing d = {.t = t, .out = out};
    find_colours(&d, devices);
    fprintf(out, "<svg viewBox=\"0 0 1000 %d\" role=\"img\" aria-label=\"timeline of an iteration\">\n",
            measure(&d, devices, 4));
    draw_all(&d, devices, 4);
    fputs("</svg>\n", out);
}

void ons_timeline_write_svg(const ons_timeline *t, const char *title, FILE *out) {
    drawing d = {.t = t, .out = out, .names = true};
    uint32_t devices = t->schedule->devices;
    find_colours(&d, devices);
    int height = measure(&d, devices, TITLE_HEIGHT);
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" "
            "height=\"%d\" viewBox=\"0 0 1000 %d\">\n<style>text{fill:#1c2024;font:12px system-ui,sans-serif}"
            ".soft{fill:#5a6470;font-size:11px}.end{text-anchor:end}.mid{text-anchor:middle}.track{fill:#eef1f4}"
            ".axis{stroke:#9aa4af}\n",
            height, height);
    ons_timeline_write_style(out);
    fprintf(out, "</style>\n<rect width=\"1000\" height=\"%d\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"17\">", height,
            LEFT);
    ons_html_text(out, title);
    fputs("</text>\n", out);
    draw_all(&d, devices, TITLE_HEIGHT);
    fputs("</svg>\n", out);
}
