/* Checkpoints of a training run: written, and gone on from. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "engine/train/trainer.h"

#include "engine/train/state_slices.h"
#include "onnx_import/export.h"

enum { CHECKPOINTS_KEPT = 2 };

/* What a checkpoint holds: its name there, and the value of the whole training graph. */
typedef struct kept_value {
    const char *name;
    ons_value_id value;
} kept_value;
typedef ONS_VECTOR(kept_value) kept_values;

/* Weights and running statistics under the initialisers' names, states under NAME#STATE. `names` holds the texts. The
 * same for all stages: which of them has a value is another question. */
static ons_status *list_values(const ons_trainer *t, ons_arena *names, kept_values *list) {
    const ons_model_graph *whole = &t->training.graphs[ONS_WHOLE];
    for (uint32_t i = 0; i < whole->update.trained_count; ++i) {
        const ons_trained *each = &whole->update.trained[i];
        const char *name = ons_graph_value(whole->graph, each->parameter)->name;
        ONS_PUSH(list, (kept_value){name, each->parameter});
        for (int k = 0; k < 2; ++k) {
            if (each->states[k] == ONS_NONE) continue;
            const char *state = ons_arena_format(names, "%s#%s", name, whole->update.state_names[k]);
            if (state == NULL) return ons_status_out_of_memory();
            ONS_PUSH(list, (kept_value){state, each->states[k]});
        }
    }
    for (ons_value_id id = 0; id < whole->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(whole->graph, id);
        if (value->kind == ONS_BUFFER && value->producer == ONS_NONE) ONS_PUSH(list, (kept_value){value->name, id});
    }
    return NULL;
}

uint64_t ons_trainer_checkpoint_bytes(const ons_trainer *t) {
    kept_values values = {0};
    ons_arena *names = ons_arena_new();
    ons_status_free(names == NULL ? NULL : list_values(t, names, &values));
    uint64_t bytes = 0;
    for (size_t i = 0; i < values.count; ++i)
        bytes += (uint64_t)ons_type_dense_bytes(
            &ons_graph_value(t->training.graphs[ONS_WHOLE].graph, values.items[i].value)->type);
    ons_vector_free(&values);
    ons_arena_free(names);
    return bytes;
}

/* ---------------------------------------------------------------------------------------------------------- writing */

typedef ONS_VECTOR(ons_named_tensor) named_tensors;

static const ons_value *value_of(const ons_trainer *t, const kept_value *kept) {
    return ons_graph_value(t->training.graphs[ONS_WHOLE].graph, kept->value);
}

static bool is_sliced(const ons_trainer *t, const kept_value *kept) {
    return t->config->shard_optimizer && value_of(t, kept)->kind == ONS_STATE;
}

/* Where a stage has what a checkpoint keeps. */
static ons_state_place place_of(const ons_trainer *t, const kept_value *kept, const ons_local_stage *stage) {
    bool sliced = is_sliced(t, kept);
    ons_type type = value_of(t, kept)->type;
    return (ons_state_place){kept->name, ons_type_make(type.dtype, type.shape), sliced ? stage->rank_group.own : 0,
                             sliced ? stage->rank_group.count : 1};
}

static ons_status *check_finite(const ons_trainer *t, const char *name, const ons_named_tensor *tensor) {
    const ons_type *type = &tensor->tensor.type;
    return ons_trainer_check_finite(t, name, type->dtype, tensor->tensor.data, 0, ons_shape_elements(&type->shape));
}

/* A slice of each replica, or copy of the stage, in this process. */
static ons_status *list_slices(const ons_trainer *t, const kept_value *kept, ons_arena *names, ons_host_copy *copies,
                               named_tensors *list) {
    for (uint32_t i = 0; i < ons_local_stages_count(t->local_stages); ++i) {
        const ons_local_stage *stage = ons_local_stages_get(t->local_stages, i);
        const ons_state_place place = place_of(t, kept, stage);
        ons_named_tensor tensor = {0};
        uint32_t owner = ons_trainer_owner(t, kept->value);
        if (owner == ONS_NONE || ons_local_stages_groups(t->local_stages)->of_device[owner] != stage->stage) continue;
        ONS_TRY(ons_state_slice_name(&place, names, &tensor.name));
        const void *address =
            ons_device_context_find(stage->device_context, value_of(t, kept)->name, &tensor.tensor.type);
        ONS_CHECK(address != NULL, ONS_DEFECT, "'%s' has no place in the arena", value_of(t, kept)->name);
        size_t bytes = (size_t)ons_type_dense_bytes(&tensor.tensor.type);
        if (bytes == 0) continue;
        ONS_TRY(ons_device_context_read(stage->device_context, address, bytes, &copies[i], &tensor.tensor.data));
        ONS_TRY(check_finite(t, kept->name, &tensor));
        ONS_PUSH(list, tensor);
    }
    return NULL;
}

