#include "engine/config/batchnorm_of.h"

#include <fnmatch.h>
#include <string.h>

#include "base/nearest.h"
#include "graph/operator.h"

bool ons_has_layer_forms(const ons_node *node) {
    return node->op->forms.inference.differs && node->op->roles.statistics != 0;
}

/* An initialiser that the node reads; NULL: the input is none. */
static const ons_value *initialiser_of(const ons_graph *graph, const ons_node *node, uint32_t input) {
    const ons_value *value = node->inputs[input] == ONS_NONE ? NULL : ons_graph_value(graph, node->inputs[input]);
    return value != NULL && value->producer == ONS_NONE && value->kind != ONS_INPUT ? value : NULL;
}

static bool is_named(const ons_graph *graph, const ons_node *node, const char *glob) {
    bool named = strcmp(glob, node->name) == 0 || fnmatch(glob, node->name, 0) == 0;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const ons_value *value = initialiser_of(graph, node, i);
        named = named || (value != NULL && ons_glob_names(glob, value));
    }
    return named;
}

static bool matches_everything(const char *glob) { return glob[0] != '\0' && strspn(glob, "*") == strlen(glob); }

const char *ons_config_frozen_by(const ons_config *config, const ons_value *initialiser) {
    const char *frozen = NULL;
    for (size_t i = 0; i < config->choices.count; ++i) {
        const ons_choice *choice = &config->choices.items[i];
        if (ons_glob_names(choice->glob, initialiser) && (choice->train || !matches_everything(choice->glob)))
            frozen = choice->train ? NULL : choice->glob;
    }
    return frozen;
}

static const char *statistics_frozen_by(const ons_config *config, const ons_graph *graph, const ons_node *node) {
    const char *frozen = NULL;
    for (uint32_t i = 0; frozen == NULL && i < node->input_count; ++i) {
        const ons_value *value = ons_is_statistic(node->op, i) ? initialiser_of(graph, node, i) : NULL;
        if (value != NULL) frozen = ons_config_frozen_by(config, value);
    }
    return frozen;
}

ons_layer_form ons_config_layer_form(const ons_config *config, const ons_graph *graph, const ons_node *node) {
    ons_layer_form layer = {.form = (ons_as_exported)config->batchnorm.value,
                            .frozen = statistics_frozen_by(config, graph, node)};
    for (size_t i = 0; i < config->batchnorm_of.count; ++i) {
        const ons_pair *pair = &config->batchnorm_of.items[i];
        ons_word word;
        if (!ons_word_find(ons_batchnorm_words, pair->value, &word) || !is_named(graph, node, pair->name)) continue;
        layer.form = (ons_as_exported)word.value;
        layer.chosen = pair->name;
    }
    if (layer.frozen != NULL) layer.form = ONS_AS_INFERENCE;
    return layer;
}

ons_as_exported ons_config_batchnorm_of(const void *config, const ons_graph *graph, const ons_node *node) {
    return ons_has_layer_forms(node) ? ons_config_layer_form(config, graph, node).form
                                     : (ons_as_exported)((const ons_config *)config)->batchnorm.value;
}

/* A name that says the layer: its node's. */
static ons_status *check_matches(const ons_graph *graph, const ons_pair *pair) {
    ons_nearest nearest = ons_nearest_to(pair->name);
    bool matches = false, any = false;
    for (ons_node_id id = 0; !matches && id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (!ons_has_layer_forms(node)) continue;
        any = true;
        matches = is_named(graph, node, pair->name);
        ons_nearest_try(&nearest, node->name);
        for (uint32_t i = 0; i < node->input_count; ++i) {
            const ons_value *value = initialiser_of(graph, node, i);
            if (value != NULL) ons_nearest_try(&nearest, ons_value_name_in_file(value));
        }
    }
    ONS_CHECK(any, ONS_INVALID_ARGUMENT, "--batchnorm-of '%s': no layer of the model normalises by the batch",
              pair->name);
    ONS_CHECK(matches, ONS_INVALID_ARGUMENT,
              "--batchnorm-of '%s' matches neither the node nor an initialiser of a layer that normalises by the "
              "batch%s; `onstage inspect` shows their names",
              pair->name, ons_nearest_hint(&nearest));
    return NULL;
}

static ons_status *check_frozen(const ons_config *config, const ons_graph *graph) {
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (!ons_has_layer_forms(node)) continue;
        ons_layer_form layer = ons_config_layer_form(config, graph, node);
        const char *wanted = "";
        for (size_t i = 0; layer.chosen != NULL && i < config->batchnorm_of.count; ++i)
            if (config->batchnorm_of.items[i].name == layer.chosen) wanted = config->batchnorm_of.items[i].value;
        ONS_CHECK(
            layer.frozen == NULL || strcmp(wanted, ons_word_of(ons_batchnorm_words, ONS_AS_TRAINING).text) != 0,
            ONS_INVALID_ARGUMENT,
            "--freeze '%s' keeps the running statistics of '%s', and --batchnorm-of '%s=%s' moves them; leave one "
            "of the two out",
            layer.frozen, node->name, layer.chosen, wanted);
    }
    return NULL;
}

ons_status *ons_config_check_batchnorm_of(const ons_config *config, const ons_graph *graph) {
    for (size_t i = 0; i < config->batchnorm_of.count; ++i) {
        ons_word word;
        ONS_TRY(ons_word_choose(ons_batchnorm_words, "batchnorm-of", config->batchnorm_of.items[i].value, &word));
        ONS_TRY(check_matches(graph, &config->batchnorm_of.items[i]));
    }
    return config->batchnorm_of.count == 0 ? NULL : check_frozen(config, graph);
}
