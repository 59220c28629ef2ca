#include "tests/rooms/kernels/mutant.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "graph/evaluate.h"

#define COUNT(ARRAY) (sizeof(ARRAY) / sizeof((ARRAY)[0]))

uint64_t mutant_draw(mutant *m, uint64_t count) {
    ons_philox words = ons_philox_draw(m->seed, 77, m->drawn++);
    return ((uint64_t)words.words[0] << 32 | words.words[1]) % count;
}

/* -------------------------------------------------------------------------------------------------- as it should be */

static void take_input(mutant_input *to, const ons_case_input *from) {
    *to = (mutant_input){.dtype = (int)from->dtype, .rank = from->shape.rank, .constant = from->constant};
    memcpy(to->dims, from->shape.dims, sizeof from->shape.dims);
    to->value_count = from->value_count;
    memcpy(to->values, from->values, sizeof from->values);
    if (from->value_count == 0) { /* two that the case allows */
        to->value_count = 2;
        to->values[0] = ceil(from->low);
        to->values[1] = floor(from->high);
    }
}

static void take_case(mutant *m, const ons_case *example) {
    m->example = example;
    m->output_count = example->outputs == 0 ? 1 : example->outputs;
    m->input_count = m->op->arity.inputs_min;
    for (uint32_t i = 0; i < ONS_CASE_OPERANDS; ++i) {
        take_input(&m->inputs[i], &example->inputs[i]);
        if (example->inputs[i].dtype != ONS_NO_DTYPE && m->input_count <= i) m->input_count = i + 1;
    }
    for (uint32_t i = 0; i < ONS_CASE_SETTINGS && example->settings[i].name != NULL; ++i)
        m->attributes[m->attribute_count++] =
            (mutant_attribute){.name = example->settings[i].name, .value = example->settings[i].value};
    if (m->input_count > MUTANT_INPUTS) m->input_count = MUTANT_INPUTS;
}

/* ----------------------------------------------------------------------------------------------------------- damage */

static const int64_t wild[] = {INT64_MIN, INT64_MAX, -1,        0,          1,         2,  3,       5,
                               7,         100,       INT32_MAX, 4294967296, 1ll << 40, -2, -100000, INT64_MIN + 1};
static const int dtypes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 20, 21, 22, 99};
static const int64_t sizes[] = {0, 1, 2, 3, 5, 17, 64, -1, INT32_MAX, 1ll << 33, 1ll << 62};
/* What older forms of operators had. */
static const char *const old_names[] = {
    "axes",     "pads",  "split", "steps",     "starts", "ends",         "scales",  "shape",       "value",   "ratio",
    "k",        "min",   "max",   "broadcast", "axis",   "to",           "is_test", "mode",        "spatial", "perm",
    "keepdims", "dtype", "size",  "direction", "alpha",  "output_shape", "repeats", "height_scale"};

static int64_t draw_wild(mutant *m) { return wild[mutant_draw(m, COUNT(wild))]; }

static void damage_shape(mutant *m, mutant_input *input) {
    switch (mutant_draw(m, 6)) {
    case 0: input->rank = (uint32_t)mutant_draw(m, MUTANT_DIMS); break;
    case 1: input->rank = 0; break;
    case 2: input->rank += input->rank > 0 ? -1u : 1; break;
    case 3:
        if (input->rank < MUTANT_DIMS) input->dims[input->rank++] = 2;
        break;
    default:
        if (input->rank > 0) input->dims[mutant_draw(m, input->rank)] = sizes[mutant_draw(m, COUNT(sizes))];
    }
}

static void damage_input(mutant *m) {
    if (m->input_count == 0) return;
    mutant_input *input = &m->inputs[mutant_draw(m, m->input_count)];
    switch (mutant_draw(m, 8)) {
    case 0: input->dtype = 0; break;
    case 1: input->dtype = dtypes[mutant_draw(m, COUNT(dtypes))]; break;
    case 2: input->constant = !input->constant; break;
    case 3:
    case 4:
        input->is_odd = true;
        input->odd_value = draw_wild(m);
        break;
    default: damage_shape(m, input);
    }
}

static void damage_count(mutant *m) {
    if (mutant_draw(m, 3) == 0)
        m->output_count = (uint32_t)mutant_draw(m, 6);
    else if (mutant_draw(m, 2) == 0 && m->input_count > 0)
        --m->input_count;
    else if (m->input_count < MUTANT_INPUTS)
        m->inputs[m->input_count++] = (mutant_input){.dtype = 1, .rank = 1, .dims = {2}, .value_count = 1};
}