/* What this process writes: of what several stages hold, the lowest one's. `copies`: of each value and stage. */
static ons_status *list_tensors(const ons_trainer *t, const kept_values *values, ons_arena *names,
                                ons_host_copy *copies, named_tensors *list) {
    uint32_t stages = ons_local_stages_count(t->local_stages);
    for (size_t i = 0; i < values->count; ++i, copies += stages) {
        const kept_value *each = &values->items[i];
        if (is_sliced(t, each)) {
            ONS_TRY(list_slices(t, each, names, copies, list));
            continue;
        }
        if (!ons_trainer_owns(t, each->value)) continue;
        ons_named_tensor tensor = {.name = each->name};
        const char *name = value_of(t, each)->name;
        ONS_TRY(ons_local_stages_read(t->local_stages, name, &tensor.tensor.type, copies, &tensor.tensor.data));
        ONS_CHECK(tensor.tensor.data != NULL, ONS_DEFECT, "'%s' has no place in the arena", name);
        ONS_TRY(check_finite(t, each->name, &tensor));
        ONS_PUSH(list, tensor);
    }
    for (size_t i = 0; i < ons_trainer_best_count(t); ++i) {
        const ons_named_tensor best = ons_trainer_best_tensor(t, i);
        ONS_TRY(check_finite(t, best.name, &best));
        ONS_PUSH(list, best);
    }
    return NULL;
}

/* The ranks' shards, in parallel; at every meeting all learn of each other's failures. */
static ons_status *write_shards(ons_trainer *t, const ons_checkpoint_info *info,
                                const ons_safetensors_content *content) {
    const char *folder = t->config->checkpoint;
    const ons_transport *transport = ons_trainer_world(t);
    ons_shard_place place = {.step = info->step, .index = transport->rank, .count = transport->ranks};
    uint32_t *copies;
    ons_shard *shards, mine;
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    copies = ons_arena_allocate(arena, transport->ranks, sizeof *copies);
    shards = ons_arena_allocate(arena, transport->ranks, sizeof *shards);
    ons_status *status = copies == NULL || shards == NULL ? ons_status_out_of_memory() : NULL;
    if (status == NULL && transport->rank == 0) status = ons_checkpoint_prepare(folder, info->step, &place.copy);
    status = ons_trainer_meet(t, status, &place.copy, copies, sizeof place.copy);
    if (status == NULL) {
        place.copy = copies[0];
        status = ons_checkpoint_write_shard(folder, &place, content, &mine);
        bool written = status == NULL;
        status = ons_trainer_meet(t, status, &mine, shards, sizeof mine);
        if (status != NULL && written) ons_checkpoint_remove_shard(folder, &mine);
        if (status == NULL && transport->rank == 0)
            status = ons_checkpoint_complete(folder, info, shards, transport->ranks, CHECKPOINTS_KEPT);
        status = status != NULL && transport->rank != 0
                     ? status
                     : ons_trainer_meet(t, status, &place.copy, copies, sizeof place.copy);
    }
    ons_arena_free(arena);
    return status;
}

typedef bool option_filter(const ons_option *option);

/* Whether a run with another value has other numbers; what only says how long or where it runs may change. */
static bool decides_numbers(const ons_option *option) {
    static const char *const groups[] = {"Model", "Loss", "Optimiser"};
    static const char *const others[] = {"seed",   "shuffle",  "precision", "rows",     "seq",      "normalize",
                                         "stages", "pipeline", "replicas",  "val-rows", "val-split"};
    static const char *const free_ones[] = {"lr", "lr-schedule", "warmup", "strict", "metric"};
    bool decides = false;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; ++i) decides |= strcmp(option->group, groups[i]) == 0;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) decides |= strcmp(option->name, others[i]) == 0;
    for (size_t i = 0; i < sizeof free_ones / sizeof free_ones[0]; ++i)
        decides &= strcmp(option->name, free_ones[i]) != 0;
    return decides;
}

