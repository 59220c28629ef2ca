/* NonMaxSuppression: class by class the boxes with the best scores that do not overlap a better one too much. How many
 * there are decides the shape, so the contents must be known when shapes are bound. */
#include <stdlib.h>

#include "graph/evaluate.h"
#include "kernels/common/operator/kernel.h"

enum { BOXES, SCORES, LIMIT, OVERLAP, THRESHOLD };

enum { CENTER_POINT_BOX };

static bool has_scalar(const ons_operands *o, uint32_t input) {
    return ons_has_input(o, input) && ons_elements(&o->inputs[input]) > 0;
}

static ons_status *check_types(const ons_operands *o) {
    const ons_shape *boxes = &o->inputs[BOXES].shape, *scores = &o->inputs[SCORES].shape;
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    if (boxes->rank != 3 || boxes->dims[2] != 4 || scores->rank != 3 || scores->dims[0] != boxes->dims[0] ||
        scores->dims[2] != boxes->dims[1] || o->inputs[BOXES].dtype != ONS_FLOAT32 ||
        o->inputs[SCORES].dtype != ONS_FLOAT32)
        return ons_node_error(o, "boxes in %s and scores in %s do not fit", ons_type_print(&o->inputs[BOXES], left),
                              ons_type_print(&o->inputs[SCORES], right));
    for (uint32_t i = LIMIT; i <= THRESHOLD; ++i)
        if (has_scalar(o, i) &&
            (ons_elements(&o->inputs[i]) != 1 || o->inputs[i].dtype != (i == LIMIT ? ONS_INT64 : ONS_FLOAT32)))
            return ons_node_error(o, "input %u is no single number", i);
    return NULL;
}

/* In float, as ONNX Runtime computes it: thresholds are compared with the result. */
typedef struct rectangle {
    float top, left, bottom, right;
} rectangle;

static rectangle rectangle_of(const double *box, bool by_center) {
    float a = (float)box[0], b = (float)box[1], c = (float)box[2], d = (float)box[3];
    if (by_center) return (rectangle){b - d / 2, a - c / 2, b + d / 2, a + c / 2};
    return (rectangle){a < c ? a : c, b < d ? b : d, a < c ? c : a, b < d ? d : b};
}

static float area_of(const rectangle *r) { return (r->bottom - r->top) * (r->right - r->left); }

static bool overlaps(const double *box, const double *other, bool by_center, float limit) {
    rectangle r = rectangle_of(box, by_center), s = rectangle_of(other, by_center);
    rectangle common = {r.top > s.top ? r.top : s.top, r.left > s.left ? r.left : s.left,
                        r.bottom < s.bottom ? r.bottom : s.bottom, r.right < s.right ? r.right : s.right};
    if (!(common.right > common.left) || !(common.bottom > common.top)) return false;
    float shared = area_of(&common), first = area_of(&r), second = area_of(&s), both = first + second - shared;
    return shared > 0 && first > 0 && second > 0 && both > 0 && shared / both > limit;
}

static int compare_scores(const void *a, const void *b, void *of) {
    const double *scores = of;
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    bool x_nan = scores[x] != scores[x], y_nan = scores[y] != scores[y];
    if (x_nan || y_nan) return x_nan - y_nan; /* last */
    return scores[x] != scores[y] ? (scores[x] < scores[y]) - (scores[x] > scores[y]) : (x > y) - (x < y);
}

typedef struct choice {
    int64_t limit; /* of boxes in a class */
    float overlap;
    bool by_center, has_threshold;
    float threshold;
} choice;

/* Writes the chosen boxes of one class to `order`; returns how many. */
static int64_t choose(const choice *c, const double *boxes, const double *scores, int64_t count, int64_t *order) {
    int64_t candidates = 0, chosen = 0;
    for (int64_t i = 0; i < count; ++i)
        if (!c->has_threshold || (float)scores[i] > c->threshold) order[candidates++] = i;
    qsort_r(order, (size_t)candidates, sizeof *order, compare_scores, (void *)scores);
    for (int64_t i = 0; i < candidates && chosen < c->limit; ++i) {
        bool keeps = true;
        for (int64_t k = 0; k < chosen && keeps; ++k)
            keeps = !overlaps(boxes + 4 * order[i], boxes + 4 * order[k], c->by_center, c->overlap);
        if (keeps) order[chosen++] = order[i];
    }
    return chosen;
}

/* All classes of all images; `result` NULL: counts alone. -1 where memory is short. */
static int64_t choose_all(const ons_operands *o, const void *const *words, int64_t *result) {
    const ons_shape *shape = &o->inputs[SCORES].shape;
    int64_t boxes = shape->dims[2], total = 0;
    int64_t *order = malloc(((size_t)boxes + 1) * sizeof *order);
    if (order == NULL) return -1;
    choice c = {.by_center = ons_attribute_int(o, CENTER_POINT_BOX) != 0, .has_threshold = has_scalar(o, THRESHOLD)};
    if (has_scalar(o, LIMIT)) c.limit = *(const int64_t *)words[LIMIT];
    if (has_scalar(o, OVERLAP)) c.overlap = (float)*(const double *)words[OVERLAP];
    if (c.has_threshold) c.threshold = (float)*(const double *)words[THRESHOLD];
    for (int64_t i = 0; i < shape->dims[0] * shape->dims[1]; ++i) {
        int64_t image = i / shape->dims[1];
        int64_t found = choose(&c, (const double *)words[BOXES] + image * boxes * 4,
                               (const double *)words[SCORES] + i * boxes, boxes, order);
        for (int64_t k = 0; k < found && result != NULL; ++k)
            memcpy(result + 3 * (total + k), (int64_t[]){image, i % shape->dims[1], order[k]}, 3 * sizeof *result);
        total += found;
    }
    free(order);
    return total;
}

static ons_status *non_max_suppression_infer(ons_operands *o) {
    void *words[THRESHOLD + 1] = {NULL};
    ONS_TRY(check_types(o));
    for (uint32_t i = 0; i < o->input_count && i <= THRESHOLD; ++i)
        if (ons_has_input(o, i) && o->constants[i].data == NULL)
            return ons_node_error(o, "its result's shape depends on data; leave it out of what is trained");
    bool enough = true;
    for (uint32_t i = 0; i < o->input_count && i <= THRESHOLD; ++i) {
        if (!ons_has_input(o, i)) continue;
        int64_t count = ons_elements(&o->inputs[i]);
        words[i] = malloc(((size_t)count + 1) * 8);
        enough &= words[i] != NULL;
        if (words[i] != NULL) ons_widen(o->inputs[i].dtype, o->constants[i].data, count, words[i]);
    }
    int64_t count = enough ? choose_all(o, (const void *const *)words, NULL) : -1;
    for (uint32_t i = 0; i <= THRESHOLD; ++i) free(words[i]);
    if (count < 0) return ons_status_out_of_memory();
    o->outputs[0] = ons_type_make(ONS_INT64, (ons_shape){2, {count, 3}});
    return NULL;
}

static void non_max_suppression_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    choose_all(o, inputs, outputs[0]);
}

ONS_DEFINE_OPERATOR(non_max_suppression, "NonMaxSuppression", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(2, 5, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("center_point_box", 0)), ONS_INFER(non_max_suppression_infer),
                    ONS_COST(ons_cost_copy), ONS_NOT_DIFFERENTIABLE("an index does not change gradually"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(non_max_suppression_reference));
