/* Weights that are no numbers any more are not written: a loss may hide them, and a file or checkpoint of them would
 * take the place of a good one. */
#include <math.h>
#include <string.h>

#include "engine/model/notes.h"
#include "engine/train/trainer.h"
#include "graph/evaluate.h"

/* The index of the first element from `from` on that is not finite; -1: there is none. */
static int64_t find_not_finite(ons_dtype dtype, const void *contents, int64_t from, int64_t count) {
    if (dtype == ONS_FLOAT32) {
        const float *numbers = contents;
        for (int64_t i = from; i < count; ++i)
            if (!isfinite(numbers[i])) return i;
        return -1;
    }
    size_t size = ons_dtype_size(dtype);
    for (int64_t i = from; size > 0 && ons_dtype_is_float(dtype) && i < count; ++i) {
        double number;
        ons_widen(dtype, (const char *)contents + (size_t)i * size, 1, &number);
        if (!isfinite(number)) return i;
    }
    return -1;
}

/* The value in the imported graph, of which a checkpoint has more under NAME#STATE. */
static ons_value_id find_value(const ons_graph *graph, const char *name) {
    char text[512];
    ons_value_id id = ons_graph_find_value(graph, name);
    const char *mark = strrchr(name, '#');
    if (id != ONS_NONE || mark == NULL || (size_t)(mark - name) >= sizeof text) return id;
    memcpy(text, name, (size_t)(mark - name));
    text[mark - name] = '\0';
    return ons_graph_find_value(graph, text);
}

/* What the file has there; NULL: zeros, or it has no such tensor. */
static const ons_tensor *find_first(const ons_trainer *t, const char *name) {
    const ons_graph *graph = t->model->graph;
    ons_value_id id = find_value(graph, name);
    const ons_tensor *first = id == ONS_NONE ? NULL : ons_store_get(graph->store, ons_graph_value(graph, id)->data);
    return first == NULL || first->data == NULL ? NULL : first;
}

/* Whether the file itself has a number that is not finite in the element's place: a mask among the weights, say. Where
 * the place is not known (-1), any such number counts. */
static bool began_so(const ons_tensor *first, int64_t place) {
    if (first == NULL) return false;
    int64_t elements = ons_shape_elements(&first->type.shape);
    bool known = place >= 0 && place < elements;
    return find_not_finite(first->type.dtype, first->data, known ? place : 0, known ? place + 1 : elements) >= 0;
}

ons_status *ons_trainer_check_finite(const ons_trainer *t, const char *name, ons_dtype dtype, const void *contents,
                                     int64_t place, int64_t count) {
    int64_t index = find_not_finite(dtype, contents, 0, count);
    if (index < 0) return NULL;
    const ons_tensor *first = find_first(t, name);
    for (; index >= 0; index = find_not_finite(dtype, contents, index + 1, count))
        if (!began_so(first, place < 0 ? -1 : place + index))
            return ons_status_new(ONS_DIVERGED, ons_refusal_not_finite, (long long)t->step, name);
    return NULL;
}
