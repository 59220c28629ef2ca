/* What a run takes for granted about a model, where the file does not say what the framework's own training would do:
 * each with what helps. A run whose losses differ from the framework's says why before its first step. */
#ifndef ONSTAGE_ENGINE_MODEL_ASSUMPTIONS_H
#define ONSTAGE_ENGINE_MODEL_ASSUMPTIONS_H

#include "engine/model/model.h"

typedef ONS_VECTOR(ons_assumption) ons_assumptions;

/* Appends what holds for the model as imported, and for what the options ask of it; texts in `arena`. The caller frees
 * the vector. */
ons_status *ons_assumptions_find(const ons_model *model, const ons_config *config, ons_arena *arena,
                                 ons_assumptions *list);

/* Appends one more, formatted into `arena`. `format` is one of the notes of engine/model/notes.h. */
ons_status *ons_note(ons_assumptions *list, ons_arena *arena, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether some node of the file acts as in training (normalises by the batch, drops): a model written in the same form
 * does so wherever it runs. */
bool ons_is_in_training_form(const ons_graph *graph);

/* Whether the node does so, by what the file says. */
bool ons_acts_as_in_training(const ons_graph *graph, const ons_node *node);

/* Whether some node normalises by the batch where it acts as in training. */
bool ons_has_batch_statistics(const ons_graph *graph);

/* --strict for commands that show none of them: finds them, and fails where there are any. */
ons_status *ons_assumptions_refuse(const ons_model *model, const ons_config *config);

/* --strict: fails with the first of them, and says how many there are. */
ons_status *ons_assumptions_check(const ons_config *config, const ons_assumptions *list);

#endif
