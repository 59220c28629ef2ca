#include "onnx_import/import.h"

#include <stdlib.h>
#include <string.h>

#include "onnx_import/copies.h"
#include "onnx_import/importer.h"
#include "onnx_import/needed.h"

static ons_status *check_opset(const scope *s) {
    const Onnx__ModelProto *model = s->in->file->model;
    int64_t version = ons_scope_opset(s, "");
    if (version == 0 && model->n_opset_import == 0) version = 1; /* files from before IR version 3 say nothing */
    ONS_CHECK(version == 0 || version >= ONS_OPSET_MIN, ONS_UNSUPPORTED,
              "the model uses opset %lld, onstage knows %d to %d; export it with a newer opset, or convert it (the "
              "onnx package "
              "has a version_converter)",
              (long long)version, ONS_OPSET_MIN, ONS_OPSET_MAX);
    ONS_CHECK(version <= ONS_OPSET_MAX, ONS_UNSUPPORTED,
              "the model uses opset %lld, onstage knows %d to %d; export it with opset_version=%d", (long long)version,
              ONS_OPSET_MIN, ONS_OPSET_MAX, ONS_OPSET_MAX);
    return NULL;
}

/* ----------------------------------------------------------------------------------------------- inputs and outputs */

static ons_status *read_input(scope *s, const Onnx__ValueInfoProto *info, ons_type *type,
                              const char *symbols[static ONS_RANK_MAX]) {
    ONS_TRY(ons_value_info_type(info, s->graph->arena, type, symbols));
    ONS_CHECK(type->dtype != ONS_NO_DTYPE, ONS_UNSUPPORTED, "the file states no type for it");
    return NULL;
}

static ons_status *import_input(scope *s, const Onnx__ValueInfoProto *info) {
    const char *name = ons_text(info->name);
    ons_type type;
    ons_value_id id;
    const char *symbols[ONS_RANK_MAX];
    ons_status *problem = read_input(s, info, &type, symbols);
    if (problem != NULL) {
        ONS_TRY(ons_import_note(s->in, problem, "input", name, ""));
        return ons_scope_add(s, name, ONS_ACTIVATION, &(ons_type){.dtype = ONS_NO_DTYPE}, &id);
    }
    ONS_TRY(ons_scope_add(s, name, ONS_INPUT, &type, &id));
    memcpy(s->graph->symbols[s->graph->inputs.count], symbols, sizeof symbols);
    ONS_PUSH(&s->graph->inputs, id);
    return NULL;
}

static ons_status *import_inputs(scope *s, const Onnx__GraphProto *proto) {
    ONS_NEW(s->graph->symbols, s->graph->arena, proto->n_input + 1);
    for (size_t i = 0; i < proto->n_input; ++i) {
        const char *name = ons_text(proto->input[i]->name);
        uint32_t before = ons_map_get(&s->names, name);
        if (before == ONS_MAP_ABSENT)
            ONS_TRY_AT(import_input(s, proto->input[i]), "input '%s'", name);
        else /* an initialiser, listed once more */
            ONS_CHECK(ons_graph_value(s->graph, before)->kind != ONS_INPUT, ONS_INVALID_MODEL,
                      "the input '%s' is there twice", name);
    }
    return NULL;
}

