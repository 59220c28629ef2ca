#include "tests/rooms/pipeline/sweep_mpi.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/transport/transport.h"

enum { DEVICES_MOST = 64, PATH_BYTES = 256, SILENCE_SECONDS = 60 };

/* What mpirun runs: this program with "--part", FOLDER, MODEL, PLAN ("-": none) and these numbers. */
enum {
    STAGES,
    DEVICES,
    KIND,
    EVICTION,
    MICRO_BATCHES,
    MORE,
    THREADS,
    REPLICAS,
    PROCESSES, /* for mpirun alone */
    STEPS,
    SEED,
    ONE_IN,
    SCATTERED,
    CAP,
    SIZES,  /* of each stage eight bits, the first ones lowest; 0: one everywhere */
    COPIES, /* of each stage eight bits, the first ones lowest; 0: one everywhere */
    IN_FLIGHT,
    LATE,
    NUMBERS,
    FIRST_NUMBER = 5,
    PART_ARGUMENTS = FIRST_NUMBER + NUMBERS
};

/* --------------------------------------------------------------------------------------------------------- one part */

static ons_status *run_part(const pipeline_setting *s, const char *folder) {
    pipeline_record record;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%u", folder, s->transport->rank);
    ons_status *status = pipeline_run(s, &record);
    if (status == NULL) {
        status = pipeline_record_write(&record, path);
        pipeline_record_free(&record);
    }
    return status;
}

/* Told once, by the rank that has to. */
static int end(ons_transport *transport, ons_status *status) {
    bool failed = status != NULL;
    if (failed && transport != NULL) {
        transport->fail(transport, status);
        ons_status *first = transport->failure(transport);
        if (first != NULL && transport->tells(transport)) fprintf(stderr, "%s\n", ons_status_get_message(first));
        ons_status_free(first);
    } else if (failed) {
        fprintf(stderr, "%s\n", ons_status_get_message(status));
    }
    ons_status_free(status);
    if (transport != NULL) transport->free(transport);
    return failed;
}

/* Numbers of stages, in one. */
enum { BITS_OF_STAGE = 8, STAGES_MOST = 64 / BITS_OF_STAGE };

static uint64_t pack(const uint32_t *of_stage, uint32_t stages) {
    uint64_t packed = 0;
    for (uint32_t i = 0; of_stage != NULL && i < stages; ++i) packed |= (uint64_t)of_stage[i] << (BITS_OF_STAGE * i);
    return packed;
}

static const uint32_t *unpack(uint64_t packed, uint32_t of_stage[STAGES_MOST]) {
    for (int i = 0; i < STAGES_MOST; ++i) of_stage[i] = packed >> (BITS_OF_STAGE * i) & ((1 << BITS_OF_STAGE) - 1);
    return packed == 0 ? NULL : of_stage;
}

static pipeline_setting read_setting(char **argv) {
    static uint32_t sizes[STAGES_MOST], copies[STAGES_MOST];
    uint64_t numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; ++i) numbers[i] = strtoull(argv[FIRST_NUMBER + i], NULL, 10);
    return (pipeline_setting){
        .model = argv[3],
        .plan = strcmp(argv[4], "-") == 0 ? NULL : argv[4],
        .stages = (uint32_t)numbers[STAGES],
        .devices = (uint32_t)numbers[DEVICES],
        .kind = ons_generators[numbers[KIND]],
        .eviction = (pipeline_eviction)numbers[EVICTION],
        .micro_batches = (uint32_t)numbers[MICRO_BATCHES],
        .more = (uint32_t)numbers[MORE],
        .threads = (uint32_t)numbers[THREADS],
        .replicas = (uint32_t)numbers[REPLICAS],
        .steps = (uint32_t)numbers[STEPS],
        .seed = numbers[SEED],
        .one_in = (uint32_t)numbers[ONE_IN],
        .scattered = numbers[SCATTERED] != 0,
        .cap = (int64_t)numbers[CAP],
        .sizes = unpack(numbers[SIZES], sizes),
        .copies = unpack(numbers[COPIES], copies),
        .in_flight = (uint32_t)numbers[IN_FLIGHT],
        .late = numbers[LATE] != 0,
    };
}

bool sweep_is_part(int argc, char **argv, int *code) {
    if (argc != PART_ARGUMENTS || strcmp(argv[1], "--part") != 0) return false;
    pipeline_setting s = read_setting(argv);
    ons_status *status = ons_mpi_transport_new(SILENCE_SECONDS, &s.transport);
    if (status == NULL) {
        srandom((unsigned)s.seed + s.transport->rank); /* each is late by itself */
        status = run_part(&s, argv[2]);
    }
    *code = end(s.transport, status);
    return true;
}

/* -------------------------------------------------------------------------------------------------------- all parts */

/* Among all generators. */
static uint64_t place_of(const ons_generator *generator) {
    uint64_t place = 0;
    while (ons_generators[place] != generator) ++place;
    return place;
}

static uint32_t count_processes(const pipeline_setting *s) { return s->devices * (s->replicas > 1 ? s->replicas : 1); }

