/* One process counts upward into an array of 64-bit numbers, another adds them up. The array is longer than memory; what flows are a few
 * blocks that both have.
 *
 *     two_processes [BYTES]        default 8 GiB
 *
 * The program starts itself again as the other process, which gets its side of the connection as standard input.
 */
#define _POSIX_C_SOURCE 200809L
#include <eagre.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct numbers {
    uint64_t count, sum;
};

static void fill(void *stream, void *context) {
    const struct numbers *job = context;
    uint64_t *numbers = stream;
    for (uint64_t i = 0; i < job->count; i++) numbers[i] = i;
}

static void add(const void *stream, void *context) {
    struct numbers *job = context;
    const uint64_t *numbers = stream;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < job->count; i++) sum += numbers[i];
    job->sum = sum;
}

static int fail(const char *what) {
    fprintf(stderr, "two_processes: %s: %s\n", what, eagre_last_error());
    return 2;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The other process. */
static int consume(uint64_t count) {
    struct numbers job = {.count = count};
    EagreReader *reader;
    if (eagre_process_join_reader(STDIN_FILENO, &reader) != EAGRE_OK) return fail("join");
    const double start = now();
    if (eagre_reader_scope(reader, add, &job) != EAGRE_OK) return fail("reader");
    const double seconds = now() - start;
    eagre_reader_close(reader);
    const uint64_t expected = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
    if (job.sum != expected) {
        fprintf(stderr, "two_processes: the sum is %" PRIu64 ", expected %" PRIu64 "\n", job.sum, expected);
        return 1;
    }
    printf("sum %" PRIu64 ", %.2f s, %.2f GB/s\n", job.sum, seconds, (double)count * 8 / seconds / 1e9);
    return 0;
}

int main(int argc, char **argv) {
    const char *const bytes = argc > 1 ? argv[1] : "8589934592";
    char *end;
    struct numbers job = {.count = strtoull(bytes, &end, 0) / sizeof(uint64_t)};
    if (*end != '\0' || job.count == 0 || job.count > (UINT64_C(1) << 46) / sizeof(uint64_t)) {
        fprintf(stderr, "two_processes: %s: give a number of bytes, 8 to 64 TiB\n", bytes);
        return 2;
    }
    if (argc > 2 && strcmp(argv[2], "consume") == 0) return consume(job.count);

    int ours, theirs, status = 0;
    if (eagre_process_pair(&ours, &theirs) != EAGRE_OK) return fail("pair");
    const pid_t child = fork();
    if (child == 0) {
        dup2(theirs, STDIN_FILENO);
        execl("/proc/self/exe", argv[0], bytes, "consume", (char *)NULL);
        _exit(127);
    }
    close(theirs); /* the child has it */
    if (child < 0) return perror("two_processes: fork"), 2;

    EagreOptions options;
    EagreWriter *writer;
    eagre_options_default(&options, sizeof options);
    options.name = "numbers";
    /* As far as is written. Both processes need addresses for so many bytes; one that has not gets an error. */
    options.flags = EAGRE_POINTERS;
    options.capacity = job.count * sizeof(uint64_t);
    if (eagre_process_make_writer(ours, &options, &writer) != EAGRE_OK) return fail("make");
    if (eagre_writer_scope(writer, fill, &job) != EAGRE_OK) return fail("writer");
    if (eagre_writer_finish_at(writer, job.count * sizeof(uint64_t)) != EAGRE_OK) return fail("finish");
    eagre_writer_close(writer);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
