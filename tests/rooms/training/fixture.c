#include "tests/rooms/training/fixture.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

void must(ons_status *status) { cr_assert_null(status, "%s", ons_status_get_message(status)); }

void must_fail(ons_status *status, ons_status_code code, ...) {
    const char *message = ons_status_get_message(status);
    cr_assert_eq(ons_status_get_code(status), code, "status %d instead of %d: %s", ons_status_get_code(status), code,
                 message);
    va_list words;
    va_start(words, code);
    for (const char *word; (word = va_arg(words, const char *)) != NULL;)
        cr_assert_not_null(strstr(message, word), "'%s' is not in '%s'", word, message);
    va_end(words);
    ons_status_free(status);
}

void scratch_path(char path[static PATH_BYTES], const char *name) {
    const char *folder = getenv("TEST_TMPDIR");
    snprintf(path, PATH_BYTES, "%s/%s-%d", folder == NULL ? "/tmp" : folder, name, (int)getpid());
}

/* --------------------------------------------------------------------------------------------------------- training */

void set(const run *r, const char *option, const char *value) { must(ons_config_set(r->config, option, value)); }

void set_number(const run *r, const char *option, long long value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    set(r, option, text);
}

ons_json *read_golden(const char *model) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "tests/agreement/golden/%s/golden.json", model);
    ons_mapping mapping;
    ons_json *json = NULL;
    must(ons_mapping_open(path, &mapping));
    must(ons_json_parse(mapping.bytes, mapping.size, &json));
    ons_mapping_close(&mapping);
    return json;
}

/* ["--freeze", "encoder.*", "--nesterov"] */
static void set_flags(const run *r, const ons_json *flags) {
    int size = cJSON_GetArraySize(flags);
    for (int i = 0; i < size; ++i) {
        const cJSON *next = i + 1 < size ? cJSON_GetArrayItem(flags, i + 1) : NULL;
        bool has_value = next != NULL && strncmp(next->valuestring, "--", 2) != 0;
        set(r, cJSON_GetArrayItem(flags, i)->valuestring + 2, has_value ? next->valuestring : "true");
        i += has_value;
    }
}

static run new_run(const char *model, const ons_json *golden) {
    run r = {.config = NULL};
    snprintf(r.model_path, sizeof r.model_path, "tests/agreement/golden/%s/model.onnx", model);
    must(ons_config_new(&r.config));
    set(&r, "loss", ons_json_find(golden, "loss")->valuestring);
    set(&r, "loss-output", ons_json_find(golden, "output")->valuestring);
    set_number(&r, "batch", ons_json_find(golden, "batch")->valueint);
    set(&r, "shuffle", "false");
    set_flags(&r, ons_json_find(golden, "options"));
    return r;
}

run run_without_data(const char *model) {
    ons_json *golden = read_golden(model);
    run r = new_run(model, golden);
    ons_json_free(golden);
    return r;
}

run run_golden(const char *model) {
    ons_json *golden = read_golden(model);
    run r = new_run(model, golden);
    char text[PATH_BYTES];
    const cJSON *input;
    cJSON_ArrayForEach(input, ons_json_find(golden, "inputs")) {
        snprintf(text, sizeof text, "%s=tests/agreement/golden/%s/%s", input->string, model, input->valuestring);
        set(&r, "input", text);
    }
    snprintf(text, sizeof text, "tests/agreement/golden/%s/%s", model, ons_json_find(golden, "target")->valuestring);
    set(&r, "target", text);
    ons_json_free(golden);
    return r;
}

ons_status *run_try_open(run *r) {
    ons_status *status = ons_model_load(r->model_path, r->config, &r->model);
    return status != NULL ? status : ons_trainer_new(r->model, r->config, &r->trainer);
}

void run_open(run *r) { must(run_try_open(r)); }

ons_step_report run_step(const run *r) {
    ons_step_report report;
    must(ons_trainer_step(r->trainer, &report));
    return report;
}

void run_close(run *r) {
    ons_trainer_free(r->trainer);
    ons_model_free(r->model);
    ons_config_free(r->config);
    *r = (run){.config = NULL};
}

/* ---------------------------------------------------------------------------------------------------------- weights */

