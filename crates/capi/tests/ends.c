/* What both ends of a stream do, and what they are told when it fails. Run under every trap and mover. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>

static int has_pointers;

static void explicit_calls(void) {
    EagreWriter *writer;
    EagreReader *reader;
    EagreControl *control;
    EagreStats stats;
    size_t size = 0, copied = 0;
    char out[16] = {0};

    open_small(&writer, &reader);
    IS(eagre_writer_commit(writer, 1), EAGRE_INVALID);
    CHECK(eagre_writer_reserve(writer, 100 * BLOCK, &size) == NULL);
    IS(eagre_last_status(), EAGRE_TOO_LARGE);
    char *room = eagre_writer_reserve(writer, 10, &size);
    CHECK(room != NULL && size >= 10);
    IS(eagre_writer_commit(writer, size + 1), EAGRE_INVALID);
    memcpy(room, "0123456789", 10);
    IS(eagre_writer_commit(writer, 10), EAGRE_OK);
    IS(eagre_writer_commit(writer, 1), EAGRE_INVALID);
    IS(eagre_writer_copy_in(writer, "abcdef", 6), EAGRE_OK);
    CHECK(eagre_writer_position(writer) == 16);
    CHECK(eagre_reader_length(reader) == EAGRE_UNKNOWN);
    room = eagre_writer_reserve(writer, 10, &size);
    CHECK(room != NULL);
    IS(eagre_writer_finish(writer), EAGRE_OK);
    IS(eagre_writer_commit(writer, 1), EAGRE_INVALID);
    IS(eagre_writer_finish(writer), EAGRE_INVALID_LENGTH);
    IS(eagre_writer_finish_at(writer, 16), EAGRE_INVALID_LENGTH);
    IS(eagre_writer_copy_in(writer, "x", 1), EAGRE_INVALID_LENGTH);
    CHECK(eagre_reader_length(reader) == 16);

    IS(eagre_reader_consume(reader, 1), EAGRE_INVALID);
    const char *there = eagre_reader_fill(reader, 4, &size);
    CHECK(there != NULL && size == 16 && memcmp(there, "0123456789abcdef", 16) == 0);
    IS(eagre_reader_consume(reader, 17), EAGRE_INVALID);
    IS(eagre_reader_consume(reader, 3), EAGRE_OK);
    IS(eagre_reader_consume(reader, 2), EAGRE_OK);
    IS(eagre_reader_copy_out(reader, out, sizeof out, &copied), EAGRE_OK);
    CHECK(copied == 11 && memcmp(out, "56789abcdef", 11) == 0);
    CHECK(eagre_reader_position(reader) == 16);
    there = eagre_reader_fill(reader, 4, &size);
    CHECK(there != NULL && size == 0);
    IS(eagre_reader_copy_out(reader, out, sizeof out, NULL), EAGRE_OK);

    IS(eagre_reader_control(reader, &control), EAGRE_OK);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
    IS(eagre_control_stats(control, &stats, 3), EAGRE_WRONG_VERSION);
    IS(eagre_control_stats(control, NULL, sizeof stats), EAGRE_INVALID);
    IS(eagre_control_stats(control, &stats, sizeof stats), EAGRE_OK);
    CHECK(stats.size == sizeof stats && stats.version == EAGRE_STATS_VERSION);
    CHECK(stats.writer_position == 16 && stats.reader_position == 16 && stats.published == 1 && stats.most == 4);
    CHECK(eagre_control_capacity(control) >= 64 << 20);
    eagre_control_close(control);
}

static void pointers(void) {
    EagreWriter *writer;
    EagreReader *reader;
    open_small(&writer, &reader);
    char *to = eagre_writer_pointer(writer);
    const char *from = eagre_reader_pointer(reader);
    if (!has_pointers) {
        CHECK(to == NULL && from == NULL);
        IS(eagre_last_status(), EAGRE_NO_POINTER);
    } else {
        strcpy(to, "by pointer");
        IS(eagre_writer_advance_to(writer, 10), EAGRE_OK);
        IS(eagre_writer_copy_in(writer, ", then by call", 14), EAGRE_OK);
        IS(eagre_writer_finish(writer), EAGRE_OK);
        CHECK(strcmp(from, "by pointer, then by call") == 0);
        IS(eagre_reader_check(reader), EAGRE_OK);
    }
    eagre_writer_close(writer);
    eagre_reader_close(reader);
}

static void count(const void *stream, void *context) { *(size_t *)context = strlen(stream); }

static void early_ends(void) {
    EagreWriter *writer;
    EagreReader *reader;
    EagreControl *control;
    size_t size, length = 77;
    char *piece = calloc(1, 1 << 20);

    /* The reader goes: the writer is told. */
    open_small(&writer, &reader);
    IS(eagre_writer_copy_in(writer, piece, 10), EAGRE_OK);
    eagre_reader_close(reader);
    IS(eagre_writer_copy_in(writer, piece, 1 << 20), EAGRE_READER_GONE);
    IS(eagre_writer_check(writer), EAGRE_READER_GONE);
    IS(eagre_writer_finish(writer), EAGRE_READER_GONE);
    eagre_writer_close(writer);

    /* The writer goes without finishing: the reader gets an error and not a short stream. */
    open_small(&writer, &reader);
    IS(eagre_writer_copy_in(writer, "short", 5), EAGRE_OK);
    eagre_writer_close(writer);
    CHECK(eagre_reader_fill(reader, 1, &size) == NULL && size == 0);
    IS(eagre_last_status(), EAGRE_WRITER_GONE);
    if (has_pointers) {
        IS(eagre_reader_scope(reader, count, &length), EAGRE_WRITER_GONE);
        CHECK(*(const char *)eagre_reader_pointer(reader) == 0);
    }
    eagre_reader_close(reader);

    /* The writer says why. */
    open_small(&writer, &reader);
    IS(eagre_writer_fail(writer, "the disk is full"), EAGRE_OK);
    IS(eagre_reader_copy_out(reader, piece, 1, NULL), EAGRE_WRITER_FAILED);
    CHECK(strstr(eagre_last_error(), "the disk is full") != NULL);
    eagre_writer_close(writer);
    eagre_reader_close(reader);

    /* The reader says why. */
    open_small(&writer, &reader);
    IS(eagre_reader_fail(reader, NULL), EAGRE_OK);
    IS(eagre_writer_copy_in(writer, piece, 1), EAGRE_READER_GONE);
    eagre_writer_close(writer);
    eagre_reader_close(reader);

    /* Somebody else ends it. */
    open_small(&writer, &reader);
    IS(eagre_writer_control(writer, &control), EAGRE_OK);
    IS(eagre_control_check(control), EAGRE_OK);
    IS(eagre_control_cancel(control), EAGRE_OK);
    IS(eagre_control_check(control), EAGRE_CANCELLED);
    IS(eagre_writer_copy_in(writer, piece, 1), EAGRE_CANCELLED);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
    eagre_control_close(control);
    free(piece);
}

