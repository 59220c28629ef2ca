#include "engine/model/inspect_passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/model/batching.h"
#include "engine/model/model_graph.h"

typedef struct watch {
    const char *after;
    FILE *times;
    char *graph;        /* owned */
    ons_status *status; /* of printing it; owned */
} watch;

static void observe(void *context, const char *pass, double seconds, const ons_graph *graph) {
    watch *w = context;
    fprintf(w->times, "%-18s %10.3f ms, %5zu nodes\n", pass, 1e3 * seconds, graph->nodes.count);
    if (strcmp(pass, w->after) == 0 && w->status == NULL) w->status = ons_graph_print(graph, &w->graph);
}

static ons_word pass_words(size_t index) { return (ons_word){ons_model_graph_pass(index), (int)index, NULL}; }

static ons_status *build(const ons_model *model, const ons_config *config, watch *w) {
    ons_batching batching;
    ons_model_graph made = {0};
    ONS_TRY(ons_choose_batching(model, config, &batching));
    const ons_model_graph_options options = {.model = model,
                                             .config = config,
                                             .rows = batching.rows,
                                             .fallback = ONS_ASSUMED_DIMENSION,
                                             .training = true,
                                             .observe = observe,
                                             .context = w};
    ons_status *status = ons_model_graph_build(&options, &made);
    if (status == NULL) ons_model_graph_free(&made);
    return status;
}

/* What a later pass refuses does not matter to who wants to see the graph before it. */
ons_status *ons_inspect_after(const ons_model *model, const ons_config *config, char **times, char **graph) {
    watch w = {.after = config->after};
    size_t size;
    *graph = NULL;
    ons_word pass;
    ONS_TRY(ons_word_choose(pass_words, "after", config->after, &pass));
    w.times = open_memstream(times, &size);
    if (w.times == NULL) return ons_status_out_of_memory();
    ons_status *status = build(model, config, &w), *closed = ons_text_close(w.times, times);
    if (w.status != NULL || w.graph != NULL) {
        ons_status_free(status);
        status = w.status;
    } else if (status == NULL) {
        status = ons_status_new(ONS_INVALID_ARGUMENT, "--after %s: that pass has nothing to do for this model",
                                config->after);
    }
    if (status == NULL) status = closed;
    *graph = w.graph;
    return status;
}
