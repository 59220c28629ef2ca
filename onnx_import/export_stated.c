/* New contents for tensors that are no initialisers of the model's graph: those of Constant nodes, bodies, functions.
 */
#include <string.h>

#include "onnx_import/exporter.h"
#include "onnx_import/stated.h"

/* Numbers of the fields that lead from the model to an attribute. */
enum { MODEL_FUNCTIONS = 25, GRAPH_NODE = 1, FUNCTION_NODE = 7, NODE_ATTRIBUTE = 5, ATTRIBUTE_GRAPH = 6 };
enum { ATTRIBUTE_FLOAT = 2, ATTRIBUTE_FLOATS = 7, FLOAT_BYTES = 4, MODEL_GRAPH = 7 };

/* The messages of the file as a tree, and the attribute that is looked for. */
typedef struct search {
    const ons_frames *frames;
    uint32_t *child, *next; /* of each frame: its first, and the one behind it with the same parent; ONS_NO_FRAME */
    const Onnx__AttributeProto *wanted;
    uint32_t found; /* ONS_NO_FRAME: not yet */
} search;

static ons_status *link_frames(exporter *e, search *s) {
    uint32_t count = (uint32_t)s->frames->count;
    ONS_NEW(s->child, e->arena, count + 1);
    ONS_NEW(s->next, e->arena, count + 1);
    memset(s->child, 0xff, (count + 1) * sizeof *s->child);
    for (uint32_t i = count; i-- > 1;) {
        uint32_t parent = s->frames->items[i].parent;
        s->next[i] = s->child[parent];
        s->child[parent] = i;
    }
    return NULL;
}

/* The first frame from `frame` on that is field `number` of its parent. */
static uint32_t find_sibling(const search *s, uint32_t frame, uint32_t number) {
    while (frame != ONS_NO_FRAME && s->frames->items[frame].number != number) frame = s->next[frame];
    return frame;
}

static void search_nodes(search *s, Onnx__NodeProto *const *nodes, size_t count, uint32_t parent, uint32_t number);

/* Messages of one field stand in the order in which they were unpacked. Nesting was limited when the file was opened.
 */
static void search_node(search *s, const Onnx__NodeProto *node, uint32_t frame) {
    uint32_t at = find_sibling(s, s->child[frame], NODE_ATTRIBUTE);
    for (size_t i = 0; i < node->n_attribute && at != ONS_NO_FRAME && s->found == ONS_NO_FRAME; ++i) {
        const Onnx__AttributeProto *attribute = node->attribute[i];
        if (attribute == s->wanted) s->found = at;
        uint32_t graph = attribute->g == NULL ? ONS_NO_FRAME : find_sibling(s, s->child[at], ATTRIBUTE_GRAPH);
        if (graph != ONS_NO_FRAME) search_nodes(s, attribute->g->node, attribute->g->n_node, graph, GRAPH_NODE);
        at = find_sibling(s, s->next[at], NODE_ATTRIBUTE);
    }
}

static void search_nodes(search *s, Onnx__NodeProto *const *nodes, size_t count, uint32_t parent, uint32_t number) {
    uint32_t at = find_sibling(s, s->child[parent], number);
    for (size_t i = 0; i < count && at != ONS_NO_FRAME && s->found == ONS_NO_FRAME; ++i) {
        search_node(s, nodes[i], at);
        at = find_sibling(s, s->next[at], number);
    }
}

static void search_model(search *s, const Onnx__ModelProto *model) {
    search_nodes(s, model->graph->node, model->graph->n_node, find_sibling(s, s->child[0], MODEL_GRAPH), GRAPH_NODE);
    uint32_t at = find_sibling(s, s->child[0], MODEL_FUNCTIONS);
    for (size_t i = 0; i < model->n_functions && at != ONS_NO_FRAME && s->found == ONS_NO_FRAME; ++i) {
        search_nodes(s, model->functions[i]->node, model->functions[i]->n_node, at, FUNCTION_NODE);
        at = find_sibling(s, s->next[at], MODEL_FUNCTIONS);
    }
}

/* Puts new bytes in the place of those of a field: of one float, or of several in a row. */
static ons_status *replace_floats(exporter *e, uint32_t frame, const ons_wire_field *field, const uint8_t **bytes,
                                  const uint8_t *end) {
    uint64_t size = field->end - field->begin;
    ONS_CHECK(size % FLOAT_BYTES == 0 && size <= (uint64_t)(end - *bytes), ONS_DEFECT,
              "the numbers of a constant do not fit its attribute");
    ONS_PUSH(&e->splices, (ons_splice){field->begin, size, frame, size, *bytes, 0});
    *bytes += size;
    return NULL;
}

/* The attribute holds as many numbers as before, in as many fields. */
static ons_status *replace_numbers(exporter *e, const ons_stated *stated, uint32_t frame_index) {
    const ons_frame *frame = &e->file->frames.items[frame_index];
    size_t size = (size_t)ons_type_dense_bytes(&stated->type);
    uint8_t *numbers;
    ONS_NEW(numbers, e->arena, size + 1);
    ONS_TRY(e->options->read(e->options->context, stated->name, 0, numbers, size));
    const uint8_t *next = numbers;
    for (uint64_t at = frame->begin; at < frame->end;) {
        ons_wire_field field;
        ONS_TRY(ons_wire_next(e->file->bytes, &at, frame->end, &field));
        uint32_t wanted = stated->type.shape.rank == 0 ? ATTRIBUTE_FLOAT : ATTRIBUTE_FLOATS;
        if (field.number == wanted) ONS_TRY(replace_floats(e, frame_index, &field, &next, numbers + size));
    }
    ONS_CHECK(next == numbers + size, ONS_UNSUPPORTED,
              "the constant '%s' is trained, and the file holds no number for it", stated->name);
    return NULL;
}

ons_status *ons_export_stated(exporter *e) {
    search s = {.frames = &e->file->frames};
    for (size_t i = 0; i < e->file->stated.count; ++i) {
        const ons_stated *stated = &e->file->stated.items[i];
        if (ons_map_get(&e->changed, stated->name) == ONS_MAP_ABSENT) continue;
        if (stated->tensor != NULL) {
            ONS_TRY(ons_export_tensor(e, stated->tensor, stated->name));
            continue;
        }
        if (s.child == NULL) ONS_TRY(link_frames(e, &s));
        s.wanted = stated->numbers;
        s.found = ONS_NO_FRAME;
        search_model(&s, e->file->model);
        ONS_CHECK(s.found != ONS_NO_FRAME, ONS_DEFECT, "the constant '%s' was not found in the file", stated->name);
        ONS_TRY(replace_numbers(e, stated, s.found));
    }
    return NULL;
}
