#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/progress.h"

enum { TOP_NODES = 20 };

static const ons_subcommand subcommand = {
    .name = "onstage profile",
    .command = ONS_COMMAND_PROFILE,
    .model_optional = true,
    .summary =
        "Measures a training step on this machine, node by node, and fits the planner's model of the machine to it.",
    .epilogue =
        "Without --input the data is made up: random floats, zeros for integers and targets. --out (or -o) writes "
        "what the planner reads.\n\nExamples: onstage profile net.onnx --batch 32 -o profile.json\n"
        "          mpirun -n 4 onstage profile --links --profile profile.json -o profile.json",
};

static volatile sig_atomic_t interrupted;

static void interrupt(int number) {
    interrupted = 1;
    signal(number, SIG_DFL);
}

static bool show_progress(void *context, int64_t done, int64_t repetitions) {
    if (*(const bool *)context) {
        printf(done < repetitions ? "\rmeasuring: %" PRId64 " of %" PRId64 " steps" : "\r\033[K", done, repetitions);
        fflush(stdout);
    }
    return !interrupted;
}

/* The end of a long name tells more than its beginning. */
static const char *tail_of(const char *name, size_t width) {
    size_t length = strlen(name);
    return length > width ? name + (length - width) : name;
}

static double rate(double flops, double seconds) { return seconds > 0 ? flops / seconds * 1e-9 : 0; }

static void print_nodes(const ons_profile *p, double all) {
    printf("%-36s %-24s %-15s %9s %6s %9s\n", "node", "operator", "phase", "ms", "share", "GFLOP/s");
    for (size_t i = 0; i < p->node_count && i < TOP_NODES; ++i) {
        const ons_node_profile *n = &p->nodes[i];
        printf("%-36s %-24s %-15s %9.3f %5.1f%% %9.1f\n", tail_of(n->name, 36), n->operator_name, n->phase,
               n->seconds * 1e3, 100 * n->seconds / all, rate(n->flops, n->seconds));
    }
    if (p->node_count > TOP_NODES) printf("and %zu more\n", p->node_count - TOP_NODES);
}

static void print_phases(const ons_profile *p, double all) {
    double flops = 0;
    printf("\n%-36s %9s %6s %9s %6s\n", "phase", "ms", "share", "GFLOP/s", "peak");
    for (int i = 0; i < 4; ++i) {
        printf("%-36s %9.3f %5.1f%% %9.1f %5.1f%%\n", p->phase_names[i], p->phase_seconds[i] * 1e3,
               100 * p->phase_seconds[i] / all, rate(p->phase_flops[i], p->phase_seconds[i]),
               100e9 * rate(p->phase_flops[i], p->phase_seconds[i]) / p->peak_flops);
        flops += p->phase_flops[i];
    }
    printf("%-36s %9.3f %6s %9.1f %5.1f%%\n", "all nodes", all * 1e3, "", rate(flops, all),
           100e9 * rate(flops, all) / p->peak_flops);
    if (p->step_seconds > 0) printf("%-36s %9.3f\n", "whole step", p->step_seconds * 1e3);
    printf(
        "beside the nodes: %.3f us from one to the next, %.1f us for the data of a micro-batch, %.1f us a step to hand "
        "it over and back\n",
        p->launch_seconds * 1e6, p->feed_seconds * 1e6, p->handover_seconds * 1e6);
}

static void print_error(const char *what, const ons_model_error *e) {
    printf("%s: median error %.1f %%, by time %.1f %%, sum %.2f times the measured one, over %zu operators\n", what,
           100 * e->median, 100 * e->weighted_median, e->total, e->operators);
}

static void print_profile(const char *path, const ons_profile *p) {
    char saved[ONS_SHORT_TEXT], scratch[ONS_SHORT_TEXT], arena[ONS_SHORT_TEXT];
    double all = 0;
    for (int i = 0; i < 4; ++i) all += p->phase_seconds[i];
    printf("%s: %" PRId64 " sample%s on %s\n", path, p->samples, p->samples == 1 ? "" : "s", p->device);
    if (p->nodes_from_cache > 0)
        printf("%zu nodes, all measured before (--no-cache measures again)\n", p->nodes_from_cache);
    else
        printf("%zu nodes, each the median of %" PRId64 " step%s\n", p->node_count, p->repetitions,
               p->repetitions == 1 ? "" : "s");
    printf("\n");
    print_nodes(p, all > 0 ? all : 1);
    print_phases(p, all > 0 ? all : 1);
    printf("\nmemory: %s; saved for the backward pass %s, largest scratch %s\n", ons_print_bytes(p->arena_bytes, arena),
           ons_print_bytes(p->saved_bytes, saved), ons_print_bytes(p->scratch_bytes, scratch));
    printf(
        "device: %.1f GFLOP/s, memory %.2f GB/s; copies to a neighbour %.2f GB/s after %.1f us, to the host %.2f GB/s "
        "after %.1f us\n",
        p->peak_flops * 1e-9, p->memory_bandwidth * 1e-9, p->link_bandwidth * 1e-9, p->link_latency * 1e6,
        p->host_bandwidth * 1e-9, p->host_latency * 1e6);
    if (p->fit.operators > 0)
        print_error("analytic model, fitted to half of the operators, on the other half", &p->fit);
    char what[128];
    snprintf(what, sizeof what, "analytic model of device profile %s", p->compared_with);
    print_error(what, &p->compared);
    fputs(p->notes, stdout);
}

/* Between the processes of an MPI world; one of them prints. */
static int profile_links(const ons_config *config) {
    ons_link_profile *links = NULL;
    int code = ons_report_failure(ons_link_profile_measure(config, &links));
    if (code == 0) fputs(ons_link_profile_text(links), stdout);
    const char *out = code == 0 ? ons_config_get(config, "out") : NULL;
    if (out != NULL) code = ons_report_failure(ons_link_profile_write(links, out));
    if (out != NULL && code == 0 && ons_link_profile_text(links)[0] != '\0') printf("wrote %s\n", out);
    ons_link_profile_free(links);
    return code;
}

int ons_command_profile(int argc, char **argv) {
    ons_config *config;
    int code = ons_report_failure(ons_config_new(&config));
    if (code != 0) return code;
    const char *path, *out;
    ons_model *model = NULL;
    ons_profile *profile = NULL;
    code = ons_parse_arguments(&subcommand, argc, argv, config, &path);
    ons_catch_stops(interrupt);
    if (code != 0 || path == NULL) {
        if (code == 0) code = profile_links(config);
        ons_config_free(config);
        return code;
    }
    bool live = isatty(STDOUT_FILENO);
    if (code == 0) code = ons_report_failure(ons_model_load(path, config, &model));
    if (code == 0) code = ons_report_failure(ons_model_profile(model, config, show_progress, &live, &profile));
    if (code == 0) print_profile(path, profile);
    out = code == 0 ? ons_config_get(config, "out") : NULL;
    if (out != NULL) code = ons_report_failure(ons_profile_write(profile, out));
    if (out != NULL && code == 0) printf("wrote %s\n", out);
    ons_profile_free(profile);
    ons_model_free(model);
    ons_config_free(config);
    return code;
}
