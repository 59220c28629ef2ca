#include "runtime/program/halves.h"

#include <string.h>

#include "graph/operator.h"
#include "kernels/kernels.h"
#include "runtime/program/samples.h"

typedef struct finder {
    const ons_halves_options *o;
    const ons_cut_stage *cut;
    const ons_graph *graph;
    ons_arena *arena;
    ons_halves *h;
    bool *inner;        /* [value]: has samples along another axis than the outermost */
    bool *unlike;       /* [value]: is neither the same for all samples nor has them along one axis */
    bool *behind;       /* [node]: makes what would have to lie in halves, and cannot */
    ons_node_id *cause; /* [node]: of one that runs behind the halves, why: it, or one before it */
    bool *mixed;        /* [value]: made behind the halves */
} finder;

static const ons_value *value_of(const finder *f, ons_value_id id) { return ons_graph_value(f->graph, id); }

/* ----------------------------------------------------------------------------------------------------------- values */

static void relate_value(finder *f, ons_value_id id) {
    const ons_type *all = &value_of(f, id)->type;
    int64_t bytes = ons_registry_type_bytes(f->o->registry, all), sum = 0;
    ons_sample_relation is[2];
    for (int i = 0; i < 2; ++i) {
        const ons_type *some = &ons_graph_value(f->o->half[i]->graph, id)->type;
        is[i] = ons_samples_relate(all, f->o->rows[0] + f->o->rows[1], some, f->o->rows[i]);
        f->h->bytes[i][id] = ons_registry_type_bytes(f->o->registry, some);
        sum += f->h->bytes[i][id];
    }
    f->h->split[id] = is[0] == ONS_SAMPLES_OUTERMOST && is[1] == ONS_SAMPLES_OUTERMOST && sum == bytes;
    f->inner[id] = is[0] == ONS_SAMPLES_WITHIN && is[1] == ONS_SAMPLES_WITHIN && sum == bytes;
    f->unlike[id] = !f->h->split[id] && !f->inner[id] && !(is[0] == ONS_SAMPLES_ALIKE && is[1] == ONS_SAMPLES_ALIKE);
}

/* ------------------------------------------------------------------------------------------------------------ nodes */

static bool draws_by_element(const ons_node *node) {
    for (uint32_t i = 0; node->op->attributes[i].name != NULL; ++i)
        if (strcmp(node->op->attributes[i].name, ONS_FIRST_ELEMENT) == 0) return true;
    return false;
}

/* Whether each half can compute the node for its own samples. Where these are not outermost they lie among the other
 * half's, which is nobody's business as long as only the half itself looks. */
static bool works_by_sample(const finder *f, ons_node_id node_id) {
    const ons_node *node = ons_graph_node(f->graph, node_id);
    bool reads_samples = false, makes_samples = false, within = false;
    if ((node->op->roles.traits & ONS_TRAIT_COUPLES_SAMPLES) != 0 || f->behind[node_id]) return false;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_value_id id = node->inputs[i];
        if (id == ONS_NONE || ons_is_persistent(value_of(f, id))) continue;
        if (f->unlike[id] || (f->inner[id] && value_of(f, id)->producer == ONS_NONE)) return false;
        reads_samples = reads_samples || f->h->split[id] || f->inner[id];
    }
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id id = node->outputs[i];
        if (id == ONS_NONE) continue;
        bool samples = f->h->split[id] || f->inner[id];
        if (f->unlike[id] || value_of(f, id)->pair != ONS_NONE || (reads_samples && !samples)) return false;
        makes_samples = makes_samples || samples;
        within = within || f->inner[id];
    }
    return !makes_samples || (node->op->roles.traits & ONS_TRAIT_RANDOM) == 0 || (draws_by_element(node) && !within);
}

static ons_status *place_node(finder *f, ons_node_id id) {
    const ons_node *node = ons_graph_node(f->graph, id);
    ONS_CHECK((node->op->roles.traits & ONS_TRAIT_STATISTICS) == 0, ONS_UNSUPPORTED,
              "node '%s' normalises by the samples of its micro-batch, of which half are something else: leave "
              "--slices out, or give --batchnorm eval",
              node->name);
    f->cause[id] = works_by_sample(f, id) ? ONS_NONE : id;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_value_id input = node->inputs[i];
        if (input == ONS_NONE || !f->mixed[input]) continue;
        f->cause[id] = f->cause[value_of(f, input)->producer];
    }
    f->h->runs[id] = f->cause[id] == ONS_NONE;
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE) f->mixed[node->outputs[i]] = !f->h->runs[id];
    return NULL;
}

