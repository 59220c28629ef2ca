/* The devices that were asked for as stages and replicas: what each way takes, and what the sum over replicas costs. */
#include <inttypes.h>

#include "engine/report/report.h"

bool ons_report_is_asked(const ons_report *c, const ons_question *q) {
    return ons_question_devices(q) == ons_question_devices(&c->asked) &&
           ons_question_replicas(q) == ons_question_replicas(&c->asked);
}

static void need_cell(const ons_report_row *row, FILE *out) {
    ons_report_size_cell(out, row->answer.feasible ? row->answer.fullest_bytes : row->answer.least_bytes);
}

static void write_row(const ons_capacity_report *r, const ons_report_row *row, FILE *out) {
    const ons_question *q = &row->question;
    const ons_answer *a = &row->answer;
    fprintf(out, "<tr%s><td>%" PRId64 "</td><td>%u × %u</td>",
            ons_report_is_asked(&r->content, q) ? " class=\"own\"" : "", ons_question_all_devices(q), q->stages,
            ons_question_replicas(q));
    fprintf(out, "<td>%" PRId64 " of %s%" PRId64 "</td>", q->micro_batches,
            q->batch % (q->micro_batches * ons_question_replicas(q)) == 0 ? "" : "up to ", ons_question_rows(q));
    fprintf(out, "<td class=\"left %s\">%s</td>", ons_report_fit_class(a), ons_report_fit_text(a));
    need_cell(row, out);
    ons_report_speed_cells(row, out);
    if (a->feasible && ons_question_replicas(q) > 1 && !(a->reduce_seconds > 0))
        fputs("<td>hidden</td>", out);
    else
        ons_report_time_cell(out, a->feasible ? a->reduce_seconds : 0);
    ons_report_money_cell(r, row, out);
    fputs("</tr>\n", out);
}

void ons_report_write_layouts(const ons_capacity_report *r, FILE *out) {
    const ons_report_rows *rows = &r->content.layouts;
    fprintf(out,
            "<h2>Stages and replicas</h2>\n<p>The batch of %" PRId64
            " on as many devices as asked for, on twice and on four times as many, shared between stages and replicas "
            "of all stages.</p>\n<div class=\"wide\"><table><tr><th>devices</th><th>stages × replicas</th>"
            "<th>micro-batches of each</th><th class=\"left\">fits</th><th>fullest device</th><th>step</th>"
            "<th>samples/s</th><th>sum over replicas</th>",
            r->content.asked.batch);
    ons_report_money_head(r, out);
    fputs("</tr>\n", out);
    for (uint32_t i = 0; i < rows->count; ++i) write_row(r, &rows->items[i], out);
    fputs("</table></div>\n<p class=\"soft small\">Where it does not fit, the fifth column is the smallest capacity "
          "that would do. Sum over replicas: what adding their gradients up makes a step longer, over the slowest link "
          "between them; what goes on beside the last backward part, or beside anything else that takes longer, is "
          "hidden. ",
          out);
    if (r->content.asked.micro_batches == r->content.asked.stages)
        fputs("As many micro-batches in each replica as stages. ", out);
    else
        fputs("Micro-batches stay as large as they are, as far as they come out even. ", out);
    fputs("Left out is what the batch or the schedule cannot be split into.</p>\n", out);
}

static const ons_report_row *find_fastest(const ons_report_rows *rows, int64_t devices) {
    const ons_report_row *fastest = NULL;
    for (uint32_t i = 0; i < rows->count; ++i) {
        const ons_report_row *row = &rows->items[i];
        if (ons_question_all_devices(&row->question) != devices || !row->answer.feasible) continue;
        if (fastest == NULL || row->answer.samples_per_second > fastest->answer.samples_per_second) fastest = row;
    }
    return fastest;
}

/* Of each number of devices the fastest way that fits. */
void ons_report_write_layouts_text(const ons_capacity_report *r, FILE *out) {
    const ons_report_rows *rows = &r->content.layouts;
    int64_t devices = 0;
    fprintf(out, "\nfastest shares of devices between stages and replicas, for a batch of %" PRId64 ":\n",
            r->content.asked.batch);
    for (uint32_t i = 0; i < rows->count; ++i) {
        char seconds[ONS_SECONDS_TEXT], bytes[ONS_BYTES_TEXT];
        if (ons_question_all_devices(&rows->items[i].question) == devices) continue;
        devices = ons_question_all_devices(&rows->items[i].question);
        const ons_report_row *row = find_fastest(rows, devices);
        fprintf(out, "  %4" PRId64 " device%s  ", devices, devices == 1 ? " " : "s");
        if (row == NULL) {
            fputs("no share fits\n", out);
            continue;
        }
        fprintf(out, "%3u x %-3u  %10.1f samples/s, %s on the fullest device", row->question.stages,
                ons_question_replicas(&row->question), row->answer.samples_per_second,
                ons_bytes_print((double)row->answer.fullest_bytes, bytes));
        if (row->answer.reduce_seconds > 0)
            fprintf(out, ", sum over replicas %s a step", ons_seconds_print(row->answer.reduce_seconds, seconds));
        double money = ons_report_money(r, row);
        if (money > 0) fprintf(out, ", %.2f %s %s", money, r->prices.currency, ons_report_money_unit(r));
        fputc('\n', out);
    }
}
