#include "planner/cost/device_profile.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { VERSION = 1 };

#define LARGEST 1e24 /* of any number in a profile: sums and products of them stay finite */

/* Profiles that are part of the program: see the rule in planner/cost/BUILD. */
#define PROFILE(NAME, TEXT) {NAME, TEXT},
static const struct shipped {
    const char *name, *text;
} shipped[] = {
#include "planner/cost/profiles.inc"
};
#undef PROFILE

#define PROFILE(NAME, TEXT) NAME,
static const char *const names[] = {
#include "planner/cost/profiles.inc"
    NULL};
#undef PROFILE

const char *const *ons_device_profile_names(void) { return names; }

static const char *const precision_names[ONS_PRECISION_COUNT] = {"fp32", "tf32", "fp16", "bf16"};

const char *ons_precision_name(ons_precision precision) {
    return precision >= 0 && precision < ONS_PRECISION_COUNT ? precision_names[precision] : NULL;
}

/* ---------------------------------------------------------------------------------------------------------- reading */

/* A number of at least `least`; 0 is too little where `least` is 0 and `positive`. */
typedef struct range {
    double least, most;
    bool positive;
} range;
static const range positive_number = {0, LARGEST, true};
static const range any_number = {0, LARGEST, false};
static const range some_share = {0, 10, true};

static ons_status *check_known(const ons_json *object, const char *const *known) {
    for (const ons_json *each = object->child; each != NULL; each = each->next) {
        size_t i = 0;
        while (known[i] != NULL && strcmp(known[i], each->string) != 0) ++i;
        ONS_CHECK(known[i] != NULL, ONS_INVALID_DATA, "'%s' is no field of a device profile", each->string);
    }
    return NULL;
}

static ons_status *read_number(const ons_json *object, const char *name, range allowed, double *value) {
    ONS_TRY(ons_json_get_double(object, name, value));
    ONS_CHECK(*value >= allowed.least && *value <= allowed.most && !(allowed.positive && *value <= 0), ONS_INVALID_DATA,
              "'%s' is %g, not %s %g and at most %g", name, *value, allowed.positive ? "above" : "at least",
              allowed.least, allowed.most);
    return NULL;
}

static ons_status *read_precisions(const ons_json *object, ons_device_profile *p) {
    for (int i = 0; i < ONS_PRECISION_COUNT; ++i)
        if (ons_json_find(object, precision_names[i]) != NULL)
            ONS_TRY(read_number(object, precision_names[i], positive_number, &p->matrix_flops_of[i]));
    const char *const known[] = {"fp32", "tf32", "fp16", "bf16", NULL};
    return check_known(object, known);
}

static ons_status *read_precision(const ons_json *json, ons_device_profile *p) {
    if (ons_json_find(json, "precision") == NULL) return NULL;
    const char *text;
    ONS_TRY(ons_json_get_text(json, "precision", &text));
    for (int i = 0; i < ONS_PRECISION_COUNT; ++i)
        if (strcmp(text, precision_names[i]) == 0) {
            p->precision = (ons_precision)i;
            return NULL;
        }
    return ons_status_new(ONS_INVALID_DATA, "'precision': '%s' is not one of fp32, tf32, fp16, bf16", text);
}

static ons_status *read_matrix_flops(const ons_json *json, ons_device_profile *p) {
    const ons_json *object;
    ONS_TRY(ons_json_get_object(json, "matrix_flops", &object));
    ONS_TRY_AT(read_precisions(object, p), "'matrix_flops'");
    ONS_TRY(read_precision(json, p));
    p->matrix_flops = p->matrix_flops_of[p->precision];
    ONS_CHECK(p->matrix_flops > 0, ONS_INVALID_DATA, "'matrix_flops': '%s' is missing", precision_names[p->precision]);
    return NULL;
}

static ons_status *read_pair(const ons_json *object, const char *first, range first_range, double *first_value,
                             const char *second, double *second_value) {
    const char *const known[] = {first, second, NULL};
    ONS_TRY(check_known(object, known));
    ONS_TRY(read_number(object, first, first_range, first_value));
    return read_number(object, second, any_number, second_value);
}

static ons_status *read_host(const ons_json *json, ons_device_profile *p) {
    const ons_json *object;
    ONS_TRY(ons_json_get_object(json, "host", &object));
    ONS_TRY_AT(read_pair(object, "bandwidth", positive_number, &p->host_bandwidth, "latency", &p->host_latency),
               "'host'");
    return NULL;
}

