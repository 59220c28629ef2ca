#include <math.h>
#include <stdlib.h>

#include "base/json_writer.h"
#include "base/vector.h"
#include "planner/cost/cost_file.h"

typedef struct growing_text {
    ONS_VECTOR(char) text;
} growing_text;

static ons_status *append(void *context, const void *bytes, size_t size) {
    growing_text *t = context;
    if (!ons_vector_reserve(&t->text, size)) return ons_status_out_of_memory();
    memcpy(t->text.items + t->text.count, bytes, size);
    t->text.count += size;
    return NULL;
}

static void put_time(ons_json_writer *w, const char *name, double seconds) {
    if (seconds != 0) ons_json_put_double(w, name, seconds);
}

static void put_size(ons_json_writer *w, const char *name, int64_t bytes) {
    if (bytes != 0) ons_json_put_int(w, name, bytes);
}

static void put_nodes(ons_json_writer *w, const char *name, const ons_workload *work, const uint32_t *nodes,
                      uint32_t count) {
    ons_json_begin_array(w, name);
    for (uint32_t i = 0; i < count; ++i) ons_json_put_text(w, NULL, work->nodes[nodes[i]].name);
    ons_json_end_array(w);
}

static void put_node(ons_json_writer *w, const ons_workload *work, const ons_work_node *n) {
    const char *layer = work->layers[n->layer].name;
    ons_json_begin_object(w, NULL);
    ons_json_put_text(w, "name", n->name);
    if (n->kind[0] != '\0') ons_json_put_text(w, "kind", n->kind);
    if (strcmp(layer, n->name) != 0) ons_json_put_text(w, "layer", layer);
    ons_json_put_double(w, "forward_seconds", n->forward_seconds);
    put_time(w, "input_gradient_seconds", n->input_gradient_seconds);
    put_time(w, "weight_gradient_seconds", n->weight_gradient_seconds);
    put_time(w, "late_weight_seconds", n->late_weight_seconds);
    put_time(w, "update_seconds", n->update_seconds);
    put_size(w, "forward_bytes", n->forward_bytes);
    put_size(w, "backward_bytes", n->backward_bytes);
    if (!n->recomputable) ons_json_put_bool(w, "recomputable", false);
    ons_json_end_object(w);
}

static void put_tensor(ons_json_writer *w, const ons_workload *work, const ons_work_tensor *t) {
    ons_json_begin_object(w, NULL);
    ons_json_put_text(w, "name", t->name);
    ons_json_put_int(w, "bytes", t->bytes);
    ons_json_put_int(w, "gradient_bytes", t->gradient_bytes);
    if (t->producer == ONS_NO_NODE)
        ons_json_put_double(w, "producer", NAN); /* null */
    else
        ons_json_put_text(w, "producer", work->nodes[t->producer].name);
    put_nodes(w, "readers", work, t->readers, t->reader_count);
    put_nodes(w, "savers", work, t->savers, t->saver_count);
    ons_json_end_object(w);
}

static void put_weight(ons_json_writer *w, const ons_workload *work, const ons_work_weight *weight) {
    ons_json_begin_object(w, NULL);
    ons_json_put_text(w, "name", weight->name);
    ons_json_put_int(w, "bytes", weight->bytes);
    ons_json_put_int(w, "gradient_bytes", weight->gradient_bytes);
    put_size(w, "state_bytes", weight->state_bytes);
    put_nodes(w, "users", work, weight->users, weight->user_count);
    ons_json_end_object(w);
}

static void put_all(ons_json_writer *w, const ons_workload *work) {
    ons_json_begin_object(w, NULL);
    ons_json_put_int(w, "onstage_cost_graph", ONS_COST_FILE_VERSION);
    if (work->name != NULL) ons_json_put_text(w, "name", work->name);
    ons_json_put_int(w, "samples", work->samples);
    ons_json_begin_array(w, "nodes");
    for (uint32_t i = 0; i < work->node_count; ++i) put_node(w, work, &work->nodes[i]);
    ons_json_end_array(w);
    ons_json_begin_array(w, "tensors");
    for (uint32_t i = 0; i < work->tensor_count; ++i) put_tensor(w, work, &work->tensors[i]);
    ons_json_end_array(w);
    ons_json_begin_array(w, "weights");
    for (uint32_t i = 0; i < work->weight_count; ++i) put_weight(w, work, &work->weights[i]);
    ons_json_end_array(w);
    ons_json_end_object(w);
    ons_json_put_line_break(w);
}

ons_status *ons_cost_file_print(const ons_workload *work, char **text) {
    growing_text grown = {0};
    ons_json_writer *writer = malloc(sizeof *writer);
    if (writer == NULL) return ons_status_out_of_memory();
    ons_json_writer_init(writer, append, &grown);
    put_all(writer, work);
    ons_status *status = ons_json_writer_flush(writer);
    free(writer);
    if (status == NULL) status = append(&grown, "", 1);
    if (status != NULL) ons_vector_free(&grown.text);
    *text = status == NULL ? grown.text.items : NULL;
    return status;
}
