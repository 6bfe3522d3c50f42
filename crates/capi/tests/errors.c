/* What the C interface does when it is used wrongly, and when a stream fails. Run under every trap and mover. */
#define _POSIX_C_SOURCE 200809L
#include <eagre.h>

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What compiled programs rely on. */
_Static_assert(EAGRE_OK == 0 && EAGRE_SYSTEM == 15 && EAGRE_INVALID == 64 && EAGRE_PANIC == 69, "statuses keep their numbers");
_Static_assert(EAGRE_TRAP_OFF == 3 && EAGRE_MOVER_COPY == 3, "traps and movers keep their numbers");
_Static_assert(offsetof(EagreOptions, name) == 8 && offsetof(EagreStats, writer_blocks) == 16, "fields keep their places");

static int failures;
static int has_pointers;

#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, fprintf(stderr, "%s:%d: %s (%s)\n", __func__, __LINE__, #condition, eagre_last_error())))
#define IS(call, status) CHECK((call) == (status))

static const size_t BLOCK = 64 << 10;

static void open_with(EagreOptions *options, EagreWriter **writer, EagreReader **reader) {
    if (eagre_open(options, writer, reader) != EAGRE_OK) {
        fprintf(stderr, "open: %s\n", eagre_last_error());
        exit(2);
    }
}

static void open_small(EagreWriter **writer, EagreReader **reader) {
    EagreOptions options;
    IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
    options.block_size = BLOCK;
    options.capacity = 64 << 20;
    options.read_ahead = 1;
    open_with(&options, writer, reader);
}

static void nap(long ms) {
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void null_pointers(void) {
    EagreWriter *writer = (EagreWriter *)&failures;
    EagreReader *reader = (EagreReader *)&failures;
    EagreControl *control = (EagreControl *)&failures;
    EagreWriteBlock *to = (EagreWriteBlock *)&failures;
    EagreReadBlock *from = (EagreReadBlock *)&failures;
    char byte = 0;
    size_t size = 0;

    IS(eagre_options_default(NULL, sizeof(EagreOptions)), EAGRE_INVALID);
    IS(eagre_open(NULL, NULL, &reader), EAGRE_INVALID);
    IS(eagre_open(NULL, &writer, NULL), EAGRE_INVALID);
    CHECK(writer == NULL);
    IS(eagre_open_source(NULL, NULL, NULL, NULL, &reader), EAGRE_INVALID);
    IS(eagre_open_sink(NULL, NULL, NULL, NULL, &writer), EAGRE_INVALID);
    IS(eagre_pool_open(0, 8, 0, 0, NULL), EAGRE_INVALID);

    CHECK(eagre_writer_pointer(NULL) == NULL);
    IS(eagre_last_status(), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "writer is a null pointer") != NULL);
    IS(eagre_writer_scope(NULL, NULL, NULL), EAGRE_INVALID);
    CHECK(eagre_writer_reserve(NULL, 1, &size) == NULL);
    IS(eagre_writer_commit(NULL, 0), EAGRE_INVALID);
    IS(eagre_writer_copy_in(NULL, &byte, 1), EAGRE_INVALID);
    CHECK(eagre_writer_position(NULL) == EAGRE_UNKNOWN);
    IS(eagre_writer_advance_to(NULL, 0), EAGRE_INVALID);
    IS(eagre_writer_finish(NULL), EAGRE_INVALID);
    IS(eagre_writer_finish_at(NULL, 0), EAGRE_INVALID);
    IS(eagre_writer_fail(NULL, NULL), EAGRE_INVALID);
    IS(eagre_writer_check(NULL), EAGRE_INVALID);
    IS(eagre_writer_control(NULL, &control), EAGRE_INVALID);
    CHECK(control == NULL);
    IS(eagre_writer_take(NULL, &to), EAGRE_INVALID);
    IS(eagre_writer_complete(NULL, NULL), EAGRE_INVALID);
    CHECK(eagre_write_block_data(NULL, NULL) == NULL);
    CHECK(eagre_write_block_offset(NULL) == EAGRE_UNKNOWN);

    CHECK(eagre_reader_pointer(NULL) == NULL);
    IS(eagre_reader_scope(NULL, NULL, NULL), EAGRE_INVALID);
    CHECK(eagre_reader_fill(NULL, 1, &size) == NULL);
    IS(eagre_reader_consume(NULL, 0), EAGRE_INVALID);
    IS(eagre_reader_copy_out(NULL, &byte, 1, NULL), EAGRE_INVALID);
    CHECK(eagre_reader_position(NULL) == EAGRE_UNKNOWN);
    CHECK(eagre_reader_length(NULL) == EAGRE_UNKNOWN);
    IS(eagre_reader_advance_to(NULL, 0), EAGRE_INVALID);
    IS(eagre_reader_fail(NULL, NULL), EAGRE_INVALID);
    IS(eagre_reader_check(NULL), EAGRE_INVALID);
    IS(eagre_reader_control(NULL, NULL), EAGRE_INVALID);
    IS(eagre_reader_take(NULL, &from), EAGRE_INVALID);
    IS(eagre_reader_release(NULL, NULL), EAGRE_INVALID);
    CHECK(eagre_read_block_data(NULL, NULL) == NULL);
    CHECK(eagre_read_block_offset(NULL) == EAGRE_UNKNOWN);

    IS(eagre_control_cancel(NULL), EAGRE_INVALID);
    IS(eagre_control_check(NULL), EAGRE_INVALID);
    IS(eagre_control_stats(NULL, NULL, sizeof(EagreStats)), EAGRE_INVALID);
    CHECK(eagre_control_capacity(NULL) == 0);
    CHECK(eagre_wait_report(NULL, 0) == 0);

    /* Closing nothing is nothing, as with free. */
    eagre_writer_close(NULL);
    eagre_reader_close(NULL);
    eagre_control_close(NULL);
    eagre_pool_close(NULL);
    eagre_write_block_abandon(NULL);
    eagre_read_block_abandon(NULL);

    open_small(&writer, &reader);
    IS(eagre_writer_copy_in(writer, NULL, 1), EAGRE_INVALID);
    IS(eagre_writer_copy_in(writer, NULL, 0), EAGRE_OK);
    IS(eagre_writer_scope(writer, NULL, NULL), EAGRE_INVALID);
    IS(eagre_reader_scope(reader, NULL, NULL), EAGRE_INVALID);
    CHECK(eagre_reader_fill(reader, 1, NULL) == NULL);
    IS(eagre_writer_check(writer), EAGRE_OK);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
}

