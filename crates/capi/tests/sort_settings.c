/* How files are sorted from C: compression, and who reads and writes at the same time. */
#define _POSIX_C_SOURCE 200809L
#include "files.h"

enum { LINES = 300000, LINE = 48 };

static int by_line(const void *a, const void *b) { return memcmp(a, b, LINE); }

/* Lines that differ in a few bytes: 14 MB, more than fits into the least memory. */
static char *make_lines(char **sorted) {
    char *lines = memory(LINES * LINE);
    for (size_t at = 0; at < LINES; at++) {
        sprintf(lines + at * LINE, "%08u and much that is the same in all lines\n", (unsigned)(number() % 100000000));
    }
    *sorted = memory(LINES * LINE);
    memcpy(*sorted, lines, LINES * LINE);
    qsort(*sorted, LINES, LINE, by_line);
    return lines;
}

static size_t size_of(const char *path) {
    struct stat status;
    CHECK(stat(path, &status) == 0);
    return (size_t)status.st_size;
}

static void outputs(const char *sorted) {
    static const struct {
        int32_t compression;
        const char *tool;
        unsigned char magic[4];
        size_t known;
    } formats[] = {
        {EAGRE_COMPRESSION_GZIP, "gzip", {0x1f, 0x8b, 8}, 3},
        {EAGRE_COMPRESSION_ZSTD, "zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4},
        {EAGRE_COMPRESSION_LZ4, "lz4", {0x04, 0x22, 0x4d, 0x18}, 4},
    };
    const size_t size = LINES * LINE;
    for (size_t at = 0; at < 3; at++) {
        EagreFileSortOptions options = small();
        EagreSortReport report;
        options.compression = formats[at].compression;
        options.flags = EAGRE_VERIFY;
        IS(eagre_sort_file(from, to, NULL, &options, &report, sizeof report), EAGRE_OK);
        CHECK(report.written == size && size_of(to) < size / 2);
        unsigned char first[4] = {0};
        FILE *file = fopen(to, "r");
        CHECK(file != NULL && fread(first, 1, 4, file) == 4 && memcmp(first, formats[at].magic, formats[at].known) == 0);
        if (file != NULL) fclose(file);
        /* The usual program reads it. */
        char command[256], plain[64];
        snprintf(command, sizeof command, "command -v %s >/dev/null", formats[at].tool);
        if (system(command) != 0) {
            fprintf(stderr, "skipped: no %s\n", formats[at].tool);
            continue;
        }
        snprintf(plain, sizeof plain, "%s/plain", folder);
        snprintf(command, sizeof command, "%s -dc < %s > %s", formats[at].tool, to, plain);
        CHECK(system(command) == 0 && has(plain, sorted, size));
        unlink(plain);
    }
}

static void runs(const char *sorted) {
    uint64_t temporary[2];
    for (int packed = 0; packed < 2; packed++) {
        EagreFileSortOptions options = small();
        EagreSortReport report;
        options.plan = EAGRE_PLAN_CLASSIC;
        options.flags = packed ? EAGRE_COMPRESS_RUNS : 0;
        options.concurrency = packed ? EAGRE_CONCURRENCY_AWARE : EAGRE_CONCURRENCY_OVERLAP;
        IS(eagre_sort_file(from, to, NULL, &options, &report, sizeof report), EAGRE_OK);
        CHECK(has(to, sorted, LINES * LINE) && report.runs > 1);
        temporary[packed] = report.temporary;
    }
    CHECK(temporary[0] >= LINES * LINE && temporary[1] > 0 && temporary[1] < temporary[0] / 2);

    /* Those of a stream, too. */
    EagreFileSortOptions options = small();
    EagreSortReport report;
    EagreWriter *input;
    EagreReader *output;
    char *found = memory(LINES * LINE);
    size_t copied = 0;
    options.flags = EAGRE_COMPRESS_RUNS;
    IS(eagre_sort_stream(NULL, &options, &input, &output), EAGRE_OK);
    IS(eagre_writer_copy_in(input, sorted, LINES * LINE), EAGRE_OK);
    IS(eagre_writer_finish(input), EAGRE_OK);
    IS(eagre_reader_copy_out(output, found, LINES * LINE + 1, &copied), EAGRE_OK);
    CHECK(copied == LINES * LINE && memcmp(found, sorted, copied) == 0);
    IS(eagre_reader_sort_report(output, &report, sizeof report), EAGRE_OK);
    CHECK(report.runs > 1 && report.temporary > 0 && report.temporary < temporary[0] / 2);
    eagre_writer_close(input);
    eagre_reader_close(output);
    free(found);
}

static void models(const char *lines) {
    enum { SOME = 30000 };
    char *sorted = memory(SOME * LINE);
    memcpy(sorted, lines, SOME * LINE);
    qsort(sorted, SOME, LINE, by_line);
    put(from, lines, SOME * LINE);
    for (int model = EAGRE_CONCURRENCY_AUTO; model <= EAGRE_CONCURRENCY_AWARE; model++) {
        for (int plan = EAGRE_PLAN_ONE_PASS; plan <= EAGRE_PLAN_CLASSIC; plan++) {
            EagreFileSortOptions options = small();
            EagreSortReport report;
            options.concurrency = model;
            options.plan = plan;
            IS(eagre_sort_file(from, to, NULL, &options, &report, sizeof report), EAGRE_OK);
            CHECK(has(to, sorted, SOME * LINE));
            /* What AUTO has chosen is said. */
            CHECK(model == EAGRE_CONCURRENCY_AUTO ? report.concurrency != EAGRE_CONCURRENCY_AUTO : report.concurrency == model);
        }
    }
    free(sorted);
}

static void what_is_wrong_is_said(void) {
    EagreFileSortOptions options = small();
    unlink(to);
    options.compression = 4;
    IS(eagre_sort_file(from, to, NULL, &options, NULL, 0), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "sort: compression is 4: it must be an EagreCompression, 0 to 3") != NULL);
    options = small();
    options.concurrency = -1;
    IS(eagre_sort_file(from, to, NULL, &options, NULL, 0), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "sort: concurrency is -1: it must be an EagreConcurrency, 0 to 3") != NULL);
    options = small();
    options.flags = 8;
    IS(eagre_sort_file(from, to, NULL, &options, NULL, 0), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "unknown flags 0x8") != NULL && access(to, F_OK) != 0);

    /* What streams do not have. */
    EagreWriter *input;
    EagreReader *output;
    options = small();
    options.compression = EAGRE_COMPRESSION_ZSTD;
    IS(eagre_sort_stream(NULL, &options, &input, &output), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "a stream cannot be compressed; leave it EAGRE_COMPRESSION_NONE") != NULL);
    options = small();
    options.header = 1;
    IS(eagre_sort_stream(NULL, &options, &input, &output), EAGRE_INVALID);
    CHECK(input == NULL && output == NULL && strstr(eagre_last_error(), "header is 1: a stream has none; leave it 0") != NULL);
}

/* A program compiled before these settings were there: its structs end behind context, and behind merges. */
static void old_programs(void) {
    union {
        EagreFileSortOptions now;
        unsigned char bytes[64];
    } options;
    union {
        EagreSortReport now;
        unsigned char bytes[sizeof(EagreSortReport)];
    } report;
    memset(&options, 0x55, sizeof options);
    memset(&report, 0x55, sizeof report);
    IS(eagre_file_sort_options_default(&options.now, 64), EAGRE_OK);
    put(from, "b\na\n", 4);
    IS(eagre_sort_file(from, to, NULL, &options.now, &report.now, 48), EAGRE_OK);
    CHECK(has_text(to, "a\nb\n") && report.now.size == 48 && report.now.records == 2);
    for (size_t at = 48; at < sizeof report; at++) CHECK(report.bytes[at] == 0x55);
}

int main(void) {
    open_folder();
    char *sorted, *lines = make_lines(&sorted);
    put(from, lines, LINES * LINE);
    outputs(sorted);
    runs(sorted);
    models(lines);
    what_is_wrong_is_said();
    old_programs();
    free(lines);
    free(sorted);
    close_folder();
    return report();
}
