#include "engine/report/report_goal.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/report/report.h"

/* ---------------------------------------------------------------------------------------------------------- reading */

/* Tokens of a sample: the length that the model's only input of whole numbers has, or that --dim gives it. */
static ons_status *find_sample_tokens(const ons_planning *p, double *tokens) {
    const ons_graph *graph = p->model == NULL ? NULL : p->model->graph;
    for (size_t i = 0; graph != NULL && i < graph->inputs.count; ++i) {
        const ons_type *type = &ons_graph_value(graph, graph->inputs.items[i])->type;
        if (!ons_dtype_is_integer(type->dtype) || type->shape.rank != 2) continue;
        const char *symbol = graph->symbols == NULL ? NULL : graph->symbols[i][1];
        int64_t length = type->shape.dims[1];
        for (size_t k = 0; symbol != NULL && k < p->config->dims.count; ++k)
            if (strcmp(p->config->dims.items[k].name, symbol) == 0)
                length = strtoll(p->config->dims.items[k].value, NULL, 10);
        if (length <= 0) length = p->config->seq;
        ONS_CHECK(length > 0, ONS_INVALID_ARGUMENT,
                  "--goal: the model does not fix how many tokens a sample has; give --dim %s=N",
                  symbol == NULL ? "NAME" : symbol);
        *tokens = (double)length;
        return NULL;
    }
    return ons_status_new(ONS_INVALID_ARGUMENT,
                          "--goal: no input has the form [batch, tokens]; say it in samples, epochs or steps");
}

/* How many samples one of what the goal counts has. */
static ons_status *find_unit(const ons_planning *p, const char *unit, int64_t epoch_samples, double *samples) {
    static const char *const names[] = {"samples", "tokens", "epochs", "steps"};
    size_t length = strlen(unit), which = 0;
    while (which < 4 && (length < 4 || strncmp(unit, names[which], length) != 0 || length + 1 < strlen(names[which])))
        ++which; /* "epoch" is fine */
    double tokens;
    switch (which) {
    case 0: *samples = 1; return NULL;
    case 1:
        ONS_TRY(find_sample_tokens(p, &tokens));
        *samples = 1 / tokens;
        return NULL;
    case 2:
        ONS_CHECK(epoch_samples > 0, ONS_INVALID_ARGUMENT,
                  "--goal: an epoch's samples are not known; give --samples N, or the data");
        *samples = (double)epoch_samples;
        return NULL;
    case 3: *samples = (double)p->plan.subject.batch; return NULL;
    default: break;
    }
    return ons_status_new(ONS_INVALID_ARGUMENT, "--goal: '%s' is none of tokens, samples, epochs and steps", unit);
}

static double factor_of(char letter) {
    static const struct {
        char letter;
        double factor;
    } factors[] = {{'K', 1e3}, {'M', 1e6}, {'B', 1e9}, {'G', 1e9}, {'T', 1e12}};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; ++i)
        if (toupper((unsigned char)letter) == factors[i].letter) return factors[i].factor;
    return 0;
}

/* "10B tokens", "10 B tokens", "1000 steps" */
static ons_status *read_amount(const ons_planning *p, int64_t epoch_samples, double *samples) {
    const char *text = p->config->goal;
    char *rest;
    double amount = strtod(text, &rest), unit;
    while (isspace((unsigned char)*rest)) ++rest;
    if (factor_of(*rest) > 0 && !isalpha((unsigned char)rest[1])) {
        amount *= factor_of(*rest++);
        while (isspace((unsigned char)*rest)) ++rest;
    }
    ONS_CHECK(rest != text && isfinite(amount) && amount > 0 && *rest != '\0', ONS_INVALID_ARGUMENT,
              "--goal: '%s' is not an amount such as '10B tokens', '1M samples', '3 epochs' or '5000 steps'", text);
    ONS_TRY(find_unit(p, rest, epoch_samples, &unit));
    *samples = amount * unit;
    ONS_CHECK(*samples < 1e18, ONS_INVALID_ARGUMENT, "--goal: '%s' is more than can be counted", text);
    return NULL;
}