static ons_status *read_link_members(const ons_json *object, double *bandwidth, double *latency, int64_t *eager_bytes) {
    static const char *const known[] = {"bandwidth", "latency", "eager_bytes", NULL};
    ONS_TRY(check_known(object, known));
    ONS_TRY(read_number(object, "bandwidth", positive_number, bandwidth));
    ONS_TRY(read_number(object, "latency", any_number, latency));
    if (ons_json_find(object, "eager_bytes") == NULL) return NULL;
    ONS_TRY(ons_json_get_int(object, "eager_bytes", eager_bytes));
    ONS_CHECK(*eager_bytes >= 0, ONS_INVALID_DATA, "'eager_bytes' is negative");
    return NULL;
}

static ons_status *read_link(const ons_json *json, ons_device_profile *p) {
    const ons_json *object;
    ONS_TRY(ons_json_get_object(json, "link", &object));
    ONS_TRY_AT(read_link_members(object, &p->link_bandwidth, &p->link_latency, &p->link_eager_bytes), "'link'");
    return NULL;
}

/* Nodes and what joins them: both, or neither. */
static ons_status *read_network(const ons_json *json, ons_device_profile *p) {
    const ons_json *object;
    bool nodes = ons_json_find(json, "node_devices") != NULL, network = ons_json_find(json, "network") != NULL;
    ONS_CHECK(nodes == network, ONS_INVALID_DATA, "'%s' is missing beside '%s'", nodes ? "network" : "node_devices",
              nodes ? "node_devices" : "network");
    if (!nodes) return NULL;
    ONS_TRY(ons_json_get_int(json, "node_devices", &p->node_devices));
    ONS_CHECK(p->node_devices > 0, ONS_INVALID_DATA, "'node_devices' is not above 0");
    ONS_TRY(ons_json_get_object(json, "network", &object));
    ONS_TRY_AT(read_link_members(object, &p->network_bandwidth, &p->network_latency, &p->network_eager_bytes),
               "'network'");
    return NULL;
}

static ons_status *read_efficiency(const ons_json *json, const char *name, ons_efficiency *efficiency) {
    const ons_json *object;
    ONS_TRY(ons_json_get_object(json, name, &object));
    ONS_TRY_AT(read_pair(object, "share", some_share, &efficiency->share, "half", &efficiency->half), "'%s'", name);
    return NULL;
}

static ons_status *read_efficiencies(const ons_json *json, ons_device_profile *p) {
    const ons_json *object;
    const char *const known[] = {"matrix", "vector", "memory", NULL};
    ONS_TRY(ons_json_get_object(json, "efficiency", &object));
    ONS_TRY_AT(check_known(object, known), "'efficiency'");
    ONS_TRY_AT(read_efficiency(object, "matrix", &p->matrix), "'efficiency'");
    ONS_TRY_AT(read_efficiency(object, "vector", &p->vector), "'efficiency'");
    ONS_TRY_AT(read_efficiency(object, "memory", &p->memory), "'efficiency'");
    return NULL;
}

/* {"memory_bytes": "NVIDIA …", …} as lines. */
static ons_status *read_sources(const ons_json *json, ons_arena *arena, ons_device_profile *p) {
    p->sources = "";
    if (ons_json_find(json, "sources") == NULL) return NULL;
    const ons_json *object;
    ONS_TRY(ons_json_get_object(json, "sources", &object));
    size_t bytes = 1;
    for (const ons_json *each = object->child; each != NULL; each = each->next) {
        ONS_CHECK(cJSON_IsString(each) && strchr(each->valuestring, '\n') == NULL &&
                      strpbrk(each->string, ":\n") == NULL,
                  ONS_INVALID_DATA, "'sources': '%s' is not a line of text", each->string);
        bytes += strlen(each->string) + strlen(each->valuestring) + 3;
    }
    char *text, *end;
    ONS_NEW(text, arena, bytes);
    end = text;
    for (const ons_json *each = object->child; each != NULL; each = each->next)
        end = stpcpy(stpcpy(stpcpy(stpcpy(end, each->string), ": "), each->valuestring), "\n");
    p->sources = text;
    return NULL;
}

