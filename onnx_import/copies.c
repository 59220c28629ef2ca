/* Numbers of one parameter that an exporter has written several times: in several initialisers (a layer that is applied
 * three times gets three transposed copies), or several times in one (a table of relative positions, looked up). The
 * file says of which parameter an initialiser's elements are; contents say which elements are the same. Where they do,
 * all are made of one weight again by nodes in front of the file's, as in derived.c; where they do not, it is noted. */
#include "onnx_import/copies.h"

#include <string.h>

#include "graph/passes/names.h"
#include "onnx_import/contents.h"

enum { NO_MEMBER = 0x7fffffff };
/* Tensors of one parameter whose contents are compared, each with each: a parameter in more places is noted as it is.
 */
enum { GROUP_MAX = 64, JOINS_MAX = 1024 };

/* An initialiser with elements of a parameter. */
typedef struct member {
    ons_value_id id;
    size_t of; /* the member that it is a view of; NO_MEMBER */
    int64_t offset, strides[ONS_RANK_MAX];
} member;

typedef struct copies {
    scope *s;
    importer *in;
    ons_graph *graph;
    const ons_operator *look_up;
    ONS_VECTOR(member) group; /* of one parameter */
} copies;

static const ons_value *value_of(const copies *c, ons_value_id id) { return ons_graph_value(c->graph, id); }

static const ons_tensor *contents_of(const copies *c, ons_value_id id) {
    const ons_tensor *tensor = ons_store_get(c->graph->store, value_of(c, id)->data);
    return tensor == NULL || tensor->data == NULL ? NULL : tensor;
}

/* ----------------------------------------------------------------------------------------------- what the file says */

/* Whether the name is a function's result: "index", "index_3". */
static bool is_one_of(const char *name, const char *const *makers, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        size_t length = strlen(makers[i]);
        if (strncmp(name, makers[i], length) != 0) continue;
        const char *rest = name + length;
        if (*rest == '\0' || (*rest == '_' && rest[1] != '\0' && rest[1 + strspn(rest + 1, "0123456789")] == '\0'))
            return true;
    }
    return false;
}

/* Functions that may put one number in several places, or only into some. */
static bool may_repeat(const char *name) {
    static const char *const makers[] = {
        "index",  "index_select", "embedding",  "gather", "take", "repeat",         "repeat_interleave",
        "expand", "tile",         "as_strided", "unfold", "roll", "take_along_dim", "stack",
        "cat"};
    return is_one_of(name, makers, sizeof makers / sizeof makers[0]);
}

static bool may_pad(const char *name) {
    static const char *const makers[] = {"pad", "constant_pad_nd"};
    return is_one_of(name, makers, sizeof makers / sizeof makers[0]);
}

static bool may_cut(const char *name) {
    static const char *const makers[] = {"slice", "select",       "split",        "split_with_sizes",
                                         "chunk", "unbind",       "narrow",       "getitem",
                                         "index", "index_select", "unsafe_split", "unsafe_chunk"};
    return is_one_of(name, makers, sizeof makers / sizeof makers[0]);
}

/* Whether the exporter has made the initialiser by such a function, among others. */
static bool was_made_by(const copies *c, const char *name, bool (*is)(const char *name)) {
    ons_text_view list, item;
    char text[64];
    if (is(name)) return true;
    if (!ons_origin_folded_names(c->in, name, &list)) return false;
    for (size_t at = 0; ons_quoted_next(list, &at, &item);) {
        if (item.size >= sizeof text) continue;
        memcpy(text, item.text, item.size);
        text[item.size] = '\0';
        if (is(text)) return true;
    }
    return false;
}

/* The parameter whose elements the initialiser holds; NULL. */
static const char *parameter_of(const copies *c, ons_value_id id) {
    const ons_value *value = value_of(c, id);
    if (value->kind != ONS_PARAMETER || value->repeated || contents_of(c, id) == NULL) return NULL;
    if (value->origin == ONS_ORIGIN_PARAMETER) return value->name;
    return value->origin == ONS_ORIGIN_MOVED ? value->parameter : NULL;
}

/* ------------------------------------------------------------------------------------------------------------ edits */

