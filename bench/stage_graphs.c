/* GraphPipe's search on the models of its evaluation, as a page: ./bazelw run //bench:stage_graphs >
 * bench/results/stage_graphs.md. Costs are those of a V100 as its profile states them; nothing is trained. */
#include <stdio.h>

#include "bench/stage_graph_page.h"

void page_at_least(const char *what, double value, double bar) {
    if (value >= bar)
        printf("- %s: %.4f, the bar is at least %.3g: **reached**\n", what, value, bar);
    else
        printf("- %s: %.4f, the bar is at least %.3g: **missed** by %.2f %%\n", what, value, bar,
               100 * (1 - value / bar));
}

void page_at_most(const char *what, double value, double bar) {
    if (value <= bar)
        printf("- %s: %.3g, the bar is at most %.3g: **reached**\n", what, value, bar);
    else
        printf("- %s: %.3g, the bar is at most %.3g: **missed**\n", what, value, bar);
}

static void print_head(const model_machine *m) {
    printf("# Stages that form a graph\n\n"
           "Made by `./bazelw run //bench:stage_graphs`: GraphPipe's search (`planner/stage_graph/`) on the models of "
           "its\n"
           "evaluation. Plans are simulated here; `--partition graphpipe` trains them, with replicas and sizes of "
           "their own, too.\n\n"
           "What is assumed where the paper says nothing:\n"
           "- Devices: %s; fp32, %.3g FLOP/s and %.3g bytes/s arrive, %.1f µs a kernel, %.1f GiB under the cap.\n"
           "- Links: up to four devices are a node, with %.3g bytes/s each way. Of more, all links are as slow as "
           "those between nodes:\n"
           "  1e10 bytes/s of a node's 100 Gb/s arrive, which a pipeline or a ring of neighbours crosses once. The "
           "second tables have a\n"
           "  quarter of that, as if all four GPUs of a node sent to others at all times. That was assumed first, and "
           "changed when the\n"
           "  case study showed how it stalls 1F1B, whose samples in flight hide no messages. Sums over replicas go in "
           "a ring, beside\n"
           "  the last backward part.\n"
           "- Adam in fp32: 16 bytes a weight. The backward part takes twice the forward part.\n"
           "- MMT: eight layers of seven nodes a branch in both shapes; concatenation, no head. DLRM: in both shapes "
           "as many\n"
           "  sparse branches as dense ones; the concatenation of all features (73,472 in A.2's shape) goes through "
           "layers of\n"
           "  4096, 4096 and 1 outputs. CANDLE-Uno: a head of one output. Linear and activation are two nodes.\n"
           "- Mini-batches are A.2's.\n",
           m->profile.title, m->profile.matrix_flops * m->profile.matrix.share,
           m->profile.memory_bandwidth * m->profile.memory.share, 1e6 * m->profile.launch_seconds,
           (double)(m->profile.memory_bytes - m->profile.reserve_bytes) / (1 << 30), m->profile.link_bandwidth);
}

static ons_status *print_page(ons_arena *arena) {
    model_machine m = {.share = 1};
    ONS_TRY(ons_device_profile_load("v100-16gb", arena, &m.profile));
    print_head(&m);
    ONS_TRY(page_case_study(&m));
    ONS_TRY(page_search_times(&m));
    ONS_TRY(page_gains(&m));
    ONS_TRY(page_branches(&m));
    ONS_TRY(page_sequential(&m));
    return page_divisions();
}

int main(void) {
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : print_page(arena);
    ons_arena_free(arena);
    if (status == NULL) return 0;
    fprintf(stderr, "stage_graphs: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    return 1;
}
