/* The environment variables that the program reads. Their table is environment.inc, and nothing outside base/ calls
 * getenv: a variable that is not in the table, from which the manual page and docs/environment.md are made, does not
 * compile. */
#ifndef ONSTAGE_BASE_ENVIRONMENT_H
#define ONSTAGE_BASE_ENVIRONMENT_H

#include <stdbool.h>

#include "base/status.h"

typedef enum ons_variable {
#define VARIABLE(NAME, VALUES, DEFAULT, HELP) ONS_ENV_##NAME,
#include "base/environment.inc"
#undef VARIABLE
    ONS_VARIABLE_COUNT
} ons_variable;

typedef struct ons_variable_description {
    const char *name;
    const char *values;        /* "on|off" */
    const char *default_value; /* NULL: none */
    const char *help;
} ons_variable_description;

extern const ons_variable_description ons_variables[ONS_VARIABLE_COUNT];

/* The variable's value; NULL: it is not set. The environment's own. */
const char *ons_environment(ons_variable variable);

/* Fails where one of the program's own variables (ONSTAGE_…) that take certain words is set to another one. */
ons_status *ons_environment_check(void);

/* Whether it is set to "off". */
bool ons_environment_is_off(ons_variable variable);

/* The folder in which the user's caches are, XDG_CACHE_HOME or .cache below HOME, with `path` behind it; the caller
 * frees it. False: out of memory. *result NULL: neither variable says where it is. */
bool ons_cache_path(const char *path, char **result);

#endif
