/* PipeDream's graph.txt (profiler/torchmodules/torchgraph of github.com/msr-fiddle/pipedream): a line for every node,
 * then one for every edge:
 *
 *   node2 -- Conv2d(3, 64) -- forward_compute_time=2.5, backward_compute_time=5.1, activation_size=4096.0,
 *                                                                     parameter_size=1024.0[ -- stage_id=0]
 *       (a tab) node1 -- node2
 *
 * Times are in milliseconds, sizes in bytes; a node with several results gives "[4096.0; 128.0]". What the file does
 * not say is assumed as docs/cost_graph.md tells.
 */
#include <stdlib.h>

#include "base/map.h"
#include "base/text.h"
#include "base/vector.h"
#include "planner/cost/cost_file_formats.h"

typedef struct text_span {
    const char *at;
    size_t size;
} text_span;

typedef struct profile_edge {
    uint32_t from, to;
} profile_edge;

typedef struct profile_reader {
    ons_arena *arena;
    ons_map names;
    ONS_VECTOR(ons_work_node) nodes;
    ONS_VECTOR(int64_t) activations; /* of each node */
    ONS_VECTOR(int64_t) parameters;
    ONS_VECTOR(profile_edge) edges;
} profile_reader;

static const char separator[] = " -- ";

/* Cuts off what stands before the first `mark`; false where there is none. */
static bool split(text_span *rest, const char *mark, text_span *before) {
    const char *found = memmem(rest->at, rest->size, mark, strlen(mark));
    if (found == NULL) return false;
    *before = (text_span){rest->at, (size_t)(found - rest->at)};
    size_t used = before->size + strlen(mark);
    *rest = (text_span){rest->at + used, rest->size - used};
    return true;
}

static text_span trim(text_span s) {
    while (s.size > 0 && strchr(" \t\r", s.at[0]) != NULL && s.at[0] != '\0') ++s.at, --s.size;
    while (s.size > 0 && strchr(" \t\r", s.at[s.size - 1]) != NULL && s.at[s.size - 1] != '\0') --s.size;
    return s;
}

static bool begins_with(text_span s, const char *word) {
    return s.size >= strlen(word) && memcmp(s.at, word, strlen(word)) == 0;
}

static ons_status *copy(ons_arena *arena, text_span s, const char **text) {
    char *made;
    for (size_t i = 0; i < s.size; ++i)
        ONS_CHECK(!ons_is_control(s.at + i, s.size - i), ONS_INVALID_DATA, "a control character inside a name");
    ONS_NEW(made, arena, s.size + 1);
    memcpy(made, s.at, s.size);
    *text = made;
    return NULL;
}

/* The whole of `s` is one number. */
static bool to_number(text_span s, double *value) {
    char text[64], *end;
    s = trim(s);
    if (s.size == 0 || s.size >= sizeof text) return false;
    memcpy(text, s.at, s.size);
    text[s.size] = '\0';
    *value = strtod(text, &end);
    return end == text + s.size;
}

/* A number, or the sum of a list. */
static bool to_sum(text_span s, double *sum) {
    s = trim(s);
    if (s.size < 2 || s.at[0] != '[') return to_number(s, sum);
    if (s.at[s.size - 1] != ']') return false;
    text_span rest = {s.at + 1, s.size - 2}, one;
    *sum = 0;
    for (bool more = true; more;) {
        double value;
        more = split(&rest, ";", &one);
        if (!to_number(more ? one : rest, &value)) return false;
        *sum += value;
    }
    return true;
}

/* The text behind "name=", up to the next comma, the separator or the end. */
static ons_status *read_field(text_span costs, const char *name, double *value) {
    text_span before, cut, rest, field = costs;
    ONS_CHECK(split(&field, name, &before) && field.size > 0 && field.at[0] == '=', ONS_INVALID_DATA, "'%s' is missing",
              name);
    ++field.at, --field.size;
    rest = field;
    if (split(&rest, separator, &cut)) field = cut;
    rest = field;
    if (split(&rest, ",", &cut)) field = cut;
    field = trim(field);
    ONS_CHECK(to_sum(field, value), ONS_INVALID_DATA, "'%s' is '%.*s', which is no number", name,
              (int)(field.size < 40 ? field.size : 40), field.at);
    return NULL;
}

