/* Lines in the orders of GNU sort from C: against qsort, and against GNU sort itself where it is. */
#define _POSIX_C_SOURCE 200809L
#include "files.h"

static EagreFormat text(const char *const *keys, uint64_t count, const char *options, const char *separator, uint32_t flags) {
    EagreFormat format = format_of(EAGRE_RECORDS_TEXT);
    format.text_keys = keys;
    format.text_key_count = count;
    format.text_options = options;
    format.separator = separator;
    format.flags = flags;
    return format;
}

struct row {
    unsigned size, place;
    char name, line[24];
};

/* The largest size first, then by name, then as they were. */
static int by_size(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    return x->name != y->name ? x->name - y->name : (int)x->place - (int)y->place;
}

/* Numbers of one to four digits, whose order as bytes is another. */
static void keys_against_qsort(void) {
    enum { COUNT = 20000 };
    struct row *rows = (struct row *)memory(COUNT * sizeof *rows);
    char *lines = memory(COUNT * 24), *sorted = memory(COUNT * 24), *next = lines;
    for (unsigned at = 0; at < COUNT; at++) {
        rows[at] = (struct row){(unsigned)(number() % 2000), at, (char)('a' + number() % 5), ""};
        sprintf(rows[at].line, "%c:%u:%u\n", rows[at].name, rows[at].size, at);
        next = stpcpy(next, rows[at].line);
    }
    put(from, lines, (size_t)(next - lines));
    qsort(rows, COUNT, sizeof *rows, by_size);
    next = sorted;
    for (unsigned at = 0; at < COUNT; at++) next = stpcpy(next, rows[at].line);
    const char *const keys[] = {"2,2nr", "1,1"};
    const EagreFormat format = text(keys, 2, NULL, ":", EAGRE_TEXT_STABLE);
    for (int plan = EAGRE_PLAN_AUTO; plan <= EAGRE_PLAN_CLASSIC; plan++) {
        EagreFileSortOptions options = small();
        options.plan = plan;
        options.flags = EAGRE_VERIFY;
        IS(eagre_sort_file(from, to, &format, &options, NULL, 0), EAGRE_OK);
        CHECK(has(to, sorted, (size_t)(next - sorted)));
    }
    /* The same from a stream. */
    EagreWriter *input;
    EagreReader *output;
    size_t copied = 0;
    const size_t size = (size_t)(next - sorted);
    char *found = memory(size + 1);
    IS(eagre_sort_stream(&format, NULL, &input, &output), EAGRE_OK);
    IS(eagre_writer_copy_in(input, lines, size), EAGRE_OK);
    IS(eagre_writer_finish(input), EAGRE_OK);
    IS(eagre_reader_copy_out(output, found, size + 1, &copied), EAGRE_OK);
    CHECK(copied == size && memcmp(found, sorted, size) == 0);
    eagre_writer_close(input);
    eagre_reader_close(output);
    free(rows);
    free(lines);
    free(sorted);
    free(found);
}

/* What `LC_ALL=C sort` makes of the same file with the same options. */
static void keys_against_gnu(void) {
    if (system("LC_ALL=C sort --version 2>/dev/null | grep -q GNU") != 0) {
        fprintf(stderr, "skipped: GNU sort is not here\n");
        return;
    }
    static const char *const words[] = {"JAN", "dec", "2K", "1.5G", "-7", "0x1f", "1e3", "v1.10", "v1.9", "Ab", "a-b", "", " x"};
    static const struct {
        const char *arguments, *keys[3], *options, *separator;
        uint32_t flags, unique;
    } cases[] = {
        {"", {NULL}, NULL, NULL, 0, 0},
        {"-n", {NULL}, "n", NULL, 0, 0},
        {"-rn", {NULL}, "rn", NULL, 0, 0},
        {"-rn", {NULL}, "n", NULL, EAGRE_DESCENDING, 0},
        {"-r", {NULL}, "r", NULL, EAGRE_DESCENDING, 0},
        {"-r -k2,2n -k1,1f", {"2,2n", "1,1f"}, NULL, NULL, EAGRE_DESCENDING, 0},
        {"-t, -k2,2M -k3,3h", {"2,2M", "3,3h"}, NULL, ",", 0, 0},
        {"-s -t, -k2b,2.2", {"2b,2.2"}, NULL, ",", EAGRE_TEXT_STABLE, 0},
        {"-V", {NULL}, "V", NULL, 0, 0},
        {"-t, -k3 -df", {"3"}, "df", ",", 0, 0},
        {"-u -t, -k1,1g", {"1,1g"}, NULL, ",", 0, EAGRE_UNIQUE},
        {"-u -r", {NULL}, "r", NULL, 0, EAGRE_UNIQUE},
    };
    FILE *file = fopen(from, "w");
    for (int line = 0; line < 3000; line++) {
        const char *part[3];
        for (int at = 0; at < 3; at++) part[at] = words[number() % (sizeof words / sizeof *words)];
        fprintf(file, "%s,%s,%s %d\n", part[0], part[1], part[2], (int)(number() % 30));
    }
    CHECK(fclose(file) == 0);
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
        char command[256], expected[64];
        uint64_t count = 0;
        while (cases[at].keys[count] != NULL) count++;
        snprintf(expected, sizeof expected, "%s/gnu", folder);
        snprintf(command, sizeof command, "LC_ALL=C sort %s -o %s %s", cases[at].arguments, expected, from);
        CHECK(system(command) == 0);
        const EagreFormat format = text(cases[at].keys, count, cases[at].options, cases[at].separator, cases[at].flags);
        EagreFileSortOptions options = small();
        options.flags = cases[at].unique;
        IS(eagre_sort_file(from, to, &format, &options, NULL, 0), EAGRE_OK);
        snprintf(command, sizeof command, "cmp -s %s %s", to, expected);
        if (system(command) != 0) fprintf(stderr, "not as sort %s\n", cases[at].arguments), failures++;
        unlink(expected);
    }
}

