/* Initialisers that the exporter made by moving elements of a weight about: one that it repeated (a token, for each
 * sample of a batch of fixed size), one that it transposed beside the original (a head tied to an embedding). In the
 * file they are tensors of their own; here they are made from the weight by a node again, so that all of its elements
 * are trained as one. The exporter writes the file back as it was (ons_derived_fill).
 *
 * Contents decide: slices along an axis that are all equal, a matrix that is the transpose of another. Weights that are
 * equal by chance look so only while they hold one number all over; those count where the file tells what they are. */
#include "onnx_import/importer.h"

#include <stdlib.h>
#include <string.h>

#include "graph/passes/names.h"

typedef struct deriving {
    scope *s;
    ons_graph *graph;
    int64_t batch; /* of the file, where that is a number above 1; 0 */
} deriving;

/* --------------------------------------------------------------------------------------------------------- contents */

static void unravel(const ons_shape *shape, int64_t number, int64_t index[static ONS_RANK_MAX]) {
    for (uint32_t axis = shape->rank; axis-- > 0; number /= shape->dims[axis]) index[axis] = number % shape->dims[axis];
}

static int64_t ravel(const ons_shape *shape, const int64_t *index) {
    int64_t number = 0;
    for (uint32_t axis = 0; axis < shape->rank; ++axis) number = number * shape->dims[axis] + index[axis];
    return number;
}

static const ons_tensor *contents(const deriving *d, ons_value_id id) {
    const ons_tensor *tensor = ons_store_get(d->graph->store, ons_graph_value(d->graph, id)->data);
    return tensor == NULL || tensor->data == NULL ? NULL : tensor;
}

/* Whether all slices along the axis hold the same. */
static bool repeats_along(const ons_tensor *tensor, uint32_t axis) {
    const ons_shape *shape = &tensor->type.shape;
    size_t slice = ons_dtype_size(tensor->type.dtype);
    int64_t outer = 1, count = shape->dims[axis];
    for (uint32_t i = 0; i < axis; ++i) outer *= shape->dims[i];
    for (uint32_t i = axis + 1; i < shape->rank; ++i) slice *= (size_t)shape->dims[i];
    bool repeats = count > 1;
    for (int64_t i = 0; i < outer && repeats; ++i) {
        const char *run = (const char *)tensor->data + (size_t)(i * count) * slice;
        repeats = memcmp(run, run + slice, (size_t)(count - 1) * slice) == 0;
    }
    return repeats;
}

/* ------------------------------------------------------------------------------------------------------------ edits */

/* Element (i, j, …) of the file's tensor is element i · strides[0] + j · strides[1] + … of the weight. */
static ons_status *add_derived(const deriving *d, const char *name, const char *source, const ons_type *type,
                               const int64_t *strides) {
    ons_model_file *file = d->s->in->file;
    ons_derived derived = {.name = ons_arena_copy_text(file->arena, name),
                           .source = ons_arena_copy_text(file->arena, source),
                           .type = *type};
    if (derived.name == NULL || derived.source == NULL) return ons_status_out_of_memory();
    memcpy(derived.strides, strides, type->shape.rank * sizeof *strides);
    ONS_PUSH(&file->derived, derived);
    return NULL;
}

/* A node in front of all of the file's. */
static ons_status *add_node(const deriving *d, ons_role role, const char *name, const ons_attribute *attributes,
                            const ons_value_id *inputs, uint32_t input_count, ons_value_id output) {
    const ons_operator *op = ons_registry_role(d->s->in->registry, role);
    ons_node_id node;
    ONS_TRY(ons_import_add_node(d->s, op, name, attributes, inputs, input_count, 1, ONS_NO_FILE_NODE, &node));
    ons_graph_set_output(d->graph, node, 0, output);
    return NULL;
}

void ons_import_make_activation(scope *s, ons_value_id id) {
    importer *in = s->in;
    ons_value *value = ons_graph_value(s->graph, id);
    value->kind = ONS_ACTIVATION;
    value->type = (ons_type){.dtype = ONS_NO_DTYPE};
    value->data = ONS_NO_DATA;
    size_t kept = 0;
    for (size_t i = 0; i < in->initialisers.count; ++i)
        if (in->initialisers.items[i] != id) in->initialisers.items[kept++] = in->initialisers.items[i];
    in->initialisers.count = kept;
}

/* ---------------------------------------------------------------------------------------------------------- repeats */

