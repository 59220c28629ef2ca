#include "planner/schedule/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char halves[] = "/2"; /* behind a forward part's micro-batch; PyTorch's files have none */

/* A stretch of the file. */
typedef struct span {
    const char *at, *end;
} span;

typedef struct reader {
    span rest;
    uint32_t line, column; /* from 1; columns are cells */
    ons_action *actions;   /* of all devices, one after the other */
    uint32_t count;
    ons_action_list *lists;
    uint32_t devices;
    uint32_t stages, micro_batches;
} reader;

/* ------------------------------------------------------------------------------------------------------------ cells */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static span trim(span s) {
    while (s.at < s.end && is_blank(*s.at)) ++s.at;
    while (s.at < s.end && is_blank(s.end[-1])) --s.end;
    return s;
}

/* Up to the separator or the end, without blanks around; *rest goes behind it. */
static span take_until(span *rest, char separator) {
    const char *at = rest->at < rest->end ? memchr(rest->at, separator, (size_t)(rest->end - rest->at)) : NULL;
    span part = {rest->at, at == NULL ? rest->end : at};
    rest->at = at == NULL ? rest->end : at + 1;
    return trim(part);
}

/* false where there is none, or one too large. */
static bool take_number(span *s, uint32_t *number) {
    uint64_t value = 0;
    const char *start = s->at;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; ++s->at) {
        value = 10 * value + (uint64_t)(*s->at - '0');
        if (value >= UINT32_MAX) return false;
    }
    *number = (uint32_t)value;
    return s->at > start;
}

static bool is_word(span s, const char *word) {
    size_t length = strlen(word);
    return (size_t)(s.end - s.at) == length && memcmp(s.at, word, length) == 0;
}

static span take_word(span *s) {
    span word = {s->at, s->at};
    while (word.end < s->end && ((*word.end >= 'A' && *word.end <= 'Z') || *word.end == '_')) ++word.end;
    s->at = word.end;
    return word;
}

/* What follows from the rest. */
static bool is_implied(span word) {
    static const char *const words[] = {"SEND_F",      "RECV_F",  "SEND_B",  "RECV_B",      "WAIT_SEND_F",
                                        "WAIT_SEND_B", "UNSHARD", "RESHARD", "REDUCE_GRAD", "WAIT_REDUCE_GRAD"};
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
        if (is_word(word, words[i])) return true;
    return false;
}

static const struct {
    const char *word;
    ons_action_kind kind;
} computations[] = {
    {"F", ONS_ACTION_FORWARD},        {"B", ONS_ACTION_BACKWARD},        {"BW", ONS_ACTION_BACKWARD},
    {"I", ONS_ACTION_INPUT_GRADIENT}, {"W", ONS_ACTION_WEIGHT_GRADIENT},
};
enum { COMPUTATIONS = sizeof computations / sizeof *computations };

static void add(reader *r, ons_action action) {
    r->actions[r->count++] = action;
    ++r->lists[r->devices].count;
    if (action.stage >= r->stages) r->stages = action.stage + 1;
    if (action.micro_batch >= r->micro_batches) r->micro_batches = action.micro_batch + 1;
}

static bool read_action(reader *r, span cell) {
    ons_action action = {0};
    span rest = cell;
    if (!take_number(&rest, &action.stage)) return false;
    span word = take_word(&rest);
    bool numbered = rest.at < rest.end;
    if (numbered && !take_number(&rest, &action.micro_batch)) return false;
    bool halved = is_word(rest, halves);
    if (!halved && numbered && rest.at < rest.end) return false;
    if (is_implied(word)) return !halved;
    for (int i = 0; i < COMPUTATIONS; ++i) {
        if (!numbered || !is_word(word, computations[i].word)) continue;
        action.kind = computations[i].kind;
        action.halved = halved;
        if (halved && action.kind != ONS_ACTION_FORWARD) return false;
        add(r, action);
        return true;
    }
    return false;
}

