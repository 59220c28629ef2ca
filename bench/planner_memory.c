/* How far the memory strategies are from the best possible, on random stages of at most 10 saved tensors, and how long
 * they take on larger ones: the table of bench/results/planner_memory_gap.md.
 *
 *     ./bazelw run //bench:planner_memory -- [STAGES] [SEED]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "planner/memory/memory.h"
#include "tests/rooms/planner/random_stage.h"

typedef struct gap {
    const char *name;
    uint32_t stages, unsolved, best; /* unsolved: exact found something, the strategy did not */
    double sum, worst, least_sum;
    uint32_t least_count;
    uint64_t worst_seed;
} gap;

static bool failed(ons_status *status) {
    if (status == NULL) return false;
    fprintf(stderr, "%s\n", ons_status_get_message(status));
    ons_status_free(status);
    return true;
}

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void add(gap *g, const ons_stage_solution *exact, const ons_stage_solution *found, uint64_t seed) {
    if (!exact->feasible) {
        ++g->least_count;
        g->least_sum += found->feasible ? NAN : (double)found->least_bytes / (double)exact->least_bytes - 1;
        return;
    }
    ++g->stages;
    if (!found->feasible) {
        ++g->unsolved;
        return;
    }
    double slower = found->seconds / exact->seconds - 1;
    if (slower < 1e-9) ++g->best;
    g->sum += slower;
    if (slower > g->worst) {
        g->worst = slower;
        g->worst_seed = seed;
    }
}

static bool measure_gaps(uint32_t stages, uint64_t seed, gap *gaps, uint32_t count) {
    const ons_memory_strategy *exact = ons_memory_strategy_find("exact");
    for (uint32_t i = 0; i < stages; ++i) {
        ons_arena *arena = ons_arena_new();
        random_stage stage;
        ons_stage_solution best, found;
        if (failed(random_stage_make(seed + i, 10, arena, &stage))) return false;
        if (failed(exact->solve(&stage.problem, stage.workspace, NULL, &best))) return false;
        for (uint32_t j = 0; j < count; ++j) {
            const ons_memory_strategy *s = ons_memory_strategy_find(gaps[j].name);
            if (failed(s->solve(&stage.problem, stage.workspace, NULL, &found))) return false;
            add(&gaps[j], &best, &found, seed + i);
        }
        random_stage_free(&stage);
        ons_arena_free(arena);
    }
    return true;
}

static void print_gaps(const gap *gaps, uint32_t count) {
    printf("| strategy | stages that fit | not solved | optimal | mean gap | worst gap (seed) | least memory over the "
           "true one |\n"
           "|---|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < count; ++i) {
        const gap *g = &gaps[i];
        uint32_t solved = g->stages - g->unsolved;
        printf("| %s | %u | %u | %.1f %% | %.3f %% | %.2f %% (%llu) | %.2f %% |\n", g->name, g->stages, g->unsolved,
               100.0 * g->best / solved, 100 * g->sum / solved, 100 * g->worst, (unsigned long long)g->worst_seed,
               100 * g->least_sum / g->least_count);
    }
}

/* Mean microseconds of a call where the capacity is `share` of what the stage needs without optimisation. */
static bool measure_time(uint32_t nodes, double share, uint64_t seed) {
    enum { STAGES = 20 };
    double seconds = 0, slower = 0;
    uint32_t solved = 0;
    for (uint32_t i = 0; i < STAGES; ++i) {
        ons_arena *arena = ons_arena_new();
        random_stage stage;
        ons_stage_solution found;
        if (failed(random_stage_make_large(seed + i, nodes, share, arena, &stage))) return false;
        double before = processor_seconds();
        if (failed(ons_memory_strategy_find("capuchin")->solve(&stage.problem, stage.workspace, NULL, &found)))
            return false;
        seconds += processor_seconds() - before;
        if (found.feasible) {
            ++solved;
            slower += found.seconds / stage.seconds - 1;
        }
        random_stage_free(&stage);
        ons_arena_free(arena);
    }
    printf("| %u | %.0f %% | %.0f | %u of %d | ", nodes, 100 * share, 1e6 * seconds / STAGES, solved, STAGES);
    if (solved > 0)
        printf("%.2f %% |\n", 100 * slower / solved);
    else
        printf("- |\n");
    return true;
}

int main(int argc, char **argv) {
    uint32_t stages = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 2000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    gap gaps[] = {{.name = "capuchin"}, {.name = "recompute-all"}};
    printf("Seconds of a micro-batch against `exact`, seeds %llu to %llu:\n\n", (unsigned long long)seed,
           (unsigned long long)(seed + stages - 1));
    if (!measure_gaps(stages, seed, gaps, 2)) return 1;
    print_gaps(gaps, 2);
    printf("\nProcessor time of one call of `capuchin` (random graphs, 4 micro-batches in flight; capacity as a share "
           "of what the "
           "stage needs without it):\n\n"
           "| nodes | capacity | microseconds | solved | slower than without a limit |\n|---|---|---|---|---|\n");
    static const uint32_t nodes[] = {40, 150, 600};
    static const double shares[] = {0.98, 0.9, 0.7, 0.5, 0.2};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i) {
        for (size_t j = 0; j < sizeof shares / sizeof *shares; ++j) {
            if (!measure_time(nodes[i], shares[j], seed)) return 1;
        }
    }
    return 0;
}
