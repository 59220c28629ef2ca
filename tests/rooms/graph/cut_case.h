/* Training graphs of exported models, and random ways to cut them. */
#ifndef ONSTAGE_TESTS_ROOMS_GRAPH_CUT_CASE_H
#define ONSTAGE_TESTS_ROOMS_GRAPH_CUT_CASE_H

#include "engine/plan/plan_input.h"
#include "graph/passes/cut.h"

typedef struct cut_model {
    const char *path;
    int64_t rows;       /* samples of a micro-batch */
    const char *option; /* one of the command's, NULL: none */
    const char *value;
} cut_model;

typedef enum cut_evictions { CUT_BOTH, CUT_SWAPS, CUT_RECOMPUTES } cut_evictions;

typedef struct cut_case {
    const char *path;
    bool repeats;
    ons_config *config;
    ons_model *model;
    ons_arena *arena;
    ons_plan_input input;
    const ons_graph *graph; /* the training graph */
    uint32_t *stage_of_node;
    uint64_t random;
    cut_evictions evictions; /* that decisions are drawn from */
} cut_case;

/* With or without accumulation over micro-batches, for this machine's processor. */
cut_case cut_case_open(const cut_model *model, bool repeats, uint64_t seed);
/* For a device profile: what a GPU's graph has does not depend on this machine. */
cut_case cut_case_open_for(const char *profile, const cut_model *model, bool repeats, uint64_t seed);
void cut_case_close(cut_case *c);

/* Options without decisions; stage_of_node is the case's own, all zero until one of the next two fills it in. */
ons_cut_options cut_case_options(cut_case *c, uint32_t stages);
/* Every stage an interval of the forward nodes, with what belongs to them. */
void cut_case_slice(cut_case *c, uint32_t stages);
/* Every node anywhere, whether data could flow that way or not. */
void cut_case_scatter(cut_case *c, uint32_t stages);

/* A decision for about one in `one_in` of the values that the backward parts of the stages read; `plain` is a cut with
 * the same stages and no decisions. In the case's arena. */
void cut_case_decide(cut_case *c, const ons_cut *plain, uint32_t one_in, ons_cut_options *options);

uint32_t cut_case_random(cut_case *c, uint32_t below);

#endif
