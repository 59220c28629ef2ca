/* Types as people read them: "float32[batch,28]", with the file's own symbols. */
#ifndef ONSTAGE_ENGINE_MODEL_TYPE_TEXT_H
#define ONSTAGE_ENGINE_MODEL_TYPE_TEXT_H

#include "engine/model/model.h"

/* Texts in `arena`; "" where memory is short, which the arena remembers. `symbols` NULL: none is known. */
const char *ons_type_text(ons_arena *arena, const ons_type *type, const char *const *symbols);

/* Of a value of the imported graph. */
const char *ons_value_type_text(ons_arena *arena, const ons_graph *graph, ons_value_id id);

/* Of the array that an input is fed from: as the file has it, wherever its samples stand. */
const char *ons_input_type_text(ons_arena *arena, const ons_model *model, size_t input);

#endif