static ons_status *note_untold(const copies *c, ons_value_id id) {
    ons_model_file *file = c->in->file;
    if (file->untold_copies++ > 0) return NULL;
    file->untold_copy = ons_arena_copy_text(file->arena, value_of(c, id)->name);
    return file->untold_copy == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *add_integers(const copies *c, const int64_t *numbers, const ons_shape *shape, ons_value_id *id) {
    ons_type type = ons_type_make(ONS_INT64, *shape);
    void *bytes;
    ons_data_id data;
    ONS_TRY(ons_store_add(c->graph->store, &type, &bytes, &data));
    memcpy(bytes, numbers, (size_t)ons_type_dense_bytes(&type));
    ONS_TRY(ons_graph_add_value(c->graph, NULL, ONS_CONSTANT, &type, id));
    ons_graph_value(c->graph, *id)->data = data;
    ons_graph_value(c->graph, *id)->reason = ONS_FROM_CONSTANT_NODE;
    ons_graph_value(c->graph, *id)->origin = ONS_ORIGIN_CONSTANT;
    return NULL;
}

static ons_status *add_node(const copies *c, const ons_operator *op, const char *name, const ons_value_id *inputs,
                            uint32_t input_count, ons_value_id output) {
    ons_node_id node;
    ONS_TRY(ons_import_add_node(c->s, op, name, NULL, inputs, input_count, 1, ONS_NO_FILE_NODE, &node));
    ons_graph_set_output(c->graph, node, 0, output);
    return NULL;
}

static ons_status *add_activation(const copies *c, const char *name, const char *what, ons_value_id *id) {
    static const ons_type unknown = {.dtype = ONS_NO_DTYPE};
    const char *full;
    ONS_FORMAT(full, c->graph->arena, "%s/%s", name, what);
    return ons_graph_add_value(c->graph, full, ONS_ACTIVATION, &unknown, id);
}

static ons_status *remember(const copies *c, const char *name, const char *source, const ons_type *type,
                            const int64_t *index) {
    ons_model_file *file = c->in->file;
    ons_derived derived = {.name = ons_arena_copy_text(file->arena, name),
                           .source = ons_arena_copy_text(file->arena, source),
                           .type = *type,
                           .index = index};
    if (derived.name == NULL || derived.source == NULL) return ons_status_out_of_memory();
    ONS_PUSH(&file->derived, derived);
    return NULL;
}

/* Zero in the place of the elements that are no weight's. */
static ons_status *add_margin(const copies *c, const char *name, const ons_type *type, const int64_t *index,
                              ons_value_id looked_up, ons_value_id result) {
    ons_value_id inputs[3] = {ONS_NONE, looked_up, ONS_NONE};
    const ons_type flags = ons_type_make(ONS_BOOL, type->shape),
                   number = ons_type_make(type->dtype, ons_shape_make(0, NULL));
    void *bytes;
    ons_data_id data;
    ONS_TRY(ons_store_add(c->graph->store, &flags, &bytes, &data));
    for (int64_t i = 0, n = ons_shape_elements(&type->shape); i < n; ++i) ((uint8_t *)bytes)[i] = index[i] >= 0;
    ONS_TRY(ons_graph_add_value(c->graph, NULL, ONS_CONSTANT, &flags, &inputs[0]));
    ons_graph_value(c->graph, inputs[0])->data = data;
    ons_graph_value(c->graph, inputs[0])->reason = ONS_FROM_CONSTANT_NODE;
    ONS_TRY(ons_store_add(c->graph->store, &number, &bytes, &data));
    ONS_TRY(ons_graph_add_value(c->graph, NULL, ONS_CONSTANT, &number, &inputs[2]));
    ons_graph_value(c->graph, inputs[2])->data = data;
    ons_graph_value(c->graph, inputs[2])->reason = ONS_FROM_CONSTANT_NODE;
    return add_node(c, ons_registry_role(c->in->registry, ONS_ROLE_SELECT), name, inputs, 3, result);
}

/* `result`, of that type in the file, from elements of the weight, which has that rank. */
static ons_status *look_up(const copies *c, const char *name, const ons_type *type, ons_value_id weight, uint32_t rank,
                           const int64_t *index, ons_value_id result) {
    ons_value_id inputs[2] = {weight}, shape[2] = {weight}, looked_up = result;
    const char *node;
    const int64_t all = -1, one = 1, count = ons_shape_elements(&type->shape);
    bool margin = false;
    int64_t *places;
    ONS_NEW(places, c->graph->arena, count + 1);
    for (int64_t i = 0; i < count; ++i) {
        places[i] = index[i] < 0 ? 0 : index[i];
        margin |= index[i] < 0;
    }
    if (rank != 1) {
        const ons_shape line = ons_shape_make(1, &one);
        ONS_TRY(add_integers(c, &all, &line, &shape[1]));
        ONS_TRY(add_activation(c, name, "flat", &inputs[0]));
        ONS_FORMAT(node, c->graph->arena, "%s/flat", name);
        ONS_TRY(add_node(c, ons_registry_role(c->in->registry, ONS_ROLE_RESHAPE), node, shape, 2, inputs[0]));
    }
    ONS_TRY(add_integers(c, places, &type->shape, &inputs[1]));
    ONS_FORMAT(node, c->graph->arena, "%s/looked_up", name);
    if (margin) ONS_TRY(add_activation(c, name, "looked_up", &looked_up));
    ONS_TRY(add_node(c, c->look_up, node, inputs, 2, looked_up));
    return margin ? add_margin(c, name, type, index, looked_up, result) : NULL;
}

/* An initialiser whose numbers all others of its group are made of. */
typedef struct base {
    ons_value_id weight; /* the initialiser */
    ons_value_id whole;  /* what has its elements in the file's order: itself, or what is looked up in it */
    const char *name;
    ons_type type;        /* in the file */
    const int64_t *index; /* of each element in the weight; NULL: all in their order */
} base;

/* What is a view of the base. */
static ons_status *derive_view(const copies *c, ons_value_id id, const base *from, int64_t offset,
                               const int64_t *strides) {
    const ons_type type = value_of(c, id)->type;
    const ons_shape *shape = &type.shape, *whole = &from->type.shape;
    const char *name = value_of(c, id)->name, *node;
    int64_t *index, *places, count = ons_shape_elements(shape);
    bool same = ons_shape_equal(shape, whole);
    ONS_NEW(index, c->in->file->arena, count + 1);
    ONS_NEW(places, c->graph->arena, count + 1);
    for (int64_t k = 0; k < count; ++k) {
        int64_t rest = k;
        places[k] = offset;
        for (uint32_t axis = shape->rank; axis-- > 0; rest /= shape->dims[axis])
            places[k] += rest % shape->dims[axis] * strides[axis];
        index[k] = from->index == NULL ? places[k] : from->index[places[k]];
        same &= places[k] == k;
    }
    ONS_TRY(remember(c, name, from->name, &type, index));
    ons_import_make_activation(c->s, id);
    if (same) return ons_map_set(&c->s->names, name, from->whole);
    bool turned = shape->rank == 2 && whole->rank == 2 && offset == 0 && strides[0] == 1 &&
                  strides[1] == shape->dims[0] && count == ons_shape_elements(whole);
    ONS_FORMAT(node, c->graph->arena, "%s/transposed", name);
    const ons_operator *transpose = ons_registry_role(c->in->registry, ONS_ROLE_TRANSPOSE);
    if (turned) return add_node(c, transpose, node, &from->whole, 1, id);
    return look_up(c, name, &type, from->whole, whole->rank, places, id);
}

/* The initialiser keeps its name, and holds each of its numbers once. */
static ons_status *keep_unique(const copies *c, base *b, const int64_t *index, int64_t unique) {
    const ons_tensor tensor = *contents_of(c, b->weight);
    const ons_type line = ons_type_make(b->type.dtype, ons_shape_make(1, &unique));
    size_t size = ons_dtype_size(b->type.dtype);
    char *bytes;
    ons_data_id data;
    int64_t *kept, count = ons_shape_elements(&b->type.shape);
    ONS_NEW(kept, c->in->file->arena, count + 1);
    memcpy(kept, index, (size_t)count * sizeof *kept);
    b->index = kept;
    ONS_TRY(ons_store_add(c->graph->store, &line, (void **)&bytes, &data));
    for (int64_t k = 0; k < count; ++k)
        if (kept[k] >= 0) memcpy(bytes + (size_t)kept[k] * size, (const char *)tensor.data + (size_t)k * size, size);
    ons_value *value = ons_graph_value(c->graph, b->weight);
    value->type = line;
    value->data = data;
    value->repeated = true;
    ONS_TRY(add_activation(c, b->name, "whole", &b->whole));
    ONS_TRY(look_up(c, b->name, &b->type, b->weight, 1, kept, b->whole));
    ONS_TRY(ons_map_set(&c->s->names, b->name, b->whole));
    return remember(c, b->name, b->name, &b->type, kept);
}

/* Numbers that stand in several places of the base. A sum (of a matrix and its transpose) holds no elements. */
static ons_status *join_repeats(const copies *c, base *b) {
    const ons_value *value = value_of(c, b->weight);
    const ons_tensor *tensor = contents_of(c, b->weight);
    if (value->origin != ONS_ORIGIN_MOVED) return NULL;
    bool repeats = was_made_by(c, b->name, may_repeat), pads = was_made_by(c, b->name, may_pad);
    if (!repeats && !pads && !ons_is_shifting_name(b->name)) return NULL;
    if (ons_shape_elements(&b->type.shape) > 1 && !ons_contents_tell(tensor))
        return repeats || pads ? note_untold(c, b->weight) : NULL;
    ons_repeats found;
    int64_t *index, unique;
    ONS_TRY(ons_contents_find_repeats(tensor, pads, c->graph->arena, &found, &index, &unique));
    if (found == ONS_REPEATS_NONE) return NULL;
    if (found == ONS_REPEATS_UNSURE || (!repeats && !pads)) return note_untold(c, b->weight);
    return keep_unique(c, b, index, unique);
}

/* ----------------------------------------------------------------------------------------------------------- groups */

/* Copies of one number all over tell nothing: they are the same where nothing was cut. */
static bool is_whole_copy(const copies *c, ons_value_id id, ons_value_id from) {
    const ons_tensor *a = contents_of(c, id), *b = contents_of(c, from);
    size_t bytes = (size_t)ons_type_dense_bytes(&a->type);
    return ons_type_equal(&a->type, &b->type) && memcmp(a->data, b->data, bytes) == 0 &&
           !was_made_by(c, value_of(c, id)->name, may_cut) && !was_made_by(c, value_of(c, from)->name, may_cut);
}

static bool find_view(const copies *c, ons_value_id id, ons_value_id from, member *m) {
    const ons_shape *shape = &value_of(c, id)->type.shape;
    if (!is_whole_copy(c, id, from))
        return ons_contents_find_view(contents_of(c, from), contents_of(c, id), &m->offset, m->strides);
    int64_t stride = 1;
    m->offset = 0;
    for (uint32_t axis = shape->rank; axis-- > 0; stride *= shape->dims[axis]) m->strides[axis] = stride;
    return true;
}

/* Which of the group are views of another; of two that are the same the first stays. */
static void find_views(copies *c) {
    for (size_t i = c->group.count; i-- > 0;) {
        member *m = &c->group.items[i];
        if (value_of(c, m->id)->origin == ONS_ORIGIN_PARAMETER) continue; /* has its own name, and others read it */
        int64_t size = ons_shape_elements(&value_of(c, m->id)->type.shape);
        for (size_t k = 0; k < c->group.count && m->of == NO_MEMBER; ++k) {
            const member *other = &c->group.items[k];
            bool fits = k != i && other->of == NO_MEMBER &&
                        (k < i || ons_shape_elements(&value_of(c, other->id)->type.shape) > size);
            if (fits && find_view(c, m->id, other->id, m)) m->of = k;
        }
    }
}

/* Slices that are one number all over are equal for no reason: an exporter that writes equal tensors once has taken
 * several of them for one. */
static bool may_be_merged(const copies *c, ons_value_id id) {
    const Onnx__GraphProto *graph = c->in->file->model->graph;
    const char *name = value_of(c, id)->name;
    size_t reads = 0;
    if (value_of(c, id)->origin != ONS_ORIGIN_MOVED || !ons_tensor_holds_one_number(contents_of(c, id)) ||
        ons_shape_elements(&value_of(c, id)->type.shape) < 2 || !was_made_by(c, name, may_cut))
        return false;
    for (size_t i = 0; i < graph->n_node; ++i)
        for (size_t k = 0; k < graph->node[i]->n_input; ++k) reads += strcmp(graph->node[i]->input[k], name) == 0;
    return reads > 1;
}

/* What two have in common though neither is a part of the other, or may have. */
static ons_status *note_overlaps(const copies *c) {
    for (size_t i = 0; i < c->group.count; ++i)
        for (size_t k = 0; k < i && c->group.items[i].of == NO_MEMBER; ++k) {
            bool overlap = false;
            const member *a = &c->group.items[k], *b = &c->group.items[i];
            if (a->of == NO_MEMBER)
                ONS_TRY(ons_contents_overlap(contents_of(c, a->id), contents_of(c, b->id), &overlap));
            if (!overlap && !(was_made_by(c, value_of(c, b->id)->name, may_repeat) &&
                              ons_contents_are_plain(contents_of(c, b->id))))
                continue;
            ONS_TRY(note_untold(c, b->id));
            break;
        }
    return NULL;
}

/* A parameter beside the same one plus or minus a number (a and 1 - a): the contents have no number in common. */
static ons_status *note_shifted(const copies *c) {
    for (size_t i = 0; i < c->group.count; ++i) {
        const char *name = value_of(c, c->group.items[i].id)->name;
        bool cut = was_made_by(c, name, may_cut), beside = false;
        if (c->group.items[i].of != NO_MEMBER || !was_made_by(c, name, ons_is_shifting_name)) continue;
        for (size_t k = 0; k < c->group.count && !beside; ++k)
            beside = k != i && c->group.items[k].of == NO_MEMBER &&
                     !(cut && was_made_by(c, value_of(c, c->group.items[k].id)->name, may_cut));
        if (beside) ONS_TRY(note_untold(c, c->group.items[i].id));
    }
    return NULL;
}

static ons_status *join_group(copies *c) {
    if (c->group.count > GROUP_MAX) return note_untold(c, c->group.items[0].id);
    find_views(c);
    ONS_TRY(note_overlaps(c));
    ONS_TRY(note_shifted(c));
    for (size_t k = 0; k < c->group.count; ++k) {
        const member *m = &c->group.items[k];
        const ons_value *value = value_of(c, m->id);
        if (m->of != NO_MEMBER) continue;
        if (may_be_merged(c, m->id)) ONS_TRY(note_untold(c, m->id));
        base b = {.weight = m->id, .whole = m->id, .name = value->name, .type = value->type};
        ONS_TRY(join_repeats(c, &b));
        for (size_t i = 0; i < c->group.count; ++i) {
            const member *view = &c->group.items[i];
            if (view->of == k) ONS_TRY(derive_view(c, view->id, &b, view->offset, view->strides));
        }
    }
    return NULL;
}

/* Those whose elements are the parameter's: first what has the parameter's own name. */
static ons_status *find_group(copies *c, const char *parameter) {
    c->group.count = 0;
    for (int own = 1; own >= 0; --own)
        for (size_t i = 0; i < c->in->initialisers.count; ++i) {
            ons_value_id id = c->in->initialisers.items[i];
            const char *its = parameter_of(c, id);
            if (its == NULL || strcmp(parameter, its) != 0 || (value_of(c, id)->origin == ONS_ORIGIN_PARAMETER) != own)
                continue;
            ONS_PUSH(&c->group, ((member){.id = id, .of = NO_MEMBER}));
        }
    return NULL;
}

static ons_status *join_parameters(copies *c, ons_map *done) {
    for (size_t i = 0; i < c->in->initialisers.count; ++i) {
        ons_value_id first = c->in->initialisers.items[i];
        const char *parameter = parameter_of(c, first);
        if (parameter == NULL || value_of(c, first)->origin == ONS_ORIGIN_PARAMETER ||
            ons_map_get(done, parameter) != ONS_MAP_ABSENT)
            continue; /* what has its parameter's name alone is no copy */
        ONS_TRY(ons_map_set(done, parameter, 0));
        ONS_TRY(find_group(c, parameter));
        ONS_TRY(join_group(c));
        if (i < c->in->initialisers.count && c->in->initialisers.items[i] != first) --i; /* no longer an initialiser */
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ joins */

/* What several parameters were put side by side in. */
static bool is_join(const copies *c, ons_value_id id) {
    const ons_value *value = value_of(c, id);
    return value->kind == ONS_PARAMETER && value->origin == ONS_ORIGIN_MOVED && value->parameter == NULL &&
           contents_of(c, id) != NULL;
}

static bool names_parameter(ons_text_view list, const char *name) {
    ons_text_view item;
    for (size_t at = 0; ons_quoted_next(list, &at, &item);)
        if (ons_text_view_equals(item, name)) return true;
    return false;
}

/* Whether the other initialiser has elements of a parameter that is in the list. */
static bool shares_parameter(const copies *c, ons_text_view list, ons_value_id other) {
    const char *parameter = parameter_of(c, other);
    ons_text_view its, item;
    char text[256];
    if (parameter != NULL) return names_parameter(list, parameter);
    if (!is_join(c, other) || !ons_origin_folded_names(c->in, value_of(c, other)->name, &its)) return false;
    for (size_t at = 0; ons_quoted_next(its, &at, &item);) {
        if (item.size >= sizeof text) continue;
        memcpy(text, item.text, item.size);
        text[item.size] = '\0';
        if (ons_map_get(&c->in->declared, text) == ONS_ORIGIN_PARAMETER && names_parameter(list, text)) return true;
    }
    return false;
}

/* A join that holds a parameter twice, or one that stands elsewhere as well. */
static ons_status *note_join(const copies *c, ons_value_id id) {
    ons_text_view list;
    ons_repeats found;
    int64_t *index, unique;
    ONS_TRY(ons_contents_find_repeats(contents_of(c, id), false, c->graph->arena, &found, &index, &unique));
    if (found != ONS_REPEATS_NONE) return note_untold(c, id);
    if (!ons_origin_folded_names(c->in, value_of(c, id)->name, &list)) return NULL;
    bool cut = was_made_by(c, value_of(c, id)->name, may_cut);
    for (size_t i = 0; i < c->in->initialisers.count; ++i) {
        ons_value_id other = c->in->initialisers.items[i];
        if (other == id || !shares_parameter(c, list, other)) continue;
        bool overlap = !cut || !was_made_by(c, value_of(c, other)->name, may_cut);
        if (!overlap) ONS_TRY(ons_contents_overlap(contents_of(c, other), contents_of(c, id), &overlap));
        if (overlap) return note_untold(c, id);
    }
    return NULL;
}

static ons_status *join_all(copies *c) {
    ons_map done = {0};
    size_t joins = 0;
    ons_status *status = NULL;
    for (size_t i = 0; i < c->in->initialisers.count && status == NULL && joins < JOINS_MAX; ++i) {
        ons_value_id id = c->in->initialisers.items[i];
        if (!is_join(c, id)) continue;
        ++joins;
        status = note_join(c, id);
    }
    if (status == NULL) status = join_parameters(c, &done);
    ons_map_free(&done);
    return status;
}

/* Of the operators that look up along an axis, the one that takes whole indices. */
static const ons_operator *find_look_up(const ons_registry *registry) {
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        const uint32_t traits = op->roles.traits & (ONS_TRAIT_ALONG_AXIS | ONS_TRAIT_TOGETHER);
        if (traits == ONS_TRAIT_ALONG_AXIS && op->opset.domain[0] == '\0' && op->arity.inputs_max == 2) return op;
    }
    return NULL;
}

ons_status *ons_copies_import(scope *s) {
    const ons_registry *registry = s->in->registry;
    copies c = {.s = s, .in = s->in, .graph = s->graph, .look_up = find_look_up(registry)};
    if (s->in->declared.count == 0 || s->in->folded_by_exporter.count == 0 || c.look_up == NULL ||
        ons_registry_role(registry, ONS_ROLE_RESHAPE) == NULL ||
        ons_registry_role(registry, ONS_ROLE_TRANSPOSE) == NULL || ons_registry_role(registry, ONS_ROLE_SELECT) == NULL)
        return NULL;
    ons_status *status = join_all(&c);
    ons_vector_free(&c.group);
    return status;
}

size_t ons_untold_copy_count(const ons_model_file *file, const char **first) {
    *first = ons_text(file->untold_copy);
    return file->untold_copies;
}
