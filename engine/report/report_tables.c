/* What the memory holds, whose it is, and what other settings and devices would cost. */
#include <inttypes.h>
#include <string.h>

#include "engine/report/report.h"

void ons_report_size_cell(FILE *out, int64_t bytes) {
    char text[ONS_BYTES_TEXT];
    if (bytes == 0)
        fputs("<td class=\"none\">–</td>", out);
    else
        fprintf(out, "<td>%s</td>", ons_bytes_print((double)bytes, text));
}

void ons_report_time_cell(FILE *out, double seconds) {
    char text[ONS_SECONDS_TEXT];
    if (seconds > 0)
        fprintf(out, "<td>%s</td>", ons_seconds_print(seconds, text));
    else
        fputs("<td class=\"none\">–</td>", out);
}

static void name_cell(FILE *out, const char *name) {
    fputs("<td class=\"name\">", out);
    ons_html_name(out, name);
    fputs("</td>", out);
}

/* ----------------------------------------------------------------------------------------------------------- memory */

/* Several stages lie on one. */
static bool shares_devices(const ons_capacity_report *r) {
    return ons_report_device_count(r) < ons_report_stage_count(r);
}

/* Stages have micro-batches or replicas of their own. */
static bool is_grouped(const ons_capacity_report *r) {
    return ons_schedule_is_grouped(r->content.shown->problem.schedule);
}

/* "16", "2 of 6 to 7": how many micro-batches it takes at once, and on which devices. */
static void grouping_cells(const ons_capacity_report *r, uint32_t stage, FILE *out) {
    ons_stage_grouping g = ons_schedule_grouping(r->content.shown->problem.schedule, stage);
    uint32_t device = ons_report_device_of(r, stage);
    fprintf(out, "<td>%u</td><td>%u</td><td>%u", g.size, g.copies, device);
    const ons_schedule *s = r->content.shown->problem.schedule;
    const char *joined = ons_grouping_stride(g) == 1 ? "to" : "and";
    if (g.copies > 1) fprintf(out, " %s %u", joined, ons_schedule_device(s, stage, g.copies - 1));
    fputs("</td>", out);
}

static void write_stage_row(const ons_capacity_report *r, uint32_t i, FILE *out) {
    const ons_stage_solution *s = &r->content.shown->solutions[i];
    int64_t kinds[ONS_MEMORY_KINDS];
    uint32_t moved[3] = {0};
    for (uint32_t k = 0; k < s->decision_count; ++k) ++moved[s->decisions[k].decision];
    ons_memory_kinds(ons_report_stage_memory(r, i), kinds);
    fprintf(out, "<tr><td>%u", i);
    if (shares_devices(r)) fprintf(out, " on %u", ons_report_device_of(r, i));
    fputs("</td>", out);
    if (is_grouped(r)) grouping_cells(r, i, out);
    for (int k = 0; k < ONS_MEMORY_KINDS; ++k) ons_report_size_cell(out, kinds[k]);
    ons_report_size_cell(out, ons_report_stage_memory(r, i)->total);
    fprintf(out, "<td>%u</td><td>%u</td>", moved[ONS_SWAP], moved[ONS_RECOMPUTE]);
    ons_report_time_cell(out, s->seconds);
    fputs("</tr>\n", out);
}

static void write_memory(const ons_capacity_report *r, FILE *out) {
    fputs("<h2>What fills the memory</h2>\n", out);
    ons_report_draw_devices(r, out);
    fprintf(out, "<div class=\"wide\"><table><tr><th>stage%s</th>", shares_devices(r) ? " on device" : "");
    if (is_grouped(r)) fputs("<th>takes at once</th><th>replicas</th><th>devices</th>", out);
    for (int k = 0; k < ONS_MEMORY_KINDS; ++k) fprintf(out, "<th>%s</th>", ons_memory_kind_names[k]);
    fputs("<th>all</th><th>swapped</th><th>recomputed</th><th>micro-batch</th></tr>\n", out);
    for (uint32_t i = 0; i < ons_report_stage_count(r); ++i) write_stage_row(r, i, out);
    fputs("</table></div>\n<p class=\"soft small\">Stashed: what micro-batches between their forward and backward part "
          "keep. Running: the one that is computed, with its gradients and scratch. Transfers: what arrives ahead of "
          "its use. Swapped and recomputed count tensors.",
          out);
    if (is_grouped(r))
        fputs(
            " A stage takes so many of the step's micro-batches at once, as one of its own; its replicas take these in "
            "turn, each on a device, and what stands here is each one's.",
            out);
    if (r->exact && shares_devices(r)) fputs(" A device's memory stands with the first of its stages.", out);
    fputs("</p>\n", out);
}

