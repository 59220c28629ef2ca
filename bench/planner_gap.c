/* How far partition strategies are from the optimum, on random chains: a Markdown table. Exact is the yardstick; what
 * it finds is itself checked against trying every split in tests/rooms/planner/partition_test.c.
 *
 *   planner_gap [FIRST SEED] [CHAINS A ROW]
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/rooms/planner/planning_case.h"

typedef struct gaps {
    uint32_t solvable, worse, refused;
    double sum, worst;
} gaps;

typedef struct row {
    const char *memory;
    planning_sizes sizes;
    uint32_t stages;
    gaps dawnpiper, automatic;
} row;

static ons_status *compare(ons_stage_costs *costs, ons_arena *arena, const char *strategy, double optimum, gaps *g) {
    ons_partition p;
    ONS_TRY(ons_partition_strategy_find(strategy)->search(costs, arena, &p));
    ++g->solvable;
    if (!p.feasible) {
        ++g->refused;
        return NULL;
    }
    double gap = p.bottleneck_seconds / optimum - 1;
    if (gap > 1e-9) ++g->worse;
    g->sum += gap;
    g->worst = fmax(g->worst, gap);
    return NULL;
}

static ons_status *add_chain(row *r, uint64_t seed, ons_arena *arena) {
    ons_planning_problem problem;
    ons_partition exact;
    ons_stage_costs *costs;
    planning_case c = {.seed = seed,
                       .least_nodes = 40,
                       .most_nodes = 80,
                       .least_stages = r->stages,
                       .most_stages = r->stages,
                       .sizes = r->sizes,
                       .chains = true,
                       .memory = ons_memory_strategy_find(r->memory)};
    ONS_TRY(planning_case_make(&c, arena, &problem));
    ONS_TRY(ons_stage_costs_new(&problem, &costs));
    ons_status *status = ons_partition_strategy_find("exact")->search(costs, arena, &exact);
    if (status == NULL && exact.feasible)
        status = compare(costs, arena, "dawnpiper", exact.bottleneck_seconds, &r->dawnpiper);
    if (status == NULL && exact.feasible)
        status = compare(costs, arena, "auto", exact.bottleneck_seconds, &r->automatic);
    ons_stage_costs_free(costs);
    return status;
}

static void print_row(const row *r) {
    uint32_t found = r->dawnpiper.solvable - r->dawnpiper.refused;
    printf("| %s | %s | %u | %u | %u | %.1f | %.2f | %.1f | %u | %.3f |\n", r->memory,
           r->sizes == SIZES_EVEN ? "even" : "heavy-tailed", r->stages, r->dawnpiper.solvable, r->dawnpiper.refused,
           100.0 * r->dawnpiper.worse / found, 100 * r->dawnpiper.sum / found, 100 * r->dawnpiper.worst,
           r->automatic.refused, 100 * r->automatic.worst);
    fflush(stdout);
}

static ons_status *fill_row(row *r, uint64_t seed, uint32_t chains) {
    for (; r->dawnpiper.solvable < chains; ++seed) {
        ons_arena *arena = ons_arena_new();
        ons_status *status = arena == NULL ? ons_status_out_of_memory() : add_chain(r, seed, arena);
        ons_arena_free(arena);
        ONS_TRY(status);
    }
    print_row(r);
    return NULL;
}

static ons_status *print_table(uint64_t seed, uint32_t chains) {
    const char *const memories[] = {"none", "recompute-all", "capuchin"};
    const uint32_t stages[] = {2, 4, 8};
    printf(
        "| memory | sizes | stages | chains | dawnpiper refuses | not optimal %% | mean gap %% | worst gap %% | auto "
        "refuses | auto's worst gap %% |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t m = 0; m < 3; ++m)
        for (planning_sizes sizes = SIZES_EVEN; sizes <= SIZES_HEAVY_TAILED; ++sizes)
            for (size_t s = 0; s < 3; ++s) {
                row r = {.memory = memories[m], .sizes = sizes, .stages = stages[s]};
                ONS_TRY(fill_row(&r, seed, chains));
            }
    return NULL;
}

int main(int argument_count, char **arguments) {
    uint64_t seed = argument_count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    uint32_t chains = argument_count > 2 ? (uint32_t)strtoul(arguments[2], NULL, 10) : 200;
    printf("`planner_gap %" PRIu64 " %u`: the first seed, and the chains in each row for which a split exists.\n\n",
           seed, chains);
    ons_status *status = print_table(seed, chains);
    if (status == NULL) return 0;
    fprintf(stderr, "planner_gap: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    return 1;
}
