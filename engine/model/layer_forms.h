/* Layers that normalise by the batch or by running statistics: what a run takes for granted about their form, and those
 * that would have a single value to normalise. */
#ifndef ONSTAGE_ENGINE_MODEL_LAYER_FORMS_H
#define ONSTAGE_ENGINE_MODEL_LAYER_FORMS_H

#include "engine/model/assumptions.h"

/* Appends notes on statistics that are those of a new layer, or that are frozen, to `list`; texts in `arena`. */
ons_status *ons_assume_layer_forms(const ons_model *model, const ons_config *config, ons_arena *arena,
                                   ons_assumptions *list);

/* Layers of a bound training graph whose statistics would be those of one value for each channel. */
typedef struct ons_lone_values {
    size_t count;      /* of the layers */
    const char *first; /* the first one's name, in the graph's arena */
} ons_lone_values;
ons_lone_values ons_lone_values_find(const ons_config *config, const ons_graph *bound);

/* Fails where there are any; `rows`: samples of the graph's micro-batch. */
ons_status *ons_lone_values_refuse(const ons_config *config, const ons_graph *bound, int64_t rows);

#endif