static void write_layers(const ons_capacity_report *r, FILE *out) {
    const ons_report *c = &r->content;
    int64_t all = 0;
    for (uint32_t i = 0; i < c->layer_count; ++i) all += c->layers[i].held + c->layers[i].saved;
    fputs("<h2>Which layer owns the memory</h2>\n<div class=\"wide\"><table><tr><th>layer</th><th>stage</th>"
          "<th>weights and their own</th><th>saved tensors</th><th>moved off</th><th>all</th><th>share</th>"
          "<th>a micro-batch</th></tr>\n",
          out);
    for (uint32_t i = 0; i < c->layer_count && i < ONS_REPORT_LAYERS; ++i) {
        const ons_report_layer *l = &c->layers[i];
        fputs("<tr>", out);
        name_cell(out, l->name);
        fprintf(out, "<td>%u</td>", l->stage);
        ons_report_size_cell(out, l->held);
        ons_report_size_cell(out, l->saved);
        ons_report_size_cell(out, l->moved);
        ons_report_size_cell(out, l->held + l->saved);
        fprintf(out, "<td>%.1f %%</td>", all == 0 ? 0 : 100.0 * (double)(l->held + l->saved) / (double)all);
        ons_report_time_cell(out, l->seconds);
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n<p class=\"soft small\">", out);
    if (c->layer_count > ONS_REPORT_LAYERS)
        fprintf(out, "The largest %d of %u layers. ", ONS_REPORT_LAYERS, c->layer_count);
    fputs("Weights count with their gradients, optimiser states and further versions; saved tensors for every "
          "micro-batch in flight. Gradients in passing, scratch and transfers belong to no layer.",
          out);
    if (is_grouped(r)) fputs(" All replicas of a stage count, and micro-batches are the stage's own.", out);
    fputs("</p>\n", out);
}

/* ------------------------------------------------------------------------------------------- other ways to train it */

const char *ons_report_fit_class(const ons_answer *a) {
    return !a->known ? "none" : !a->feasible ? "no" : a->optimised ? "moved" : "yes";
}

const char *ons_report_fit_text(const ons_answer *a) {
    return !a->known ? "not known" : !a->feasible ? "does not fit" : a->optimised ? "with swap or recompute" : "fits";
}

void ons_report_money_cell(const ons_capacity_report *r, const ons_report_row *row, FILE *out) {
    double money = ons_report_money(r, row);
    if (r->prices.json == NULL) return;
    if (money > 0)
        fprintf(out, "<td>%.2f</td>", money);
    else
        fputs("<td class=\"none\">–</td>", out);
}

void ons_report_money_head(const ons_capacity_report *r, FILE *out) {
    if (r->prices.json == NULL) return;
    fputs("<th>", out);
    ons_html_text(out, r->prices.currency);
    fprintf(out, " %s</th>", ons_report_money_unit(r));
}

/* The fullest device, or the least that would do, of what a device has for the plan. */
static void need_cell(const ons_report_row *row, FILE *out) {
    ons_report_size_cell(out, row->answer.feasible ? row->answer.fullest_bytes : row->answer.least_bytes);
}

void ons_report_speed_cells(const ons_report_row *row, FILE *out) {
    if (!row->answer.feasible) {
        fputs("<td class=\"none\">–</td><td class=\"none\">–</td>", out);
        return;
    }
    ons_report_time_cell(out, row->answer.step_seconds);
    fprintf(out, "<td>%.1f</td>", row->answer.samples_per_second);
}

