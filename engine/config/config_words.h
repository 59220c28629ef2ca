/* Options whose value is one of a list of words: what ons_config_set accepts, what --help, completion and the manual
 * page name, and what docs/plan.schema.json allows. A list stands in config_words.c, or is made of another room's. */
#ifndef ONSTAGE_ENGINE_CONFIG_CONFIG_WORDS_H
#define ONSTAGE_ENGINE_CONFIG_CONFIG_WORDS_H

#include "base/status.h"

typedef struct ons_word {
    const char *text;    /* NULL: behind the last */
    int value;           /* what the list says; of another room's list: the index */
    const char *meaning; /* for the manual page; NULL: the word says it */
} ons_word;

/* The list's words by number, from 0. */
typedef ons_word ons_words(size_t index);

/* Values: ons_role; ons_as_exported; ons_rate_schedule; ons_precision. */
ons_words ons_loss_words, ons_optimizer_words, ons_batchnorm_words, ons_dropout_words, ons_rate_words,
    ons_precision_words;
/* What there is one of, and what has an enumeration below. */
ons_words ons_metric_words, ons_slices_words, ons_replicas_words, ons_transport_words, ons_export_words,
    ons_stage_choice_words, ons_stage_size_words;
/* What other rooms know by name. */
ons_words ons_device_words, ons_pipeline_words, ons_partition_words, ons_memory_words, ons_profile_words;

typedef enum ons_transport_choice {
    ONS_TRANSPORT_AUTO,
    ONS_TRANSPORT_LOCAL,
    ONS_TRANSPORT_MPI,
    ONS_TRANSPORT_NCCL
} ons_transport_choice;

typedef enum ons_device_choice { ONS_DEVICE_CPU, ONS_DEVICE_CUDA } ons_device_choice;

typedef enum ons_export_choice { ONS_EXPORT_SAME, ONS_EXPORT_INFERENCE } ons_export_choice;

typedef enum ons_stages_choose { ONS_STAGES_EQUAL, ONS_STAGES_FREE, ONS_STAGES_BARRIER } ons_stages_choose;

/* `found` is the list's end where the text is none of its words. */
bool ons_word_find(ons_words *words, const char *text, ons_word *found);

/* The first word that means `value`, which the list has. */
ons_word ons_word_of(ons_words *words, int value);

/* Finds a word that an option was set to; the failure names the option, lists the words, and says which is nearest. */
ons_status *ons_word_choose(ons_words *words, const char *option, const char *text, ons_word *found);

/* Writes all words into `text`, `size` bytes, with `between` between them. */
void ons_words_print(ons_words *words, const char *between, char *text, size_t size);

#endif