/* What a later forward part of the device reads is there whole. */
static ons_status *place_nodes(finder *f) {
    for (ons_part part = ONS_PART_FORWARD; part <= f->cut->chunks; ++part) {
        memset(f->mixed, 0, f->graph->values.count * sizeof *f->mixed);
        for (ons_node_id id = f->cut->end[part - 1]; id < f->cut->end[part]; ++id) ONS_TRY(place_node(f, id));
        for (uint32_t i = 0; i < f->cut->send_count; ++i) {
            const ons_cut_transfer *t = &f->cut->sends[i];
            if (t->part != part) continue;
            ons_node_id node = value_of(f, t->value)->producer;
            bool late = f->mixed[t->value];
            ONS_CHECK(!late && !f->inner[t->value] && !f->unlike[t->value], ONS_UNSUPPORTED,
                      "node '%s' does not work sample by sample, or its samples are not the outermost axis in memory, "
                      "and another stage waits for what comes of it ('%s'): the forward part of a micro-batch cannot "
                      "be computed in halves; leave --slices out",
                      ons_graph_node(f->graph, late ? f->cause[node] : node)->name, value_of(f, t->value)->name);
        }
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- places */

static bool is_forward(const finder *f, ons_node_id node) {
    return node >= f->cut->end[ONS_PART_BEGIN] && node < f->cut->end[f->cut->chunks];
}

static ons_part part_of(const finder *f, ons_node_id node) {
    ons_part part = ONS_PART_BEGIN;
    while (node >= f->cut->end[part]) ++part;
    return part;
}

/* What somebody reads beside the half that makes it; what is not made in halves; and what is read in a forward part
 * stays until the second half has read it. */
static void note_readers(finder *f) {
    ons_halves *h = f->h;
    for (ons_node_id id = 0; id < f->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(f->graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i) {
            ons_value_id input = node->inputs[i];
            if (input == ONS_NONE || ons_is_persistent(value_of(f, input))) continue;
            ons_node_id maker = value_of(f, input)->producer;
            bool inside = maker != ONS_NONE && h->runs[maker] && h->runs[id] && part_of(f, maker) == part_of(f, id);
            h->outer[input] = h->outer[input] || !inside;
            if (is_forward(f, id)) h->last_position[input] = f->cut->end[part_of(f, id)] - 1;
        }
        for (uint32_t i = 0; i < node->output_count; ++i) {
            if (node->outputs[i] == ONS_NONE || !is_forward(f, id)) continue;
            h->outer[node->outputs[i]] = h->outer[node->outputs[i]] || !h->runs[id];
            h->last_position[node->outputs[i]] = f->cut->end[part_of(f, id)] - 1;
        }
    }
    for (uint32_t i = 0; i < f->cut->send_count; ++i) h->outer[f->cut->sends[i].value] = true;
    for (uint32_t i = 0; i < f->cut->swap_count; ++i) h->outer[f->cut->swaps[i].value] = true;
    for (size_t i = 0; i < f->o->kept_count; ++i)
        if (f->o->kept[i] != ONS_NONE) h->outer[f->o->kept[i]] = true;
}

/* A view is the bytes of its source: where the one lies there so does the other. */
static void note_views(finder *f) {
    for (ons_node_id id = (ons_node_id)f->graph->nodes.count; id-- > 0;) {
        const ons_node *node = ons_graph_node(f->graph, id);
        for (const ons_alias *a = node->op->aliases; a->kind != ONS_ALIAS_END; ++a)
            if (a->kind == ONS_ALIAS_VIEW && node->outputs[a->output] != ONS_NONE &&
                f->h->outer[node->outputs[a->output]])
                f->h->outer[node->inputs[a->input]] = true;
    }
    for (ons_value_id id = 0; id < f->graph->values.count; ++id)
        if (!f->h->outer[id]) f->h->last_position[id] = 0;
}

/* What others read lies in halves, for which samples must be outermost: else the node that makes it runs behind. */
static bool find_behind(finder *f) {
    bool found = false;
    for (ons_value_id id = 0; id < f->graph->values.count; ++id) {
        ons_node_id maker = value_of(f, id)->producer;
        if (!f->inner[id] || !f->h->outer[id] || maker == ONS_NONE || !f->h->runs[maker]) continue;
        found = f->behind[maker] = true;
    }
    return found;
}

/* --------------------------------------------------------------------------------------------------- random numbers */

/* The second half's elements stand behind the first one's in what the numbers are drawn for. */
static ons_status *number_elements(const finder *f, ons_node_id id) {
    ons_node *node = ons_graph_node(f->o->half[1]->graph, id);
    ons_attribute *attributes;
    uint32_t count = 0, at = 0;
    if ((node->op->roles.traits & ONS_TRAIT_RANDOM) == 0 || !f->h->runs[id] || !f->h->split[node->outputs[0]])
        return NULL;
    for (; node->op->attributes[count].name != NULL; ++count)
        if (strcmp(node->op->attributes[count].name, ONS_FIRST_ELEMENT) == 0) at = count;
    ONS_NEW(attributes, f->o->half[1]->graph->arena, count);
    memcpy(attributes, node->attributes, count * sizeof *attributes);
    const ons_shape *before = &ons_graph_value(f->o->half[0]->graph, node->outputs[0])->type.shape;
    attributes[at] = (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = ons_shape_elements(before)};
    node->attributes = attributes;
    return NULL;
}

size_t ons_halves_value_count(const ons_cut_stage *whole, const ons_cut_stage *const half[2]) {
    size_t count = whole->graph->values.count;
    for (int i = 0; i < 2; ++i)
        if (half[i] != NULL && half[i]->graph->values.count > count) count = half[i]->graph->values.count;
    return count;
}

ons_status *ons_halves_find(const ons_halves_options *o, ons_arena *arena, ons_halves *h) {
    finder f = {.o = o, .cut = o->whole, .graph = o->whole->graph, .arena = arena, .h = h};
    size_t values = ons_halves_value_count(o->whole, o->half) + 1, nodes = f.graph->nodes.count + 1;
    *h = (ons_halves){0};
    ONS_NEW(h->split, arena, values);
    ONS_NEW(h->outer, arena, values);
    ONS_NEW(h->runs, arena, nodes);
    ONS_NEW(h->bytes[0], arena, values);
    ONS_NEW(h->bytes[1], arena, values);
    ONS_NEW(h->last_position, arena, values);
    ONS_NEW(f.inner, arena, values);
    ONS_NEW(f.unlike, arena, values);
    ONS_NEW(f.behind, arena, nodes);
    ONS_NEW(f.cause, arena, nodes);
    ONS_NEW(f.mixed, arena, values);
    for (ons_value_id id = 0; id < f.graph->values.count; ++id)
        if (!ons_is_persistent(value_of(&f, id))) relate_value(&f, id);
    for (bool again = true; again;) {
        memset(h->outer, 0, values * sizeof *h->outer);
        ONS_TRY(place_nodes(&f));
        note_readers(&f);
        note_views(&f);
        again = find_behind(&f);
    }
    for (ons_node_id id = 0; id < f.graph->nodes.count; ++id) ONS_TRY(number_elements(&f, id));
    return NULL;
}

ons_status *ons_halves_keep(const ons_halves *h, const ons_cut_stage *cut, ons_arena *arena, uint32_t *stays,
                            uint32_t **scratch_stays) {
    for (ons_value_id id = 0; id < cut->graph->values.count; ++id)
        if (h->last_position[id] > stays[id]) stays[id] = h->last_position[id];
    ONS_NEW(*scratch_stays, arena, cut->graph->nodes.count + 1);
    for (ons_part part = ONS_PART_FORWARD; part <= cut->chunks; ++part)
        for (ons_node_id id = cut->end[part - 1]; id < cut->end[part]; ++id)
            if (!h->runs[id]) (*scratch_stays)[id] = cut->end[part] - 1;
    return NULL;
}
