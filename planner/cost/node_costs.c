#include "planner/cost/node_costs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "graph/phase.h"
#include "planner/cost/instructions.h"
#include "planner/cost/node_amount.h"

enum { VERSION = 1 };

/* ---------------------------------------------------------------------------------------------------------- reading */

static ons_status *read_amount(const ons_json *json, const char *name, double *value) {
    ONS_TRY(ons_json_get_double(json, name, value));
    ONS_CHECK(*value >= 0 && *value < 1e24, ONS_INVALID_DATA, "'%s' is %g, which is no cost", name, *value);
    return NULL;
}

/* A number of bytes or of things. Sums of as many as fit into a file stay within 64 bits. */
static ons_status *read_count(const ons_json *json, const char *name, int64_t *value) {
    ONS_TRY(ons_json_get_int(json, name, value));
    ONS_CHECK(*value >= 0, ONS_INVALID_DATA, "'%s' is negative", name);
    return NULL;
}

static ons_status *read_phase(const ons_json *json, ons_phase *phase) {
    const char *text;
    ONS_TRY(ons_json_get_text(json, "phase", &text));
    for (int i = 0; i < ONS_PHASE_COUNT; ++i)
        if (strcmp(text, ons_phase_name((ons_phase)i)) == 0) {
            *phase = (ons_phase)i;
            return NULL;
        }
    return ons_status_new(ONS_INVALID_DATA, "'phase': '%s' is none", text);
}

static ons_status *read_node(const ons_json *json, ons_arena *arena, ons_node_cost *node) {
    ONS_TRY(ons_json_copy_text(json, "key", arena, &node->key));
    ONS_TRY(ons_json_copy_text(json, "name", arena, &node->name));
    ONS_TRY(ons_json_copy_text(json, "operator", arena, &node->operator_name));
    ONS_TRY(ons_json_copy_text(json, "implementation", arena, &node->implementation));
    if (ons_json_find(json, "attributes") != NULL)
        ONS_TRY(ons_json_copy_text(json, "attributes", arena, &node->attributes));
    ONS_TRY(read_phase(json, &node->phase));
    ONS_TRY(read_amount(json, "seconds", &node->seconds));
    ONS_TRY(read_amount(json, "flops", &node->flops));
    ONS_TRY(read_amount(json, "bytes", &node->bytes));
    ONS_TRY(read_count(json, "scratch_bytes", &node->scratch_bytes));
    ONS_TRY(read_count(json, "saved_bytes", &node->saved_bytes));
    return ons_json_get_bool(json, "matrix", &node->matrix);
}

static ons_status *read_nodes(const ons_json *json, ons_arena *arena, ons_node_costs *costs) {
    const ons_json *array;
    ONS_TRY(ons_json_get_array(json, "nodes", &array));
    uint32_t count = 0;
    for (const ons_json *each = array->child; each != NULL; each = each->next) ++count;
    ONS_NEW(costs->nodes, arena, count + 1);
    for (const ons_json *each = array->child; each != NULL; each = each->next) {
        ONS_TRY_AT(read_node(each, arena, &costs->nodes[costs->count]), "'nodes', number %u", costs->count);
        ++costs->count;
    }
    return NULL;
}

/* Profiles of earlier versions do not say what is beside the nodes. */
static ons_status *read_later_amount(const ons_json *run, const char *name, double *value) {
    return ons_json_find(run, name) == NULL ? NULL : read_amount(run, name, value);
}

static ons_status *read_run(const ons_json *json, ons_arena *arena, ons_node_costs *costs) {
    const ons_json *run;
    ONS_TRY(ons_json_get_object(json, "run", &run));
    ONS_TRY(ons_json_copy_text(run, "model", arena, &costs->model));
    costs->libraries = "";
    if (ons_json_find(run, "libraries") != NULL)
        ONS_TRY(ons_json_copy_text(run, "libraries", arena, &costs->libraries));
    ONS_TRY(read_count(run, "samples", &costs->samples));
    ONS_TRY(read_count(run, "threads", &costs->threads));
    ONS_TRY(read_count(run, "repetitions", &costs->repetitions));
    ONS_TRY(read_amount(run, "step_seconds", &costs->step_seconds));
    ONS_TRY(read_later_amount(run, "launch_seconds", &costs->launch_seconds));
    ONS_TRY(read_later_amount(run, "feed_seconds", &costs->feed_seconds));
    ONS_TRY(read_later_amount(run, "handover_seconds", &costs->handover_seconds));
    ONS_TRY(read_count(run, "parameter_bytes", &costs->parameter_bytes));
    ONS_TRY(read_count(run, "state_bytes", &costs->state_bytes));
    ONS_TRY(read_count(run, "transient_bytes", &costs->transient_bytes));
    return read_count(run, "arena_bytes", &costs->arena_bytes);
}