static void write_strategies(const ons_capacity_report *r, FILE *out) {
    const ons_report_rows *rows = &r->content.strategies;
    const ons_answer *free_answer = &rows->items[0].answer;
    fputs(
        "<h2>What recompute and swap cost</h2>\n<div class=\"wide\"><table><tr><th>way</th><th class=\"left\">fits</th>"
        "<th>fullest device</th><th>step</th><th>samples/s</th><th>time of a step</th><th>recomputing</th><th>waiting "
        "for "
        "copies</th></tr>\n",
        out);
    for (uint32_t i = 0; i < rows->count; ++i) {
        const ons_report_row *row = &rows->items[i];
        fputs("<tr>", out);
        name_cell(out, row->what);
        fprintf(out, "<td class=\"left %s\">%s</td>", i == 0 ? "" : ons_report_fit_class(&row->answer),
                i == 0 ? "for comparison" : ons_report_fit_text(&row->answer));
        need_cell(row, out);
        ons_report_speed_cells(row, out);
        if (row->answer.feasible && free_answer->feasible) {
            fprintf(out, "<td>%+.1f %%</td>", ons_report_slower(row->answer.step_seconds, free_answer->step_seconds));
            ons_report_time_cell(out, row->answer.recompute_seconds);
            ons_report_time_cell(out, row->answer.stall_seconds);
        } else {
            fputs("<td class=\"none\">–</td><td class=\"none\">–</td><td class=\"none\">–</td>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs(
        "</table></div>\n<p class=\"soft small\">The same batch, stages and schedule; each way splits the model anew. "
        "Where it does not fit, the third column is the smallest capacity that would do. Recomputing and waiting are "
        "of all stages, for one micro-batch; 0 where memory is not short.",
        out);
    if (ons_report_has_choice(r))
        fputs(" Here and in all that follows up to the timeline stages take one micro-batch at a time, and have no "
              "replicas of their own.",
              out);
    fputs("</p>\n", out);
}

static void write_squeezed(const ons_capacity_report *r, FILE *out) {
    const ons_report *c = &r->content;
    char text[ONS_BYTES_TEXT];
    if (c->squeezed.count == 0) return;
    fputs("<h3>Time of a step with less memory</h3>\n<div class=\"wide\"><table class=\"grid\"><tr><th>free on each "
          "device</th>",
          out);
    for (uint32_t way = 0; way < ONS_REPORT_WAYS; ++way) fprintf(out, "<th>%s</th>", c->squeezed.items[way].what);
    fputs("</tr>\n", out);
    for (uint32_t i = 0; i < c->squeezed.count; ++i) {
        const ons_report_row *cell = &c->squeezed.items[i];
        if (i % ONS_REPORT_WAYS == 0)
            fprintf(out, "<tr><td>%s</td>", ons_bytes_print((double)cell->question.capacity_bytes, text));
        fprintf(out, "<td class=\"%s\">", ons_report_fit_class(&cell->answer));
        if (cell->answer.feasible)
            fprintf(out, "%+.1f %%",
                    ons_report_slower(cell->answer.step_seconds, c->strategies.items[0].answer.step_seconds));
        else
            fputs(ons_report_fit_text(&cell->answer), out);
        fputs("</td>", out);
        if (i % ONS_REPORT_WAYS == ONS_REPORT_WAYS - 1) fputs("</tr>\n", out);
    }
    fputs("</table></div>\n<p class=\"soft small\">90, 75, 60, 45 and 30 % of what the fullest device needs with "
          "nothing moved; the time of a step against that. The search makes the slowest stage fast; as a step "
          "also fills and drains the pipeline, a split for less memory can happen to be faster.</p>\n",
          out);
}

static void write_changes(const ons_capacity_report *r, FILE *out) {
    const ons_report_rows *rows = &r->content.changes;
    if (r->content.fits) return;
    fputs("<h2>What would make it fit</h2>\n", out);
    if (rows->count == 0) {
        fputs("<p>None of the changes that were tried: more micro-batches, a smaller batch, recompute and swap, up to "
              "64 stages, every shipped device.</p>\n",
              out);
        return;
    }
    fputs(
        "<div class=\"wide\"><table><tr><th>change</th><th class=\"left\">then</th><th>fullest device</th><th>step</th>"
        "<th>samples/s</th>",
        out);
    ons_report_money_head(r, out);
    fputs("</tr>\n", out);
    for (uint32_t i = 0; i < rows->count; ++i) {
        const ons_report_row *row = &rows->items[i];
        fputs(i == 0 ? "<tr class=\"own\">" : "<tr>", out);
        name_cell(out, row->what);
        fprintf(out, "<td class=\"left %s\">%s</td>", ons_report_fit_class(&row->answer),
                ons_report_fit_text(&row->answer));
        need_cell(row, out);
        ons_report_speed_cells(row, out);
        ons_report_money_cell(r, row, out);
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n<p class=\"soft small\">The cheapest first: by money where prices are given; otherwise "
          "settings, then a smaller batch, then hardware, the least memory in all first. Of each kind the smallest "
          "change that does.</p>\n",
          out);
}

static void write_device_row(const ons_capacity_report *r, const ons_report_row *row, FILE *out) {
    bool own = row->question.device == &r->devices[0];
    fputs(own ? "<tr class=\"own\">" : "<tr>", out);
    name_cell(out, row->what);
    ons_report_size_cell(out, row->question.device->capacity_bytes);
    fprintf(out, "<td class=\"%s\">", ons_report_fit_class(&row->answer));
    if (!row->answer.known)
        fputs("not known", out);
    else
        fprintf(out, "%s%" PRId64, row->answer.feasible ? "" : "more than ", ons_question_all_devices(&row->question));
    fputs("</td>", out);
    need_cell(row, out);
    ons_report_speed_cells(row, out);
    ons_report_money_cell(r, row, out);
    fputs("</tr>\n", out);
}

static void write_devices(const ons_capacity_report *r, FILE *out) {
    fprintf(out,
            "<h2>Which device, and how many</h2>\n<p>For the batch of %" PRId64
            ": the fewest devices (1, 2, 4, … 32%s) that hold it; green: as it is, yellow: with swap or "
            "recompute.</p>\n<div class=\"wide\"><table><tr><th>device</th>"
            "<th>free memory</th><th>devices</th><th>fullest</th><th>step</th><th>samples/s</th>",
            r->content.asked.batch, ons_question_replicas(&r->content.asked) > 1 ? " in each replica" : "");
    ons_report_money_head(r, out);
    fputs("</tr>\n", out);
    for (uint32_t i = 0; i < r->content.devices.count; ++i) write_device_row(r, &r->content.devices.items[i], out);
    fputs("</table></div>\n", out);
}

void ons_report_write_tables(const ons_capacity_report *r, FILE *out) {
    write_changes(r, out);
    if (r->content.shown != NULL) {
        write_memory(r, out);
        write_layers(r, out);
    }
    write_strategies(r, out);
    write_squeezed(r, out);
    write_devices(r, out);
    ons_report_write_layouts(r, out);
    ons_report_write_goal(r, out);
}
