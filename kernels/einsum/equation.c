#include "kernels/einsum/equation.h"

#include <ctype.h>
#include <string.h>

enum { ELLIPSIS = ONS_EINSUM_LABELS };

ons_labels ons_term_labels(const ons_term *term) {
    ons_labels labels = 0;
    for (uint32_t i = 0; i < term->rank; ++i) labels |= ONS_LABEL_BIT(term->labels[i]);
    return labels;
}

/* One term as it is written: letters, and at most one ellipsis. */
typedef struct written_term {
    uint32_t count;
    uint8_t labels[ONS_RANK_MAX + 1];
    bool ellipsis;
} written_term;

static ons_status *read_term(const ons_operands *o, const char **text, written_term *term) {
    *term = (written_term){0};
    for (; **text != '\0' && **text != ',' && **text != '-'; ++*text) {
        char c = **text;
        uint8_t label = ELLIPSIS;
        if (c == ' ') continue;
        if (c == '.') {
            if (strncmp(*text, "...", 3) != 0 || term->ellipsis)
                return ons_node_error(o, "the equation has dots that are not one '...' a term");
            *text += 2;
            term->ellipsis = true;
        } else if (isupper((unsigned char)c)) {
            label = (uint8_t)(c - 'A');
        } else if (islower((unsigned char)c)) {
            label = (uint8_t)(26 + c - 'a');
        } else {
            return ons_node_error(o, "the equation has a '%c'", isprint((unsigned char)c) ? c : '?');
        }
        if (term->count > ONS_RANK_MAX) return ons_node_error(o, "a term of the equation is too long");
        term->labels[term->count++] = label;
    }
    return NULL;
}

/* The ellipsis becomes `dims` labels of its own. */
static ons_status *spell_out(const ons_operands *o, const written_term *written, uint32_t dims, ons_term *term) {
    *term = (ons_term){0};
    uint32_t rank = written->count + (written->ellipsis ? dims : 0) - (written->ellipsis ? 1 : 0);
    if (rank > ONS_RANK_MAX) return ons_node_error(o, "a term of the equation has %u axes", rank);
    for (uint32_t i = 0; i < written->count; ++i)
        if (written->labels[i] != ELLIPSIS)
            term->labels[term->rank++] = written->labels[i];
        else
            for (uint32_t k = 0; k < dims; ++k) term->labels[term->rank++] = (uint8_t)(ONS_EINSUM_LABELS - dims + k);
    return NULL;
}

static ons_status *note_sizes(const ons_operands *o, ons_einsum *e, uint32_t operand) {
    const ons_term *term = &e->operands[operand];
    for (uint32_t i = 0; i < term->rank; ++i) {
        int64_t *size = &e->sizes[term->labels[i]], dim = o->inputs[operand].shape.dims[i];
        if (*size < 0 || *size == 1) *size = dim;
        for (uint32_t k = 0; k < i; ++k)
            if (term->labels[k] == term->labels[i] && o->inputs[operand].shape.dims[k] != dim)
                return ons_node_error(o, "axes %u and %u of operand %u are one letter but differ", k, i, operand);
        if (dim != *size && dim != 1)
            return ons_node_error(o, "axis %u of operand %u has %lld elements, others of its letter have %lld", i,
                                  operand, (long long)dim, (long long)*size);
    }
    return NULL;
}

/* Without an arrow: the ellipsis, then the letters that come once, in the order of ASCII. */
static ons_status *implicit_result(const ons_operands *o, ons_einsum *e, uint32_t dims) {
    uint32_t uses[ONS_EINSUM_LETTERS] = {0};
    written_term written = {.count = 1, .labels = {ELLIPSIS}, .ellipsis = true};
    for (uint32_t i = 0; i < e->count; ++i)
        for (uint32_t k = 0; k < e->operands[i].rank; ++k)
            if (e->operands[i].labels[k] < ONS_EINSUM_LETTERS) ++uses[e->operands[i].labels[k]];
    for (int label = 0; label < ONS_EINSUM_LETTERS; ++label) {
        if (uses[label] != 1) continue;
        if (written.count > ONS_RANK_MAX) return ons_node_error(o, "the result has too many axes");
        written.labels[written.count++] = (uint8_t)label;
    }
    return spell_out(o, &written, dims, &e->result);
}

static ons_status *check_result(const ons_operands *o, const ons_einsum *e) {
    ons_labels seen = 0;
    for (uint32_t i = 0; i < e->result.rank; ++i) {
        uint8_t label = e->result.labels[i];
        if ((seen & ONS_LABEL_BIT(label)) != 0) return ons_node_error(o, "the result has a letter twice");
        if (e->sizes[label] < 0) return ons_node_error(o, "the result has a letter that no operand has");
        seen |= ONS_LABEL_BIT(label);
    }
    return NULL;
}

static ons_status *read_operands(const ons_operands *o, const char **text, ons_einsum *e, uint32_t *dims) {
    written_term written[ONS_EINSUM_OPERANDS];
    for (e->count = 0;; ++*text) {
        if (e->count >= ONS_EINSUM_OPERANDS) return ons_node_error(o, "more than %d operands", ONS_EINSUM_OPERANDS);
        ONS_TRY(read_term(o, text, &written[e->count++]));
        if (**text != ',') break;
    }
    if (e->count != o->input_count)
        return ons_node_error(o, "the equation has %u terms, the node %u operands", e->count, o->input_count);
    *dims = 0;
    for (uint32_t i = 0; i < e->count; ++i) {
        uint32_t rank = o->inputs[i].shape.rank, letters = written[i].count - written[i].ellipsis;
        if (rank < letters || (rank > letters && !written[i].ellipsis))
            return ons_node_error(o, "operand %u of rank %u does not fit its term of %u letters", i, rank, letters);
        *dims = rank - letters > *dims ? rank - letters : *dims;
        ONS_TRY(spell_out(o, &written[i], rank - letters, &e->operands[i]));
        ONS_TRY(note_sizes(o, e, i));
    }
    return NULL;
}

ons_status *ons_einsum_read(const ons_operands *o, const char *equation, ons_einsum *einsum) {
    const char *text = equation;
    uint32_t dims;
    for (uint32_t i = 0; i < ONS_EINSUM_LABELS; ++i) einsum->sizes[i] = -1;
    ONS_TRY(read_operands(o, &text, einsum, &dims));
    if (*text == '\0') {
        ONS_TRY(implicit_result(o, einsum, dims));
    } else {
        written_term written;
        if (strncmp(text, "->", 2) != 0) return ons_node_error(o, "the equation has a '-' that is not in '->'");
        text += 2;
        ONS_TRY(read_term(o, &text, &written));
        if (*text != '\0') return ons_node_error(o, "the equation has more than one result");
        ONS_TRY(spell_out(o, &written, dims, &einsum->result));
    }
    return check_result(o, einsum);
}
