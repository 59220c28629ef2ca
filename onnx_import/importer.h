/* What the files of the importer share. */
#ifndef ONSTAGE_ONNX_IMPORT_IMPORTER_H
#define ONSTAGE_ONNX_IMPORT_IMPORTER_H

#include "graph/upgrade.h"
#include "onnx_import/metadata.h"
#include "onnx_import/model_parts.h"
#include "onnx_import/tensor.h"

enum {
    ONS_IMPORT_NODES_MAX = 1 << 18,   /* functions that call functions can grow without bound */
    ONS_IMPORT_CALLS_MAX = 64,        /* one inside the other */
    ONS_IMPORT_ATTRIBUTES_MAX = 1000, /* of a node */
    ONS_ORIGIN_NAMES_MAX = 3,         /* of parameters, in a message */
};

/* A value left out, as a function's input: stands in the name map, where ONS_NONE means "no such name". */
enum { ONS_LEFT_OUT_VALUE = 0xfffffffeu };

/* The attributes of a function that a call may leave out. */
typedef struct function_defaults {
    const Onnx__AttributeProto **items;
    size_t count;
} function_defaults;

/* A weight of a layer that shared it with others in the file. */
typedef struct untied_part {
    ons_value_id from; /* what the layers shared */
    ons_value_id part; /* what this layer has in its place; the first layer keeps `from` */
    uint32_t node;     /* of this layer, in the file */
} untied_part;

/* A parameter of the module: "p_fc_weight" in calls is "fc.weight" in the file. */
typedef struct declared_parameter {
    const char *program_name, *name;
} declared_parameter;

typedef struct importer {
    ons_model_file *file;
    size_t detach_work; /* nodes that were looked at for operands that the program detached: see detached.c */
    const ons_registry *registry;
    const ons_import_options *options;
    ons_store *store;
    ons_blockers *blockers; /* NULL: the first is the failure */
    ons_graph *top;
    ons_map functions;           /* "domain\nname\noverload" → index in the model */
    function_defaults *defaults; /* of each function of the model */
    ons_map call_prefixes;
    uint32_t node_count;                   /* so far, those of all functions and branches included */
    const bool *needed;                    /* of each node of the file's graph; NULL: all are */
    ONS_VECTOR(uint32_t) file_nodes;       /* of each node of `top`: its index in the file's graph; ONS_NO_FILE_NODE */
    ONS_VECTOR(ons_value_id) initialisers; /* of `top` */
    ONS_VECTOR(untied_part) parts;
    ons_map declared; /* name of a module's parameter or buffer → ons_origin; empty: the file tells nothing */
    ONS_VECTOR(declared_parameter) parameters; /* of the module, where the file lists them */
    ONS_VECTOR(const char *) results;          /* of the program: "mul_1", as calls have it */
    ons_map folded_by_exporter; /* name of an initialiser that the exporter computed → index of its value_info */
    ons_map stated_at;          /* where the file states a tensor, as text → index in file->stated */
    ons_map name_numbers;       /* a name that was taken → the number that the last tensor got behind it */
    bool traced;                /* PyTorch's tracing exporter wrote the file */
} importer;

/* An attribute given to a function: what it is, and where its own references and captures are to be looked up. */
typedef struct scope scope;
typedef struct argument {
    const char *name;
    const Onnx__AttributeProto *attribute;
    scope *from;
} argument;

/* A function being put in place of its call. */
typedef struct call {
    const struct call *outer;
    uint32_t index; /* among the model's functions */
    const Onnx__FunctionProto *function;
    const argument *arguments;
    size_t argument_count;
    uint32_t depth;
} call;

/* A list of nodes and the names that they see. */
struct scope {
    importer *in;
    scope *outer; /* of a branch: what it captures from; NULL elsewhere, functions capture nothing */
    scope *host;  /* of a branch, and of functions called in it: where the node stands that it belongs to; NULL: the
                     graph is the model's */
    ons_graph *graph;
    const call *call;   /* NULL outside of functions */
    const char *prefix; /* of names in the graph */
    ons_map names;      /* in the file → value of `graph`, or ONS_LEFT_OUT_VALUE */
    ons_map results;    /* of a function: its outputs → values that were made for them where it is called */
};

/* ---- names.c */

/* A text for messages and names, in the graph's arena; leaves the function where memory is short. */
#define ONS_FORMAT(result, arena, ...)                                                                                 \
    do {                                                                                                               \
        (result) = ons_arena_format((arena), __VA_ARGS__);                                                             \
        if ((result) == NULL) return ons_status_out_of_memory();                                                       \
    } while (0)

/* Gives a name its value; that it has one already is a failure. */
ons_status *ons_scope_define(scope *s, const char *name, ons_value_id value);

/* The value of a name; ONS_NONE for "" and for what a call left out. A name from outside of a branch becomes a value
 * of the branch's graph. Fails where there is no such name: `reader` is for the message. */
ons_status *ons_scope_resolve(scope *s, const char *name, const char *reader, ons_value_id *value);

/* A new value for a name of the file, and its definition. */
ons_status *ons_scope_add(scope *s, const char *name, ons_value_kind kind, const ons_type *type, ons_value_id *value);

/* How a node is called in messages and in the graph: its name, or operator and number. */
ons_status *ons_scope_node_name(const scope *s, const Onnx__NodeProto *node, size_t index, const char **name);

/* The version of a domain's operators in force; 0 where the file names none. */
int64_t ons_scope_opset(const scope *s, const char *domain);

/* Notes something that onstage does not support, or fails with it. */
ons_status *ons_import_block(importer *in, const char *node, const char *operator_name, const char *reason,
                             const char *remedy);

