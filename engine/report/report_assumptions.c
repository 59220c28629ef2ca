#include <inttypes.h>
#include <string.h>

#include "engine/report/report.h"

static void item(FILE *out, const char *name, const char *text) {
    fputs("<li><b>", out);
    ons_html_text(out, name);
    fputs(":</b> ", out);
    ons_html_text(out, text);
    fputs("</li>\n", out);
}

static void write_costs(const ons_capacity_report *r, FILE *out) {
    const ons_planning *p = r->planning;
    const ons_node_costs_use *use = &p->input.costs.measured;
    const ons_device_profile *profile = &p->profile;
    fputs("<li><b>Times of operators:</b> ", out);
    if (p->model == NULL)
        fputs("as the cost graph says. ", out);
    else if (p->config->profile == NULL)
        fputs("the device's analytic model: launch + the larger of FLOPs over the peak and bytes over the bandwidth, "
              "each with its efficiency. ",
              out);
    else
        fprintf(out,
                "%u measured, %u by the analytic model; those of other sizes of the "
                "micro-batch and of other devices by the analytic model. ",
                use->measured, use->analytic);
    if (profile->fit_error > 0)
        fprintf(out, "The model's median error on operators that it was not fitted to: %.1f %%.",
                100 * profile->fit_error);
    else
        fputs("The model was not fitted to measurements of this device; its error is not known.", out);
    fputs("</li>\n", out);
}

static void write_profile(const ons_device_profile *profile, FILE *out) {
    char memory[ONS_BYTES_TEXT], reserve[ONS_BYTES_TEXT];
    fputs("<li><b>Device:</b> ", out);
    if (profile->memory_bytes == 0) { /* none was named for a cost graph */
        ons_html_text(out, profile->title);
        fputs("; times and bytes are the cost graph's.</li>\n", out);
        return;
    }
    ons_html_text(out, profile->name);
    fprintf(out,
            ", %s of memory, %s of them for its own libraries; matrix products in %s at %.3g FLOP/s, memory %.3g "
            "B/s, link %.3g B/s, host %.3g B/s.",
            ons_bytes_print((double)profile->memory_bytes, memory),
            ons_bytes_print((double)profile->reserve_bytes, reserve), ons_precision_name(profile->precision),
            profile->matrix_flops, profile->memory_bandwidth, profile->link_bandwidth, profile->host_bandwidth);
    if (profile->node_devices > 0)
        fprintf(out,
                " %" PRId64
                " device%s in a node; between nodes %.3g B/s after %.3g s, which is what a link costs whose "
                "ends are in different nodes, and a sum over replicas that are in several.",
                profile->node_devices, profile->node_devices == 1 ? "" : "s", profile->network_bandwidth,
                profile->network_latency);
    if (profile->sources != NULL) fputs(" Where its numbers come from:<ul>", out);
    for (const char *line = profile->sources; line != NULL && *line != '\0';) {
        size_t length = strcspn(line, "\n");
        char text[1024];
        snprintf(text, sizeof text, "%.*s", (int)(length < 1000 ? length : 1000), line);
        if (length > 0) {
            fputs("<li class=\"small\">", out);
            ons_html_text(out, text);
            fputs("</li>", out);
        }
        line += length + (line[length] == '\n');
    }
    if (profile->sources != NULL) fputs("</ul>", out);
    fputs("</li>\n", out);
}

static void write_sizes(const ons_capacity_report *r, FILE *out) {
    if (r->sizes[1] > 0)
        fprintf(out,
                "<li><b>Other batches:</b> bytes and times are drawn as a line through micro-batches of %" PRId64
                " and %" PRId64 " samples; before renting anything, plan the batch itself.</li>\n",
                r->sizes[0], r->sizes[1]);
    else
        fprintf(out,
                "<li><b>Other batches:</b> the model has one size of micro-batch alone, %" PRId64
                " samples; what other sizes cost cannot be told.</li>\n",
                r->sizes[0]);
}

static void write_copies(const ons_what_if_device *device, FILE *out) {
    if (device->charged_devices == 0) return;
    fprintf(
        out,
        "<li><b>Copies to the host:</b> with %u devices or more, the processors that compute make them, in time that "
        "computing loses.</li>\n",
        device->charged_devices);
}

void ons_report_write_assumptions(const ons_capacity_report *r, FILE *out) {
    const ons_config *config = r->planning->config;
    const ons_planned *planned = &r->planning->planned;
    fputs("<h2>Assumptions</h2>\n<ul class=\"small\">\n", out);
    write_profile(r->content.asked.device->profile, out);
    write_copies(r->content.asked.device, out);
    write_costs(r, out);
    if (r->planning->model != NULL) {
        item(out, "Loss",
             config->loss.text != NULL ? config->loss.text
                                       : "not given; the usual one for the type of the output, with targets "
                                         "of the shape that it asks for");
        item(out, "Optimiser", config->optimizer.text);
        item(out, "Precision", config->precision.text);
    }
    for (size_t i = 0; i < config->dims.count; ++i) {
        fputs("<li><b>Dimension ", out);
        ons_html_text(out, config->dims.items[i].name);
        fputs(":</b> ", out);
        ons_html_text(out, config->dims.items[i].value);
        fputs("</li>\n", out);
    }
    item(out, "Order of the nodes", planned->order);
    item(out, "Partition", r->content.asked.partition->summary);
    item(out, "Memory strategy", r->content.asked.memory->summary);
    write_sizes(r, out);
    item(out, "Memory",
         "as the planner counts it: tensors from where they are made to their last use, weights, "
         "gradients, states, and transfers one micro-batch ahead; no fragmentation");
    item(out, "Time",
         "simulated: data are there when they are needed, devices are all alike, each link serves one "
         "transfer at a time and each way");
    item(out, "Other devices",
         "one like the other, with the links of their own profile; the same loss, optimiser and "
         "order of nodes");
    if (r->epoch_samples > 0)
        fprintf(out, "<li><b>Epoch:</b> %" PRId64 " samples, as %s.</li>\n", r->epoch_samples,
                config->samples > 0 ? "asked for" : "the data hold");
    if (r->prices.json != NULL) item(out, "Money", "the price of all devices for the time of the steps; nothing else");
    fputs("</ul>\n", out);
}
