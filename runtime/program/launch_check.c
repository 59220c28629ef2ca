#include "runtime/program/launch_check.h"

#include "graph/arena_layout.h"

/* Bytes that a launch touches. */
typedef struct extent {
    const char *first;
    int64_t bytes;
} extent;

static extent extent_of(const void *address, const ons_type *type) {
    return (extent){address, address == NULL || type->dtype == ONS_NO_DTYPE ? 0 : ons_type_dense_bytes(type)};
}

static bool overlap(extent a, extent b) {
    return a.bytes > 0 && b.bytes > 0 && a.first < b.first + b.bytes && b.first < a.first + a.bytes;
}

static bool may_take_place(const ons_operator *op, uint32_t output, uint32_t input) {
    for (const ons_alias *alias = op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
        if (alias->output == output && alias->input == input) return true;
    return false;
}

/* Whether an input that the output may take the place of lies there. */
static bool takes_place(const ons_operands *o, const ons_launch *l, uint32_t output) {
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (l->inputs[i] == l->outputs[output] && may_take_place(o->op, output, i)) return true;
    return false;
}

static const char *check_types(const ons_launch_promise *p) {
    const ons_operands *o = p->operands;
    bool plain = o->op->layout.policy == ONS_LAYOUT_PLAIN && o->op->roles.role != ONS_ROLE_REORDER;
    for (uint32_t i = 0; i < p->node->input_count; ++i) {
        if (p->node->inputs[i] == ONS_NONE) continue;
        const ons_type *type = &ons_graph_value(p->graph, p->node->inputs[i])->type;
        if (!p->sliced && !ons_type_equal(type, &o->inputs[i])) return "an input is of another type than was prepared";
        if (plain && type->layout != ONS_LAYOUT_ONNX) return "an input is not in ONNX's order";
    }
    for (uint32_t i = 0; i < p->node->output_count; ++i) {
        if (p->node->outputs[i] == ONS_NONE) continue;
        const ons_type *type = &ons_graph_value(p->graph, p->node->outputs[i])->type;
        if (!p->sliced && !ons_type_equal(type, &o->outputs[i]))
            return "an output is of another type than was prepared";
        if (plain && type->layout != ONS_LAYOUT_ONNX) return "an output is not in ONNX's order";
    }
    return NULL;
}

static bool is_aligned(const void *address, int64_t alignment) {
    return (uintptr_t)address % (uintptr_t)alignment == 0;
}

static const char *check_alignment(const ons_launch_promise *p, const ons_launch *l) {
    bool anywhere = p->sliced || p->halved;
    for (uint32_t i = 0; i < p->node->input_count && !anywhere; ++i)
        if (!is_aligned(l->inputs[i], ONS_ARENA_ALIGNMENT)) return "an input is not aligned";
    for (uint32_t i = 0; i < p->node->output_count && !anywhere; ++i)
        if (!is_aligned(l->outputs[i], ONS_ARENA_ALIGNMENT)) return "an output is not aligned";
    return is_aligned(l->scratch, p->scratch_alignment) ? NULL : "scratch memory is not aligned";
}

static const char *check_aliasing(const ons_launch_promise *p, const ons_launch *l) {
    const ons_operands *o = p->operands;
    extent scratch = {l->scratch, l->scratch == NULL ? 0 : p->scratch_bytes};
    for (uint32_t i = 0; i < p->node->input_count; ++i)
        if (overlap(scratch, extent_of(l->inputs[i], &o->inputs[i]))) return "scratch memory overlaps an input";
    for (uint32_t i = 0; i < p->node->output_count; ++i) {
        extent written = extent_of(l->outputs[i], &o->outputs[i]);
        if (overlap(scratch, written)) return "scratch memory overlaps an output";
        for (uint32_t k = 0; k < i; ++k)
            if (overlap(written, extent_of(l->outputs[k], &o->outputs[k]))) return "two outputs overlap";
        for (uint32_t k = 0; k < p->node->input_count && !takes_place(o, l, i); ++k)
            if (overlap(written, extent_of(l->inputs[k], &o->inputs[k])))
                return "an output overlaps an input whose place it may not take";
    }
    return NULL;
}

const char *ons_launch_broken_promise(const ons_launch_promise *p, const ons_launch *l) {
    const char *broken = check_types(p);
    if (broken == NULL) broken = check_alignment(p, l);
    return broken != NULL ? broken : check_aliasing(p, l);
}