static ons_status *import_outputs(scope *s, const Onnx__GraphProto *proto) {
    const ons_import_options *options = s->in->options;
    size_t count = options->output_count > 0 ? options->output_count : proto->n_output;
    for (size_t i = 0; i < count; ++i) {
        const char *name = options->output_count > 0 ? options->outputs[i] : ons_text(proto->output[i]->name);
        uint32_t value = ons_map_get(&s->names, name);
        ONS_CHECK(value != ONS_MAP_ABSENT, ONS_INVALID_MODEL, "nothing makes the model's output '%s'", name);
        ONS_PUSH(&s->graph->outputs, value);
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------------- all */

/* Whether a node makes the tensor. */
static bool is_made(const Onnx__GraphProto *graph, const char *name) {
    for (size_t i = 0; i < graph->n_node; ++i)
        for (size_t k = 0; k < graph->node[i]->n_output; ++k)
            if (strcmp(graph->node[i]->output[k], name) == 0) return true;
    return false;
}

/* in->needed, where the options name outputs. */
static ons_status *find_needed(importer *in, const Onnx__GraphProto *graph) {
    const ons_import_options *o = in->options;
    bool *needed;
    if (o->output_count == 0) return NULL;
    for (size_t i = 0; i < o->output_count; ++i)
        ONS_CHECK(is_made(graph, o->outputs[i]), ONS_INVALID_ARGUMENT,
                  "no node of the model makes the tensor '%s' that is asked for as output", o->outputs[i]);
    ONS_NEW(needed, in->top->arena, graph->n_node + 1);
    in->needed = needed;
    return ons_needed_nodes(graph, o->outputs, o->output_count, needed);
}

static ons_status *import_graph(scope *s, const Onnx__GraphProto *proto) {
    ONS_TRY(check_opset(s));
    ONS_TRY(ons_functions_index(s->in));
    ONS_TRY(ons_origins_read(s->in, proto));
    ONS_TRY(ons_initialisers_import(s, proto));
    ONS_TRY(ons_merges_find(s->in));
    ONS_TRY(ons_derived_import(s, proto));
    ONS_TRY(ons_copies_import(s));
    ONS_TRY(ons_shards_import(s));
    ONS_TRY(import_inputs(s, proto));
    ONS_TRY(find_needed(s->in, proto));
    ONS_TRY(ons_import_nodes(s, proto->node, proto->n_node));
    ONS_TRY(import_outputs(s, proto));
    ONS_TRY(ons_untied_check(s->in));
    ONS_TRY(ons_lost_biases_find(s->in));
    ONS_TRY(ons_lost_find(s));
    return ons_roles_assign(s->in);
}

static void forget_last_import(ons_model_file *file) {
    for (size_t i = 0; i < file->branches.count; ++i) ons_graph_free(file->branches.items[i]);
    file->branches.count = 0;
    for (size_t i = 0; i < file->attributes.count; ++i)
        onnx__attribute_proto__free_unpacked(file->attributes.items[i], NULL);
    file->attributes.count = 0;
    file->untied.count = 0;
    file->derived.count = 0;
    file->sharded.count = 0;
    file->stated.count = 0;
    ons_map_free(&file->stated_names);
    file->merges.count = 0;
    file->lost_biases = 0;
    file->lost.count = 0;
    file->unclear.count = 0;
    file->untold_copies = 0;
}

ons_status *ons_import(ons_model_file *file, const ons_registry *registry, const ons_import_options *options,
                       ons_store *store, ons_blockers *blockers, ons_graph **graph) {
    static const ons_import_options none = {0};
    size_t blocker_count = blockers == NULL ? 0 : blockers->count;
    forget_last_import(file);
    importer in = {.file = file,
                   .registry = registry,
                   .options = options == NULL ? &none : options,
                   .store = store,
                   .blockers = blockers};
    const Onnx__GraphProto *proto = file->model->graph;
    ONS_TRY(ons_graph_new(store, ons_text(proto->name), &in.top));
    scope s = {.in = &in, .graph = in.top, .prefix = ""};
    ons_status *status = import_graph(&s, proto);
    ons_scope_free(&s);
    ons_map_free(&in.functions);
    ons_map_free(&in.call_prefixes);
    ons_map_free(&in.declared);
    ons_map_free(&in.folded_by_exporter);
    ons_map_free(&in.stated_at);
    ons_map_free(&in.name_numbers);
    ons_vector_free(&in.file_nodes);
    ons_vector_free(&in.initialisers);
    ons_vector_free(&in.parts);
    ons_vector_free(&in.parameters);
    ons_vector_free(&in.results);
    if (status != NULL) {
        ons_graph_free(in.top); /* and the texts of blockers with it */
        if (blockers != NULL) blockers->count = blocker_count;
        return ons_status_at(status, "%s", file->path);
    }
    *graph = in.top;
    return NULL;
}
