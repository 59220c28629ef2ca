#include "engine/config.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda.h"
#include "device/device.h"

typedef enum option_kind {
    KIND_TEXT,
    KIND_PAIRS,
    KIND_COUNT,    /* an integer ≥ 0 */
    KIND_POSITIVE, /* an integer ≥ 1 */
    KIND_NUMBER,
    KIND_SWITCH,
    KIND_TRAIN,
    KIND_FREEZE,
    KIND_UNTIE,
} option_kind;

typedef struct option_place {
    option_kind kind;
    size_t offset;
} option_place;

#define OPTION(GROUP, NAME, ARGUMENT, DEFAULT, KIND, FIELD, HELP)                                                      \
    {NAME, ARGUMENT, DEFAULT,                                                                                          \
     HELP, GROUP,    KIND == KIND_PAIRS || KIND == KIND_TRAIN || KIND == KIND_FREEZE || KIND == KIND_UNTIE},
static const ons_option options[] = {
#include "engine/options.inc"
    {.name = NULL},
};
#undef OPTION

#define OPTION(GROUP, NAME, ARGUMENT, DEFAULT, KIND, FIELD, HELP) {KIND, offsetof(ons_config, FIELD)},
static const option_place places[] = {
#include "engine/options.inc"
};
#undef OPTION

_Static_assert(sizeof places / sizeof places[0] <= sizeof((ons_config *)0)->given, "config.h: more of `given`");

const ons_option *ons_options(void) { return options; }

ons_status *ons_config_new(ons_config **result) {
    ons_arena *arena = ons_arena_new();
    ons_config *config = arena == NULL ? NULL : ons_arena_allocate(arena, 1, sizeof *config);
    if (config == NULL) {
        ons_arena_free(arena);
        return ons_status_out_of_memory();
    }
    config->arena = arena;
    config->holders = 1;
    for (size_t i = 0; options[i].name != NULL; ++i) {
        if (options[i].default_value == NULL) continue;
        ons_status *status = ons_config_set(config, options[i].name, options[i].default_value);
        if (status != NULL) {
            ons_config_free(config);
            return status;
        }
        if (places[i].kind == KIND_NUMBER) /* a default is not a choice of the user's */
            ((ons_number *)((char *)config + places[i].offset))->given = false;
        config->given[i] = false;
    }
    *result = config;
    return NULL;
}

ons_config *ons_config_hold(const ons_config *config) {
    ons_config *held = (ons_config *)config; /* holding changes nothing that a caller can see */
    ++held->holders;
    return held;
}

static bool copy_items(const void *items, size_t count, size_t size, void **copy) {
    *copy = malloc(count * size + 1);
    if (*copy != NULL && count > 0) memcpy(*copy, items, count * size);
    return *copy != NULL;
}

/* A vector of `config` that still has another's items gets its own; an empty one where memory is short. */
#define OWN(vector)                                                                                                    \
    ((vector)->capacity = (vector)->count,                                                                             \
     copy_items((vector)->items, (vector)->count, sizeof *(vector)->items, (void **)&(vector)->items)                  \
         ? true                                                                                                        \
         : ((vector)->count = (vector)->capacity = 0, false))

ons_status *ons_config_copy(const ons_config *config, ons_config **result) {
    ons_arena *arena = ons_arena_new();
    ons_config *copy = arena == NULL ? NULL : ons_arena_allocate(arena, 1, sizeof *copy);
    if (copy == NULL) {
        ons_arena_free(arena);
        return ons_status_out_of_memory();
    }
    *copy = *config;
    copy->arena = arena;
    copy->holders = 1;
    copy->origin = ons_config_hold(config);
    ons_pairs *lists[] = {&copy->inputs, &copy->val_inputs, &copy->normalize, &copy->outputs, &copy->dims, &copy->ties};
    bool copied = true; /* all of them, so that none is freed twice */
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i) copied = OWN(lists[i]) && copied;
    copied = OWN(&copy->arrays) && copied;
    copied = OWN(&copy->untie) && copied;
    copied = OWN(&copy->choices) && copied;
    if (!copied) {
        ons_config_free(copy);
        return ons_status_out_of_memory();
    }
    *result = copy;
    return NULL;
}

#undef OWN

