/* Sorting files and streams from C: every format against qsort, every way it can end. */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include <math.h>

/* What does not fit into the least memory, and what does. */
static const size_t LARGE = 12 << 20, SMALL = 50000;

/* Lines of letters, and the same in order. */
static int by_line(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void make_lines(size_t size, char **bytes, char **sorted) {
    char *text = *bytes = memory(size), *next = *sorted = memory(size);
    for (size_t at = 0; at < size; at++) text[at] = number() % 20 == 0 ? '\n' : (char)('a' + number() % 26);
    text[size - 1] = '\n';
    char *copy = memory(size), **lines = (char **)memory(size * sizeof *lines);
    memcpy(copy, text, size);
    size_t count = 0;
    for (size_t at = 0; at < size; count++) {
        lines[count] = copy + at;
        while (copy[at] != '\n') at++;
        copy[at++] = 0;
    }
    qsort(lines, count, sizeof *lines, by_line);
    for (size_t at = 0; at < count; at++) next += sprintf(next, "%s\n", lines[at]);
    free(lines);
    free(copy);
}

struct told {
    uint64_t calls, last;
    int stop, wrong;
    char phase[32];
};

static int tell(void *context, const char *phase, uint64_t done, uint64_t total) {
    struct told *told = context;
    told->calls++;
    told->last = done;
    told->wrong |= strlen(phase) == 0 || strlen(phase) > 30 || (total != EAGRE_UNKNOWN && done > total);
    strncpy(told->phase, phase, sizeof told->phase - 1);
    return told->stop;
}

static void files_of_lines(void) {
    EagreFileSortOptions filled;
    IS(eagre_file_sort_options_default(&filled, sizeof filled), EAGRE_OK);
    CHECK(filled.size == sizeof filled && filled.head == EAGRE_UNKNOWN && filled.plan == EAGRE_PLAN_AUTO);
    CHECK(filled.compression == EAGRE_COMPRESSION_NONE && filled.concurrency == EAGRE_CONCURRENCY_AUTO && filled.header == 0);
    for (int large = 0; large < 2; large++) {
        const size_t size = large ? LARGE : SMALL;
        char *bytes, *sorted;
        make_lines(size, &bytes, &sorted);
        put(from, bytes, size);
        EagreFileSortOptions options = small();
        struct told told = {0};
        EagreSortReport report;
        options.progress = tell;
        options.context = &told;
        if (large) options.plan = EAGRE_PLAN_CLASSIC;
        options.flags = EAGRE_VERIFY;
        IS(eagre_sort_file(from, to, NULL, &options, &report, sizeof report), EAGRE_OK);
        CHECK(has(to, sorted, size) && has(from, bytes, size));
        CHECK(report.size == sizeof report && report.bytes == size && report.written == size && report.records > size / 100);
        CHECK(large ? report.plan == EAGRE_PLAN_CLASSIC && report.runs > 1 : report.runs == 0);
        CHECK(told.calls > 0 && !told.wrong);
        /* Nothing appears of a sort that ends early. */
        CHECK(unlink(to) == 0);
        told.stop = 1;
        IS(eagre_sort_file(from, to, NULL, &options, NULL, 0), EAGRE_CANCELLED);
        CHECK(access(to, F_OK) != 0);
        /* In place, with all defaults. */
        IS(eagre_sort_file(from, from, NULL, NULL, NULL, 0), EAGRE_OK);
        CHECK(has(from, sorted, size));
        free(bytes);
        free(sorted);
    }
    put(from, "b\nc\nb\na", 7);
    EagreFileSortOptions options = small();
    EagreFormat format;
    IS(eagre_format_default(&format, sizeof format), EAGRE_OK);
    CHECK(format.records == EAGRE_RECORDS_LINES && format.terminator == '\n');
    format.flags = EAGRE_DESCENDING;
    options.flags = EAGRE_UNIQUE;
    options.head = 2;
    IS(eagre_sort_file(from, to, &format, &options, NULL, 0), EAGRE_OK);
    CHECK(has(to, "c\nb\n", 4));
    format.terminator = 'c';
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_OK);
    CHECK(has(to, "b\nc\nb\nac", 8));
}

struct record {
    int64_t value;
    char name[4];
    uint32_t place;
};

/* By name, then the largest value first, then as they were. */
static int by_name(const void *a, const void *b) {
    const struct record *x = a, *y = b;
    const int names = memcmp(x->name, y->name, sizeof x->name);
    if (names != 0) return names;
    return x->value != y->value ? (x->value < y->value) - (x->value > y->value) : (x->place > y->place) - (x->place < y->place);
}

