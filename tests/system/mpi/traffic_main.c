/* Traffic between the processes of an MPI world, for the shell tests beside it:
 *
 *     mpirun -n N traffic [--silence SECONDS] [--pieces BYTES] [--forbid all|later] WHAT
 *
 *     run SEED        random traffic; rank 0 prints its digest
 *     hold            prints rank and process number, then meets the others until something happens
 *     fail RANK       that rank fails, the others are in the middle of traffic or wait
 *     mismatch        two ends expect other sizes
 *     leave RANK      that rank leaves while the others wait for it
 *     late RANK       that rank leaves a second and a half after the others
 *     speed BYTES     rank 0 prints the time of sending there and back
 *     asleep RANK     the same, but that rank, once it was stopped and goes on, fails for a reason of its own
 *     here            rank 0 prints how many ranks share the host that has most of them
 *     idle SECONDS    all but rank 0 wait for a message; rank 1 prints the processor time that this took
 *     reads           the others send to rank 0, which prints how many of the messages it has read in their memory
 *
 * --forbid: the system refuses to read another process's memory, to all ranks, or to rank 0 once all know that they
 * may.
 *
 *     traffic local N SEED          the digest of the same traffic over threads of this process, without MPI
 *     traffic launched              whether something started this process as one of several
 *
 * The rank that tells prints why the world failed. The exit code is the status's.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/transport/mpi_world.h"
#include "tests/rooms/runtime/traffic.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int finish(ons_transport *transport, ons_status *status) {
    int code = 0;
    ons_status *failure = transport->failure(transport);
    if (status == NULL) status = failure, failure = NULL;
    if (status != NULL) {
        code = ons_status_get_code(status);
        if (transport->tells(transport)) {
            fprintf(stderr, "traffic: %s\n", ons_status_get_message(status));
            fflush(stderr);
        }
    }
    ons_status_free(status);
    ons_status_free(failure);
    transport->free(transport);
    return code;
}

/* ------------------------------------------------------------------------------------------------------------ local */

typedef struct local_rank {
    ons_transport *transport;
    uint64_t seed, digest;
    int code;
} local_rank;

static void *run_local_rank(void *argument) {
    local_rank *rank = argument;
    ons_status *status = ons_traffic_run(rank->transport, rank->seed, &rank->digest);
    rank->code = finish(rank->transport, status);
    return NULL;
}

static int run_local(uint32_t ranks, uint64_t seed) {
    ons_transport *transports[64];
    local_rank all[64];
    pthread_t threads[64];
    if (ranks == 0 || ranks > 64 || ons_local_transports_new(ranks, transports) != NULL) return 2;
    int code = 0;
    for (uint32_t i = 0; i < ranks; ++i) {
        all[i] = (local_rank){.transport = transports[i], .seed = seed};
        if (pthread_create(&threads[i], NULL, run_local_rank, &all[i]) != 0) return 2;
    }
    for (uint32_t i = 0; i < ranks; ++i) {
        pthread_join(threads[i], NULL);
        code |= all[i].code;
    }
    printf("digest %016llx\n", (unsigned long long)all[0].digest);
    return code;
}

/* -------------------------------------------------------------------------------------------------------------- mpi */

static ons_status *run_traffic(ons_transport *transport, const char *argument) {
    uint64_t digest = 0;
    ONS_TRY(ons_traffic_run(transport, strtoull(argument, NULL, 10), &digest));
    if (transport->rank == 0) printf("digest %016llx\n", (unsigned long long)digest);
    return NULL;
}

static ons_status *count_here(ons_transport *transport, const char *argument) {
    (void)argument;
    if (transport->rank == 0) printf("%u of %u ranks on a host\n", transport->host_ranks, transport->ranks);
    return NULL;
}

static ons_status *hold(ons_transport *transport, const char *argument) {
    uint64_t mine = 0, *all = calloc(transport->ranks, sizeof *all);
    printf("rank %u process %d\n", transport->rank, (int)getpid());
    fflush(stdout);
    while (all != NULL && transport->gather(transport, &mine, all, sizeof mine)) usleep(1000);
    free(all);
    return transport->failure(transport);
}

/* mpirun wakes who was stopped, and asks it to end. */
static ons_status *wake_up(ons_transport *transport, const char *argument) {
    if (transport->rank != (uint32_t)strtoul(argument, NULL, 10)) return hold(transport, argument);
    signal(SIGTERM, SIG_IGN);
    printf("rank %u process %d\n", transport->rank, (int)getpid());
    fflush(stdout);
    for (double last = now(); now() - last < 1; usleep(1000)) last = now();
    ons_status *why = ons_status_new(ONS_DIVERGED, "rank %u has slept", transport->rank);
    transport->fail(transport, why);
    ons_status_free(why);
    return transport->failure(transport);
}

static ons_status *fail_one(ons_transport *transport, const char *argument) {
    if (transport->rank != (uint32_t)strtoul(argument, NULL, 10)) return hold(transport, argument);
    usleep(300000);
    ons_status *why = ons_status_new(ONS_DIVERGED, "stage %u: the loss is no longer a number", transport->rank);
    transport->fail(transport, why);
    ons_status_free(why);
    return transport->failure(transport);
}

static ons_status *mismatch(ons_transport *transport, const char *argument) {
    ons_channel *channel = NULL;
    char data[16] = {0};
    if (transport->rank > 1) return hold(transport, argument);
    ONS_TRY(transport->open(transport, 0, 1, 17, &channel));
    if (transport->rank == 1)
        transport->receive(channel, data, 16);
    else if (transport->send(channel, data, 8))
        return hold(transport, argument);
    return transport->failure(transport);
}