static void waits(void) {
    EagreWriter *writer;
    EagreReader *reader;
    EagreOptions options;
    size_t size;
    IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
    options.timeout_ns = 30 * 1000 * 1000;
    open_with(&options, &writer, &reader);
    CHECK(eagre_reader_fill(reader, 1, &size) == NULL);
    IS(eagre_last_status(), EAGRE_TIMED_OUT);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
}

static void *read_one(void *reader) {
    size_t size;
    CHECK(strcmp(eagre_last_error(), "") == 0);
    CHECK(eagre_reader_fill(reader, 1, &size) == NULL);
    IS(eagre_last_status(), EAGRE_CANCELLED);
    return NULL;
}

static void reports(void) {
    EagreWriter *writer;
    EagreReader *reader;
    EagreControl *control;
    EagreOptions options;
    pthread_t thread;
    char text[1000] = "", start[6] = "?????";

    IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
    options.name = "left waiting";
    open_with(&options, &writer, &reader);
    IS(eagre_writer_control(writer, &control), EAGRE_OK);
    pthread_create(&thread, NULL, read_one, reader);
    UNTIL(eagre_wait_report(NULL, 0) > 0);
    CHECK(eagre_wait_report(text, sizeof text) == strlen(text));
    CHECK(strstr(text, "stream left waiting: the reader has waited") != NULL);
    CHECK(eagre_wait_report(start, sizeof start) > 5 && strlen(start) == 5 && strncmp(start, text, 5) == 0);
    IS(eagre_writer_finish(NULL), EAGRE_INVALID);
    IS(eagre_control_cancel(control), EAGRE_OK);
    pthread_join(thread, NULL);
    /* The other thread's error is not this one's. */
    IS(eagre_last_status(), EAGRE_INVALID);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
    eagre_control_close(control);

    CHECK(eagre_doctor(text, sizeof text) > 10 && strstr(text, "off + copy: works") != NULL);
    CHECK(strcmp(eagre_strerror(EAGRE_READER_GONE), "the reader is gone") == 0);
    CHECK(strcmp(eagre_strerror(12345), "unknown status") == 0);
    CHECK(eagre_version()[0] != 0);
}

