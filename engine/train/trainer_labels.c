/* Class targets are looked at before the first step: a wrong one in the last batch would end a run that has taken
 * hours. */
#include <inttypes.h>
#include <stdlib.h>

#include "engine/model/notes.h"
#include "engine/train/trainer.h"
#include "runtime/log/trace.h"

/* Beyond either, the rest is left to the steps: a run shall not wait for its data to be read. */
enum { ELEMENTS_MOST = 1 << 24, NANOSECONDS_MOST = 500000000 };

/* Targets that are no class, of those that count. */
typedef struct wrong_labels {
    uint64_t sample; /* the first that has one, as it stands in the arrays */
    int64_t value;   /* it; all of them: alike */
    bool alike;
    bool any;
    int64_t least, most; /* of all targets that count */
} wrong_labels;

static void look_at(const int64_t *targets, int64_t count, int64_t classes, int64_t ignored, uint64_t sample,
                    wrong_labels *w) {
    for (int64_t i = 0; i < count; ++i) {
        int64_t target = targets[i];
        if (target == ignored) continue;
        if (target < w->least) w->least = target;
        if (target > w->most) w->most = target;
        if ((uint64_t)target < (uint64_t)classes) continue;
        if (!w->any) *w = (wrong_labels){sample, target, true, true, w->least, w->most};
        w->alike &= target == w->value;
    }
}

static ons_status *look_at_all(ons_dataset *dataset, uint32_t field, const ons_type *sample, int64_t classes,
                               int64_t ignored, wrong_labels *w) {
    uint64_t samples = ons_dataset_count(dataset);
    int64_t count = ons_shape_elements(&sample->shape), elements = 0, start = ons_trace_now();
    const ons_type wide = ons_type_make(ONS_INT64, sample->shape);
    int64_t *targets = malloc(((size_t)count + 1) * sizeof *targets);
    if (targets == NULL) return ons_status_out_of_memory();
    *w = (wrong_labels){.least = INT64_MAX, .most = INT64_MIN};
    ons_status *status = NULL;
    for (uint64_t i = 0; status == NULL && i < samples && elements < ELEMENTS_MOST; ++i, elements += count) {
        if (i % 4096 == 4095 && ons_trace_now() - start > NANOSECONDS_MOST) break;
        status = ons_dataset_gather(dataset, field, &i, 1, &wide, targets);
        if (status == NULL) look_at(targets, count, classes, ignored, ons_dataset_place(dataset, i), w);
    }
    free(targets);
    return status;
}

/* The way out that is meant, as far as the numbers tell. */
static ons_status *refuse(const wrong_labels *w, int64_t classes) {
    const uint64_t sample = w->sample;
    if (w->least == 1 && w->most == classes)
        return ons_status_new(ONS_INVALID_DATA, ons_refusal_labels_from_one, sample, w->value, classes, classes - 1);
    if (w->alike && (w->value < 0 || w->value == UINT8_MAX || w->value == UINT16_MAX))
        return ons_status_new(ONS_INVALID_DATA, ons_refusal_labels_to_ignore, sample, w->value, classes, classes - 1,
                              w->value);
    return ons_status_new(ONS_INVALID_DATA, ons_refusal_labels_beyond, sample, w->value, classes, classes - 1,
                          w->most + 1);
}

/* Whether every sample of the training set is in a step of this run. */
static bool takes_all_samples(const ons_trainer *t) {
    int64_t samples = (int64_t)ons_dataset_count(t->training.dataset);
    return t->config->steps == 0 || t->config->steps >= (samples + t->batching.batch - 1) / t->batching.batch;
}

/* How many classes there are, whatever the batch; 0: it may be another number for another batch, as where samples are
 * told apart from each other, and each of them is a class. */
static int64_t count_classes(const ons_model_graph *graph) {
    return graph->classes > 0 && graph->classes % graph->rows == 0 && (graph->rows > 1 || graph->classes == 1)
               ? 0
               : graph->classes;
}

ons_status *ons_trainer_check_labels(const ons_trainer *t, const ons_dataset_graphs *set) {
    ons_type sample;
    int64_t classes = count_classes(&set->graphs[ONS_WHOLE]);
    uint32_t field = ons_dataset_graphs_target(set, &sample);
    if (classes == 0 || field == ONS_NO_FIELD || (set == &t->training && !takes_all_samples(t))) return NULL;
    wrong_labels wrong;
    ONS_TRY(look_at_all(set->dataset, field, &sample, classes, (int64_t)t->config->ignore_index.value, &wrong));
    return wrong.any ? refuse(&wrong, classes) : NULL;
}
