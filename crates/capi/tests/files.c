/* Counting and finding, in files and in streams. Run under every trap and mover. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <unistd.h>

enum { ROWS = 200000 };
static const char ROW[] = "one wave,\ttwo waves\n"; /* 1 line, 4 words, 25 columns */

static char path[] = "/tmp/eagre-files-XXXXXX";

static void make_file(void) {
    const int file = mkstemp(path);
    CHECK(file >= 0);
    FILE *out = fdopen(file, "w");
    for (int row = 0; row < ROWS; row++) fputs(ROW, out);
    CHECK(fclose(out) == 0);
}

/* The reading end of a stream with the file's bytes. */
static int64_t give(void *context, uint64_t offset, void *bytes, size_t size) {
    (void)context;
    const uint64_t length = (uint64_t)ROWS * strlen(ROW);
    size_t at = 0;
    for (; at < size && offset + at < length; at++) ((char *)bytes)[at] = ROW[(offset + at) % strlen(ROW)];
    return (int64_t)at;
}

static EagreReader *stream(void) {
    EagreReader *reader = NULL;
    IS(eagre_open_source(NULL, give, NULL, NULL, &reader), EAGRE_OK);
    return reader;
}

static void counts(void) {
    const uint32_t all = EAGRE_LINES | EAGRE_WORDS | EAGRE_LONGEST;
    EagreCounts counts;
    for (uint32_t threads = 0; threads < 4; threads++) {
        memset(&counts, 1, sizeof counts);
        IS(eagre_count_file(path, all, threads, &counts, sizeof counts), EAGRE_OK);
        CHECK(counts.lines == ROWS && counts.words == 4 * ROWS && counts.bytes == ROWS * strlen(ROW) && counts.longest == 25);
    }
    IS(eagre_count_file(path, 0, 0, &counts, sizeof counts), EAGRE_OK);
    CHECK(counts.lines == 0 && counts.bytes == ROWS * strlen(ROW));

    EagreReader *reader = stream();
    IS(eagre_count_stream(reader, EAGRE_LINES, &counts, sizeof counts), EAGRE_OK);
    CHECK(counts.lines == ROWS && counts.words == 0 && counts.bytes == ROWS * strlen(ROW));
    eagre_reader_close(reader);

    IS(eagre_count_file("/nowhere/at all", all, 0, &counts, sizeof counts), EAGRE_SYSTEM);
    CHECK(strstr(eagre_last_error(), "count: /nowhere/at all: No such file") != NULL);
    IS(eagre_count_file(NULL, all, 0, &counts, sizeof counts), EAGRE_INVALID);
    IS(eagre_count_file(path, all, 0, NULL, sizeof counts), EAGRE_INVALID);
    IS(eagre_count_file(path, 64, 0, &counts, sizeof counts), EAGRE_INVALID);
    IS(eagre_count_file(path, all, 0, &counts, sizeof counts - 1), EAGRE_WRONG_VERSION);
    IS(eagre_count_stream(NULL, all, &counts, sizeof counts), EAGRE_INVALID);
}

struct seen {
    uint64_t times, last, limit;
    int wrong;
};

static int see(void *context, uint64_t offset, const void *bytes, size_t size, size_t pattern) {
    struct seen *seen = context;
    const char *words[] = {"wave", "waves", "Two"};
    seen->wrong |= size != strlen(words[pattern]) || (pattern < 2 && memcmp(bytes, words[pattern], size) != 0);
    seen->wrong |= seen->times > 0 && offset <= seen->last;
    seen->last = offset;
    return ++seen->times == seen->limit;
}

