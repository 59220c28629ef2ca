#include "engine/config/config.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/environment.h"
#include "base/nearest.h"
#include "engine/config/given.h"
#include "kernels/kernels.h"

typedef enum option_kind {
    KIND_TEXT,
    KIND_NAME, /* a text that is one of the option's words */
    KIND_WORD, /* an ons_word, which is one of the option's words */
    KIND_PAIRS,
    KIND_COUNT,    /* an integer ≥ 0 */
    KIND_POSITIVE, /* an integer ≥ 1, or one of the option's words */
    KIND_NUMBER,
    KIND_SWITCH,
    KIND_TRAIN,
    KIND_FREEZE,
    KIND_UNTIE,
} option_kind;

typedef struct option_place {
    option_kind kind;
    size_t offset;
    ons_words *words; /* NULL: of none that are known */
} option_place;

enum { /* of subcommands that read an option, in options.inc */
       CHECK = ONS_COMMAND_CHECK,
       INSPECT = ONS_COMMAND_INSPECT,
       TRAIN = ONS_COMMAND_TRAIN,
       EVAL = ONS_COMMAND_EVAL,
       PROFILE = ONS_COMMAND_PROFILE,
       PLAN = ONS_COMMAND_PLAN,
       SIMULATE = ONS_COMMAND_SIMULATE,
       STEP = TRAIN | PROFILE | PLAN,
       EVERY_MODEL = STEP | EVAL | CHECK | INSPECT,
};

#define OPTION(GROUP, NAME, ARGUMENT, DEFAULT, KIND, FIELD, COMMANDS, HELP)                                            \
    {.name = NAME,                                                                                                     \
     .argument = ARGUMENT,                                                                                             \
     .default_value = DEFAULT,                                                                                         \
     .help = HELP,                                                                                                     \
     .group = GROUP,                                                                                                   \
     .repeatable = KIND == KIND_PAIRS || KIND == KIND_TRAIN || KIND == KIND_FREEZE || KIND == KIND_UNTIE,              \
     .commands = COMMANDS},
#define CHOICE(GROUP, NAME, ARGUMENT, DEFAULT, KIND, FIELD, COMMANDS, WORDS, HELP)                                     \
    OPTION(GROUP, NAME, ARGUMENT, DEFAULT, KIND, FIELD, COMMANDS, HELP)
static ons_option options[] = {
#include "engine/config/options.inc"
    {.name = NULL},
};
#undef OPTION
#undef CHOICE

#define OPTION(GROUP, NAME, ARGUMENT, DEFAULT, KIND, FIELD, COMMANDS, HELP) {KIND, offsetof(ons_config, FIELD), NULL},
#define CHOICE(GROUP, NAME, ARGUMENT, DEFAULT, KIND, FIELD, COMMANDS, WORDS, HELP)                                     \
    {KIND, offsetof(ons_config, FIELD), WORDS},
static const option_place places[] = {
#include "engine/config/options.inc"
};
#undef OPTION
#undef CHOICE

_Static_assert(sizeof places / sizeof places[0] <= sizeof((ons_config *)0)->given, "config.h: more of `given`");
_Static_assert(sizeof places / sizeof places[0] <= sizeof((ons_config *)0)->texts / sizeof *((ons_config *)0)->texts,
               "config.h: more of `texts`");

/* ------------------------------------------------------------------------------------------------------------ words */

/* Texts with lists of words in them, one behind the other. */
static char composed[8192];
static size_t composed_bytes;

/* The text with the words in the place of {}, or as it is where it has none. */
static const char *compose(const char *text, ons_words *words, const char *between) {
    const char *place = text == NULL ? NULL : strstr(text, "{}");
    if (place == NULL) return text;
    char list[512], *result = composed + composed_bytes;
    size_t left = sizeof composed - composed_bytes;
    ons_words_print(words, between, list, sizeof list);
    snprintf(result, left, "%.*s%s%s", (int)(place - text), text, list, place + 2);
    size_t length = strlen(result) + 1;
    assert(length < left);
    composed_bytes += length;
    return result;
}

static void compose_all(void) {
    for (size_t i = 0; options[i].name != NULL; ++i) {
        options[i].argument = compose(options[i].argument, places[i].words, "|");
        options[i].help = compose(options[i].help, places[i].words, ", ");
    }
}

const ons_option *ons_options(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, compose_all);
    return options;
}

