/* A model as opened: the file, its graph, its weights. */
#ifndef ONSTAGE_ENGINE_MODEL_MODEL_H
#define ONSTAGE_ENGINE_MODEL_MODEL_H

#include "engine/config/config.h"
#include "graph/registry.h"
#include "onnx_import/import.h"

struct ons_model {
    const char *path;
    ons_model_file *file;
    ons_store store;
    ons_graph *graph; /* as imported */
    const ons_registry *registry;
    ons_arena *arena;
    /* The axis that counts samples in the file: of each input of the graph, of each output, of the target. In the graph
     * it is axis 0 of all (engine/model/sample_axes.h). NULL: all are 0. */
    uint32_t *input_axes, *output_axes;
    uint32_t target_axis;
    const char **unread; /* inputs of the file that the run needs no data for (engine/model/needed_inputs.h) */
    size_t unread_count;
    const char **fed_once; /* inputs of the file that are constants of the graph, by name */
    size_t fed_once_count;
};

/* `blockers` as in ons_import; texts in the model's graph. `structure`: weights in external files may be missing, which
 * is enough for planning. */
ons_status *ons_model_open(const char *path, const ons_config *config, bool structure, ons_blockers *blockers,
                           ons_model **model);

#endif
