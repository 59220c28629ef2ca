/* A node as it stands in the file, on its way to today's form of its operator (see ons_forms.upgrade).
 *
 * The importer fills one in for every node, calls the operator's upgrade function where there is one, and then matches
 * the attributes against the operator's declarations by name. Types are not known yet. What an old form cannot say in
 * today's attributes and inputs (Softmax's flattening before opset 13, say) is said by an attribute of our own,
 * declared with a name that begins with "onstage_", which no file may set.
 */
#ifndef ONSTAGE_GRAPH_UPGRADE_H
#define ONSTAGE_GRAPH_UPGRADE_H

#include "graph/exporter_call.h"
#include "graph/graph.h"

typedef struct ons_named_attribute {
    const char *name;
    ons_attribute value; /* kind ABSENT: removed */
} ons_named_attribute;

struct ons_upgrade {
    const ons_operator *op; /* what the node becomes: its own operator, unless the upgrade sets another one */
    ons_exporter_call call; /* what the exporter says that the node computes, where gradients differ by it */
    ons_graph *graph;       /* in which constants are made; also owns texts and arrays */
    int64_t opset;          /* the version in force for this node's domain */
    const char *node_name;  /* for messages */
    ONS_VECTOR(ons_named_attribute) attributes;
    ONS_VECTOR(ons_value_id) inputs; /* ONS_NONE where left out */
    ONS_VECTOR(ons_value_id) outputs;
};
typedef struct ons_upgrade ons_upgrade;

/* NULL where the node has no such attribute. */
const ons_attribute *ons_upgrade_find(const ons_upgrade *u, const char *name);
void ons_upgrade_remove(ons_upgrade *u, const char *name);
ons_status *ons_upgrade_set(ons_upgrade *u, const char *name, ons_attribute value);

/* Makes a constant and puts it at input `index`, lengthening the list with left-out inputs as needed. */
ons_status *ons_upgrade_set_input_integers(ons_upgrade *u, uint32_t index, const int64_t *values, uint32_t count);
ons_status *ons_upgrade_set_input_floats(ons_upgrade *u, uint32_t index, const double *values, uint32_t count);
ons_status *ons_upgrade_set_input_scalar(ons_upgrade *u, uint32_t index, ons_dtype dtype, double value);

/* Puts a node with one output in front of this one: `output`. `attributes` in the order of the operator's
 * declarations. */
ons_status *ons_upgrade_insert(ons_upgrade *u, const ons_operator *op, const ons_attribute *attributes,
                               const ons_value_id *inputs, uint32_t input_count, ons_value_id *output);

/* The usual step: an attribute `name` of older opsets (ints, int or float) that became input `index`. Does nothing
 * where the node has no such attribute. An int or float becomes a scalar (of `dtype`), ints become an int64 vector. */
ons_status *ons_upgrade_attribute_to_input(ons_upgrade *u, const char *name, uint32_t index, ons_dtype dtype);

#endif