/* "(2F1;0B0)OVERLAP_F_B" */
static bool read_overlap(reader *r, span cell) {
    span rest = {cell.at + 1, cell.end};
    span inside = take_until(&rest, ')');
    if (!is_word(trim(rest), "OVERLAP_F_B")) return false;
    while (inside.at < inside.end)
        if (!read_action(r, take_until(&inside, ';'))) return false;
    return true;
}

static ons_status *read_cell(reader *r, span cell) {
    bool quoted = cell.end - cell.at >= 2 && *cell.at == '"' && cell.end[-1] == '"';
    if (quoted) cell = trim((span){cell.at + 1, cell.end - 1});
    if (cell.at == cell.end) return NULL;
    if (*cell.at == '(' ? read_overlap(r, cell) : read_action(r, cell)) return NULL;
    char copy[64], shown[ONS_SHOWN_BYTES];
    snprintf(copy, sizeof copy, "%.*s", (int)(cell.end - cell.at < 40 ? cell.end - cell.at : 40), cell.at);
    return ons_status_new(ONS_INVALID_DATA,
                          "line %u, column %u: '%s' is no action; they look like \"2F0\": stage, F, B, I or W, "
                          "micro-batch",
                          r->line, r->column, ons_shown(copy, shown));
}

/* ------------------------------------------------------------------------------------------------------------ lines */

static ons_status *read_line(reader *r, span line) {
    uint32_t before = r->count;
    r->lists[r->devices].items = r->actions + r->count;
    for (r->column = 1; line.at < line.end; ++r->column) ONS_TRY(read_cell(r, take_until(&line, ',')));
    ONS_CHECK(r->count > before, ONS_INVALID_DATA,
              "line %u has no computation: a device without a stage has nothing to do; take the line out", r->line);
    ++r->devices;
    return NULL;
}

/* As many lines, and as many actions, as there can be. */
static ons_status *make_room(reader *r, ons_arena *arena) {
    size_t lines = 1, actions = 1;
    for (const char *c = r->rest.at; c < r->rest.end; ++c) {
        lines += *c == '\n';
        actions += *c == '\n' || *c == ',' || *c == ';';
    }
    ONS_CHECK(actions < UINT32_MAX / 16, ONS_INVALID_DATA, "a file of %zu cells is no schedule", actions);
    ONS_NEW(r->lists, arena, lines);
    ONS_NEW(r->actions, arena, actions);
    return NULL;
}

static ons_status *read_lines(reader *r, ons_arena *arena) {
    static const char mark[] = "\xef\xbb\xbf"; /* that some programs put in front of UTF-8 */
    if (r->rest.end - r->rest.at >= 3 && memcmp(r->rest.at, mark, 3) == 0) r->rest.at += 3;
    ONS_TRY(make_room(r, arena));
    for (r->line = 1; r->rest.at < r->rest.end; ++r->line) {
        span line = take_until(&r->rest, '\n');
        if (line.at == line.end || *line.at == '#') continue;
        ONS_TRY(read_line(r, line));
    }
    ONS_CHECK(r->devices > 0, ONS_INVALID_DATA, "there is no line with actions; each device has one");
    /* Before room is taken for so many; what is missing of fewer is named by those who look closer. */
    ONS_CHECK((uint64_t)r->stages * r->micro_batches <= r->count, ONS_INVALID_DATA,
              "stage %u and micro-batch %u are named, and %u actions are too few for %u stages and %u micro-batches, "
              "each of which has a forward part and a gradient in every stage",
              r->stages - 1, r->micro_batches - 1, r->count, r->stages, r->micro_batches);
    return NULL;
}

