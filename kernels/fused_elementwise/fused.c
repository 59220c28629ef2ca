#include "kernels/fused_elementwise/fused.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/operands.h"
#include "kernels/backend.h"

const ons_formula *ons_formula_of(const ons_operator *op) {
    for (uint32_t i = 0; i < ons_formula_count; ++i)
        if (ons_formulas[i].op == op) return &ons_formulas[i];
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- writing */

static bool is_word(const char *text) {
    if (text == NULL || *text == '\0') return false;
    while (isalnum((unsigned char)*text) || *text == '_') ++text;
    return *text == '\0';
}

static bool can_write(const ons_operands *o) {
    for (uint32_t i = 0; o->op->attributes[i].name != NULL; ++i) {
        const ons_attribute *a = &o->attributes[i];
        bool known = a->kind == ONS_ATTRIBUTE_ABSENT || a->kind == ONS_ATTRIBUTE_INT || a->kind == ONS_ATTRIBUTE_FLOAT;
        if (i >= ONS_FUSED_ATTRIBUTES || !(known || (a->kind == ONS_ATTRIBUTE_STRING && is_word(a->s)))) return false;
    }
    return true;
}

/* Operands that a kernel can read beside others: elements of a type it has, that broadcast to the result. */
static bool can_read(const ons_operands *o, const ons_formula *formula) {
    bool mixed = formula->kind == ONS_FORMULA_MIXED || formula->kind == ONS_FORMULA_TYPED;
    if (ons_fused_element(o->outputs[0].dtype) == NULL) return false;
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (mixed && i > 0 && !ons_has_input(o, i)) continue;
        if (!ons_has_input(o, i) || ons_fused_element(o->inputs[i].dtype) == NULL ||
            o->inputs[i].shape.rank > o->outputs[0].shape.rank || (!mixed && o->inputs[i].dtype != o->inputs[0].dtype))
            return false;
    }
    return true;
}

/* A formula makes output 0 alone. */
static bool asks_for_more(const ons_operands *o) {
    bool more = false;
    for (uint32_t i = 1; i < o->output_count; ++i) more |= ons_has_output(o, i);
    return more;
}

bool ons_fused_takes(const ons_operands *o) {
    const ons_formula *formula = ons_formula_of(o->op);
    if (formula == NULL || o->input_count == 0 || o->input_count > ONS_FUSED_OPERANDS || asks_for_more(o) ||
        o->op->arity.outputs_max > ONS_FUSED_STEP_OUTPUTS || !can_write(o) || !can_read(o, formula))
        return false;
    /* Types that the operator's own kernel computes in. */
    const ons_backend *backend = ons_backend_find("cuda");
    ons_arena *arena = backend == NULL ? NULL : ons_arena_new();
    if (arena == NULL) return false;
    ons_prepare p = {.operands = o, .threads = 1, .scratch_limit = INT64_MAX, .arena = arena};
    const ons_kernel *kernel;
    ons_status *status = ons_backend_prepare(backend, &p, &kernel);
    bool takes = status == NULL && p.destroy == NULL;
    if (status == NULL && p.destroy != NULL) p.destroy(p.state);
    ons_status_free(status);
    ons_arena_free(arena);
    return takes;
}

typedef struct text {
    char *to;
    size_t size, used;
} text;

__attribute__((format(printf, 2, 3))) static void put(text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(t->used < t->size ? t->to + t->used : NULL, t->used < t->size ? t->size - t->used : 0,
                           format, arguments);
    va_end(arguments);
    t->used += length < 0 ? t->size : (size_t)length;
}

