#include "graph/passes/classify.h"

#include "graph/passes/constants.h"
#include "graph/passes/names.h"
#include "graph/passes/readers.h"
#include "graph/passes/sinusoid.h"
#include "graph/passes/tables.h"

/* Whether what an initialiser holds and how it is read may make a constant of it: not where the file says that it is a
 * parameter, or elements of one; of a weight in shards the whole has decided. */
static bool may_be_constant(const ons_value *value) {
    return value->kind == ONS_PARAMETER && value->producer == ONS_NONE && value->origin != ONS_ORIGIN_PARAMETER &&
           value->origin != ONS_ORIGIN_MOVED && value->shard == 0;
}

/* Whether nothing reads the value in another way than these. */
static bool is_read_by(const ons_graph *graph, ons_value_id id, uint32_t ways) {
    return (ons_readings(graph, id) & ~ways) == 0;
}

/* A weight is read otherwise: a bias is added, an epsilon is added below a root. */
static ons_role_reason find_scalar(const ons_graph *graph, ons_value_id id) {
    const ons_value *value = ons_graph_value(graph, id);
    bool scalar = value->data != ONS_NO_DATA && ons_dtype_is_float(value->type.dtype) &&
                  ons_shape_elements(&value->type.shape) == 1 && ons_is_constant_name(value->name) &&
                  is_read_by(graph, id, ONS_READ_ELEMENTWISE | ONS_READ_ROOTED);
    return scalar ? ONS_SCALAR : ONS_WEIGHT;
}

static ons_role_reason find_computed(const ons_graph *graph, ons_value_id id) {
    bool computed = ons_graph_value(graph, id)->origin == ONS_ORIGIN_COMPUTED &&
                    is_read_by(graph, id, ONS_READ_ADDED | ONS_READ_ELEMENTWISE | ONS_READ_ROOTED);
    return computed ? ONS_COMPUTED : ONS_WEIGHT;
}

static ons_role_reason find_filled(const ons_graph *graph, ons_value_id id) {
    const ons_value *value = ons_graph_value(graph, id);
    const ons_tensor *tensor = ons_store_get(graph->store, value->data);
    bool filled = tensor != NULL && ons_is_filled_name(value->name) && ons_tensor_holds_one_number(tensor);
    return filled ? ONS_FILLED : ONS_WEIGHT;
}

/* Each says why what may be a constant is one, or ONS_WEIGHT. The first that knows it, of all initialisers, decides. */
static ons_role_reason (*const rules[])(const ons_graph *graph, ons_value_id id) = {find_scalar, find_computed,
                                                                                    find_filled, ons_find_table};

static bool is_insisted(const ons_insistence *insistence, const ons_value *value) {
    return insistence != NULL && insistence->on(insistence->context, ons_value_name_in_file(value));
}

static void train_insisted(ons_graph *graph, const ons_insistence *insistence) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_value *value = ons_graph_value(graph, id);
        if (value->producer != ONS_NONE || value->data == ONS_NO_DATA || !ons_dtype_is_float(value->type.dtype) ||
            value->reason == ONS_STATISTICS || !is_insisted(insistence, value))
            continue;
        value->kind = ONS_PARAMETER;
        value->reason = ONS_WEIGHT;
    }
}

void ons_make_constant(ons_graph *graph, ons_value_id id, ons_role_reason reason, const ons_insistence *insistence) {
    ons_value *value = ons_graph_value(graph, id);
    if (reason == ONS_WEIGHT || is_insisted(insistence, value)) return;
    value->kind = ONS_CONSTANT;
    value->reason = reason;
}

ons_status *ons_classify(ons_graph *graph, const ons_insistence *insistence) {
    train_insisted(graph, insistence);
    ONS_TRY(ons_promote_constants(graph));
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; ++i)
        for (ons_value_id id = 0; id < graph->values.count; ++id)
            if (may_be_constant(ons_graph_value(graph, id)))
                ons_make_constant(graph, id, rules[i](graph, id), insistence);
    return ons_classify_sinusoids(graph, insistence);
}