static void fill_list(mutant *m, mutant_attribute *a) {
    a->value.count = (uint32_t)mutant_draw(m, MUTANT_VALUES);
    int64_t all = draw_wild(m);
    bool same = mutant_draw(m, 2) == 0;
    for (uint32_t i = 0; i < MUTANT_VALUES; ++i) {
        a->ints[i] = same ? all : draw_wild(m);
        a->floats[i] = (double)a->ints[i];
    }
    a->value.ints = NULL; /* those of the mutant */
}

static double draw_float(mutant *m) {
    const double floats[] = {0, 1, -1, 0.5, NAN, INFINITY, -INFINITY, 1e30, -1e30, 1e-30};
    return floats[mutant_draw(m, COUNT(floats))];
}

static void set_wild(mutant *m, mutant_attribute *a, ons_attribute_kind kind) {
    static const char *const texts[] = {"", "garbage", "SAME_UPPER", "%s%n", "linear", "none", "add", "bidirectional"};
    a->value = (ons_attribute){.kind = kind};
    switch (kind) {
    case ONS_ATTRIBUTE_INT: a->value.i = draw_wild(m); break;
    case ONS_ATTRIBUTE_FLOAT: a->value.f = draw_float(m); break;
    case ONS_ATTRIBUTE_STRING: a->value.s = texts[mutant_draw(m, COUNT(texts))]; break;
    case ONS_ATTRIBUTE_INTS:
    case ONS_ATTRIBUTE_FLOATS:
    case ONS_ATTRIBUTE_STRINGS: fill_list(m, a); break;
    default: break;
    }
}

/* The attribute of that name, added where there is none. */
static mutant_attribute *find_attribute(mutant *m, const char *name) {
    for (uint32_t i = 0; i < m->attribute_count; ++i)
        if (m->attributes[i].name != NULL && strcmp(m->attributes[i].name, name) == 0) return &m->attributes[i];
    if (m->attribute_count == MUTANT_ATTRIBUTES) return &m->attributes[0];
    mutant_attribute *a = &m->attributes[m->attribute_count++];
    *a = (mutant_attribute){.name = name};
    return a;
}

/* One number of a list that may otherwise be right. */
static void damage_list(mutant *m, mutant_attribute *a) {
    if (a->value.ints != NULL && a->value.count <= MUTANT_VALUES)
        memcpy(a->ints, a->value.ints, a->value.count * sizeof *a->ints);
    a->value.ints = NULL;
    if (a->value.count > 0 && a->value.count <= MUTANT_VALUES) a->ints[mutant_draw(m, a->value.count)] = draw_wild(m);
}

static void damage_attribute(mutant *m) {
    uint32_t declared = 0;
    while (m->op->attributes[declared].name != NULL) ++declared;
    if (declared == 0 || mutant_draw(m, 8) == 0) {
        mutant_attribute *a = find_attribute(m, old_names[mutant_draw(m, COUNT(old_names))]);
        set_wild(m, a, (ons_attribute_kind)(1 + mutant_draw(m, 6)));
        return;
    }
    const ons_attribute_declaration *d = &m->op->attributes[mutant_draw(m, declared)];
    mutant_attribute *a = find_attribute(m, d->name);
    uint64_t choice = mutant_draw(m, 8);
    if (choice == 0)
        *a = (mutant_attribute){0};
    else if (choice == 1)
        set_wild(m, a, (ons_attribute_kind)(1 + mutant_draw(m, ONS_ATTRIBUTE_GRAPH)));
    else if (choice <= 4 && d->kind == ONS_ATTRIBUTE_INTS && a->value.kind == ONS_ATTRIBUTE_INTS)
        damage_list(m, a);
    else
        set_wild(m, a, d->kind);
}

static void damage(mutant *m) {
    switch (mutant_draw(m, 10)) {
    case 0: damage_count(m); break;
    case 1: m->opset = 1 + (uint32_t)mutant_draw(m, ONS_NEWEST); break;
    case 2:
    case 3:
    case 4:
    case 5: damage_attribute(m); break;
    default: damage_input(m);
    }
}

