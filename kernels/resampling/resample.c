/* ---- attributes and inputs */
#include "kernels/resampling/resample.h"

#include <math.h>
#include <stdlib.h>

#include "graph/evaluate.h"
#include "graph/small_types.h"
#include "kernels/operators.h"

/* The position of an attribute's text among `names`, which ends with NULL. */
static ons_status *find_name(const ons_operands *o, uint32_t attribute, const char *const *names, int *found) {
    const char *text = ons_attribute_string(o, attribute);
    for (*found = 0; names[*found] != NULL; ++*found)
        if (strcmp(names[*found], text) == 0) return NULL;
    return ons_node_error(o, "unknown %s '%s'", o->op->attributes[attribute].name, text);
}

static ons_status *read_modes(const ons_operands *o, ons_resampling *r, int *policy) {
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    static const char *const coordinates[] = {
        "half_pixel",         "pytorch_half_pixel",   "align_corners",        "asymmetric",
        "tf_crop_and_resize", "half_pixel_symmetric", "tf_half_pixel_for_nn", NULL};
    static const char *const roundings[] = {
        "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "onstage_simple", NULL};
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    int mode, coordinate, rounding;
    ONS_TRY(find_name(o, ONS_RESAMPLE_MODE, modes, &mode));
    ONS_TRY(find_name(o, ONS_RESAMPLE_COORDINATES, coordinates, &coordinate));
    ONS_TRY(find_name(o, ONS_RESAMPLE_NEAREST_MODE, roundings, &rounding));
    ONS_TRY(find_name(o, ONS_RESAMPLE_ASPECT_RATIO, policies, policy));
    r->mode = (ons_resample_mode)mode;
    r->coordinates = (ons_resample_coordinates)coordinate;
    r->rounding = (ons_nearest_mode)rounding;
    r->cubic = ons_attribute_float(o, ONS_RESAMPLE_CUBIC_COEFFICIENT);
    r->antialias = ons_attribute_int(o, ONS_RESAMPLE_ANTIALIAS) != 0;
    r->exclude_outside = ons_attribute_int(o, ONS_RESAMPLE_EXCLUDE_OUTSIDE) != 0;
    r->fill = ons_attribute_float(o, ONS_RESAMPLE_EXTRAPOLATION);
    if (r->antialias && r->mode == ONS_NEAREST) return ons_node_error(o, "mode 'nearest' has no antialias");
    return NULL;
}

/* The axes that scales, sizes and roi speak of. */
static ons_status *read_axes(const ons_operands *o, uint32_t rank, uint32_t axes[static ONS_RANK_MAX],
                             uint32_t *count) {
    const ons_attribute *given = &o->attributes[ONS_RESAMPLE_AXES];
    bool seen[ONS_RANK_MAX] = {false};
    *count = given->kind == ONS_ATTRIBUTE_ABSENT ? rank : given->count;
    if (*count > rank) return ons_node_error(o, "%u axes of a tensor of rank %u", *count, rank);
    for (uint32_t i = 0; i < *count; ++i) {
        ONS_TRY(ons_node_axis(o, given->kind == ONS_ATTRIBUTE_ABSENT ? i : given->ints[i], rank, &axes[i]));
        if (seen[axes[i]]) return ons_node_error(o, "axis %u is listed twice", axes[i]);
        seen[axes[i]] = true;
    }
    return NULL;
}

/* An optional input, which exporters also leave out as a tensor without elements. */
static bool is_given(const ons_operands *o, uint32_t input) {
    return ons_has_input(o, input) && ons_elements(&o->inputs[input]) > 0;
}

static ons_status *read_floats(const ons_operands *o, uint32_t input, uint32_t count, double *values) {
    const ons_tensor *tensor = &o->constants[input];
    ONS_CHECK(tensor->data != NULL, ONS_UNSUPPORTED,
              "node '%s' (%s): input %u decides the shape but depends on data; export the model with static shapes",
              o->name, o->op->name, input);
    if (!ons_dtype_is_float(tensor->type.dtype) || ons_elements(&tensor->type) != count)
        return ons_node_error(o, "input %u must hold %u numbers, one for each axis", input, count);
    ons_widen(tensor->type.dtype, tensor->data, count, values);
    for (uint32_t i = 0; i < count; ++i)
        if (!isfinite(values[i])) return ons_node_error(o, "input %u holds a number that is not finite", input);
    return NULL;
}

static ons_status *set_size(const ons_operands *o, ons_resampling *r, uint32_t axis, double size) {
    if (!(size >= 0 && size < 0x1p40)) return ons_node_error(o, "axis %u would have %g elements", axis, size);
    r->axes[axis].output = r->output.dims[axis] = (int64_t)size;
    return NULL;
}

/* Lengths are products in float, as in ONNX's own shape inference. */
static ons_status *apply_scales(const ons_operands *o, const uint32_t *axes, uint32_t count, ons_resampling *r) {
    double scales[ONS_RANK_MAX];
    ONS_TRY(read_floats(o, ONS_RESAMPLE_SCALES, count, scales));
    for (uint32_t i = 0; i < count; ++i) {
        if (scales[i] <= 0) return ons_node_error(o, "a scale of %g", scales[i]);
        r->axes[axes[i]].scale = scales[i];
        ONS_TRY(set_size(o, r, axes[i], floor((float)r->input.dims[axes[i]] * (float)scales[i])));
    }
    return NULL;
}

static ons_status *apply_sizes(const ons_operands *o, const uint32_t *axes, uint32_t count, int policy,
                               ons_resampling *r) {
    int64_t sizes[ONS_INTEGERS_MAX];
    uint32_t given;
    double least = INFINITY, most = 0;
    ONS_TRY(ons_constant_integers(o, ONS_RESAMPLE_SIZES, sizes, &given));
    if (given != count) return ons_node_error(o, "%u sizes for %u axes", given, count);
    for (uint32_t i = 0; i < count; ++i) {
        int64_t length = r->input.dims[axes[i]];
        if (sizes[i] < 0) return ons_node_error(o, "a size of %lld", (long long)sizes[i]);
        double scale = length == 0 ? 1 : (double)sizes[i] / (double)length;
        r->axes[axes[i]].scale = scale;
        least = scale < least ? scale : least;
        most = scale > most ? scale : most;
        ONS_TRY(set_size(o, r, axes[i], (double)sizes[i]));
    }
    for (uint32_t i = 0; i < count && policy != 0; ++i) {
        r->axes[axes[i]].scale = policy == 1 ? least : most;
        ONS_TRY(set_size(o, r, axes[i], floor(r->axes[axes[i]].scale * (double)r->input.dims[axes[i]] + 0.5)));
    }
    return NULL;
}

static ons_status *apply_roi(const ons_operands *o, const uint32_t *axes, uint32_t count, ons_resampling *r) {
    double roi[2 * ONS_RANK_MAX];
    if (r->coordinates != ONS_CROP_AND_RESIZE) return NULL;
    if (!is_given(o, ONS_RESAMPLE_ROI)) return ons_node_error(o, "tf_crop_and_resize needs a region of interest");
    ONS_TRY(read_floats(o, ONS_RESAMPLE_ROI, 2 * count, roi));
    for (uint32_t i = 0; i < count; ++i) {
        r->axes[axes[i]].roi_start = roi[i];
        r->axes[axes[i]].roi_end = roi[count + i];
    }
    return NULL;
}

ons_status *ons_resampling_of(const ons_operands *o, const ons_shape *input, ons_resampling *r) {
    uint32_t axes[ONS_RANK_MAX], count;
    int policy;
    *r = (ons_resampling){.input = *input, .output = *input};
    for (uint32_t i = 0; i < input->rank; ++i)
        r->axes[i] = (ons_resample_axis){.input = input->dims[i], .output = input->dims[i], .scale = 1, .roi_end = 1};
    ONS_TRY(read_modes(o, r, &policy));
    ONS_TRY(read_axes(o, input->rank, axes, &count));
    bool scales = is_given(o, ONS_RESAMPLE_SCALES), sizes = is_given(o, ONS_RESAMPLE_SIZES);
    if (scales == sizes && count > 0) return ons_node_error(o, "needs either scales or sizes");
    if (scales) ONS_TRY(apply_scales(o, axes, count, r));
    if (sizes) ONS_TRY(apply_sizes(o, axes, count, policy, r));
    ONS_TRY(apply_roi(o, axes, count, r));
    for (uint32_t i = 0; i < input->rank; ++i) {
        ons_resample_axis *axis = &r->axes[i];
        axis->changes = axis->output != axis->input || axis->scale != 1 || axis->roi_start != 0 || axis->roi_end != 1;
        if (axis->changes && axis->input == 0 && axis->output > 0)
            return ons_node_error(o, "axis %u is empty and cannot grow", i);
    }
    return NULL;
}

ons_status *ons_resampling_of_gradient(const ons_operands *o, ons_resampling *r) {
    const ons_attribute *given = &o->attributes[ONS_RESAMPLE_SHAPE];
    if (given->kind != ONS_ATTRIBUTE_INTS || given->count > ONS_RANK_MAX)
        return ons_node_error(o, "attribute 'onstage_shape' must be a shape");
    ons_shape shape = ons_shape_make(given->count, given->ints);
    ONS_TRY_AT(ons_shape_check(&shape), "node '%s'", o->name);
    ONS_TRY(ons_resampling_of(o, &shape, r));
    if (!ons_shape_equal(&r->output, &o->inputs[0].shape))
        return ons_node_error(o, "the cotangent does not have the shape of the result");
    return NULL;
}

/* ---- coordinates and weights */

/* The position in the operand of element `i` of the result. */
static double source_of(const ons_resampling *r, const ons_resample_axis *axis, int64_t i) {
    double x = (double)i, length = (double)axis->input, resized = axis->scale * length;
    double half_pixel = (x + 0.5) / axis->scale - 0.5;
    switch (r->coordinates) {
    case ONS_PYTORCH_HALF_PIXEL: return axis->output > 1 ? half_pixel : 0;
    case ONS_ALIGN_CORNERS: return resized == 1 ? 0 : x * (length - 1) / (resized - 1);
    case ONS_ASYMMETRIC: return x / axis->scale;
    case ONS_CROP_AND_RESIZE: {
        double extent = (axis->roi_end - axis->roi_start) * (length - 1);
        return axis->roi_start * (length - 1) + (resized == 1 ? extent / 2 : x * extent / (resized - 1));
    }
    case ONS_HALF_PIXEL_SYMMETRIC: return length / 2 * (1 - (double)axis->output / resized) + half_pixel;
    case ONS_HALF_PIXEL_FOR_NEAREST: return (x + 0.5) / axis->scale;
    default: return half_pixel;
    }
}

static double round_to_element(ons_nearest_mode rounding, double x, double scale) {
    switch (rounding) {
    case ONS_ROUND_PREFER_FLOOR: return ceil(x - 0.5);
    case ONS_ROUND_PREFER_CEIL: return floor(x + 0.5);
    case ONS_ROUND_CEIL: return ceil(x);
    case ONS_ROUND_SIMPLE: return scale < 1 ? ceil(x) : floor(x);
    default: return floor(x);
    }
}

/* Weight of an element at this distance. */
static double kernel_at(const ons_resampling *r, double distance) {
    double d = fabs(distance), a = r->cubic;
    if (r->mode == ONS_LINEAR) return d < 1 ? 1 - d : 0;
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Elements that a position can see on either side: half of the taps. Antialiasing widens the kernel where an axis
 * shrinks. */
static int64_t reach_of(const ons_resampling *r, const ons_resample_axis *axis) {
    if (r->mode == ONS_NEAREST) return 1;
    double reach = r->mode == ONS_LINEAR ? 1 : 2;
    double wide = r->antialias && axis->scale < 1 ? reach / axis->scale : reach;
    return (int64_t)ceil(fmin(wide, 2 * (double)axis->input + 4)); /* no farther than all elements */
}

static int64_t clamp(double index, int64_t length) {
    return index < 0 ? 0 : index > (double)(length - 1) ? length - 1 : (int64_t)index;
}

static void add_tap(ons_axis_map *map, int64_t output, int64_t index, double weight) {
    int64_t *end = &map->first[output + 1];
    if (weight == 0) return;
    if (*end > map->first[output] && map->index[*end - 1] == index) { /* several fell on an edge */
        map->weight[*end - 1] += weight;
        return;
    }
    map->index[*end] = index;
    map->weight[(*end)++] = weight;
}

static void add_taps(const ons_resampling *r, const ons_resample_axis *axis, int64_t output, double x,
                     ons_axis_map *map) {
    double narrowing = r->antialias && axis->scale < 1 ? axis->scale : 1, total = 0;
    int64_t reach = reach_of(r, axis);
    double first = floor(x) - (double)reach + 1;
    bool normalise = r->antialias || r->exclude_outside;
    for (int pass = normalise ? 0 : 1; pass < 2; ++pass) {
        if (pass == 1 && total == 0) total = 1; /* all lie outside */
        for (int64_t i = 0; i < 2 * reach; ++i) {
            double at = first + (double)i, weight = kernel_at(r, (at - x) * narrowing);
            if (r->exclude_outside && (at < 0 || at > (double)(axis->input - 1))) continue;
            if (pass == 0)
                total += weight;
            else
                add_tap(map, output, clamp(at, axis->input), normalise ? weight / total : weight);
        }
    }
}

static ons_status *make_map(const ons_resampling *r, const ons_resample_axis *axis, ons_arena *arena,
                            ons_axis_map *map) {
    int64_t taps;
    if (!axis->changes) {
        ons_axis_map_keep(map, axis->input);
        return NULL;
    }
    if (__builtin_mul_overflow(axis->output, 2 * reach_of(r, axis), &taps)) return ons_status_out_of_memory();
    ONS_TRY(ons_axis_map_make(arena, axis->input, axis->output, taps, map));
    for (int64_t i = 0; i < axis->output; ++i) {
        double x = source_of(r, axis, i);
        map->first[i + 1] = map->first[i];
        bool outside = r->coordinates == ONS_CROP_AND_RESIZE && (x < 0 || x > (double)(axis->input - 1));
        if (outside) continue;
        if (r->mode == ONS_NEAREST)
            add_tap(map, i, clamp(round_to_element(r->rounding, x, axis->scale), axis->input), 1);
        else
            add_taps(r, axis, i, x, map);
    }
    return NULL;
}

ons_status *ons_resampling_maps(const ons_resampling *r, ons_arena *arena,
                                ons_axis_map maps[ONS_AT_LEAST(ONS_RANK_MAX)]) {
    for (uint32_t i = 0; i < r->input.rank; ++i) ONS_TRY(make_map(r, &r->axes[i], arena, &maps[i]));
    return NULL;
}

ons_cost ons_resampling_cost(const ons_operands *o, const ons_resampling *r) {
    double taps = 0;
    for (uint32_t i = 0; i < r->input.rank; ++i)
        if (r->axes[i].changes && r->mode != ONS_NEAREST) taps += 2 * (double)reach_of(r, &r->axes[i]);
    return (ons_cost){2 * taps * (double)ons_shape_elements(&r->output), ons_operand_bytes(o)};
}

/* ---- Resize and Upsample */

/* Elements of an axis that is resampled: tables hold a few numbers for each, and more where the kernel is wide. */
enum { LONGEST = 1 << 19, LONGEST_WIDE = 1 << 18 };

static ons_status *check_lengths(const ons_operands *o, const ons_resampling *r) {
    int64_t longest = r->mode == ONS_CUBIC || r->antialias ? LONGEST_WIDE : LONGEST;
    for (uint32_t i = 0; i < r->input.rank; ++i)
        ONS_CHECK(!r->axes[i].changes || (r->axes[i].input <= longest && r->axes[i].output <= longest), ONS_UNSUPPORTED,
                  "node '%s' (%s): axis %u is longer than %lld elements; resample shorter pieces", o->name, o->op->name,
                  i, (long long)longest);
    return NULL;
}

ons_status *ons_resize_infer(ons_operands *o) {
    ons_resampling r;
    ONS_TRY(ons_resampling_of(o, &o->inputs[ONS_RESAMPLE_X].shape, &r));
    ONS_TRY(check_lengths(o, &r));
    o->outputs[0] = ons_type_make(o->inputs[ONS_RESAMPLE_X].dtype, r.output);
    return NULL;
}

ons_cost ons_resize_cost(const ons_operands *o) {
    ons_resampling r;
    ons_resolved(ons_resampling_of(o, &o->inputs[ONS_RESAMPLE_X].shape, &r));
    return ons_resampling_cost(o, &r);
}

/* Rounds to the nearest integer that the dtype has. */
static int64_t saturate(ons_dtype dtype, double value) {
    static const double ends[][2] = {[ONS_UINT4] = {0, 15},
                                     [ONS_INT4] = {-8, 7},
                                     [ONS_UINT2] = {0, 3},
                                     [ONS_INT2] = {-2, 1},
                                     [ONS_UINT8] = {0, UINT8_MAX},
                                     [ONS_INT8] = {INT8_MIN, INT8_MAX},
                                     [ONS_UINT16] = {0, UINT16_MAX},
                                     [ONS_INT16] = {INT16_MIN, INT16_MAX},
                                     [ONS_INT32] = {INT32_MIN, INT32_MAX},
                                     [ONS_UINT32] = {0, UINT32_MAX},
                                     [ONS_BOOL] = {0, 1}};
    value = rint(value);
    if (dtype == ONS_UINT64) return (int64_t)(value <= 0 ? 0 : value >= 0x1p64 ? UINT64_MAX : (uint64_t)value);
    if (dtype == ONS_INT64) return value <= -0x1p63 ? INT64_MIN : value >= 0x1p63 ? INT64_MAX : (int64_t)value;
    return (int64_t)fmin(fmax(value, ends[dtype][0]), ends[dtype][1]);
}

static void resize_integers(const ons_operands *o, const ons_resampling *r, const ons_axis_map *maps,
                            const int64_t *from, int64_t *to) {
    ons_dtype dtype = o->outputs[0].dtype;
    int64_t inputs = ons_shape_elements(&r->input), outputs = ons_shape_elements(&r->output);
    double *real = malloc((size_t)(inputs + outputs + 1) * sizeof *real);
    if (real == NULL) return;
    for (int64_t i = 0; i < inputs; ++i) real[i] = dtype == ONS_UINT64 ? (double)(uint64_t)from[i] : (double)from[i];
    ons_axis_map_apply(r->input.rank, maps, r->fill, real, real + inputs);
    for (int64_t i = 0; i < outputs; ++i) to[i] = saturate(dtype, real[inputs + i]);
    free(real);
}

/* Without arithmetic, so that every dtype stays as it is. */
static void resize_nearest(const ons_operands *o, const ons_resampling *r, const ons_axis_map *maps, const void *from,
                           void *to) {
    bool is_float = ons_dtype_is_float(o->outputs[0].dtype);
    int64_t integer = is_float ? 0 : saturate(o->outputs[0].dtype, r->fill);
    for (int64_t i = 0, n = ons_shape_elements(&r->output); i < n; ++i) {
        int64_t source = ons_axis_map_source(r->input.rank, maps, i);
        if (source >= 0)
            ons_copy_word(to, i, from, source);
        else
            ons_copy_word(to, i, is_float ? (const void *)&r->fill : &integer, 0);
    }
}

void ons_resize_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    ons_resampling r;
    ons_resolved(ons_resampling_of(o, &o->inputs[ONS_RESAMPLE_X].shape, &r));
    ons_axis_map maps[ONS_RANK_MAX];
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : ons_resampling_maps(&r, arena, maps);
    if (status == NULL && r.mode == ONS_NEAREST)
        resize_nearest(o, &r, maps, inputs[0], outputs[0]);
    else if (status == NULL && ons_dtype_is_float(o->outputs[0].dtype))
        ons_axis_map_apply(r.input.rank, maps, r.fill, inputs[0], outputs[0]);
    else if (status == NULL)
        resize_integers(o, &r, maps, inputs[0], outputs[0]);
    ons_status_free(status); /* a reference cannot report that memory is short */
    ons_arena_free(arena);
}

/* The gradient's node has the attributes of the resize, and the shape of what was resized. */
ons_status *ons_resize_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    ons_attribute attributes[ONS_RESAMPLE_SHAPE + 1];
    memcpy(attributes, o->attributes, sizeof attributes);
    const ons_shape *shape = &o->inputs[ONS_RESAMPLE_X].shape;
    attributes[ONS_RESAMPLE_SHAPE] =
        (ons_attribute){.kind = ONS_ATTRIBUTE_INTS, .count = shape->rank, .ints = shape->dims};
    ons_value_id inputs[] = {g->cotangents[0], ons_gradient_input(g, ONS_RESAMPLE_ROI),
                             ons_gradient_input(g, ONS_RESAMPLE_SCALES), ons_gradient_input(g, ONS_RESAMPLE_SIZES)};
    uint32_t count = 4;
    while (inputs[count - 1] == ONS_NONE) --count;
    ons_build_node_like(g->builder, &ons_op_resize_gradient, (ons_inputs){inputs, count}, attributes, 1, NULL,
                        &g->gradients[ONS_RESAMPLE_X]);
    return NULL;
}