static void finds(void) {
    const EagrePattern patterns[] = {{"wave", 4}, {"waves", 5}, {"Two", 3}};
    EagreFinder *finder;
    uint64_t count = 0;
    IS(eagre_finder_open(patterns, 1, 0, &finder), EAGRE_OK);
    IS(eagre_finder_count_file(finder, path, 2, &count), EAGRE_OK);
    CHECK(count == 2 * ROWS);
    eagre_finder_close(finder);

    IS(eagre_finder_open(patterns, 3, EAGRE_IGNORE_CASE, &finder), EAGRE_OK);
    struct seen seen = {0}, some = {.limit = 5}, streamed = {0};
    IS(eagre_finder_scan_file(finder, path, 0, see, &seen), EAGRE_OK);
    CHECK(seen.times == 3 * ROWS && !seen.wrong && seen.last == ROWS * strlen(ROW) - 6);
    IS(eagre_finder_scan_file(finder, path, 0, see, &some), EAGRE_OK);
    CHECK(some.times == 5 && !some.wrong);

    EagreReader *reader = stream();
    char first[20];
    size_t copied = 0;
    IS(eagre_reader_copy_out(reader, first, strlen(ROW), &copied), EAGRE_OK);
    IS(eagre_finder_scan_stream(finder, reader, see, &streamed), EAGRE_OK);
    CHECK(streamed.times == 3 * (ROWS - 1) && !streamed.wrong && streamed.last == seen.last);
    eagre_reader_close(reader);

    IS(eagre_finder_count_file(finder, "/proc/self/mem/x", 0, &count), EAGRE_SYSTEM);
    IS(eagre_finder_count_file(NULL, path, 0, &count), EAGRE_INVALID);
    IS(eagre_finder_scan_file(finder, path, 0, NULL, NULL), EAGRE_INVALID);
    eagre_finder_close(finder);
    eagre_finder_close(NULL);

    const EagrePattern empty = {"", 0}, null = {NULL, 3};
    IS(eagre_finder_open(&empty, 1, 0, &finder), EAGRE_INVALID);
    CHECK(finder == NULL && strstr(eagre_last_error(), "pattern 1 is empty") != NULL);
    IS(eagre_finder_open(&null, 1, 0, &finder), EAGRE_INVALID);
    IS(eagre_finder_open(NULL, 1, 0, &finder), EAGRE_INVALID);
    IS(eagre_finder_open(patterns, 0, 0, &finder), EAGRE_INVALID);
    IS(eagre_finder_open(patterns, 1, 2, &finder), EAGRE_INVALID);
}

/* A file into another, by way of two streams: all forms of both ends. */
static void copies(void) {
    const uint64_t length = (uint64_t)ROWS * strlen(ROW);
    char copy[sizeof path + 8];
    snprintf(copy, sizeof copy, "%s.copy", path);
    for (int announced = 0; announced < 2; announced++) {
        EagreOptions options;
        EagreReader *reader;
        EagreWriter *writer;
        IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
        if (announced) options.length = length;
        IS(eagre_open_file(path, announced ? &options : NULL, &reader), EAGRE_OK);
        IS(eagre_create_file(copy, announced ? &options : NULL, &writer), EAGRE_OK);
        for (;;) {
            size_t size;
            const void *bytes = eagre_reader_fill(reader, 0, &size);
            CHECK(bytes != NULL || size == 0);
            if (size == 0) break;
            IS(eagre_writer_copy_in(writer, bytes, size), EAGRE_OK);
            IS(eagre_reader_consume(reader, size), EAGRE_OK);
        }
        IS(eagre_reader_check(reader), EAGRE_OK);
        CHECK(access(copy, F_OK) != 0);
        IS(eagre_writer_finish(writer), EAGRE_OK);
        IS(eagre_writer_finish(writer), EAGRE_INVALID_LENGTH);
        eagre_reader_close(reader);
        eagre_writer_close(writer);
        EagreCounts counts;
        IS(eagre_count_file(copy, EAGRE_LINES, 0, &counts, sizeof counts), EAGRE_OK);
        CHECK(counts.lines == ROWS && counts.bytes == length);
        CHECK(unlink(copy) == 0);
    }
    /* Closed before it is finished, nothing appears. */
    EagreWriter *writer;
    EagreReader *reader;
    IS(eagre_create_file(copy, NULL, &writer), EAGRE_OK);
    IS(eagre_writer_copy_in(writer, ROW, strlen(ROW)), EAGRE_OK);
    eagre_writer_close(writer);
    CHECK(access(copy, F_OK) != 0);

    IS(eagre_open_file("/nowhere/at all", NULL, &reader), EAGRE_SYSTEM);
    CHECK(reader == NULL && strstr(eagre_last_error(), "/nowhere/at all") != NULL);
    IS(eagre_create_file("/nowhere/at all", NULL, &writer), EAGRE_SYSTEM);
    IS(eagre_open_file(NULL, NULL, &reader), EAGRE_INVALID);
    IS(eagre_open_file(path, NULL, NULL), EAGRE_INVALID);
    IS(eagre_create_file(path, NULL, NULL), EAGRE_INVALID);

    EagreOptions options;
    char byte[64];
    size_t copied = 0;
    IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
    options.length = length + 1;
    IS(eagre_open_file(path, &options, &reader), EAGRE_OK);
    EagreStatus status = EAGRE_OK;
    for (copied = 1; status == EAGRE_OK && copied > 0;) status = eagre_reader_copy_out(reader, byte, sizeof byte, &copied);
    CHECK(status == EAGRE_SYSTEM && strstr(eagre_last_error(), path) != NULL);
    eagre_reader_close(reader);
}

int main(void) {
    make_file();
    copies();
    counts();
    finds();
    unlink(path);
    return report();
}