static void opens_as(EagreOptions *options, EagreStatus status, const char *words) {
    EagreWriter *writer;
    EagreReader *reader;
    IS(eagre_open(options, &writer, &reader), status);
    CHECK((writer == NULL) == (status != EAGRE_OK) && (reader == NULL) == (status != EAGRE_OK));
    if (words != NULL) CHECK(strstr(eagre_last_error(), words) != NULL);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
}

static void settings(void) {
    EagreOptions good, options;
    struct {
        EagreOptions known;
        uint64_t later[2];
    } large;

    opens_as(NULL, EAGRE_OK, NULL);
    IS(eagre_options_default(&good, sizeof good), EAGRE_OK);
    CHECK(good.size == sizeof good && good.version == EAGRE_OPTIONS_VERSION && good.length == EAGRE_UNKNOWN);
    opens_as(&good, EAGRE_OK, NULL);

    options = good, options.version = 0, opens_as(&options, EAGRE_WRONG_VERSION, "version 0");
    options = good, options.version = EAGRE_OPTIONS_VERSION + 1, opens_as(&options, EAGRE_WRONG_VERSION, "newer");
    options = good, options.size = 0, opens_as(&options, EAGRE_WRONG_VERSION, "0 bytes");
    options = good, options.size = sizeof options - 1, opens_as(&options, EAGRE_WRONG_VERSION, NULL);
    options = good, options.size = 1u << 30, opens_as(&options, EAGRE_WRONG_VERSION, NULL);
    IS(eagre_options_default(&options, 4), EAGRE_WRONG_VERSION);
    IS(eagre_options_default(&options, (size_t)-1), EAGRE_WRONG_VERSION);

    memset(&large, 0xFF, sizeof large);
    IS(eagre_options_default(&large.known, sizeof large), EAGRE_OK);
    CHECK(large.known.size == sizeof large && large.later[0] == 0 && large.later[1] == 0);
    opens_as(&large.known, EAGRE_OK, NULL);
    large.later[1] = 1;
    opens_as(&large.known, EAGRE_WRONG_VERSION, "does not know");

    options = good, options.flags = 1u << 31, opens_as(&options, EAGRE_SETTING, "flags");
    options = good, options.block_size = 3 << 20, opens_as(&options, EAGRE_SETTING, "power of two");
    options = good, options.rewrite = 1000, opens_as(&options, EAGRE_SETTING, "rewrite");
    options = good, options.lookback = 1000, opens_as(&options, EAGRE_SETTING, "lookback");
    options = good, options.read_ahead = 1000, opens_as(&options, EAGRE_SETTING, "read_ahead");
    options = good, options.trap = 9, opens_as(&options, EAGRE_SETTING, "trap is 9");
    options = good, options.mover = -1, opens_as(&options, EAGRE_SETTING, "mover is -1");
    options = good, options.capacity = 10, options.length = 11, opens_as(&options, EAGRE_SETTING, "capacity");
    options = good, options.trap = EAGRE_TRAP_OFF, options.mover = EAGRE_MOVER_MOVE, opens_as(&options, EAGRE_UNAVAILABLE, NULL);
}

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
    char report[1000] = "", start[6] = "?????";

    IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
    options.name = "left waiting";
    open_with(&options, &writer, &reader);
    IS(eagre_writer_control(writer, &control), EAGRE_OK);
    pthread_create(&thread, NULL, read_one, reader);
    for (int i = 0; i < 1000 && eagre_wait_report(NULL, 0) == 0; i++) nap(5);
    CHECK(eagre_wait_report(report, sizeof report) == strlen(report));
    CHECK(strstr(report, "stream left waiting: the reader has waited") != NULL);
    CHECK(eagre_wait_report(start, sizeof start) > 5 && strlen(start) == 5 && strncmp(start, report, 5) == 0);
    IS(eagre_writer_finish(NULL), EAGRE_INVALID);
    IS(eagre_control_cancel(control), EAGRE_OK);
    pthread_join(thread, NULL);
    /* The other thread's error is not this one's. */
    IS(eagre_last_status(), EAGRE_INVALID);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
    eagre_control_close(control);

    CHECK(eagre_doctor(report, sizeof report) > 10 && strstr(report, "off + copy: works") != NULL);
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