void mutant_init(mutant *m, const ons_operator *op, uint64_t seed, uint64_t number) {
    *m = (mutant){.op = op, .seed = seed * 1000003 + number, .opset = op->opset.last, .output_count = 1};
    if (op->opset.domain[0] != '\0') m->opset = ONS_NEWEST;
    const ons_case *list = ons_cases_of(op);
    uint32_t cases = 0;
    while (list[cases].name != NULL) ++cases;
    if (cases > 0) {
        const ons_case *example = &list[mutant_draw(m, cases)];
        if (!example->benchmark) take_case(m, example);
    }
    for (uint64_t i = 1 + mutant_draw(m, 3); i > 0; --i) damage(m);
}

/* ---------------------------------------------------------------------------------------------------------- writing */

static int64_t elements_of(const mutant_input *input) {
    int64_t count = 1;
    for (uint32_t i = 0; i < input->rank; ++i) {
        if (input->dims[i] < 0 || input->dims[i] > 4096) return -1;
        count *= input->dims[i];
        if (count > 1 << 16) return -1;
    }
    return count;
}

static bytes dims_of(const mutant_input *input) {
    bytes shape = {0};
    for (uint32_t i = 0; i < input->rank; ++i) {
        bytes dim = {0};
        put_integer(&dim, 1, (uint64_t)input->dims[i]);
        put_message(&shape, 1, dim);
    }
    return shape;
}

static bytes typed_value(const char *name, const mutant_input *input) {
    bytes info = {0}, type = {0}, tensor = {0};
    put_text(&info, 1, name);
    put_integer(&tensor, 1, (uint64_t)input->dtype);
    put_message(&tensor, 2, dims_of(input));
    put_message(&type, 1, tensor);
    put_message(&info, 2, type);
    return info;
}

static bytes constant_tensor(const char *name, const mutant_input *input) {
    bytes tensor = {0};
    for (uint32_t i = 0; i < input->rank; ++i) put_integer(&tensor, TENSOR_DIMS, (uint64_t)input->dims[i]);
    put_integer(&tensor, TENSOR_TYPE, (uint64_t)input->dtype);
    put_text(&tensor, TENSOR_NAME, name);
    int64_t count = elements_of(input);
    size_t size = ons_dtype_size((ons_dtype)input->dtype);
    if (count < 0 || size == 0) return tensor;
    double *words = calloc((size_t)count + 1, sizeof *words);
    void *narrow = calloc((size_t)count + 1, sizeof *words);
    bool real = ons_dtype_is_float((ons_dtype)input->dtype);
    for (int64_t i = 0; i < count; ++i) {
        double value = input->value_count == 0 ? 0 : input->values[i % input->value_count];
        int64_t integer = value >= 0x1p63    ? INT64_MAX
                          : value <= -0x1p63 ? INT64_MIN
                          : value != value   ? 0
                                             : (int64_t)value;
        if (input->is_odd && i == count / 2) integer = input->odd_value, value = (double)input->odd_value;
        if (real)
            words[i] = value;
        else
            memcpy(&words[i], &integer, sizeof integer);
    }
    ons_narrow((ons_dtype)input->dtype, words, count, narrow);
    put_block(&tensor, TENSOR_RAW, narrow, (size_t)count * size);
    free(words);
    free(narrow);
    return tensor;
}

static void put_attribute(bytes *n, const mutant_attribute *a) {
    const ons_attribute *v = &a->value;
    const int64_t *ints = v->ints != NULL ? v->ints : a->ints;
    bytes b = {0};
    if (a->name == NULL) return;
    switch (v->kind) {
    case ONS_ATTRIBUTE_INT: put_int_attribute(n, a->name, v->i); return;
    case ONS_ATTRIBUTE_FLOAT: put_float_attribute(n, a->name, (float)v->f); return;
    case ONS_ATTRIBUTE_INTS: put_ints_attribute(n, a->name, ints, v->count); return;
    case ONS_ATTRIBUTE_TENSOR: {
        mutant_input input = {.dtype = ONS_FLOAT32, .rank = 2, .dims = {0, 3}};
        put_tensor_attribute(n, a->name, constant_tensor("", &input));
        return;
    }
    case ONS_ATTRIBUTE_GRAPH: put_graph_attribute(n, a->name, (bytes){0}); return;
    default: break;
    }
    put_text(&b, ATTRIBUTE_NAME, a->name);
    if (v->kind == ONS_ATTRIBUTE_STRING) {
        put_text(&b, ATTRIBUTE_S, v->s);
        put_integer(&b, ATTRIBUTE_TYPE, 3);
    } else if (v->kind == ONS_ATTRIBUTE_FLOATS) {
        const double *floats = v->floats != NULL ? v->floats : a->floats;
        for (uint32_t i = 0; i < v->count; ++i) put_float(&b, ATTRIBUTE_FLOATS, (float)floats[i]);
        put_integer(&b, ATTRIBUTE_TYPE, 6);
    } else {
        for (uint32_t i = 0; i < v->count; ++i) put_text(&b, 9, v->strings != NULL ? v->strings[i] : "Relu");
        put_integer(&b, ATTRIBUTE_TYPE, 8);
    }
    put_message(n, NODE_ATTRIBUTE, b);
}

