/* What the options mean to graph, loss, optimiser and device. */
#include "engine/config/batchnorm_of.h"
#include "engine/config/config.h"
#include "engine/config/device_list.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "device/device_kind.h"
#include "planner/schedule/lanes.h"
#include "planner/search/portfolio.h"

/* Classes and axes are counted: 1.5 is none, and neither is what a double cannot count any more. */
static ons_status *check_whole(const char *option, const ons_number *number) {
    ONS_CHECK(!number->given || (number->value == rint(number->value) && fabs(number->value) < 0x1p53),
              ONS_INVALID_ARGUMENT, "--%s %g is not a whole number", option, number->value);
    return NULL;
}

/* The options that only some losses have. */
static ons_status *check_loss_options(const ons_config *config, const ons_loss_options *loss) {
    ONS_TRY(check_whole("ignore-index", &config->ignore_index));
    ONS_TRY(check_whole("class-axis", &config->class_axis));
    ONS_CHECK(loss->delta > 0, ONS_INVALID_ARGUMENT, "--delta %g is not above 0", loss->delta);
    ONS_CHECK(loss->label_smoothing >= 0 && loss->label_smoothing < 1, ONS_INVALID_ARGUMENT,
              "--label-smoothing %g does not lie in [0, 1)", loss->label_smoothing);
    return NULL;
}

ons_status *ons_config_loss(const ons_config *config, ons_loss_options *loss) {
    *loss = (ons_loss_options){
        .role = (ons_role)config->loss.value,
        .output = config->loss_output,
        .class_axis = config->class_axis.given ? (int64_t)config->class_axis.value : ONS_CLASS_AXIS_AUTO,
        .ignore_index = (int64_t)config->ignore_index.value,
        .delta = config->delta.value,
        .label_smoothing = config->label_smoothing.value,
    };
    if (config->loss.text != NULL) return check_loss_options(config, loss);
    char all[256];
    ons_words_print(ons_loss_words, ", ", all, sizeof all);
    return ons_status_new(ONS_INVALID_ARGUMENT, "--loss is needed, one of %s", all);
}

static ons_role usual_loss(const ons_type *output) {
    if (ons_shape_elements(&output->shape) == 1) return ONS_ROLE_SAMPLE_MEAN;
    return output->shape.rank > 1 ? ONS_ROLE_CROSS_ENTROPY : ONS_ROLE_SQUARED_ERROR;
}

const char *ons_config_loss_name(const ons_config *config, const ons_type *output) {
    return config->loss.text != NULL ? config->loss.text : ons_word_of(ons_loss_words, usual_loss(output)).text;
}

ons_status *ons_config_loss_or_usual(const ons_config *config, const ons_type *output, ons_loss_options *loss) {
    ons_config usual = *config;
    if (config->loss.text == NULL) usual.loss = ons_word_of(ons_loss_words, usual_loss(output));
    return ons_config_loss(&usual, loss);
}

static double number_or(const ons_number *number, double fallback) { return number->given ? number->value : fallback; }

bool ons_config_logs_norms(const ons_config *config) {
    return config->log_json != NULL || config->tensorboard != NULL || config->log_grad_norms;
}

/* Where nothing is said, as torch.optim has it. */
typedef struct usual_numbers {
    ons_role role;
    double lr, eps, weight_decay;
} usual_numbers;

static const usual_numbers *find_usual(const ons_config *config) {
    static const usual_numbers all[] = {
        {ONS_ROLE_ADAMW, 1e-3, 1e-8, 1e-2}, {ONS_ROLE_ADAM, 1e-3, 1e-8, 0},    {ONS_ROLE_SGD, 1e-3, 1e-8, 0},
        {ONS_ROLE_ADAGRAD, 1e-2, 1e-10, 0}, {ONS_ROLE_RMSPROP, 1e-2, 1e-8, 0},
    };
    size_t i = 0;
    while (all[i].role != (ons_role)config->optimizer.value) ++i; /* every one of the list is there */
    return &all[i];
}

double ons_config_base_rate(const ons_config *config) { return number_or(&config->lr, find_usual(config)->lr); }

