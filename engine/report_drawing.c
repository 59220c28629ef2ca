/* Drawings: memory of each device against the cap, the timeline of an iteration, memory over time. Units of a drawing
 * are pixels of a page 1000 wide. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/report.h"

enum { LEFT = 96, WIDTH = 880, DEVICES_MOST = 16 };

/* ---------------------------------------------------------------------------------------------------- memory by device
 */

static void write_kind_legend(FILE *out) {
    fputs("<p class=\"legend\">", out);
    for (int k = 0; k < ONS_MEMORY_KINDS; ++k)
        fprintf(out, "<span><i style=\"background:var(--k%d)\"></i>%s</span>", k, ons_memory_kind_names[k]);
    fputs("</p>\n", out);
}

static void draw_bar(const int64_t kinds[static ONS_MEMORY_KINDS], double scale, int y, FILE *out) {
    double x = LEFT;
    for (int k = 0; k < ONS_MEMORY_KINDS; ++k) {
        double width = (double)kinds[k] * scale;
        if (width >= 0.05)
            fprintf(out, "<rect class=\"k%d\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"18\"/>", k, x, y, width);
        x += width;
    }
}

void ons_report_draw_devices(const ons_capacity_report *r, FILE *out) {
    const ons_report *c = &r->content;
    double capacity = (double)c->asked.capacity_bytes, most = fmax(capacity, (double)c->fullest_bytes);
    double scale = (WIDTH - 200) / most, cap = LEFT + capacity * scale;
    int64_t kinds[ONS_MEMORY_KINDS];
    uint32_t devices = ons_report_device_count(r);
    int height = 26 * (int)devices + 22;
    char text[ONS_BYTES_TEXT];
    write_kind_legend(out);
    fprintf(out, "<svg viewBox=\"0 0 1000 %d\" role=\"img\" aria-label=\"memory of each device\">\n", height);
    for (uint32_t i = 0; i < devices; ++i) {
        int64_t total = ons_report_device_kinds(r, i, kinds);
        int y = 20 + 26 * (int)i;
        double end = LEFT + most * scale;
        fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"end\">device %u</text>", LEFT - 10, y + 14, i);
        fprintf(out, "<rect class=\"track\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"18\"/>", LEFT, y, end - LEFT);
        draw_bar(kinds, scale, y, out);
        fprintf(out, "<text x=\"%.1f\" y=\"%d\">%s", end + 10, y + 14, ons_bytes_print((double)total, text));
        if (capacity > 0) fprintf(out, ", %.0f %%", 100 * (double)total / capacity);
        fputs("</text>\n", out);
    }
    if (capacity == 0) { /* memory without end */
        fputs("</svg>\n", out);
        return;
    }
    fprintf(out, "<line class=\"cap\" x1=\"%.1f\" x2=\"%.1f\" y1=\"16\" y2=\"%d\"/>", cap, cap, height - 2);
    fprintf(out, "<text class=\"soft end\" x=\"%.1f\" y=\"11\">cap %s</text>\n</svg>\n", fmax(cap + 40, LEFT + 90),
            ons_bytes_print(capacity, text));
}

/* ---------------------------------------------------------------------------------------------------------- timeline
 */

/* What is drawn: a step, or of an asynchronous pipeline as long a stretch from the middle. */
typedef struct window {
    const ons_simulation *simulation;
    double start, seconds;
} window;

static window choose_window(const ons_report *c) {
    window w = {c->forecast.simulation, 0, ons_simulation_seconds(c->forecast.simulation)};
    if (!c->asked.generator->asynchronous || c->forecast.iteration_seconds >= w.seconds) return w;
    w.start = (w.seconds - c->forecast.iteration_seconds) / 2;
    w.seconds = c->forecast.iteration_seconds;
    return w;
}

static double place(const window *w, double seconds) {
    double share = w->seconds > 0 ? (seconds - w->start) / w->seconds : 0;
    return LEFT + WIDTH * fmin(fmax(share, 0), 1);
}

typedef struct box {
    double from, to;
    int colour;
    uint32_t micro_batch;
    bool numbered;
} box;

static int colour_of(ons_action_kind kind) {
    switch (kind) {
    case ONS_ACTION_FORWARD: return 0;
    case ONS_ACTION_BACKWARD:
    case ONS_ACTION_INPUT_GRADIENT:
    case ONS_ACTION_WEIGHT_GRADIENT: return 1;
    case ONS_ACTION_RECOMPUTE: return 2;
    case ONS_ACTION_UPDATE: return 3;
    case ONS_ACTION_SWAP_OUT:
    case ONS_ACTION_SWAP_IN: return 5;
    default: return 4;
    }
}

