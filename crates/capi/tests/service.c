/* What a long-running program relies on: messages, pointers that are there, handlers that come late. Run under every trap
 * and mover. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <signal.h>
#include <unistd.h>

static int has_pointers;

/* The order in which C evaluates arguments is its own. */
static void messages(void) {
    char text[2000];
    const char *before = eagre_last_error();
    IS(eagre_writer_finish(NULL), EAGRE_INVALID);
    CHECK(eagre_last_error() == before && strstr(before, "writer") != NULL);
    snprintf(text, sizeof text, "%d %s", eagre_reader_check(NULL), eagre_last_error());
    CHECK(strncmp(text, "64 ", 3) == 0 && strstr(text, "reader") != NULL);
    snprintf(text, sizeof text, "%s %d", eagre_last_error(), eagre_control_cancel(NULL));
    CHECK(strlen(text) > 5);
}

/* Code that does not look at its pointers demands them. */
static void demanded(void) {
    EagreOptions options;
    IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
    options.flags = EAGRE_POINTERS;
    opens_as(&options, has_pointers ? EAGRE_OK : EAGRE_UNAVAILABLE, NULL);
    options.trap = EAGRE_TRAP_OFF;
    opens_as(&options, EAGRE_UNAVAILABLE, "do not work together");
    options.flags = 0;
    opens_as(&options, has_pointers ? EAGRE_UNAVAILABLE : EAGRE_OK, NULL);
    options.mover = EAGRE_MOVER_DEFAULT;
}

static void crash(int signal) {
    (void)signal;
    static const char text[] = "the crash handler ran\n";
    if (write(2, text, sizeof text - 1) < 0) _exit(8);
    _exit(9);
}

/* A crash handler that knows of nobody is installed when the stream is open already. */
static void late_handler(void) {
    EagreWriter *writer;
    EagreReader *reader;
    if (!has_pointers) return;
    open_small(&writer, &reader);
    signal(SIGSEGV, crash);
    signal(SIGBUS, crash);
    char *to = eagre_writer_pointer(writer);
    for (size_t at = 0; at < 2 * BLOCK; at += 8) memcpy(to + at, "eight by", 8);
    signal(SIGSEGV, crash);
    signal(SIGBUS, crash);
    const char *from = eagre_reader_pointer(reader);
    IS(eagre_writer_finish_at(writer, 2 * BLOCK), EAGRE_OK);
    CHECK(strlen(from) == 2 * BLOCK && memcmp(from + 2 * BLOCK - 8, "eight by", 8) == 0);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
}

/* The stream ends inside of a block that was taken. */
static void ends_inside(void) {
    EagreWriter *writer, *other_writer;
    EagreReader *reader, *other_reader;
    EagreWriteBlock *block[2];
    EagreReadBlock *read;
    size_t size;
    open_small(&writer, &reader);
    open_small(&other_writer, &other_reader);
    IS(eagre_writer_take(writer, &block[0]), EAGRE_OK);
    IS(eagre_writer_take(writer, &block[1]), EAGRE_OK);
    memset(eagre_write_block_data(block[0], &size), 'a', BLOCK);
    memcpy(eagre_write_block_data(block[1], &size), "the end", 7);
    IS(eagre_writer_put_back(NULL, block[1]), EAGRE_INVALID);
    IS(eagre_writer_put_back(writer, NULL), EAGRE_INVALID);
    IS(eagre_writer_put_back(other_writer, block[1]), EAGRE_INVALID);
    IS(eagre_writer_put_back(writer, block[0]), EAGRE_BUSY);
    IS(eagre_writer_complete(writer, block[0]), EAGRE_OK);
    IS(eagre_writer_put_back(writer, block[1]), EAGRE_OK);
    IS(eagre_writer_finish_at(writer, BLOCK + 7), EAGRE_OK);
    CHECK(eagre_reader_length(reader) == BLOCK + 7);
    IS(eagre_reader_take(reader, &read), EAGRE_OK);
    IS(eagre_reader_release(reader, read), EAGRE_OK);
    IS(eagre_reader_take(reader, &read), EAGRE_OK);
    const char *last = eagre_read_block_data(read, &size);
    CHECK(last != NULL && size == 7 && memcmp(last, "the end", 7) == 0);
    IS(eagre_reader_release(reader, read), EAGRE_OK);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
    eagre_writer_close(other_writer);
    eagre_reader_close(other_reader);
}

/* A reader on a pointer has read everything and goes, before the writer says that this was all. */
static void reader_goes_first(void) {
    EagreWriter *writer;
    EagreReader *reader;
    EagreStats stats;
    EagreControl *control;
    char *block = malloc(BLOCK);
    if (!has_pointers || block == NULL) {
        free(block);
        return;
    }
    memset(block, 'x', BLOCK);
    open_small(&writer, &reader);
    IS(eagre_writer_control(writer, &control), EAGRE_OK);
    IS(eagre_control_stats(control, &stats, sizeof stats), EAGRE_OK);
    CHECK(stats.version == 2 && stats.capacity == eagre_control_capacity(control) && stats.capacity >= 64 << 20);
    IS(eagre_writer_copy_in(writer, block, BLOCK), EAGRE_OK);
    CHECK(memcmp(eagre_reader_pointer(reader), block, BLOCK) == 0);
    eagre_reader_close(reader);
    IS(eagre_writer_finish(writer), EAGRE_OK);
    IS(eagre_writer_check(writer), EAGRE_OK);
    eagre_writer_close(writer);
    eagre_control_close(control);
    free(block);
}

int main(void) {
    EagreWriter *writer;
    EagreReader *reader;
    open_small(&writer, &reader);
    has_pointers = eagre_writer_pointer(writer) != NULL;
    eagre_writer_close(writer);
    eagre_reader_close(reader);
    messages();
    demanded();
    late_handler();
    ends_inside();
    reader_goes_first();
    return report();
}
