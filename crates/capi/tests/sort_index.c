/* An index from C, and the records of it: against qsort, and against the format on the page. */
#define _POSIX_C_SOURCE 200809L
#include "files.h"

#include <fcntl.h>

enum { COUNT = 30000 };

struct record {
    uint32_t key, place;
    char rest[24];
};

static char index_path[64];
static struct record records[COUNT], sorted[COUNT];

static int by_key(const void *a, const void *b) {
    const struct record *x = a, *y = b;
    if (x->key != y->key) return x->key > y->key ? 1 : -1;
    return x->place > y->place ? 1 : -1;
}

static EagreFormat by_number(void) {
    EagreFormat format = format_of(EAGRE_RECORDS_FIXED);
    format.record_size = sizeof(struct record);
    format.keys = "0:u32";
    return format;
}

static EagreGatherOptions some(uint64_t start, uint64_t end) {
    EagreGatherOptions options;
    IS(eagre_gather_options_default(&options, sizeof options), EAGRE_OK);
    CHECK(options.start == 0 && options.end == EAGRE_UNKNOWN && options.flags == 0 && options.threads == 0);
    options.start = start;
    options.end = end;
    return options;
}

/* A number, least significant byte first. */
static uint64_t little(const unsigned char *bytes, int size) {
    uint64_t number = 0;
    while (size-- > 0) number = number << 8 | bytes[size];
    return number;
}

/* The file is what docs/sorting-files.md says: a header of 64 bytes, then keys and places. */
static void the_index(void) {
    const EagreFormat format = by_number();
    EagreFileSortOptions options = small();
    EagreSortReport report;
    options.flags = EAGRE_VERIFY;
    for (int plan = EAGRE_PLAN_AUTO; plan <= EAGRE_PLAN_MERGE_PASS; plan++) {
        if (plan == EAGRE_PLAN_IN_MEMORY) continue;
        options.plan = plan;
        IS(eagre_index_file(from, index_path, &format, &options, &report, sizeof report), EAGRE_OK);
        CHECK(report.records == COUNT && report.bytes == sizeof records && report.written == 64 + COUNT * 9);
        unsigned char *bytes = (unsigned char *)memory(64 + COUNT * 9);
        FILE *file = fopen(index_path, "r");
        CHECK(file != NULL && fread(bytes, 1, 64 + COUNT * 9 + 1, file) == 64 + COUNT * 9);
        if (file != NULL) fclose(file);
        CHECK(memcmp(bytes, "EAGREIDX", 8) == 0 && little(bytes + 8, 2) == 1 && little(bytes + 10, 2) == 4);
        CHECK(little(bytes + 16, 8) == COUNT && little(bytes + 24, 8) == sizeof *records && little(bytes + 32, 8) == sizeof records);
        int wrong = 0;
        for (size_t rank = 0; rank < COUNT; rank++) {
            const unsigned char *entry = bytes + 64 + rank * 9;
            const uint32_t key = (uint32_t)entry[0] << 24 | (uint32_t)entry[1] << 16 | (uint32_t)entry[2] << 8 | entry[3];
            wrong += key != sorted[rank].key || little(entry + 4, 5) != sorted[rank].place * sizeof *records;
        }
        CHECK(wrong == 0);
        free(bytes);
    }
}

static void all_and_ranges(void) {
    uint64_t count = 7;
    IS(eagre_gather_file(index_path, from, to, NULL, &count), EAGRE_OK);
    CHECK(count == COUNT && has(to, (char *)sorted, sizeof sorted));
    static const uint64_t ranges[][2] = {{0, 1}, {1000, 1100}, {COUNT - 1, COUNT}, {5, 5}, {0, COUNT}, {COUNT, EAGRE_UNKNOWN}, {COUNT - 9, EAGRE_UNKNOWN}};
    for (size_t at = 0; at < sizeof ranges / sizeof *ranges; at++) {
        EagreGatherOptions options = some(ranges[at][0], ranges[at][1]);
        options.threads = 1 + (uint32_t)at % 2;
        const uint64_t start = ranges[at][0], end = ranges[at][1] == EAGRE_UNKNOWN ? COUNT : ranges[at][1];
        IS(eagre_gather_file(index_path, from, to, &options, &count), EAGRE_OK);
        CHECK(count == end - start && has(to, (char *)(sorted + start), (end - start) * sizeof *sorted));
    }
    IS(eagre_gather_file(index_path, from, to, NULL, NULL), EAGRE_OK);
    /* The output may be the data themselves. */
    IS(eagre_gather_file(index_path, from, from, NULL, NULL), EAGRE_OK);
    CHECK(has(from, (char *)sorted, sizeof sorted));
    put(from, (char *)records, sizeof records);
    const EagreFormat format = by_number();
    IS(eagre_index_file(from, index_path, &format, NULL, NULL, 0), EAGRE_OK);
}

/* Lines of any length by a key of text, the last of them without an end; of equal ones the first, and only some. */
static void of_text(void) {
    const char *const keys[] = {"2,2"};
    EagreFormat format = format_of(EAGRE_RECORDS_TEXT);
    format.text_keys = keys;
    format.text_key_count = 1;
    format.text_options = "n";
    format.separator = ",";
    format.flags = EAGRE_DESCENDING;
    EagreFileSortOptions options = small();
    options.flags = EAGRE_UNIQUE;
    put(to, "a,10\nbbb,9\nc,100\ndd,9\ne,1", 25);
    char gathered[64];
    snprintf(gathered, sizeof gathered, "%s/gathered", folder);
    IS(eagre_index_file(to, index_path, &format, &options, NULL, 0), EAGRE_OK);
    IS(eagre_gather_file(index_path, to, gathered, NULL, NULL), EAGRE_OK);
    CHECK(has_text(gathered, "c,100\na,10\nbbb,9\ne,1\n"));
    options.head = 2;
    IS(eagre_index_file(to, index_path, &format, &options, NULL, 0), EAGRE_OK);
    IS(eagre_gather_file(index_path, to, gathered, NULL, NULL), EAGRE_OK);
    CHECK(has_text(gathered, "c,100\na,10\n"));
    unlink(gathered);
}

