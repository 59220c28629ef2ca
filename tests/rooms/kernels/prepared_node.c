#include "tests/rooms/kernels/prepared_node.h"

#include <omp.h>

#include "graph/evaluate.h"
#include "kernels/kernels.h"
#include "tests/rooms/kernels/harness.h"

static ons_status *make_input(ons_prepared_node *node, const ons_fixture *fixture, uint32_t i) {
    const ons_type *type = &node->operands.inputs[i];
    ons_buffer *buffer = &node->inputs[i];
    ONS_TRY(ons_buffer_init(buffer, &ons_target_cpu, ons_bytes_of(fixture->registry, type)));
    char *bytes; /* a layout of its own may be longer than the case's numbers */
    ONS_NEW(bytes, fixture->arena, buffer->bytes + 64);
    ons_narrow(type->dtype, fixture->input_words[i], ons_shape_elements(&type->shape), bytes);
    ons_buffer_write(buffer, bytes);
    node->bytes += buffer->bytes;
    return NULL;
}

static ons_status *make_memory(ons_prepared_node *node, const ons_fixture *fixture) {
    const ons_operands *o = &node->operands;
    const void **inputs;
    void **outputs;
    ONS_NEW(node->inputs, node->arena, o->input_count + 1);
    ONS_NEW(node->outputs, node->arena, o->output_count + 1);
    ONS_NEW(inputs, node->arena, o->input_count + 1);
    ONS_NEW(outputs, node->arena, o->output_count + 1);
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (!ons_has_input(o, i)) continue;
        ONS_TRY(make_input(node, fixture, i));
        inputs[i] = node->inputs[i].data;
    }
    for (uint32_t i = 0; i < o->output_count; ++i) {
        if (!ons_has_output(o, i)) continue;
        ONS_TRY(ons_buffer_init(&node->outputs[i], &ons_target_cpu, ons_bytes_of(fixture->registry, &o->outputs[i])));
        ons_buffer_fill(&node->outputs[i], 0);
        node->bytes += node->outputs[i].bytes;
        outputs[i] = node->outputs[i].data;
    }
    for (const ons_alias *alias = o->op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
        if (alias->kind == ONS_ALIAS_STATE && ons_has_input(o, alias->input) && ons_has_output(o, alias->output))
            outputs[alias->output] = node->inputs[alias->input].data;
    ONS_TRY(ons_buffer_init(&node->scratch, &ons_target_cpu, (size_t)node->prepare.scratch_bytes));
    node->bytes += node->scratch.bytes;
    node->launch = (ons_launch){.inputs = inputs,
                                .outputs = outputs,
                                .scratch = node->scratch.data,
                                .state = node->prepare.state,
                                .step = &fixture->step,
                                .fault = &node->fault};
    return NULL;
}

ons_status *ons_prepared_node_init(ons_prepared_node *node, ons_fixture *fixture, int threads, bool layouts) {
    bool differs;
    *node = (ons_prepared_node){.arena = ons_arena_new(), .operands = fixture->operands};
    if (node->arena == NULL) return ons_status_out_of_memory();
    if (layouts) ONS_TRY(ons_choose_case_layouts(fixture, false, ONS_OFFER_ONNX, &node->operands, &differs));
    node->prepare = (ons_prepare){
        .operands = &node->operands, .threads = threads, .scratch_limit = INT64_MAX, .arena = node->arena};
    omp_set_num_threads(threads);
    ONS_TRY(ons_backend_prepare(ons_target_cpu.backend(), &node->prepare, &node->kernel));
    return make_memory(node, fixture);
}

void ons_prepared_node_free(ons_prepared_node *node) {
    if (node->arena == NULL) return;
    for (uint32_t i = 0; node->inputs != NULL && i < node->operands.input_count; ++i) ons_buffer_free(&node->inputs[i]);
    for (uint32_t i = 0; node->outputs != NULL && i < node->operands.output_count; ++i)
        ons_buffer_free(&node->outputs[i]);
    ons_buffer_free(&node->scratch);
    if (node->prepare.destroy != NULL) node->prepare.destroy(node->prepare.state);
    ons_arena_free(node->arena);
    *node = (ons_prepared_node){.arena = NULL};
}

void ons_prepared_node_run(const ons_prepared_node *node) { node->kernel->run(&node->launch); }