static void draw_box(const box *b, int y, int height, FILE *out) {
    if (b->colour < 0) return;
    fprintf(out, "<rect class=\"t%d\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", b->colour, b->from, y,
            fmax(b->to - b->from, 0.4), height);
    if (height >= 14 && b->numbered && b->to - b->from >= 16)
        fprintf(out, "<text class=\"mark\" x=\"%.1f\" y=\"%d\">%u</text>", (b->from + b->to) / 2, y + height - 5,
                b->micro_batch + 1);
}

static bool uses(const ons_task_spec *spec, ons_resource_id resource) {
    return spec->resource == resource || spec->second_resource == resource;
}

/* Tasks of a stream, in order; those that would touch on the page become one box. Returns whether there was any. */
static bool draw_stream(const window *w, ons_resource_id resource, int y, int height, FILE *out) {
    box last = {.colour = -1};
    bool any = false;
    for (ons_task_id i = 0; i < ons_simulation_task_count(w->simulation); ++i) {
        const ons_task_spec *spec = ons_simulation_task(w->simulation, i);
        ons_task_times times = ons_simulation_times(w->simulation, i);
        if (!uses(spec, resource) || times.end <= w->start || times.start >= w->start + w->seconds ||
            times.end <= times.start)
            continue;
        any = true;
        if (out == NULL) return true;
        box b = {place(w, times.start), place(w, times.end), colour_of(spec->action.kind), spec->action.micro_batch,
                 spec->action.kind == ONS_ACTION_FORWARD || colour_of(spec->action.kind) == 1};
        bool same = b.colour == last.colour && (b.micro_batch == last.micro_batch || height < 14);
        if (last.colour >= 0 && b.from - last.to < 0.3 && (same || b.to - last.from < 0.8)) {
            last.to = fmax(b.to, last.to);
            continue;
        }
        /* A hairline between two micro-batches of one colour. */
        if (last.colour == b.colour && b.from - last.to < 0.6 && last.to - last.from > 3) last.to -= 0.8;
        draw_box(&last, y, height, out);
        last = b;
    }
    if (out != NULL) draw_box(&last, y, height, out);
    return any;
}

/* The rows of one device; returns the height. With `out` NULL nothing is drawn. */
static int draw_device(const window *w, uint32_t device, int y, FILE *out) {
    int top = y;
    for (ons_resource_id i = 0; i < ons_simulation_resource_count(w->simulation); ++i) {
        const char *name = ons_simulation_resource_name(w->simulation, i);
        bool compute = strcmp(name, "compute") == 0;
        int height = compute ? 20 : 9;
        if (ons_simulation_resource_device(w->simulation, i) != device || strcmp(name, "local") == 0) continue;
        if (!compute && !draw_stream(w, i, 0, height, NULL)) continue;
        if (out != NULL) {
            fprintf(out, "<rect class=\"track\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>", LEFT, y, WIDTH,
                    height);
            draw_stream(w, i, y, height, out);
            if (compute)
                fprintf(out, "<text class=\"end\" x=\"%d\" y=\"%d\">device %u</text>\n", LEFT - 10, y + 15, device);
            else
                fprintf(out, "<text class=\"soft end\" x=\"%d\" y=\"%d\">%s</text>\n", LEFT - 10, y + 8, name);
        }
        y += height + 3;
    }
    return y - top + 7;
}