void ons_config_free(ons_config *config) {
    if (config == NULL || --config->holders > 0) return;
    ons_config *origin = config->origin;
    ons_pairs *lists[] = {&config->inputs,  &config->val_inputs, &config->normalize,
                          &config->outputs, &config->dims,       &config->ties};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i) ons_vector_free(lists[i]);
    ons_vector_free(&config->arrays);
    ons_vector_free(&config->untie);
    ons_vector_free(&config->choices);
    ons_arena_free(config->arena);
    ons_config_free(origin);
}

/* ------------------------------------------------------------------------------------------------------------- parsing
 */

static ons_status *parse_integer(const char *option, const char *text, int64_t least, int64_t *value) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    ONS_CHECK(*text != '\0' && *end == '\0' && errno == 0 && number >= least, ONS_INVALID_ARGUMENT,
              "--%s: '%s' is not a whole number from %lld on", option, text, (long long)least);
    *value = number;
    return NULL;
}

static ons_status *parse_number(const char *option, const char *text, ons_number *number) {
    char *end;
    double value = strtod(text, &end);
    ONS_CHECK(*text != '\0' && *end == '\0' && isfinite(value), ONS_INVALID_ARGUMENT, "--%s: '%s' is not a number",
              option, text);
    *number = (ons_number){true, value};
    return NULL;
}

static ons_status *parse_switch(const char *option, const char *text, bool *value) {
    bool yes = strcmp(text, "true") == 0, no = strcmp(text, "false") == 0;
    ONS_CHECK(yes || no, ONS_INVALID_ARGUMENT, "--%s: '%s' is neither true nor false", option, text);
    *value = yes;
    return NULL;
}

/* NAME=VALUE, parted at the first '='; a file alone is the value of "". */
static ons_status *parse_pair(ons_config *config, const ons_option *option, const char *text, ons_pairs *pairs) {
    char *copy = ons_arena_copy_text(config->arena, text);
    if (copy == NULL) return ons_status_out_of_memory();
    char *equals = strchr(copy, '=');
    bool file = strstr(option->argument, "FILE") != NULL;
    ONS_CHECK(equals != NULL || file, ONS_INVALID_ARGUMENT, "--%s: '%s' is not of the form %s", option->name, text,
              option->argument);
    ons_pair pair = {"", copy};
    if (equals != NULL) {
        *equals = '\0';
        pair = (ons_pair){copy, equals + 1};
    }
    ONS_CHECK(pair.value[0] != '\0', ONS_INVALID_ARGUMENT, "--%s: '%s' is not of the form %s", option->name, text,
              option->argument);
    ONS_PUSH(pairs, pair);
    return NULL;
}

static ons_status *set_option(ons_config *config, size_t index, const char *value) {
    const ons_option *option = &options[index];
    void *field = (char *)config + places[index].offset;
    char *copy = ons_arena_copy_text(config->arena, value);
    if (copy == NULL) return ons_status_out_of_memory();
    config->given[index] = true;
    switch (places[index].kind) {
    case KIND_TEXT: *(const char **)field = copy; return NULL;
    case KIND_PAIRS: return parse_pair(config, option, value, field);
    case KIND_COUNT: return parse_integer(option->name, value, 0, field);
    case KIND_POSITIVE: return parse_integer(option->name, value, 1, field);
    case KIND_NUMBER: return parse_number(option->name, value, field);
    case KIND_SWITCH: return parse_switch(option->name, value, field);
    case KIND_TRAIN:
    case KIND_FREEZE: ONS_PUSH(&config->choices, (ons_choice){copy, places[index].kind == KIND_TRAIN}); return NULL;
    case KIND_UNTIE: ONS_PUSH(&config->untie, copy); return NULL;
    }
    return NULL;
}

ons_status *ons_config_set(ons_config *config, const char *option, const char *value) {
    ONS_CHECK(option != NULL && value != NULL, ONS_INVALID_ARGUMENT, "an option needs a name and a value");
    for (size_t i = 0; options[i].name != NULL; ++i)
        if (strcmp(options[i].name, option) == 0) return set_option(config, i, value);
    return ons_status_new(ONS_INVALID_ARGUMENT, "there is no option --%s", option);
}

const char *ons_config_get(const ons_config *config, const char *option) {
    for (size_t i = 0; options[i].name != NULL; ++i)
        if (strcmp(options[i].name, option) == 0 && places[i].kind == KIND_TEXT)
            return *(const char *const *)((const char *)config + places[i].offset);
    return NULL;
}

