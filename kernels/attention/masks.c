#include "kernels/attention/masks.h"

#include <math.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/passes/fuse.h"
#include "kernels/attention/attention_operands.h"
#include "kernels/common/layout/upwards.h"
#include "kernels/operators.h"

/* Masking by a large negative number instead of -inf hides a key just as well where a row has others. One that is added
 * must be so large that the score is lost in it, so that a row without any key to see looks at all of them alike. */
static const double HIDDEN = -9999, LOST = ONS_ATTENTION_HIDDEN;

/* Whether a mask has a row for each query and a column for each of as many keys. */
static bool is_square(const ons_type *mask, int64_t queries, int64_t keys) {
    const ons_shape *shape = &mask->shape;
    return shape->rank >= 2 && queries == keys && shape->dims[shape->rank - 2] == queries &&
           shape->dims[shape->rank - 1] == keys;
}

/* What is seen of an element's place: position t sees exactly the keys up to t. */
typedef struct place {
    int64_t row, column, size;
} place;

static bool is_hidden_by_time(const place *p) { return p->column > p->row; }

static void step(place *p) {
    if (++p->column < p->size) return;
    p->column = 0;
    if (++p->row == p->size) p->row = 0;
}

/* Whether a mask broadcasts to the scores and has every key. */
static bool mask_fits(const ons_type *mask, const int64_t dims[4]) {
    const ons_shape *shape = &mask->shape;
    bool fits = shape->rank >= 1 && shape->rank <= 4 && shape->dims[shape->rank - 1] == dims[3];
    for (uint32_t i = 1; fits && i <= shape->rank; ++i)
        fits = shape->dims[shape->rank - i] == 1 || shape->dims[shape->rank - i] == dims[4 - i];
    return fits;
}

static bool list_mask(ons_found_masks *masks, ons_found_mask mask) {
    if (masks->count == ONS_MASKS_MOST) return false;
    masks->items[masks->count++] = mask;
    return true;
}

/* Masks on the way up. A causal mask by a finite number is left out for good only where it is the only one: a row that
 * others hide as well may see keys after its own. */
typedef struct search {
    ons_found_masks *masks;
    bool causal;     /* there is one by -inf, which is not listed */
    uint32_t finite; /* how many are causal and finite: those are listed until the end */
} search;

/* scores + mask, whose contents may be known: zeros are no mask. */
static bool read_added_mask(const ons_graph *graph, ons_value_id mask, const int64_t dims[4], search *s) {
    const ons_type *type = &ons_graph_value(graph, mask)->type;
    const ons_tensor *tensor = ons_known(graph, mask);
    int64_t count = tensor == NULL ? 0 : ons_shape_elements(&type->shape);
    bool empty = tensor != NULL, causal = empty && is_square(type, dims[2], dims[3]), finite = false;
    place p = {.size = dims[3]};
    for (int64_t i = 0; i < count && (empty || causal); ++i) {
        double number = ons_element_of(tensor, i);
        empty &= number == 0;
        finite |= number != 0 && isfinite(number);
        causal = causal && (is_hidden_by_time(&p) ? number < HIDDEN : number == 0);
        step(&p);
    }
    if (empty) return true;
    s->causal |= causal && !finite;
    s->finite += causal && finite;
    if (causal && !finite) return true;
    return type->dtype == ONS_FLOAT32 && mask_fits(type, dims) &&
           list_mask(s->masks, (ons_found_mask){mask, ONS_NONE, false, 0});
}

/* Where(condition, scores, fill) or, `hides`, Where(condition, fill, scores) */
static bool read_chosen_mask(const ons_graph *graph, ons_value_id condition, bool hides, double fill,
                             const int64_t dims[4], search *s) {
    const ons_type *type = &ons_graph_value(graph, condition)->type;
    const ons_tensor *tensor = ons_known(graph, condition);
    int64_t count = tensor == NULL ? 0 : ons_shape_elements(&type->shape);
    bool causal = tensor != NULL && is_square(type, dims[2], dims[3]);
    place p = {.size = dims[3]};
    for (int64_t i = 0; i < count && causal; ++i) {
        causal = ((ons_element_of(tensor, i) != 0) == hides) == is_hidden_by_time(&p);
        step(&p);
    }
    s->causal |= causal && !isfinite(fill);
    s->finite += causal && isfinite(fill);
    if (causal && !isfinite(fill)) return true;
    return (causal || fill <= LOST) && mask_fits(type, dims) &&
           list_mask(s->masks, (ons_found_mask){ONS_NONE, condition, hides, fill});
}

/* Whether the value is made from an input of the graph, or from too much to tell. */
static bool depends_on_input(const ons_graph *graph, ons_value_id value, int *steps) {
    const ons_value *v = ons_graph_value(graph, value);
    if (v->producer == ONS_NONE) return v->kind == ONS_INPUT;
    const ons_node *node = ons_graph_node(graph, v->producer);
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE && (--*steps < 0 || depends_on_input(graph, node->inputs[i], steps)))
            return true;
    return false;
}