/* {"options": {"batch": "32", …}}, so that a resume that does not fit can say why. */
static ons_status *list_options(const ons_trainer *t, ons_json *more) {
    const ons_option *options = ons_options();
    ons_json *kept;
    ONS_TRY(ons_json_new_object(&kept));
    ONS_TRY(ons_json_set(more, "options", kept)); /* which then holds it, also while it is filled */
    for (size_t i = 0; options[i].name != NULL; ++i)
        if (decides_numbers(&options[i]))
            ONS_TRY(ons_json_set_text(kept, options[i].name, ons_config_text(t->config, i)));
    return NULL;
}

static void print_digest(uint64_t digest, char text[32]) { snprintf(text, 32, "%016" PRIx64, digest); }

/* {"grouping": {"replicas": …, "micro_batches": …, "copies": …, "digest": …}}: over what the step's sums were taken,
 * and all else. `copies`, of each stage, are left out where no stage has any.
 */
static ons_status *write_grouping(const ons_trainer *t, ons_json *more) {
    char digest[32];
    ons_json *grouping;
    print_digest(t->ungrouped_digest, digest);
    ONS_TRY(ons_json_new_object(&grouping));
    ONS_TRY(ons_json_set(more, "grouping", grouping)); /* which then holds it, also while it is filled */
    ONS_TRY(ons_json_set_double(grouping, "replicas", (double)t->batching.replicas));
    ONS_TRY(ons_json_set_double(grouping, "micro_batches", (double)t->batching.micro_batches));
    if (t->copies != NULL) ONS_TRY(ons_json_set_text(grouping, "copies", t->copies));
    return ons_json_set_text(grouping, "digest", digest);
}

static ons_status *write_with(ons_trainer *t, const named_tensors *list, const ons_json *more) {
    char digest[32];
    print_digest(t->digest, digest);
    ons_checkpoint_info info = {
        .step = (uint64_t)t->step,
        .epoch = (uint64_t)(t->step / t->steps_per_epoch),
        .position = (uint64_t)(t->step % t->steps_per_epoch * t->batching.batch),
        .seed = (uint64_t)t->config->seed,
        .threads = (uint32_t)t->threads,
        .optimizer = t->config->optimizer.text,
        .options_digest = digest,
        .versions = t->libraries,
        .more = more,
    };
    ons_safetensors_content content = {.tensors = list->items, .count = list->count};
    ons_trainer_sync_log(t); /* one that is behind its checkpoint would have a gap after a resume */
    return t->remote ? write_shards(t, &info, &content)
                     : ons_checkpoint_write(t->config->checkpoint, &info, &content, CHECKPOINTS_KEPT);
}

static ons_status *write_checkpoint(ons_trainer *t, const named_tensors *list) {
    ons_json *more;
    ONS_TRY(ons_json_new_object(&more));
    ons_status *status = list_options(t, more);
    if (status == NULL) status = write_grouping(t, more);
    if (status == NULL) status = ons_trainer_write_version(more);
    if (status == NULL) status = ons_trainer_write_best(t, more);
    if (status == NULL) status = write_with(t, list, more);
    ons_json_free(more);
    return status;
}

ons_status *ons_trainer_checkpoint(ons_trainer *t) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(t, "trainer");
    ONS_TRAINER_IS_HERE(t);
    ONS_CHECK(t->config->checkpoint != NULL, ONS_INVALID_ARGUMENT, "no folder for checkpoints; give --checkpoint DIR");
    ONS_TRY(ons_local_stages_settle_versions(t->local_stages));
    kept_values values = {0};
    ons_host_copy *copies = NULL;
    named_tensors list = {0};
    ons_arena *names = ons_arena_new();
    ons_status *status = names == NULL ? ons_status_out_of_memory() : list_values(t, names, &values);
    size_t copy_count = values.count * ons_local_stages_count(t->local_stages);
    if (status == NULL && (copies = calloc(copy_count + 1, sizeof *copies)) == NULL)
        status = ons_status_out_of_memory();
    if (status == NULL) status = list_tensors(t, &values, names, copies, &list);
    if (status == NULL) status = write_checkpoint(t, &list);
    for (size_t i = 0; copies != NULL && i < copy_count; ++i) ons_host_copy_free(&copies[i]);
    free(copies);
    ons_vector_free(&list);
    ons_vector_free(&values);
    ons_arena_free(names);
    return ons_trainer_share_failure(t, status);
}

/* ---------------------------------------------------------------------------------------------------------- reading */