const char *ons_option_word(const ons_option *option, size_t index, const char **meaning) {
    for (size_t i = 0; option != NULL && option->name != NULL && options[i].name != NULL; ++i) {
        if (strcmp(options[i].name, option->name) != 0 || places[i].words == NULL) continue;
        ons_word word = places[i].words(index);
        if (meaning != NULL) *meaning = word.text == NULL ? NULL : word.meaning;
        return word.text;
    }
    return NULL;
}

ons_status *ons_config_new(ons_config **result) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(result, "config");
    ONS_TRY(ons_environment_check());
    ONS_TRY(ons_cpu_variant_choose());
    ons_arena *arena = ons_arena_new();
    ons_config *config = arena == NULL ? NULL : ons_arena_allocate(arena, 1, sizeof *config);
    if (config == NULL) {
        ons_arena_free(arena);
        return ons_status_out_of_memory();
    }
    config->arena = arena;
    config->holders = 1;
    for (size_t i = 0; options[i].name != NULL; ++i) {
        if (options[i].default_value == NULL) continue;
        ons_status *status = ons_config_set(config, options[i].name, options[i].default_value);
        if (status != NULL) {
            ons_config_free(config);
            return status;
        }
        if (places[i].kind == KIND_NUMBER) /* a default is not a choice of the user's */
            ((ons_number *)((char *)config + places[i].offset))->given = false;
        config->given[i] = false;
    }
    *result = config;
    return NULL;
}

ons_config *ons_config_hold(const ons_config *config) {
    ons_config *held = (ons_config *)config; /* holding changes nothing that a caller can see */
    ++held->holders;
    return held;
}

static bool copy_items(const void *items, size_t count, size_t size, void **copy) {
    *copy = malloc(count * size + 1);
    if (*copy != NULL && count > 0) memcpy(*copy, items, count * size);
    return *copy != NULL;
}

/* A vector of `config` that still has another's items gets its own; an empty one where memory is short. */
#define OWN(vector)                                                                                                    \
    ((vector)->capacity = (vector)->count,                                                                             \
     copy_items((vector)->items, (vector)->count, sizeof *(vector)->items, (void **)&(vector)->items)                  \
         ? true                                                                                                        \
         : ((vector)->count = (vector)->capacity = 0, false))

ons_status *ons_config_copy(const ons_config *config, ons_config **result) {
    ons_arena *arena = ons_arena_new();
    ons_config *copy = arena == NULL ? NULL : ons_arena_allocate(arena, 1, sizeof *copy);
    if (copy == NULL) {
        ons_arena_free(arena);
        return ons_status_out_of_memory();
    }
    *copy = *config;
    copy->arena = arena;
    copy->holders = 1;
    copy->origin = ons_config_hold(config);
    ons_pairs *lists[] = {&copy->inputs, &copy->batch_axes, &copy->val_inputs, &copy->normalize, &copy->outputs,
                          &copy->dims,   &copy->ties,       &copy->new_heads,  &copy->lr_of,     &copy->batchnorm_of};
    bool copied = true; /* all of them, so that none is freed twice */
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i) copied = OWN(lists[i]) && copied;
    copied = OWN(&copy->arrays) && copied;
    copied = OWN(&copy->untie) && copied;
    copied = OWN(&copy->choices) && copied;
    if (!copied) {
        ons_config_free(copy);
        return ons_status_out_of_memory();
    }
    *result = copy;
    return NULL;
}

#undef OWN

void ons_config_free(ons_config *config) {
    if (config == NULL || --config->holders > 0) return;
    ons_config *origin = config->origin;
    ons_pairs *lists[] = {&config->inputs,  &config->batch_axes,  &config->val_inputs, &config->normalize,
                          &config->outputs, &config->dims,        &config->ties,       &config->new_heads,
                          &config->lr_of,   &config->batchnorm_of};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i) ons_vector_free(lists[i]);
    ons_vector_free(&config->arrays);
    ons_vector_free(&config->untie);
    ons_vector_free(&config->choices);
    ons_arena_free(config->arena);
    ons_config_free(origin);
}

/* ---------------------------------------------------------------------------------------------------------- parsing */

static ons_status *parse_integer(const char *option, const char *text, int64_t least, int64_t *value) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    ONS_CHECK(*text != '\0' && *end == '\0' && errno == 0 && number >= least, ONS_INVALID_ARGUMENT,
              "--%s: '%s' is not a whole number from %lld on", option, text, (long long)least);
    *value = number;
    return NULL;
}

