#include <stdio.h>

#include "tools/arguments.h"
#include "tools/commands.h"

static const ons_subcommand subcommand = {
    .name = "onstage simulate",
    .command = ONS_COMMAND_SIMULATE,
    .summary = "Replays a plan without running it: time of a step, bubbles, traffic and memory of every device.",
    .epilogue = "PLAN.json is what `onstage plan -o` wrote; its decisions may have been edited, see docs/plan.md.\n\n"
                "Example: onstage simulate plan.json --trace trace.json",
    .file = "PLAN.json",
    .file_kind = "plan",
};

int ons_command_simulate(int argc, char **argv) {
    ons_config *config;
    int code = ons_report_failure(ons_config_new(&config));
    if (code != 0) return code;
    const char *path;
    ons_replay *replay = NULL;
    code = ons_parse_arguments(&subcommand, argc, argv, config, &path);
    if (code == 0) code = ons_report_failure(ons_replay_new(path, config, &replay));
    if (code == 0) fputs(ons_replay_text(replay), stdout);
    const char *trace = code == 0 ? ons_config_get(config, "trace") : NULL;
    if (trace != NULL) printf("wrote %s\n", trace);
    ons_replay_free(replay);
    ons_config_free(config);
    return code;
}
