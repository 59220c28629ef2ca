/* --new-head OUTPUT=N: fresh weights for N classes in place of a model's last layer. */
#ifndef ONSTAGE_ENGINE_MODEL_NEW_HEAD_H
#define ONSTAGE_ENGINE_MODEL_NEW_HEAD_H

#include "engine/model/model.h"

/* Replaces the model's file by one with the heads that the configuration asks for; `model` was opened from it without
 * other changes (ties), and is not used afterwards but for its file: *file. Weights and biases are drawn as PyTorch
 * draws them, evenly between ±1/√inputs, by the configuration's seed. */
ons_status *ons_make_new_heads(const ons_model *model, const ons_config *config, ons_model_file **file);

/* Binds the model with its exported batch, or a small one, to see what its layers are. Frees nothing of *bound where it
 * fails. */
ons_status *ons_bind_for_changes(const ons_model *model, const ons_config *config, ons_arena *arena, ons_graph **bound);

#endif