/* "--batch 16 instead of 32, --seed 1 instead of 0": the options that are others now; "" where none is. */
static ons_status *list_differences(const ons_trainer *t, const ons_checkpoint *c, option_filter *filter,
                                    const char **text) {
    const ons_option *options = ons_options();
    const ons_json *kept = c->info.more == NULL ? NULL : ons_json_find(c->info.more, "options");
    *text = "";
    for (size_t i = 0; options[i].name != NULL; ++i) {
        const ons_json *there = filter(&options[i]) ? ons_json_find(kept, options[i].name) : NULL;
        const char *here = ons_config_text(t->config, i), *before = cJSON_GetStringValue(there);
        if (before == NULL || strcmp(before, here) == 0) continue;
        *text =
            ons_arena_format(t->arena, "%s%s--%s %s instead of %s", *text, **text == '\0' ? "" : ", ", options[i].name,
                             here[0] == '\0' ? "left out" : here, before[0] == '\0' ? "left out" : before);
        if (*text == NULL) return ons_status_out_of_memory();
    }
    return NULL;
}

/* What a step's sums are taken over; the same samples are in it all the same, for what is left out of them is in the
 * digest of both. */
static bool decides_more_than_grouping(const ons_option *option) {
    static const char *const grouping[] = {"replicas", "micro-batches", "stages", "pipeline", "val-rows", "val-split"};
    bool decides = decides_numbers(option);
    for (size_t i = 0; i < sizeof grouping / sizeof *grouping; ++i) decides &= strcmp(option->name, grouping[i]) != 0;
    return decides;
}

/* "1 replica of 6 micro-batches in stages of 3, 1, 2 copies" */
static const char *print_grouping(const ons_trainer *t, int64_t replicas, int64_t micro_batches, const char *copies) {
    const char *text = ons_arena_format(t->arena, "%" PRId64 " replica%s of %" PRId64 " micro-batch%s", replicas,
                                        replicas == 1 ? "" : "s", micro_batches, micro_batches == 1 ? "" : "es");
    return copies[0] == '\0' || text == NULL ? text
                                             : ons_arena_format(t->arena, "%s in stages of %s copies", text, copies);
}

/* Whether the checkpoint is of this run, but for other numbers of replicas or copies: from here on sums are grouped by
 * these. That is said once. *differences: what else differs. */
static ons_status *find_regrouped(ons_trainer *t, const ons_checkpoint *c, const char **differences, bool *regrouped) {
    const ons_json *grouping = c->info.more == NULL ? NULL : ons_json_find(c->info.more, "grouping");
    int64_t replicas, micro_batches;
    const char *there, *copies_there = "", *copies = t->copies == NULL ? "" : t->copies;
    char here[32];
    *regrouped = false;
    ONS_TRY(list_differences(t, c, decides_numbers, differences));
    if (grouping == NULL) return NULL; /* of an earlier version */
    ONS_TRY(ons_json_get_int(grouping, "replicas", &replicas));
    ONS_TRY(ons_json_get_int(grouping, "micro_batches", &micro_batches));
    ONS_TRY(ons_json_get_text(grouping, "digest", &there));
    if (ons_json_find(grouping, "copies") != NULL) ONS_TRY(ons_json_get_text(grouping, "copies", &copies_there));
    bool copied = copies[0] != '\0' || copies_there[0] != '\0'; /* even as many may be of other stages */
    if (replicas == t->batching.replicas && !copied) return NULL;
    ONS_TRY(list_differences(t, c, decides_more_than_grouping, differences));
    print_digest(t->ungrouped_digest, here);
    *regrouped = (*differences)[0] == '\0' && strcmp(here, there) == 0;
    if (!*regrouped) return NULL;
    const char *before = print_grouping(t, replicas, micro_batches, copies_there);
    const char *now =
        ons_arena_format(t->arena, "%" PRId64 " of %" PRId64, t->batching.replicas, t->batching.micro_batches);
    if (copied) now = print_grouping(t, t->batching.replicas, t->batching.micro_batches, copies);
    if (before == NULL || now == NULL) return ons_status_out_of_memory();
    t->regrouped = ons_arena_format(t->arena,
                                    "--resume: the checkpoint was computed by %s; from here on the numbers have the "
                                    "roundings of %s",
                                    before, now);
    return t->regrouped == NULL ? ons_status_out_of_memory() : NULL;
}

