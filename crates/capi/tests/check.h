/* What the C tests share. */
#ifndef CHECK_H
#define CHECK_H

#include <eagre.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures;

#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, fprintf(stderr, "%s:%d: %s (%s)\n", __func__, __LINE__, #condition, eagre_last_error())))
#define IS(call, status) CHECK((call) == (status))

static const size_t BLOCK = 64 << 10;

static inline void open_with(EagreOptions *options, EagreWriter **writer, EagreReader **reader) {
    if (eagre_open(options, writer, reader) != EAGRE_OK) {
        fprintf(stderr, "open: %s\n", eagre_last_error());
        exit(2);
    }
}

static inline void open_small(EagreWriter **writer, EagreReader **reader) {
    EagreOptions options;
    IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
    options.block_size = BLOCK;
    options.capacity = 64 << 20;
    options.read_ahead = 1;
    open_with(&options, writer, reader);
}

/* Opening with these options ends like this, and says so. */
static inline void opens_as(EagreOptions *options, EagreStatus status, const char *words) {
    EagreWriter *writer;
    EagreReader *reader;
    IS(eagre_open(options, &writer, &reader), status);
    CHECK((writer == NULL) == (status != EAGRE_OK) && (reader == NULL) == (status != EAGRE_OK));
    if (words != NULL) CHECK(strstr(eagre_last_error(), words) != NULL);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
}

/* Lets others run until `condition` holds, which another thread brings about. Gives up when this process has used 50 seconds
   of processor time. */
#define UNTIL(condition) \
    do { \
        while (!(condition) && clock() < 50 * CLOCKS_PER_SEC) sched_yield(); \
    } while (0)

static inline int report(void) {
    if (failures == 0) printf("ok\n");
    return failures == 0 ? 0 : 1;
}

#endif