static ons_status *read_costs(const ons_json *json, ons_arena *arena, ons_node_costs *costs) {
    int64_t version;
    ONS_TRY(ons_json_get_int(json, "onstage_profile", &version));
    ONS_CHECK(version == VERSION, ONS_INVALID_DATA, "'onstage_profile' is %lld; this program knows version %d",
              (long long)version, VERSION);
    ONS_TRY_AT(read_run(json, arena, costs), "'run'");
    ONS_TRY(read_nodes(json, arena, costs));
    return ons_node_costs_index(costs, arena);
}

ons_status *ons_node_costs_parse(const void *bytes, size_t size, ons_arena *arena, ons_node_costs *costs) {
    *costs = (ons_node_costs){0};
    ons_json *json;
    ONS_TRY(ons_json_parse_names(bytes, size, &json));
    ons_status *status = read_costs(json, arena, costs);
    ons_json_free(json);
    ONS_TRY(status);
    return ons_device_profile_parse(bytes, size, arena, &costs->device);
}

ons_status *ons_node_costs_load(const char *path, ons_arena *arena, ons_node_costs *costs) {
    ons_mapping file;
    ONS_TRY(ons_mapping_open(path, &file));
    ons_status *status = ons_node_costs_parse(file.bytes, file.size, arena, costs);
    ons_mapping_close(&file);
    return ons_status_at(status, "%s", path);
}

/* ---------------------------------------------------------------------------------------------------------- writing */

static ons_status *fill_run(ons_json *run, const ons_node_costs *c) {
    ONS_TRY(ons_json_set_text(run, "model", c->model));
    ONS_TRY(ons_json_set_text(run, "libraries", c->libraries == NULL ? "" : c->libraries));
    ONS_TRY(ons_json_set_uint64(run, "samples", (uint64_t)c->samples));
    ONS_TRY(ons_json_set_uint64(run, "threads", (uint64_t)c->threads));
    ONS_TRY(ons_json_set_uint64(run, "repetitions", (uint64_t)c->repetitions));
    ONS_TRY(ons_json_set_double(run, "step_seconds", c->step_seconds));
    ONS_TRY(ons_json_set_double(run, "launch_seconds", c->launch_seconds));
    ONS_TRY(ons_json_set_double(run, "feed_seconds", c->feed_seconds));
    ONS_TRY(ons_json_set_double(run, "handover_seconds", c->handover_seconds));
    ONS_TRY(ons_json_set_uint64(run, "parameter_bytes", (uint64_t)c->parameter_bytes));
    ONS_TRY(ons_json_set_uint64(run, "state_bytes", (uint64_t)c->state_bytes));
    ONS_TRY(ons_json_set_uint64(run, "transient_bytes", (uint64_t)c->transient_bytes));
    return ons_json_set_uint64(run, "arena_bytes", (uint64_t)c->arena_bytes);
}

static ons_status *fill_node(ons_json *json, const ons_node_cost *n) {
    ONS_TRY(ons_json_set_text(json, "key", n->key));
    ONS_TRY(ons_json_set_text(json, "name", n->name));
    ONS_TRY(ons_json_set_text(json, "operator", n->operator_name));
    ONS_TRY(ons_json_set_text(json, "implementation", n->implementation));
    if (n->attributes != NULL) ONS_TRY(ons_json_set_text(json, "attributes", n->attributes));
    ONS_TRY(ons_json_set_text(json, "phase", ons_phase_name(n->phase)));
    ONS_TRY(ons_json_set_double(json, "seconds", n->seconds));
    ONS_TRY(ons_json_set_double(json, "flops", n->flops));
    ONS_TRY(ons_json_set_double(json, "bytes", n->bytes));
    ONS_TRY(ons_json_set_uint64(json, "scratch_bytes", (uint64_t)n->scratch_bytes));
    ONS_TRY(ons_json_set_uint64(json, "saved_bytes", (uint64_t)n->saved_bytes));
    return ons_json_set_bool(json, "matrix", n->matrix);
}