static void blocks(void) {
    EagreWriter *writer, *other_writer;
    EagreReader *reader, *other_reader;
    EagreWriteBlock *to[3];
    EagreReadBlock *from[3];
    size_t size;

    open_small(&writer, &reader);
    open_small(&other_writer, &other_reader);
    IS(eagre_writer_take(writer, &to[0]), EAGRE_OK);
    IS(eagre_writer_take(writer, &to[1]), EAGRE_OK);
    IS(eagre_writer_take(writer, &to[2]), EAGRE_BUSY);
    CHECK(to[2] == NULL);
    IS(eagre_writer_finish(writer), EAGRE_BUSY);
    IS(eagre_writer_complete(other_writer, to[0]), EAGRE_INVALID);
    IS(eagre_writer_complete(writer, NULL), EAGRE_INVALID);
    for (int i = 0; i < 2; i++) {
        void *data = eagre_write_block_data(to[i], &size);
        CHECK(data != NULL && size == BLOCK && eagre_write_block_offset(to[i]) == i * BLOCK);
        memset(data, 'a' + i, size);
    }
    IS(eagre_writer_complete(writer, to[1]), EAGRE_OK);
    IS(eagre_writer_complete(writer, to[0]), EAGRE_OK);
    IS(eagre_writer_copy_in(writer, "end", 3), EAGRE_OK);
    IS(eagre_writer_finish(writer), EAGRE_OK);

    IS(eagre_reader_take(reader, &from[0]), EAGRE_OK);
    IS(eagre_reader_take(reader, &from[1]), EAGRE_OK);
    IS(eagre_reader_take(reader, &from[2]), EAGRE_BUSY);
    IS(eagre_reader_release(other_reader, from[1]), EAGRE_INVALID);
    for (int i = 0; i < 2; i++) {
        const char *data = eagre_read_block_data(from[i], &size);
        CHECK(data != NULL && size == BLOCK && data[0] == 'a' + i && data[size - 1] == 'a' + i);
        CHECK(eagre_read_block_offset(from[i]) == i * BLOCK);
    }
    IS(eagre_reader_release(reader, from[1]), EAGRE_OK);
    IS(eagre_reader_release(reader, from[0]), EAGRE_OK);
    IS(eagre_reader_take(reader, &from[2]), EAGRE_OK);
    const char *last = eagre_read_block_data(from[2], &size);
    CHECK(last != NULL && size == 3 && memcmp(last, "end", 3) == 0);
    IS(eagre_reader_release(reader, from[2]), EAGRE_OK);
    IS(eagre_reader_take(reader, &from[2]), EAGRE_OK);
    CHECK(from[2] == NULL);
    eagre_writer_close(writer);
    eagre_reader_close(reader);

    IS(eagre_writer_take(other_writer, &to[0]), EAGRE_OK);
    eagre_write_block_abandon(to[0]);
    IS(eagre_reader_check(other_reader), EAGRE_WRITER_GONE);
    eagre_writer_close(other_writer);
    eagre_reader_close(other_reader);
}

int main(void) {
    EagreWriter *writer;
    EagreReader *reader;
    EagreControl *control;
    EagreStats stats;
    open_small(&writer, &reader);
    IS(eagre_writer_control(writer, &control), EAGRE_OK);
    IS(eagre_control_stats(control, &stats, sizeof stats), EAGRE_OK);
    has_pointers = stats.trap != EAGRE_TRAP_OFF;
    eagre_control_close(control);
    eagre_writer_close(writer);
    eagre_reader_close(reader);

    explicit_calls();
    pointers();
    early_ends();
    waits();
    reports();
    blocks();
    return report();
}
