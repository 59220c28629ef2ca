/* Checkpoints of other versions. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/model/notes.h"
#include "engine/train/trainer.h"

ons_status *ons_trainer_write_version(ons_json *more) { return ons_json_set_text(more, "version", ons_version()); }

/* The text of a member; NULL where there is none. */
static const char *find_text(const ons_json *object, const char *name) {
    return object == NULL ? NULL : cJSON_GetStringValue(ons_json_find(object, name));
}

ons_status *ons_trainer_check_version(const ons_trainer *t, const ons_checkpoint *c) {
    const ons_json *grouping = c->info.more == NULL ? NULL : ons_json_find(c->info.more, "grouping");
    const char *there = find_text(grouping, "digest"), *version = find_text(c->info.more, "version");
    char here[32], writer[64];
    snprintf(here, sizeof here, "%016" PRIx64, t->ungrouped_digest);
    bool same_version = version != NULL && strcmp(version, ons_version()) == 0;
    if (there == NULL || strcmp(there, here) != 0 || same_version) return NULL;
    snprintf(writer, sizeof writer, "onstage %s", version == NULL ? "0.2.0 or an earlier version" : version);
    return ons_status_new(ONS_INVALID_ARGUMENT, ons_refusal_checkpoint_of_other_version, t->config->checkpoint, writer);
}