ons_status *ons_config_parse_number(const char *option, const char *text, ons_number *number) {
    char *end;
    double value = strtod(text, &end);
    ONS_CHECK(*text != '\0' && *end == '\0' && isfinite(value), ONS_INVALID_ARGUMENT, "--%s: '%s' is not a number",
              option, text);
    *number = (ons_number){true, value};
    return NULL;
}

/* A number, or a word of the option's, which stands for one. */
static ons_status *parse_positive(size_t index, const char *text, int64_t *value) {
    ons_word word;
    if (places[index].words == NULL) return parse_integer(options[index].name, text, 1, value);
    if (ons_word_find(places[index].words, text, &word)) {
        *value = word.value;
        return NULL;
    }
    char words[64];
    ons_words_print(places[index].words, ", ", words, sizeof words);
    ons_status *status = parse_integer(options[index].name, text, 1, value);
    if (status == NULL) return NULL;
    ons_status_free(status);
    return ons_status_new(ONS_INVALID_ARGUMENT, "--%s: '%s' is neither a whole number from 1 on nor %s",
                          options[index].name, text, words);
}

static ons_status *parse_switch(const char *option, const char *text, bool *value) {
    bool yes = strcmp(text, "true") == 0, no = strcmp(text, "false") == 0;
    ONS_CHECK(yes || no, ONS_INVALID_ARGUMENT, "--%s: '%s' is neither true nor false", option, text);
    *value = yes;
    return NULL;
}

/* The file that NAME=FILE or FILE ends with: names and paths may have '=' in them. NULL: there is none. */
static char *find_file(char *text) {
    for (char *at = text;; ++at) {
        if (access(at, F_OK) == 0) return at;
        at = strchr(at, '=');
        if (at == NULL) return NULL;
    }
}

/* The '=' that separates NAME from FILE: both may contain one. NULL: the whole text is a file. If no part is a file,
 * the first '=' separates them. */
static char *find_equals(char *text) {
    char *file = find_file(text);
    if (file == NULL) return strchr(text, '=');
    return file == text ? NULL : file - 1;
}

/* Takes ",once" off the end of a text, where the option takes it and no file is called so. */
static bool take_once(const ons_option *option, char *text) {
    static const char once[] = ",once";
    size_t length = strlen(text), suffix = sizeof once - 1;
    bool found = strstr(option->argument, once) != NULL && length > suffix &&
                 strcmp(text + length - suffix, once) == 0 && find_file(text) == NULL;
    if (found) text[length - suffix] = '\0';
    return found;
}

/* NAME=VALUE, parted at the first '='; what goes without a name (a file) is the value of "". */
static ons_status *parse_pair(ons_config *config, const ons_option *option, const char *text, ons_pairs *pairs) {
    char *copy = ons_arena_copy_text(config->arena, text);
    if (copy == NULL) return ons_status_out_of_memory();
    bool file = strstr(option->argument, "FILE") != NULL;
    bool once = take_once(option, copy);
    char *equals = file ? find_equals(copy) : strchr(copy, '=');
    bool alone = file || strncmp(option->argument, "OUTPUT=", 7) == 0;
    ONS_CHECK(equals != NULL || alone, ONS_INVALID_ARGUMENT, "--%s: '%s' is not of the form %s", option->name, text,
              option->argument);
    ons_pair pair = {"", copy, once};
    if (equals != NULL) {
        *equals = '\0';
        pair = (ons_pair){copy, equals + 1, once};
    }
    ONS_CHECK(pair.value[0] != '\0', ONS_INVALID_ARGUMENT, "--%s: '%s' is not of the form %s", option->name, text,
              option->argument);
    ONS_PUSH(pairs, pair);
    return NULL;
}