static void files_of_records(void) {
    enum { COUNT = 20000 };
    struct record *records = (struct record *)memory(COUNT * sizeof *records);
    for (uint32_t at = 0; at < COUNT; at++) {
        records[at] = (struct record){(int64_t)(number() % 5) - 2, {'n', (char)('a' + number() % 3), 0, 0}, at};
    }
    put(from, (char *)records, COUNT * sizeof *records);
    qsort(records, COUNT, sizeof *records, by_name);
    EagreFormat format;
    IS(eagre_format_default(&format, sizeof format), EAGRE_OK);
    format.records = EAGRE_RECORDS_FIXED;
    format.record_size = sizeof *records;
    format.keys = "8:4, 0:i64:desc";
    for (int plan = EAGRE_PLAN_AUTO; plan <= EAGRE_PLAN_CLASSIC; plan++) {
        EagreFileSortOptions options = small();
        EagreSortReport report;
        options.plan = plan;
        IS(eagre_sort_file(from, to, &format, &options, &report, sizeof report), EAGRE_OK);
        CHECK(has(to, (char *)records, COUNT * sizeof *records));
        CHECK(report.records == COUNT && (plan == EAGRE_PLAN_AUTO || plan == EAGRE_PLAN_CLASSIC || report.plan == plan));
    }
    free(records);
}

static void nan_come_last(void) {
    static const double in[] = {NAN, 2, -NAN, -INFINITY, 3, INFINITY}, up[] = {-INFINITY, 2, 3, INFINITY}, down[] = {INFINITY, 3, 2, -INFINITY};
    EagreFormat format;
    IS(eagre_format_default(&format, sizeof format), EAGRE_OK);
    format.records = EAGRE_RECORDS_FIXED;
    format.record_size = sizeof *in;
    format.keys = "0:f64";
    put(from, (const char *)in, sizeof in);
    for (int descending = 0; descending < 2; descending++) {
        format.flags = EAGRE_FIXED_NAN_LAST | (descending ? EAGRE_DESCENDING : 0);
        IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_OK);
        double out[6];
        FILE *file = fopen(to, "rb");
        CHECK(file != NULL && fread(out, sizeof *out, 6, file) == 6 && fclose(file) == 0);
        CHECK(memcmp(out, descending ? down : up, sizeof up) == 0 && isnan(out[4]) && isnan(out[5]));
    }
    format.keys = "0:u64";
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_INVALID);
    format.records = EAGRE_RECORDS_LINES;
    format.keys = NULL;
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_INVALID);
}

static void what_is_wrong_is_said(void) {
    EagreFormat format;
    IS(eagre_format_default(&format, sizeof format), EAGRE_OK);
    format.records = EAGRE_RECORDS_KLV;
    format.key_size = 2;
    format.length_size = 1;
    put(from, "zz\1vaa\0bb\5v", 11);
    unlink(to);
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_MALFORMED);
    CHECK(strstr(eagre_last_error(), "has 4 bytes of 8, from byte 7 on") != NULL && access(to, F_OK) != 0);
    put(from, "zz\1vaa\0", 7);
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_OK);
    CHECK(has(to, "aa\0zz\1v", 7));

    EagreSortReport report;
    EagreFileSortOptions options = small();
    IS(eagre_sort_file("/nowhere/at all", to, NULL, NULL, NULL, 0), EAGRE_SYSTEM);
    CHECK(strstr(eagre_last_error(), "read: /nowhere/at all: No such file") != NULL);
    IS(eagre_sort_file(NULL, to, NULL, NULL, NULL, 0), EAGRE_INVALID);
    IS(eagre_sort_file(from, NULL, NULL, NULL, NULL, 0), EAGRE_INVALID);
    IS(eagre_sort_file(from, to, NULL, NULL, &report, 3), EAGRE_WRONG_VERSION);
    options.plan = 9;
    IS(eagre_sort_file(from, to, NULL, &options, NULL, 0), EAGRE_INVALID);
    options = small();
    options.flags = 64;
    IS(eagre_sort_file(from, to, NULL, &options, NULL, 0), EAGRE_INVALID);
    options = small();
    options.memory = 1;
    IS(eagre_sort_file(from, to, NULL, &options, NULL, 0), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "too few") != NULL);
    options = small();
    options.temporary = NULL;
    IS(eagre_sort_file(from, to, NULL, &options, NULL, 0), EAGRE_INVALID);
    options = small();
    options.version++;
    IS(eagre_sort_file(from, to, NULL, &options, NULL, 0), EAGRE_WRONG_VERSION);
    IS(eagre_file_sort_options_default(NULL, sizeof options), EAGRE_INVALID);
    IS(eagre_format_default(&format, 5), EAGRE_WRONG_VERSION);

    IS(eagre_format_default(&format, sizeof format), EAGRE_OK);
    format.records = EAGRE_RECORDS_FIXED;
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_INVALID);
    format.record_size = 8;
    format.keys = "4:8";
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "a key ends at byte 12, but a record has 8") != NULL);
    format.keys = "0:four";
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_INVALID);
    format.records = EAGRE_RECORDS_KLV;
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_INVALID);
    format.records = 7;
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_INVALID);
    format.records = EAGRE_RECORDS_LINES;
    format.terminator = 256;
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_INVALID);
}

/* Reads to the end; the status that came last. */
static EagreStatus read_all(EagreReader *output, char *bytes, size_t size, size_t *copied) {
    *copied = 0;
    return eagre_reader_copy_out(output, bytes, size, copied);
}

