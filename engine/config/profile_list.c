#include "engine/config/profile_list.h"

#include <string.h>
#include <unistd.h>

/* A file may have any name. */
bool ons_profile_list_is_given(const ons_config *config) {
    const char *text = config->profile;
    return text != NULL && strchr(text, ',') != NULL && access(text, F_OK) != 0;
}

/* What says how many stages there are, or of how many threads, or that they lie elsewhere. NULL: nothing does. */
static const char *find_division(const ons_config *c) {
    static const char *const options[] = {"stages",   "devices",    "threads",        "replicas", "plan",
                                          "schedule", "cost-graph", "device-profile", NULL};
    size_t i = 0;
    while (options[i] != NULL && !ons_config_is_given(c, options[i])) ++i;
    if (options[i] != NULL) return options[i];
    if (ons_config_uses_cuda(c)) return "device";
    bool local = c->transport.value == ONS_TRANSPORT_AUTO || c->transport.value == ONS_TRANSPORT_LOCAL;
    if (!local) return "transport";
    return c->max_batch ? "max-batch" : NULL; /* nodes were measured for one batch */
}

ons_status *ons_profile_list_find(const ons_config *config, ons_arena *arena, const char ***files, uint32_t *count) {
    const char *divided = find_division(config);
    ONS_CHECK(divided == NULL, ONS_INVALID_ARGUMENT,
              "--profile %s beside --%s: several files are for choosing between stages and threads of this machine's "
              "processors; name the one that was measured for this run, or leave --%s out",
              config->profile, divided, divided);
    uint32_t most = 1;
    for (const char *c = config->profile; *c != '\0'; ++c) most += *c == ',';
    ONS_NEW(*files, arena, most);
    *count = 0;
    for (const char *text = config->profile; text != NULL;) {
        size_t size = strcspn(text, ",");
        ONS_CHECK(size > 0, ONS_INVALID_ARGUMENT,
                  "--profile %s: there is no name in front of or behind a comma; give files as in one.json,two.json",
                  config->profile);
        const char *file = ons_arena_format(arena, "%.*s", (int)size, text);
        if (file == NULL) return ons_status_out_of_memory();
        (*files)[(*count)++] = file;
        text = text[size] == ',' ? text + size + 1 : NULL;
    }
    return NULL;
}