bool ons_config_is_given(const ons_config *config, const char *option) {
    for (size_t i = 0; options[i].name != NULL; ++i)
        if (strcmp(options[i].name, option) == 0) return config->given[i];
    return false;
}

ons_status *ons_config_array(ons_config *config, const char *name, bool validation, const ons_array_view *array) {
    ONS_CHECK(array->rank >= 1 && array->rank <= ONS_RANK_MAX, ONS_INVALID_ARGUMENT,
              "array '%s': rank %u is not between 1 and %d", name, array->rank, ONS_RANK_MAX);
    ons_memory_array copy = {
        .name = ons_arena_copy_text(config->arena, name), .validation = validation, .view = *array};
    if (copy.name == NULL) return ons_status_out_of_memory();
    memcpy(copy.dims, array->dims, array->rank * sizeof copy.dims[0]);
    copy.view.dims = NULL; /* the copy's own, but vectors move */
    ONS_PUSH(&config->arrays, copy);
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- derived
 * settings */

ons_status *ons_config_loss(const ons_config *config, ons_loss_options *loss) {
    static const struct {
        const char *name;
        ons_role role;
    } names[] = {
        {"cross_entropy", ONS_ROLE_CROSS_ENTROPY},
        {"nll", ONS_ROLE_NEGATIVE_LOG_LIKELIHOOD},
        {"mse", ONS_ROLE_SQUARED_ERROR},
        {"l1", ONS_ROLE_ABSOLUTE_ERROR},
        {"huber", ONS_ROLE_HUBER},
        {"bce_with_logits", ONS_ROLE_BINARY_CROSS_ENTROPY},
        {"graph", ONS_ROLE_SAMPLE_MEAN},
    };
    *loss = (ons_loss_options){
        .output = config->loss_output,
        .class_axis = config->class_axis.given ? (int64_t)config->class_axis.value : ONS_CLASS_AXIS_AUTO,
        .ignore_index = (int64_t)config->ignore_index.value,
        .delta = config->delta.value,
    };
    ONS_CHECK(config->loss != NULL, ONS_INVALID_ARGUMENT,
              "--loss is needed: cross_entropy, nll, mse, l1, huber, bce_with_logits or graph");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(config->loss, names[i].name) == 0) {
            loss->role = names[i].role;
            return NULL;
        }
    return ons_status_new(ONS_INVALID_ARGUMENT,
                          "--loss: '%s' is not one of cross_entropy, nll, mse, l1, huber, bce_with_logits, graph",
                          config->loss);
}

const char *ons_config_loss_name(const ons_config *config, const ons_type *judged) {
    if (config->loss != NULL) return config->loss;
    if (ons_shape_elements(&judged->shape) == 1) return "graph";
    return judged->shape.rank > 1 ? "cross_entropy" : "mse";
}

ons_status *ons_config_loss_or_usual(const ons_config *config, const ons_type *judged, ons_loss_options *loss) {
    ons_config usual = *config;
    usual.loss = ons_config_loss_name(config, judged);
    return ons_config_loss(&usual, loss);
}

static double number_or(const ons_number *number, double fallback) { return number->given ? number->value : fallback; }

bool ons_config_logs_norms(const ons_config *config) {
    return config->log_json != NULL || config->tensorboard != NULL || config->log_grad_norms;
}

double ons_config_base_rate(const ons_config *config) {
    bool larger = strcmp(config->optimizer, "adagrad") == 0 || strcmp(config->optimizer, "rmsprop") == 0;
    return number_or(&config->lr, larger ? 1e-2 : 1e-3);
}

