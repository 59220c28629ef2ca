#include "engine/config/device_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "planner/partition/devices.h"

enum { MOST_DEVICES = 65536 };

/* A file may have any name. */
bool ons_device_list_is_given(const ons_config *config) {
    const char *text = config->device_profile;
    return text != NULL && strpbrk(text, ",*") != NULL && access(text, F_OK) != 0;
}

/* ---------------------------------------------------------------------------------------------------------- parsing */

/* "a100-40gb*2": the name in `arena`. */
static ons_status *parse_entry(const char *text, size_t size, ons_arena *arena, const char **name, uint32_t *count) {
    const char *star = memchr(text, '*', size);
    size_t length = star == NULL ? size : (size_t)(star - text);
    char *end;
    *name = ons_arena_format(arena, "%.*s", (int)length, text);
    if (*name == NULL) return ons_status_out_of_memory();
    unsigned long number = star == NULL ? 1 : strtoul(star + 1, &end, 10);
    bool whole = star == NULL || (star + 1 < text + size && star[1] >= '0' && star[1] <= '9' && end == text + size);
    ONS_CHECK(length > 0 && whole && number > 0 && number <= MOST_DEVICES, ONS_INVALID_ARGUMENT,
              "--device-profile: '%.*s' is no device; give names with how many there are of each, as in "
              "a100-40gb*2,v100-16gb*2",
              (int)size, text);
    *count = (uint32_t)number;
    return NULL;
}

static const char *next_entry(const char *text, size_t *size) {
    *size = strcspn(text, ",");
    return text[*size] == ',' ? text + *size + 1 : NULL;
}

ons_status *ons_device_list_first(const ons_config *config, ons_arena *arena, const char **name) {
    size_t size;
    uint32_t count;
    *name = config->device_profile;
    if (!ons_device_list_is_given(config)) return NULL;
    next_entry(config->device_profile, &size);
    return parse_entry(config->device_profile, size, arena, name, &count);
}

/* ---------------------------------------------------------------------------------------------------------- loading */

static ons_status *load_kind(const ons_config *config, const char *name, ons_arena *arena, ons_device_profile *kind) {
    ons_precision precision = ons_config_precision(config);
    ONS_TRY(ons_device_profile_load(name, arena, kind));
    bool known = precision != ONS_PRECISION_FP32 && kind->matrix_flops_of[precision] > 0;
    return known ? ons_device_profile_use(kind, precision) : NULL;
}

static ons_status *find_kind(const ons_config *config, const char *name, ons_arena *arena, ons_device_list *list,
                             uint32_t *kind) {
    ons_device_profile profile;
    ONS_TRY(load_kind(config, name, arena, &profile));
    for (*kind = 0; *kind < list->kind_count; ++*kind)
        if (strcmp(list->kinds[*kind].name, profile.name) == 0) return NULL;
    ONS_CHECK(list->kind_count == 0 || list->kinds[0].processor == profile.processor, ONS_INVALID_ARGUMENT,
              "--device-profile %s: %s and %s: graphs of CPUs and GPUs are not the same; take devices of one sort",
              config->device_profile, list->kinds[0].name, profile.name);
    list->kinds[list->kind_count++] = profile;
    return NULL;
}

static ons_status *add_entry(const ons_config *config, const char *text, size_t size, ons_arena *arena,
                             ons_device_list *list) {
    const char *name;
    uint32_t count, kind;
    int64_t devices = ons_config_devices(config);
    ONS_TRY(parse_entry(text, size, arena, &name, &count));
    ONS_TRY(find_kind(config, name, arena, list, &kind));
    for (uint32_t i = 0; i < count; ++i, ++list->count)
        if (list->count < devices) list->kind_of[list->count] = kind;
    list->title = ons_arena_format(arena, "%s%s%u × %s", list->title, list->title[0] == '\0' ? "" : ", ", count,
                                   list->kinds[kind].title);
    return list->title == NULL ? ons_status_out_of_memory() : NULL;
}

ons_status *ons_device_list_load(const ons_config *config, ons_arena *arena, ons_device_list *list) {
    int64_t devices = ons_config_devices(config);
    uint32_t entries = 1;
    *list = (ons_device_list){.title = ""};
    if (!ons_device_list_is_given(config)) return NULL;
    ONS_CHECK(config->profile == NULL && config->cost_graph == NULL, ONS_INVALID_ARGUMENT,
              "--device-profile %s beside %s, whose times are those of one device: name one, or leave the other out",
              config->device_profile, config->profile != NULL ? "--profile" : "--cost-graph");
    for (const char *c = config->device_profile; *c != '\0'; ++c) entries += *c == ',';
    ONS_NEW(list->kinds, arena, entries);
    ONS_NEW(list->kind_of, arena, (size_t)devices);
    for (const char *text = config->device_profile, *next; text != NULL; text = next) {
        size_t size;
        next = next_entry(text, &size);
        ONS_TRY(add_entry(config, text, size, arena, list));
    }
    ONS_CHECK(list->count == devices, ONS_INVALID_ARGUMENT,
              "--device-profile %s names %u devices, and the stages lie on %" PRId64, config->device_profile,
              list->count, devices);
    if (list->kind_count == 1) *list = (ons_device_list){.title = ""}; /* they are alike after all */
    ONS_CHECK(list->kind_count == 0 || ons_config_lanes(config) == devices, ONS_UNSUPPORTED,
              "--device-profile %s: schedule %s puts each stage on two devices, and is planned for such as are alike; "
              "name one, or take another --pipeline",
              config->device_profile, config->pipeline);
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- posing */

/* --memory, where the device has as much; the libraries' share comes off either. */
static ons_status *find_capacity(const ons_config *config, const ons_device_profile *kind, int64_t *bytes) {
    ONS_TRY(ons_config_memory(config, bytes));
    if (*bytes == 0 || (kind->memory_bytes > 0 && kind->memory_bytes < *bytes)) *bytes = kind->memory_bytes;
    ONS_CHECK(*bytes > kind->reserve_bytes, ONS_OUT_OF_MEMORY,
              "--memory is less than the %" PRId64 " bytes that the libraries of %s take", kind->reserve_bytes,
              kind->name);
    *bytes -= kind->reserve_bytes;
    return NULL;
}

static void take_slower_link(const ons_device_profile *kind, ons_planning_problem *p) {
    if (kind->link_bandwidth < p->link_bandwidth) p->link_bandwidth = kind->link_bandwidth;
    if (kind->link_latency > p->link_latency) p->link_latency = kind->link_latency;
    if (kind->host_bandwidth < p->host_bandwidth) p->host_bandwidth = kind->host_bandwidth;
    if (kind->host_latency > p->host_latency) p->host_latency = kind->host_latency;
}

ons_status *ons_device_list_pose(const ons_device_list *list, const ons_config *config, ons_arena *arena,
                                 ons_planning_problem *problem) {
    ons_planning_device *devices;
    int64_t *bytes, most = 0;
    if (list->kind_count == 0) return NULL;
    ONS_NEW(devices, arena, list->count);
    ONS_NEW(bytes, arena, list->kind_count);
    for (uint32_t i = 0; i < list->kind_count; ++i) {
        ONS_TRY(find_capacity(config, &list->kinds[i], &bytes[i]));
        take_slower_link(&list->kinds[i], problem);
        if (bytes[i] > most) most = bytes[i];
    }
    for (uint32_t i = 0; i < list->count; ++i) devices[i].less_bytes = most - bytes[list->kind_of[i]];
    problem->capacity_bytes = most;
    problem->devices = devices;
    problem->device_count = list->count;
    return NULL;
}
