#include "planner/schedule/action_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const codes[ONS_ACTION_COUNT] = {
    [ONS_ACTION_FORWARD] = "F",
    [ONS_ACTION_BACKWARD] = "B",
    [ONS_ACTION_INPUT_GRADIENT] = "I",
    [ONS_ACTION_WEIGHT_GRADIENT] = "W",
    [ONS_ACTION_UPDATE] = "U",
    [ONS_ACTION_SEND_ACTIVATION] = "SA",
    [ONS_ACTION_RECEIVE_ACTIVATION] = "RA",
    [ONS_ACTION_SEND_GRADIENT] = "SG",
    [ONS_ACTION_RECEIVE_GRADIENT] = "RG",
    [ONS_ACTION_ALL_REDUCE] = "AR",
    [ONS_ACTION_SWAP_OUT] = "SO",
    [ONS_ACTION_SWAP_IN] = "SI",
    [ONS_ACTION_RECOMPUTE] = "RC",
};

static const char halves[] = "/2"; /* behind the micro-batch */

const char *ons_action_print(const ons_action *action, char text[static ONS_ACTION_TEXT]) {
    char copy[16] = "";
    if (action->copy > 0) snprintf(copy, sizeof copy, ".%u", action->copy);
    snprintf(text, ONS_ACTION_TEXT, "%u%s%s%u%s", action->stage, copy, codes[action->kind], action->micro_batch,
             action->halved ? halves : "");
    return text;
}

/* A decimal number without sign, spaces or leading zeros. */
static bool read_number(const char **text, uint32_t *number) {
    const char *start = *text;
    uint64_t value = 0;
    for (; **text >= '0' && **text <= '9' && *text - start < 10; ++*text) value = 10 * value + (uint64_t)(**text - '0');
    *number = (uint32_t)value;
    return *text > start && value < UINT32_MAX && (*start != '0' || *text == start + 1);
}

/* The number behind `mark`; without the mark *number stays. */
static bool read_optional(const char **text, char mark, uint32_t *number) {
    if (**text != mark) return true;
    ++*text;
    return read_number(text, number);
}

static bool read_kind(const char **text, ons_action_kind *kind) {
    size_t length = strspn(*text, "ABCFGIORSUW");
    for (int i = 0; i < ONS_ACTION_COUNT; ++i) {
        if (strlen(codes[i]) != length || strncmp(codes[i], *text, length) != 0) continue;
        *kind = (ons_action_kind)i;
        *text += length;
        return true;
    }
    return false;
}

bool ons_action_parse(const char *text, ons_action *action, uint32_t *last) {
    action->copy = 0;
    if (!read_number(&text, &action->stage) || !read_optional(&text, '.', &action->copy)) return false;
    if (!read_kind(&text, &action->kind) || !read_number(&text, &action->micro_batch)) return false;
    *last = action->micro_batch;
    if (!read_optional(&text, '-', last) || *last < action->micro_batch) return false;
    action->halved = action->kind == ONS_ACTION_FORWARD && strcmp(text, halves) == 0;
    return action->halved || *text == '\0';
}