ons_status *ons_config_optimizer(const ons_config *config, ons_optimizer_options *optimizer) {
    *optimizer = (ons_optimizer_options){.role = (ons_role)config->optimizer.value};
    optimizer->momentum = config->momentum.value;
    optimizer->nesterov = config->nesterov;
    optimizer->beta1 = config->beta1.value;
    optimizer->beta2 = config->beta2.value;
    optimizer->alpha = config->alpha.value;
    optimizer->eps = number_or(&config->eps, find_usual(config)->eps);
    optimizer->weight_decay = number_or(&config->weight_decay, find_usual(config)->weight_decay);
    optimizer->clip_norm = config->clip_norm.value;
    optimizer->first_scale = config->loss_scale.value;
    ONS_CHECK(optimizer->first_scale >= 0x1p-24 && optimizer->first_scale <= 0x1p100, ONS_INVALID_ARGUMENT,
              "--loss-scale must lie between 6e-8 and 1e30");
    optimizer->want_norms = !ons_config_is_asynchronous(config); /* also without a log: the same memory */
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
    *mode = (ons_mode){.training = training, .replicas = config->sync_batchnorm ? (uint32_t)config->replicas : 0};
    mode->batchnorm = (ons_as_exported)config->batchnorm.value;
    mode->batchnorm_of = ons_config_batchnorm_of;
    mode->context = config;
    const char *dropout = config->dropout;
    ons_word word;
    if (ons_word_find(ons_dropout_words, dropout, &word)) {
        mode->dropout = (ons_as_exported)word.value;
        return NULL;
    }
    ons_number ratio = {0};
    ons_status *status = ons_config_parse_number("dropout", dropout, &ratio);
    if (status != NULL || ratio.value < 0 || ratio.value >= 1) {
        ons_status_free(status);
        return ons_status_new(ONS_INVALID_ARGUMENT, "--dropout: '%s' is not graph, off, or a probability in [0, 1)",
                              dropout);
    }
    mode->dropout = ONS_AS_TRAINING;
    mode->dropout_ratio = ratio.value;
    return NULL;
}

static ons_status *parse_size(const char *option, const char *text, int64_t *bytes) {
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"", 1},         {"B", 1},    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                 {"TiB", 0x1p40}, {"KB", 1e3}, {"MB", 1e6},     {"GB", 1e9}};
    *bytes = 0;
    if (text == NULL) return NULL;
    char *unit;
    double size = strtod(text, &unit);
    while (isspace((unsigned char)*unit)) ++unit;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; ++i)
        if (strcmp(unit, units[i].unit) == 0 && size * units[i].factor >= 1 && size * units[i].factor < 0x1p62) {
            *bytes = (int64_t)(size * units[i].factor);
            return NULL;
        }
    return ons_status_new(ONS_INVALID_ARGUMENT, "--%s: '%s' is not a size such as 512MiB or 40GiB", option, text);
}

ons_status *ons_config_memory(const ons_config *config, int64_t *bytes) {
    return parse_size("memory", config->memory, bytes);
}

ons_status *ons_config_disk_bandwidth(const ons_config *config, int64_t *bytes) {
    return parse_size("disk-bandwidth", config->disk_bandwidth, bytes);
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
    int64_t devices = ons_config_devices(config) * config->replicas;
    if (config->replicas > 1 && config->stages_here > 0) devices = config->stages_here;
    int64_t share = processors / devices;
    *threads = (int)(config->threads > 0 ? config->threads : share > 1 ? share : 1);
    return NULL;
}

ons_rate_schedule ons_config_rate_schedule(const ons_config *config) {
    return (ons_rate_schedule)config->lr_schedule.value;
}

bool ons_config_chooses_schedule(const ons_config *config) {
    return config->generator == NULL && strcmp(config->pipeline, ons_any_schedule) == 0;
}

/* NULL: there is none of that name. */
static const ons_generator *find_generator(const ons_config *config) {
    if (config->generator != NULL) return config->generator;
    if (ons_config_chooses_schedule(config))
        return ons_portfolio_first((uint32_t)config->stages, (uint32_t)config->devices);
    return ons_generator_find(config->pipeline);
}

/* --stages counts stages and --devices devices, whatever the schedule. */
static ons_status *check_devices(const ons_config *config) {
    const ons_generator *g = find_generator(config);
    ONS_CHECK(config->devices <= config->stages, ONS_INVALID_ARGUMENT,
              "--devices %" PRId64 ": %" PRId64 " stage%s cannot lie on more devices than that; take more --stages, or "
              "fewer --devices",
              config->devices, config->stages, config->stages == 1 ? "" : "s");
    ONS_CHECK(
        g == NULL || g->chunks < 2 || config->stages == 1 || config->devices < config->stages, ONS_INVALID_ARGUMENT,
        "schedule %s puts several stages on every device, and %" PRId64 " stages on as many devices are 1f1b's; take "
        "--stages %" PRId64 ", or --pipeline 1f1b",
        g == NULL ? "" : g->name, config->stages, 2 * config->stages);
    return NULL;
}

