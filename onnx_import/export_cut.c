/* An export without one of the outputs, the loss for one. */
#include <stdlib.h>
#include <string.h>

#include "onnx_import/exporter.h"
#include "onnx_import/needed.h"

enum { NODE = 1, INITIALISER = 5, INPUT = 11, OUTPUT = 12, VALUE_INFO = 13, SPARSE_INITIALISER = 15 };

typedef struct cutting {
    exporter *e;
    const Onnx__GraphProto *graph;
    bool *needed; /* of each node */
    ons_map kept; /* names that what stays reads or makes */
} cutting;

ons_status *ons_export_check_cut(const ons_model_file *file, const char *output) {
    const Onnx__GraphProto *graph = file->model->graph;
    size_t found = 0;
    for (size_t i = 0; i < graph->n_output; ++i) found += strcmp(ons_text(graph->output[i]->name), output) == 0;
    ONS_CHECK(found > 0, ONS_INVALID_ARGUMENT, "--cut-outputs: '%s' is a tensor inside of the model, and no output",
              output);
    ONS_CHECK(found < graph->n_output, ONS_INVALID_ARGUMENT,
              "--cut-outputs: '%s' is the model's only output; export the model with the outputs that are to stay",
              output);
    return NULL;
}

static ons_status *keep(cutting *c, const char *name) { return ons_map_set(&c->kept, name, 0); }

/* What a node reads and makes, its branches included: names inside of a branch that are its own do no harm. */
static ons_status *keep_names(cutting *c, const Onnx__NodeProto *node) {
    for (size_t i = 0; i < node->n_input; ++i) ONS_TRY(keep(c, node->input[i]));
    for (size_t i = 0; i < node->n_output; ++i) ONS_TRY(keep(c, node->output[i]));
    for (size_t a = 0; a < node->n_attribute; ++a) {
        const Onnx__GraphProto *branch = node->attribute[a]->g;
        for (size_t i = 0; branch != NULL && i < branch->n_node; ++i) ONS_TRY(keep_names(c, branch->node[i]));
        for (size_t i = 0; branch != NULL && i < branch->n_output; ++i)
            ONS_TRY(keep(c, ons_text(branch->output[i]->name)));
    }
    return NULL;
}

static ons_status *find_kept(cutting *c) {
    const char **outputs;
    size_t count = 0;
    ONS_NEW(outputs, c->e->arena, c->graph->n_output + 1);
    ONS_NEW(c->needed, c->e->arena, c->graph->n_node + 1);
    for (size_t i = 0; i < c->graph->n_output; ++i) {
        const char *name = ons_text(c->graph->output[i]->name);
        if (strcmp(name, c->e->options->cut) != 0) outputs[count++] = name;
    }
    ONS_TRY(ons_needed_nodes(c->graph, outputs, count, c->needed));
    for (size_t i = 0; i < count; ++i) ONS_TRY(keep(c, outputs[i]));
    for (size_t i = 0; i < c->graph->n_node; ++i)
        if (c->needed[i]) ONS_TRY(keep_names(c, c->graph->node[i]));
    return NULL;
}

static bool is_kept(const cutting *c, const char *name) { return ons_map_get(&c->kept, name) != ONS_MAP_ABSENT; }

/* Whether the index-th part of the graph with this number stays. */
static bool stays(const cutting *c, uint32_t number, size_t index) {
    const Onnx__GraphProto *g = c->graph;
    switch (number) {
    case NODE: return c->needed[index];
    case INITIALISER: return is_kept(c, ons_text(g->initializer[index]->name));
    case SPARSE_INITIALISER:
        return g->sparse_initializer[index]->values == NULL ||
               is_kept(c, ons_text(g->sparse_initializer[index]->values->name));
    case INPUT: return is_kept(c, ons_text(g->input[index]->name));
    case OUTPUT: return strcmp(ons_text(g->output[index]->name), c->e->options->cut) != 0;
    case VALUE_INFO: return is_kept(c, ons_text(g->value_info[index]->name));
    default: return true;
    }
}

/* Takes out the splices inside of the span, which goes as a whole, and then the span. */
static ons_status *take_out(exporter *e, const ons_frame *frame) {
    size_t count = 0;
    for (size_t i = 0; i < e->splices.count; ++i) {
        const ons_splice *s = &e->splices.items[i];
        bool inside = s->frame == frame->parent ? s->removed > 0 && s->at >= frame->tag_at && s->at < frame->end
                                                : s->at >= frame->begin && s->at + s->removed <= frame->end;
        if (!inside) e->splices.items[count++] = *s;
    }
    e->splices.count = count;
    return ons_splice_out(e, frame->tag_at, frame->end, frame->parent);
}

static ons_status *cut(cutting *c) {
    const ons_frames *frames = &c->e->file->frames;
    uint32_t graph = ons_graph_frame(c->e->file);
    size_t seen[SPARSE_INITIALISER + 1] = {0};
    ONS_TRY(find_kept(c));
    for (uint32_t i = graph + 1; i < frames->count; ++i) {
        const ons_frame *frame = &frames->items[i];
        if (frame->parent != graph || frame->number > SPARSE_INITIALISER) continue;
        if (!stays(c, frame->number, seen[frame->number]++)) ONS_TRY(take_out(c->e, frame));
    }
    return NULL;
}

ons_status *ons_export_cut(exporter *e) {
    cutting c = {.e = e, .graph = e->file->model->graph};
    ons_status *status = cut(&c);
    ons_map_free(&c.kept);
    return status;
}