static void streams(void) {
    EagreWriter *input;
    EagreReader *output;
    EagreSortReport report;
    size_t copied;
    for (int large = 0; large < 2; large++) {
        const size_t size = large ? LARGE : SMALL;
        char *bytes, *sorted, *found = memory(size + 1);
        make_lines(size, &bytes, &sorted);
        EagreFileSortOptions options = small();
        struct told told = {0};
        options.progress = tell;
        options.context = &told;
        IS(eagre_sort_stream(NULL, &options, &input, &output), EAGRE_OK);
        IS(eagre_writer_copy_in(input, bytes, size), EAGRE_OK);
        IS(eagre_writer_finish(input), EAGRE_OK);
        IS(eagre_reader_sort_report(output, &report, sizeof report), EAGRE_INVALID);
        IS(read_all(output, found, size + 1, &copied), EAGRE_OK);
        CHECK(copied == size && memcmp(found, sorted, size) == 0);
        IS(eagre_reader_sort_report(output, &report, sizeof report), EAGRE_OK);
        CHECK(report.bytes == size && report.written == size && (report.runs > 1) == large);
        eagre_writer_close(input);
        eagre_reader_close(output);
        CHECK(told.calls > 0 && !told.wrong);

        /* A writer that is closed early is no end. */
        IS(eagre_sort_stream(NULL, &options, &input, &output), EAGRE_OK);
        IS(eagre_writer_copy_in(input, bytes, size), EAGRE_OK);
        eagre_writer_close(input);
        IS(read_all(output, found, size + 1, &copied), EAGRE_WRITER_FAILED);
        CHECK(copied == 0 && strstr(eagre_last_error(), "dropped before it finished") != NULL);
        IS(eagre_reader_sort_report(output, &report, sizeof report), EAGRE_WRITER_GONE);
        eagre_reader_close(output);

        /* A reader that is closed early stops the writer, and the calls of progress. */
        IS(eagre_sort_stream(NULL, &options, &input, &output), EAGRE_OK);
        IS(eagre_writer_copy_in(input, bytes, size), EAGRE_OK);
        eagre_reader_close(output);
        options.context = NULL;
        IS(eagre_writer_finish(input), EAGRE_READER_GONE);
        eagre_writer_close(input);
        free(bytes);
        free(sorted);
        free(found);
    }
    EagreFormat format;
    char bytes[64];
    IS(eagre_format_default(&format, sizeof format), EAGRE_OK);
    format.records = EAGRE_RECORDS_KLV;
    format.key_size = 2;
    format.length_size = 1;
    IS(eagre_sort_stream(&format, NULL, &input, &output), EAGRE_OK);
    IS(eagre_writer_copy_in(input, "zz\1vaa\0bb\5v", 11), EAGRE_OK);
    IS(eagre_writer_finish(input), EAGRE_OK);
    IS(read_all(output, bytes, sizeof bytes, &copied), EAGRE_WRITER_FAILED);
    CHECK(strstr(eagre_last_error(), "has 4 bytes of 8, from byte 7 on") != NULL);
    IS(read_all(output, bytes, sizeof bytes, &copied), EAGRE_WRITER_FAILED);
    IS(eagre_reader_sort_report(output, &report, sizeof report), EAGRE_MALFORMED);
    eagre_writer_close(input);
    eagre_reader_close(output);

    struct told told = {.stop = 1};
    EagreFileSortOptions options = small();
    options.progress = tell;
    options.context = &told;
    IS(eagre_sort_stream(NULL, &options, &input, &output), EAGRE_OK);
    eagre_writer_finish(input);
    IS(read_all(output, bytes, sizeof bytes, &copied), EAGRE_WRITER_FAILED);
    IS(eagre_reader_sort_report(output, NULL, 0), EAGRE_CANCELLED);
    eagre_reader_close(output);
    eagre_writer_close(input);

    options = small();
    options.flags = EAGRE_VERIFY;
    IS(eagre_sort_stream(NULL, &options, &input, &output), EAGRE_INVALID);
    CHECK(input == NULL && output == NULL && strstr(eagre_last_error(), "a stream cannot be read back") != NULL);
    options = small();
    options.plan = EAGRE_PLAN_ONE_PASS;
    IS(eagre_sort_stream(NULL, &options, &input, &output), EAGRE_INVALID);
    IS(eagre_sort_stream(NULL, NULL, NULL, &output), EAGRE_INVALID);
    IS(eagre_sort_stream(NULL, NULL, &input, NULL), EAGRE_INVALID);
    IS(eagre_open(NULL, &input, &output), EAGRE_OK);
    IS(eagre_reader_sort_report(output, &report, sizeof report), EAGRE_INVALID);
    eagre_writer_close(input);
    eagre_reader_close(output);
}

int main(void) {
    open_folder();
    files_of_lines();
    files_of_records();
    nan_come_last();
    what_is_wrong_is_said();
    streams();
    close_folder();
    return report();
}