static ons_status *set_option(ons_config *config, size_t index, const char *value) {
    const ons_option *option = &options[index];
    void *field = (char *)config + places[index].offset;
    ons_word word = {0};
    if (places[index].kind == KIND_NAME || places[index].kind == KIND_WORD)
        ONS_TRY(ons_word_choose(places[index].words, option->name, value, &word));
    char *copy = ons_arena_copy_text(config->arena, value);
    if (copy == NULL) return ons_status_out_of_memory();
    const char *before = option->repeatable && config->given[index] ? config->texts[index] : NULL;
    config->texts[index] = before == NULL ? copy : ons_arena_format(config->arena, "%s %s", before, value);
    if (config->texts[index] == NULL) return ons_status_out_of_memory();
    config->given[index] = true;
    switch (places[index].kind) {
    case KIND_TEXT: *(const char **)field = copy; return NULL;
    case KIND_NAME: *(const char **)field = copy; return NULL;
    case KIND_WORD: *(ons_word *)field = word; return NULL;
    case KIND_PAIRS: return parse_pair(config, option, value, field);
    case KIND_COUNT: return parse_integer(option->name, value, 0, field);
    case KIND_POSITIVE: return parse_positive(index, value, field);
    case KIND_NUMBER: return ons_config_parse_number(option->name, value, field);
    case KIND_SWITCH: return parse_switch(option->name, value, field);
    case KIND_TRAIN:
    case KIND_FREEZE: ONS_PUSH(&config->choices, (ons_choice){copy, places[index].kind == KIND_TRAIN}); return NULL;
    case KIND_UNTIE: ONS_PUSH(&config->untie, copy); return NULL;
    }
    return NULL;
}

ons_status *ons_config_set(ons_config *config, const char *option, const char *value) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(config, "config");
    ONS_GIVEN(option, "option");
    ONS_GIVEN(value, "value");
    ONS_CHECK(option != NULL && value != NULL, ONS_INVALID_ARGUMENT, "an option needs a name and a value");
    for (size_t i = 0; options[i].name != NULL; ++i)
        if (strcmp(options[i].name, option) == 0) return set_option(config, i, value);
    ons_nearest nearest = ons_nearest_to(option);
    for (size_t i = 0; options[i].name != NULL; ++i) ons_nearest_try(&nearest, options[i].name);
    return ons_status_new(ONS_INVALID_ARGUMENT, "there is no option '%s'%s", option, ons_nearest_hint(&nearest));
}

ons_status *ons_config_set_count(ons_config *config, const char *option, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    return ons_config_set(config, option, text);
}

const char *ons_config_text(const ons_config *config, size_t option) {
    return config->texts[option] == NULL ? "" : config->texts[option];
}

static const char *text_at(option_kind kind, const void *field) {
    if (kind == KIND_WORD) return ((const ons_word *)field)->text;
    return kind == KIND_TEXT || kind == KIND_NAME ? *(const char *const *)field : NULL;
}

const char *ons_config_get(const ons_config *config, const char *option) {
    if (config == NULL || option == NULL) return NULL;
    for (size_t i = 0; options[i].name != NULL; ++i)
        if (strcmp(options[i].name, option) == 0)
            return text_at(places[i].kind, (const char *)config + places[i].offset);
    return NULL;
}

bool ons_config_is_given(const ons_config *config, const char *option) {
    for (size_t i = 0; options[i].name != NULL; ++i)
        if (strcmp(options[i].name, option) == 0) return config->given[i];
    return false;
}

bool ons_config_is_changed(const ons_config *config, const char *option) {
    if (config == NULL || option == NULL) return false;
    size_t i = 0;
    while (options[i].name != NULL && strcmp(options[i].name, option) != 0) ++i;
    if (options[i].name == NULL || !config->given[i]) return false;
    return options[i].default_value == NULL || strcmp(config->texts[i], options[i].default_value) != 0;
}

ons_status *ons_config_array(ons_config *config, const char *name, bool validation, const ons_array_view *array) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(config, "config");
    ONS_GIVEN(name, "name");
    ONS_GIVEN(array, "array");
    ONS_GIVEN(array->dims, "array->dims");
    ONS_GIVEN(array->data, "array->data");
    ONS_CHECK(array->rank >= 1 && array->rank <= ONS_RANK_MAX, ONS_INVALID_ARGUMENT,
              "array '%s': rank %u is not between 1 and %d", name, array->rank, ONS_RANK_MAX);
    ons_memory_array copy = {
        .name = ons_arena_copy_text(config->arena, name), .validation = validation, .view = *array};
    if (copy.name == NULL) return ons_status_out_of_memory();
    memcpy(copy.dims, array->dims, array->rank * sizeof copy.dims[0]);
    copy.view.dims = NULL; /* the copy's own, but vectors move */
    ONS_PUSH(&config->arrays, copy);
    return NULL;
}