/* A failure with the code ONS_UNSUPPORTED becomes a blocker; others stay failures, with the place in front. */
ons_status *ons_import_note(importer *in, ons_status *problem, const char *kind, const char *name,
                            const char *operator_name);

/* ---- order.c */

/* An order in which every name is made before it is read, the file's own where that is one: `order` has room for
 * `count` indices. Fails where a name is made twice or nodes depend on each other in a circle. */
ons_status *ons_order_nodes(Onnx__NodeProto *const *nodes, size_t count, uint32_t *order);

/* ---- nodes.c */

/* All nodes of a model's graph, branch or function, sorted. Names made by them are defined first. */
ons_status *ons_import_nodes(scope *s, Onnx__NodeProto *const *nodes, size_t count);

/* ons_graph_add_node that keeps in mind which node of the file this is. */
ons_status *ons_import_add_node(scope *s, const ons_operator *op, const char *name, const ons_attribute *attributes,
                                const ons_value_id *inputs, uint32_t input_count, uint32_t output_count, size_t index,
                                ons_node_id *id);

/* A branch or body as a graph of its own. */
ons_status *ons_import_branch(scope *s, const Onnx__GraphProto *proto, ons_graph **graph);

/* ---- attributes.c */

/* The attribute as it is given, a reference to a function's attribute resolved: NULL where the call leaves it out.
 * `from`: the scope to which what it contains belongs. */
const Onnx__AttributeProto *ons_attribute_resolve(scope *s, const Onnx__AttributeProto *attribute, scope **from);

/* The attributes of a node, for its operator's upgrade function. */
ons_status *ons_attributes_read(scope *s, const Onnx__NodeProto *node, ons_upgrade *upgrade);

/* Matches them against the operator's declarations: `values`, in the graph's arena. */
ons_status *ons_attributes_match(const ons_operator *op, const ons_upgrade *upgrade, const ons_attribute **values);

/* The contents of a node that states a constant. */
ons_status *ons_attributes_constant(scope *s, const Onnx__NodeProto *node, ons_type *type, ons_data_id *data);

/* ---- detached.c */

/* What the exporter says that the node computes: size 0 where it says nothing. */
ons_exporter_call ons_node_call(const Onnx__NodeProto *node);

/* Puts a node through which no gradient passes in front of each operand that the program has detached, where the node
 * that did so is gone from the file: default exports take Identity nodes out, and their readers still name them. */
ons_status *ons_detach_operands(scope *s, const Onnx__NodeProto *node, ons_upgrade *u);

/* ---- functions.c */

ons_status *ons_functions_index(importer *in);

/* The function that the node calls; ONS_MAP_ABSENT where it calls none of the model's. */
uint32_t ons_functions_find(const importer *in, const Onnx__NodeProto *node);

/* Puts the function's nodes in place of the call. */
ons_status *ons_functions_call(scope *s, uint32_t function, const Onnx__NodeProto *node, const char *name);

/* Frees what a scope holds. */
void ons_scope_free(scope *s);

/* ---- values.c */

/* The type of an input, as far as it is stated. `symbols`: names of dimensions, or NULL. */
ons_status *ons_value_info_type(const Onnx__ValueInfoProto *info, ons_arena *arena, ons_type *type,
                                const char *symbols[static ONS_RANK_MAX]);

/* ---- initialisers.c */

/* All initialisers of the graph, of the model or a branch. */
ons_status *ons_initialisers_import(scope *s, const Onnx__GraphProto *proto);

/* ---- origin.c */

/* Reads what the file tells of where its initialisers come from: before they are imported. */
ons_status *ons_origins_read(importer *in, const Onnx__GraphProto *graph);

/* Fills in origin, parameter and sources of an initialiser of the model's graph. */
ons_status *ons_origin_find(importer *in, const char *name, ons_value *value);

/* ---- lost.c */

/* Fills file->lost, once all nodes are there. */
ons_status *ons_lost_find(const scope *s);

/* ---- merges.c */

/* The layer that a node belongs to: "encoder.layers.1.norm1"; size 0: the module itself, or not known. */
ons_text_view ons_node_scope(const Onnx__NodeProto *node);

/* Fills file->merges, from all initialisers and the file's nodes. */
ons_status *ons_merges_find(importer *in);

/* Biases of zeros that the exporter has taken away from nodes: file->lost_biases. Once all nodes are there. */
ons_status *ons_lost_biases_find(importer *in);

/* Whether the options ask for parts of the initialiser. */
bool ons_is_untied(const importer *in, const char *initialiser);

/* What operand `input` of the file's node `index` reads instead of an initialiser that is to be parted. */
ons_status *ons_untie_operand(scope *s, const Onnx__NodeProto *node, size_t index, size_t input, ons_value_id *value);

/* Fails where an option has parted nothing. Once all nodes are there. */
ons_status *ons_untied_check(const importer *in);

/* ---- derived.c */

/* Puts nodes in place of initialisers that are copies of a weight; once all initialisers are there, before all nodes.
 */
ons_status *ons_derived_import(scope *s, const Onnx__GraphProto *graph);

/* What was an initialiser is made by a node from now on. */
void ons_import_make_activation(scope *s, ons_value_id id);

/* ---- shards.c */

/* Puts nodes in place of initialisers that are asked for in shards; behind ons_derived_import. */
ons_status *ons_shards_import(scope *s);

/* ---- roles.c: what is a weight and what is not, once all nodes are known */

ons_status *ons_roles_assign(importer *in);

#endif