static ons_status *read_time(text_span costs, const char *name, double *seconds) {
    ONS_TRY(read_field(costs, name, seconds));
    *seconds /= 1000;
    ONS_CHECK(ons_cost_file_is_time(*seconds), ONS_INVALID_DATA, "'%s' is negative or not finite", name);
    return NULL;
}

static ons_status *read_size(text_span costs, const char *name, int64_t *bytes) {
    double value;
    ONS_TRY(read_field(costs, name, &value));
    ONS_CHECK(ons_cost_file_to_bytes(value, bytes), ONS_INVALID_DATA, "'%s' is negative, not finite or over 2^53 bytes",
              name);
    return NULL;
}

static ons_status *read_node(profile_reader *r, text_span line) {
    text_span name, kind, costs = line;
    ons_work_node node = {.recomputable = true};
    double forward, backward;
    int64_t activation, parameters;
    ONS_CHECK(split(&costs, separator, &name) && split(&costs, " -- forward_compute_time=", &kind), ONS_INVALID_DATA,
              "neither a node (\"name -- kind -- forward_compute_time=…, backward_compute_time=…, activation_size=…, "
              "parameter_size=…\") nor an edge (a tab, then \"name -- name\")");
    /* The mark itself belongs to the costs. */
    costs.size += strlen("forward_compute_time=");
    costs.at -= strlen("forward_compute_time=");
    ONS_TRY(copy(r->arena, trim(name), &node.name));
    ONS_TRY(copy(r->arena, trim(kind), &node.kind));
    ONS_CHECK(node.name[0] != '\0', ONS_INVALID_DATA, "a node without a name");
    ONS_TRY(read_time(costs, "forward_compute_time", &forward));
    ONS_TRY(read_time(costs, "backward_compute_time", &backward));
    ONS_TRY(read_size(costs, "activation_size", &activation));
    ONS_TRY(read_size(costs, "parameter_size", &parameters));
    if (begins_with(trim(kind),
                    "Input")) { /* data comes to whoever reads it: PipeDream's planner prices it at nothing */
        forward = backward = 0;
        activation = parameters = 0;
    }
    node.forward_seconds = forward;
    node.weight_gradient_seconds = parameters > 0 ? backward / 2 : 0;
    node.input_gradient_seconds = backward - node.weight_gradient_seconds;
    ONS_CHECK(ons_map_get(&r->names, node.name) == ONS_MAP_ABSENT, ONS_INVALID_DATA, "a second node '%s'", node.name);
    ONS_CHECK(r->nodes.count < UINT32_MAX / 4, ONS_UNSUPPORTED, "more nodes than can be numbered");
    ONS_TRY(ons_map_set(&r->names, node.name, (uint32_t)r->nodes.count));
    ONS_PUSH(&r->nodes, node);
    ONS_PUSH(&r->activations, activation);
    ONS_PUSH(&r->parameters, parameters);
    return NULL;
}

static ons_status *find_node(const profile_reader *r, text_span name, uint32_t *node) {
    const char *text;
    ONS_TRY(copy(r->arena, trim(name), &text));
    *node = ons_map_get(&r->names, text);
    ONS_CHECK(*node != ONS_MAP_ABSENT, ONS_INVALID_DATA, "an edge of '%s', but no line above describes that node",
              text);
    return NULL;
}

static ons_status *read_edge(profile_reader *r, text_span line) {
    text_span from, to = line;
    profile_edge edge;
    ONS_CHECK(split(&to, separator, &from), ONS_INVALID_DATA, "no edge: \"name -- name\" is expected after a tab");
    ONS_TRY(find_node(r, from, &edge.from));
    ONS_TRY(find_node(r, to, &edge.to));
    ONS_CHECK(edge.from != edge.to, ONS_INVALID_DATA, "node '%s' reads its own result", r->nodes.items[edge.from].name);
    ONS_CHECK(r->edges.count < UINT32_MAX / 4, ONS_UNSUPPORTED, "more edges than can be numbered");
    ONS_PUSH(&r->edges, edge);
    return NULL;
}

