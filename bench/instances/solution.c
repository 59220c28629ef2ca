#include "bench/instances/solution.h"

#include <stdio.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------------------- stages */

static ons_status *take_recomputed(const instance *in, const ons_json *o, uint32_t stage, solution *s) {
    const ons_json *array = ons_json_find(o, "recompute"), *each;
    cJSON_ArrayForEach(each, array) {
        const ons_json *name = cJSON_IsObject(each) ? ons_json_find(each, "tensor") : each;
        uint32_t t = cJSON_IsString(name) ? ons_map_get(&in->tensor_of, name->valuestring) : ONS_MAP_ABSENT;
        ONS_CHECK(t != ONS_MAP_ABSENT, ONS_INVALID_DATA, "'recompute' names a tensor that is not there");
        uint32_t producer = in->tensors[t].producer;
        ONS_CHECK(producer != NOBODY && s->stage_of[producer] == stage, ONS_INVALID_DATA,
                  "'recompute': the stage does not make '%s'", in->tensors[t].name);
        s->recomputed[t] = true;
    }
    return NULL;
}

/* The position of a node of the stage that the swap names. */
static ons_status *take_position(const instance *in, const ons_json *o, const char *name, uint32_t stage,
                                 const solution *s, uint32_t *position) {
    const char *text;
    ONS_TRY(ons_json_get_text(o, name, &text));
    uint32_t node = ons_map_get(&in->node_of, text);
    ONS_CHECK(node != ONS_MAP_ABSENT && s->stage_of[node] == stage, ONS_INVALID_DATA,
              "'swap': '%s' names no node of the stage", name);
    *position = s->position_of[node];
    return NULL;
}

/* A node cannot wait for a copy that begins behind it, or for results that are read later. */
static ons_status *check_gone(const instance *in, const solution *s, const solution_swap *swap, uint32_t stage) {
    const graph_tensor *t = &in->tensors[swap->tensor];
    uint32_t last = swap->out_after;
    for (uint32_t i = 0; i < t->readers.count; ++i) {
        uint32_t node = t->readers.items[i];
        if (s->stage_of[node] == stage && s->position_of[node] > last) last = s->position_of[node];
    }
    ONS_CHECK(swap->gone_before == NOBODY || swap->gone_before > last, ONS_INVALID_DATA,
              "'swap': 'gone_before' of '%s' is a node in front of 'out_after', or that reads it", t->name);
    return NULL;
}

static ons_status *take_swap(const instance *in, const ons_json *o, uint32_t stage, solution *s, solution_swap *swap) {
    const char *name;
    ONS_TRY(ons_json_get_text(o, "tensor", &name));
    swap->tensor = ons_map_get(&in->tensor_of, name);
    ONS_CHECK(swap->tensor != ONS_MAP_ABSENT, ONS_INVALID_DATA, "'swap' names a tensor that is not there");
    const graph_tensor *t = &in->tensors[swap->tensor];
    bool saved = false;
    ONS_TRY(take_position(in, o, "out_after", stage, s, &swap->out_after));
    ONS_TRY(take_position(in, o, "in_before", stage, s, &swap->in_before));
    swap->gone_before = NOBODY;
    if (ons_json_find(o, "gone_before") != NULL)
        ONS_TRY(take_position(in, o, "gone_before", stage, s, &swap->gone_before));
    for (uint32_t i = 0; i < t->savers.count; ++i) {
        uint32_t node = t->savers.items[i];
        if (s->stage_of[node] != stage) continue;
        saved = true;
        ONS_CHECK(s->position_of[node] <= swap->in_before, ONS_INVALID_DATA,
                  "'swap': '%s' comes back behind the backward part of '%s', which needs it", name,
                  in->nodes[node].name);
    }
    ONS_CHECK(saved && !s->recomputed[swap->tensor], ONS_INVALID_DATA,
              "'swap': the stage does not keep '%s' for its backward part", name);
    bool made_here = t->producer != NOBODY && s->stage_of[t->producer] == stage;
    ONS_CHECK(!made_here || s->position_of[t->producer] <= swap->out_after, ONS_INVALID_DATA,
              "'swap': '%s' leaves before it is made", name);
    return check_gone(in, s, swap, stage);
}

static ons_status *take_swaps(const instance *in, const ons_json *o, uint32_t number, ons_arena *arena, solution *s) {
    const ons_json *array = ons_json_find(o, "swap"), *each;
    solution_stage *stage = &s->stages[number];
    if (cJSON_GetArraySize(array) == 0) return NULL;
    ONS_CHECK(in->host_bandwidth > 0, ONS_INVALID_DATA, "'swap': there is no host to copy to in this problem");
    ONS_NEW(stage->swaps, arena, (size_t)cJSON_GetArraySize(array));
    cJSON_ArrayForEach(each, array) {
        solution_swap *swap = &stage->swaps[stage->swap_count];
        ONS_TRY(take_swap(in, each, number, s, swap));
        for (uint32_t i = 0; i < stage->swap_count; ++i)
            ONS_CHECK(stage->swaps[i].tensor != swap->tensor, ONS_INVALID_DATA, "'swap' names '%s' twice",
                      in->tensors[swap->tensor].name);
        ++stage->swap_count;
    }
    return NULL;
}