ons_status *ons_config_pipeline(const ons_config *config, ons_pipeline *pipeline) {
    ONS_TRY(check_devices(config));
    ONS_CHECK(config->replicas == 1 || !ons_config_is_asynchronous(config), ONS_UNSUPPORTED,
              "--replicas %" PRId64 ": an asynchronous pipeline has no moment at which all gradients are there; take "
              "--pipeline 1f1b",
              config->replicas);
    *pipeline = (ons_pipeline){.generator = find_generator(config),
                               .stages = (uint32_t)config->stages,
                               .devices = (uint32_t)config->devices,
                               .replicas = (uint32_t)config->replicas};
    return NULL;
}

int64_t ons_config_devices(const ons_config *config) {
    const ons_pipeline p = {find_generator(config), (uint32_t)config->stages, 1, (uint32_t)config->devices, 1};
    return p.generator == NULL ? config->stages : ons_pipeline_devices(&p);
}

int64_t ons_config_stages_on(const ons_config *config, int64_t devices) {
    const ons_generator *g = find_generator(config);
    return g == NULL || devices == 1 ? devices : devices * g->chunks;
}

int64_t ons_config_lanes(const ons_config *config) {
    const ons_pipeline p = {find_generator(config), (uint32_t)config->stages, 1, (uint32_t)config->devices, 1};
    return p.generator == NULL ? config->stages : ons_pipeline_lanes(&p);
}

bool ons_config_is_asynchronous(const ons_config *config) {
    const ons_generator *g = find_generator(config);
    return g != NULL && g->asynchronous;
}

bool ons_config_uses_cuda(const ons_config *config) {
    ons_word device; /* not the kind of device: a plan for GPUs is made where there are none, too */
    return ons_word_find(ons_device_words, config->device, &device) && device.value == ONS_DEVICE_CUDA;
}

const char *ons_config_device_profile(const ons_config *config) {
    if (config->device_profile != NULL) return config->device_profile;
    return ons_config_uses_cuda(config) ? "h200-141gb" : "cpu";
}

ons_precision ons_config_precision(const ons_config *config) { return (ons_precision)config->precision.value; }

ons_dtype ons_config_low_type(const ons_config *config) {
    switch (ons_config_precision(config)) {
    case ONS_PRECISION_BF16: return ONS_BFLOAT16;
    case ONS_PRECISION_FP16: return ONS_FLOAT16;
    default: return ONS_FLOAT32;
    }
}

bool ons_config_takes_tf32(const ons_config *config) { return ons_config_precision(config) == ONS_PRECISION_TF32; }

enum { STAGES_MOST = 65536, REPLICAS_MOST = 1024 };

ons_status *ons_config_check_replicas(const ons_config *config) {
    ONS_CHECK(config->replicas <= REPLICAS_MOST, ONS_INVALID_ARGUMENT,
              "--replicas %" PRId64 ": more than %d are not possible", config->replicas, REPLICAS_MOST);
    ONS_CHECK(
        config->replicas > 1 || !config->shard_optimizer, ONS_INVALID_ARGUMENT,
        "--shard-optimizer divides the optimiser's states among replicas, and there is one; give --replicas R, or "
        "leave it out");
    ONS_CHECK(config->replicas > 1 || !config->sync_batchnorm, ONS_INVALID_ARGUMENT,
              "--sync-batchnorm normalises over replicas, and there is one; give --replicas R, or leave it out");
    return NULL;
}

void ons_config_load_early(const ons_config *config) {
    bool said = config->transport.value != ONS_TRANSPORT_AUTO;
    bool several = config->stages > 1 || config->replicas > 1 || config->plan != NULL || said;
    if (!several || config->transport.value == ONS_TRANSPORT_LOCAL) return;
    for (const ons_device_kind *const *kind = ons_device_kinds; *kind != NULL; ++kind)
        if (strcmp((*kind)->name, config->device) == 0 && (*kind)->load_early != NULL) (*kind)->load_early();
}

