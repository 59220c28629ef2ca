#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tools/arguments.h"
#include "tools/commands.h"

static const ons_subcommand subcommand = {
    .name = "onstage eval",
    .command = ONS_COMMAND_EVAL,
    .summary = "Runs a model over data: loss, accuracy, outputs.",
    .epilogue =
        "Example: onstage eval trained.onnx --input x.npy --target y.npy --loss cross_entropy --metric accuracy",
    .model_optional = false,
};

static volatile sig_atomic_t interrupted;

static void interrupt(int number) {
    interrupted = 1;
    signal(number, SIG_DFL);
}

static bool show_progress(void *context, int64_t done, int64_t samples) {
    if (*(const bool *)context) {
        printf(done < samples ? "\r%" PRId64 "/%" PRId64 " samples" : "\r\033[K", done, samples);
        fflush(stdout);
    }
    return !interrupted;
}

static void print_evaluation(const ons_evaluation *e) {
    printf("%" PRId64 " samples in %.2f s", e->samples, e->seconds);
    if (!isnan(e->loss)) printf("  loss %.6f", e->loss);
    if (!isnan(e->accuracy)) printf("  accuracy %.2f %%", 100 * e->accuracy);
    printf("\n");
    if (e->dropped > 0)
        printf("samples left out at the end: %" PRId64 "; the model was exported for batches of a fixed size\n",
               e->dropped);
}

int ons_command_eval(int argc, char **argv) {
    ons_config *config;
    int code = ons_report_failure(ons_config_new(&config));
    if (code != 0) return code;
    const char *path;
    ons_model *model = NULL;
    ons_evaluation evaluation;
    code = ons_parse_arguments(&subcommand, argc, argv, config, &path);
    ons_catch_stops(interrupt);
    bool live = isatty(STDOUT_FILENO);
    if (code == 0) code = ons_report_failure(ons_model_load(path, config, &model));
    if (code == 0) code = ons_report_failure(ons_model_evaluate(model, config, show_progress, &live, &evaluation));
    if (code == 0) print_evaluation(&evaluation);
    ons_model_free(model);
    ons_config_free(config);
    return code;
}