static ons_status *take_node(const instance *in, uint32_t node, uint32_t number, solution *s) {
    solution_stage *stage = &s->stages[number];
    ONS_CHECK(s->stage_of[node] == NOBODY, ONS_INVALID_DATA, "node '%s' is there twice", in->nodes[node].name);
    s->stage_of[node] = number;
    s->position_of[node] = stage->nodes.count;
    stage->nodes.items[stage->nodes.count++] = node;
    return NULL;
}

static ons_status *take_names(const instance *in, const ons_json *o, uint32_t number, ons_arena *arena, solution *s) {
    const ons_json *names, *each;
    ONS_TRY(ons_json_get_array(o, "names", &names));
    ONS_NEW(s->stages[number].nodes.items, arena, (size_t)cJSON_GetArraySize(names) + 1);
    cJSON_ArrayForEach(each, names) {
        uint32_t node = cJSON_IsString(each) ? ons_map_get(&in->node_of, each->valuestring) : ONS_MAP_ABSENT;
        ONS_CHECK(node != ONS_MAP_ABSENT, ONS_INVALID_DATA, "'names' has a node that is not there");
        ONS_TRY(take_node(in, node, number, s));
    }
    return NULL;
}

/* As plans have it whose stages are stretches of the file's order. */
static ons_status *take_stretch(const instance *in, const ons_json *o, uint32_t number, ons_arena *arena, solution *s) {
    const char *name;
    int64_t count;
    ONS_TRY(ons_json_get_text(o, "first_node", &name));
    ONS_TRY(ons_json_get_int(o, "nodes", &count));
    uint32_t first = ons_map_get(&in->node_of, name);
    ONS_CHECK(first != ONS_MAP_ABSENT && count > 0 && count <= in->node_count - first, ONS_INVALID_DATA,
              "'first_node' and 'nodes' are no stretch of the graph's nodes");
    ONS_NEW(s->stages[number].nodes.items, arena, (size_t)count);
    for (uint32_t i = 0; i < count; ++i) ONS_TRY(take_node(in, first + i, number, s));
    return NULL;
}

static ons_status *take_number(const ons_json *o, const char *name, uint32_t most, uint32_t *number) {
    int64_t value = 1;
    if (ons_json_find(o, name) != NULL) ONS_TRY(ons_json_get_int(o, name, &value));
    ONS_CHECK(value >= 1 && value <= most, ONS_INVALID_DATA, "'%s' is not from 1 to %u", name, most);
    *number = (uint32_t)value;
    return NULL;
}

static ons_status *take_place(const instance *in, const ons_json *o, solution *s, solution_stage *stage) {
    int64_t device;
    ONS_TRY(ons_json_get_int(o, "device", &device));
    ONS_TRY(take_number(o, "micro_batch", in->most_at_once, &stage->at_once));
    ONS_TRY(take_number(o, "replicas", in->copies_of_a_stage, &stage->copies));
    ONS_CHECK(device >= 0 && device + stage->copies <= in->devices, ONS_INVALID_DATA, "there is no device %ld",
              (long)(device + stage->copies - 1));
    ONS_CHECK(in->micro_batches % (stage->at_once * stage->copies) == 0, ONS_INVALID_DATA,
              "%u micro-batches do not go into %u at once on %u devices", in->micro_batches, stage->at_once,
              stage->copies);
    stage->device = (uint32_t)device;
    if (stage->copies > s->most_copies) s->most_copies = stage->copies;
    return NULL;
}

static ons_status *take_stage(const instance *in, const ons_json *o, ons_arena *arena, solution *s) {
    uint32_t number = s->stage_count++;
    solution_stage *stage = &s->stages[number];
    ONS_TRY(take_place(in, o, s, stage));
    if (ons_json_find(o, "names") == NULL && ons_json_find(o, "first_node") != NULL)
        ONS_TRY(take_stretch(in, o, number, arena, s));
    else
        ONS_TRY(take_names(in, o, number, arena, s));
    ONS_CHECK(stage->nodes.count > 0, ONS_INVALID_DATA, "a stage without nodes");
    ONS_TRY(take_recomputed(in, o, number, s));
    return take_swaps(in, o, number, arena, s);
}

