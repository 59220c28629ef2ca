/* Drawings: memory of each device against the cap, the timeline of an iteration, memory over time. Units of a drawing
 * are pixels of a page 1000 wide. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/report/report.h"

enum { LEFT = ONS_TIMELINE_LEFT, WIDTH = ONS_TIMELINE_WIDTH, DEVICES_MOST = 16 };

/* ------------------------------------------------------------------------------------------------- memory by device */

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

/* ------------------------------------------------------------------------------------------------- memory over time */

enum { CURVE_HEIGHT = 44, COLUMNS = WIDTH };

/* The most that is held in each column of the drawing. */
static void find_columns(const ons_timeline *t, const ons_device_forecast *d, int64_t columns[COLUMNS]) {
    memset(columns, 0, COLUMNS * sizeof *columns);
    for (uint32_t i = 0; i < d->memory_count; ++i) {
        double from = d->memory[i].seconds, to = i + 1 < d->memory_count ? d->memory[i + 1].seconds : INFINITY;
        if (to < t->start || from > t->start + t->seconds) continue;
        int first = (int)(ons_timeline_place(t, from) - LEFT),
            last = (int)(ons_timeline_place(t, fmin(to, t->start + t->seconds)) - LEFT);
        for (int x = first; x <= last && x < COLUMNS; ++x)
            if (d->memory[i].bytes > columns[x]) columns[x] = d->memory[i].bytes;
    }
}

static void draw_curve(const ons_timeline *t, const ons_device_forecast *d, double most, int y, FILE *out) {
    int64_t columns[COLUMNS];
    find_columns(t, d, columns);
    fprintf(out, "<path class=\"curve\" d=\"M%d %d", LEFT, y + CURVE_HEIGHT);
    for (int x = 0, last = -1; x < COLUMNS; ++x) {
        int top = y + CURVE_HEIGHT - (int)lround(CURVE_HEIGHT * (double)columns[x] / most);
        if (top != last) fprintf(out, "H%dV%d", LEFT + x, top);
        last = top;
    }
    fprintf(out, "H%dV%dZ\"/>", LEFT + WIDTH, y + CURVE_HEIGHT);
}

static void draw_curves(const ons_report *c, const ons_timeline *t, uint32_t devices, FILE *out) {
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
        draw_curve(t, &c->forecast.devices[i], most, y, out);
        if (capacity > 0)
            fprintf(out, "<line class=\"cap\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>", LEFT, LEFT + WIDTH, cap, cap);
        fprintf(out, "<text class=\"end\" x=\"%d\" y=\"%d\">device %u</text>", LEFT - 10, y + 20, i);
        fprintf(out, "<text class=\"soft end\" x=\"%d\" y=\"%d\">%s</text>\n", LEFT - 10, y + 36,
                ons_bytes_print((double)c->forecast.devices[i].peak_bytes, text));
    }
    ons_timeline_draw_axis(t, y, out);
    fputs("</svg>\n<p class=\"soft small\">", out);
    if (capacity > 0) fprintf(out, "Dashed: the cap of %s. ", ons_bytes_print(capacity, text));
    fputs("At the left the most that is held.</p>\n", out);
}

void ons_report_draw_timeline(const ons_capacity_report *r, FILE *out) {
    const ons_report *c = &r->content;
    if (c->shown == NULL) return;
    uint32_t devices = c->forecast.device_count < DEVICES_MOST ? c->forecast.device_count : DEVICES_MOST;
    fputs("<h2>One iteration</h2>\n<p class=\"small\">Numbers are micro-batches, from 0. ", out);
    if (ons_schedule_is_grouped(c->shown->problem.schedule))
        fputs("Where a stage takes several at once they are the first and the last, of all replicas. ", out);
    if (c->asked.generator->asynchronous) fputs("The pipeline never ends: a stretch from its middle. ", out);
    if (devices < c->forecast.device_count)
        fprintf(out, "The first %u of %u devices.", devices, c->forecast.device_count);
    fputs("</p>\n", out);
    ons_timeline_draw(&r->timeline, devices, out);
    draw_curves(c, &r->timeline, devices, out);
}
