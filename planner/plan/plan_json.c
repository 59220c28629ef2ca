#include "planner/plan/plan_json.h"

ons_status *ons_plan_add_object(ons_json *parent, const char *name, ons_json **child) {
    ons_json *object;
    ONS_TRY(ons_json_new_object(&object));
    ONS_TRY(ons_json_set(parent, name, object));
    *child = object;
    return NULL;
}

ons_status *ons_plan_add_array(ons_json *parent, const char *name, ons_json **child) {
    ons_json *array = cJSON_CreateArray();
    ONS_TRY(ons_json_set(parent, name, array));
    *child = array;
    return NULL;
}

ons_status *ons_plan_append_object(ons_json *array, ons_json **child) {
    ons_json *object;
    ONS_TRY(ons_json_new_object(&object));
    if (!cJSON_AddItemToArray(array, object)) {
        ons_json_free(object);
        return ons_status_out_of_memory();
    }
    *child = object;
    return NULL;
}

ons_status *ons_plan_set_int(ons_json *object, const char *name, int64_t value) {
    return ons_json_set_uint64(object, name, (uint64_t)value);
}

ons_status *ons_plan_set_text(ons_json *object, const char *name, const char *value) {
    return value == NULL ? NULL : ons_json_set_text(object, name, value);
}

ons_status *ons_plan_get_whole(const ons_json *object, const char *name, int64_t low, int64_t high, int64_t *value) {
    ONS_TRY(ons_json_get_int(object, name, value));
    ONS_CHECK(*value >= low && *value <= high, ONS_INVALID_DATA, "'%s' is %lld, not between %lld and %lld", name,
              (long long)*value, (long long)low, (long long)high);
    return NULL;
}

ons_status *ons_plan_get_bytes(const ons_json *object, const char *name, int64_t *value) {
    return ons_plan_get_whole(object, name, 0, INT64_C(1) << 53, value);
}

ons_status *ons_plan_get_seconds(const ons_json *object, const char *name, double *value) {
    ONS_TRY(ons_json_get_double(object, name, value));
    ONS_CHECK(*value >= 0, ONS_INVALID_DATA, "'%s' is negative", name);
    return NULL;
}
