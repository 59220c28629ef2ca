#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "bench/stage_graph_page.h"
#include "planner/stage_graph/graphpipe.h"
#include "tests/rooms/planner/stage_divisions.h"

enum { SIZES = 3, ALLOWED_GRAPHS = 200, ANY_GRAPHS = 60, ALLOWED_NODES = 12, ANY_NODES = 9 };

typedef struct gaps {
    uint32_t graphs, apart;
    double sum, worst;
} gaps;

static void add_gap(gaps *g, double found, double best) {
    double gap = isfinite(best) ? found / best - 1 : 0;
    ++g->graphs;
    g->apart += gap > 2e-6;
    g->sum += gap;
    g->worst = fmax(g->worst, gap);
}

/* No cap, no links: what is asked of micro-batches of four samples on two to four devices. */
static ons_status *compare(uint64_t seed, bool series_parallel, uint32_t most_nodes, bool any, ons_arena *arena,
                           gaps *g) {
    branch_graph graph;
    ons_graphpipe_result found;
    const ons_planning_problem hardware = {0};
    ons_graph_problem problem = {
        .sizes = SIZES, .batch = 4, .devices = 2 + (uint32_t)(seed % 3), .hardware = &hardware};
    const ons_graphpipe_options options = {.objective = ONS_OBJECTIVE_BOTTLENECK, .samples = 4};
    double best;
    uint32_t nodes = most_nodes - (uint32_t)(seed / 3 % 4);
    ONS_TRY(series_parallel ? random_series_parallel(seed, nodes, arena, &graph)
                            : random_dependencies(seed, nodes, arena, &graph));
    ONS_TRY(branch_graph_works(&graph, SIZES, &problem.work));
    ONS_TRY(ons_graphpipe_search(&problem, &options, arena, &found));
    ONS_TRY(any ? best_division(&problem, 4, &best) : best_allowed_division(&problem, 4, &best));
    add_gap(g, found.feasible ? found.graph.seconds_per_sample : INFINITY, best);
    return NULL;
}

static ons_status *print_row(bool series_parallel, uint32_t most_nodes, bool any, uint32_t graphs, gaps *g) {
    for (uint64_t seed = 1; seed <= graphs; ++seed) {
        ons_arena *arena = ons_arena_new();
        if (arena == NULL) return ons_status_out_of_memory();
        ons_status *status = compare(seed, series_parallel, most_nodes, any, arena, g);
        ons_arena_free(arena);
        ONS_TRY(status);
    }
    printf("| %s | %u to %u | %s | %u | %u | %.2f | %.1f |\n", series_parallel ? "series-parallel" : "any dependencies",
           most_nodes - 3, most_nodes, any ? "all stage graphs" : "all that the decomposition allows", g->graphs,
           g->apart, 100 * g->sum / g->graphs, 100 * g->worst);
    fflush(stdout);
    return NULL;
}

ons_status *page_divisions(void) {
    gaps allowed = {0}, converted = {0}, any = {0}, any_converted = {0};
    printf(
        "\n## Against exhaustive searches\n\n"
        "Random graphs (seeds from 1 on) on 2 to 4 devices, one size of micro-batches, free links, no cap on memory:\n"
        "the slowest stage's time against the best of all divisions, tried one by one. \"All stage graphs\" are all\n"
        "partitions of the nodes whose stages do not wait for each other in a circle.\n\n"
        "| graphs | nodes | against | graphs | slower | mean gap %% | worst gap %% |\n|---|---|---|--:|--:|--:|--:|\n");
    ONS_TRY(print_row(true, ALLOWED_NODES, false, ALLOWED_GRAPHS, &allowed));
    ONS_TRY(print_row(false, ALLOWED_NODES, false, ALLOWED_GRAPHS, &converted));
    ONS_TRY(print_row(true, ANY_NODES, true, ANY_GRAPHS, &any));
    ONS_TRY(print_row(false, ANY_NODES, true, ANY_GRAPHS, &any_converted));
    printf("\n");
    page_at_most("graphs on which a division that the decomposition allows is faster", allowed.apart + converted.apart,
                 0);
    return NULL;
}