bool ons_fused_write_step(const ons_operands *o, const uint32_t *inputs, char *to, size_t size) {
    text t = {to, size, 0};
    char before = '[';
    put(&t, "%s", o->op->name);
    for (uint32_t i = 0; o->op->attributes[i].name != NULL; ++i) {
        const ons_attribute *a = &o->attributes[i];
        if (a->kind == ONS_ATTRIBUTE_ABSENT) continue;
        put(&t, "%c%u", before, i);
        before = ',';
        if (a->kind == ONS_ATTRIBUTE_INT)
            put(&t, "i=%lld", (long long)a->i);
        else if (a->kind == ONS_ATTRIBUTE_FLOAT)
            put(&t, "f=%a", a->f);
        else
            put(&t, "s=%s", a->s);
    }
    put(&t, before == '[' ? "(" : "](");
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (i > 0) put(&t, ",");
        if (inputs[i] == ONS_NONE)
            put(&t, "-");
        else
            put(&t, "%u", inputs[i]);
    }
    put(&t, ")");
    return t.used < size;
}

/* ---------------------------------------------------------------------------------------------------------- reading */

typedef struct reader {
    const ons_operands *node;
    ons_arena *arena;
    const char *next;
    ons_fused *fused;
    uint32_t joins;
} reader;

static ons_status *malformed(const reader *r) { return ons_node_error(r->node, "malformed steps at '%.40s'", r->next); }

static bool take(reader *r, char c) {
    if (*r->next != c) return false;
    ++r->next;
    return true;
}

static bool read_number(reader *r, uint32_t *number) {
    if (!isdigit((unsigned char)*r->next)) return false;
    char *end;
    unsigned long value = strtoul(r->next, &end, 10);
    r->next = end;
    *number = (uint32_t)value;
    return value < UINT32_MAX;
}

static bool read_word(reader *r, char *word, size_t size) {
    size_t length = 0;
    while ((isalnum((unsigned char)*r->next) || *r->next == '_') && length + 1 < size) word[length++] = *r->next++;
    word[length] = '\0';
    return length > 0;
}

static const ons_formula *find_formula(const char *name) {
    for (uint32_t i = 0; i < ons_formula_count; ++i)
        if (strcmp(ons_formulas[i].op->name, name) == 0) return &ons_formulas[i];
    return NULL;
}

static ons_status *read_attribute(reader *r, const ons_operator *op, ons_attribute *attributes) {
    uint32_t index, declared = ons_operator_attributes(op);
    char word[32], *end;
    if (!read_number(r, &index) || index >= declared) return malformed(r);
    char kind = *r->next;
    if (kind == '\0') return malformed(r);
    ++r->next;
    if (!take(r, '=')) return malformed(r);
    if (kind == 'i') {
        attributes[index] = (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = strtoll(r->next, &end, 10)};
    } else if (kind == 'f') {
        attributes[index] = (ons_attribute){.kind = ONS_ATTRIBUTE_FLOAT, .f = strtod(r->next, &end)};
    } else {
        if (kind != 's' || !read_word(r, word, sizeof word)) return malformed(r);
        const char *kept = ons_arena_copy_text(r->arena, word);
        if (kept == NULL) return ons_status_out_of_memory();
        attributes[index] = (ons_attribute){.kind = ONS_ATTRIBUTE_STRING, .s = kept};
        return NULL;
    }
    if (end == r->next) return malformed(r);
    r->next = end;
    return NULL;
}

static ons_status *read_attributes(reader *r, const ons_operator *op, ons_attribute **attributes) {
    ONS_NEW(*attributes, r->arena, ONS_FUSED_ATTRIBUTES + 1);
    if (!take(r, '[')) return NULL;
    do ONS_TRY(read_attribute(r, op, *attributes));
    while (take(r, ','));
    return take(r, ']') ? NULL : malformed(r);
}

static ons_status *read_inputs(reader *r, uint32_t known, ons_fused_step *step) {
    if (!take(r, '(')) return malformed(r);
    do {
        if (step->operands.input_count == ONS_FUSED_OPERANDS) return malformed(r);
        uint32_t *input = &step->inputs[step->operands.input_count];
        *input = ONS_NONE;
        bool absent = step->operands.input_count > 0 && take(r, '-');
        if (!absent && (!read_number(r, input) || *input >= known)) return malformed(r);
        ++step->operands.input_count;
    } while (take(r, ','));
    return take(r, ')') ? NULL : malformed(r);
}

