/* Changes of nodes in the file: for untied weights, and for the inference form. Field by field, so that whatever else a
 * node holds stays. */
#include <string.h>

#include "onnx_import/exporter.h"

enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum { GRAPH_NODE = 1, GRAPH_OUTPUT = 12, VALUE_NAME = 1, FUNCTION_OUTPUT = 5, ATTRIBUTE_NAME = 1 };

static bool is_text(const ons_model_file *file, const ons_wire_field *field, const char *text) {
    size_t size = strlen(text);
    return field->wire_type == ONS_WIRE_BYTES && field->end - field->begin == size &&
           memcmp(file->bytes + field->begin, text, size) == 0;
}

/* A copy of a field that is text; NULL where memory is short. */
static char *copy_text(const exporter *e, const ons_wire_field *field) {
    size_t size = field->wire_type == ONS_WIRE_BYTES ? (size_t)(field->end - field->begin) : 0;
    char *copy = ons_arena_allocate(e->arena, size + 1, 1);
    if (copy != NULL && size > 0) memcpy(copy, e->file->bytes + field->begin, size);
    return copy;
}

/* ----------------------------------------------------------------------------------------------------- untied nodes */

/* The frame of a node of the model's graph. */
static ons_status *find_node(const ons_model_file *file, uint32_t index, uint32_t *result) {
    uint32_t graph = ons_graph_frame(file);
    for (uint32_t i = graph + 1; i < file->frames.count; ++i) {
        const ons_frame *frame = &file->frames.items[i];
        if (frame->parent != graph || frame->number != GRAPH_NODE || index-- > 0) continue;
        *result = i;
        return NULL;
    }
    return ons_status_new(ONS_DEFECT, "a node was not found in the file");
}

/* Lets the node's input read another tensor. */
static ons_status *rename_input(exporter *e, uint32_t frame_index, uint32_t input, const char *name) {
    const ons_frame *frame = &e->file->frames.items[frame_index];
    uint32_t number = 0;
    for (uint64_t at = frame->begin; at < frame->end;) {
        ons_wire_field field;
        ONS_TRY(ons_wire_next(e->file->bytes, &at, frame->end, &field));
        if (field.number != NODE_INPUT || number++ != input) continue;
        message replacement = {0};
        ons_status *status = ons_put_text(&replacement, NODE_INPUT, name);
        if (status == NULL)
            status = ons_splice_message(e, field.tag_at, field.end - field.tag_at, frame_index, &replacement);
        ons_vector_free(&replacement);
        return status;
    }
    return ons_status_new(ONS_DEFECT, "an input of a node was not found in the file");
}

ons_status *ons_export_untied_nodes(exporter *e) {
    for (size_t i = 0; i < e->file->untied.count; ++i) {
        const ons_untied_edit *edit = &e->file->untied.items[i];
        uint32_t index = 0;
        ONS_TRY(find_node(e->file, edit->node, &index));
        const ons_frame *frame = &e->file->frames.items[index];
        if (edit->input == (uint32_t)ONS_NONE)
            ONS_TRY(ons_splice_out(e, frame->tag_at, frame->end, frame->parent));
        else
            ONS_TRY(rename_input(e, index, edit->input, edit->names.name));
    }
    return NULL;
}

/* --------------------------------------------------------------------------------------------------- inference form */

static ons_status *use_name(exporter *e, const ons_wire_field *field, ons_map *used) {
    char *name = copy_text(e, field);
    return name == NULL ? ons_status_out_of_memory() : ons_map_set(used, name, 0);
}

