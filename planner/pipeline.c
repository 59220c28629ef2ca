#include "planner/pipeline.h"

#include <string.h>

static const char *const names[] = {
    [ONS_PIPELINE_GPIPE] = "gpipe",
    [ONS_PIPELINE_1F1B] = "1f1b",
    [ONS_PIPELINE_PIPEDREAM] = "pipedream-async",
};

ons_status *ons_pipeline_parse(const char *name, ons_pipeline_kind *kind) {
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(name, names[i]) == 0) {
            *kind = (ons_pipeline_kind)i;
            return NULL;
        }
    return ons_status_new(ONS_INVALID_ARGUMENT, "there is no schedule '%s'; take gpipe, 1f1b or pipedream-async", name);
}

const char *ons_pipeline_name(ons_pipeline_kind kind) { return names[kind]; }

ons_stage_load ons_pipeline_load(const ons_pipeline *p, uint32_t stage) {
    uint32_t behind = p->stages - stage; /* stages from this one to the last */
    uint32_t fewer = behind < p->micro_batches ? behind : p->micro_batches;
    switch (p->kind) {
    case ONS_PIPELINE_GPIPE: return (ons_stage_load){p->micro_batches, 1, p->micro_batches > 1, p->micro_batches > 1};
    case ONS_PIPELINE_1F1B: return (ons_stage_load){fewer, 1, p->micro_batches > 1, false};
    case ONS_PIPELINE_PIPEDREAM: break;
    }
    return (ons_stage_load){behind, behind, true, false};
}
