#include "engine/config/conditions.h"

#include <string.h>

#include "engine/config/profile_list.h"

enum {
    TRAIN = ONS_COMMAND_TRAIN,
    EVAL = ONS_COMMAND_EVAL,
    PROFILE = ONS_COMMAND_PROFILE,
    PLAN = ONS_COMMAND_PLAN,
    STEP = TRAIN | PROFILE | PLAN,
};

/* ------------------------------------------------------------------------------------------------------- conditions */

static ons_role optimizer_of(const ons_config *c) { return (ons_role)c->optimizer.value; }

static bool has_momentum(const ons_config *c) {
    return optimizer_of(c) == ONS_ROLE_SGD || optimizer_of(c) == ONS_ROLE_RMSPROP;
}

static bool has_betas(const ons_config *c) {
    return optimizer_of(c) == ONS_ROLE_ADAM || optimizer_of(c) == ONS_ROLE_ADAMW;
}

static bool is_sgd(const ons_config *c) { return optimizer_of(c) == ONS_ROLE_SGD; }
static bool is_rmsprop(const ons_config *c) { return optimizer_of(c) == ONS_ROLE_RMSPROP; }
static bool has_eps(const ons_config *c) { return !is_sgd(c); }
static bool is_fp16(const ons_config *c) { return ons_config_precision(c) == ONS_PRECISION_FP16; }
static bool has_loss(const ons_config *c) { return c->loss.text != NULL; }
static bool is_own_loss(const ons_config *c) { return has_loss(c) && c->loss.value == ONS_ROLE_SAMPLE_MEAN; }
static bool is_huber(const ons_config *c) { return has_loss(c) && c->loss.value == ONS_ROLE_HUBER; }
static bool counts_classes(const ons_config *c) { return has_loss(c) && ons_loss_counts_classes(c->loss.value); }
static bool smooths(const ons_config *c) { return has_loss(c) && c->loss.value == ONS_ROLE_CROSS_ENTROPY; }
/* What is planned without --loss has the one that its output suggests. */
static bool may_count_classes(const ons_config *c) { return !has_loss(c) || counts_classes(c); }
static bool may_smooth(const ons_config *c) { return !has_loss(c) || smooths(c); }

static bool validates(const ons_config *c) {
    bool arrays = false;
    for (size_t i = 0; i < c->arrays.count; ++i) arrays |= c->arrays.items[i].validation;
    return arrays || c->val_inputs.count > 0 || c->val_tokens != NULL || c->val_rows != NULL || c->val_split.given;
}

static bool has_tokens(const ons_config *c) { return c->tokens != NULL || c->val_tokens != NULL; }
static bool logs(const ons_config *c) { return c->log_json != NULL || c->tensorboard != NULL; }

/* Or may have: a file may say so, and processes without --stages are one each. */
static bool has_stages(const ons_config *c) {
    return c->stages > 1 || c->devices > 1 || c->processes > 1 || c->plan != NULL || c->schedule != NULL ||
           c->generator != NULL || ons_profile_list_is_given(c);
}

/* One stage goes its own way where updates come between micro-batches. */
static bool is_scheduled(const ons_config *c) { return has_stages(c) || ons_config_is_asynchronous(c); }
static bool exchanges(const ons_config *c) { return has_stages(c) || c->replicas != 1; }
static bool is_planned(const ons_config *c) { return has_stages(c) || c->memory != NULL; }
static bool has_folder(const ons_config *c) { return c->checkpoint != NULL; }
static bool has_report(const ons_config *c) { return c->report != NULL; }
static bool takes_batch(const ons_config *c) { return !c->max_batch; }
static bool has_model(const ons_config *c) { return c->cost_graph == NULL && !c->links; }

/* ------------------------------------------------------------------------------------------------------------ table */

typedef struct condition {
    unsigned commands;
    const char *options; /* each between two spaces */
    bool (*holds)(const ons_config *config);
    const char *needed; /* "it ..." */
} condition;

