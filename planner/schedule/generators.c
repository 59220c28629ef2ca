#include <stdio.h>
#include <string.h>

#include "planner/schedule/schedule.h"

const ons_generator *const ons_generators[] = {
#define ONS_GENERATOR(name) &ons_generator_##name,
#include "planner/schedule/generators.inc"
#undef ONS_GENERATOR
    NULL,
};

const ons_generator *ons_generator_find(const char *name) {
    for (const ons_generator *const *g = ons_generators; *g != NULL; ++g)
        if (strcmp((*g)->name, name) == 0) return *g;
    return NULL;
}

ons_status *ons_generator_parse(const char *name, const ons_generator **generator) {
    char all[256] = "";
    *generator = ons_generator_find(name);
    if (*generator != NULL) return NULL;
    for (const ons_generator *const *g = ons_generators; *g != NULL; ++g) {
        size_t length = strlen(all);
        snprintf(all + length, sizeof all - length, "%s%s",
                 g == ons_generators ? ""
                 : g[1] == NULL      ? " or "
                                     : ", ",
                 (*g)->name);
    }
    return ons_status_new(ONS_INVALID_ARGUMENT, "there is no schedule '%s'; take %s", name, all);
}

uint32_t ons_pipeline_devices(const ons_pipeline *p) {
    if (p->devices > 0) return p->devices;
    return p->stages > p->generator->chunks ? p->stages / p->generator->chunks : 1;
}

ons_pipeline ons_pipeline_of_one_stage(bool asynchronous, uint32_t micro_batches) {
    return (ons_pipeline){asynchronous ? &ons_generator_pipedream : &ons_generator_one_f_one_b, 1, micro_batches, 1, 1};
}