static ons_status *check_numbers(const instance *in, const solution *s) {
    for (uint32_t d = 0; d < in->devices && in->stages_of_a_device > 0; ++d) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < s->stage_count; ++i) count += solution_holds(&s->stages[i], d);
        ONS_CHECK(count <= in->stages_of_a_device, ONS_INVALID_DATA, "device %u has %u stages, and may have %u", d,
                  count, in->stages_of_a_device);
    }
    return NULL;
}

/* The sum over copies is of one stage; a weight of two stages would have two. */
static ons_status *check_shared(const instance *in, const solution *s) {
    for (uint32_t i = 0; i < in->weight_count; ++i) {
        const graph_weight *w = &in->weights[i];
        for (uint32_t k = 1; k < w->users.count && w->gradient_bytes > 0; ++k) {
            uint32_t first = s->stage_of[w->users.items[0]], other = s->stage_of[w->users.items[k]];
            ONS_CHECK(first == other || (s->stages[first].copies == 1 && s->stages[other].copies == 1),
                      ONS_INVALID_DATA, "stages %u and %u train the same weight, and have copies", first, other);
        }
    }
    return NULL;
}

/* Whatever makes a tensor comes before what reads it, in its stage or in one that never waits for the reader's. */
static ons_status *check_order_in_stages(const instance *in, const solution *s, bool *waits) {
    for (uint32_t i = 0; i < in->tensor_count; ++i) {
        const graph_tensor *t = &in->tensors[i];
        const number_list uses[] = {t->readers, t->savers};
        for (uint32_t k = 0; k < 2 && t->producer != NOBODY; ++k)
            for (uint32_t u = 0; u < uses[k].count; ++u) {
                uint32_t user = uses[k].items[u], from = s->stage_of[t->producer], to = s->stage_of[user];
                if (from != to) waits[(size_t)to * s->stage_count + from] = true;
                ONS_CHECK(from != to || user == t->producer || s->position_of[user] > s->position_of[t->producer],
                          ONS_INVALID_DATA, "node '%s' stands in front of '%s', which it reads", in->nodes[user].name,
                          in->nodes[t->producer].name);
            }
    }
    return NULL;
}

static ons_status *check_circles(const solution *s, const bool *waits, ons_arena *arena) {
    bool *gone, going = true;
    ONS_NEW(gone, arena, s->stage_count);
    uint32_t left = s->stage_count;
    while (going) {
        going = false;
        for (uint32_t i = 0; i < s->stage_count; ++i) {
            bool free = !gone[i];
            for (uint32_t k = 0; k < s->stage_count && free; ++k)
                free = gone[k] || !waits[(size_t)i * s->stage_count + k];
            if (!free) continue;
            gone[i] = going = true;
            --left;
        }
    }
    ONS_CHECK(left == 0, ONS_INVALID_DATA, "%u stages wait for each other in a circle", left);
    return NULL;
}

static ons_status *take_stages(const instance *in, const ons_json *array, ons_arena *arena, solution *s) {
    const ons_json *each;
    size_t count = (size_t)cJSON_GetArraySize(array);
    bool *waits;
    ONS_NEW(s->stages, arena, count + 1);
    ONS_NEW(s->stage_of, arena, in->node_count);
    ONS_NEW(s->position_of, arena, in->node_count);
    ONS_NEW(s->recomputed, arena, in->tensor_count);
    ONS_CHECK(count <= in->node_count, ONS_INVALID_DATA, "more stages than nodes");
    ONS_NEW(waits, arena, count * count);
    for (uint32_t i = 0; i < in->node_count; ++i) s->stage_of[i] = NOBODY;
    cJSON_ArrayForEach(each, array) ONS_TRY_AT(take_stage(in, each, arena, s), "stages[%u]", s->stage_count);
    for (uint32_t i = 0; i < in->node_count; ++i)
        ONS_CHECK(s->stage_of[i] != NOBODY, ONS_INVALID_DATA, "node '%s' is in no stage", in->nodes[i].name);
    ONS_TRY(check_numbers(in, s));
    ONS_TRY(check_shared(in, s));
    ONS_TRY(check_order_in_stages(in, s, waits));
    return check_circles(s, waits, arena);
}

/* ---------------------------------------------------------------------------------------------------------- actions */

typedef struct said {
    bool forward, input, weight; /* of a micro-batch */
} said;

/* "2F0", of a copy "2.1F0", or several one after another, "2F0-3". */
static bool read_action(const char *text, solution_action *a, uint32_t *last) {
    int end = 0, more = 0;
    *a = (solution_action){0};
    if (sscanf(text, "%u%n", &a->stage, &end) != 1) return false;
    text += end;
    if (sscanf(text, ".%u%n", &a->copy, &more) == 1) text += more;
    if (sscanf(text, "%c%u%n", &a->kind, &a->micro_batch, &end) != 2) return false;
    text += end;
    *last = a->micro_batch;
    more = 0;
    if (sscanf(text, "-%u%n", last, &more) == 1) text += more;
    return *text == '\0' && strchr("FBIWU", a->kind) != NULL && *last >= a->micro_batch;
}