/* Earlier files have BW for the whole backward part, and B for input gradients: where there is a W as well. */
static ons_status *settle_gradients(const reader *r, ons_arena *arena) {
    bool *apart; /* [stage · micro_batches + micro-batch] */
    ONS_NEW(apart, arena, (size_t)r->stages * r->micro_batches);
    for (uint32_t i = 0; i < r->count; ++i) {
        const ons_action *a = &r->actions[i];
        if (a->kind == ONS_ACTION_WEIGHT_GRADIENT) apart[(size_t)a->stage * r->micro_batches + a->micro_batch] = true;
    }
    for (uint32_t i = 0; i < r->count; ++i) {
        ons_action *a = &r->actions[i];
        bool divided = apart[(size_t)a->stage * r->micro_batches + a->micro_batch];
        if (a->kind == ONS_ACTION_BACKWARD && divided) a->kind = ONS_ACTION_INPUT_GRADIENT;
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- updates */

static bool makes_weight_gradient(const ons_action *a) {
    return a->kind == ONS_ACTION_BACKWARD || a->kind == ONS_ACTION_WEIGHT_GRADIENT;
}

/* The update of each stage behind its last gradient. */
static ons_status *add_updates(const reader *r, ons_arena *arena, ons_schedule *s) {
    const ons_action **last; /* [stage] */
    ONS_NEW(last, arena, s->stages);
    ONS_NEW(s->lists, arena, s->devices);
    for (uint32_t i = 0; i < r->count; ++i)
        if (makes_weight_gradient(&r->actions[i])) last[r->actions[i].stage] = &r->actions[i];
    for (uint32_t device = 0; device < s->devices; ++device) {
        const ons_action_list *from = &r->lists[device];
        ons_action_list *to = &s->lists[device];
        ONS_NEW(to->items, arena, 2 * (size_t)from->count);
        for (uint32_t i = 0; i < from->count; ++i) {
            const ons_action *a = &from->items[i];
            to->items[to->count++] = *a;
            if (last[a->stage] == a)
                to->items[to->count++] =
                    (ons_action){.kind = ONS_ACTION_UPDATE, .stage = a->stage, .micro_batch = s->micro_batches - 1};
        }
    }
    return NULL;
}

ons_status *ons_schedule_parse_csv(const char *text, size_t size, ons_arena *arena, ons_schedule *schedule) {
    reader r = {.rest = {text, text + size}};
    ONS_TRY(read_lines(&r, arena));
    ONS_TRY(settle_gradients(&r, arena));
    *schedule = (ons_schedule){.stages = r.stages, .devices = r.devices, .micro_batches = r.micro_batches};
    ONS_TRY(add_updates(&r, arena, schedule));
    ONS_TRY(ons_schedule_put_updates_last(schedule, arena));
    ONS_TRY(ons_schedule_take(schedule, arena));
    const ons_stage_edges none = {.count = 0};
    return ons_schedule_verify(schedule, &none, arena);
}

/* ---------------------------------------------------------------------------------------------------------- writing */

static const char *word_of(ons_action_kind kind) {
    for (int i = 0; i < COMPUTATIONS; ++i)
        if (computations[i].kind == kind) return computations[i].word;
    return NULL;
}

ons_status *ons_schedule_print_csv(const ons_schedule *s, char **text) {
    size_t length;
    ONS_CHECK(!s->asynchronous, ONS_UNSUPPORTED,
              "an asynchronous schedule has updates between micro-batches, which PyTorch's files cannot say");
    ONS_CHECK(!ons_schedule_is_grouped(s), ONS_UNSUPPORTED,
              "stages have micro-batches or replicas of their own, which PyTorch's files cannot say");
    FILE *out = open_memstream(text, &length);
    if (out == NULL) return ons_status_out_of_memory();
    for (uint32_t device = 0; device < s->devices; ++device) {
        const char *comma = "";
        for (uint32_t i = 0; i < s->lists[device].count; ++i) {
            const ons_action *a = &s->lists[device].items[i];
            const char *word = word_of(a->kind);
            if (word == NULL) continue;
            fprintf(out, "%s%u%s%u%s", comma, a->stage, word, a->micro_batch, a->halved ? halves : "");
            comma = ",";
        }
        fputc('\n', out);
    }
    return ons_text_close(out, text);
}
