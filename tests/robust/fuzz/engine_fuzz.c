/* Any bytes as a model, through the whole engine: checked, inspected, planned, and trained for a step on data that its
 * inputs ask for, with the operators and kernels that users have; what it writes is a model again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "include/onstage.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { INPUTS = 4, RANK = 6, ELEMENTS = 1 << 16 };

/* Small whole numbers are classes and tokens, and floats as they stand in memory. */
static int64_t zeros[ELEMENTS];

/* Whether there is no failure; frees it. One without a message is a defect, and so is one that says so. */
static bool well(ons_status *status) {
    bool none = status == NULL;
    if (!none && (ons_status_get_message(status)[0] == '\0' || ons_status_get_code(status) == ONS_DEFECT)) abort();
    ons_status_free(status);
    return none;
}

typedef struct data {
    ons_array_view views[INPUTS + 1];
    int64_t dims[INPUTS + 1][RANK];
} data;

/* "float32[2,3,batch]" as an array of zeros, names as 2; false: not what this program makes arrays of. */
static bool make_view(const char *type, ons_array_view *view, int64_t dims[RANK]) {
    static const struct {
        const char *name;
        ons_element_type type;
    } types[] = {{"float32[", ONS_ELEMENT_FLOAT32}, {"float64[", ONS_ELEMENT_FLOAT64}, {"int64[", ONS_ELEMENT_INT64},
                 {"int32[", ONS_ELEMENT_INT32},     {"bool[", ONS_ELEMENT_BOOL},       {"uint8[", ONS_ELEMENT_UINT8}};
    const char *at = NULL;
    *view = (ons_array_view){.dims = dims, .data = zeros};
    for (size_t i = 0; at == NULL && i < sizeof types / sizeof types[0]; ++i)
        if (strncmp(type, types[i].name, strlen(types[i].name)) == 0) {
            at = type + strlen(types[i].name);
            view->element_type = types[i].type;
        }
    int64_t elements = 1;
    for (; at != NULL && *at != ']' && *at != '\0'; at += *at == ',') {
        long long dim = *at >= '0' && *at <= '9' ? strtoll(at, NULL, 10) : 2;
        if (view->rank == RANK || dim > ELEMENTS / elements) return false;
        dims[view->rank++] = dim;
        elements *= dim > 0 ? dim : 1;
        at += strcspn(at, ",]");
    }
    return at != NULL && view->rank > 0;
}

/* Data for every input, and targets of the first output's shape; `made` outlives the configuration. */
static bool feed(ons_config *config, const ons_inspection *in, data *made) {
    if (in->input_count == 0 || in->input_count > INPUTS || in->output_count == 0) return false;
    for (size_t i = 0; i <= in->input_count; ++i) {
        const ons_tensor_info *info = i < in->input_count ? &in->inputs[i] : &in->outputs[0];
        if (!make_view(info->type, &made->views[i], made->dims[i])) return false;
        const char *name = i < in->input_count ? info->name : "target";
        if (!well(ons_config_array(config, name, false, &made->views[i]))) return false;
    }
    return true;
}

static void train(ons_model *model, const ons_config *config) {
    ons_trainer *trainer;
    ons_step_report report;
    if (!well(ons_trainer_new(model, config, &trainer))) return;
    if (!ons_trainer_done(trainer) && well(ons_trainer_step(trainer, &report)))
        well(ons_trainer_save(trainer, "/dev/null"));
    ons_trainer_free(trainer);
}

static bool configure(ons_config *config) {
    static const char *const options[][2] = {{"memory", "64MiB"}, {"threads", "1"}, {"steps", "1"}, {"loss", "mse"}};
    bool set = true;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i)
        set = set && well(ons_config_set(config, options[i][0], options[i][1]));
    return set;
}

static void use(const char *path, ons_config *config) {
    ons_check *check;
    ons_model *model;
    ons_inspection *inspection;
    ons_planning *planning;
    data made;
    if (well(ons_model_check(path, config, &check))) ons_check_free(check);
    if (well(ons_planning_new(path, config, &planning))) ons_planning_free(planning);
    if (!well(ons_model_load(path, config, &model))) return;
    if (well(ons_model_inspect(model, config, &inspection))) {
        if (feed(config, inspection, &made)) train(model, config);
        ons_inspection_free(inspection);
    }
    ons_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char path[64];
    ons_config *config;
    int file = memfd_create("model", MFD_CLOEXEC);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (well(ons_config_new(&config))) {
        if (configure(config)) use(path, config);
        ons_config_free(config);
    }
    close(file);
    return 0;
}