struct callback {
    pthread_mutex_t lock;
    uint64_t total, limit, ended;
    int64_t answer;
    int freed;
};

static int64_t give(void *context, uint64_t offset, void *bytes, size_t size) {
    struct callback *self = context;
    if (offset >= self->limit) return self->answer;
    if (size > self->limit - offset) size = (size_t)(self->limit - offset);
    memset(bytes, 'g', size);
    return (int64_t)size;
}

static int64_t swallow(void *context, uint64_t offset, const void *bytes, size_t size) {
    struct callback *self = context;
    if (size == 0) self->ended = offset;
    else if (((const char *)bytes)[size - 1] != 's') return 1;
    self->total += size;
    return self->total > self->limit ? self->answer : 0;
}

static void freed(void *context) {
    struct callback *self = context;
    pthread_mutex_lock(&self->lock);
    self->freed++;
    pthread_mutex_unlock(&self->lock);
}

static int is_freed(struct callback *self) {
    int freed = 0;
    for (int i = 0; i < 1000 && !freed; i++) {
        pthread_mutex_lock(&self->lock);
        freed = self->freed;
        pthread_mutex_unlock(&self->lock);
        if (!freed) nap(5);
    }
    return freed;
}

static void sources(void) {
    EagreReader *reader;
    EagreOptions options;
    size_t copied = 0;
    const size_t length = 5000000;
    char *out = malloc(2 * length);
    IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
    for (int demand = 0; demand < 2; demand++) {
        struct callback self = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = length};
        options.flags = demand ? EAGRE_ON_DEMAND : 0;
        IS(eagre_open_source(&options, give, &self, freed, &reader), EAGRE_OK);
        IS(eagre_reader_copy_out(reader, out, 2 * length, &copied), EAGRE_OK);
        CHECK(copied == length && out[length - 1] == 'g' && eagre_reader_length(reader) == length);
        eagre_reader_close(reader);
        CHECK(is_freed(&self) == 1);
    }
    const struct {
        int64_t answer;
        const char *words;
    } wrong[] = {{-ENOSPC, "No space left"}, {INT64_MIN, "callback returned -9223372036854775808"}, {INT64_MAX, "more than"}};
    for (int i = 0; i < 3; i++) {
        struct callback self = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = 10, .answer = wrong[i].answer};
        IS(eagre_open_source(&options, give, &self, freed, &reader), EAGRE_OK);
        IS(eagre_reader_copy_out(reader, out, length, &copied), EAGRE_WRITER_FAILED);
        CHECK(strstr(eagre_last_error(), wrong[i].words) != NULL);
        eagre_reader_close(reader);
        CHECK(is_freed(&self) == 1);
    }
    struct callback unopened = {.lock = PTHREAD_MUTEX_INITIALIZER};
    options.version = 99;
    IS(eagre_open_source(&options, give, &unopened, freed, &reader), EAGRE_WRONG_VERSION);
    CHECK(reader == NULL && is_freed(&unopened) == 1);
    free(out);
}