static void draw_time_axis(const window *w, int y, FILE *out) {
    char text[ONS_SECONDS_TEXT];
    for (int i = 0; i <= 4; ++i) {
        double x = LEFT + WIDTH * i / 4.0;
        fprintf(out, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", x, x, y - 4, y);
        fprintf(out, "<text class=\"soft %s\" x=\"%.1f\" y=\"%d\">%s</text>", i == 4 ? "end" : "mid", x, y + 12,
                i == 0 ? "0" : ons_seconds_print(w->seconds * i / 4, text));
    }
    fputc('\n', out);
}

static void write_task_legend(FILE *out) {
    static const char *const names[] = {"forward", "backward", "recompute", "update", "transfer", "swap"};
    static const char *const colours[] = {"forward", "backward", "recompute", "update", "transfer", "swap"};
    fputs("<p class=\"legend\">", out);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        fprintf(out, "<span><i style=\"background:var(--%s)\"></i>%s</span>", colours[i], names[i]);
    fputs("</p>\n", out);
}

static void draw_streams(const ons_report *c, const window *w, uint32_t devices, FILE *out) {
    int height = 4, y = 4;
    for (uint32_t i = 0; i < devices; ++i) height += draw_device(w, i, height, NULL);
    write_task_legend(out);
    fprintf(out, "<svg viewBox=\"0 0 1000 %d\" role=\"img\" aria-label=\"timeline of an iteration\">\n", height + 20);
    for (uint32_t i = 0; i < devices; ++i) y += draw_device(w, i, y, out);
    draw_time_axis(w, y, out);
    fputs("</svg>\n", out);
}

/* ------------------------------------------------------------------------------------------------- memory over time */

enum { CURVE_HEIGHT = 44, COLUMNS = WIDTH };

/* The most that is held in each column of the drawing. */
static void find_columns(const window *w, const ons_device_forecast *d, int64_t columns[COLUMNS]) {
    memset(columns, 0, COLUMNS * sizeof *columns);
    for (uint32_t i = 0; i < d->memory_count; ++i) {
        double from = d->memory[i].seconds, to = i + 1 < d->memory_count ? d->memory[i + 1].seconds : INFINITY;
        if (to < w->start || from > w->start + w->seconds) continue;
        int first = (int)(place(w, from) - LEFT), last = (int)(place(w, fmin(to, w->start + w->seconds)) - LEFT);
        for (int x = first; x <= last && x < COLUMNS; ++x)
            if (d->memory[i].bytes > columns[x]) columns[x] = d->memory[i].bytes;
    }
}

static void draw_curve(const window *w, const ons_device_forecast *d, double most, int y, FILE *out) {
    int64_t columns[COLUMNS];
    find_columns(w, d, columns);
    fprintf(out, "<path class=\"curve\" d=\"M%d %d", LEFT, y + CURVE_HEIGHT);
    for (int x = 0, last = -1; x < COLUMNS; ++x) {
        int top = y + CURVE_HEIGHT - (int)lround(CURVE_HEIGHT * (double)columns[x] / most);
        if (top != last) fprintf(out, "H%dV%d", LEFT + x, top);
        last = top;
    }
    fprintf(out, "H%dV%dZ\"/>", LEFT + WIDTH, y + CURVE_HEIGHT);
}

static void draw_curves(const ons_report *c, const window *w, uint32_t devices, FILE *out) {
    double capacity = (double)c->asked.capacity_bytes, most = capacity;
    char text[ONS_BYTES_TEXT];
    for (uint32_t i = 0; i < devices; ++i) most = fmax(most, (double)c->forecast.devices[i].peak_bytes);
    fprintf(out,
            "<h3>Memory over time</h3>\n<svg viewBox=\"0 0 1000 %d\" role=\"img\" aria-label=\"memory over time\">\n",
            (CURVE_HEIGHT + 12) * (int)devices + 30);
    int y = 12;
    for (uint32_t i = 0; i < devices; ++i, y += CURVE_HEIGHT + 12) {
        int cap = y + CURVE_HEIGHT - (int)lround(CURVE_HEIGHT * capacity / most);
        fprintf(out, "<rect class=\"track\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>", LEFT, y, WIDTH,
                CURVE_HEIGHT);
        draw_curve(w, &c->forecast.devices[i], most, y, out);
        if (capacity > 0)
            fprintf(out, "<line class=\"cap\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>", LEFT, LEFT + WIDTH, cap, cap);
        fprintf(out, "<text class=\"end\" x=\"%d\" y=\"%d\">device %u</text>", LEFT - 10, y + 20, i);
        fprintf(out, "<text class=\"soft end\" x=\"%d\" y=\"%d\">%s</text>\n", LEFT - 10, y + 36,
                ons_bytes_print((double)c->forecast.devices[i].peak_bytes, text));
    }
    draw_time_axis(w, y, out);
    fputs("</svg>\n<p class=\"soft small\">", out);
    if (capacity > 0) fprintf(out, "Dashed: the cap of %s. ", ons_bytes_print(capacity, text));
    fputs("At the left the most that is held.</p>\n", out);
}

void ons_report_draw_timeline(const ons_capacity_report *r, FILE *out) {
    const ons_report *c = &r->content;
    if (c->shown == NULL) return;
    window w = choose_window(c);
    uint32_t devices = c->forecast.device_count < DEVICES_MOST ? c->forecast.device_count : DEVICES_MOST;
    fputs("<h2>One iteration</h2>\n<p class=\"small\">Numbers are micro-batches. ", out);
    if (c->asked.generator->asynchronous) fputs("The pipeline never ends: a stretch from its middle. ", out);
    if (devices < c->forecast.device_count)
        fprintf(out, "The first %u of %u devices.", devices, c->forecast.device_count);
    fputs("</p>\n", out);
    draw_streams(c, &w, devices, out);
    draw_curves(c, &w, devices, out);
}