ons_status *ons_config_optimizer(const ons_config *config, ons_optimizer_options *optimizer) {
    static const struct {
        const char *name;
        ons_role role;
    } names[] = {
        {"sgd", ONS_ROLE_SGD},         {"adam", ONS_ROLE_ADAM},       {"adamw", ONS_ROLE_ADAMW},
        {"adagrad", ONS_ROLE_ADAGRAD}, {"rmsprop", ONS_ROLE_RMSPROP},
    };
    *optimizer = (ons_optimizer_options){.role = ONS_NO_ROLE};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(config->optimizer, names[i].name) == 0) optimizer->role = names[i].role;
    ONS_CHECK(optimizer->role != ONS_NO_ROLE, ONS_INVALID_ARGUMENT,
              "--optimizer: '%s' is not one of sgd, adam, adamw, adagrad, rmsprop", config->optimizer);
    optimizer->momentum = config->momentum.value;
    optimizer->nesterov = config->nesterov;
    optimizer->beta1 = config->beta1.value;
    optimizer->beta2 = config->beta2.value;
    optimizer->alpha = config->alpha.value;
    optimizer->eps = number_or(&config->eps, optimizer->role == ONS_ROLE_ADAGRAD ? 1e-10 : 1e-8);
    optimizer->weight_decay = number_or(&config->weight_decay, optimizer->role == ONS_ROLE_ADAMW ? 1e-2 : 0);
    optimizer->clip_norm = config->clip_norm.value;
    optimizer->first_scale = config->loss_scale.value;
    ONS_CHECK(optimizer->first_scale >= 0x1p-24 && optimizer->first_scale <= 0x1p100, ONS_INVALID_ARGUMENT,
              "--loss-scale must lie between 6e-8 and 1e30");
    optimizer->want_norms = strcmp(config->pipeline, "pipedream-async") != 0; /* also without a log: the same memory */
    ONS_CHECK(optimizer->momentum >= 0 && optimizer->weight_decay >= 0 && optimizer->clip_norm >= 0 &&
                  optimizer->eps >= 0,
              ONS_INVALID_ARGUMENT, "--momentum, --weight-decay, --clip-norm and --eps must not be negative");
    ONS_CHECK(!config->lr.given || config->lr.value >= 0, ONS_INVALID_ARGUMENT, "--lr must not be negative");
    ONS_CHECK(optimizer->beta1 >= 0 && optimizer->beta1 < 1 && optimizer->beta2 >= 0 && optimizer->beta2 < 1,
              ONS_INVALID_ARGUMENT, "--beta1 and --beta2 must lie in [0, 1)");
    ONS_CHECK(!config->nesterov || (optimizer->role == ONS_ROLE_SGD && optimizer->momentum > 0), ONS_INVALID_ARGUMENT,
              "--nesterov needs --optimizer sgd and a --momentum above 0");
    return NULL;
}

ons_status *ons_config_mode(const ons_config *config, bool training, ons_mode *mode) {
    *mode = (ons_mode){.training = training};
    const char *batchnorm = config->batchnorm, *dropout = config->dropout;
    mode->batchnorm = strcmp(batchnorm, "train") == 0  ? ONS_AS_TRAINING
                      : strcmp(batchnorm, "eval") == 0 ? ONS_AS_INFERENCE
                                                       : ONS_AS_GRAPH;
    ONS_CHECK(mode->batchnorm != ONS_AS_GRAPH || strcmp(batchnorm, "graph") == 0, ONS_INVALID_ARGUMENT,
              "--batchnorm: '%s' is not one of graph, train, eval", batchnorm);
    if (strcmp(dropout, "graph") == 0) return NULL;
    mode->dropout = ONS_AS_INFERENCE;
    if (strcmp(dropout, "off") == 0) return NULL;
    ons_number ratio = {0};
    ons_status *status = parse_number("dropout", dropout, &ratio);
    if (status != NULL || ratio.value < 0 || ratio.value >= 1) {
        ons_status_free(status);
        return ons_status_new(ONS_INVALID_ARGUMENT, "--dropout: '%s' is not graph, off, or a probability in [0, 1)",
                              dropout);
    }
    mode->dropout = ONS_AS_TRAINING;
    mode->dropout_ratio = ratio.value;
    return NULL;
}

ons_status *ons_config_memory(const ons_config *config, int64_t *bytes) {
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"", 1},         {"B", 1},    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                 {"TiB", 0x1p40}, {"KB", 1e3}, {"MB", 1e6},     {"GB", 1e9}};
    *bytes = 0;
    if (config->memory == NULL) return NULL;
    char *unit;
    double size = strtod(config->memory, &unit);
    while (isspace((unsigned char)*unit)) ++unit;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; ++i)
        if (strcmp(unit, units[i].unit) == 0 && size * units[i].factor >= 1 && size * units[i].factor < 0x1p62) {
            *bytes = (int64_t)(size * units[i].factor);
            return NULL;
        }
    return ons_status_new(ONS_INVALID_ARGUMENT, "--memory: '%s' is not a size such as 512MiB or 40GiB", config->memory);
}

