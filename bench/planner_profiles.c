/* Every way to split, on profiles that others measured, with free links and without a cap: the slowest stage and the
 * time to find it, beside PipeDream's own planner. Prints bench/results/planner_profiles.md:
 *
 *     ./bazelw run //bench:planner_profiles > bench/results/planner_profiles.md
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "planner/cost/cost_file.h"
#include "planner/partition/partition.h"

/* optimizer_graph_hierarchical.py of github.com/msr-fiddle/pipedream at 7db6a1c: a straight pipeline, links of 10^30
 * bytes a second; the process's start is not in the time. It was ended after 150 s. */
typedef struct pipedream_figure {
    const char *profile;
    struct {
        double bottleneck, planning; /* seconds; 0: it did not end */
    } stages[3];
} pipedream_figure;

static const pipedream_figure figures[] = {
    {"alexnet", {{.043075, .135}, {.028721, .112}, {.028721, .131}}},
    {"resnet18", {{.130199, .141}, {.069523, .137}, {.035207, .180}}},
    {"squeezenet1_0", {{.144143, .126}, {.072954, .141}, {.051094, .135}}},
    {"gnmt", {{.045936, .113}, {.025868, .119}, {.019032, .133}}},
    {"resnet50", {{.221933, .198}, {.111497, .243}, {.056684, .326}}},
    {"densenet121", {{.163085, .432}, {.081985, .585}, {.041615, 1.261}}},
    {"inception_v3", {{0, 0}, {0, 0}, {0, 0}}},
};

enum { REPEATS = 5 }; /* the introduction says so */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct measurement {
    double bottleneck, seconds;
    bool found;
} measurement;

/* From the file's bytes to the stages; the fastest of some runs. */
static ons_status *plan_once(const char *path, ons_order_kind order, uint32_t stages,
                             const ons_partition_strategy *strategy, ons_arena *arena, measurement *m) {
    ons_workload work;
    ons_stage_costs *costs;
    ons_partition partition;
    double start = now();
    ONS_TRY(ons_cost_file_load(path, &(ons_cost_file_options){order, stages}, arena, &work));
    ons_planning_problem problem = {.work = &work, .pipeline = {&ons_generator_one_f_one_b, stages, stages, 0}};
    ONS_TRY(ons_stage_costs_new(&problem, &costs));
    ons_status *status = strategy->search(costs, arena, &partition);
    ons_stage_costs_free(costs);
    ONS_TRY(status);
    double seconds = now() - start;
    if (!m->found || seconds < m->seconds) m->seconds = seconds;
    m->bottleneck = partition.bottleneck_seconds;
    m->found = partition.feasible;
    return NULL;
}

static measurement plan(const char *path, ons_order_kind order, uint32_t stages, const char *name) {
    measurement m = {0};
    const ons_partition_strategy *strategy = ons_partition_strategy_find(name);
    for (int i = 0; i < REPEATS && strategy != NULL; ++i) {
        ons_arena *arena = ons_arena_new();
        if (arena == NULL) return m;
        ons_status *status = plan_once(path, order, stages, strategy, arena, &m);
        if (status != NULL) fprintf(stderr, "%s: %s: %s\n", path, name, ons_status_get_message(status));
        ons_status_free(status);
        ons_arena_free(arena);
    }
    return m;
}

static void print_cell(const measurement *m) {
    if (m->found)
        printf(" %.5f |", m->bottleneck);
    else
        printf(" - |");
}

static const char *const baselines[] = {"uniform", "gpipe", "pipedream", "vpipe", "compute-balanced"};
static const char *const ours[] = {"dawnpiper", "exact", "auto"};

static void print_row(const pipedream_figure *figure, const char *folder, int column) {
    char path[4096];
    uint32_t stages = 2u << column;
    double given = figure->stages[column].bottleneck;
    (void)snprintf(path, sizeof path, "%s/%s.txt", folder, figure->profile);
    printf("| %s | %u |", figure->profile, stages);
    for (size_t i = 0; i < sizeof baselines / sizeof *baselines; ++i) {
        measurement m = plan(path, ONS_ORDER_DEPTH, stages, baselines[i]);
        print_cell(&m);
    }
    for (size_t i = 0; i < sizeof ours / sizeof *ours; ++i) {
        measurement m = plan(path, ONS_ORDER_DEPTH, stages, ours[i]);
        print_cell(&m);
    }
    measurement best = plan(path, ONS_ORDER_PACKED, stages, "auto");
    if (best.found)
        printf(" **%.5f** | %.4f |", best.bottleneck, best.seconds);
    else
        printf(" - | - |");
    double limit = given > 0 ? figure->stages[column].planning : 150;
    bool no_worse = best.found && best.seconds < limit && (given == 0 || best.bottleneck <= given * (1 + 1e-9));
    if (given > 0)
        printf(" %.5f | %.2f |", given, limit);
    else
        printf(" - | > 150 |");
    printf(" %s |\n", no_worse ? "yes" : "**no**");
}

static const char intro[] =
    "# Splits of PipeDream's profiles\n"
    "\n"
    "Made by `./bazelw run //bench:planner_profiles`. Seconds of the slowest stage for one "
    "micro-batch, forward and backward;\n"
    "straight pipeline, free links, no cap on memory. The columns up to *auto* take the nodes "
    "by depth; *packed* is `auto` on the\n"
    "order that is packed for this number of stages (`planner/workload/order.h`), and its planning time "
    "goes from the file's bytes to the\n"
    "stages, the fastest of 5 runs. PipeDream's planner is optimizer_graph_hierarchical.py at "
    "7db6a1c, one run on the same machine,\n"
    "import and start of Python not counted. On inception_v3 it was ended after 150 s; what "
    "*packed* finds there is the optimum:\n"
    "without a limit on the sets of nodes that it follows, it finds nothing faster.\n"
    "\"no worse\": the slowest stage is no slower, and planning took less time.\n"
    "\n";

int main(int count, char **arguments) {
    const char *folder = count > 1 ? arguments[1] : "examples/data/profiles/pipedream";
    fputs(intro, stdout);
    printf("| profile | stages | uniform | gpipe | pipedream (ours) | vpipe | compute-balanced | dawnpiper | exact | "
           "auto | "
           "packed | planning | PipeDream's | planning | no worse |\n"
           "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; ++i)
        for (int column = 0; column < 3; ++column) print_row(&figures[i], folder, column);
    return 0;
}
