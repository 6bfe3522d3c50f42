/* One thread fills a terabyte-wide string with memset, another looks for a word in it with a single strstr.
 *
 *     fill_and_search [BYTES]        default 8 GiB, at most 1 TiB; a few MiB of memory either way
 *
 * The writer calls memset in pieces of one block. A single memset over everything would work with some C libraries and
 * not with others: some store the last bytes of a piece first, so a piece must fit the writer's window, which is one
 * block and the one being written (options.rewrite makes it wider).
 */
#define _POSIX_C_SOURCE 200809L
#include <eagre.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char NEEDLE[] = "a wave that runs up the river";
static const uint64_t PIECE = 2 << 20;

struct producer {
    EagreWriter *writer;
    uint64_t length;
    EagreStatus status;
};

static void *produce(void *argument) {
    struct producer *self = argument;
    const uint64_t hay = self->length - strlen(NEEDLE);
    char *stream = eagre_writer_pointer(self->writer);
    if (stream != NULL) {
        for (uint64_t at = 0; at < hay; at += PIECE) memset(stream + at, 'x', hay - at < PIECE ? hay - at : PIECE);
        memcpy(stream + hay, NEEDLE, strlen(NEEDLE));
        self->status = eagre_writer_finish_at(self->writer, self->length);
    } else {
        self->status = eagre_last_status();
    }
    if (self->status != EAGRE_OK) fprintf(stderr, "fill_and_search: writer: %s\n", eagre_last_error());
    eagre_writer_close(self->writer);
    return NULL;
}

static int fail(const char *what) {
    fprintf(stderr, "fill_and_search: %s: %s\n", what, eagre_last_error());
    return 2;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv) {
    const uint64_t length = argc > 1 ? strtoull(argv[1], NULL, 0) : UINT64_C(8) << 30;
    if (length < sizeof NEEDLE || length > UINT64_C(1) << 40) {
        fprintf(stderr, "fill_and_search: %" PRIu64 " bytes: it must be %zu to 1 TiB\n", length, sizeof NEEDLE);
        return 2;
    }

    EagreOptions options;
    struct producer producer = {.length = length};
    EagreReader *reader;
    eagre_options_default(&options, sizeof options);
    options.name = "hay";
    options.capacity = UINT64_C(1) << 40;
    if (eagre_open(&options, &producer.writer, &reader) != EAGRE_OK) return fail("open");

    const double start = now();
    pthread_t thread;
    if (pthread_create(&thread, NULL, produce, &producer) != 0) return fail("no thread");
    const char *stream = eagre_reader_pointer(reader);
    const char *found = stream == NULL ? NULL : strstr(stream, NEEDLE);
    const double seconds = now() - start;
    if (eagre_reader_check(reader) != EAGRE_OK) return fail("reader");
    pthread_join(thread, NULL);
    eagre_reader_close(reader);
    if (producer.status != EAGRE_OK) return 2;

    if (found == NULL || (uint64_t)(found - stream) != length - strlen(NEEDLE)) {
        fprintf(stderr, "fill_and_search: the needle was not found where it was put\n");
        return 1;
    }
    printf("found at %" PRIu64 ", %.2f s, %.2f GB/s\n", (uint64_t)(found - stream), seconds, (double)length / seconds / 1e9);
    return 0;
}
