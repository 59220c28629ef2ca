#include "base/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ons_variable_description ons_variables[ONS_VARIABLE_COUNT] = {
#define VARIABLE(NAME, VALUES, DEFAULT, HELP) {#NAME, VALUES, DEFAULT, HELP},
#include "base/environment.inc"
#undef VARIABLE
};

const char *ons_environment(ons_variable variable) { return getenv(ons_variables[variable].name); }

/* Whether `value` is one of those that the table has, between bars. */
static bool is_listed(const char *values, const char *value) {
    size_t length = strlen(value);
    for (const char *at = strchr(value, '|') == NULL ? values : NULL; at != NULL; at = strchr(at, '|')) {
        if (*at == '|') ++at;
        if (strncmp(at, value, length) == 0 && (at[length] == '|' || at[length] == '\0')) return true;
    }
    return false;
}

ons_status *ons_environment_check(void) {
    for (size_t i = 0; i < ONS_VARIABLE_COUNT; ++i) {
        const ons_variable_description *v = &ons_variables[i];
        const char *value = getenv(v->name);
        bool checked = strncmp(v->name, "ONSTAGE_", strlen("ONSTAGE_")) == 0 && strchr(v->values, '|') != NULL;
        ONS_CHECK(!checked || value == NULL || value[0] == '\0' || is_listed(v->values, value), ONS_INVALID_ARGUMENT,
                  "%s: '%s' is none of %s", v->name, value, v->values);
    }
    return NULL;
}

bool ons_environment_is_off(ons_variable variable) {
    const char *value = ons_environment(variable);
    return value != NULL && strcmp(value, "off") == 0;
}

bool ons_cache_path(const char *path, char **result) {
    const char *cache = ons_environment(ONS_ENV_XDG_CACHE_HOME), *home = ons_environment(ONS_ENV_HOME);
    *result = NULL;
    int length = 0;
    if (cache != NULL && cache[0] == '/') /* a relative one is to be ignored, says the convention */
        length = asprintf(result, "%s/%s", cache, path);
    else if (home != NULL && home[0] == '/')
        length = asprintf(result, "%s/.cache/%s", home, path);
    if (length < 0) *result = NULL;
    return length >= 0;
}