static void print_numbers(const pipeline_setting *s, char texts[NUMBERS][24]) {
    const uint64_t values[NUMBERS] = {
        [STAGES] = s->stages,
        [DEVICES] = s->devices,
        [KIND] = place_of(s->kind),
        [EVICTION] = (uint64_t)s->eviction,
        [MICRO_BATCHES] = s->micro_batches,
        [MORE] = s->more,
        [THREADS] = s->threads,
        [REPLICAS] = s->replicas,
        [PROCESSES] = count_processes(s),
        [STEPS] = s->steps,
        [SEED] = s->seed,
        [ONE_IN] = s->one_in,
        [SCATTERED] = s->scattered,
        [CAP] = (uint64_t)s->cap,
        [SIZES] = pack(s->sizes, s->stages),
        [COPIES] = pack(s->copies, s->stages),
        [IN_FLIGHT] = s->in_flight,
        [LATE] = s->late,
    };
    for (int i = 0; i < NUMBERS; ++i) snprintf(texts[i], sizeof texts[i], "%llu", (unsigned long long)values[i]);
}

static void execute(const pipeline_setting *s, const char *folder, const char *program) {
    char numbers[NUMBERS][24];
    print_numbers(s, numbers);
    const char *arguments[64] = {"timeout",
                                 "-k",
                                 "5",
                                 "300",
                                 "mpirun",
                                 "-n",
                                 numbers[PROCESSES],
                                 "--oversubscribe",
                                 "--bind-to",
                                 "none",
                                 "--mca",
                                 "btl",
                                 "self,vader",
                                 program,
                                 "--part",
                                 folder,
                                 s->model,
                                 s->plan == NULL ? "-" : s->plan};
    int count = 0;
    while (arguments[count] != NULL) ++count;
    for (int i = 0; i < NUMBERS; ++i) arguments[count++] = numbers[i];
    execvp(arguments[0], (char *const *)arguments);
}

static void become_mpirun(const pipeline_setting *s, const char *folder, const char *program) {
    char log[PATH_BYTES];
    snprintf(log, sizeof log, "%s/log", folder);
    if (freopen(log, "w", stderr) == NULL || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) _exit(126);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    /* The folder of its own that it makes in there is also removed by other runs that end. */
    setenv("TMPDIR", folder, 1);
    setenv("HOME", folder, 0); /* Open MPI 5 does not start without one */
    /* Some containers forbid reading another process's memory (what Open MPI 4 and 5 call it). */
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);
    setenv("OMPI_MCA_smsc", "^cma", 1);
    execute(s, folder, program);
    _exit(127);
}

/* The first line that somebody wrote, mpirun's rules apart. */
static ons_status *complain(const char *folder, int how) {
    char path[PATH_BYTES], line[512] = "it said nothing";
    snprintf(path, sizeof path, "%s/log", folder);
    FILE *log = fopen(path, "r");
    while (log != NULL && fgets(line, sizeof line, log) != NULL && (line[0] == '\n' || line[0] == '-')) {
    }
    if (log != NULL) fclose(log);
    line[strcspn(line, "\n")] = '\0';
    return ons_status_new(ONS_DEFECT, "mpirun ended with %d: %s", WIFEXITED(how) ? WEXITSTATUS(how) : -1, line);
}

static ons_status *run_parts(const pipeline_setting *s, const char *folder) {
    char program[PATH_BYTES * 4];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    ONS_CHECK(length > 0, ONS_IO_ERROR, "this program has no name");
    program[length] = '\0';
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) become_mpirun(s, folder, program);
    int how = -1;
    if (child > 0) waitpid(child, &how, 0);
    return how == 0 ? NULL : complain(folder, how);
}

static ons_status *compare(const pipeline_setting *s, const pipeline_record *whole, const char *folder,
                           pipeline_record *parts) {
    for (uint32_t i = 0; i < count_processes(s); ++i) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s/%u", folder, i);
        ONS_TRY(pipeline_record_read(path, &parts[i]));
        if (i > 0) parts[0].memory += parts[i].memory;
    }
    return pipeline_compare_parts(whole, parts, count_processes(s));
}

static int remove_entry(const char *path, const struct stat *information, int type, struct FTW *where) {
    (void)information;
    (void)type;
    (void)where;
    return remove(path);
}

/* With what Open MPI has left in it. */
static void remove_folder(const char *folder) { nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS); }

ons_status *sweep_by_processes(const pipeline_setting *s, const pipeline_record *whole, pipeline_record *first) {
    char folder[] = "/tmp/sweep.XXXXXX";
    pipeline_record parts[DEVICES_MOST] = {{.arena = NULL}};
    ONS_CHECK(count_processes(s) <= DEVICES_MOST && mkdtemp(folder) != NULL, ONS_IO_ERROR,
              "no folder for records in /tmp");
    ons_status *status = run_parts(s, folder);
    if (status == NULL) status = compare(s, whole, folder, parts);
    remove_folder(folder);
    for (uint32_t i = 1; i < count_processes(s); ++i) pipeline_record_free(&parts[i]);
    *first = parts[0];
    return status;
}
