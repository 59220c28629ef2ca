/* Pattern expressions are parsed once per pass into a small tree and matched from the root downwards against the nodes
 * that make the values. The graph is scanned in order; a node that is the root of a match gets replaced, and the inner
 * nodes die in ons_prune. */
#include "graph/passes/fuse.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "graph/passes/prune.h"

enum { TERMS_MAX = 64, ARGUMENTS_MAX = 6, WORD_MAX = 32 };

typedef enum term_kind { TERM_NODE, TERM_VALUE, TERM_SCALAR, TERM_NUMBER } term_kind;

typedef struct term {
    term_kind kind;
    char word[WORD_MAX]; /* the capture's name; of a node: the name for reuse, or "" */
    char op[WORD_MAX];
    double number;
    int arguments[ARGUMENTS_MAX];
    int argument_count;
} term;

typedef struct form {
    term terms[TERMS_MAX];
    int count;
    int root;
    const char *next; /* while parsing */
} form;

/* What a term stands for in the graph. Captures with the same word share the binding of the first. */
typedef struct binding_of_term {
    bool bound;
    ons_value_id value;
    double number;
    ons_node_id node;
} binding_of_term;

struct ons_match {
    ons_builder *builder;
    const form *form;
    binding_of_term bound[TERMS_MAX];
    ons_operands operands[TERMS_MAX]; /* filled in for named nodes when asked for */
    ons_arena *scratch;
};

/* ---------------------------------------------------------------------------------------------------------- parsing */

static void skip_blanks(form *f) {
    while (*f->next == ' ') ++f->next;
}

static bool parse_word(form *f, char word[WORD_MAX]) {
    int length = 0;
    while ((isalnum((unsigned char)*f->next) || *f->next == '_') && length < WORD_MAX - 1) word[length++] = *f->next++;
    word[length] = '\0';
    return length > 0;
}

static int parse_term(form *f);

static bool parse_arguments(form *f, term *t) {
    do {
        ++f->next; /* '(' or ',' */
        if (t->argument_count == ARGUMENTS_MAX || (t->arguments[t->argument_count++] = parse_term(f)) < 0) return false;
        skip_blanks(f);
    } while (*f->next == ',');
    return *f->next++ == ')';
}

/* The index of the term, or -1. A word that was seen before gives the earlier term. */
static int parse_term(form *f) {
    skip_blanks(f);
    term t = {.kind = TERM_VALUE};
    if (isdigit((unsigned char)*f->next) || *f->next == '-' || *f->next == '.') {
        char *end;
        t.kind = TERM_NUMBER;
        t.number = strtod(f->next, &end);
        f->next = end;
    } else {
        if (*f->next == '?') {
            t.kind = TERM_SCALAR;
            ++f->next;
        }
        if (!parse_word(f, t.word)) return -1;
        skip_blanks(f);
        bool named = *f->next == '=';
        if (named) {
            ++f->next;
            skip_blanks(f);
            if (!parse_word(f, t.op)) return -1;
        } else if (*f->next == '(') {
            memcpy(t.op, t.word, sizeof t.op);
            t.word[0] = '\0';
        }
        if (*f->next == '(') {
            t.kind = TERM_NODE;
            if (!parse_arguments(f, &t)) return -1;
        }
    }
    for (int i = 0; t.word[0] != '\0' && i < f->count; ++i)
        if (strcmp(f->terms[i].word, t.word) == 0) return i;
    if (f->count == TERMS_MAX) return -1;
    f->terms[f->count] = t;
    return f->count++;
}

