#include <inttypes.h>

#include "engine/report/report.h"

static bool is_asked(const ons_report *c, const ons_question *q) {
    return q->stages == c->asked.stages && q->batch == c->asked.batch && q->capacity_bytes == c->asked.capacity_bytes;
}

static void write_cell(const ons_report *c, const ons_report_row *cell, FILE *out) {
    const ons_answer *a = &cell->answer;
    char step[ONS_SECONDS_TEXT], need[ONS_BYTES_TEXT];
    const char *asked = is_asked(c, &cell->question) ? " asked" : "";
    if (!a->known)
        fprintf(out, "<td class=\"none%s\">–</td>", asked);
    else if (a->feasible)
        fprintf(out, "<td class=\"%s%s\">%.1f/s<small>%s</small></td>", a->optimised ? "moved" : "yes", asked,
                a->samples_per_second, ons_seconds_print(a->step_seconds, step));
    else
        fprintf(out, "<td class=\"no%s\">no<small>needs %s</small></td>", asked,
                ons_bytes_print((double)a->least_bytes + (double)cell->question.device->profile->reserve_bytes, need));
}

static void write_table(const ons_capacity_report *r, uint32_t memory, FILE *out) {
    const ons_report *c = &r->content;
    const ons_report_grid *g = c->grid;
    char text[ONS_BYTES_TEXT];
    fprintf(out, "<h3>Devices of %s</h3>\n<div class=\"wide\"><table class=\"grid\"><tr><th>stages</th>",
            ons_bytes_print((double)g->memories[memory], text));
    for (uint32_t b = 0; b < g->batch_count; ++b) fprintf(out, "<th>batch %" PRId64 "</th>", g->batches[b]);
    fputs("</tr>\n", out);
    for (uint32_t s = 0; s < g->stage_count; ++s) {
        uint32_t devices = ons_question_devices(&g->cells[memory][s][0].question);
        fprintf(out, "<tr><td>%u", g->stages[s]);
        if (devices != g->stages[s]) fprintf(out, " on %u device%s", devices, devices == 1 ? "" : "s");
        fputs("</td>", out);
        for (uint32_t b = 0; b < g->batch_count; ++b) write_cell(c, &g->cells[memory][s][b], out);
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

void ons_report_write_what_if(const ons_capacity_report *r, FILE *out) {
    const ons_report *c = &r->content;
    fputs(
        "<h2>What if: stages, memory, batch</h2>\n<p class=\"small\">Samples a second and time of a step on devices as "
        "fast as ",
        out);
    ons_html_text(out, c->asked.device->profile->title);
    fputs(", with half, the same and twice the memory. <span class=\"yes\">&#160;fits&#160;</span> <span "
          "class=\"moved\">&#160;fits with swap or recompute&#160;</span> <span class=\"no\">&#160;does not "
          "fit&#160;</span>; framed: what was asked. ",
          out);
    if (c->asked.micro_batches == c->asked.stages)
        fputs("As many micro-batches as stages.", out);
    else
        fprintf(out, "%" PRId64 " micro-batches each.", c->asked.micro_batches);
    fputs(" A dash: the batch cannot be split so, or its costs cannot be told.</p>\n", out);
    for (uint32_t m = 0; m < c->grid->memory_count; ++m) write_table(r, m, out);
}
