#include <stdio.h>

#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/progress.h"

static const ons_subcommand subcommand = {
    .name = "onstage simulate",
    .command = ONS_COMMAND_SIMULATE,
    .summary = "Replays a plan without running it: time of a step, bubbles, traffic and memory of every device, "
               "and a chart of what they do when.",
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
    const char *chart = NULL;
    if (code == 0) code = ons_report_failure(ons_replay_draw(replay, (size_t)ons_terminal_columns(), &chart));
    if (code == 0) printf("\n%s", chart);
    static const char *const written[] = {"write-schedule", "svg", "trace"};
    for (size_t i = 0; code == 0 && i < sizeof written / sizeof *written; ++i) {
        const char *file = ons_config_get(config, written[i]);
        if (file != NULL) printf("wrote %s\n", file);
    }
    ons_replay_free(replay);
    ons_config_free(config);
    return code;
}