static void quotes_headers_and_ends(void) {
    const char *const second[] = {"2,2n"}, *const first[] = {"1,1"};
    EagreFileSortOptions options = small();
    const char *rows = "name,size\n\"b,\nlong\",10\na,9\n\"say \"\"x\"\"\",1\n";
    put(from, rows, strlen(rows));
    options.header = 1;
    options.flags = EAGRE_VERIFY;
    EagreFormat format = text(second, 1, NULL, NULL, EAGRE_TEXT_CSV);
    IS(eagre_sort_file(from, to, &format, &options, NULL, 0), EAGRE_OK);
    CHECK(has_text(to, "name,size\n\"say \"\"x\"\"\",1\na,9\n\"b,\nlong\",10\n"));
    options.head = 1; /* Of the result: the header does not count. */
    IS(eagre_sort_file(from, from, &format, &options, NULL, 0), EAGRE_OK);
    CHECK(has_text(from, "name,size\n\"say \"\"x\"\"\",1\n"));

    /* Two lines that stay, of lines and of records; more than there are. */
    options = small();
    options.header = 2;
    put(from, "z\ny\nc\na\nb", 9);
    IS(eagre_sort_file(from, to, NULL, &options, NULL, 0), EAGRE_OK);
    CHECK(has_text(to, "z\ny\na\nb\nc\n"));
    EagreFormat fixed = format_of(EAGRE_RECORDS_FIXED);
    fixed.record_size = 2;
    put(from, "9988220011", 10);
    IS(eagre_sort_file(from, to, &fixed, &options, NULL, 0), EAGRE_OK);
    CHECK(has_text(to, "9988001122"));
    options.header = UINT64_MAX;
    IS(eagre_sort_file(from, to, &fixed, &options, NULL, 0), EAGRE_OK);
    CHECK(has_text(to, "9988220011"));
    put(from, "998", 3);
    unlink(to);
    IS(eagre_sort_file(from, to, &fixed, &options, NULL, 0), EAGRE_MALFORMED);
    CHECK(strstr(eagre_last_error(), "in its header") != NULL && strstr(eagre_last_error(), from) != NULL);
    CHECK(access(to, F_OK) != 0);

    /* Of lines with equal keys, the first; lines and fields that end with a NUL. */
    options = small();
    options.flags = EAGRE_UNIQUE;
    put(from, "b 2\nb 1\na 3\n", 12);
    format = text(first, 1, NULL, " ", 0);
    IS(eagre_sort_file(from, to, &format, &options, NULL, 0), EAGRE_OK);
    CHECK(has_text(to, "a 3\nb 2\n"));
    put(from, "x\0" "2;y\0" "1;", 8);
    format = text(second, 1, NULL, "\\0", 0);
    format.terminator = ';';
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_OK);
    CHECK(has(to, "y\0" "1;x\0" "2;", 8));
}

