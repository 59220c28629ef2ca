#include <string.h>

#include "planner/memory/stage.h"

ons_status *ons_memory_solve_none(const ons_stage_problem *problem, ons_memory_workspace *workspace, ons_arena *arena,
                                  ons_stage_solution *solution) {
    ons_stage_fits(workspace, problem, solution);
    return NULL;
}

static const ons_memory_strategy none = {"none", ons_memory_solve_none, "keep everything that backward reads", true,
                                         false};
static const ons_memory_strategy recompute_all = {
    "recompute-all", ons_memory_solve_recompute_all,
    "where it does not fit, compute again whatever can be, from checkpoints in the best of a few spacings", true,
    false};
static const ons_memory_strategy capuchin = {
    "capuchin", ons_memory_solve_capuchin,
    "swap what the link hides, then the cheaper of swap and recompute, until it fits (Capuchin, DawnPiper)", true,
    true};
static const ons_memory_strategy exact = {"exact", ons_memory_solve_exact,
                                          "try everything: the yardstick, for stages of at most 12 saved tensors", true,
                                          true};

static const ons_memory_strategy recompute_layers = {
    "recompute-layers", ons_memory_solve_recompute_layers,
    "where it does not fit, compute whole layers again, or the whole stage", true, false};
static const ons_memory_strategy recompute_stage = {
    "recompute-stage", ons_memory_solve_recompute_stage,
    "where it does not fit, compute the whole stage again from what arrives (torchgpipe)", true, false};
static const ons_memory_strategy vpipe_layers = {
    "vpipe-layers", ons_memory_solve_vpipe_layers,
    "swap whole layers as long as that hides, then recompute whole layers until it fits (vPipe)", true, false};

const ons_memory_strategy *const ons_memory_strategies[] = {
    &none, &recompute_all, &capuchin, &exact, &recompute_stage, &recompute_layers, &vpipe_layers, NULL};

const ons_memory_strategy *ons_memory_strategy_find(const char *name) {
    for (const ons_memory_strategy *const *s = ons_memory_strategies; *s != NULL; ++s) {
        if (strcmp((*s)->name, name) == 0) return *s;
    }
    return NULL;
}