static ons_status *fill_nodes(ons_json *array, const ons_node_costs *c) {
    for (uint32_t i = 0; i < c->count; ++i) {
        ons_json *json;
        ONS_TRY(ons_json_new_object(&json));
        if (!cJSON_AddItemToArray(array, json)) {
            ons_json_free(json);
            return ons_status_out_of_memory();
        }
        ONS_TRY(fill_node(json, &c->nodes[i]));
    }
    return NULL;
}

static ons_status *fill(ons_json *json, const ons_node_costs *c) {
    ons_json *part;
    ONS_TRY(ons_json_set_uint64(json, "onstage_profile", VERSION));
    ONS_TRY(ons_device_profile_to_json(&c->device, &part));
    ONS_TRY(ons_json_set(json, "device", part));
    ONS_TRY(ons_json_new_object(&part));
    ONS_TRY(ons_json_set(json, "run", part)); /* which then holds it, also while it is filled */
    ONS_TRY(fill_run(part, c));
    part = cJSON_CreateArray();
    ONS_TRY(ons_json_set(json, "nodes", part));
    return fill_nodes(part, c);
}

ons_status *ons_node_costs_print(const ons_node_costs *costs, char **text) {
    ons_json *json;
    ONS_TRY(ons_json_new_object(&json));
    ons_status *status = fill(json, costs);
    if (status == NULL) status = ons_json_print(json, text);
    ons_json_free(json);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- looking up */

static int by_key(const void *left, const void *right, void *context) {
    const ons_node_cost *nodes = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = strcmp(nodes[a].key, nodes[b].key);
    return order != 0 ? order : (a > b) - (a < b);
}

ons_status *ons_node_costs_index(ons_node_costs *costs, ons_arena *arena) {
    ONS_NEW(costs->by_key, arena, costs->count + 1);
    for (uint32_t i = 0; i < costs->count; ++i) costs->by_key[i] = i;
    qsort_r(costs->by_key, costs->count, sizeof *costs->by_key, by_key, costs->nodes);
    return NULL;
}

/* The positions [first, end) of by_key that have this key. */
static uint32_t find_key(const ons_node_costs *c, const char *key, uint32_t *end) {
    uint32_t low = 0, high = c->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(c->nodes[c->by_key[middle]].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *end = low;
    while (*end < c->count && strcmp(c->nodes[c->by_key[*end]].key, key) == 0) ++*end;
    return low;
}

/* The node itself, or the mean of all that are like it. False where there is none. */
static bool look_up(const ons_node_costs *c, const char *key, const char *name, double *seconds, int64_t *scratch) {
    uint32_t end, first = find_key(c, key, &end);
    *seconds = 0;
    *scratch = 0;
    for (uint32_t i = first; i < end; ++i) {
        const ons_node_cost *each = &c->nodes[c->by_key[i]];
        if (each->scratch_bytes > *scratch) *scratch = each->scratch_bytes;
        *seconds += each->seconds / (end - first);
    }
    for (uint32_t i = first; i < end; ++i)
        if (strcmp(c->nodes[c->by_key[i]].name, name) == 0) *seconds = c->nodes[c->by_key[i]].seconds;
    return end > first;
}

ons_status *ons_node_costs_samples(const ons_node_costs *c, ons_arena *arena, ons_fit_sample **samples,
                                   uint32_t *count) {
    *count = 0;
    ONS_NEW(*samples, arena, c->count + 1);
    for (uint32_t i = 0; i < c->count;) {
        const ons_node_cost *node = &c->nodes[c->by_key[i]];
        double seconds;
        int64_t scratch;
        look_up(c, node->key, "", &seconds, &scratch);
        uint32_t hash = 2166136261u;
        for (const char *text = node->key; *text != '\0'; ++text) hash = (hash ^ (unsigned char)*text) * 16777619u;
        if (seconds > 0)
            (*samples)[(*count)++] =
                (ons_fit_sample){node->flops, node->bytes, seconds, node->matrix, (hash >> 16 & 1) != 0};
        find_key(c, node->key, &i);
    }
    return NULL;
}

ons_status *ons_node_costs_apply(const ons_node_costs *costs, const ons_graph *graph, int64_t samples, ons_arena *arena,
                                 ons_graph_cost *cost, ons_node_costs_use *use) {
    ons_node_costs_use counted = {.libraries = costs->libraries};
    ONS_TRY(ons_graph_cost_analytic(graph, &costs->device, arena, cost));
    cost->feed_seconds = costs->samples > 0 ? costs->feed_seconds * (double)samples / (double)costs->samples : 0;
    cost->handover_seconds = costs->handover_seconds;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        ons_node_amount amount;
        const char *key;
        double seconds;
        int64_t scratch;
        ONS_TRY(ons_node_amount_find(graph, id, arena, &amount));
        if (amount.view) continue;
        ONS_TRY(ons_node_key(graph, id, arena, &key));
        if (look_up(costs, key, ons_graph_node(graph, id)->name, &seconds, &scratch)) {
            cost->seconds[id] = seconds + costs->launch_seconds;
            cost->scratch_bytes[id] = scratch;
            ++counted.measured;
        } else {
            ++counted.analytic;
        }
    }
    if (use != NULL) *use = counted;
    return NULL;
}

/* By what factor the analytic model has a node's time change between two devices. */
static double modelled_factor(const ons_device_profile *from, const ons_device_profile *to, const ons_node_amount *a) {
    double here = ons_device_profile_work_seconds(from, a->flops, a->bytes, a->matrix);
    double there = ons_device_profile_work_seconds(to, a->flops, a->bytes, a->matrix);
    return here > 0 ? there / here : 1;
}

/* What times are carried between. */
typedef struct carrying {
    ons_device_profile here, there;
    bool surveyed; /* they have other instructions, and both are known */
    ons_instruction_change change;
    ons_device_profile surveyed_from, surveyed_to;
} carrying;

static void set_rates(ons_device_profile *p, double matrix, double vector, double memory) {
    p->matrix_flops = matrix;
    p->vector_flops = vector;
    p->memory_bandwidth = memory;
}

/* Of other instructions the survey says how near kernels come to the rates: the curves are then those of `here` for
 * all, or what was fitted to both devices would count twice. */
static carrying carry_between(const ons_device_profile *here, const ons_device_profile *there) {
    carrying c = {.here = *here, .there = *there};
    double gain = there->matrix_flops / here->matrix_flops;
    c.surveyed = ons_instruction_change_find(here->instructions, there->instructions, gain, &c.change) &&
                 c.change.from != c.change.to;
    if (!c.surveyed) return c;
    const ons_instruction_set *from = c.change.from, *to = c.change.to;
    c.there = c.surveyed_from = c.surveyed_to = *here;
    set_rates(&c.there, there->matrix_flops, there->vector_flops, there->memory_bandwidth);
    set_rates(&c.surveyed_from, from->matrix_flops, from->matrix_flops, from->memory_bandwidth);
    set_rates(&c.surveyed_to, to->matrix_flops, to->matrix_flops, to->memory_bandwidth);
    return c;
}

/* The survey's factor, and the model's where the rates are others than those of the machine that was surveyed. */
static double factor_of(const carrying *c, const char *operator_name, const ons_node_amount *amount) {
    double factor = modelled_factor(&c->here, &c->there, amount);
    if (!c->surveyed) return factor;
    return factor * ons_instruction_change_factor(&c->change, operator_name, amount) /
           modelled_factor(&c->surveyed_from, &c->surveyed_to, amount);
}

ons_status *ons_node_costs_carry(const ons_node_costs *costs, const ons_graph *graph, const ons_device_profile *device,
                                 ons_arena *arena, ons_graph_cost *cost) {
    carrying c = carry_between(&costs->device, device);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        ons_node_amount amount;
        ONS_TRY(ons_node_amount_find(graph, id, arena, &amount));
        if (amount.view) continue;
        double launch = fmin(costs->launch_seconds, cost->seconds[id]);
        double factor = factor_of(&c, ons_graph_node(graph, id)->op->name, &amount);
        cost->seconds[id] = launch + (cost->seconds[id] - launch) * factor;
    }
    return NULL;
}