/* Up to version 0.2.0 the samples of --val-rows were trained on, and a checkpoint did not keep the option. */
static ons_status *check_validation_rows(const ons_trainer *t, const ons_checkpoint *c) {
    const ons_json *kept = c->info.more == NULL ? NULL : ons_json_find(c->info.more, "options");
    bool leaves_out = ons_validates_on_training_arrays(t->config) && t->config->rows == NULL;
    ONS_CHECK(!leaves_out || ons_json_find(kept, "val-rows") != NULL, ONS_INVALID_ARGUMENT,
              "--resume: the checkpoint in %s was written by version 0.2.0 or older, which trained on the samples of "
              "--val-rows as well; give --rows :, which goes on so, or start a new run in another folder",
              t->config->checkpoint);
    return NULL;
}

static ons_status *check_fits(ons_trainer *t, const ons_checkpoint *c) {
    char digest[32];
    const char *differences = "";
    print_digest(t->digest, digest);
    bool fits = strcmp(c->info.options_digest, digest) == 0;
    if (!fits) ONS_TRY(check_validation_rows(t, c));
    if (!fits) ONS_TRY(find_regrouped(t, c, &differences, &fits));
    if (!fits && differences[0] == '\0') ONS_TRY(ons_trainer_check_version(t, c));
    ONS_CHECK(
        fits, ONS_INVALID_ARGUMENT,
        "--resume: the checkpoint in %s was written with %s%s; resume with the same options, or start a new run in "
        "another folder",
        t->config->checkpoint, differences[0] != '\0' ? "other options: now " : "another model or other data",
        differences);
    ONS_CHECK(
        c->info.threads == (uint32_t)t->threads, ONS_INVALID_ARGUMENT,
        "--resume: the checkpoint in %s was written with --threads %u, now there are %d; the result would not be the "
        "same to the bit. Give --threads %u",
        t->config->checkpoint, c->info.threads, t->threads, c->info.threads);
    return NULL;
}

/* "3, 1, 2" */
static ons_status *list_copies(const ons_json *grouping, ons_state_owners *owners) {
    const char *text = "";
    if (grouping != NULL && ons_json_find(grouping, "copies") != NULL)
        ONS_TRY(ons_json_get_text(grouping, "copies", &text));
    while (*text != '\0' && owners->count < ONS_OWNERS_MOST) {
        char *end;
        unsigned long copies = strtoul(text, &end, 10);
        ONS_CHECK(
            end != text && copies > 0 && copies <= UINT32_MAX, ONS_INVALID_DATA,
            "the checkpoint says that its stages have '%s' copies; resume from another one, or start a new run in "
            "another folder",
            text);
        bool known = false;
        for (uint32_t i = 0; i < owners->count; ++i) known = known || owners->counts[i] == copies;
        if (!known) owners->counts[owners->count++] = (uint32_t)copies;
        text = end + strspn(end, ", ");
    }
    return NULL;
}

/* As many as its states have slices, where they are not whole. */
static ons_status *find_owners(const ons_checkpoint *c, ons_state_owners *owners) {
    const ons_json *grouping = c->info.more == NULL ? NULL : ons_json_find(c->info.more, "grouping");
    int64_t replicas = 1;
    if (grouping != NULL) ONS_TRY(ons_json_get_int(grouping, "replicas", &replicas));
    ONS_CHECK(replicas > 0 && replicas <= UINT32_MAX, ONS_INVALID_DATA,
              "the checkpoint says that %" PRId64 " replicas wrote it; resume from another one, or start a new run in "
              "another folder",
              replicas);
    *owners = (ons_state_owners){.counts = {(uint32_t)replicas}, .count = 1};
    return list_copies(grouping, owners);
}

