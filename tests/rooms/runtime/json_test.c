#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "tests/rooms/runtime/scratch.h"

static ons_json *parse(const char *text) {
    ons_json *json;
    expect_success(ons_json_parse(text, strlen(text), &json));
    return json;
}

Test(json, typed_members) {
    ons_json *json = parse("{\"t\": \"x\", \"d\": 1.5, \"i\": -7, \"b\": true, \"o\": {}, \"a\": [1], "
                           "\"u\": \"18446744073709551615\"}");
    const char *text;
    double d;
    int64_t i;
    uint64_t u;
    bool b;
    const ons_json *o;
    expect_success(ons_json_get_text(json, "t", &text));
    cr_expect_str_eq(text, "x");
    expect_success(ons_json_get_double(json, "d", &d));
    cr_expect_eq(d, 1.5);
    expect_success(ons_json_get_int(json, "i", &i));
    cr_expect_eq(i, -7);
    expect_success(ons_json_get_uint64(json, "u", &u));
    cr_expect_eq(u, UINT64_MAX);
    expect_success(ons_json_get_bool(json, "b", &b));
    cr_expect(b);
    expect_success(ons_json_get_object(json, "o", &o));
    expect_success(ons_json_get_array(json, "a", &o));
    expect_failure(ons_json_get_text(json, "z", &text), ONS_INVALID_DATA, "'z' is missing");
    expect_failure(ons_json_get_int(json, "d", &i), ONS_INVALID_DATA, "'d' is not a whole number");
    expect_failure(ons_json_get_uint64(json, "i", &u), ONS_INVALID_DATA, "'i' is not a whole number");
    expect_failure(ons_json_get_bool(json, "d", &b), ONS_INVALID_DATA, "'d' is neither");
    expect_failure(ons_json_get_text(json, "T", &text), ONS_INVALID_DATA, "'T' is missing");
    ons_json_free(json);
}

Test(json, errors_have_a_place) {
    ons_json *json;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "empty"},
        {"{\n \"a\": tru }", "line 2"},
        {"{} x", "line 1, column 4: more text"},
        {"{\"a\":", "not valid JSON"},
        {"[1,2", "not valid JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        expect_failure(ons_json_parse(cases[i].text, strlen(cases[i].text), &json), ONS_INVALID_DATA, cases[i].message);
}

Test(json, long_names) {
    char text[ONS_JSON_NAME_MAX + 16];
    ons_json *json;
    for (int more = 0; more < 2; ++more) {
        int length = snprintf(text, sizeof text, "[\"%0*d\"]", ONS_JSON_NAME_MAX + more, 0);
        ons_status *status = ons_json_parse_names(text, (size_t)length, &json);
        if (more)
            expect_failure(status, ONS_INVALID_DATA, "too long for what may be a name");
        else
            expect_success(status);
        ons_json_free(json);
    }
}

Test(json, control_characters_in_names) {
    const char *const texts[] = {"\"\\u001b[2J\"", "{\"a\\nonstage: all is well\": 1}",
                                 "\"\x1b\"",       "\"\\u0000\"",
                                 "\"\\r\"",        "\"a\nb\"",
                                 "\"\xc2\x9b\"",   "\"\\u009B\"",
                                 "\"\x7f\""};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        ons_json *json;
        expect_failure(ons_json_parse_names(texts[i], strlen(texts[i]), &json), ONS_INVALID_DATA,
                       "a control character");
    }
    static const char fine[] = "[\"\\u00e4\\u00A0\\t\\\\n\\/\\\"\", \"\xc3\xa4\xc2\xa0\"]\n";
    ons_json *json;
    expect_success(ons_json_parse_names(fine, strlen(fine), &json));
    ons_json_free(json);
}

Test(json, nesting_is_bounded) {
    enum { DEEP = 1000000 };
    char *text = malloc(DEEP);
    memset(text, '[', DEEP);
    ons_json *json;
    expect_failure(ons_json_parse(text, DEEP, &json), ONS_INVALID_DATA, "nested too deeply");
    free(text);
    ons_json_free(
        parse("[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
              "[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"]"));
}

Test(json, large_numbers_survive) {
    static const uint64_t numbers[] = {0, 1, 9007199254740992u, 9007199254740993u, UINT64_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        ons_json *json;
        char *text;
        uint64_t back;
        expect_success(ons_json_new_object(&json));
        expect_success(ons_json_set_uint64(json, "n", numbers[i]));
        expect_success(ons_json_print(json, &text));
        ons_json_free(json);
        json = parse(text);
        expect_success(ons_json_get_uint64(json, "n", &back));
        cr_expect_eq(back, numbers[i]);
        ons_json_free(json);
        free(text);
    }
}

typedef struct text_sink {
    size_t size, room;
    char text[100000];
} text_sink;

static ons_status *append(void *context, const void *bytes, size_t size) {
    text_sink *sink = context;
    ONS_CHECK(size <= sink->room - sink->size, ONS_IO_ERROR, "the sink is full");
    memcpy(sink->text + sink->size, bytes, size);
    sink->size += size;
    return NULL;
}

Test(json_writer, pieces) {
    static text_sink sink = {.room = sizeof sink.text};
    ons_json_writer w;
    ons_json_writer_init(&w, append, &sink);
    ons_json_begin_object(&w, NULL);
    ons_json_put_int(&w, "i", -3);
    ons_json_put_uint64(&w, "u", UINT64_MAX);
    ons_json_put_double(&w, "third", 1.0 / 3);
    ons_json_put_double(&w, "tenth", 0.1);
    ons_json_put_double(&w, "nan", NAN);
    ons_json_put_double(&w, "inf", -INFINITY);
    ons_json_put_text(&w, "t", "a\"b\\c\n\x01 \xc3\xa4 \xff \xe2\x82");
    ons_json_begin_array(&w, "a");
    ons_json_put_bool(&w, NULL, true);
    ons_json_begin_object(&w, NULL);
    ons_json_end_object(&w);
    ons_json_end_array(&w);
    ons_json_end_object(&w);
    ons_json_put_line_break(&w);
    expect_success(ons_json_writer_flush(&w));
    sink.text[sink.size] = '\0';
    cr_expect_str_eq(sink.text, "{\"i\":-3,\"u\":18446744073709551615,\"third\":0.33333333333333331,\"tenth\":0.1,"
                                "\"nan\":null,\"inf\":null,\"t\":\"a\\\"b\\\\c\\u000a\\u0001 \xc3\xa4 ? ??\","
                                "\"a\":[true,{}]}\n");
    ons_json *json;
    expect_success(ons_json_parse(sink.text, sink.size, &json));
    ons_json_free(json);
}

Test(json_writer, longer_than_the_buffer_and_failing_sink) {
    static text_sink sink = {.room = sizeof sink.text};
    ons_json_writer w;
    ons_json_writer_init(&w, append, &sink);
    ons_json_begin_array(&w, NULL);
    for (int i = 0; i < 5000; ++i) ons_json_put_int(&w, NULL, i);
    ons_json_end_array(&w);
    expect_success(ons_json_writer_flush(&w));
    ons_json *json;
    expect_success(ons_json_parse(sink.text, sink.size, &json));
    cr_expect_eq(cJSON_GetArraySize(json), 5000);
    ons_json_free(json);

    sink.room = sink.size + 10;
    for (int i = 0; i < 5000; ++i) ons_json_put_int(&w, NULL, i);
    expect_failure(ons_json_writer_flush(&w), ONS_IO_ERROR, "the sink is full");
}
