/* What the C interface does when it is used wrongly. Run under every trap and mover. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <stddef.h>

/* What compiled programs rely on. */
_Static_assert(EAGRE_OK == 0 && EAGRE_SYSTEM == 15 && EAGRE_INVALID == 64 && EAGRE_PANIC == 69, "statuses keep their numbers");
_Static_assert(EAGRE_TRAP_OFF == 3 && EAGRE_MOVER_COPY == 3 && EAGRE_MOVER_MAP == 4, "traps and movers keep their numbers");
_Static_assert(offsetof(EagreOptions, name) == 8 && offsetof(EagreStats, writer_blocks) == 16, "fields keep their places");

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

int main(void) {
    IS(eagre_last_status(), EAGRE_OK);
    CHECK(strcmp(eagre_last_error(), "") == 0);
    null_pointers();
    settings();
    return report();
}
