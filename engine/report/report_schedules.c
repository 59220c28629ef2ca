/* Which schedules were compared, and why all but one lost. */
#include <math.h>

#include "engine/report/report.h"

static void write_number(FILE *out, bool known, const char *text) {
    if (known)
        fprintf(out, "<td>%s</td>", text);
    else
        fputs("<td class=\"none\">–</td>", out);
}

static void write_row(const ons_portfolio *portfolio, uint32_t index, FILE *out) {
    const ons_portfolio_candidate *c = &portfolio->candidates[index];
    char seconds[ONS_SECONDS_TEXT], bytes[ONS_BYTES_TEXT], idle[16], stages[ONS_STAGES_TEXT];
    bool simulated = isfinite(c->step_seconds);
    fputs(index == portfolio->taken ? "<tr class=\"own\"><td class=\"name\">" : "<tr><td class=\"name\">", out);
    ons_html_text(out, c->name);
    fputs("</td><td class=\"left\">", out);
    ons_html_text(out, c->strategy);
    fprintf(out, "</td><td class=\"left\">%s</td>",
            c->pipeline.stages == 0 ? "" : ons_stages_print(c->pipeline.stages, c->pipeline.devices, stages));
    snprintf(idle, sizeof idle, "%.0f %%", 100 * c->bubble_share);
    write_number(out, simulated, simulated ? ons_seconds_print(c->step_seconds, seconds) : "");
    write_number(out, simulated, idle);
    write_number(out, c->memory_bytes > 0, ons_bytes_print((double)c->memory_bytes, bytes));
    fputs("<td class=\"left\">", out);
    ons_html_text(out, c->why);
    fputs("</td></tr>\n", out);
}

/* Those that were simulated, the fastest first; then the others. */
void ons_report_write_schedules(const ons_capacity_report *r, FILE *out) {
    const ons_portfolio *portfolio = &r->planning->portfolio;
    if (portfolio->count == 0) return;
    fputs("<h2>Which schedule</h2>\n<div class=\"wide\"><table><tr><th>schedule</th><th class=\"left\">partition</th>"
          "<th class=\"left\">stages</th><th>step</th><th>idle</th><th>fullest device</th><th class=\"left\">why</th>"
          "</tr>\n",
          out);
    for (uint32_t i = 0; i < r->ranked; ++i) write_row(portfolio, r->ranking[i], out);
    for (uint32_t i = 0; i < portfolio->count; ++i) {
        bool listed = false;
        for (uint32_t k = 0; !listed && k < r->ranked; ++k) listed = r->ranking[k] == i;
        if (!listed && portfolio->candidates[i].outcome != ONS_REPEATED) write_row(portfolio, i, out);
    }
    fputs("</table></div>\n<p class=\"soft small\">Each planned for the model under the devices' memory and simulated; "
          "the fastest step is taken. What is estimated, without cap and links, to be no faster was not planned. "
          "Schedules "
          "whose lists are another's are left out.</p>\n",
          out);
}