/* The types of a step, from those of the values before it. */
static ons_status *infer_step(reader *r, ons_fused_step *step, uint32_t result) {
    ons_fused *f = r->fused;
    ons_operands *o = &step->operands;
    ons_type *inputs, *outputs;
    ons_tensor *constants;
    ONS_NEW(inputs, r->arena, ONS_FUSED_OPERANDS);
    ONS_NEW(outputs, r->arena, 1);
    ONS_NEW(constants, r->arena, ONS_FUSED_OPERANDS);
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (step->inputs[i] != ONS_NONE) inputs[i] = f->types[step->inputs[i]];
    o->inputs = inputs;
    o->outputs = outputs;
    o->constants = constants;
    o->output_count = 1;
    ONS_TRY(ons_operands_infer(o));
    f->types[result] = outputs[0];
    if (!ons_shape_equal(&outputs[0].shape, &f->types[f->input_count].shape))
        return ons_node_error(r->node, "step %u has another shape than step 0", f->step_count);
    step->joins = step->formula->kind == ONS_FORMULA_VARIADIC && o->input_count > 2 ? o->input_count - 1 : 1;
    step->first_join = r->joins;
    r->joins += step->joins;
    return r->joins <= ONS_FUSED_JOINS ? NULL : ons_node_error(r->node, "more than %d formulas", ONS_FUSED_JOINS);
}

static ons_status *read_step(reader *r) {
    ons_fused *f = r->fused;
    char name[64];
    if (f->step_count == ONS_FUSED_STEPS || !read_word(r, name, sizeof name)) return malformed(r);
    ons_fused_step *step = &f->steps[f->step_count];
    step->formula = find_formula(name);
    if (step->formula == NULL) return ons_node_error(r->node, "no formula '%s'", name);
    ons_attribute *attributes;
    step->operands.op = step->formula->op;
    step->operands.name = r->node->name;
    ONS_TRY(read_attributes(r, step->formula->op, &attributes));
    step->operands.attributes = attributes;
    uint32_t result = f->input_count + f->step_count;
    ONS_TRY(read_inputs(r, result, step));
    ONS_TRY(infer_step(r, step, result));
    ++f->step_count;
    return NULL;
}

ons_status *ons_fused_read(const ons_operands *o, ons_arena *arena, ons_fused *fused) {
    *fused = (ons_fused){.input_count = o->input_count, .output_count = o->attributes[1].count};
    reader r = {.node = o, .arena = arena, .next = ons_attribute_string(o, 0), .fused = fused};
    if (o->input_count > ONS_FUSED_INPUTS) return ons_node_error(o, "more than %d inputs", ONS_FUSED_INPUTS);
    for (uint32_t i = 0; i < o->input_count; ++i) fused->types[i] = o->inputs[i];
    do ONS_TRY(read_step(&r));
    while (take(&r, ';'));
    if (*r.next != '\0') return malformed(&r);
    if (fused->output_count == 0 || fused->output_count > ONS_FUSED_OUTPUTS)
        return ons_node_error(o, "%u outputs, from 1 to %d are possible", fused->output_count, ONS_FUSED_OUTPUTS);
    fused->width = 4;
    for (uint32_t i = 0; i < fused->output_count; ++i) {
        int64_t value = o->attributes[1].ints[i];
        if (value < fused->input_count || value >= fused->input_count + fused->step_count)
            return ons_node_error(o, "there is no step %lld", (long long)value);
        fused->outputs[i] = (uint32_t)value;
        if (ons_dtype_size(fused->types[value].dtype) == 2) fused->width = 8;
    }
    for (uint32_t i = 0; i < fused->input_count; ++i)
        if (ons_dtype_size(fused->types[i].dtype) == 2) fused->width = 8;
    return NULL;
}
