/* A plan, and the report of it: what the command asks for. */
#include "base/c_locale.h"
#include "engine/config/conditions.h"
#include "engine/config/given.h"
#include "engine/config/profile_list.h"
#include "engine/plan/planning.h"
#include "engine/plan/processor_choice.h"

/* That nothing fits is no reason to write no report, on the contrary. `p` NULL: there is nothing to report on. */
static ons_status *report(ons_planning *p, ons_status *status) {
    if (p == NULL || p->config->report == NULL || (status != NULL && ons_status_get_code(status) != ONS_OUT_OF_MEMORY))
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

/* Where the number of stages, or that of replicas, is to be found, each is planned. */
static ons_status *make(const char *path, const ons_config *config, ons_planning **p) {
    if (ons_profile_list_is_given(config)) return ons_processor_choice_plan(path, config, p);
    if (ons_config_chooses_replicas(config)) return ons_degree_choice_plan(path, config, p);
    return ons_planning_make(path, config, p);
}

ons_status *ons_planning_new(const char *path, const ons_config *config, ons_planning **result) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(config, "config");
    ONS_GIVEN(result, "planning");
    ONS_TRY(ons_config_check_conditions(config, ONS_COMMAND_PLAN));
    ons_planning *p;
    ons_status *status = make(path, config, &p);
    status = report(p, status);
    if (status == NULL) status = ons_arena_check(p->arena);
    if (status == NULL) status = ons_planning_describe(p, &p->text);
    if (status != NULL) {
        ons_planning_free(p);
        return status;
    }
    *result = p;
    return NULL;
}
