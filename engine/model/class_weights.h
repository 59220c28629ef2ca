/* --class-weights: what a target of each class counts. */
#ifndef ONSTAGE_ENGINE_MODEL_CLASS_WEIGHTS_H
#define ONSTAGE_ENGINE_MODEL_CLASS_WEIGHTS_H

#include "engine/config/config.h"

/* Reads the file, if one is given, into `arena`: the loss's class_weights. Whether there are as many as classes is for
 * ons_attach_loss to say. */
ons_status *ons_class_weights_read(const ons_config *config, ons_arena *arena, ons_loss_options *loss);

#endif