/* More threads than processors are fine: they give the bits of a larger machine. But each has a stack, and is waited
 * for at every loop. */
enum { THREADS_A_PROCESSOR = 4, THREADS_ANYWHERE = 64, THREADS_MOST = 1024 };

ons_status *ons_config_threads(const ons_config *config, int *threads) {
    int64_t processors = ons_cpu_count();
    int64_t most = THREADS_A_PROCESSOR * processors;
    if (most < THREADS_ANYWHERE) most = THREADS_ANYWHERE;
    if (most > THREADS_MOST) most = THREADS_MOST;
    ONS_CHECK(config->threads <= most, ONS_INVALID_ARGUMENT,
              "--threads %" PRId64 ": at most %" PRId64 " make sense on this machine, which has %" PRId64
              " processors; leave it out to use them all",
              config->threads, most, processors);
    int64_t share = processors / config->stages;
    *threads = (int)(config->threads > 0 ? config->threads : share > 1 ? share : 1);
    return NULL;
}

ons_status *ons_config_schedule(const ons_config *config, ons_rate_schedule *schedule) {
    static const char *const names[] = {"constant", "linear", "cosine"};
    for (int i = 0; i < 3; ++i)
        if (strcmp(config->lr_schedule, names[i]) == 0) {
            *schedule = (ons_rate_schedule)i;
            return NULL;
        }
    return ons_status_new(ONS_INVALID_ARGUMENT, "--lr-schedule: '%s' is not one of constant, linear, cosine",
                          config->lr_schedule);
}

bool ons_config_uses_cuda(const ons_config *config) { return strcmp(config->device, "cuda") == 0; }

const char *ons_config_device_profile(const ons_config *config) {
    if (config->device_profile != NULL) return config->device_profile;
    return ons_config_uses_cuda(config) ? "h200-141gb" : "cpu";
}

ons_status *ons_config_precision(const ons_config *config, ons_precision *precision) {
    for (int i = 0; i < ONS_PRECISION_COUNT; ++i)
        if (strcmp(config->precision, ons_precision_name((ons_precision)i)) == 0) {
            *precision = (ons_precision)i;
            return NULL;
        }
    return ons_status_new(ONS_INVALID_ARGUMENT, "--precision: '%s' is not one of fp32, tf32, bf16, fp16",
                          config->precision);
}

ons_dtype ons_config_low_type(const ons_config *config) {
    return strcmp(config->precision, "bf16") == 0   ? ONS_BFLOAT16
           : strcmp(config->precision, "fp16") == 0 ? ONS_FLOAT16
                                                    : ONS_FLOAT32;
}

bool ons_config_takes_tf32(const ons_config *config) { return strcmp(config->precision, "tf32") == 0; }

enum { STAGES_MOST = 65536 };

