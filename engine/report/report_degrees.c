/* Which numbers of replicas were planned for --replicas auto, and what came of them. */
#include <inttypes.h>
#include <math.h>

#include "engine/report/report.h"

static void write_row(const ons_degree *d, bool taken, FILE *out) {
    const ons_trial *t = &d->trial;
    bool planned = isfinite(t->step_seconds);
    fprintf(out, "<tr%s><td>%" PRId64 "</td><td>%" PRId64 "</td>", taken && planned ? " class=\"own\"" : "",
            d->replicas, d->stages);
    if (planned)
        fprintf(out, "<td>%" PRId64 "</td><td>%" PRId64 "</td>", t->micro_batches, t->batch);
    else
        fputs("<td class=\"none\">–</td><td class=\"none\">–</td>", out);
    ons_report_time_cell(out, planned ? t->step_seconds : 0);
    if (planned)
        fprintf(out, "<td>%.1f</td>", ons_trial_speed(t));
    else
        fputs("<td class=\"none\">–</td>", out);
    ons_report_size_cell(out, t->memory_bytes);
    fputs("<td class=\"left\">", out);
    ons_html_text(out, t->why != NULL ? t->why : planned ? "" : "does not fit");
    fputs("</td></tr>\n", out);
}

void ons_report_write_degrees(const ons_capacity_report *r, FILE *out) {
    const ons_degree_choice *choice = &r->planning->degrees;
    if (choice->count == 0) return;
    fprintf(
        out,
        "<h2>How many replicas</h2>\n<p>%" PRId64
        " devices, shared between replicas and stages in every way that leaves none over.</p>\n"
        "<div class=\"wide\"><table><tr><th>replicas</th><th>stages</th><th>micro-batches of each</th>"
        "<th>batch</th><th>step</th><th>samples/s</th><th>fullest device</th><th class=\"left\">why not</th></tr>\n",
        choice->devices);
    for (uint32_t i = 0; i < choice->count; ++i) write_row(&choice->items[i], i == choice->taken, out);
    fputs("</table></div>\n<p class=\"soft small\">Each planned as if its number had been given; that with the most "
          "samples a second is taken. Where it does not fit, the seventh column is the smallest memory found that "
          "would do.</p>\n",
          out);
}