static ons_status *read_lines(profile_reader *r, text_span text) {
    for (size_t number = 1; text.size > 0; ++number) {
        text_span line;
        if (!split(&text, "\n", &line)) {
            line = text;
            text.size = 0;
        }
        if (trim(line).size == 0) continue;
        ONS_TRY_AT(line.at[0] == '\t' ? read_edge(r, line) : read_node(r, line), "line %zu", number);
    }
    return NULL;
}

/* One tensor for every node: its result, which its own stage keeps for the backward part. */
static ons_status *make_tensors(const profile_reader *r, ons_arena *arena, ons_workload *work) {
    uint32_t count = work->node_count, *begin, *place, *readers, *self;
    ONS_NEW(work->tensors, arena, (size_t)count + 1);
    ONS_NEW(begin, arena, (size_t)count + 2);
    ONS_NEW(place, arena, (size_t)count + 1);
    ONS_NEW(self, arena, (size_t)count + 1);
    ONS_NEW(readers, arena, r->edges.count + 1);
    for (size_t i = 0; i < r->edges.count; ++i) ++begin[r->edges.items[i].from + 1];
    for (uint32_t i = 0; i < count; ++i) begin[i + 1] += begin[i];
    memcpy(place, begin, count * sizeof *place);
    for (size_t i = 0; i < r->edges.count; ++i) readers[place[r->edges.items[i].from]++] = r->edges.items[i].to;
    for (uint32_t i = 0; i < count; ++i) {
        self[i] = i;
        work->tensors[i] = (ons_work_tensor){.name = work->nodes[i].name,
                                             .bytes = r->activations.items[i],
                                             .gradient_bytes = r->activations.items[i],
                                             .producer = i,
                                             .readers = readers + begin[i],
                                             .reader_count = begin[i + 1] - begin[i],
                                             .savers = self + i,
                                             .saver_count = 1};
    }
    work->tensor_count = count;
    return NULL;
}

static ons_status *make_weights(const profile_reader *r, ons_arena *arena, ons_workload *work) {
    uint32_t *self;
    ONS_NEW(work->weights, arena, (size_t)work->node_count + 1);
    ONS_NEW(self, arena, (size_t)work->node_count + 1);
    for (uint32_t i = 0; i < work->node_count; ++i) {
        int64_t bytes = r->parameters.items[i];
        self[i] = i;
        if (bytes > 0)
            work->weights[work->weight_count++] = (ons_work_weight){work->nodes[i].name, bytes, bytes, 0, self + i, 1};
    }
    return NULL;
}

static ons_status *make_work(const profile_reader *r, ons_arena *arena, ons_workload *work) {
    ONS_CHECK(r->nodes.count > 0, ONS_INVALID_DATA, "a profile without nodes");
    work->node_count = (uint32_t)r->nodes.count;
    work->samples = 1; /* the file does not say; rates are per micro-batch */
    ONS_NEW(work->nodes, arena, r->nodes.count);
    memcpy(work->nodes, r->nodes.items, r->nodes.count * sizeof *work->nodes);
    ONS_TRY(make_tensors(r, arena, work));
    ONS_TRY(make_weights(r, arena, work));
    return ons_cost_file_layer_each(work, arena);
}

ons_status *ons_cost_file_read_pipedream(const char *text, size_t size, ons_arena *arena, ons_workload *work) {
    profile_reader r = {.arena = arena};
    ons_status *status = read_lines(&r, (text_span){text, size});
    if (status == NULL) status = make_work(&r, arena, work);
    ons_map_free(&r.names);
    ons_vector_free(&r.nodes);
    ons_vector_free(&r.activations);
    ons_vector_free(&r.parameters);
    ons_vector_free(&r.edges);
    return status;
}
