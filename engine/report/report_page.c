#include <inttypes.h>

#include "engine/report/report.h"

static const char style[] =
#include "engine/report/report_style.inc"
    ;

static void write_subject(const ons_capacity_report *r, FILE *out) {
    const ons_report *c = &r->content;
    fputs("<h1>", out);
    ons_html_text(out, ons_report_model_name(r));
    fprintf(out, "</h1>\n<p class=\"soft\">Capacity report: batch %" PRId64, c->asked.batch);
    if (c->asked.micro_batches > 1)
        fprintf(out, " in %" PRId64 " micro-batches of %s%" PRId64, c->asked.micro_batches,
                c->asked.batch % (c->asked.micro_batches * ons_question_replicas(&c->asked)) == 0 ? "" : "up to ",
                ons_question_rows(&c->asked));
    if (ons_question_replicas(&c->asked) > 1) fprintf(out, " in each of %u replicas", ons_question_replicas(&c->asked));
    char stages[ONS_STAGES_TEXT];
    uint32_t count = c->shown != NULL ? ons_report_stage_count(r) : c->asked.stages;
    uint32_t devices = c->shown != NULL ? ons_report_device_count(r) : ons_question_devices(&c->asked);
    fprintf(out, ", %s of ", ons_stages_print(count, devices, stages));
    ons_html_text(out, c->asked.device->profile->title);
    fprintf(out, ", schedule %s, partition ",
            c->shown != NULL ? c->shown->problem.pipeline.generator->name : c->asked.generator->name);
    ons_html_text(out, c->asked.partition->name);
    fprintf(out, ", memory strategy %s</p>\n", c->asked.memory->name);
}

static uint32_t fullest_device(const ons_capacity_report *r) {
    int64_t most = 0, kinds[ONS_MEMORY_KINDS];
    uint32_t fullest = 0;
    for (uint32_t i = 0; i < ons_report_device_count(r); ++i) {
        int64_t bytes = ons_report_device_kinds(r, i, kinds);
        if (bytes > most) fullest = i;
        if (bytes > most) most = bytes;
    }
    return fullest;
}

static void write_answer(const ons_capacity_report *r, FILE *out) {
    const ons_report *c = &r->content;
    char cap[ONS_BYTES_TEXT], need[ONS_BYTES_TEXT], left[ONS_BYTES_TEXT], whole[ONS_BYTES_TEXT];
    int64_t capacity = c->asked.capacity_bytes, reserve = c->asked.device->profile->reserve_bytes;
    ons_bytes_print((double)capacity, cap);
    if (capacity == 0) {
        fprintf(out, "<p class=\"verdict\">The fullest device (%u) takes %s; it has memory without end.</p>\n",
                fullest_device(r), ons_bytes_print((double)c->fullest_bytes, need));
        return;
    }
    if (c->fits) {
        fprintf(out,
                "<p class=\"verdict\">It fits: the fullest device (%u) takes %s of the %s that are free on it, "
                "%.0f %%; %s stay free.</p>\n",
                fullest_device(r), ons_bytes_print((double)c->fullest_bytes, need), cap,
                100.0 * (double)c->fullest_bytes / (double)capacity,
                ons_bytes_print((double)(capacity - c->fullest_bytes), left));
        return;
    }
    fprintf(out, "<p class=\"verdict bad\">It does not fit %s a device", cap);
    if (c->least_bytes > 0)
        fprintf(out, ": the smallest that would do is %s, a device of %s with what its libraries take; %s are missing",
                ons_bytes_print((double)c->least_bytes, need),
                ons_bytes_print((double)c->least_bytes + (double)reserve, whole),
                ons_bytes_print((double)(c->least_bytes - capacity), left));
    fputs(".</p>\n", out);
    if (c->shown != NULL)
        fputs("<p>Memory, layers and timeline below are of the split that needs the least memory.</p>\n", out);
}

static void fact(FILE *out, const char *value, const char *name) {
    fputs("<div class=\"fact\"><b>", out);
    ons_html_name(out, value);
    fputs("</b><span>", out);
    ons_html_text(out, name);
    fputs("</span></div>\n", out);
}

static void write_time_facts(const ons_report *c, FILE *out) {
    char text[64], seconds[ONS_SECONDS_TEXT];
    double bubble = 0;
    for (uint32_t i = 0; i < c->forecast.device_count; ++i)
        bubble += c->forecast.devices[i].bubble_share / c->forecast.device_count;
    fact(out, ons_seconds_print(c->forecast.iteration_seconds, seconds), "a step");
    snprintf(text, sizeof text, "%.1f", ons_report_samples_per_second(c));
    fact(out, text, "samples a second");
    if (c->asked.stages > 1) {
        snprintf(text, sizeof text, "%.0f %%", 100 * bubble);
        fact(out, text, "of the devices' time idle");
    }
}

static void write_facts(const ons_capacity_report *r, FILE *out) {
    const ons_report *c = &r->content;
    char text[96];
    fputs("<div class=\"facts\">\n", out);
    if (c->shown != NULL) write_time_facts(c, out);
    if (c->largest_batch > 0) {
        snprintf(text, sizeof text, "%s%" PRId64, c->largest_is_bound ? "≥ " : "", c->largest_batch);
        fact(out, text,
             ons_report_has_choice(r) ? "samples: the largest batch that fits with one micro-batch at a time"
                                      : "samples: the largest batch that fits");
    } else if (r->sizes[1] > 0) {
        fact(out, "none", "batch fits, not one sample a micro-batch");
    }
    if (c->shown != NULL && r->epoch_samples > 0) {
        snprintf(text, sizeof text, "an epoch of %" PRId64 " samples", r->epoch_samples);
        char seconds[ONS_SECONDS_TEXT];
        fact(out, ons_seconds_print((double)r->epoch_samples / ons_report_samples_per_second(c), seconds), text);
    }
    ons_report_row own = {.question = c->asked, .answer = {.feasible = c->fits}};
    own.answer.samples_per_second = ons_report_samples_per_second(c);
    double money = ons_report_money(r, &own);
    if (money > 0) {
        snprintf(text, sizeof text, "%.2f %s", money, r->prices.currency);
        fact(out, text, ons_report_money_unit(r));
    }
    if (c->layer_count > 0) fact(out, c->layers[0].name, "the layer that owns most memory");
    fputs("</div>\n", out);
}

void ons_report_write_page(const ons_capacity_report *r, FILE *out) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>Capacity report: ",
          out);
    ons_html_text(out, ons_report_model_name(r));
    fprintf(out, "</title>\n<style>\n%s", style);
    ons_timeline_write_style(out);
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
    write_subject(r, out);
    write_answer(r, out);
    write_facts(r, out);
    ons_report_write_tables(r, out);
    ons_report_write_schedules(r, out);
    ons_report_write_degrees(r, out);
    ons_report_write_what_if(r, out);
    ons_report_draw_timeline(r, out);
    ons_report_write_assumptions(r, out);
    fputs("</main>\n</body>\n</html>\n", out);
}
