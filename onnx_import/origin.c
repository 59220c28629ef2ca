/* What PyTorch's newer exporter tells of its initialisers: in the graph's metadata which parameters and buffers the
 * module has, by name; at each tensor that it folded, of what it was computed. */
#include "onnx_import/copies.h"

#include <string.h>

#include "graph/passes/names.h"

static const char signature_key[] = "pkg.torch.export.ExportedProgram.graph_signature";
static const char kind_key[] = "pkg.torch.export.graph_signature.InputSpec.kind";
static const char folded_key[] = "pkg.onnxscript.optimizer.folded_from";

static ons_status *copy_piece(ons_arena *arena, ons_text_view piece, const char **text) {
    char *copy = ons_arena_allocate(arena, piece.size + 1, 1);
    if (copy == NULL) return ons_status_out_of_memory();
    memcpy(copy, piece.text, piece.size);
    copy[piece.size] = '\0';
    *text = copy;
    return NULL;
}

static ons_status *declare(importer *in, const char *name, ons_text_view kind) {
    bool parameter = ons_text_view_equals(kind, "PARAMETER");
    if (ons_text_view_equals(kind, "USER_INPUT")) return NULL;
    return ons_map_set(&in->declared, name, parameter ? ONS_ORIGIN_PARAMETER : ONS_ORIGIN_BUFFER);
}

/* A line without a target: "mul_1: USER_OUTPUT". */
static ons_status *read_result(importer *in, const char *line, const char *colon) {
    const char *name;
    if (colon == NULL || strcmp(colon + 2, "USER_OUTPUT") != 0) return NULL;
    ONS_TRY(copy_piece(in->top->arena, (ons_text_view){line, (size_t)(colon - line)}, &name));
    ONS_PUSH(&in->results, name);
    return NULL;
}

/* One line of the signature: "p_fc_weight: PARAMETER target='fc.weight'". */
static ons_status *read_line(importer *in, const char *line) {
    const char *colon = strstr(line, ": "), *space = colon == NULL ? NULL : strstr(colon + 2, " target=");
    if (space == NULL) return read_result(in, line, colon);
    const ons_text_view kind = {colon + 2, (size_t)(space - colon) - 2};
    ons_text_view target;
    size_t at = 0;
    if (!ons_quoted_next((ons_text_view){space, strlen(space)}, &at, &target)) return NULL;
    declared_parameter found;
    ONS_TRY(copy_piece(in->top->arena, target, &found.name));
    ONS_TRY(copy_piece(in->top->arena, (ons_text_view){line, (size_t)(colon - line)}, &found.program_name));
    if (ons_text_view_equals(kind, "PARAMETER")) ONS_PUSH(&in->parameters, found);
    return declare(in, found.name, kind);
}

static ons_status *read_signature(importer *in, ons_text_view text) {
    for (size_t at = 0; at < text.size;) {
        const char *end = memchr(text.text + at, '\n', text.size - at), *line;
        size_t length = end == NULL ? text.size - at : (size_t)(end - text.text) - at;
        ONS_TRY(copy_piece(in->top->arena, (ons_text_view){text.text + at, length}, &line));
        ONS_TRY(read_line(in, line));
        at += length + 1;
    }
    return NULL;
}

ons_status *ons_origins_read(importer *in, const Onnx__GraphProto *graph) {
    ons_text_view text;
    if (ons_metadata_find(&graph->base, ONS_GRAPH_METADATA, signature_key, &text)) ONS_TRY(read_signature(in, text));
    for (size_t i = 0; i < graph->n_value_info; ++i) {
        const Onnx__ValueInfoProto *value = graph->value_info[i];
        const char *name = ons_text(value->name);
        if (ons_metadata_find(&value->base, ONS_VALUE_METADATA, kind_key, &text)) ONS_TRY(declare(in, name, text));
        if (ons_metadata_find(&value->base, ONS_VALUE_METADATA, folded_key, &text))
            ONS_TRY(ons_map_set(&in->folded_by_exporter, name, (uint32_t)i));
    }
    return NULL;
}

/* The module's parameters among the texts of the list: their number, "'a', 'b'" for messages, and the first. */
typedef struct parameters {
    size_t count;
    bool computes;     /* the list names results of arithmetic, too */
    bool joins, fills; /* or of joining tensors, or tensors of one number */
    const char *names, *first;
} parameters;

static ons_status *list_parameters(importer *in, ons_text_view list, parameters *found) {
    ons_text_view item;
    *found = (parameters){.names = ""};
    for (size_t at = 0; ons_quoted_next(list, &at, &item);) {
        const char *name;
        ONS_TRY(copy_piece(in->top->arena, item, &name));
        found->computes |= ons_is_computing_name(name);
        found->joins |= ons_is_joining_name(name);
        found->fills |= ons_is_filled_name(name);
        if (ons_map_get(&in->declared, name) != ONS_ORIGIN_PARAMETER) continue;
        if (found->count++ == 0) found->first = name;
        if (found->count <= ONS_ORIGIN_NAMES_MAX)
            ONS_FORMAT(found->names, in->top->arena, "%s%s'%s'", found->names, found->count > 1 ? ", " : "", name);
    }
    if (found->count > ONS_ORIGIN_NAMES_MAX)
        ONS_FORMAT(found->names, in->top->arena, "%s and %zu more", found->names, found->count - ONS_ORIGIN_NAMES_MAX);
    return NULL;
}

/* What one parameter's elements were only moved to (or shifted by constants, which changes no gradient), and what
 * several were put side by side in, without numbers that are no parameter's between them. */
static bool is_moved(const char *name, const parameters *from) {
    if (from->count == 1 && ons_is_embedding_name(name)) return true;
    if (from->computes || (from->fills && (from->joins || ons_is_joining_name(name)))) return false;
    if (from->count > 1) return ons_is_joining_name(name);
    return ons_is_moving_name(name) || ons_is_shifting_name(name) || ons_is_constant_name(name);
}

bool ons_origin_folded_names(const importer *in, const char *name, ons_text_view *list) {
    uint32_t folded = ons_map_get(&in->folded_by_exporter, name);
    if (folded == ONS_MAP_ABSENT) return false;
    const Onnx__ValueInfoProto *value = in->file->model->graph->value_info[folded];
    return ons_metadata_find(&value->base, ONS_VALUE_METADATA, folded_key, list);
}

ons_status *ons_origin_find(importer *in, const char *name, ons_value *value) {
    if (in->declared.count == 0) return NULL;
    uint32_t declared = ons_map_get(&in->declared, name), folded = ons_map_get(&in->folded_by_exporter, name);
    if (declared != ONS_MAP_ABSENT) {
        value->origin = (ons_origin)declared;
        return NULL;
    }
    if (folded == ONS_MAP_ABSENT) return NULL;
    ons_text_view list;
    parameters from;
    if (!ons_origin_folded_names(in, name, &list)) return NULL;
    ONS_TRY(list_parameters(in, list, &from));
    bool moved = is_moved(name, &from);
    value->origin = from.count == 0 ? ONS_ORIGIN_CONSTANT : moved ? ONS_ORIGIN_MOVED : ONS_ORIGIN_COMPUTED;
    value->sources = from.names;
    if (from.count == 1 && moved) value->parameter = from.first;
    return NULL;
}
