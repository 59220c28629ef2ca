/* A plan, and the report of it: what the command asks for. */
#include <stdlib.h>

#include "engine/config/given.h"
#include "engine/plan/planning.h"

/* That nothing fits is no reason to write no report, on the contrary. */
static ons_status *report(ons_planning *p, ons_status *status) {
    if (p->config->report == NULL || (status != NULL && ons_status_get_code(status) != ONS_OUT_OF_MEMORY))
        return status;
    ons_status *failure = ons_planning_report(p, &p->report_text);
    if (status == NULL || failure != NULL) {
        ons_status_free(status);
        return failure;
    }
    failure = ons_status_new(ONS_OUT_OF_MEMORY, "%s%s", ons_status_get_message(status), p->report_text);
    ons_status_free(status);
    return failure;
}

static ons_status *plan(ons_planning *p, const char *path) {
    ONS_TRY(ons_planning_prepare(p, path));
    ONS_TRY(report(p, ons_planning_fill(p)));
    ONS_TRY(ons_arena_check(p->arena));
    return ons_planning_describe(p, &p->text);
}

ons_status *ons_planning_new(const char *path, const ons_config *config, ons_planning **result) {
    ONS_GIVEN(config, "config");
    ONS_GIVEN(result, "planning");
    ons_planning *p = calloc(1, sizeof *p);
    if (p == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_config_copy(config, &p->config);
    if (status == NULL) status = plan(p, path);
    if (status != NULL) {
        ons_planning_free(p);
        return status;
    }
    *result = p;
    return NULL;
}