/* The weight's shape: 1 where the file's tensor repeats. */
static bool find_repeated(const deriving *d, const ons_value *value, const ons_tensor *tensor, ons_shape *shape) {
    bool told = value->origin == ONS_ORIGIN_MOVED, one = ons_tensor_holds_one_number(tensor), found = false;
    if (!told && (one || value->origin != ONS_ORIGIN_UNKNOWN || !ons_is_result_name(value->name))) return false;
    *shape = tensor->type.shape;
    for (uint32_t axis = 0; axis < shape->rank; ++axis) {
        bool batch = d->batch > 1 && tensor->type.shape.dims[axis] == d->batch;
        if ((one || !told) && (!batch || found)) continue; /* any axis repeats, or this one by chance */
        if (!repeats_along(tensor, axis)) continue;
        shape->dims[axis] = 1;
        found = true;
    }
    return found;
}

static ons_status *pick_weight(const ons_tensor *tensor, const ons_shape *shape, ons_store *store, ons_data_id *data) {
    char *bytes;
    ons_type type = ons_type_make(tensor->type.dtype, *shape);
    size_t size = ons_dtype_size(type.dtype);
    ONS_TRY(ons_store_add(store, &type, (void **)&bytes, data));
    int64_t index[ONS_RANK_MAX];
    for (int64_t i = 0; i < ons_shape_elements(shape); ++i) {
        unravel(shape, i, index);
        memcpy(bytes + (size_t)i * size, (const char *)tensor->data + (size_t)ravel(&tensor->type.shape, index) * size,
               size);
    }
    return NULL;
}

static ons_status *add_shape(const deriving *d, const ons_shape *shape, ons_value_id *id) {
    ons_type type = ons_type_make(ONS_INT64, ons_shape_make(1, &(int64_t){shape->rank}));
    int64_t *dims;
    ons_data_id data;
    ONS_TRY(ons_store_add(d->graph->store, &type, (void **)&dims, &data));
    memcpy(dims, shape->dims, shape->rank * sizeof *dims);
    ONS_TRY(ons_graph_add_value(d->graph, NULL, ONS_CONSTANT, &type, id));
    ons_graph_value(d->graph, *id)->data = data;
    ons_graph_value(d->graph, *id)->reason = ONS_FROM_CONSTANT_NODE;
    return NULL;
}

/* The initialiser keeps its name and its place among the weights; what reads it reads the repeated one. */
static ons_status *repeat(const deriving *d, ons_value_id id, const ons_tensor *tensor, const ons_shape *shape) {
    const ons_type whole = tensor->type;
    const char *name = ons_graph_value(d->graph, id)->name, *repeated_name;
    int64_t strides[ONS_RANK_MAX], stride = 1;
    for (uint32_t axis = shape->rank; axis-- > 0; stride *= shape->dims[axis])
        strides[axis] = shape->dims[axis] == 1 ? 0 : stride;
    ons_data_id data;
    ONS_TRY(pick_weight(tensor, shape, d->graph->store, &data));
    ons_graph_value(d->graph, id)->type.shape = *shape;
    ons_graph_value(d->graph, id)->data = data;
    ons_graph_value(d->graph, id)->repeated = true;
    ons_value_id inputs[2] = {id}, repeated;
    ONS_TRY(add_shape(d, &whole.shape, &inputs[1]));
    ONS_FORMAT(repeated_name, d->graph->arena, "%s/repeated", name);
    static const ons_type unknown = {.dtype = ONS_NO_DTYPE};
    ONS_TRY(ons_graph_add_value(d->graph, repeated_name, ONS_ACTIVATION, &unknown, &repeated));
    ONS_TRY(add_node(d, ONS_ROLE_EXPAND, repeated_name, NULL, inputs, 2, repeated));
    ONS_TRY(ons_map_set(&d->s->names, name, repeated));
    return add_derived(d, name, name, &whole, strides);
}

/* ------------------------------------------------------------------------------------------------------- transposes */

/* What the file says to be elements of one parameter copies.c puts together. */
static bool are_of_one_parameter(const ons_value *a, const ons_value *b) {
    return a->parameter != NULL && b->parameter != NULL && strcmp(a->parameter, b->parameter) == 0;
}

/* A weight whose transpose the matrix is; ONS_NONE. */
static ons_value_id find_original(const deriving *d, ons_value_id id, const ons_tensor *tensor) {
    const importer *in = d->s->in;
    for (size_t i = 0; i < in->initialisers.count; ++i) {
        ons_value_id other = in->initialisers.items[i];
        const ons_value *value = ons_graph_value(d->graph, other);
        const ons_tensor *original = contents(d, other);
        if (other != id && value->kind == ONS_PARAMETER && !ons_is_result_name(value->name) && original != NULL &&
            !are_of_one_parameter(value, ons_graph_value(d->graph, id)) && ons_tensor_is_transpose(original, tensor))
            return other;
    }
    return ONS_NONE;
}

