/* New contents for initialisers, in the file or in its data file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_import/exporter.h"

enum {
    SPILL_MIN = 1024, /* bytes; smaller tensors stay in the model */
    DATA_ALIGNMENT = 64,
    DATA_PAGE = 4096, /* so that large tensors can be mapped */
    DATA_PAGE_MIN = 1 << 20,
    TENSOR_DIMS = 1,
    TENSOR_DATA_TYPE = 2,
    TENSOR_NAME = 8,
    GRAPH_INITIALIZER = 5,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
};

/* --------------------------------------------------------------------------------------------------------- contents */

/* What a tensor is to hold: new contents, or those it has. */
static ons_status *make_content(exporter *e, const char *name, const Onnx__TensorProto *tensor, content *result) {
    *result = (content){.tensor = tensor};
    ONS_TRY_AT(ons_tensor_type(tensor, &result->type), "tensor '%s'", name);
    result->size = (uint64_t)ons_type_dense_bytes(&result->type);
    if (ons_map_get(&e->changed, name) != ONS_MAP_ABSENT) {
        result->reader = name;
        return NULL;
    }
    ONS_TRY_AT(ons_tensor_find(e->file, tensor, &result->type, &result->bytes, NULL), "tensor '%s'", name);
    return NULL;
}

static ons_status *splice_fill(exporter *e, uint64_t at, uint64_t removed, uint32_t frame, const content *from) {
    ons_splice splice = {
        .at = at, .removed = removed, .frame = frame, .added = from->size, .fill = (uint32_t)e->fills.count};
    ONS_PUSH(&e->fills, *from);
    ONS_PUSH(&e->splices, splice);
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- data file */

static ons_status *put_entry(message *m, const char *key, const char *value) {
    size_t size = 2 + ons_varint_size(strlen(key)) + strlen(key) + ons_varint_size(strlen(value)) + strlen(value);
    ONS_TRY(ons_put_header(m, ONS_TENSOR_EXTERNAL_DATA, size));
    ONS_TRY(ons_put_text(m, ENTRY_KEY, key));
    return ons_put_text(m, ENTRY_VALUE, value);
}

static ons_status *put_number(message *m, const char *key, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return put_entry(m, key, text);
}

/* Gives the contents a place in the data file, and states it. */
static ons_status *put_external(exporter *e, const content *from, message *m) {
    content placed = *from;
    uint64_t alignment = from->size >= DATA_PAGE_MIN ? DATA_PAGE : DATA_ALIGNMENT;
    placed.offset = (e->data_size + alignment - 1) / alignment * alignment;
    e->data_size = placed.offset + placed.size;
    ONS_PUSH(&e->data, placed);
    ONS_TRY(put_entry(m, "location", e->location));
    ONS_TRY(put_number(m, "offset", placed.offset));
    ONS_TRY(put_number(m, "length", placed.size));
    return ons_put_integer(m, ONS_TENSOR_DATA_LOCATION, ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL);
}

/* ---------------------------------------------------------------------------------------------- tensors of the file */

static bool is_payload(uint32_t number) {
    return number == ONS_TENSOR_FLOAT_DATA || number == ONS_TENSOR_INT32_DATA || number == ONS_TENSOR_INT64_DATA ||
           number == ONS_TENSOR_RAW_DATA || number == ONS_TENSOR_DOUBLE_DATA || number == ONS_TENSOR_UINT64_DATA;
}

/* Takes the payload, and where it is said to be, out of a tensor. */
static ons_status *remove_payload(exporter *e, uint32_t frame_index) {
    const ons_frame *frame = &e->file->frames.items[frame_index];
    for (uint64_t at = frame->begin; at < frame->end;) {
        ons_wire_field field;
        ONS_TRY(ons_wire_next(e->file->bytes, &at, frame->end, &field));
        if (is_payload(field.number) || field.number == ONS_TENSOR_EXTERNAL_DATA ||
            field.number == ONS_TENSOR_DATA_LOCATION)
            ONS_TRY(ons_splice_out(e, field.tag_at, field.end, frame_index));
    }
    return NULL;
}

/* The payload's only field, where the new bytes can simply take its place. */
static ons_status *find_replaceable(const exporter *e, const ons_frame *frame, const content *from,
                                    ons_wire_field *payload) {
    int pieces = 0;
    *payload = (ons_wire_field){0};
    for (uint64_t at = frame->begin; at < frame->end;) {
        ons_wire_field field;
        ONS_TRY(ons_wire_next(e->file->bytes, &at, frame->end, &field));
        if (is_payload(field.number)) {
            *payload = field;
            ++pieces;
        }
    }
    bool dense = payload->number == ONS_TENSOR_RAW_DATA ||
                 (payload->number == ONS_TENSOR_FLOAT_DATA && from->type.dtype == ONS_FLOAT32) ||
                 (payload->number == ONS_TENSOR_DOUBLE_DATA && from->type.dtype == ONS_FLOAT64);
    if (pieces != 1 || !dense || payload->wire_type != ONS_WIRE_BYTES || payload->end - payload->begin != from->size)
        payload->number = 0;
    return NULL;
}

static ons_status *replace_inside(exporter *e, uint32_t frame_index, const content *from) {
    const ons_frame *frame = &e->file->frames.items[frame_index];
    ons_wire_field payload;
    ONS_TRY(find_replaceable(e, frame, from, &payload));
    if (payload.number != 0) return splice_fill(e, payload.begin, from->size, frame_index, from);
    ONS_TRY(remove_payload(e, frame_index));
    message header = {0};
    ons_status *status = ons_put_header(&header, ONS_TENSOR_RAW_DATA, from->size);
    if (status == NULL) status = ons_splice_message(e, frame->end, 0, frame_index, &header);
    ons_vector_free(&header);
    return status != NULL ? status : splice_fill(e, frame->end, 0, frame_index, from);
}

static ons_status *replace_outside(exporter *e, uint32_t frame_index, const content *from) {
    ONS_TRY(remove_payload(e, frame_index));
    message fields = {0};
    ons_status *status = put_external(e, from, &fields);
    if (status == NULL) status = ons_splice_message(e, e->file->frames.items[frame_index].end, 0, frame_index, &fields);
    ons_vector_free(&fields);
    return status;
}

/* Whether the new file keeps a tensor outside of itself. */
static bool goes_outside(const exporter *e, const Onnx__TensorProto *tensor, const content *from) {
    return ons_tensor_is_external(tensor) || (e->spills && from->size >= SPILL_MIN);
}

ons_status *ons_export_tensor(exporter *e, const Onnx__TensorProto *tensor, const char *name) {
    const ons_tensor_place *place = ons_model_file_place(e->file, tensor);
    bool changed = ons_map_get(&e->changed, name) != ONS_MAP_ABSENT;
    if (!changed && !ons_tensor_is_external(tensor) && !e->spills) return NULL; /* stays as it is, whatever it is */
    content from;
    ons_status *problem = make_content(e, name, tensor, &from);
    if (!changed && !ons_tensor_is_external(tensor) && ons_status_get_code(problem) == ONS_UNSUPPORTED) {
        ons_status_free(problem);
        return NULL;
    }
    ONS_TRY(problem);
    ONS_CHECK(place != NULL, ONS_DEFECT, "initialiser '%s' was not found in the file", name);
    if (goes_outside(e, tensor, &from)) return replace_outside(e, place->frame, &from);
    return changed ? replace_inside(e, place->frame, &from) : NULL;
}

/* ----------------------------------------------------------------------------------- external tensors anywhere else */

/* Whether a TensorProto says that its bytes are in another file. */
static ons_status *is_external_frame(const ons_model_file *file, const ons_frame *frame, bool *external) {
    *external = false;
    for (uint64_t at = frame->begin; at < frame->end;) {
        ons_wire_field field;
        ONS_TRY(ons_wire_next(file->bytes, &at, frame->end, &field));
        if (field.number == ONS_TENSOR_DATA_LOCATION && field.wire_type == ONS_WIRE_VARINT)
            *external = field.varint == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    }
    return NULL;
}

/* Whether new contents are written for a tensor that is no initialiser of the graph. */
static bool is_changed(const exporter *e, const ons_tensor_place *place) {
    for (size_t i = 0; i < e->file->stated.count; ++i) {
        const ons_stated *stated = &e->file->stated.items[i];
        if (stated->tensor != NULL && ons_model_file_place(e->file, stated->tensor) == place)
            return ons_map_get(&e->changed, stated->name) != ONS_MAP_ABSENT;
    }
    return false;
}

/* Constants, branches and the like: their data moves to the new data file, too. */
static ons_status *export_inner_tensor(exporter *e, const ons_tensor_place *place) {
    const ons_frame *frame = &e->file->frames.items[place->frame];
    bool external;
    ONS_TRY(is_external_frame(e->file, frame, &external));
    if (!external || is_changed(e, place) ||
        (frame->number == GRAPH_INITIALIZER && frame->parent == ons_graph_frame(e->file)))
        return NULL;
    Onnx__TensorProto *tensor =
        onnx__tensor_proto__unpack(NULL, frame->end - frame->begin, e->file->bytes + frame->begin);
    if (tensor == NULL) return ons_status_out_of_memory();
    content from = {0};
    ons_status *status = ons_tensor_type(tensor, &from.type);
    if (status == NULL) status = ons_tensor_find(e->file, tensor, &from.type, &from.bytes, NULL);
    status = ons_status_at(status, "tensor '%s'", ons_text(tensor->name));
    onnx__tensor_proto__free_unpacked(tensor, NULL);
    ONS_TRY(status);
    from.size = (uint64_t)ons_type_dense_bytes(&from.type);
    return replace_outside(e, place->frame, &from);
}

/* ------------------------------------------------------------------------------------------------- new initialisers */

static const Onnx__TensorProto *find_initialiser(const ons_model_file *file, const char *name) {
    const Onnx__GraphProto *graph = file->model->graph;
    for (size_t i = 0; i < graph->n_initializer; ++i)
        if (strcmp(ons_text(graph->initializer[i]->name), name) == 0) return graph->initializer[i];
    return NULL;
}

static ons_status *put_tensor(exporter *e, const char *name, const content *from, bool outside, message *m) {
    for (uint32_t i = 0; i < from->type.shape.rank; ++i)
        ONS_TRY(ons_put_integer(m, TENSOR_DIMS, (uint64_t)from->type.shape.dims[i]));
    ONS_TRY(ons_put_integer(m, TENSOR_DATA_TYPE, (uint64_t)from->type.dtype));
    ONS_TRY(ons_put_text(m, TENSOR_NAME, name));
    return outside ? put_external(e, from, m) : ons_put_header(m, ONS_TENSOR_RAW_DATA, from->size);
}

static ons_status *add_initialiser(exporter *e, const ons_untied *untied, message *tensor, message *header) {
    const Onnx__TensorProto *source = find_initialiser(e->file, untied->source);
    ONS_CHECK(source != NULL, ONS_DEFECT, "initialiser '%s' was not found in the file", untied->source);
    content from;
    if (ons_map_get(&e->changed, untied->name) != ONS_MAP_ABSENT) {
        ONS_TRY(make_content(e, untied->source, source, &from));
        from.reader = untied->name;
    } else { /* what the source had in the file, even where that is new now */
        from = (content){.tensor = source};
        ONS_TRY(ons_tensor_type(source, &from.type));
        from.size = (uint64_t)ons_type_dense_bytes(&from.type);
        ONS_TRY(ons_tensor_find(e->file, source, &from.type, &from.bytes, NULL));
    }
    bool outside = goes_outside(e, source, &from);
    ONS_TRY(put_tensor(e, untied->name, &from, outside, tensor));
    ONS_TRY(ons_put_header(header, GRAPH_INITIALIZER, tensor->count + (outside ? 0 : from.size)));
    uint32_t graph = ons_graph_frame(e->file);
    uint64_t end = e->file->frames.items[graph].end;
    ONS_TRY(ons_splice_message(e, end, 0, graph, header));
    ONS_TRY(ons_splice_message(e, end, 0, graph, tensor));
    return outside ? NULL : splice_fill(e, end, 0, graph, &from);
}

/* -------------------------------------------------------------------------------------------------------------- all */

ons_status *ons_export_tensors(exporter *e) {
    const Onnx__GraphProto *graph = e->file->model->graph;
    for (size_t i = 0; i < graph->n_initializer; ++i)
        ONS_TRY(ons_export_tensor(e, graph->initializer[i], ons_text(graph->initializer[i]->name)));
    for (size_t i = 0; i < e->file->tensors.count; ++i) ONS_TRY(export_inner_tensor(e, &e->file->tensors.items[i]));
    for (size_t i = 0; i < ons_untied_count(e->file); ++i) {
        ons_untied untied = ons_untied_at(e->file, i);
        message tensor = {0}, header = {0};
        ons_status *status = add_initialiser(e, &untied, &tensor, &header);
        ons_vector_free(&tensor);
        ons_vector_free(&header);
        ONS_TRY(status);
    }
    return NULL;
}