static const condition conditions[] = {
    {STEP, " momentum ", has_momentum, "is of --optimizer sgd and rmsprop"},
    {STEP, " nesterov ", is_sgd, "is of --optimizer sgd"},
    {STEP, " beta1 beta2 ", has_betas, "is of --optimizer adam and adamw"},
    {STEP, " alpha ", is_rmsprop, "is of --optimizer rmsprop"},
    {STEP, " eps ", has_eps, "is of every --optimizer but sgd"},
    {STEP, " loss-scale ", is_fp16, "is of --precision fp16"},
    {TRAIN | EVAL, " ignore-index class-axis class-weights ", counts_classes, "is of --loss cross_entropy and nll"},
    {TRAIN | EVAL, " label-smoothing ", smooths, "is of --loss cross_entropy"},
    {PLAN | PROFILE, " ignore-index class-axis class-weights ", may_count_classes,
     "is of --loss cross_entropy and nll"},
    {PLAN | PROFILE, " label-smoothing ", may_smooth, "is of --loss cross_entropy"},
    {STEP | EVAL, " delta ", is_huber, "is of --loss huber"},
    {TRAIN, " cut-outputs ", is_own_loss, "leaves out the model's own loss, with --loss graph"},
    {TRAIN, " metric ", counts_classes, "is of --loss cross_entropy and nll"},
    {TRAIN, " best early-stop val-every metric ", validates,
     "goes by the validation; give --val-input and --val-target, --val-tokens, --val-rows or --val-split"},
    {STEP | EVAL, " seq ", has_tokens, "is of --tokens and --val-tokens"},
    {PLAN, " log-grad-norms ", logs, "is written into --log-json and --tensorboard; give one of them"},
    {TRAIN | EVAL, " checkpoint-every resume ", has_folder, "needs --checkpoint DIR"},
    {TRAIN, " pipeline ", is_scheduled, "is about several stages; give --stages N"},
    {TRAIN, " partition ", has_stages, "is about several stages; give --stages N"},
    {STEP, " transport ", exchanges, "is about what several stages or replicas exchange; give --stages or --replicas"},
    {TRAIN, " memory-strategy ", is_planned, "is about what does not fit under --memory; give that, or --stages"},
    {PLAN, " prices samples goal mtbf disk-bandwidth ", has_report, "is for the report; give --report FILE"},
    {PLAN, " batch ", takes_batch, "is what --max-batch finds"},
    {PLAN | PROFILE,
     " input batch-axis target tokens seq rows normalize dim train freeze batchnorm batchnorm-of sync-batchnorm "
     "dropout tie untie new-head strict loss loss-output class-axis ignore-index class-weights label-smoothing delta "
     "clip-norm loss-scale optimizer lr lr-of momentum nesterov beta1 beta2 alpha eps weight-decay seed "
     "vocabulary-shards ",
     has_model, "is about a model, and there is none"},
};

static bool is_listed(const char *list, const char *name) {
    const char *found = strstr(list, name);
    size_t length = strlen(name);
    for (; found != NULL; found = strstr(found + 1, name))
        if (found > list && found[-1] == ' ' && found[length] == ' ') return true;
    return false;
}

static ons_status *check_option(const ons_config *c, unsigned command, const char *option) {
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; ++i) {
        const condition *k = &conditions[i];
        if ((k->commands & command) == 0 || !is_listed(k->options, option) || k->holds(c)) continue;
        return ons_status_new(ONS_INVALID_ARGUMENT, "--%s has no effect here: it %s; or leave it out", option,
                              k->needed);
    }
    return NULL;
}

ons_status *ons_config_check_conditions(const ons_config *c, unsigned command) {
    const ons_option *options = ons_options();
    for (size_t i = 0; options[i].name != NULL; ++i)
        if (ons_config_is_changed(c, options[i].name)) ONS_TRY(check_option(c, command, options[i].name));
    return NULL;
}
