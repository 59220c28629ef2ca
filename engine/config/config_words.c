#include "engine/config/config_words.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "engine/config/config.h"
#include "planner/memory/memory.h"
#include "planner/partition/partition.h"

/* A list that stands here: the word, its value, what it means. */
#define WORDS(NAME, ...)                                                                                               \
    ons_word NAME(size_t index) {                                                                                      \
        static const ons_word words[] = {__VA_ARGS__, {NULL, 0, NULL}};                                                \
        return words[index];                                                                                           \
    }

WORDS(ons_loss_words, {"cross_entropy", ONS_ROLE_CROSS_ENTROPY, "of classes, by logits"},
      {"nll", ONS_ROLE_NEGATIVE_LOG_LIKELIHOOD, "of classes, by logarithms of probabilities"},
      {"mse", ONS_ROLE_SQUARED_ERROR, "mean squared error"}, {"l1", ONS_ROLE_ABSOLUTE_ERROR, "mean absolute error"},
      {"huber", ONS_ROLE_HUBER, "square up to --delta, linear from there"},
      {"bce_with_logits", ONS_ROLE_BINARY_CROSS_ENTROPY, "binary cross entropy, by logits"},
      {"graph", ONS_ROLE_SAMPLE_MEAN, "the model's own scalar output"})

WORDS(ons_optimizer_words, {"sgd", ONS_ROLE_SGD, NULL}, {"adam", ONS_ROLE_ADAM, NULL}, {"adamw", ONS_ROLE_ADAMW, NULL},
      {"adagrad", ONS_ROLE_ADAGRAD, NULL}, {"rmsprop", ONS_ROLE_RMSPROP, NULL})

WORDS(ons_batchnorm_words, {"graph", ONS_AS_GRAPH, "as the file says"},
      {"train", ONS_AS_TRAINING, "by the batch; the running statistics move"},
      {"eval", ONS_AS_INFERENCE, "by the running statistics"})

WORDS(ons_dropout_words, {"graph", ONS_AS_GRAPH, "as the file says"}, {"off", ONS_AS_INFERENCE, "nothing is dropped"})

WORDS(ons_rate_words, {"constant", ONS_RATE_CONSTANT, NULL}, {"linear", ONS_RATE_LINEAR, "down to 0 at the last step"},
      {"cosine", ONS_RATE_COSINE, "down to 0 at the last step"})

WORDS(ons_metric_words, {"accuracy", 0, "share of targets whose class has the largest output"})

WORDS(ons_slices_words, {"auto", 0, "as many as shorten the start; none with fewer than three stages"})

WORDS(ons_replicas_words, {"auto", ONS_REPLICAS_AUTO, "as many as make --devices fastest; for onstage plan"})

WORDS(ons_transport_words,
      {"auto", ONS_TRANSPORT_AUTO, "mpi where mpirun or Slurm started several, nccl where each stage has a GPU"},
      {"local", ONS_TRANSPORT_LOCAL, "threads"}, {"mpi", ONS_TRANSPORT_MPI, "processes"},
      {"nccl", ONS_TRANSPORT_NCCL, "GPUs"})

WORDS(ons_export_words, {"same", ONS_EXPORT_SAME, "only trained weights and running statistics change"},
      {"inference", ONS_EXPORT_INFERENCE, "BatchNorm and Dropout in inference form as well"})

WORDS(ons_stage_choice_words, {"equal", ONS_STAGES_EQUAL, "the same for all stages"},
      {"free", ONS_STAGES_FREE, "each stage as it is fastest"})

WORDS(ons_stage_size_words, {"equal", ONS_STAGES_EQUAL, "the same for all stages"},
      {"free", ONS_STAGES_FREE, "each stage as it is fastest"},
      {"barrier", ONS_STAGES_BARRIER, "all at once where samples are compared with each other"})

WORDS(ons_device_words, {"cpu", ONS_DEVICE_CPU, NULL}, {"cuda", ONS_DEVICE_CUDA, "a GPU of NVIDIA's"})

const char ons_any_schedule[] = "auto";

ons_word ons_pipeline_words(size_t index) {
    if (index == 0)
        return (ons_word){ons_any_schedule, 0, "the fastest of these, and of those that are searched for the model"};
    const ons_generator *generator = ons_generators[index - 1];
    return generator == NULL ? (ons_word){0} : (ons_word){generator->name, (int)index, generator->summary};
}

ons_word ons_partition_words(size_t index) {
    const ons_partition_strategy *strategy = ons_partition_strategies[index];
    return strategy == NULL ? (ons_word){0} : (ons_word){strategy->name, (int)index, strategy->summary};
}

ons_word ons_memory_words(size_t index) {
    const ons_memory_strategy *strategy = ons_memory_strategies[index];
    return strategy == NULL ? (ons_word){0} : (ons_word){strategy->name, (int)index, strategy->summary};
}

ons_word ons_precision_words(size_t index) {
    return (ons_word){ons_precision_name((ons_precision)index), (int)index, NULL};
}

ons_word ons_profile_words(size_t index) { return (ons_word){ons_device_profile_names()[index], (int)index, NULL}; }

bool ons_word_find(ons_words *words, const char *text, ons_word *found) {
    size_t i = 0;
    do *found = words(i++);
    while (found->text != NULL && strcmp(found->text, text) != 0);
    return found->text != NULL;
}

ons_word ons_word_of(ons_words *words, int value) {
    size_t i = 0;
    while (words(i).value != value) ++i;
    return words(i);
}

void ons_words_print(ons_words *words, const char *between, char *text, size_t size) {
    text[0] = '\0';
    for (size_t i = 0; words(i).text != NULL; ++i) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", i == 0 ? "" : between, words(i).text);
    }
}

/* "--export: 'smae' is not one of same, inference (did you mean 'same'?)" */
ons_status *ons_word_choose(ons_words *words, const char *option, const char *text, ons_word *found) {
    if (ons_word_find(words, text, found)) return NULL;
    char all[512];
    ons_words_print(words, ", ", all, sizeof all);
    ons_nearest nearest = ons_nearest_to(text);
    for (size_t i = 0; words(i).text != NULL; ++i) ons_nearest_try(&nearest, words(i).text);
    return ons_status_new(ONS_INVALID_ARGUMENT, "--%s: '%s' is not one of %s%s", option, text, all,
                          ons_nearest_hint(&nearest));
}
