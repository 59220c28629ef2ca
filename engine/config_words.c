/* Options whose value is one of a list of words. */
#include <string.h>

#include "base/nearest.h"
#include "engine/config.h"
#include "engine/stage_choice.h"
#include "planner/memory/memory.h"
#include "planner/partition/partition.h"
#include "planner/schedule/schedule.h"

/* A list's words by number; NULL behind the last. */
typedef const char *word_at(size_t index);

static const char *transport(size_t index) {
    static const char *const words[] = {"auto", "local", "mpi", "nccl", NULL};
    return words[index];
}

static const char *device(size_t index) {
    static const char *const words[] = {"cpu", "cuda", NULL};
    return words[index];
}

static const char *export_form(size_t index) {
    static const char *const words[] = {"same", "inference", NULL};
    return words[index];
}

static const char *metric(size_t index) {
    static const char *const words[] = {"accuracy", NULL};
    return words[index];
}

const char ons_any_schedule[] = "auto";

static const char *pipeline(size_t index) {
    if (index == 0) return ons_any_schedule;
    const ons_generator *generator = ons_generators[index - 1];
    return generator == NULL ? NULL : generator->name;
}

static const char *partition(size_t index) {
    const ons_partition_strategy *strategy = ons_partition_strategies[index];
    return strategy == NULL ? NULL : strategy->name;
}

static const char *memory_strategy(size_t index) {
    const ons_memory_strategy *strategy = ons_memory_strategies[index];
    return strategy == NULL ? NULL : strategy->name;
}

static const struct {
    const char *option;
    size_t offset; /* of the text in ons_config; NULL there: not given */
    word_at *word;
} choices[] = {
    {"device", offsetof(ons_config, device), device},
    {"transport", offsetof(ons_config, transport), transport},
    {"pipeline", offsetof(ons_config, pipeline), pipeline},
    {"partition", offsetof(ons_config, partition), partition},
    {"stage-sizes", offsetof(ons_config, stage_sizes), ons_stage_choice_word},
    {"stage-replicas", offsetof(ons_config, stage_replicas), ons_stage_choice_word},
    {"memory-strategy", offsetof(ons_config, memory_strategy), memory_strategy},
    {"export", offsetof(ons_config, export_form), export_form},
    {"metric", offsetof(ons_config, metric), metric},
};

/* "--export: 'smae' is not one of same, inference (did you mean 'same'?)" */
static ons_status *refuse(const char *option, const char *value, word_at *word, ons_arena *arena) {
    const char *list = "";
    ons_nearest nearest = ons_nearest_to(value);
    for (size_t i = 0; list != NULL && word(i) != NULL; ++i) {
        list = ons_arena_format(arena, "%s%s%s", list, i == 0 ? "" : ", ", word(i));
        ons_nearest_try(&nearest, word(i));
    }
    if (list == NULL) return ons_status_out_of_memory();
    return ons_status_new(ONS_INVALID_ARGUMENT, "--%s: '%s' is not one of %s%s", option, value, list,
                          ons_nearest_hint(&nearest));
}

ons_status *ons_config_check_words(const ons_config *config) {
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; ++i) {
        const char *value = *(const char *const *)((const char *)config + choices[i].offset);
        bool found = value == NULL;
        for (size_t k = 0; !found && choices[i].word(k) != NULL; ++k) found = strcmp(value, choices[i].word(k)) == 0;
        if (!found) return refuse(choices[i].option, value, choices[i].word, config->arena);
    }
    return NULL;
}
