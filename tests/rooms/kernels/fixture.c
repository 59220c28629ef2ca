#include "tests/rooms/kernels/fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "graph/build.h"
#include "graph/evaluate.h"
#include "graph/operands.h"

uint32_t ons_case_outputs(const ons_case *example) { return example->outputs == 0 ? 1 : example->outputs; }

const char *ons_case_print(const ons_operator *op, const ons_case *example, char text[static ONS_CASE_TEXT]) {
    snprintf(text, ONS_CASE_TEXT, "%s/%s", op->name, example->name);
    return text;
}

double ons_fixture_uniform(const ons_fixture *fixture, uint32_t stream, int64_t index) {
    ons_philox words = ons_philox_draw(fixture->seed, stream, (uint64_t)index);
    return (words.words[0] * 0x1p32 + words.words[1]) * 0x1p-64;
}

/* One element as the case describes it, as a double. */
static double draw_element(const ons_fixture *fixture, uint32_t input, int64_t index) {
    const ons_case_input *given = &fixture->example->inputs[input];
    if (given->value_count > 0) return given->values[index % given->value_count];
    double uniform = ons_fixture_uniform(fixture, input, index);
    if (ons_dtype_is_float(given->dtype)) return given->low + uniform * (given->high - given->low);
    if (given->dtype == ONS_BOOL) return uniform < 0.5;
    return floor(given->low + uniform * (given->high - given->low + 1));
}