/* The names that a message reads: a node's inputs, outputs of graphs and functions. */
static ons_status *find_used_in(exporter *e, const ons_frame *frame, ons_map *used) {
    const ons_frame *parent = frame->parent == ONS_NO_FRAME ? NULL : &e->file->frames.items[frame->parent];
    uint32_t wanted;
    if (frame->type == &onnx__node_proto__descriptor)
        wanted = NODE_INPUT;
    else if (frame->type == &onnx__function_proto__descriptor)
        wanted = FUNCTION_OUTPUT;
    else if (frame->number == GRAPH_OUTPUT && parent != NULL && parent->type == &onnx__graph_proto__descriptor)
        wanted = VALUE_NAME;
    else
        return NULL;
    for (uint64_t at = frame->begin; at < frame->end;) {
        ons_wire_field field;
        ONS_TRY(ons_wire_next(e->file->bytes, &at, frame->end, &field));
        if (field.number == wanted) ONS_TRY(use_name(e, &field, used));
    }
    return NULL;
}

/* The operator of a node of the file; NULL where onstage does not know it. */
static ons_status *find_operator(exporter *e, const ons_frame *frame, const ons_operator **op) {
    const char *type = "", *domain = "";
    for (uint64_t at = frame->begin; at < frame->end;) {
        ons_wire_field field;
        ONS_TRY(ons_wire_next(e->file->bytes, &at, frame->end, &field));
        if (field.number == NODE_OP_TYPE)
            type = copy_text(e, &field);
        else if (field.number == NODE_DOMAIN)
            domain = copy_text(e, &field);
    }
    if (type == NULL || domain == NULL) return ons_status_out_of_memory();
    *op = ons_registry_find_name(e->options->registry, domain, type);
    return NULL;
}

static ons_status *drop_attribute(exporter *e, uint32_t node, const ons_wire_field *field, const char *name) {
    for (uint64_t at = field->begin; at < field->end;) {
        ons_wire_field inner;
        ONS_TRY(ons_wire_next(e->file->bytes, &at, field->end, &inner));
        if (inner.number == ATTRIBUTE_NAME && is_text(e->file, &inner, name))
            return ons_splice_out(e, field->tag_at, field->end, node);
    }
    return NULL;
}

static ons_status *drop_output(exporter *e, uint32_t node, const ons_wire_field *field, const ons_map *used) {
    const char *name = copy_text(e, field);
    if (name == NULL) return ons_status_out_of_memory();
    ONS_CHECK(
        name[0] == '\0' || ons_map_get(used, name) == ONS_MAP_ABSENT, ONS_UNSUPPORTED,
        "the model cannot be put into inference form: '%s', which exists in training only, is read; export it as it "
        "is (same)",
        name);
    return ons_splice_out(e, field->tag_at, field->end, node);
}

static ons_status *change_node(exporter *e, uint32_t index, const ons_inference_form *form, const ons_map *used) {
    const ons_frame *frame = &e->file->frames.items[index];
    uint32_t inputs = 0, outputs = 0;
    for (uint64_t at = frame->begin; at < frame->end;) {
        ons_wire_field field;
        ONS_TRY(ons_wire_next(e->file->bytes, &at, frame->end, &field));
        if (field.number == NODE_INPUT && inputs++ >= form->inputs)
            ONS_TRY(ons_splice_out(e, field.tag_at, field.end, index));
        else if (field.number == NODE_OUTPUT && outputs++ >= form->outputs)
            ONS_TRY(drop_output(e, index, &field, used));
        else if (field.number == NODE_ATTRIBUTE && form->attribute != NULL)
            ONS_TRY(drop_attribute(e, index, &field, form->attribute));
    }
    return NULL;
}

static ons_status *change_nodes(exporter *e, ons_map *used) {
    const ons_frames *frames = &e->file->frames;
    for (uint32_t i = 0; i < frames->count; ++i) ONS_TRY(find_used_in(e, &frames->items[i], used));
    for (uint32_t i = 0; i < frames->count; ++i) {
        const ons_operator *op = NULL;
        if (frames->items[i].type != &onnx__node_proto__descriptor) continue;
        ONS_TRY(find_operator(e, &frames->items[i], &op));
        if (op != NULL && op->forms.inference.differs) ONS_TRY(change_node(e, i, &op->forms.inference, used));
    }
    return NULL;
}

ons_status *ons_export_inference_nodes(exporter *e) {
    ons_map used = {0};
    ons_status *status = change_nodes(e, &used);
    ons_map_free(&used);
    return status;
}