static ons_status *parse(const char *text, form *f) {
    *f = (form){.next = text};
    f->root = parse_term(f);
    skip_blanks(f);
    ONS_CHECK(f->root >= 0 && *f->next == '\0' && f->terms[f->root].kind == TERM_NODE, ONS_DEFECT,
              "malformed pattern at '%s' in '%s'", f->next, text);
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- matching */

static bool scalar_of(const ons_graph *graph, ons_value_id value, double *number) {
    const ons_tensor *tensor = ons_graph_constant(graph, value);
    if (tensor == NULL || ons_shape_elements(&tensor->type.shape) != 1) return false;
    union {
        double real;
        int64_t integer;
    } word;
    ons_widen(tensor->type.dtype, tensor->data, 1, &word);
    *number = ons_dtype_is_float(tensor->type.dtype) ? word.real : (double)word.integer;
    return true;
}

static bool match_term(const ons_graph *graph, const form *f, int index, ons_value_id value, binding_of_term *bound);

static bool match_arguments(const ons_graph *graph, const form *f, const term *t, const ons_node *node, bool swapped,
                            binding_of_term *bound) {
    for (int i = 0; i < t->argument_count; ++i) {
        uint32_t input = swapped ? (uint32_t)(1 - i) : (uint32_t)i;
        if (input >= node->input_count || node->inputs[input] == ONS_NONE ||
            !match_term(graph, f, t->arguments[i], node->inputs[input], bound))
            return false;
    }
    return true;
}

static bool match_node(const ons_graph *graph, const form *f, int index, ons_value_id value, binding_of_term *bound) {
    const term *t = &f->terms[index];
    ons_node_id id = ons_graph_value(graph, value)->producer;
    if (id == ONS_NONE) return false;
    const ons_node *node = ons_graph_node(graph, id);
    if (strcmp(node->op->name, t->op) != 0 || node->outputs[0] != value) return false;
    bool commutes =
        (node->op->roles.traits & ONS_TRAIT_COMMUTATIVE) && t->argument_count == 2 && node->input_count == 2;
    for (int swapped = 0; swapped <= (commutes ? 1 : 0); ++swapped) {
        binding_of_term attempt[TERMS_MAX];
        memcpy(attempt, bound, sizeof attempt);
        if (!match_arguments(graph, f, t, node, swapped, attempt)) continue;
        memcpy(bound, attempt, sizeof attempt);
        bound[index] = (binding_of_term){.bound = true, .value = value, .node = id};
        return true;
    }
    return false;
}

static bool match_term(const ons_graph *graph, const form *f, int index, ons_value_id value, binding_of_term *bound) {
    const term *t = &f->terms[index];
    if (bound[index].bound) return bound[index].value == value;
    double number = 0;
    switch (t->kind) {
    case TERM_NODE: return match_node(graph, f, index, value, bound);
    case TERM_NUMBER: /* the same number may be a different constant at each place */
        return scalar_of(graph, value, &number) && fabs(number - t->number) <= 1e-4 * fmax(1, fabs(t->number));
    case TERM_SCALAR:
        if (!scalar_of(graph, value, &number)) return false;
        break;
    case TERM_VALUE: break;
    }
    bound[index] = (binding_of_term){.bound = true, .value = value, .number = number, .node = ONS_NONE};
    return true;
}

static bool is_read_inside(const ons_graph *graph, const form *f, const binding_of_term *bound, ons_value_id value,
                           uint32_t uses) {
    uint32_t inside = 0;
    for (int k = 0; k < f->count; ++k) {
        if (f->terms[k].kind != TERM_NODE || !bound[k].bound) continue;
        const ons_node *node = ons_graph_node(graph, bound[k].node);
        for (uint32_t input = 0; input < node->input_count; ++input) inside += node->inputs[input] == value;
    }
    return inside == uses;
}

/* No result of an inner node may be read by a node outside of the match, or be an output. */
static bool is_closed(const ons_graph *graph, const form *f, const binding_of_term *bound, const uint32_t *uses) {
    for (int i = 0; i < f->count; ++i) {
        if (i == f->root || f->terms[i].kind != TERM_NODE || !bound[i].bound) continue;
        const ons_node *node = ons_graph_node(graph, bound[i].node);
        for (uint32_t k = 0; k < node->output_count; ++k)
            if (node->outputs[k] != ONS_NONE &&
                !is_read_inside(graph, f, bound, node->outputs[k], uses[node->outputs[k]]))
                return false;
    }
    return true;
}

/* ---------------------------------------------------------------------------------------- for replacement functions */

static int find_word(const ons_match *match, const char *word) {
    if (strcmp(word, "result") == 0) return match->form->root;
    for (int i = 0; i < match->form->count; ++i)
        if (strcmp(match->form->terms[i].word, word) == 0 && match->bound[i].bound) return i;
    return -1;
}

ons_builder *ons_match_builder(ons_match *match) { return match->builder; }

ons_value_id ons_match_value(const ons_match *match, const char *word) {
    int index = find_word(match, word);
    return index < 0 ? ONS_NONE : match->bound[index].value;
}

ons_type ons_match_type(const ons_match *match, const char *word) {
    return ons_builder_type(match->builder, ons_match_value(match, word));
}

bool ons_match_is_filled(const ons_match *match, const char *word, double number) {
    ons_value_id id = ons_match_value(match, word);
    const ons_graph *graph = match->builder->graph;
    const ons_value *value = id == ONS_NONE ? NULL : ons_graph_value(graph, id);
    const ons_tensor *tensor = value == NULL ? NULL : ons_store_get(graph->store, value->data);
    if (tensor == NULL || tensor->data == NULL || value->producer != ONS_NONE) return false;
    size_t size = ons_dtype_size(tensor->type.dtype);
    for (int64_t i = 0, count = ons_shape_elements(&tensor->type.shape); i < count; ++i) {
        union {
            double real;
            int64_t whole;
        } word_of;
        ons_widen(tensor->type.dtype, (const char *)tensor->data + (size_t)i * size, 1, &word_of);
        if ((ons_dtype_is_float(tensor->type.dtype) ? word_of.real : (double)word_of.whole) != number) return false;
    }
    return true;
}

double ons_match_scalar(const ons_match *match, const char *word) {
    int index = find_word(match, word);
    return index < 0 ? NAN : match->bound[index].number;
}

const ons_operands *ons_match_node(const ons_match *match, const char *name) {
    int index = find_word(match, name);
    if (index < 0 || match->bound[index].node == ONS_NONE) return NULL;
    ons_match *m = (ons_match *)match; /* the operands are a cache */
    if (m->operands[index].op == NULL &&
        ons_builder_fail(m->builder,
                         ons_operands_of(m->builder->graph, match->bound[index].node, m->scratch, &m->operands[index])))
        return NULL;
    return &m->operands[index];
}

void ons_match_hand_over(ons_match *match, const char *name, ons_node_id node) {
    int index = find_word(match, name);
    if (node == ONS_NONE || index < 0 || match->bound[index].node == ONS_NONE) return;
    ons_graph *graph = match->builder->graph;
    ons_node *from = ons_graph_node(graph, match->bound[index].node);
    for (uint32_t i = 1; i < from->output_count; ++i) {
        if (from->outputs[i] == ONS_NONE) continue;
        ons_graph_set_output(graph, node, i, from->outputs[i]);
        from->outputs[i] = ONS_NONE;
    }
    const char *own = ons_graph_node(graph, node)->name;
    ons_graph_node(graph, node)->name = from->name;
    from->name = own;
}

/* ------------------------------------------------------------------------------------------------------------- pass */

typedef struct candidate {
    form form;
    const ons_pattern *pattern;
} candidate;

typedef struct fusion {
    ons_graph *graph;
    ons_builder builder;
    ONS_VECTOR(candidate) candidates;
    ONS_VECTOR(uint32_t) uses;     /* of each value: readers, and one more where it is an output */
    ONS_VECTOR(ons_node_id) order; /* nodes with the new ones in their places */
    ons_value_id *replaced;        /* of each old value */
    size_t old_values;
} fusion;

static ons_status *count_uses(fusion *f) {
    f->uses.count = 0;
    while (f->uses.count < f->graph->values.count) ONS_PUSH(&f->uses, 0);
    for (size_t i = 0; i < f->graph->nodes.count; ++i)
        for (uint32_t k = 0; k < f->graph->nodes.items[i].input_count; ++k)
            if (f->graph->nodes.items[i].inputs[k] != ONS_NONE) f->uses.items[f->graph->nodes.items[i].inputs[k]]++;
    for (size_t i = 0; i < f->graph->outputs.count; ++i) f->uses.items[f->graph->outputs.items[i]]++;
    return NULL;
}

static ons_status *try_candidate(fusion *f, const candidate *c, ons_node_id root, ons_arena *scratch, bool *done) {
    ons_match *match;
    ONS_NEW(match, scratch, 1);
    ons_value_id value = ons_graph_node(f->graph, root)->outputs[0];
    match->builder = &f->builder;
    match->form = &c->form;
    match->scratch = scratch;
    if (!match_term(f->graph, &c->form, c->form.root, value, match->bound) ||
        !is_closed(f->graph, &c->form, match->bound, f->uses.items))
        return NULL;
    size_t before = f->graph->nodes.count;
    f->builder.name = ons_graph_node(f->graph, root)->name;
    ons_value_id fresh = c->pattern->replace(match);
    ONS_TRY(ons_builder_finish(&f->builder));
    if (fresh == ONS_NONE) return NULL; /* nodes that were built all the same die in the pruning */
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    const ons_type *was = &ons_graph_value(f->graph, value)->type, *is = &ons_graph_value(f->graph, fresh)->type;
    ONS_CHECK(ons_type_equal(was, is), ONS_DEFECT, "pattern '%s' at node '%s' turns %s into %s", c->pattern->form,
              f->builder.name, ons_type_print(was, left), ons_type_print(is, right));
    for (size_t i = before; i < f->graph->nodes.count; ++i) ONS_PUSH(&f->order, (ons_node_id)i);
    /* The replacement is what the file's name stands for from now on. */
    const char *name = ons_graph_value(f->graph, value)->name;
    ons_graph_value(f->graph, value)->name = ons_graph_value(f->graph, fresh)->name;
    ons_graph_value(f->graph, fresh)->name = name;
    f->replaced[value] = fresh;
    *done = true;
    return NULL;
}

static ons_value_id find_replacement(const fusion *f, ons_value_id id) {
    while (id != ONS_NONE && id < f->old_values && f->replaced[id] != ONS_NONE) id = f->replaced[id];
    return id;
}

/* The longest forms come first, so that a whole is not taken for its parts. */
static int by_size(const void *left, const void *right) {
    return ((const candidate *)right)->form.count - ((const candidate *)left)->form.count;
}

static ons_status *collect(fusion *f, const ons_registry *registry) {
    for (size_t i = 0; i < registry->count; ++i) {
        for (const ons_pattern *p = registry->operators[i]->forms.patterns; p != NULL && p->form != NULL; ++p) {
            candidate c = {.pattern = p};
            ONS_TRY(parse(p->form, &c.form));
            ONS_PUSH(&f->candidates, c);
        }
    }
    if (f->candidates.count > 1) /* qsort may not keep equals in order: the registry's order breaks ties by address */
        qsort(f->candidates.items, f->candidates.count, sizeof f->candidates.items[0], by_size);
    return NULL;
}

static ons_status *fuse_node(fusion *f, ons_node_id id) {
    bool done = false;
    for (size_t c = 0; !done && c < f->candidates.count; ++c) {
        const ons_node *node = ons_graph_node(f->graph, id);
        const candidate *each = &f->candidates.items[c];
        if (node->output_count == 0 || node->outputs[0] == ONS_NONE ||
            strcmp(each->form.terms[each->form.root].op, node->op->name) != 0)
            continue;
        ons_arena *scratch = ons_arena_new();
        ons_status *status = scratch == NULL ? ons_status_out_of_memory() : try_candidate(f, each, id, scratch, &done);
        ons_arena_free(scratch);
        ONS_TRY(status);
    }
    ONS_PUSH(&f->order, id);
    return NULL;
}

/* One sweep over all nodes. */
static ons_status *sweep(fusion *f, bool *changed) {
    size_t nodes = f->graph->nodes.count;
    f->old_values = f->graph->values.count;
    f->replaced = malloc((f->old_values + 1) * sizeof *f->replaced);
    if (f->replaced == NULL) return ons_status_out_of_memory();
    memset(f->replaced, 0xff, (f->old_values + 1) * sizeof *f->replaced);
    f->order.count = 0;
    ONS_TRY(count_uses(f));
    for (ons_node_id id = 0; id < nodes; ++id) ONS_TRY(fuse_node(f, id));
    *changed = f->graph->nodes.count > nodes;
    /* Nodes built by declined attempts are in nobody's order: put them last, pruning drops them. */
    bool *ordered = calloc(f->graph->nodes.count + 1, sizeof *ordered);
    if (ordered == NULL) return ons_status_out_of_memory();
    for (size_t i = 0; i < f->order.count; ++i) ordered[f->order.items[i]] = true;
    ons_status *status = NULL;
    for (size_t i = 0; status == NULL && i < f->graph->nodes.count; ++i)
        if (!ordered[i] && !ons_vector_push(&f->order, (ons_node_id)i)) status = ons_status_out_of_memory();
    free(ordered);
    ONS_TRY(status);
    for (size_t i = 0; i < f->graph->nodes.count; ++i)
        for (uint32_t k = 0; k < f->graph->nodes.items[i].input_count; ++k)
            f->graph->nodes.items[i].inputs[k] = find_replacement(f, f->graph->nodes.items[i].inputs[k]);
    for (size_t i = 0; i < f->graph->outputs.count; ++i)
        f->graph->outputs.items[i] = find_replacement(f, f->graph->outputs.items[i]);
    return ons_prune(f->graph, f->order.items, NULL);
}

ons_status *ons_fuse(ons_graph **graph, const ons_registry *registry) {
    fusion f = {
        .graph = *graph,
        .builder = {.graph = *graph, .registry = registry, .phase = ONS_FORWARD, .origin = ONS_NONE},
    };
    ons_status *status = collect(&f, registry);
    bool changed = true;
    /* A replacement can be part of a larger form: sweep until nothing changes. Forms shrink, so this ends. */
    for (int round = 0; status == NULL && changed && round < 8; ++round) {
        status = sweep(&f, &changed);
        free(f.replaced);
        f.replaced = NULL;
    }
    ons_vector_free(&f.candidates);
    ons_vector_free(&f.uses);
    ons_vector_free(&f.order);
    return status;
}
