#include "graph/passes/loss.h"

#include <inttypes.h>
#include <string.h>

bool ons_loss_counts_classes(ons_role role) {
    return role == ONS_ROLE_CROSS_ENTROPY || role == ONS_ROLE_NEGATIVE_LOG_LIKELIHOOD;
}

bool ons_loss_refuses_probabilities(ons_role role) {
    return ons_loss_counts_classes(role) || role == ONS_ROLE_BINARY_CROSS_ENTROPY;
}

static ons_status *find_output(const ons_graph *graph, const char *name, ons_value_id *output) {
    for (size_t i = 0; i < graph->outputs.count; ++i) {
        *output = graph->outputs.items[i];
        const ons_value *value = ons_graph_value(graph, *output);
        if (name == NULL ? ons_dtype_is_float(value->type.dtype) : strcmp(value->name, name) == 0) return NULL;
    }
    if (name == NULL) return ons_status_new(ONS_INVALID_ARGUMENT, "the model has no float output to take a loss of");
    return ons_status_new(ONS_INVALID_ARGUMENT, "--loss-output: the model has no output named '%s'", name);
}

/* Whether `target` is `prediction` without `axis`. */
static bool lacks_axis(const ons_shape *prediction, const ons_shape *target, uint32_t axis) {
    if (target->rank + 1 != prediction->rank) return false;
    for (uint32_t i = 0; i < target->rank; ++i)
        if (target->dims[i] != prediction->dims[i < axis ? i : i + 1]) return false;
    return true;
}

bool ons_loss_has_class_axis(const ons_loss_options *options, const ons_type *output) {
    uint32_t axis;
    if (options->class_axis != ONS_CLASS_AXIS_AUTO)
        return ons_axis_resolve(options->class_axis, output->shape.rank, &axis) &&
               lacks_axis(&output->shape, &options->target.shape, axis);
    bool has = false;
    for (uint32_t i = 0; !has && i < output->shape.rank; ++i)
        has = lacks_axis(&output->shape, &options->target.shape, i);
    return has;
}

/* Whether `target` has a number for each class of the prediction, whose classes are along `axis` or stand last. */
static bool has_all_classes(const ons_shape *prediction, const ons_shape *target, uint32_t axis) {
    if (ons_shape_equal(prediction, target)) return true;
    if (target->rank != prediction->rank || target->rank == 0) return false;
    ons_shape without = {.rank = target->rank - 1};
    for (uint32_t i = 0; i < without.rank; ++i) without.dims[i] = target->dims[i];
    return axis < prediction->rank && target->dims[without.rank] == prediction->dims[axis] &&
           lacks_axis(prediction, &without, axis);
}

/* One-hot targets, as other frameworks have them. */
static ons_status *refuse_one_hot(const ons_type *prediction, const ons_type *target, uint32_t axis) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    if (!has_all_classes(&prediction->shape, &target->shape, axis)) return NULL;
    bool last = !ons_shape_equal(&prediction->shape, &target->shape) || axis + 1 == prediction->shape.rank;
    return ons_status_new(
        ONS_INVALID_DATA,
        "the target %s has a number for each class of the prediction %s, as one-hot targets have; the number of its "
        "class is wanted: numpy.save('classes.npy', numpy.load('target.npy').argmax(%d))",
        ons_type_print(target, right), ons_type_print(prediction, left), last ? -1 : (int)axis);
}

/* The axis that the target lacks; axis 1, as torch has it, where several would do. */
static ons_status *class_axis(const ons_type *prediction, const ons_type *target, int64_t wanted, uint32_t *axis) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    if (wanted != ONS_CLASS_AXIS_AUTO) {
        ONS_CHECK(ons_axis_resolve(wanted, prediction->shape.rank, axis), ONS_INVALID_ARGUMENT,
                  "--class-axis %lld lies outside the prediction %s", (long long)wanted,
                  ons_type_print(prediction, left));
        ONS_TRY(refuse_one_hot(prediction, target, *axis));
        ONS_CHECK(lacks_axis(&prediction->shape, &target->shape, *axis), ONS_INVALID_DATA,
                  "the target %s is not the prediction %s without axis %u", ons_type_print(target, right),
                  ons_type_print(prediction, left), *axis);
        return NULL;
    }
    uint32_t found = 0;
    for (uint32_t i = 0; i < prediction->shape.rank; ++i)
        if (lacks_axis(&prediction->shape, &target->shape, i)) ++found, *axis = i;
    if (found == 0) ONS_TRY(refuse_one_hot(prediction, target, prediction->shape.rank > 1 ? 1 : 0));
    ONS_CHECK(found > 0, ONS_INVALID_DATA,
              "the target %s does not fit the prediction %s: it must have its shape without the axis of the classes",
              ons_type_print(target, right), ons_type_print(prediction, left));
    if (found > 1) *axis = 1;
    return NULL;
}

/* Without data: images and rows have their classes at axis 1, sequences of tokens at the end. */
static ons_status *usual_target(const ons_type *prediction, int64_t *wanted, ons_type *target) {
    uint32_t rank = prediction->shape.rank, axis = rank == 3 ? 2 : 1;
    ONS_CHECK(rank > 0 && (rank > 1 || *wanted != ONS_CLASS_AXIS_AUTO), ONS_INVALID_ARGUMENT,
              "the output has no axis of classes; choose another --loss or --loss-output");
    if (*wanted != ONS_CLASS_AXIS_AUTO)
        ONS_CHECK(ons_axis_resolve(*wanted, rank, &axis), ONS_INVALID_ARGUMENT,
                  "--class-axis %lld lies outside the prediction's %u axes", (long long)*wanted, rank);
    *wanted = axis;
    *target = (ons_type){.dtype = ONS_INT64, .shape = {.rank = rank - 1}};
    for (uint32_t i = 0; i + 1 < rank; ++i) target->shape.dims[i] = prediction->shape.dims[i < axis ? i : i + 1];
    return NULL;
}

