#include "graph/exporter_call.h"

#include <ctype.h>
#include <string.h>

/* Where `words` begins in the text, or its end. */
static const char *find(const ons_exporter_call *text, const char *words) {
    size_t length = strlen(words);
    for (size_t at = 0; at + length <= text->size; ++at)
        if (memcmp(text->text + at, words, length) == 0) return text->text + at;
    return text->text + text->size;
}

/* What stands behind `words`; size 0 where they are not there. */
static ons_exporter_call behind(const ons_exporter_call *text, const char *words) {
    const char *end = text->text + text->size, *at = find(text, words);
    if (at == end) return (ons_exporter_call){end, 0};
    at += strlen(words);
    return (ons_exporter_call){at, (size_t)(end - at)};
}

bool ons_call_is(const ons_exporter_call *call, const char *function) {
    if (call->size == 0) return false;
    ons_exporter_call target = behind(call, "[target=torch.ops.");
    size_t length = strlen(function);
    return target.size > length && memcmp(target.text, function, length) == 0 &&
           (target.text[length] == '.' || target.text[length] == ']');
}

/* The text up to the bracket that closes what is open where it begins, or up to a comma there. */
static size_t item_length(const ons_exporter_call *text) {
    int depth = 0;
    size_t at = 0;
    for (; at < text->size; ++at) {
        char c = text->text[at];
        if (strchr("([{", c) != NULL && c != '\0') ++depth;
        if (strchr(")]}", c) != NULL && c != '\0' && depth-- == 0) break;
        if (c == ',' && depth == 0) break;
    }
    return at;
}

/* Moves on to what follows an item and its comma. */
static void step_over(ons_exporter_call *text, size_t length) {
    size_t more = length < text->size ? 1 : 0;
    text->text += length + more;
    text->size -= length + more;
    while (text->size > 0 && *text->text == ' ') ++text->text, --text->size;
}

/* The next item of a list that is open, which moves behind it; false where the list ends. */
static bool next_item(ons_exporter_call *list, ons_exporter_call *item) {
    size_t length = item_length(list);
    if (length == 0) return false;
    *item = (ons_exporter_call){list->text, length};
    bool last = length >= list->size || list->text[length] != ',';
    step_over(list, length);
    if (last) list->size = 0;
    return true;
}

static bool find_by_place(const ons_exporter_call *call, uint32_t place, ons_exporter_call *argument) {
    ons_exporter_call list = behind(call, "](args = (");
    for (uint32_t i = 0; next_item(&list, argument); ++i)
        if (i == place) return true;
    return false;
}

static bool find_by_keyword(const ons_exporter_call *call, const char *keyword, ons_exporter_call *argument) {
    ons_exporter_call list = behind(call, ", kwargs = {"), item;
    size_t length = strlen(keyword);
    while (next_item(&list, &item)) {
        if (item.size < length + 2 || memcmp(item.text, keyword, length) != 0 || item.text[length] != ':') continue;
        *argument = (ons_exporter_call){item.text + length + 2, item.size - length - 2};
        return true;
    }
    return false;
}

bool ons_call_argument(const ons_exporter_call *call, uint32_t place, const char *keyword,
                       ons_exporter_call *argument) {
    if (call->size == 0) return false;
    return find_by_place(call, place, argument) || (keyword != NULL && find_by_keyword(call, keyword, argument));
}

bool ons_call_integer(const ons_exporter_call *call, uint32_t place, const char *keyword, int64_t *value) {
    enum { DIGITS_MAX = 18 };
    ons_exporter_call text;
    if (!ons_call_argument(call, place, keyword, &text)) return false;
    bool negative = text.size > 0 && text.text[0] == '-';
    size_t at = negative ? 1 : 0;
    if (at == text.size || text.size - at > DIGITS_MAX) return false;
    int64_t number = 0;
    for (; at < text.size; ++at) {
        if (!isdigit((unsigned char)text.text[at])) return false;
        number = number * 10 + (text.text[at] - '0');
    }
    *value = negative ? -number : number;
    return true;
}

bool ons_call_is_true(const ons_exporter_call *call, uint32_t place, const char *keyword) {
    ons_exporter_call text;
    return ons_call_argument(call, place, keyword, &text) && text.size == 4 && memcmp(text.text, "True", 4) == 0;
}

bool ons_call_next_name(const ons_exporter_call *text, size_t *at, ons_exporter_call *name) {
    while (*at < text->size && text->text[*at] != '%') ++*at;
    if (*at >= text->size) return false;
    size_t begin = ++*at;
    while (*at < text->size && (isalnum((unsigned char)text->text[*at]) || text->text[*at] == '_')) ++*at;
    *name = (ons_exporter_call){text->text + begin, *at - begin};
    return true;
}

ons_exporter_call ons_call_arguments(const ons_exporter_call *call) {
    return call->size == 0 ? (ons_exporter_call){"", 0} : behind(call, "](args = (");
}
