/* Which GPU a stage takes, and whether messages go by NCCL: it wants one for each stage. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device_kind.h"
#include "engine/train/trainer.h"

/* What each process tells the others. */
typedef struct place {
    char host[64], gpu[ONS_DEVICE_IDENTITY_BYTES];
    int32_t index, count; /* the process's number of its GPU, and how many it sees */
} place;

static ons_status *check_places(const place *places, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < i; ++k)
            ONS_CHECK(
                strcmp(places[i].host, places[k].host) != 0 || strcmp(places[i].gpu, places[k].gpu) != 0,
                ONS_UNSUPPORTED,
                "ranks %u and %u both have GPU %s of %s (%d GPUs are visible there), and NCCL takes one rank a GPU; "
                "start fewer processes a host, or run all stages in one process without mpirun: stages on one GPU "
                "copy from each other",
                k, i, places[i].gpu, places[i].host, places[i].count);
    return NULL;
}

static ons_status *find_place(ons_trainer *t, const ons_device_kind *kind, place *own) {
    *own = (place){.count = kind->count()};
    ONS_TRY(kind->check());
    own->index = (int32_t)(ons_mpi_local_rank() % (uint32_t)own->count);
    gethostname(own->host, sizeof own->host - 1);
    t->gpu = own->index;
    return kind->read_identity(own->index, own->gpu);
}

/* Processes: each takes the GPU of its number on the host. */
static ons_status *choose_among_processes(ons_trainer *t, const ons_device_kind *kind) {
    uint32_t ranks = ons_trainer_world(t)->ranks;
    place own, *places = calloc(ranks, sizeof *places);
    if (places == NULL) return ons_status_out_of_memory();
    ons_status *status = find_place(t, kind, &own);
    if (status == NULL) status = ons_trainer_meet(t, NULL, &own, places, sizeof own);
    if (status == NULL) status = check_places(places, ranks);
    free(places);
    t->nccl = true;
    return status;
}

/* Two stages on each device share its GPU, in one process. */
static ons_status *check_shared(const ons_trainer *t, bool wanted) {
    ONS_CHECK(
        !wanted && !t->remote, ONS_UNSUPPORTED,
        "schedule %s puts two stages on each device, and NCCL takes one rank a GPU; run all stages in one process "
        "without mpirun and --transport nccl: they share one GPU and copy from each other",
        t->config->pipeline);
    return NULL;
}

ons_status *ons_trainer_choose_gpus(ons_trainer *t) {
    const ons_config *c = t->config;
    bool wanted = c->transport.value == ONS_TRANSPORT_NCCL;
    const ons_device_kind *kind;
    int64_t devices = ons_config_devices(c) * c->replicas;
    const char *all = c->replicas > 1 ? " of all replicas" : "";
    if (!ons_config_uses_cuda(c) || devices == 1) return NULL;
    if (t->lowering.lanes.beside != NULL || ons_config_lanes(c) > ons_config_devices(c)) return check_shared(t, wanted);
    ONS_TRY(ons_device_kind_find(c->device, &kind));
    if (t->remote) {
        ONS_TRY(ons_nccl_check());
        return choose_among_processes(t, kind);
    }
    int count = kind->count();
    ONS_CHECK(!wanted || count >= devices, ONS_UNSUPPORTED,
              "--transport nccl: NCCL takes one stage a GPU, and there are %d for %" PRId64
              " stages%s; without --transport nccl the stages share one GPU and copy from each other",
              count, devices, all);
    t->nccl = count >= devices && c->transport.value != ONS_TRANSPORT_LOCAL;
    if (!t->nccl) return NULL;
    ONS_TRY_AT(ons_nccl_check(), "%" PRId64 " stages%s on %d GPUs (with --transport local they share the first one)",
               devices, all, count);
    return NULL;
}