/* A profile of "this machine" states numbers of one processor, and no memory. */
static ons_status *fit_to_machine(const ons_json *json, ons_device_profile *p) {
    bool machine = false;
    if (ons_json_find(json, "this_machine") != NULL) ONS_TRY(ons_json_get_bool(json, "this_machine", &machine));
    if (!machine) return NULL;
    cpu_set_t set;
    int processors = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    for (int i = 0; i < ONS_PRECISION_COUNT; ++i) p->matrix_flops_of[i] *= processors;
    p->matrix_flops *= processors;
    p->vector_flops *= processors;
    int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (p->memory_bytes == 0 && (pages <= 0 || __builtin_mul_overflow(pages, page, &p->memory_bytes)))
        return ons_status_new(ONS_IO_ERROR, "'memory_bytes': this machine does not say how much memory it has");
    return NULL;
}

static const char *const kinds[] = {"gpu", "cpu"}; /* by ons_device_profile.processor */

/* Where nothing is said: a CPU if it is this machine, or was measured, which so far CPUs alone are. */
static ons_status *read_kind(const ons_json *json, bool measured, ons_device_profile *p) {
    if (ons_json_find(json, "kind") == NULL) {
        p->processor = measured || ons_json_find(json, "this_machine") != NULL;
        return NULL;
    }
    const char *text;
    ONS_TRY(ons_json_get_text(json, "kind", &text));
    p->processor = strcmp(text, kinds[true]) == 0;
    ONS_CHECK(p->processor || strcmp(text, kinds[false]) == 0, ONS_INVALID_DATA, "'kind': '%s' is neither cpu nor gpu",
              text);
    return NULL;
}

static ons_status *read_memory(const ons_json *json, ons_device_profile *p) {
    ONS_TRY(ons_json_get_int(json, "memory_bytes", &p->memory_bytes));
    ONS_TRY(ons_json_get_int(json, "reserve_bytes", &p->reserve_bytes));
    ONS_CHECK(p->memory_bytes >= 0, ONS_INVALID_DATA, "'memory_bytes' is negative");
    ONS_TRY(fit_to_machine(json, p));
    ONS_CHECK(p->memory_bytes > 0, ONS_INVALID_DATA, "'memory_bytes' is 0");
    ONS_CHECK(p->reserve_bytes >= 0 && p->reserve_bytes < p->memory_bytes, ONS_INVALID_DATA,
              "'reserve_bytes' is %lld, not between 0 and 'memory_bytes' (%lld)", (long long)p->reserve_bytes,
              (long long)p->memory_bytes);
    return NULL;
}

static ons_status *read_profile(const ons_json *json, bool measured, ons_arena *arena, ons_device_profile *p) {
    static const char *const known[] = {"onstage_device_profile",
                                        "name",
                                        "title",
                                        "kind",
                                        "instructions",
                                        "memory_bytes",
                                        "reserve_bytes",
                                        "this_machine",
                                        "matrix_flops",
                                        "precision",
                                        "vector_flops",
                                        "memory_bandwidth",
                                        "launch_seconds",
                                        "link",
                                        "node_devices",
                                        "network",
                                        "host",
                                        "efficiency",
                                        "fit_error",
                                        "sources",
                                        NULL};
    int64_t version;
    ONS_TRY(ons_json_get_int(json, "onstage_device_profile", &version));
    ONS_CHECK(version == VERSION, ONS_INVALID_DATA, "'onstage_device_profile' is %lld; this program knows version %d",
              (long long)version, VERSION);
    ONS_TRY(check_known(json, known));
    ONS_TRY(ons_json_copy_text(json, "name", arena, &p->name));
    ONS_TRY(ons_json_copy_text(json, "title", arena, &p->title));
    ONS_TRY(read_kind(json, measured, p));
    if (ons_json_find(json, "instructions") != NULL)
        ONS_TRY(ons_json_copy_text(json, "instructions", arena, &p->instructions));
    ONS_TRY(read_matrix_flops(json, p));
    ONS_TRY(read_number(json, "vector_flops", positive_number, &p->vector_flops));
    ONS_TRY(read_number(json, "memory_bandwidth", positive_number, &p->memory_bandwidth));
    ONS_TRY(read_number(json, "launch_seconds", any_number, &p->launch_seconds));
    ONS_TRY(read_link(json, p));
    ONS_TRY(read_network(json, p));
    ONS_TRY(read_host(json, p));
    ONS_TRY(read_efficiencies(json, p));
    if (ons_json_find(json, "fit_error") != NULL) ONS_TRY(read_number(json, "fit_error", any_number, &p->fit_error));
    ONS_TRY(read_sources(json, arena, p));
    return read_memory(json, p);
}

