#include <stdio.h>

#include "tools/arguments.h"
#include "tools/commands.h"

static const ons_subcommand subcommand = {
    .name = "onstage plan",
    .command = ONS_COMMAND_PLAN,
    .summary = "Says before anything runs what fits where, how fast, and what would make it fit.",
    .epilogue =
        "Weights in external files may be missing. Where nothing fits, the exit code is 6 and the message says what "
        "would.\n\n"
        "Example: onstage plan bert.onnx --batch 64 --stages 4 --memory 40GiB --device-profile a100-40gb -o plan.json",
    .model_optional = true,
};

int ons_command_plan(int argc, char **argv) {
    ons_config *config;
    int code = ons_report_failure(ons_config_new(&config));
    if (code != 0) return code;
    const char *path, *out;
    ons_planning *planning = NULL;
    code = ons_parse_arguments(&subcommand, argc, argv, config, &path);
    if (code == 0) code = ons_report_failure(ons_planning_new(path, config, &planning));
    if (code == 0) fputs(ons_planning_text(planning), stdout);
    out = code == 0 ? ons_config_get(config, "out") : NULL;
    if (out != NULL) code = ons_report_failure(ons_planning_write(planning, out));
    if (out != NULL && code == 0) printf("wrote %s\n", out);
    ons_planning_free(planning);
    ons_config_free(config);
    return code;
}
