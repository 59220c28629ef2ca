#include "engine/model/type_text.h"

#include <inttypes.h>

#include "engine/model/sample_axes.h"

const char *ons_type_text(ons_arena *arena, const ons_type *type, const char *const *symbols) {
    char *text = ons_arena_format(arena, "%s[", ons_dtype_name(type->dtype));
    for (uint32_t i = 0; text != NULL && i < type->shape.rank; ++i) {
        const char *comma = i == 0 ? "" : ",";
        if (type->shape.dims[i] >= 0)
            text = ons_arena_format(arena, "%s%s%" PRId64, text, comma, type->shape.dims[i]);
        else
            text = ons_arena_format(arena, "%s%s%s", text, comma,
                                    symbols == NULL || symbols[i] == NULL ? "?" : symbols[i]);
    }
    text = text == NULL ? NULL : ons_arena_format(arena, "%s]", text);
    return text == NULL ? "" : text;
}

const char *ons_value_type_text(ons_arena *arena, const ons_graph *graph, ons_value_id id) {
    const char *const *symbols = NULL;
    for (size_t i = 0; graph->symbols != NULL && i < graph->inputs.count; ++i)
        if (graph->inputs.items[i] == id) symbols = graph->symbols[i];
    return ons_type_text(arena, &ons_graph_value(graph, id)->type, symbols);
}

const char *ons_input_type_text(ons_arena *arena, const ons_model *model, size_t input) {
    const ons_graph *graph = model->graph;
    const ons_type *fed = &ons_graph_value(graph, graph->inputs.items[input])->type;
    uint32_t axis = ons_input_samples_of(model, input).axis;
    const char *symbols[ONS_RANK_MAX] = {NULL};
    ons_type type = *fed;
    for (uint32_t i = 0; i < type.shape.rank; ++i) {
        uint32_t from = i == axis ? 0 : i < axis ? i + 1 : i;
        type.shape.dims[i] = fed->shape.dims[from];
        symbols[i] = graph->symbols == NULL ? NULL : graph->symbols[input][from];
    }
    return ons_type_text(arena, &type, symbols);
}