ons_status *ons_device_profile_parse(const void *bytes, size_t size, ons_arena *arena, ons_device_profile *profile) {
    *profile = (ons_device_profile){0};
    ons_json *json;
    ONS_TRY(ons_json_parse_names(bytes, size, &json));
    const ons_json *measured = ons_json_find(json, "onstage_profile");
    const ons_json *device = ons_json_find(json, "device");
    ons_status *status = NULL;
    if (measured == NULL)
        status = read_profile(json, false, arena, profile);
    else if (device == NULL)
        status = ons_status_new(ONS_INVALID_DATA, "'device' is missing");
    else
        status = ons_status_at(read_profile(device, true, arena, profile), "'device'");
    ons_json_free(json);
    return status;
}

static ons_status *no_such_profile(const char *name, ons_status *why) {
    char list[256] = "";
    for (size_t i = 0; names[i] != NULL && strlen(list) + strlen(names[i]) + 3 < sizeof list; ++i)
        strcat(strcat(list, i == 0 ? "" : ", "), names[i]);
    ons_status *status = ons_status_new(ons_status_get_code(why),
                                        "device profile '%s': neither a file that can be read (%s) nor one of %s", name,
                                        ons_status_get_message(why), list);
    ons_status_free(why);
    return status;
}

ons_status *ons_device_profile_load(const char *name, ons_arena *arena, ons_device_profile *profile) {
    for (size_t i = 0; i < sizeof shipped / sizeof shipped[0]; ++i)
        if (strcmp(shipped[i].name, name) == 0)
            return ons_status_at(ons_device_profile_parse(shipped[i].text, strlen(shipped[i].text), arena, profile),
                                 "%s", name);
    ons_mapping file;
    ons_status *status = ons_mapping_open(name, &file);
    if (status != NULL) return no_such_profile(name, status);
    status = ons_device_profile_parse(file.bytes, file.size, arena, profile);
    ons_mapping_close(&file);
    return ons_status_at(status, "%s", name);
}

/* ---------------------------------------------------------------------------------------------------------- writing */

static ons_status *set_object(ons_json *parent, const char *name, const char *const *fields, const double *values,
                              size_t count) {
    ons_json *object;
    ONS_TRY(ons_json_new_object(&object));
    for (size_t i = 0; i < count; ++i) {
        ons_status *status = values[i] == 0 && fields == precision_names
                                 ? NULL /* the device does not have it */
                                 : ons_json_set_double(object, fields[i], values[i]);
        if (status != NULL) {
            ons_json_free(object);
            return status;
        }
    }
    return ons_json_set(parent, name, object);
}

/* `eager_bytes` 0: left out. */
static ons_status *set_link(ons_json *json, const char *name, double bandwidth, double latency, int64_t eager_bytes) {
    static const char *const fields[] = {"bandwidth", "latency", "eager_bytes"};
    const double values[] = {bandwidth, latency, (double)eager_bytes};
    return set_object(json, name, fields, values, eager_bytes > 0 ? 3 : 2);
}

static ons_status *set_efficiency(ons_json *json, const char *name, const ons_efficiency *e) {
    static const char *const fields[] = {"share", "half"};
    return set_object(json, name, fields, (const double[]){e->share, e->half}, 2);
}

static ons_status *fill_efficiencies(ons_json *object, const ons_device_profile *p) {
    ONS_TRY(set_efficiency(object, "matrix", &p->matrix));
    ONS_TRY(set_efficiency(object, "vector", &p->vector));
    return set_efficiency(object, "memory", &p->memory);
}

static ons_status *fill_sources(ons_json *object, const ons_device_profile *p) {
    for (const char *line = p->sources; line != NULL && *line != '\0';) {
        size_t length = strcspn(line, "\n"), field = strcspn(line, ":");
        const char *text = line + field + 1 + (line[field] == ':' && line[field + 1] == ' ');
        char *name = strndup(line, field);
        char *value = field < length ? strndup(text, (size_t)(line + length - text)) : strdup("");
        ons_status *status =
            name == NULL || value == NULL ? ons_status_out_of_memory() : ons_json_set_text(object, name, value);
        free(name);
        free(value);
        ONS_TRY(status);
        line += length + (line[length] == '\n');
    }
    return NULL;
}

/* A member that `fill` makes. */
static ons_status *set_filled(ons_json *json, const char *name, const ons_device_profile *p,
                              ons_status *(*fill)(ons_json *object, const ons_device_profile *p)) {
    ons_json *object;
    ONS_TRY(ons_json_new_object(&object));
    ons_status *status = fill(object, p);
    if (status == NULL) return ons_json_set(json, name, object);
    ons_json_free(object);
    return status;
}