/* The weights as a constant, which the loss reads; ONS_NONE: there are none. */
static ons_status *add_weights(ons_builder *b, const ons_loss_options *options, const ons_type *prediction,
                               uint32_t axis, ons_value_id *weights) {
    *weights = ONS_NONE;
    if (options->class_weights == NULL) return NULL;
    int64_t classes = prediction->shape.dims[axis];
    ONS_CHECK(options->class_weight_count == classes, ONS_INVALID_DATA,
              "--class-weights: %" PRId64 " weights for the %" PRId64
              " classes of the model's output; one for each is needed",
              options->class_weight_count, classes);
    ons_dtype dtype = prediction->dtype == ONS_FLOAT64 ? ONS_FLOAT64 : ONS_FLOAT32;
    ons_type type = {.dtype = dtype, .shape = {.rank = 1, .dims = {classes}}};
    *weights = ons_build_constant(b, "class_weights", &type, options->class_weights);
    return NULL;
}

static ons_status *build_class_loss(ons_builder *b, const ons_operator *op, const ons_loss_options *options,
                                    int64_t axis_wanted, ons_value_id prediction, ons_value_id target,
                                    ons_value_id *loss) {
    const ons_type type = ons_graph_value(b->graph, prediction)->type,
                   classes = ons_graph_value(b->graph, target)->type;
    uint32_t axis = 0;
    ons_value_id weights;
    ONS_TRY(class_axis(&type, &classes, axis_wanted, &axis));
    ONS_TRY(add_weights(b, options, &type, axis, &weights));
    ons_inputs inputs = ONS_IN(prediction, target, weights);
    if (options->label_smoothing > 0)
        *loss = ons_build(b, op, inputs,
                          ONS_WITH(ONS_AT_INT(0, axis), ONS_AT_INT(1, options->ignore_index),
                                   ONS_AT_FLOAT(2, options->label_smoothing)));
    else
        *loss = ons_build(b, op, inputs, ONS_WITH(ONS_AT_INT(0, axis), ONS_AT_INT(1, options->ignore_index)));
    return NULL;
}

/* The model's own number, as a scalar that is a value of its own. */
static ons_value_id build_sum(ons_builder *b, ons_value_id own) {
    const ons_type type = ons_graph_value(b->graph, own)->type;
    const int64_t no_axes = 0;
    ons_value_id loss = ons_build(b, ons_registry_role(b->registry, ONS_ROLE_SUM), ONS_IN(own), ONS_DEFAULTS);
    if (type.shape.rank > 0)
        loss = ons_build(b, ons_registry_role(b->registry, ONS_ROLE_RESHAPE),
                         ONS_IN(loss, ons_build_integers(b, &no_axes, 0)), ONS_DEFAULTS);
    if (type.dtype == ONS_FLOAT32 || type.dtype == ONS_FLOAT64) return loss;
    return ons_build(b, ons_registry_role(b->registry, ONS_ROLE_CAST), ONS_IN(loss),
                     ONS_WITH(ONS_AT_INT(0, ONS_FLOAT32)));
}

ons_status *ons_attach_loss(ons_graph *graph, const ons_registry *registry, const ons_loss_options *options,
                            ons_value_id *target, ons_value_id *loss, ons_value_id *prediction) {
    *target = ONS_NONE;
    ONS_TRY(find_output(graph, options->output, prediction));
    ons_type type = ons_graph_value(graph, *prediction)->type;
    const ons_operator *op = ons_registry_role(registry, options->role);
    ONS_CHECK(op != NULL, ONS_DEFECT, "no operator computes this loss");
    ons_builder b = {.graph = graph, .registry = registry, .phase = ONS_FORWARD, .origin = ONS_NONE, .name = "loss"};
    if (options->role == ONS_ROLE_SAMPLE_MEAN) {
        ONS_CHECK(ons_shape_elements(&type.shape) == 1, ONS_INVALID_ARGUMENT,
                  "--loss graph: output '%s' is not a scalar; name the right one by --loss-output",
                  ons_graph_value(graph, *prediction)->name);
        *loss = options->sums ? build_sum(&b, *prediction) : ons_build(&b, op, ONS_IN(*prediction), ONS_DEFAULTS);
        return ons_builder_finish(&b);
    }
    bool classes = ons_loss_counts_classes(options->role);
    int64_t axis_wanted = options->class_axis;
    ons_type wanted = ons_type_make(type.dtype, type.shape);
    if (classes && options->target.dtype != ONS_NO_DTYPE)
        wanted = options->target;
    else if (classes)
        ONS_TRY(usual_target(&type, &axis_wanted, &wanted));
    ONS_TRY(ons_graph_add_value(graph, "target", ONS_INPUT, &wanted, target));
    ONS_PUSH(&graph->inputs, *target);
    if (classes) {
        ONS_TRY(build_class_loss(&b, op, options, axis_wanted, *prediction, *target, loss));
    } else {
        bool huber = options->role == ONS_ROLE_HUBER;
        *loss = ons_build(&b, op, ONS_IN(*prediction, *target),
                          huber ? ONS_WITH(ONS_AT_FLOAT(0, options->delta)) : ONS_DEFAULTS);
    }
    return ons_builder_finish(&b);
}