static void put_operands(const mutant *m, bytes *graph, bytes *n) {
    for (uint32_t i = 0; i < m->input_count; ++i) {
        const mutant_input *input = &m->inputs[i];
        char name[32] = "";
        if (input->dtype != 0) snprintf(name, sizeof name, "victim_in_%u", i);
        put_text(n, NODE_INPUT, name);
        if (input->dtype == 0) continue;
        if (input->constant)
            put_message(graph, GRAPH_INITIALIZER, constant_tensor(name, input));
        else
            put_message(graph, GRAPH_INPUT, typed_value(name, input));
    }
    for (uint32_t i = 0; i < m->output_count; ++i) {
        char name[32];
        bytes info = {0};
        snprintf(name, sizeof name, "victim_out_%u", i);
        put_text(n, NODE_OUTPUT, name);
        put_text(&info, 1, name);
        put_message(graph, GRAPH_OUTPUT, info);
    }
}

bytes mutant_model(const mutant *m) {
    bytes graph = {0}, n = {0};
    put_text(&graph, GRAPH_NAME, "mutant");
    put_operands(m, &graph, &n);
    put_text(&n, NODE_NAME, "victim");
    put_text(&n, NODE_OP_TYPE, m->op->name);
    put_text(&n, NODE_DOMAIN, m->op->opset.domain);
    for (uint32_t i = 0; i < m->attribute_count; ++i) put_attribute(&n, &m->attributes[i]);
    put_message(&graph, GRAPH_NODE, n);
    bytes b = model(graph, m->opset);
    if (m->op->opset.domain[0] != '\0') {
        bytes opset = {0};
        put_text(&opset, 1, m->op->opset.domain);
        put_integer(&opset, 2, 1);
        put_message(&b, MODEL_OPSET, opset);
    }
    return b;
}

/* --------------------------------------------------------------------------------------------------------- printing */

static void say(char text[static MUTANT_TEXT], const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(char text[static MUTANT_TEXT], const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, MUTANT_TEXT - used, format, arguments);
    va_end(arguments);
}

static void print_attribute(const mutant_attribute *a, char text[static MUTANT_TEXT]) {
    if (a->name == NULL) return;
    say(text, " %s=", a->name);
    const int64_t *ints = a->value.ints != NULL ? a->value.ints : a->ints;
    switch (a->value.kind) {
    case ONS_ATTRIBUTE_INT: say(text, "%lld", (long long)a->value.i); break;
    case ONS_ATTRIBUTE_FLOAT: say(text, "%g", a->value.f); break;
    case ONS_ATTRIBUTE_STRING: say(text, "'%s'", a->value.s); break;
    case ONS_ATTRIBUTE_INTS:
        for (uint32_t i = 0; i < a->value.count; ++i) say(text, "%c%lld", i == 0 ? '[' : ',', (long long)ints[i]);
        say(text, "]");
        break;
    default: say(text, "kind %d of %u", (int)a->value.kind, a->value.count);
    }
}

void mutant_print(const mutant *m, char text[static MUTANT_TEXT]) {
    text[0] = '\0';
    say(text, "%s(case %s, opset %u):", m->op->name, m->example == NULL ? "none" : m->example->name, m->opset);
    for (uint32_t i = 0; i < m->input_count; ++i) {
        const mutant_input *input = &m->inputs[i];
        say(text, " %s%s[", ons_dtype_name((ons_dtype)input->dtype), input->constant ? " constant" : "");
        for (uint32_t d = 0; d < input->rank; ++d) say(text, "%s%lld", d == 0 ? "" : ",", (long long)input->dims[d]);
        say(text, "]");
        for (uint32_t v = 0; v < input->value_count && input->constant; ++v)
            say(text, "%s%g", v == 0 ? "=" : ",", input->values[v]);
        if (input->is_odd) say(text, "(odd %lld)", (long long)input->odd_value);
    }
    say(text, " → %u outputs", m->output_count);
    for (uint32_t i = 0; i < m->attribute_count; ++i) print_attribute(&m->attributes[i], text);
}
