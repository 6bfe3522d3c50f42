/* One thread counts upward into a stream of 64-bit numbers, another adds them up: two loops over two arrays.
 *
 *     sum_pair [BYTES]        default 8 GiB
 */
#define _POSIX_C_SOURCE 200809L
#include <eagre.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct job {
    EagreWriter *writer;
    uint64_t count, sum;
    EagreStatus status;
};

static void fill(void *stream, void *context) {
    const struct job *job = context;
    uint64_t *numbers = stream;
    for (uint64_t i = 0; i < job->count; i++) numbers[i] = i;
}

static void add(const void *stream, void *context) {
    struct job *job = context;
    const uint64_t *numbers = stream;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < job->count; i++) sum += numbers[i];
    job->sum = sum;
}

static void *produce(void *argument) {
    struct job *job = argument;
    job->status = eagre_writer_scope(job->writer, fill, job);
    if (job->status == EAGRE_OK) job->status = eagre_writer_finish_at(job->writer, job->count * sizeof(uint64_t));
    if (job->status != EAGRE_OK) fprintf(stderr, "sum_pair: writer: %s\n", eagre_last_error());
    eagre_writer_close(job->writer);
    return NULL;
}

static int fail(const char *what) {
    fprintf(stderr, "sum_pair: %s: %s\n", what, eagre_last_error());
    return 2;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv) {
    const uint64_t bytes = argc > 1 ? strtoull(argv[1], NULL, 0) : UINT64_C(8) << 30;
    const uint64_t count = bytes / sizeof(uint64_t);
    struct job producer = {.count = count}, consumer = {.count = count};
    EagreOptions options;
    EagreReader *reader;
    eagre_options_default(&options, sizeof options);
    options.name = "numbers";
    options.capacity = UINT64_C(1) << 40;
    if (eagre_open(&options, &producer.writer, &reader) != EAGRE_OK) return fail("open");

    const double start = now();
    pthread_t thread;
    if (pthread_create(&thread, NULL, produce, &producer) != 0) return fail("no thread");
    if (eagre_reader_scope(reader, add, &consumer) != EAGRE_OK) return fail("reader");
    const double seconds = now() - start;
    pthread_join(thread, NULL);
    eagre_reader_close(reader);
    if (producer.status != EAGRE_OK) return 2;

    const uint64_t expected = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
    if (consumer.sum != expected) {
        fprintf(stderr, "sum_pair: the sum is %" PRIu64 ", expected %" PRIu64 "\n", consumer.sum, expected);
        return 1;
    }
    printf("sum %" PRIu64 ", %.2f s, %.2f GB/s\n", consumer.sum, seconds, (double)bytes / seconds / 1e9);
    return 0;
}