static int stop(void *context, const char *phase, uint64_t done, uint64_t total) {
    int *calls = context;
    CHECK(strcmp(phase, "gather") == 0 && done <= total && total == COUNT);
    return ++*calls > 0;
}

static void gathers_as(const char *index, const EagreGatherOptions *options, EagreStatus status, const char *words) {
    uint64_t count = 7;
    IS(eagre_gather_file(index, from, to, options, &count), status);
    const char *said = eagre_last_error();
    CHECK(count == 7 && access(to, F_OK) != 0 && strncmp(said, "gather: ", 8) == 0 && strchr(said, '\n') == NULL);
    CHECK(strstr(said, words) != NULL);
}

static void what_is_wrong_is_said(void) {
    const EagreFormat format = by_number();
    EagreFileSortOptions options = small();
    IS(eagre_index_file(from, index_path, &format, &options, NULL, 0), EAGRE_OK);
    unlink(to);
    EagreGatherOptions range = some(0, COUNT + 1);
    gathers_as(index_path, &range, EAGRE_INVALID, "it has 30000 entries, and 0..30001 is no range of them");
    range = some(9, 8);
    gathers_as(index_path, &range, EAGRE_INVALID, "9..8 is no range");
    range = some(0, EAGRE_UNKNOWN), range.flags = 2;
    gathers_as(index_path, &range, EAGRE_INVALID, "unknown flags 0x2: only EAGRE_COPIED is known");
    int calls = 0;
    range = some(0, EAGRE_UNKNOWN), range.progress = stop, range.context = &calls;
    gathers_as(index_path, &range, EAGRE_CANCELLED, "stopped");
    CHECK(calls == 1);
    gathers_as(from, NULL, EAGRE_MALFORMED, "it is not an index");
    gathers_as("/nowhere/at all", NULL, EAGRE_SYSTEM, "/nowhere/at all: No such file");
    range = some(0, EAGRE_UNKNOWN), range.version++;
    IS(eagre_gather_file(index_path, from, to, &range, NULL), EAGRE_WRONG_VERSION);
    IS(eagre_gather_options_default(&range, 7), EAGRE_WRONG_VERSION);
    IS(eagre_gather_options_default(NULL, sizeof range), EAGRE_INVALID);
    IS(eagre_gather_file(NULL, from, to, NULL, NULL), EAGRE_INVALID);
    IS(eagre_gather_file(index_path, NULL, to, NULL, NULL), EAGRE_INVALID);
    IS(eagre_gather_file(index_path, from, NULL, NULL, NULL), EAGRE_INVALID);

    /* Data that were changed, or copied: the time differs. */
    const struct timespec times[2] = {{1, 0}, {1, 0}};
    CHECK(utimensat(AT_FDCWD, from, times, 0) == 0);
    gathers_as(index_path, NULL, EAGRE_MALFORMED, "it was changed since it was indexed");
    range = some(0, 3), range.flags = EAGRE_COPIED;
    IS(eagre_gather_file(index_path, from, to, &range, NULL), EAGRE_OK);
    CHECK(has(to, (char *)sorted, 3 * sizeof *sorted));
    unlink(to);
    CHECK(truncate(from, sizeof records - 1) == 0);
    gathers_as(index_path, &range, EAGRE_MALFORMED, "the index is of another file");
    put(from, (char *)records, sizeof records);

    /* What an index does not have. */
    IS(eagre_index_file(from, from, &format, &options, NULL, 0), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "would replace the records") != NULL && has(from, (char *)records, sizeof records));
    options.compression = EAGRE_COMPRESSION_GZIP;
    IS(eagre_index_file(from, to, &format, &options, NULL, 0), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "compression is 1: an index cannot be compressed") != NULL);
    options = small(), options.header = 1;
    IS(eagre_index_file(from, to, &format, &options, NULL, 0), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "header is 1: an index has none; leave it 0") != NULL);
    options = small(), options.plan = EAGRE_PLAN_CLASSIC;
    IS(eagre_index_file(from, to, &format, &options, NULL, 0), EAGRE_INVALID);
    IS(eagre_index_file("/dev/null", to, &format, NULL, NULL, 0), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "/dev/null") != NULL);
    IS(eagre_index_file("/nowhere/at all", to, &format, NULL, NULL, 0), EAGRE_SYSTEM);
    IS(eagre_index_file(NULL, to, &format, NULL, NULL, 0), EAGRE_INVALID);
    IS(eagre_index_file(from, NULL, &format, NULL, NULL, 0), EAGRE_INVALID);
    CHECK(access(to, F_OK) != 0);
}

int main(void) {
    open_folder();
    snprintf(index_path, sizeof index_path, "%s/index", folder);
    for (uint32_t at = 0; at < COUNT; at++) {
        records[at] = (struct record){(uint32_t)number() % 20000, at, "what is never compared"};
    }
    memcpy(sorted, records, sizeof records);
    qsort(sorted, COUNT, sizeof *sorted, by_key);
    put(from, (char *)records, sizeof records);
    the_index();
    all_and_ranges();
    of_text();
    what_is_wrong_is_said();
    unlink(index_path);
    close_folder();
    return report();
}