weights read_weights(const run *r) {
    ons_inspection *inspection;
    must(ons_model_inspect(r->model, r->config, &inspection));
    weights w = {NULL, 0};
    size_t total = 0;
    for (size_t i = 0; i < inspection->parameter_count; ++i) total += (size_t)inspection->parameters[i].elements;
    w.values = malloc((total + 1) * sizeof *w.values);
    cr_assert_not_null(w.values);
    for (size_t i = 0; i < inspection->parameter_count; ++i) {
        const ons_parameter_info *each = &inspection->parameters[i];
        ons_status *status = ons_trainer_read(r->trainer, each->name, w.values + w.count, (size_t)each->elements);
        if (each->trainable)
            must(status);
        else if (status == NULL)
            w.count += (size_t)each->elements; /* running statistics, frozen weights */
        else
            ons_status_free(status); /* a constant */
        w.count += each->trainable ? (size_t)each->elements : 0;
    }
    ons_inspection_free(inspection);
    cr_assert_gt(w.count, 0);
    return w;
}

void weights_free(weights *w) {
    free(w->values);
    *w = (weights){NULL, 0};
}

bool weights_equal(const weights *a, const weights *b) {
    return a->count == b->count && memcmp(a->values, b->values, a->count * sizeof *a->values) == 0;
}

/* ------------------------------------------------------------------------------------------------------------ files */

contents read_file(const char *path) {
    ons_mapping mapping;
    must(ons_mapping_open(path, &mapping));
    contents c = {malloc(mapping.size + 1), mapping.size};
    cr_assert_not_null(c.bytes);
    if (mapping.size > 0) memcpy(c.bytes, mapping.bytes, mapping.size);
    c.bytes[c.size] = '\0';
    ons_mapping_close(&mapping);
    return c;
}

bool same_contents(const char *left, const char *right) {
    contents a = read_file(left), b = read_file(right);
    bool same = a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
    free(a.bytes);
    free(b.bytes);
    return same;
}

log_lines read_log(const char *path) {
    contents text = read_file(path);
    log_lines log = {NULL, 0};
    size_t lines = 0;
    for (size_t i = 0; i < text.size; ++i) lines += text.bytes[i] == '\n';
    log.items = calloc(lines + 1, sizeof *log.items);
    cr_assert_not_null(log.items);
    const unsigned char *at = text.bytes;
    for (; log.count < lines; ++log.count) {
        const unsigned char *end = memchr(at, '\n', (size_t)(text.bytes + text.size - at));
        must(ons_json_parse(at, (size_t)(end - at), &log.items[log.count]));
        at = end + 1;
    }
    cr_assert_eq((size_t)(at - text.bytes), text.size, "%s: the last line is not whole", path);
    free(text.bytes);
    return log;
}

void log_free(log_lines *log) {
    for (size_t i = 0; i < log->count; ++i) ons_json_free(log->items[i]);
    free(log->items);
    *log = (log_lines){NULL, 0};
}

double log_number(const log_lines *log, size_t line, const char *name) {
    double value = 0;
    must(ons_json_get_double(log->items[line], name, &value));
    return value;
}

/* The text between two marks of an .npy header. */
static const char *header_part(const unsigned char *header, const char *mark) {
    const char *found = strstr((const char *)header, mark);
    cr_assert_not_null(found);
    return found + strlen(mark);
}

array read_npy(const char *path) {
    contents file = read_file(path);
    array a = {.data = NULL};
    cr_assert(file.size > 10 && memcmp(file.bytes, "\x93NUMPY\x01", 7) == 0, "%s: not what this reader reads", path);
    size_t header = 10 + file.bytes[8] + 256u * file.bytes[9];
    const char *kind = header_part(file.bytes + 10, "'descr': '");
    cr_assert(strncmp(kind, "<f4", 3) == 0 || strncmp(kind, "<i8", 3) == 0, "%s: unexpected type", path);
    a.view.element_type = kind[1] == 'f' ? ONS_ELEMENT_FLOAT32 : ONS_ELEMENT_INT64;
    char *at = (char *)header_part(file.bytes + 10, "'shape': (");
    while (*at != ')') {
        a.dims[a.view.rank++] = strtoll(at, &at, 10);
        at += strspn(at, ", ");
    }
    a.bytes = file.size - header;
    memmove(file.bytes, file.bytes + header, a.bytes);
    a.data = file.bytes;
    a.view.data = a.data;
    return a;
}

void array_free(array *a) {
    free(a->data);
    a->data = NULL;
}
