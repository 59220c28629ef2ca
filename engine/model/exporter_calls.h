/* What PyTorch's newer exporter says of gradients in the metadata of nodes, where a run has to say something of it. */
#ifndef ONSTAGE_ENGINE_MODEL_EXPORTER_CALLS_H
#define ONSTAGE_ENGINE_MODEL_EXPORTER_CALLS_H

#include "engine/model/assumptions.h"
#include "runtime/data/dataset.h"

/* What holds for the model, whatever the data are. */
ons_status *ons_assume_exporter_calls(const ons_model *model, const ons_config *config, ons_arena *arena,
                                      ons_assumptions *list);

/* Tables with an entry for padding, which gets no gradient: said where the first `rows` samples look that entry up. */
ons_status *ons_assume_padding(const ons_model *model, const ons_config *config, ons_dataset *dataset, int64_t rows,
                               ons_arena *arena, ons_assumptions *list);

#endif
