#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "engine/report/report.h"

static void write_layers(const ons_report *c, FILE *out) {
    char held[ONS_BYTES_TEXT], saved[ONS_BYTES_TEXT], name[ONS_SHOWN_BYTES];
    for (uint32_t i = 0; i < c->layer_count && i < 3; ++i)
        fprintf(out, "%s %s: %s of weights and their own, %s of saved tensors\n",
                i == 0 ? "most memory is owned by" : "                    then", ons_shown(c->layers[i].name, name),
                ons_bytes_print((double)c->layers[i].held, held), ons_bytes_print((double)c->layers[i].saved, saved));
}

static void write_strategies(const ons_report *c, FILE *out) {
    const ons_report_row *rows = c->strategies.items;
    if (rows[1].answer.feasible) {
        fputs("memory is not short: nothing need be swapped or recomputed\n", out);
        return;
    }
    for (uint32_t i = 1; i < c->strategies.count; ++i) {
        const ons_answer *a = &rows[i].answer;
        char text[ONS_BYTES_TEXT];
        fprintf(out, "%s: ", rows[i].what);
        if (!a->known)
            fputs("not known\n", out);
        else if (!a->feasible)
            fprintf(out, "does not fit, needs %s\n", ons_bytes_print((double)a->least_bytes, text));
        else
            fprintf(out, "%.1f samples/s, a step %+.1f %% against memory without limit\n", a->samples_per_second,
                    ons_report_slower(a->step_seconds, rows[0].answer.step_seconds));
    }
}

static void write_devices(const ons_capacity_report *r, FILE *out) {
    fprintf(out, "\nfewest devices for a batch of %" PRId64, r->content.asked.batch);
    if (ons_report_has_choice(r)) fputs(", stages with one micro-batch at a time and no replicas of their own", out);
    if (ons_question_replicas(&r->content.asked) > 1)
        fprintf(out, " in %u replicas", ons_question_replicas(&r->content.asked));
    fputs(":\n", out);
    for (uint32_t i = 0; i < r->content.devices.count; ++i) {
        const ons_report_row *row = &r->content.devices.items[i];
        double money = ons_report_money(r, row);
        if (row->answer.feasible)
            fprintf(out, "  %-12s %3" PRId64 "  %10.1f samples/s", row->question.device->profile->name,
                    ons_question_all_devices(&row->question), row->answer.samples_per_second);
        else if (row->answer.known)
            fprintf(out, "  %-12s more than %" PRId64, row->question.device->profile->name,
                    ons_question_all_devices(&row->question));
        else
            fprintf(out, "  %-12s not known", row->question.device->profile->name);
        if (money > 0) fprintf(out, "  %.2f %s %s", money, r->prices.currency, ons_report_money_unit(r));
        fputc('\n', out);
    }
}

/* With less memory, as far down as it goes: what it costs then. */
static void write_squeezed(const ons_report *c, FILE *out) {
    const ons_report_row *least = NULL;
    char memory[ONS_BYTES_TEXT];
    for (uint32_t i = ONS_REPORT_WAYS - 1; i < c->squeezed.count; i += ONS_REPORT_WAYS)
        if (c->squeezed.items[i].answer.feasible) least = &c->squeezed.items[i];
    if (least == NULL) return;
    fprintf(out, "with %s free on each device, recomputed or swapped: a step %+.1f %%\n",
            ons_bytes_print((double)least->question.capacity_bytes, memory),
            ons_report_slower(least->answer.step_seconds, c->strategies.items[0].answer.step_seconds));
}

/* To be put behind the message that nothing fits. */
static void write_remedy(const ons_capacity_report *r, FILE *out) {
    const ons_report_rows *changes = &r->content.changes;
    if (changes->count > 0) fprintf(out, "; the cheapest change that fits: %s", changes->items[0].what);
    fprintf(out, "; see %s", r->planning->config->report);
}

void ons_report_write_text(const ons_capacity_report *r, FILE *out) {
    const ons_report *c = &r->content;
    if (!c->fits) {
        write_remedy(r, out);
        return;
    }
    fputc('\n', out);
    if (c->largest_batch > 0) {
        char text[ONS_SECONDS_TEXT];
        fprintf(out, "largest batch that fits%s: %s%" PRId64 ", %.1f samples/s, a step %s\n",
                ons_report_has_choice(r) ? " with one micro-batch at a time" : "",
                c->largest_is_bound ? "at least " : "", c->largest_batch, c->largest.samples_per_second,
                ons_seconds_print(c->largest.step_seconds, text));
    }
    if (r->epoch_samples > 0) {
        char text[ONS_SECONDS_TEXT];
        fprintf(out, "an epoch of %" PRId64 " samples takes %s\n", r->epoch_samples,
                ons_seconds_print((double)r->epoch_samples / ons_report_samples_per_second(c), text));
    }
    write_layers(c, out);
    write_strategies(c, out);
    write_squeezed(c, out);
    write_devices(r, out);
    ons_report_write_layouts_text(r, out);
    ons_report_write_goal_text(r, out);
    fputs("wrote the report ", out);
    fprintf(out, "%s\n", r->planning->config->report);
}
