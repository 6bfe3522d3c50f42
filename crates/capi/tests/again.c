/* What is opened, used, fails and is closed, again and again: nothing stays. Run under every trap and mover. */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <malloc.h>
#include <sched.h>
#include <unistd.h>

enum { WARM = 20 };

/* How often each thing is done: more than enough to see what it leaves. */
static int rounds = 1000;

static size_t entries(const char *folder) {
    size_t count = 0;
    DIR *open = opendir(folder);
    if (open == NULL) return 0;
    while (readdir(open) != NULL) count++;
    closedir(open);
    return count;
}

static size_t lines(const char *path) {
    size_t count = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    for (int byte; (byte = getc(file)) != EOF;) count += byte == '\n';
    fclose(file);
    return count;
}

/* What the process has of everything that streams take. */
struct taken {
    size_t descriptors, mappings, threads, heap;
    unsigned long long addresses;
};

static struct taken taken(void) {
    struct taken now = {entries("/proc/self/fd"), lines("/proc/self/maps"), entries("/proc/self/task"), mallinfo2().uordblks, 0};
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%llu", &pages) != 1) CHECK(!"statm");
    if (file != NULL) fclose(file);
    now.addresses = pages * 4096;
    return now;
}

static const char *folder;

static void cancelled(int round) {
    EagreWriter *writer;
    EagreReader *reader;
    EagreControl *control;
    size_t size;
    open_small(&writer, &reader);
    IS(eagre_writer_control(writer, &control), EAGRE_OK);
    char *to = eagre_writer_pointer(writer);
    if (to != NULL) *to = 1;
    IS(eagre_control_cancel(control), EAGRE_OK);
    CHECK(eagre_reader_fill(reader, 1, &size) == NULL);
    CHECK(eagre_reader_check(reader) == EAGRE_CANCELLED);
    if (round % 2) eagre_control_close(control);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
    if (round % 2 == 0) eagre_control_close(control);
}

static void gone(int round) {
    EagreWriter *writer;
    EagreReader *reader;
    size_t size;
    open_small(&writer, &reader);
    IS(eagre_writer_copy_in(writer, "x", 1), EAGRE_OK);
    if (round % 2) IS(eagre_writer_fail(writer, "as expected"), EAGRE_OK);
    eagre_writer_close(writer);
    CHECK(eagre_reader_fill(reader, BLOCK, &size) == NULL);
    IS(eagre_reader_check(reader), round % 2 ? EAGRE_WRITER_FAILED : EAGRE_WRITER_GONE);
    eagre_reader_close(reader);
}

static void refused(int round) {
    EagreOptions options;
    EagreWriter *writer = NULL;
    EagreReader *reader = NULL;
    EagrePool *pool = NULL;
    IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
    options.block_size = BLOCK;
    if (round % 2) {
        options.block_size = 12345;
        CHECK(eagre_open(&options, &writer, &reader) != EAGRE_OK && writer == NULL);
        return;
    }
    IS(eagre_pool_open(BLOCK, 2, 0, 0, &pool), EAGRE_OK);
    options.pool = pool;
    IS(eagre_open(&options, &writer, &reader), EAGRE_OK);
    eagre_pool_close(pool);
    IS(eagre_writer_copy_in(writer, "x", 1), EAGRE_OUT_OF_BLOCKS);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
}

static void full(int round) {
    EagreVector *vector;
    EagrePool *pool;
    (void)round;
    IS(eagre_pool_open(BLOCK, 2, 0, 0, &pool), EAGRE_OK);
    IS(eagre_vector_open(BLOCK / 2, 1000, pool, &vector), EAGRE_OK);
    char *element = calloc(1, BLOCK / 2);
    EagreStatus status = EAGRE_OK;
    for (int at = 0; at < 10 && status == EAGRE_OK; at++) status = eagre_vector_push(vector, element);
    CHECK(status == EAGRE_OUT_OF_BLOCKS);
    free(element);
    eagre_vector_close(vector);
    eagre_pool_close(pool);
}

static void files(int round) {
    EagreOptions options;
    EagreWriter *writer;
    EagreReader *reader;
    EagreCounts counts;
    char path[4096];
    IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
    options.block_size = BLOCK;
    snprintf(path, sizeof path, "%s/missing/again", folder);
    CHECK(eagre_open_file(path, &options, &reader) != EAGRE_OK && reader == NULL);
    CHECK(eagre_create_file(path, &options, &writer) != EAGRE_OK && writer == NULL);
    CHECK(eagre_count_file(path, 0, 1, &counts, sizeof counts) != EAGRE_OK);
    snprintf(path, sizeof path, "%s/again", folder);
    IS(eagre_create_file(path, &options, &writer), EAGRE_OK);
    IS(eagre_writer_copy_in(writer, "x", 1), EAGRE_OK);
    if (round % 2) IS(eagre_writer_fail(writer, "as expected"), EAGRE_OK);
    eagre_writer_close(writer);
    CHECK(access(path, F_OK) != 0);
}

static void again_and_again(const char *what, void (*once)(int)) {
    for (int round = 0; round < WARM; round++) once(round);
    taken();
    const size_t lasting = entries("/proc/self/task");
    const struct taken before = taken();
    for (int round = 0; round < rounds; round++) once(round);
    /* Threads that have done their work may still be ending. */
    const time_t start = time(NULL);
    while (entries("/proc/self/task") > lasting && time(NULL) < start + 20) sched_yield();
    const struct taken after = taken();
    if (after.descriptors > before.descriptors || after.threads > before.threads || after.mappings > before.mappings + 100 ||
        after.addresses > before.addresses + (64 << 20) || after.heap > before.heap + 8 * (size_t)rounds) {
        failures++;
        fprintf(stderr, "%s: descriptors %zu %zu, threads %zu %zu, mappings %zu %zu, addresses %llu %llu, heap %zu %zu\n", what,
                before.descriptors, after.descriptors, before.threads, after.threads, before.mappings, after.mappings,
                before.addresses, after.addresses, before.heap, after.heap);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: again FOLDER\n"), 2;
    folder = argv[1];
    if (getenv("EAGRE_LONG") != NULL) rounds = 20000;
    /* What the allocator keeps for each new thread is not the library's. */
    mallopt(M_ARENA_MAX, 1);
    again_and_again("cancelled", cancelled);
    again_and_again("gone", gone);
    again_and_again("refused", refused);
    again_and_again("full", full);
    again_and_again("files", files);
    return report();
}
