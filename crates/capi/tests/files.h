/* What the tests of sorted files share: a folder, files in it, and random numbers. */
#ifndef FILES_H
#define FILES_H

#include "check.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/eagre-sort-XXXXXX";
static char from[64], to[64];

static inline void open_folder(void) {
    CHECK(mkdtemp(folder) != NULL);
    snprintf(from, sizeof from, "%s/from", folder);
    snprintf(to, sizeof to, "%s/to", folder);
}

/* Fails if anything but these two is there. */
static inline void close_folder(void) {
    unlink(from);
    unlink(to);
    CHECK(rmdir(folder) == 0);
}

static inline uint64_t number(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static inline char *memory(size_t size) {
    char *memory = malloc(size + 1);
    if (memory == NULL) abort();
    return memory;
}

static inline void put(const char *path, const char *bytes, size_t size) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* Whether the file has exactly these bytes. */
static inline int has(const char *path, const char *bytes, size_t size) {
    char *found = memory(size + 1);
    FILE *file = fopen(path, "r");
    const int same = file != NULL && fread(found, 1, size + 1, file) == size && memcmp(found, bytes, size) == 0;
    if (file != NULL) fclose(file);
    free(found);
    return same;
}

static inline int has_text(const char *path, const char *text) { return has(path, text, strlen(text)); }

/* Little memory, two threads, and temporary files in the folder. */
static inline EagreFileSortOptions small(void) {
    static const char *folders[] = {folder};
    EagreFileSortOptions options;
    IS(eagre_file_sort_options_default(&options, sizeof options), EAGRE_OK);
    options.memory = 16 << 20;
    options.threads = 2;
    options.temporary = folders;
    options.temporary_count = 1;
    return options;
}

static inline EagreFormat format_of(int32_t records) {
    EagreFormat format;
    IS(eagre_format_default(&format, sizeof format), EAGRE_OK);
    format.records = records;
    return format;
}

#endif
