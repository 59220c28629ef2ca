/* In which form a layer that normalises by the batch runs: --batchnorm, --batchnorm-of, and --freeze of its running
 * statistics. */
#ifndef ONSTAGE_ENGINE_CONFIG_BATCHNORM_OF_H
#define ONSTAGE_ENGINE_CONFIG_BATCHNORM_OF_H

#include "engine/config/config.h"

typedef struct ons_layer_form {
    ons_as_exported form;
    const char *chosen; /* glob of the --batchnorm-of that decides; NULL: none does */
    const char *frozen; /* glob of a --freeze that keeps the running statistics; NULL: none does. One that matches
                           everything (*) does not: it is PyTorch's requires_grad_(False), and statistics move */
} ons_layer_form;

/* Whether the node has a form for training, in which its running statistics move, and another one for inference. */
bool ons_has_layer_forms(const ons_node *node);

/* The form of such a node of an imported graph. */
ons_layer_form ons_config_layer_form(const ons_config *config, const ons_graph *graph, const ons_node *node);

/* The glob of the last --train or --freeze that matches the initialiser, where that is a --freeze and not of
 * everything; NULL: it is not frozen by name. */
const char *ons_config_frozen_by(const ons_config *config, const ons_value *initialiser);

/* As ons_mode.batchnorm_of; `config` is an ons_config. */
ons_as_exported ons_config_batchnorm_of(const void *config, const ons_graph *graph, const ons_node *node);

/* Fails where a --batchnorm-of names no layer or no form, or moves statistics that --freeze keeps. */
ons_status *ons_config_check_batchnorm_of(const ons_config *config, const ons_graph *graph);

#endif