/* Weights and optimiser states, once; what running statistics take beside them is little. */
static double checkpoint_bytes(const ons_planning *p) {
    const ons_workload *work = p->problem.work;
    const ons_stage_load load = {.in_flight = 1, .versions = 1};
    ons_stage_memory memory;
    ons_work_stage_memory(work, 0, work->node_count, &load, &memory);
    return (double)memory.weights + (double)memory.states;
}

ons_status *ons_report_read_goal(const ons_planning *p, int64_t epoch_samples, ons_goal *goal) {
    const ons_config *c = p->config;
    int64_t bandwidth;
    *goal = (ons_goal){0};
    ONS_TRY(ons_config_disk_bandwidth(c, &bandwidth));
    if (c->goal == NULL) {
        ONS_CHECK(!c->device_failure_hours.given && bandwidth == 0, ONS_INVALID_ARGUMENT,
                  "--mtbf and --disk-bandwidth are about a whole training; say with --goal how much that is");
        return NULL;
    }
    ONS_TRY(read_amount(p, epoch_samples, &goal->samples));
    if (!c->device_failure_hours.given) return NULL;
    ONS_CHECK(c->device_failure_hours.value > 0, ONS_INVALID_ARGUMENT, "--mtbf must be above 0 hours");
    ONS_CHECK(bandwidth > 0, ONS_INVALID_ARGUMENT,
              "--mtbf: how long a checkpoint takes is not known; give --disk-bandwidth");
    goal->failure_seconds = 3600 * c->device_failure_hours.value;
    goal->disk_bandwidth = (double)bandwidth;
    goal->checkpoint_bytes = checkpoint_bytes(p);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- writing */

enum { LONG_TEXT = 48 };

static const char *print_long(double seconds, char text[static LONG_TEXT]) {
    char small[ONS_SECONDS_TEXT];
    if (!isfinite(seconds))
        snprintf(text, LONG_TEXT, "never");
    else if (seconds >= 2 * 86400)
        snprintf(text, LONG_TEXT, seconds >= 100 * 86400.0 ? "%.0f days" : "%.1f days", seconds / 86400);
    else if (seconds >= 2 * 3600)
        snprintf(text, LONG_TEXT, "%.1f hours", seconds / 3600);
    else if (seconds >= 120)
        snprintf(text, LONG_TEXT, "%.1f minutes", seconds / 60);
    else
        snprintf(text, LONG_TEXT, "%s", ons_seconds_print(seconds, small));
    return text;
}

/* The answer for what was asked, with the plan's own time. */
static ons_goal_forecast forecast_asked(const ons_capacity_report *r) {
    const ons_answer answer = {.feasible = true, .step_seconds = r->content.forecast.iteration_seconds};
    return ons_goal_forecast_make(&r->goal, &r->content.asked, &answer);
}

static void write_money(const ons_capacity_report *r, double money, FILE *out) {
    if (r->prices.json == NULL) return;
    if (money > 0 && isfinite(money))
        fprintf(out, "<td>%.0f</td>", money);
    else
        fputs("<td class=\"none\">–</td>", out);
}

static void write_row(const ons_capacity_report *r, const ons_report_row *row, FILE *out) {
    const ons_question *q = &row->question;
    const ons_goal_forecast f = ons_goal_forecast_make(&r->goal, q, &row->answer);
    char text[LONG_TEXT];
    bool fails = r->goal.failure_seconds > 0;
    fprintf(out, "<tr%s><td>%" PRId64 "</td><td>%u × %u</td><td>%s</td>",
            ons_report_is_asked(&r->content, q) ? " class=\"own\"" : "", ons_question_all_devices(q), q->stages,
            ons_question_replicas(q), print_long(f.seconds, text));
    write_money(r, f.money, out);
    if (fails) {
        fprintf(out, "<td>%s</td>", print_long(f.failure_seconds, text));
        fprintf(out, "<td>%.0f steps<small> %s</small></td>", f.interval_steps,
                print_long(f.interval_steps * row->answer.step_seconds, text));
        fprintf(out, "<td>%.2f %%</td><td>%s</td>", 100 * f.lost_share, print_long(f.all_seconds, text));
        write_money(r, f.all_money, out);
    }
    fputs("</tr>\n", out);
}

static void write_money_head(const ons_capacity_report *r, FILE *out) {
    if (r->prices.json == NULL) return;
    fputs("<th>", out);
    ons_html_text(out, r->prices.currency[0] == '\0' ? "money" : r->prices.currency);
    fputs("</th>", out);
}

static void write_head(const ons_capacity_report *r, FILE *out) {
    fputs("<div class=\"wide\"><table><tr><th>devices</th><th>stages × replicas</th><th>computing</th>", out);
    write_money_head(r, out);
    if (r->goal.failure_seconds > 0) {
        fputs("<th>a device fails every</th><th>checkpoint every</th><th>lost</th><th>in all</th>", out);
        write_money_head(r, out);
    }
    fputs("</tr>\n", out);
}

static void write_failures(const ons_capacity_report *r, FILE *out) {
    const ons_goal *g = &r->goal;
    char bytes[ONS_BYTES_TEXT], seconds[LONG_TEXT], fails[LONG_TEXT];
    fprintf(out,
            "<p class=\"soft small\">A checkpoint has weights and optimiser states, %s, and takes %s at %.3g bytes a "
            "second; training waits for it. A device fails every %s, independently of the others, and stops all. The "
            "interval is √(2 · time of a checkpoint · time between failures of all devices) (Young 1974), in whole "
            "steps; lost are checkpoints, and half an interval a failure. Noticing a failure and starting again are "
            "not counted.</p>\n",
            ons_bytes_print(g->checkpoint_bytes, bytes), print_long(g->checkpoint_bytes / g->disk_bandwidth, seconds),
            g->disk_bandwidth, print_long(g->failure_seconds, fails));
}

void ons_report_write_goal(const ons_capacity_report *r, FILE *out) {
    const ons_report_rows *rows = &r->content.layouts;
    uint32_t fit = 0;
    if (r->goal.samples <= 0) return;
    for (uint32_t i = 0; i < rows->count; ++i) fit += rows->items[i].answer.feasible;
    fputs("<h2>The goal: ", out);
    ons_html_text(out, r->planning->config->goal);
    fprintf(out, "</h2>\n<p>%.0f steps of %" PRId64 " samples.</p>\n",
            ceil(r->goal.samples / (double)r->content.asked.batch), r->content.asked.batch);
    if (fit == 0) {
        fputs("<p>No share of the devices fits.</p>\n", out);
        return;
    }
    write_head(r, out);
    for (uint32_t i = 0; i < rows->count; ++i)
        if (rows->items[i].answer.feasible) write_row(r, &rows->items[i], out);
    fputs("</table></div>\n", out);
    if (r->goal.failure_seconds > 0) write_failures(r, out);
}

static void write_money_text(const ons_capacity_report *r, double money, FILE *out) {
    if (money > 0 && isfinite(money)) fprintf(out, ", %.2f %s", money, r->prices.currency);
}

void ons_report_write_goal_text(const ons_capacity_report *r, FILE *out) {
    char text[LONG_TEXT], bytes[ONS_BYTES_TEXT];
    if (r->goal.samples <= 0) return;
    const ons_goal_forecast f = forecast_asked(r);
    fprintf(out, "\n%s: %.0f steps of %" PRId64 " samples, %s", r->planning->config->goal, f.steps,
            r->content.asked.batch, print_long(f.seconds, text));
    write_money_text(r, f.money, out);
    fputc('\n', out);
    if (r->goal.failure_seconds <= 0) return;
    fprintf(out, "  a checkpoint of %s takes %s", ons_bytes_print(r->goal.checkpoint_bytes, bytes),
            print_long(f.checkpoint_seconds, text));
    fprintf(out, "; one of %" PRId64 " device%s fails every %s\n", ons_question_all_devices(&r->content.asked),
            ons_question_all_devices(&r->content.asked) == 1 ? "" : "s", print_long(f.failure_seconds, text));
    fprintf(out, "  least is lost with --checkpoint-every %.0f (%s): %.2f %%; in all %s", f.interval_steps,
            print_long(f.interval_steps * r->content.forecast.iteration_seconds, text), 100 * f.lost_share,
            isfinite(f.all_seconds) ? "" : "it never ends");
    if (isfinite(f.all_seconds)) fputs(print_long(f.all_seconds, text), out);
    write_money_text(r, f.all_money, out);
    fputc('\n', out);
}