static ons_status *say(const instance *in, const solution *s, const solution_action *a, said *all, bool *updated) {
    const solution_stage *stage = &s->stages[a->stage];
    said *of_stage = &all[(size_t)a->stage * in->micro_batches], *m = &of_stage[solution_number(s, a)];
    bool *is_updated = &updated[(size_t)a->stage * s->most_copies + a->copy];
    bool fits = !*is_updated;
    if (a->kind == 'F') fits = fits && !m->forward, m->forward = true;
    if (a->kind == 'B') fits = fits && m->forward && !m->input && !m->weight, m->input = m->weight = true;
    if (a->kind == 'I') fits = fits && m->forward && !m->input, m->input = true;
    if (a->kind == 'W') fits = fits && m->input && !m->weight, m->weight = true;
    if (a->kind == 'U') {
        *is_updated = true;
        for (uint32_t i = a->copy; i < solution_micro_batches(in, stage); i += stage->copies)
            fits = fits && of_stage[i].weight;
    }
    ONS_CHECK(fits, ONS_INVALID_DATA, "action %u%c%u comes twice, or in front of what it needs", a->stage, a->kind,
              a->micro_batch);
    return NULL;
}

static bool is_there(const instance *in, const solution *s, const solution_action *a, uint32_t last) {
    if (a->stage >= s->stage_count) return false;
    const solution_stage *stage = &s->stages[a->stage];
    return a->copy < stage->copies && last < solution_micro_batches(in, stage) / stage->copies;
}

static ons_status *take_list(const instance *in, const ons_json *array, uint32_t device, ons_arena *arena, solution *s,
                             said *all, bool *updated) {
    solution_actions *list = &s->lists[device];
    const ons_json *each;
    ONS_NEW(list->items, arena, (size_t)s->stage_count * (3 * (size_t)in->micro_batches + 1));
    cJSON_ArrayForEach(each, array) {
        solution_action a;
        uint32_t last;
        ONS_CHECK(cJSON_IsString(each) && read_action(each->valuestring, &a, &last) && is_there(in, s, &a, last),
                  ONS_INVALID_DATA, "'%s' is no action", cJSON_IsString(each) ? each->valuestring : "");
        ONS_CHECK(solution_device(s, &a) == device, ONS_INVALID_DATA, "'%s' is in the list of device %u",
                  each->valuestring, device);
        for (; a.micro_batch <= last; ++a.micro_batch) {
            ONS_TRY(say(in, s, &a, all, updated));
            list->items[list->count++] = a;
        }
    }
    return NULL;
}

static ons_status *take_actions(const instance *in, const ons_json *array, ons_arena *arena, solution *s) {
    const ons_json *each;
    said *all;
    bool *updated;
    uint32_t device = 0;
    ONS_CHECK(cJSON_GetArraySize(array) <= (int)in->devices, ONS_INVALID_DATA, "'actions' has more lists than devices");
    ONS_NEW(s->lists, arena, in->devices);
    ONS_NEW(all, arena, (size_t)s->stage_count * in->micro_batches);
    ONS_NEW(updated, arena, (size_t)s->stage_count * s->most_copies);
    cJSON_ArrayForEach(each, array) {
        ONS_TRY_AT(take_list(in, each, device, arena, s, all, updated), "actions[%u]", device);
        ++device;
    }
    for (uint32_t i = 0; i < s->stage_count; ++i)
        for (uint32_t c = 0; c < s->stages[i].copies; ++c)
            ONS_CHECK(updated[(size_t)i * s->most_copies + c], ONS_INVALID_DATA,
                      "stage %u is not updated after all its micro-batches", i);
    return NULL;
}

static ons_status *take_solution(const instance *in, const ons_json *json, ons_arena *arena, solution *s) {
    const ons_json *stages, *actions, *decisions = ons_json_find(json, "decisions");
    if (decisions != NULL) json = decisions;
    *s = (solution){0};
    ONS_TRY(ons_json_get_array(json, "stages", &stages));
    ONS_TRY(ons_json_get_array(json, "actions", &actions));
    ONS_TRY(take_stages(in, stages, arena, s));
    return take_actions(in, actions, arena, s);
}

ons_status *solution_parse(const instance *in, const void *bytes, size_t size, ons_arena *arena, solution *s) {
    ons_json *json;
    ONS_TRY(ons_json_parse_names(bytes, size, &json));
    ons_status *status = take_solution(in, json, arena, s);
    ons_json_free(json);
    return status;
}
