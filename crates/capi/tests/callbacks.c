/* Sources, sinks and pools. Run under every trap and mover. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <errno.h>
#include <pthread.h>

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

static int times_freed(struct callback *self) {
    pthread_mutex_lock(&self->lock);
    const int times = self->freed;
    pthread_mutex_unlock(&self->lock);
    return times;
}

static int is_freed(struct callback *self) {
    UNTIL(times_freed(self) > 0);
    return times_freed(self);
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
    sources();
    sinks();
    pools();
    return report();
}