static ons_status *fill_profile(ons_json *json, const ons_device_profile *p) {
    ONS_TRY(ons_json_set_uint64(json, "onstage_device_profile", VERSION));
    ONS_TRY(ons_json_set_text(json, "name", p->name));
    ONS_TRY(ons_json_set_text(json, "title", p->title));
    ONS_TRY(ons_json_set_text(json, "kind", kinds[p->processor]));
    if (p->instructions != NULL) ONS_TRY(ons_json_set_text(json, "instructions", p->instructions));
    ONS_TRY(ons_json_set_uint64(json, "memory_bytes", (uint64_t)p->memory_bytes));
    ONS_TRY(ons_json_set_uint64(json, "reserve_bytes", (uint64_t)p->reserve_bytes));
    ONS_TRY(set_object(json, "matrix_flops", precision_names, p->matrix_flops_of, ONS_PRECISION_COUNT));
    ONS_TRY(ons_json_set_text(json, "precision", precision_names[p->precision]));
    ONS_TRY(ons_json_set_double(json, "vector_flops", p->vector_flops));
    ONS_TRY(ons_json_set_double(json, "memory_bandwidth", p->memory_bandwidth));
    ONS_TRY(ons_json_set_double(json, "launch_seconds", p->launch_seconds));
    ONS_TRY(set_link(json, "link", p->link_bandwidth, p->link_latency, p->link_eager_bytes));
    if (p->node_devices > 0) {
        ONS_TRY(ons_json_set_uint64(json, "node_devices", (uint64_t)p->node_devices));
        ONS_TRY(set_link(json, "network", p->network_bandwidth, p->network_latency, p->network_eager_bytes));
    }
    ONS_TRY(set_link(json, "host", p->host_bandwidth, p->host_latency, 0));
    ONS_TRY(set_filled(json, "efficiency", p, fill_efficiencies));
    ONS_TRY(ons_json_set_double(json, "fit_error", p->fit_error));
    return set_filled(json, "sources", p, fill_sources);
}

ons_status *ons_device_profile_to_json(const ons_device_profile *profile, ons_json **result) {
    ons_json *json;
    ONS_TRY(ons_json_new_object(&json));
    ons_status *status = fill_profile(json, profile);
    if (status != NULL) {
        ons_json_free(json);
        return status;
    }
    *result = json;
    return NULL;
}

ons_status *ons_device_profile_print(const ons_device_profile *profile, char **text) {
    ons_json *json;
    ONS_TRY(ons_device_profile_to_json(profile, &json));
    ons_status *status = ons_json_print(json, text);
    ons_json_free(json);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ using */

ons_status *ons_device_profile_use(ons_device_profile *profile, ons_precision precision) {
    ONS_CHECK(precision >= 0 && precision < ONS_PRECISION_COUNT && profile->matrix_flops_of[precision] > 0,
              ONS_UNSUPPORTED, "device profile '%s' has no matrix products in %s", profile->name,
              precision >= 0 && precision < ONS_PRECISION_COUNT ? precision_names[precision] : "that precision");
    /* Winding up takes as long, so more work is done by the time that half of the speed is reached. */
    profile->matrix.half *= profile->matrix_flops_of[precision] / profile->matrix_flops;
    profile->matrix_flops = profile->matrix_flops_of[precision];
    profile->precision = precision;
    return NULL;
}

/* f / (peak · share · f / (f + half)) */
static double seconds_of(double amount, double peak, const ons_efficiency *e) {
    return amount > 0 ? (amount + e->half) / (peak * e->share) : 0;
}

static double compute_seconds(const ons_device_profile *p, double flops, bool matrix) {
    return matrix ? seconds_of(flops, p->matrix_flops, &p->matrix) : seconds_of(flops, p->vector_flops, &p->vector);
}

double ons_device_profile_seconds(const ons_device_profile *p, double flops, double bytes, bool matrix) {
    double compute = compute_seconds(p, flops, matrix);
    return p->launch_seconds + fmax(compute, seconds_of(bytes, p->memory_bandwidth, &p->memory));
}

double ons_device_profile_work_seconds(const ons_device_profile *p, double flops, double bytes, bool matrix) {
    return compute_seconds(p, flops, matrix) + seconds_of(bytes, p->memory_bandwidth, &p->memory);
}