static ons_status *leave(ons_transport *transport, const char *argument) {
    return transport->rank == (uint32_t)strtoul(argument, NULL, 10) ? NULL : hold(transport, argument);
}

static ons_status *be_late(ons_transport *transport, const char *argument) {
    if (transport->rank == (uint32_t)strtoul(argument, NULL, 10)) usleep(1500000);
    return NULL;
}

static ons_status *measure_speed(ons_transport *transport, const char *argument) {
    ons_channel *there = NULL, *back = NULL;
    enum { ROUNDS = 20 };
    if (transport->rank > 1) return NULL;
    ONS_TRY(transport->open(transport, 0, 1, 1, &there));
    ONS_TRY(transport->open(transport, 1, 0, 2, &back));
    size_t bytes = strtoull(argument, NULL, 10);
    char *data = calloc(bytes, 1);
    if (data == NULL) return ons_status_out_of_memory();
    bool good = true;
    double start = now();
    for (int round = 0; good && round < ROUNDS + 1; ++round) {
        if (round == 1) start = now();
        good = transport->rank == 0 ? transport->send(there, data, bytes) && transport->receive(back, data, bytes)
                                    : transport->receive(there, data, bytes) && transport->send(back, data, bytes);
    }
    double seconds = (now() - start) / ROUNDS;
    if (good && transport->rank == 0)
        printf("%zu bytes there and back: %.1f microseconds, %.1f MB/s\n", bytes, 1e6 * seconds,
               2e-6 * (double)bytes / seconds);
    free(data);
    return good ? NULL : transport->failure(transport);
}

static ons_status *measure_idleness(ons_transport *transport, const char *argument) {
    ons_channel *channel = NULL;
    char data[8] = {0};
    for (uint32_t rank = 1; rank < transport->ranks; ++rank) {
        if (rank != transport->rank && transport->rank != 0) continue;
        ONS_TRY(transport->open(transport, 0, rank, 1, &channel));
        if (transport->rank == 0 && rank == 1) usleep((useconds_t)(1e6 * strtod(argument, NULL)));
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        bool good = transport->rank == 0 ? transport->send(channel, data, 8) : transport->receive(channel, data, 8);
        getrusage(RUSAGE_SELF, &after);
        if (!good) return transport->failure(transport);
        if (transport->rank == 1)
            printf("waiting took %.4f seconds of processor time\n",
                   (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec -
                            before.ru_stime.tv_sec) +
                       1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec -
                                       before.ru_stime.tv_usec));
    }
    return NULL;
}

/* A channel goes by MPI from the first message on that could not be read. */
static ons_status *count_reads(ons_transport *transport, const char *argument) {
    (void)argument;
    uint32_t read = 0;
    for (uint32_t rank = 1; rank < transport->ranks; ++rank) {
        ons_channel *channel = NULL;
        uint32_t data = transport->rank;
        if (transport->rank != 0 && transport->rank != rank) continue;
        ONS_TRY(transport->open(transport, rank, 0, 1, &channel));
        bool good = transport->rank == 0 ? transport->receive(channel, &data, sizeof data)
                                         : transport->send(channel, &data, sizeof data);
        if (!good) return transport->failure(transport);
        ONS_CHECK(data == rank, ONS_DEFECT, "%u instead of %u", data, rank);
        read += channel->reads;
    }
    if (transport->rank == 0) printf("%u of %u messages read\n", read, transport->ranks - 1);
    return NULL;
}

/* To all threads of this process. */
static bool forbid_reads(void) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static const struct {
    const char *name;
    ons_status *(*run)(ons_transport *transport, const char *argument);
} parts[] = {{"run", run_traffic}, {"hold", hold},      {"fail", fail_one},       {"mismatch", mismatch},
             {"leave", leave},     {"late", be_late},   {"speed", measure_speed}, {"idle", measure_idleness},
             {"here", count_here}, {"asleep", wake_up}, {"reads", count_reads}};

int main(int argc, char **argv) {
    double silence_seconds = 10;
    const char *forbidden = "never";
    size_t piece_bytes = ONS_MPI_PIECE_BYTES;
    if (argc == 4 && strcmp(argv[1], "local") == 0)
        return run_local((uint32_t)strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    if (argc == 2 && strcmp(argv[1], "launched") == 0) {
        uint32_t ranks;
        bool launched = ons_mpi_is_launched(&ranks);
        printf("%s, %u ranks\n", launched ? "launched" : "not launched", ranks);
        return 0;
    }
    for (; argc > 3 && argv[1][0] == '-'; argc -= 2, argv += 2) {
        if (strcmp(argv[1], "--silence") == 0) silence_seconds = strtod(argv[2], NULL);
        if (strcmp(argv[1], "--forbid") == 0) forbidden = argv[2];
        if (strcmp(argv[1], "--pieces") == 0) piece_bytes = strtoull(argv[2], NULL, 10);
    }
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof parts[0]; ++i) {
        if (strcmp(argv[1], parts[i].name) != 0) continue;
        ons_transport *transport;
        if (strcmp(forbidden, "all") == 0 && !forbid_reads()) return 77;
        ons_status *status = ons_mpi_transport_new_in_pieces(silence_seconds, piece_bytes, &transport);
        if (status == NULL && strcmp(forbidden, "later") == 0 && transport->rank == 0 && !forbid_reads()) return 77;
        if (status == NULL) return finish(transport, parts[i].run(transport, argc > 2 ? argv[2] : "0"));
        fprintf(stderr, "traffic: %s\n", ons_status_get_message(status));
        ons_status_free(status);
        return 1;
    }
    fprintf(stderr, "traffic: the comment in traffic_main.c says how to use it\n");
    return 2;
}