ons_status *ons_config_check_supported(const ons_config *config) {
    ONS_CHECK(config->stages <= STAGES_MOST, ONS_INVALID_ARGUMENT,
              "--stages %" PRId64 ": more than %d are not possible", config->stages, STAGES_MOST);
    ONS_CHECK(!ons_config_chooses_replicas(config), ONS_INVALID_ARGUMENT,
              "--replicas auto: only `onstage plan` chooses; give a number, or make a plan, and train with --plan");
    if (config->plan == NULL) ONS_TRY(ons_config_check_replicas(config)); /* a plan has its own number */
    ONS_CHECK(config->plan != NULL || !ons_device_list_is_given(config), ONS_UNSUPPORTED,
              "--device-profile %s: training plans for devices that are alike; make the plan with onstage plan, and "
              "train with --plan",
              config->device_profile);
    uint32_t slices;
    ONS_TRY(ons_config_slices(config, &slices));
    const ons_device_kind *kind;
    ONS_TRY(ons_device_kind_find(config->device, &kind));
    ONS_TRY(kind->check());
    ONS_CHECK(config->transport.value != ONS_TRANSPORT_NCCL || ons_config_uses_cuda(config), ONS_INVALID_ARGUMENT,
              "--transport nccl: NCCL carries messages between GPUs; give --device cuda, or leave --transport out");
    ONS_CHECK(config->transport.value != ONS_TRANSPORT_MPI || !ons_config_uses_cuda(config), ONS_UNSUPPORTED,
              "--device cuda --transport mpi: messages between the GPUs of several processes go by NCCL; give "
              "--transport nccl, or leave it out");
    if (config->plan == NULL && config->replicas != ONS_REPLICAS_AUTO) ONS_TRY(check_devices(config));
    bool asynchronous = ons_config_is_asynchronous(config);
    ONS_CHECK(!asynchronous || config->clip_norm.value == 0, ONS_UNSUPPORTED,
              "--clip-norm: an asynchronous pipeline has no moment at which all gradients are there; leave it out, or "
              "take --pipeline 1f1b");
    ONS_CHECK(!asynchronous || ons_config_precision(config) != ONS_PRECISION_FP16, ONS_UNSUPPORTED,
              "--precision fp16: an asynchronous pipeline has no moment at which all gradients are there, by which the "
              "loss's scale could be found; take bf16, or --pipeline 1f1b");
    ONS_CHECK(!asynchronous || !config->log_grad_norms, ONS_UNSUPPORTED,
              "--log-grad-norms: an asynchronous pipeline has no gradient of a whole step; take --pipeline 1f1b");
    return NULL;
}

double ons_rate_share(ons_rate_schedule schedule, int64_t warmup, int64_t step, int64_t steps) {
    if (step <= warmup) return (double)step / (double)warmup;
    double done = steps > warmup ? (double)(step - warmup) / (double)(steps - warmup) : 0;
    switch (schedule) {
    case ONS_RATE_LINEAR: return 1 - done;
    case ONS_RATE_COSINE: return 0.5 * (1 + cos(M_PI * done));
    case ONS_RATE_CONSTANT: break;
    }
    return 1;
}

/* Names have brackets and stars of their own: one that is given as it stands is found. */
static bool matches(const char *glob, const char *name) {
    return name != NULL && (strcmp(glob, name) == 0 || fnmatch(glob, name, 0) == 0);
}

bool ons_glob_names(const char *glob, const ons_value *value) {
    return matches(glob, ons_value_name_in_file(value)) || matches(glob, value->parameter);
}

ons_status *ons_config_check_choices(const ons_config *config, const ons_graph *graph) {
    for (size_t i = 0; i < config->choices.count; ++i) {
        const ons_choice *choice = &config->choices.items[i];
        ons_nearest nearest = ons_nearest_to(choice->glob);
        bool found = false;
        for (ons_value_id id = 0; !found && id < graph->values.count; ++id) {
            const ons_value *value = ons_graph_value(graph, id);
            if (value->producer != ONS_NONE || value->data == ONS_NO_DATA) continue;
            found = ons_glob_names(choice->glob, value);
            ONS_CHECK(!found || !choice->train || strcmp(choice->glob, ons_value_name_in_file(value)) != 0 ||
                          ons_dtype_is_float(value->type.dtype),
                      ONS_INVALID_ARGUMENT, "--train '%s': it holds %s, and floats alone are trained", choice->glob,
                      ons_dtype_name(value->type.dtype));
            ons_nearest_try(&nearest, ons_value_name_in_file(value));
        }
        ONS_CHECK(found, ONS_INVALID_ARGUMENT,
                  "--%s '%s' matches no initialiser%s; `onstage inspect` shows their names",
                  choice->train ? "train" : "freeze", choice->glob, ons_nearest_hint(&nearest));
    }
    return NULL;
}

bool ons_config_trains(const ons_config *config, const ons_value *initialiser) {
    bool trains = config->choices.count == 0 || !config->choices.items[0].train;
    for (size_t i = 0; i < config->choices.count; ++i)
        if (ons_glob_names(config->choices.items[i].glob, initialiser)) trains = config->choices.items[i].train;
    return trains;
}

bool ons_config_insists(const ons_config *config, const char *initialiser) {
    bool insists = false;
    for (size_t i = 0; i < config->choices.count; ++i) {
        const ons_choice *choice = &config->choices.items[i];
        if (!choice->train && matches(choice->glob, initialiser)) insists = false;
        if (choice->train && strcmp(choice->glob, initialiser) == 0) insists = true;
    }
    return insists;
}