static ons_status *transpose(const deriving *d, ons_value_id id, ons_value_id original) {
    const ons_type whole = ons_graph_value(d->graph, id)->type;
    const char *name = ons_graph_value(d->graph, id)->name, *node_name;
    const int64_t strides[2] = {1, whole.shape.dims[0]};
    ONS_FORMAT(node_name, d->graph->arena, "%s/transposed", name);
    ons_import_make_activation(d->s, id);
    /* Without its attribute the operator reverses the axes. */
    ONS_TRY(add_node(d, ONS_ROLE_TRANSPOSE, node_name, NULL, &original, 1, id));
    return add_derived(d, name, ons_graph_value(d->graph, original)->name, &whole, strides);
}

/* -------------------------------------------------------------------------------------------------------------- all */

static int64_t find_batch(const Onnx__GraphProto *graph) {
    for (size_t i = 0; i < graph->n_input; ++i) {
        const Onnx__TypeProto *type = graph->input[i]->type;
        const Onnx__TensorShapeProto *shape =
            type == NULL || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? NULL : type->tensor_type->shape;
        if (shape != NULL && shape->n_dim > 0 &&
            shape->dim[0]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            return shape->dim[0]->dim_value;
    }
    return 0;
}

static bool is_candidate(const deriving *d, ons_value_id id) {
    const ons_value *value = ons_graph_value(d->graph, id);
    bool told = value->origin == ONS_ORIGIN_MOVED;
    return value->kind == ONS_PARAMETER && (told || ons_is_result_name(value->name)) &&
           ons_shape_elements(&value->type.shape) > 1;
}

static ons_status *derive(const deriving *d, ons_value_id id) {
    const ons_tensor *found = contents(d, id);
    ons_shape shape;
    if (found == NULL || !is_candidate(d, id)) return NULL;
    const ons_tensor tensor = *found; /* the store grows below */
    if (find_repeated(d, ons_graph_value(d->graph, id), &tensor, &shape)) return repeat(d, id, &tensor, &shape);
    ons_value_id original = tensor.type.shape.rank == 2 ? find_original(d, id, &tensor) : ONS_NONE;
    return original == ONS_NONE ? NULL : transpose(d, id, original);
}

ons_status *ons_derived_import(scope *s, const Onnx__GraphProto *graph) {
    const ons_registry *registry = s->in->registry;
    if (ons_registry_role(registry, ONS_ROLE_EXPAND) == NULL || ons_registry_role(registry, ONS_ROLE_TRANSPOSE) == NULL)
        return NULL;
    deriving d = {.s = s, .graph = s->graph, .batch = find_batch(graph)};
    for (size_t i = 0; i < s->in->initialisers.count;) {
        ons_value_id id = s->in->initialisers.items[i];
        ONS_TRY(derive(&d, id));
        /* Deriving may have taken it out of the list. */
        if (i < s->in->initialisers.count && s->in->initialisers.items[i] == id) ++i;
    }
    return NULL;
}

void ons_derived_fill(const ons_derived *derived, const void *source, int64_t offset, void *buffer, size_t bytes) {
    size_t size = ons_dtype_size(derived->type.dtype);
    int64_t index[ONS_RANK_MAX];
    for (size_t done = 0; done < bytes;) {
        size_t at = (size_t)offset + done, within = at % size;
        size_t part = size - within < bytes - done ? size - within : bytes - done;
        int64_t element = derived->index != NULL ? derived->index[at / size] : 0;
        if (derived->index == NULL) unravel(&derived->type.shape, (int64_t)(at / size), index);
        for (uint32_t axis = 0; axis < derived->type.shape.rank && derived->index == NULL; ++axis)
            element += index[axis] * derived->strides[axis];
        if (element >= 0)
            memcpy((char *)buffer + done, (const char *)source + (size_t)element * size + within, part);
        else
            memset((char *)buffer + done, 0, part);
        done += part;
    }
}

const ons_derived *ons_derived_find(const ons_model_file *file, const char *name) {
    for (size_t i = 0; i < file->derived.count; ++i)
        if (strcmp(file->derived.items[i].name, name) == 0) return &file->derived.items[i];
    return NULL;
}

size_t ons_derived_count(const ons_model_file *file) { return file->derived.count; }

const ons_derived *ons_derived_at(const ons_model_file *file, size_t index) { return &file->derived.items[index]; }