/* Whether an added mask may hide keys: one that is known does not where its numbers are small, and what is made from
 * weights alone is a bias. */
static bool may_hide(const ons_graph *graph, ons_value_id mask) {
    const ons_tensor *tensor = ons_known(graph, mask);
    int64_t count = tensor == NULL ? 0 : ons_shape_elements(&ons_graph_value(graph, mask)->type.shape);
    for (int64_t i = 0; i < count; ++i)
        if (ons_element_of(tensor, i) <= LOST) return true;
    int steps = 200;
    return tensor == NULL && depends_on_input(graph, mask, &steps);
}

/* Looks at what was found as a whole. */
static bool finish(const ons_graph *graph, search *s) {
    ons_found_masks *masks = s->masks;
    if (s->finite == masks->count) masks->count = 0; /* every row sees its own key */
    masks->causal = s->causal || (s->finite > 0 && masks->count == 0);
    bool hides = false;
    for (uint32_t i = 0; i < masks->count; ++i) {
        const ons_found_mask *mask = &masks->items[i];
        if (mask->added != ONS_NONE)
            hides = hides || may_hide(graph, mask->added);
        else if (mask->fill > LOST)
            return false;
        else
            masks->chosen |= isfinite(mask->fill);
    }
    /* Which of the two has hidden a key the sum does not tell. */
    return !(hides && masks->chosen);
}

/* Whether these are scores below all masks: a scaled product. */
static bool are_scores(const ons_graph *graph, ons_value_id value) {
    double scale = 1;
    while (ons_step_over_scale(graph, &value, &scale)) continue;
    return ons_made_by(graph, value, "MatMul") != NULL;
}

/* Which operand of an addition are the scores: the one that is known is the mask; else the product, or what a further
 * mask has been put on. -1: neither. */
static int scores_of_sum(const ons_graph *graph, const ons_node *sum, ons_value_id whole) {
    for (int i = 0; i < 2; ++i)
        if (ons_graph_constant(graph, sum->inputs[1 - i]) != NULL && ons_same_type(graph, sum->inputs[i], whole))
            return i;
    for (int deep = 0; deep < 2; ++deep)
        for (int i = 0; i < 2; ++i) {
            bool masked = ons_made_by(graph, sum->inputs[i], "Add") != NULL ||
                          ons_made_by(graph, sum->inputs[i], "Where") != NULL;
            if (ons_same_type(graph, sum->inputs[i], whole) &&
                (are_scores(graph, sum->inputs[i]) || (deep == 1 && masked)))
                return i;
        }
    return -1;
}

bool ons_step_over_masks(const ons_graph *graph, const int64_t dims[static 4], ons_value_id *scores,
                         ons_found_masks *masks) {
    *masks = (ons_found_masks){0};
    search s = {.masks = masks};
    for (;;) {
        const ons_node *sum = ons_made_by(graph, *scores, "Add"), *where = ons_made_by(graph, *scores, "Where");
        double fill;
        int from = -1;
        if (sum != NULL) {
            from = scores_of_sum(graph, sum, *scores);
            if (from < 0 || !read_added_mask(graph, sum->inputs[1 - from], dims, &s)) return false;
            *scores = sum->inputs[from];
            continue;
        }
        if (where == NULL) return finish(graph, &s);
        for (int i = 1; i < 3; ++i)
            if (ons_is_number(graph, where->inputs[i], &fill) && fill < HIDDEN &&
                ons_same_type(graph, where->inputs[3 - i], *scores))
                from = 3 - i;
        if (from < 0 || !ons_is_number(graph, where->inputs[3 - from], &fill) ||
            !read_chosen_mask(graph, where->inputs[0], from == 2, fill, dims, &s))
            return false;
        *scores = where->inputs[from];
    }
}

/* A mask that was chosen stands in the place of what lies below it. */
static ons_value_id build_chosen(ons_builder *builder, const ons_found_mask *mask, ons_value_id below) {
    ons_value_id shown = below == ONS_NONE ? ons_build_scalar(builder, ONS_FLOAT32, 0) : below,
                 hidden = ons_build_scalar(builder, ONS_FLOAT32, mask->fill);
    return ons_build(builder, &ons_op_where,
                     ONS_IN(mask->condition, mask->hides ? hidden : shown, mask->hides ? shown : hidden), ONS_DEFAULTS);
}

/* They were found from the last one on. */
ons_value_id ons_build_masks(ons_builder *builder, const ons_found_masks *masks) {
    ons_value_id all = ONS_NONE;
    for (uint32_t i = masks->count; i-- > 0;) {
        const ons_found_mask *mask = &masks->items[i];
        if (mask->added == ONS_NONE)
            all = build_chosen(builder, mask, all);
        else
            all =
                all == ONS_NONE ? mask->added : ons_build(builder, &ons_op_add, ONS_IN(all, mask->added), ONS_DEFAULTS);
    }
    return all;
}
