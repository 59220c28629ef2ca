/* What a graph is bound for: training or inference. Operators that have a form for each (ons_forms.training_form)
 * choose theirs by it. */
#ifndef ONSTAGE_GRAPH_PASSES_MODE_H
#define ONSTAGE_GRAPH_PASSES_MODE_H

#include "graph/operator.h"

typedef enum ons_as_exported { ONS_AS_GRAPH, ONS_AS_TRAINING, ONS_AS_INFERENCE } ons_as_exported;

struct ons_mode {
    bool training;             /* false: every normalisation and dropout in its inference form */
    ons_as_exported batchnorm; /* while training */
    ons_as_exported dropout;   /* while training; ONS_AS_TRAINING uses dropout_ratio */
    double dropout_ratio;
    uint32_t replicas; /* that normalise their micro-batches together while training; 0: each by itself */
};

#endif