/* The records of a format are the same in memory. */
static void merged(void) {
    const char *const keys[] = {"2,2"};
    const EagreFormat format = text(keys, 1, "n", " ", EAGRE_DESCENDING);
    const EagreBytes sources[] = {{"a 10\nb 9\n", 9}, {"c 100\nd 2\n", 10}};
    EagreMerge *merge;
    char out[32];
    size_t copied = 0;
    IS(eagre_merge_open(sources, 2, &format, NULL, NULL, &merge), EAGRE_OK);
    IS(eagre_merge_copy_out(merge, out, sizeof out, &copied), EAGRE_OK);
    CHECK(copied == 19 && memcmp(out, "c 100\na 10\nb 9\nd 2\n", 19) == 0);
    eagre_merge_close(merge);
}

static void is_wrong(const EagreFormat *format, const char *words) {
    IS(eagre_sort_file(from, to, format, NULL, NULL, 0), EAGRE_INVALID);
    const char *said = eagre_last_error();
    CHECK(strncmp(said, "format: ", 8) == 0 && strstr(said, words) != NULL && strchr(said, '\n') == NULL);
    if (strstr(said, words) == NULL) fprintf(stderr, "not %s\n", words);
}

static void what_is_wrong_is_said(void) {
    const char *const zero[] = {"1", "0,1"}, *const letter[] = {"1q"}, *const line[] = {"1\n2"}, *const missing[] = {"1", NULL};
    put(from, "a\n", 2);
    EagreFormat format;
    format = text(zero, 2, NULL, NULL, 0), is_wrong(&format, "text_keys[1] is \"0,1\": fields are counted from 1; write it as -k of sort");
    format = text(letter, 1, NULL, NULL, 0), is_wrong(&format, "'q' is none of the options");
    format = text(line, 1, NULL, NULL, 0), is_wrong(&format, "text_keys[0] is \"1\\n2\"");
    format = text(missing, 2, NULL, NULL, 0), is_wrong(&format, "text_keys[1] is a null pointer");
    format = text(NULL, 0, "nR", NULL, 0), is_wrong(&format, "text_options is \"nR\": there is no random order");
    format = text(NULL, 0, "nM", NULL, 0), is_wrong(&format, "'-Mn' are incompatible");
    format = text(NULL, 0, NULL, "", 0), is_wrong(&format, "separator is \"\": it must be one byte");
    format = text(NULL, 0, NULL, "::", 0), is_wrong(&format, "separator is \"::\": it must be one byte, or \\0 for a NUL");
    format = text(NULL, 0, NULL, "\"", EAGRE_TEXT_CSV), is_wrong(&format, "fields in quotes");
    format = text(NULL, 0, NULL, NULL, 32), is_wrong(&format, "unknown flags 0x20");
    format = text(NULL, 0, NULL, NULL, 0), format.keys = "0:1", is_wrong(&format, "those of text are in text_keys");
    format = text(NULL, 0, NULL, NULL, 0), format.terminator = 256, is_wrong(&format, "terminator is 256");
    /* Fields that would mean nothing. */
    format = text(zero, 1, NULL, NULL, 0), format.records = EAGRE_RECORDS_LINES, is_wrong(&format, "text_keys is set, and records is 1");
    format = text(NULL, 0, "n", NULL, 0), format.records = EAGRE_RECORDS_LINES, is_wrong(&format, "use EAGRE_RECORDS_TEXT");
    format = text(NULL, 0, NULL, ",", 0), format.records = EAGRE_RECORDS_KLV, is_wrong(&format, "separator is set, and records is 3");
    format = text(NULL, 0, NULL, NULL, EAGRE_TEXT_CSV), format.records = EAGRE_RECORDS_LINES, is_wrong(&format, "EAGRE_TEXT_CSV is set");
    format = text(NULL, 1, NULL, NULL, 0);
    IS(eagre_sort_file(from, to, &format, NULL, NULL, 0), EAGRE_INVALID);
    CHECK(strcmp(eagre_last_error(), "text_keys is a null pointer") == 0);
}

/* A program compiled before text was there: its struct ends behind keys. */
static void old_programs(void) {
    struct {
        unsigned char bytes[48];
        const char *behind;
    } old;
    memset(&old, 0x55, sizeof old);
    IS(eagre_format_default((EagreFormat *)&old, sizeof old.bytes), EAGRE_OK);
    put(from, "b\na\n", 4);
    IS(eagre_sort_file(from, to, (EagreFormat *)&old, NULL, NULL, 0), EAGRE_OK);
    CHECK(has_text(to, "a\nb\n"));
}

int main(void) {
    open_folder();
    keys_against_qsort();
    keys_against_gnu();
    quotes_headers_and_ends();
    merged();
    what_is_wrong_is_said();
    old_programs();
    close_folder();
    return report();
}
