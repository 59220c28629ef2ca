/* Measures the links between processes, and puts them into a device profile. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "base/text.h"
#include "engine/config/conditions.h"
#include "engine/config/given.h"
#include "engine/config/profile_list.h"
#include "planner/cost/node_costs.h"
#include "runtime/measure/link_speed.h"

struct ons_link_profile {
    ons_arena *arena;
    bool leads;     /* this process prints, and writes the file */
    bool has_nodes; /* of --profile, which are kept */
    ons_node_costs costs;
    char *text;
};

static ons_status *load_base(const ons_config *config, ons_link_profile *l) {
    l->has_nodes = config->profile != NULL;
    if (l->has_nodes) return ons_node_costs_load(config->profile, l->arena, &l->costs);
    return ons_device_profile_load(ons_config_device_profile(config), l->arena, &l->costs.device);
}

/* The lines about other fields stay. */
static ons_status *note_sources(const ons_link_speeds *s, ons_arena *arena, ons_device_profile *p) {
    char *sources = ons_arena_format(arena, "%s", ""), *kept = sources;
    for (const char *line = p->sources; line != NULL && *line != '\0' && kept != NULL;) {
        size_t length = strcspn(line, "\n");
        bool again = (s->in_host.pairs > 0 && strncmp(line, "link:", 5) == 0) || strncmp(line, "network:", 8) == 0;
        if (!again) kept = ons_arena_format(arena, "%s%.*s\n", kept, (int)length, line);
        line += length + (line[length] == '\n');
    }
    const char *kinds[] = {"link", "network"};
    const ons_link_speed *speeds[] = {&s->in_host, &s->between_hosts};
    for (int i = 0; i < 2 && kept != NULL; ++i)
        if (speeds[i]->pairs > 0)
            kept = ons_arena_format(arena,
                                    "%s%s: measured: messages between processes %s over MPI, the median of %u pair%s\n",
                                    kept, kinds[i], i == 0 ? "of one host" : "of different hosts", speeds[i]->pairs,
                                    speeds[i]->pairs == 1 ? "" : "s");
    p->sources = kept;
    return kept == NULL ? ons_status_out_of_memory() : NULL;
}

/* Links that were not measured stay what the profile says. */
static void put_links(const ons_link_speeds *s, uint32_t host_ranks, ons_device_profile *p) {
    if (s->in_host.pairs > 0) {
        p->link_bandwidth = s->in_host.bandwidth;
        p->link_latency = s->in_host.latency;
        p->link_eager_bytes = s->in_host.eager_bytes;
    }
    if (s->between_hosts.pairs == 0) return;
    p->node_devices = host_ranks;
    p->network_bandwidth = s->between_hosts.bandwidth;
    p->network_latency = s->between_hosts.latency;
    p->network_eager_bytes = s->between_hosts.eager_bytes;
}

static void describe(const char *where, const ons_link_speed *s, FILE *out) {
    if (s->pairs == 0) return;
    fprintf(out, "%s: %.4g MB/s after %.1f us", where, s->bandwidth * 1e-6, s->latency * 1e6);
    if (s->eager_bytes > 0) fprintf(out, "; messages of up to %" PRId64 " bytes leave without asking", s->eager_bytes);
    if (s->pairs == 1)
        fputs("; one pair\n", out);
    else
        fprintf(out, "; the median of %u pairs, the slowest %.4g MB/s (ranks %u and %u)\n", s->pairs, s->slowest * 1e-6,
                s->slowest_ranks[0], s->slowest_ranks[1]);
}

static ons_status *describe_all(const ons_transport *t, const ons_link_speeds *s, ons_link_profile *l) {
    size_t size;
    FILE *out = open_memstream(&l->text, &size);
    if (out == NULL) return ons_status_out_of_memory();
    fprintf(out, "links between %u processes, %u of them on the fullest host, into device profile %s\n", t->ranks,
            t->host_ranks, l->costs.device.name);
    describe("on one host", &s->in_host, out);
    describe("between hosts", &s->between_hosts, out);
    return ons_text_close(out, &l->text);
}

/* What the leading process does without the others. */
static ons_status *lead(const ons_config *config, ons_transport *t, const ons_link_speeds *s, ons_link_profile *l) {
    ONS_TRY(load_base(config, l));
    put_links(s, t->host_ranks, &l->costs.device);
    ONS_TRY(note_sources(s, l->arena, &l->costs.device));
    return describe_all(t, s, l);
}

/* One process's failure is everybody's, and told once. */
static ons_status *share(ons_transport *t, ons_status *status) {
    if (status != NULL) t->fail(t, status);
    char nothing = 0, *all = calloc(t->ranks, 1);
    if (all != NULL) t->gather(t, &nothing, all, 1);
    free(all);
    ons_status *first = t->failure(t);
    if (first == NULL) return status;
    ons_status_free(status);
    if (t->tells(t)) return first;
    ons_status *silent = ons_status_new(ons_status_get_code(first), "%s", "");
    ons_status_free(first);
    return silent;
}

static ons_status *measure(const ons_config *config, ons_link_profile *l) {
    ons_transport *t;
    ons_link_speeds speeds;
    uint32_t ranks;
    bool launched = ons_mpi_is_launched(&ranks);
    ONS_CHECK(
        launched && ranks > 1, ONS_INVALID_ARGUMENT,
        "--links measures between processes, and %s: start one for each device, as in mpirun -n 2 onstage profile "
        "--links -o profile.json",
        launched ? "there is only this one" : "this one was not started by mpirun or Slurm");
    ONS_TRY(ons_mpi_transport_new(ONS_SILENCE_SECONDS, &t));
    ons_status *status = ons_link_speeds_measure(t, &speeds);
    l->leads = t->rank == 0;
    if (status == NULL && l->leads) status = lead(config, t, &speeds, l);
    status = share(t, status);
    t->free(t);
    return status;
}

ons_status *ons_link_profile_measure(const ons_config *config, ons_link_profile **result) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(config, "config");
    ONS_GIVEN(result, "profile");
    ONS_CHECK(config->links, ONS_INVALID_ARGUMENT, "which model? Give MODEL.onnx, or --links, which measures none");
    ONS_TRY(ons_config_check_conditions(config, ONS_COMMAND_PROFILE));
    ONS_CHECK(!ons_profile_list_is_given(config), ONS_INVALID_ARGUMENT,
              "--links beside --profile %s: links are put into one profile; name it alone", config->profile);
    ons_link_profile *l = calloc(1, sizeof *l);
    if (l == NULL) return ons_status_out_of_memory();
    l->arena = ons_arena_new();
    ons_status *status = l->arena == NULL ? ons_status_out_of_memory() : measure(config, l);
    if (status != NULL) {
        ons_link_profile_free(l);
        return status;
    }
    *result = l;
    return NULL;
}

const char *ons_link_profile_text(const ons_link_profile *l) { return l == NULL || l->text == NULL ? "" : l->text; }

ons_status *ons_link_profile_write(const ons_link_profile *l, const char *path) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(l, "profile");
    ONS_GIVEN(path, "path");
    if (!l->leads) return NULL;
    char *text;
    ONS_TRY(l->has_nodes ? ons_node_costs_print(&l->costs, &text) : ons_device_profile_print(&l->costs.device, &text));
    ons_status *status = ons_file_write_text(path, text);
    free(text);
    return status;
}

void ons_link_profile_free(ons_link_profile *l) {
    if (l == NULL) return;
    ons_arena_free(l->arena);
    free(l->text);
    free(l);
}