/* Contents that do not lie in ONNX's order are put together beside their place. */
static ons_status *load_reordered(const ons_checkpoint *c, const ons_state_owners *owners, const ons_state_place *place,
                                  const char *name, ons_device_context *device_context) {
    void *contents = malloc((size_t)ons_type_dense_bytes(&place->type) + 1);
    if (contents == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_state_slice_load(c, owners, place, device_context, contents);
    if (status == NULL) status = ons_device_context_write_value(device_context, name, contents);
    free(contents);
    return status;
}

/* To every stage in this process that holds it. */
static ons_status *load_value(ons_trainer *t, const ons_checkpoint *c, const ons_state_owners *owners,
                              const kept_value *kept) {
    for (uint32_t i = 0; i < ons_local_stages_count(t->local_stages); ++i) {
        const ons_local_stage *stage = ons_local_stages_get(t->local_stages, i);
        ons_type type;
        const char *name = value_of(t, kept)->name;
        void *address = ons_device_context_find(stage->device_context, name, &type);
        const ons_state_place place = place_of(t, kept, stage);
        if (address == NULL) continue;
        ons_status *status = type.layout == ONS_LAYOUT_ONNX
                                 ? ons_state_slice_load(c, owners, &place, stage->device_context, address)
                                 : load_reordered(c, owners, &place, name, stage->device_context);
        if (status == NULL) status = ons_device_context_changed(stage->device_context, name);
        ONS_TRY(ons_status_at(status, "--resume: %s", t->config->checkpoint));
    }
    return NULL;
}

static ons_status *restore(ons_trainer *t, const ons_checkpoint *c) {
    ONS_TRY(ons_trainer_check_masters(t, c));
    ONS_TRY(check_fits(t, c));
    ons_state_owners owners;
    ONS_TRY(ons_status_at(find_owners(c, &owners), "--resume: %s", t->config->checkpoint));
    kept_values values = {0};
    ons_arena *names = ons_arena_new();
    ons_status *status = names == NULL ? ons_status_out_of_memory() : list_values(t, names, &values);
    for (size_t i = 0; status == NULL && i < values.count; ++i) status = load_value(t, c, &owners, &values.items[i]);
    ons_vector_free(&values);
    ons_arena_free(names);
    t->step = (int64_t)c->info.step;
    return status != NULL ? status : ons_trainer_restore_best(t, c);
}

/* Ranks that see different folders would go on from different steps. */
static ons_status *check_alike(ons_trainer *t, ons_status *status) {
    if (!t->remote) return status;
    const ons_transport *transport = ons_trainer_world(t);
    int64_t *steps = calloc(transport->ranks, sizeof *steps);
    if (steps == NULL && status == NULL) status = ons_status_out_of_memory();
    status = ons_trainer_meet(t, status, &t->step, steps, sizeof *steps);
    for (uint32_t i = 1; status == NULL && i < transport->ranks; ++i)
        if (steps[i] != steps[0])
            status = ons_status_new(ONS_INVALID_ARGUMENT,
                                    "--checkpoint %s: rank 0 finds the checkpoint of step %" PRId64
                                    " there, rank %u that of step %" PRId64
                                    "; all ranks need the same folder, on a shared file system",
                                    t->config->checkpoint, steps[0], i, steps[i]);
    free(steps);
    return status;
}

/* The user is told that the run goes on from further back than it might. */
static ons_status *note_passed_over(ons_trainer *t, const ons_checkpoint *c) {
    if (c->skipped == 0) return NULL;
    t->passed_over = ons_arena_format(
        t->arena,
        "--resume: passed over %u checkpoint%s that cannot be used, and took that of step %" PRIu64 "; %s: %s",
        c->skipped, c->skipped == 1 ? "" : "s", c->info.step, c->skipped == 1 ? "the reason" : "the newest",
        ons_status_get_message(c->skipped_reason));
    return t->passed_over == NULL ? ons_status_out_of_memory() : NULL;
}

/* A run that goes on with other kernels has other roundings from there: said once. */
static ons_status *note_other_bits(ons_trainer *t, const ons_checkpoint *c) {
    if (c->info.versions == NULL || strcmp(c->info.versions, t->libraries) == 0) return NULL;
    t->other_bits = ons_arena_format(t->arena,
                                     "--resume: the checkpoint was computed by other kernels; from here on the numbers "
                                     "have this machine's roundings (there: %s; here: %s)",
                                     c->info.versions[0] == '\0' ? "not stated" : c->info.versions, t->libraries);
    return t->other_bits == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *resume(ons_trainer *t, bool *resumed) {
    if (ons_trainer_leads(t)) ONS_TRY(ons_checkpoint_lock_take(t->config->checkpoint, &t->lock));
    if (!t->config->resume) {
        ONS_CHECK(
            !ons_checkpoint_exists(t->config->checkpoint), ONS_INVALID_ARGUMENT,
            "--checkpoint: %s holds the checkpoints of another run; give --resume to go on with it, or another folder",
            t->config->checkpoint);
        return NULL;
    }
    ons_checkpoint checkpoint = {0};
    ons_status *status = ons_checkpoint_open_newest(t->config->checkpoint, &checkpoint, resumed);
    if (status == NULL && *resumed) status = note_passed_over(t, &checkpoint);
    if (status == NULL && *resumed) status = note_other_bits(t, &checkpoint);
    if (status == NULL && *resumed) status = restore(t, &checkpoint);
    ons_checkpoint_close(&checkpoint);
    return status;
}

ons_status *ons_trainer_resume(ons_trainer *t, bool *resumed) {
    *resumed = false;
    return t->config->checkpoint == NULL ? NULL : check_alike(t, resume(t, resumed));
}