static void sinks(void) {
    EagreWriter *writer;
    EagreWriteBlock *block;
    const size_t length = 5000000;
    char *piece = malloc(length);
    memset(piece, 's', length);

    struct callback self = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = 2 * length};
    IS(eagre_open_sink(NULL, swallow, &self, freed, &writer), EAGRE_OK);
    IS(eagre_writer_copy_in(writer, piece, length), EAGRE_OK);
    IS(eagre_writer_finish(writer), EAGRE_OK);
    /* Finishing has waited for all of it. */
    CHECK(self.total == length && self.ended == length && self.freed == 1);
    CHECK(eagre_writer_position(writer) == length);
    IS(eagre_writer_finish(writer), EAGRE_INVALID_LENGTH);
    IS(eagre_writer_copy_in(writer, piece, 1), EAGRE_INVALID_LENGTH);
    CHECK(eagre_writer_pointer(writer) == NULL);
    eagre_writer_close(writer);

    struct callback full = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = 0, .answer = -ENOSPC};
    IS(eagre_open_sink(NULL, swallow, &full, freed, &writer), EAGRE_OK);
    IS(eagre_writer_copy_in(writer, piece, 10), EAGRE_OK);
    CHECK(eagre_writer_finish(writer) != EAGRE_OK);
    CHECK(strstr(eagre_last_error(), "No space left") != NULL);
    eagre_writer_close(writer);
    CHECK(is_freed(&full) == 1);

    /* Closed without finishing, and not able to finish: the sink's thread ends all the same. */
    struct callback left = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = length};
    IS(eagre_open_sink(NULL, swallow, &left, freed, &writer), EAGRE_OK);
    eagre_writer_close(writer);
    CHECK(is_freed(&left) == 1);
    struct callback stuck = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = length};
    IS(eagre_open_sink(NULL, swallow, &stuck, freed, &writer), EAGRE_OK);
    IS(eagre_writer_take(writer, &block), EAGRE_OK);
    CHECK(eagre_writer_finish(writer) != EAGRE_OK);
    eagre_write_block_abandon(block);
    eagre_writer_close(writer);
    CHECK(is_freed(&stuck) == 1);
    free(piece);
}

static void pools(void) {
    EagrePool *pool;
    EagreWriter *writer;
    EagreReader *reader;
    EagreOptions options;
    IS(eagre_pool_open(12345, 8, 0, 0, &pool), EAGRE_SETTING);
    CHECK(pool == NULL);
    IS(eagre_pool_open(0, 8, 7, 0, &pool), EAGRE_SETTING);
    IS(eagre_pool_open(BLOCK, 2, 0, 0, &pool), EAGRE_OK);
    IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
    options.pool = pool;
    opens_as(&options, EAGRE_SETTING, "pool");
    options.block_size = BLOCK;
    open_with(&options, &writer, &reader);
    eagre_pool_close(pool);
    /* It needs 4 blocks at least. */
    IS(eagre_writer_copy_in(writer, "x", 1), EAGRE_OUT_OF_BLOCKS);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
}

int main(void) {
    EagreWriter *writer;
    EagreReader *reader;
    EagreControl *control;
    EagreStats stats;
    CHECK(strcmp(eagre_last_error(), "") == 0 && eagre_last_status() == EAGRE_OK);
    open_small(&writer, &reader);
    IS(eagre_writer_control(writer, &control), EAGRE_OK);
    IS(eagre_control_stats(control, &stats, sizeof stats), EAGRE_OK);
    has_pointers = stats.trap != EAGRE_TRAP_OFF;
    eagre_control_close(control);
    eagre_writer_close(writer);
    eagre_reader_close(reader);

    null_pointers();
    settings();
    explicit_calls();
    pointers();
    early_ends();
    waits();
    reports();
    blocks();
    sources();
    sinks();
    pools();
    if (failures == 0) printf("ok\n");
    return failures == 0 ? 0 : 1;
}
