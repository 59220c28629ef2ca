#include "runtime/program.h"

#include <stdlib.h>
#include <time.h>

#include "graph/operands.h"
#include "kernels/common/stand_in.h"

typedef struct prepared {
    ons_run_function *run;
    void *state;
    void (*destroy)(void *state);
    const char *implementation;
} prepared;

typedef struct launch {
    ons_run_function *run;
    ons_node_id node;
    const void **inputs;
    void **outputs;
    void *scratch;
    const void *state;
} launch;

struct ons_program {
    ons_arena *arena;
    const ons_graph *graph;
    const ons_registry *registry;
    prepared *prepared; /* of each node */
    int64_t *scratch;   /* of each node */
    ons_sequence sequence;
    ons_liveness liveness;
    ons_arena_layout layout;
    launch *launches;
    uint32_t launch_count;
    uint32_t part_end[ONS_PART_COUNT];
    void **addresses; /* of each value */
};

/* A view does not run: its output is its input's bytes. */
static bool is_view(const ons_node *node) {
    for (const ons_alias *alias = node->op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
        if (alias->kind == ONS_ALIAS_VIEW) return true;
    return false;
}

static ons_status *prepare_node(ons_program *p, ons_node_id id, const ons_program_options *options) {
    const ons_node *node = ons_graph_node(p->graph, id);
    if (is_view(node)) return NULL;
    ONS_CHECK(node->op->cpu.run != NULL, ONS_UNSUPPORTED, "node '%s' (%s): cannot run on the CPU: %s", node->name,
              node->op->name, node->op->cpu.why_not);
    ons_operands *operands;
    ONS_NEW(operands, p->arena, 1);
    ONS_TRY(ons_operands_of(p->graph, id, p->arena, operands));
    ons_prepare prepare = {
        .operands = operands,
        .threads = options->threads,
        .scratch_limit = options->scratch_limit > 0 ? options->scratch_limit : INT64_MAX,
        .arena = p->arena,
        .node_key = ons_graph_node_key(p->graph, id),
    };
    ons_run_function *run = NULL;
    ons_status *status = ons_prepare_for_cpu(&prepare, &run);
    p->prepared[id] = (prepared){run, prepare.state, prepare.destroy, prepare.implementation};
    p->scratch[id] = prepare.scratch_bytes;
    bool short_of_memory = ons_status_get_code(status) == ONS_OUT_OF_MEMORY;
    return short_of_memory ? ons_status_at(status, "node '%s' (%s)", node->name, node->op->name) : status;
}

static ons_status *prepare_all(ons_program *p, const ons_program_options *options) {
    ONS_NEW(p->prepared, p->arena, p->graph->nodes.count + 1);
    ONS_NEW(p->scratch, p->arena, p->graph->nodes.count + 1);
    ONS_NEW(p->launches, p->arena, p->graph->nodes.count + 1);
    ONS_NEW(p->addresses, p->arena, p->graph->values.count + 1);
    for (ons_node_id id = 0; id < p->graph->nodes.count; ++id) ONS_TRY(prepare_node(p, id, options));
    ONS_TRY(ons_sequence_make(p->graph, options->repeats, p->arena, &p->sequence));
    ONS_TRY(ons_liveness_find(p->graph, p->registry, &p->sequence, p->scratch, options->kept, options->kept_count,
                              p->arena, &p->liveness));
    return ons_arena_layout_make(&p->liveness, p->sequence.count, p->arena, &p->layout);
}

ons_status *ons_program_prepare(const ons_graph *graph, const ons_registry *registry,
                                const ons_program_options *options, ons_program **result) {
    ons_arena *arena = ons_arena_new();
    ons_program *p = arena == NULL ? NULL : ons_arena_allocate(arena, 1, sizeof *p);
    if (p == NULL) {
        ons_arena_free(arena);
        return ons_status_out_of_memory();
    }
    p->arena = arena;
    p->graph = graph;
    p->registry = registry;
    ons_status *status = prepare_all(p, options);
    if (status != NULL) {
        ons_program_free(p);
        return status;
    }
    *result = p;
    return NULL;
}

void ons_program_free(ons_program *p) {
    if (p == NULL) return;
    for (size_t i = 0; p->prepared != NULL && i < p->graph->nodes.count; ++i)
        if (p->prepared[i].destroy != NULL) p->prepared[i].destroy(p->prepared[i].state);
    ons_arena_free(p->arena); /* the program itself lies in it */
}

const ons_graph *ons_program_graph(const ons_program *p) { return p->graph; }

const ons_liveness *ons_program_liveness(const ons_program *p) { return &p->liveness; }

const ons_arena_layout *ons_program_layout(const ons_program *p) { return &p->layout; }

void *ons_program_address(const ons_program *p, ons_value_id value) {
    return value == ONS_NONE ? NULL : p->addresses[value];
}

double ons_program_scalar(const ons_program *p, ons_value_id value) {
    const void *address = ons_program_address(p, value);
    bool wide = ons_graph_value(p->graph, value)->type.dtype == ONS_FLOAT64;
    return wide ? *(const double *)address : (double)*(const float *)address;
}

uint32_t ons_program_launch_count(const ons_program *p) { return p->launch_count; }

const char *ons_program_implementation(const ons_program *p, ons_node_id node) {
    return p->prepared[node].implementation;
}

static void *address_of_buffer(const ons_program *p, ons_buffer_id id, void *const *persistent, void *transient) {
    if (id == ONS_NONE) return NULL;
    return p->liveness.buffers[id].persistent ? persistent[id] : (char *)transient + p->layout.offsets[id];
}

static ons_status *add_launch(ons_program *p, ons_node_id id, void *scratch) {
    const ons_node *node = ons_graph_node(p->graph, id);
    launch *l = &p->launches[p->launch_count++];
    *l = (launch){.run = p->prepared[id].run, .node = id, .scratch = scratch, .state = p->prepared[id].state};
    /* Kernels may look at every slot that the operator has, also those that the node does not. */
    uint32_t inputs = node->op->arity.inputs_max, outputs = node->op->arity.outputs_max;
    inputs = inputs == (uint32_t)ONS_VARIADIC || inputs < node->input_count ? node->input_count : inputs;
    outputs = outputs == (uint32_t)ONS_VARIADIC || outputs < node->output_count ? node->output_count : outputs;
    ONS_NEW(l->inputs, p->arena, inputs + 1);
    ONS_NEW(l->outputs, p->arena, outputs + 1);
    for (uint32_t i = 0; i < node->input_count; ++i) l->inputs[i] = ons_program_address(p, node->inputs[i]);
    for (uint32_t i = 0; i < node->output_count; ++i) l->outputs[i] = ons_program_address(p, node->outputs[i]);
    return NULL;
}

ons_status *ons_program_place(ons_program *p, void *const *persistent, void *transient) {
    for (ons_value_id id = 0; id < p->graph->values.count; ++id)
        p->addresses[id] = address_of_buffer(p, p->liveness.buffer_of_value[id], persistent, transient);
    p->launch_count = 0;
    for (uint32_t position = 0; position < p->sequence.count; ++position) {
        ons_node_id id = p->sequence.nodes[position];
        if (!is_view(ons_graph_node(p->graph, id)))
            ONS_TRY(add_launch(p, id, address_of_buffer(p, p->liveness.scratch_of_node[id], persistent, transient)));
        if (position < p->sequence.begin) p->part_end[ONS_PART_BEGIN] = p->launch_count;
        if (position < p->sequence.end) p->part_end[ONS_PART_MICRO_BATCH] = p->launch_count;
        p->part_end[ONS_PART_END] = p->launch_count;
    }
    return NULL;
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void ons_program_run(const ons_program *p, ons_program_part part, const ons_step *step, ons_node_observer *observer,
                     void *context, ons_program_fault *fault) {
    uint32_t first = part == ONS_PART_BEGIN ? 0 : p->part_end[part - 1];
    for (uint32_t i = first; i < p->part_end[part]; ++i) {
        const launch *l = &p->launches[i];
        ons_launch arguments = {
            .inputs = l->inputs,
            .outputs = l->outputs,
            .scratch = l->scratch,
            .state = l->state,
            .step = step,
            .fault = &fault->fault,
        };
        int64_t start = observer == NULL ? 0 : now();
        l->run(&arguments);
        if (observer != NULL) observer(context, l->node, start, now());
        if (fault->fault.problem != NULL) {
            fault->node = l->node;
            return;
        }
    }
}