/* Cases give integers as doubles, which cannot hold the ends of int64 exactly. */
static int64_t to_integer(double value) {
    return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

/* Fills words of one input and rounds them to its dtype. */
static ons_status *fill_input(ons_fixture *fixture, uint32_t input, const ons_type *type) {
    int64_t count = ons_shape_elements(&type->shape);
    double *words = calloc((size_t)count + 1, 8);
    void *narrow = calloc((size_t)count + 1, 8);
    fixture->input_words[input] = words;
    if (words == NULL || narrow == NULL) {
        free(narrow);
        return ons_status_out_of_memory();
    }
    for (int64_t i = 0; i < count; ++i) {
        double value = draw_element(fixture, input, i);
        if (ons_dtype_is_float(type->dtype))
            words[i] = value;
        else
            ((int64_t *)words)[i] = to_integer(value);
    }
    ons_narrow(type->dtype, words, count, narrow);
    ons_widen(type->dtype, narrow, count, words);
    free(narrow);
    return NULL;
}

static ons_status *add_input(ons_fixture *fixture, uint32_t input, ons_value_id *value) {
    const ons_case_input *given = &fixture->example->inputs[input];
    *value = ONS_NONE;
    if (given->dtype == ONS_NO_DTYPE) return NULL;
    ons_type type = ons_type_make(given->dtype, given->shape);
    char name[32];
    snprintf(name, sizeof name, "input_%u", input);
    ONS_TRY(fill_input(fixture, input, &type));
    ONS_TRY(ons_graph_add_value(fixture->graph, name, given->constant ? ONS_CONSTANT : ONS_INPUT, &type, value));
    if (!given->constant) {
        ONS_PUSH(&fixture->graph->inputs, *value);
        return NULL;
    }
    void *data;
    ONS_TRY(ons_store_add(&fixture->store, &type, &data, &ons_graph_value(fixture->graph, *value)->data));
    ons_narrow(type.dtype, fixture->input_words[input], ons_shape_elements(&type.shape), data);
    return NULL;
}

static ons_status *collect_attributes(ons_fixture *fixture, ons_attribute **result) {
    const ons_attribute_declaration *declared = fixture->op->attributes;
    const ons_case_setting *settings = fixture->example->settings;
    uint32_t count = 0;
    while (declared[count].name != NULL) ++count;
    ons_attribute *attributes;
    ONS_NEW(attributes, fixture->arena, count + 1);
    for (uint32_t i = 0; i < count; ++i) attributes[i] = declared[i].default_value;
    for (uint32_t s = 0; s < ONS_CASE_SETTINGS && settings[s].name != NULL; ++s) {
        uint32_t i = 0;
        while (i < count && strcmp(declared[i].name, settings[s].name) != 0) ++i;
        ONS_CHECK(i < count, ONS_DEFECT, "the case sets attribute '%s', which is not declared", settings[s].name);
        ONS_CHECK(settings[s].value.kind == declared[i].kind, ONS_DEFECT,
                  "the case sets attribute '%s' to another kind", settings[s].name);
        attributes[i] = settings[s].value;
    }
    for (uint32_t i = 0; i < count; ++i)
        ONS_CHECK(!declared[i].required || attributes[i].kind != ONS_ATTRIBUTE_ABSENT, ONS_DEFECT,
                  "the case lacks the required attribute '%s'", declared[i].name);
    *result = attributes;
    return NULL;
}

static ons_status *build_graph(ons_fixture *fixture) {
    const ons_operator *op = fixture->op;
    uint32_t inputs = op->arity.inputs_min, outputs = ons_case_outputs(fixture->example);
    for (uint32_t i = 0; i < ONS_CASE_OPERANDS; ++i)
        if (fixture->example->inputs[i].dtype != ONS_NO_DTYPE && inputs < i + 1) inputs = i + 1;
    ons_value_id *ids, *results;
    ons_attribute *attributes = NULL;
    ONS_NEW(ids, fixture->arena, inputs + 1);
    ONS_NEW(results, fixture->arena, outputs);
    ONS_NEW(fixture->input_words, fixture->arena, inputs + ONS_CASE_OPERANDS);
    for (uint32_t i = 0; i < inputs; ++i) ids[i] = ONS_NONE;
    for (uint32_t i = 0; i < inputs && i < ONS_CASE_OPERANDS; ++i) ONS_TRY(add_input(fixture, i, &ids[i]));
    ONS_TRY(collect_attributes(fixture, &attributes));
    ons_builder builder = {.graph = fixture->graph, .registry = fixture->registry, .origin = ONS_NONE, .name = "node"};
    fixture->node = ons_build_node_like(&builder, op, (ons_inputs){ids, inputs}, attributes, outputs, NULL, results);
    ONS_TRY(ons_builder_finish(&builder));
    for (uint32_t i = 0; i < outputs; ++i)
        if (results[i] != ONS_NONE) ONS_PUSH(&fixture->graph->outputs, results[i]);
    return ons_operands_of(fixture->graph, fixture->node, fixture->arena, &fixture->operands);
}

ons_status *ons_fixture_init(ons_fixture *fixture, const ons_registry *registry, const ons_operator *op,
                             const ons_case *example, uint64_t seed) {
    *fixture = (ons_fixture){.registry = registry, .op = op, .example = example, .seed = seed};
    fixture->step = (ons_step){.seed = seed,
                               .step = 3,
                               .micro_batch = 1,
                               .learning_rate = 0.01f,
                               .rate_share = 0.5,
                               .counted_targets = 7,
                               .sample_share = 0.5};
    ONS_TRY(ons_store_init(&fixture->store));
    ONS_TRY(ons_graph_new(&fixture->store, example->name, &fixture->graph));
    fixture->arena = ons_arena_new();
    if (fixture->arena == NULL) return ons_status_out_of_memory();
    ONS_TRY(build_graph(fixture));
    fixture->step.node_key = ons_graph_node_key(fixture->graph, fixture->node);
    return NULL;
}

void ons_fixture_free(ons_fixture *fixture) {
    for (uint32_t i = 0; fixture->input_words != NULL && i < ONS_CASE_OPERANDS; ++i) free(fixture->input_words[i]);
    for (uint32_t i = 0; fixture->reference_words != NULL && i < fixture->operands.output_count; ++i)
        free(fixture->reference_words[i]);
    ons_graph_free(fixture->graph);
    ons_store_free(&fixture->store);
    ons_arena_free(fixture->arena);
    *fixture = (ons_fixture){0};
}

ons_status *ons_fixture_check_fault(const ons_fixture *fixture, const char *who, const ons_fault *fault) {
    const char *wanted = fixture->example->fault;
    ONS_CHECK(wanted == NULL || fault->problem != NULL, ONS_DEFECT, "%s reports no fault where '%s' was due", who,
              wanted);
    ONS_CHECK(fault->problem == NULL || (wanted != NULL && strstr(fault->problem, wanted) != NULL), ONS_DEFECT,
              "%s reports a fault: %s (element %lld, value %lld)", who, fault->problem, (long long)fault->index,
              (long long)fault->value);
    return NULL;
}

ons_status *ons_fixture_reference(ons_fixture *fixture) {
    ons_operands all = fixture->operands;
    ONS_NEW(all.outputs, fixture->arena, all.output_count + 1);
    ONS_TRY(ons_operands_infer(&all));
    ONS_NEW(fixture->reference_words, fixture->arena, all.output_count + 1);
    for (uint32_t i = 0; i < all.output_count; ++i) {
        int64_t count = all.outputs[i].dtype == ONS_NO_DTYPE ? 0 : ons_shape_elements(&all.outputs[i].shape);
        fixture->reference_words[i] = calloc((size_t)count + 1, 8);
        if (fixture->reference_words[i] == NULL) return ons_status_out_of_memory();
    }
    ons_fault fault = {0};
    ons_step step = fixture->step;
    step.fault = &fault;
    fixture->op->reference(&all, &step, (const void *const *)fixture->input_words, fixture->reference_words);
    return ons_fixture_check_fault(fixture, "the reference", &fault);
}