ons_status *ons_config_check_supported(const ons_config *config) {
    ONS_CHECK(config->stages <= STAGES_MOST, ONS_INVALID_ARGUMENT,
              "--stages %" PRId64 ": more than %d are not possible", config->stages, STAGES_MOST);
    ONS_CHECK(strcmp(config->device, "cpu") == 0 || strcmp(config->device, "cuda") == 0, ONS_INVALID_ARGUMENT,
              "--device: '%s' is neither cpu nor cuda", config->device);
    bool several = config->stages > 1 || config->plan != NULL || strcmp(config->transport, "auto") != 0;
    if (ons_config_uses_cuda(config) && several && strcmp(config->transport, "local") != 0) ons_cuda_load_early();
    ONS_TRY(ons_device_check(config->device));
    ons_precision precision;
    ONS_TRY(ons_config_precision(config, &precision));
    ONS_CHECK(strcmp(config->transport, "auto") == 0 || strcmp(config->transport, "local") == 0 ||
                  strcmp(config->transport, "mpi") == 0 || strcmp(config->transport, "nccl") == 0,
              ONS_INVALID_ARGUMENT, "--transport: '%s' is not one of auto, local, mpi, nccl", config->transport);
    ONS_CHECK(strcmp(config->transport, "nccl") != 0 || ons_config_uses_cuda(config), ONS_INVALID_ARGUMENT,
              "--transport nccl: NCCL carries messages between GPUs; give --device cuda, or leave --transport out");
    ONS_CHECK(strcmp(config->transport, "mpi") != 0 || !ons_config_uses_cuda(config), ONS_UNSUPPORTED,
              "--device cuda --transport mpi: messages between the GPUs of several processes go by NCCL; give "
              "--transport nccl, or leave it out");
    bool asynchronous = strcmp(config->pipeline, "pipedream-async") == 0;
    ONS_CHECK(!asynchronous || config->clip_norm.value == 0, ONS_UNSUPPORTED,
              "--clip-norm: an asynchronous pipeline has no moment at which all gradients are there; leave it out, or "
              "take --pipeline 1f1b");
    ONS_CHECK(!asynchronous || precision != ONS_PRECISION_FP16, ONS_UNSUPPORTED,
              "--precision fp16: an asynchronous pipeline has no moment at which all gradients are there, by which the "
              "loss's scale could be found; take bf16, or --pipeline 1f1b");
    ONS_CHECK(!asynchronous || !config->log_grad_norms, ONS_UNSUPPORTED,
              "--log-grad-norms: an asynchronous pipeline has no gradient of a whole step; take --pipeline 1f1b");
    ONS_CHECK(strcmp(config->export_form, "same") == 0 || strcmp(config->export_form, "inference") == 0,
              ONS_INVALID_ARGUMENT, "--export: '%s' is neither same nor inference", config->export_form);
    ONS_CHECK(config->metric == NULL || strcmp(config->metric, "accuracy") == 0, ONS_INVALID_ARGUMENT,
              "--metric: '%s' is not known; there is accuracy", config->metric);
    ONS_CHECK(!config->resume || config->checkpoint != NULL, ONS_INVALID_ARGUMENT, "--resume needs --checkpoint DIR");
    ONS_CHECK(config->checkpoint_every == 0 || config->checkpoint != NULL, ONS_INVALID_ARGUMENT,
              "--checkpoint-every needs --checkpoint DIR");
    return NULL;
}

double ons_learning_rate(ons_rate_schedule schedule, double base, int64_t warmup, int64_t step, int64_t steps) {
    if (step <= warmup) return base * (double)step / (double)warmup;
    double done = steps > warmup ? (double)(step - warmup) / (double)(steps - warmup) : 0;
    switch (schedule) {
    case ONS_SCHEDULE_LINEAR: return base * (1 - done);
    case ONS_SCHEDULE_COSINE: return base * 0.5 * (1 + cos(M_PI * done));
    case ONS_SCHEDULE_CONSTANT: break;
    }
    return base;
}

ons_status *ons_config_check_choices(const ons_config *config, const ons_graph *graph) {
    for (size_t i = 0; i < config->choices.count; ++i) {
        const ons_choice *choice = &config->choices.items[i];
        bool matches = false;
        for (ons_value_id id = 0; !matches && id < graph->values.count; ++id) {
            const ons_value *value = ons_graph_value(graph, id);
            bool initialiser = value->producer == ONS_NONE && value->data != ONS_NO_DATA;
            matches = initialiser && fnmatch(choice->glob, value->name, 0) == 0;
        }
        ONS_CHECK(matches, ONS_INVALID_ARGUMENT,
                  "--%s '%s' matches no initialiser; `onstage inspect` shows their names",
                  choice->train ? "train" : "freeze", choice->glob);
    }
    return NULL;
}

bool ons_config_trains(const ons_config *config, const char *initialiser) {
    bool trains = config->choices.count == 0 || !config->choices.items[0].train;
    for (size_t i = 0; i < config->choices.count; ++i)
        if (fnmatch(config->choices.items[i].glob, initialiser, 0) == 0) trains = config->choices.items[i].train;
    return trains;
}

bool ons_config_insists(const ons_config *config, const char *initialiser) {
    bool insists = false;
    for (size_t i = 0; i < config->choices.count; ++i) {
        const ons_choice *choice = &config->choices.items[i];
        if (!choice->train && fnmatch(choice->glob, initialiser, 0) == 0) insists = false;
        if (choice->train && strcmp(choice->glob, initialiser) == 0) insists = true;
    }
    return insists;
}
