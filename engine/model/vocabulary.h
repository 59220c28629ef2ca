/* --vocabulary-shards K: the weights whose entries are numbered by words, or by classes, in K parts each. */
#ifndef ONSTAGE_ENGINE_MODEL_VOCABULARY_H
#define ONSTAGE_ENGINE_MODEL_VOCABULARY_H

#include "engine/model/model.h"

/* With fewer entries than this in a shard a weight stays whole: kinds of token, or positions in a window, say. */
enum { ONS_SHARD_ENTRIES_LEAST = 16 };

/* Finds them in a model that was opened without shards: tables that the data index (not layers), and the weight and
 * bias of the last layer before the output that a loss of classes judges. In `arena`; a model without any is
 * ONS_INVALID_ARGUMENT. */
ons_status *ons_vocabulary_find(const ons_model *model, const ons_config *config, ons_arena *arena,
                                ons_import_options *options);

#endif
