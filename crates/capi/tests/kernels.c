/* Records in memory from C: boundaries, a sort into parts, a merge of buffers that are filled again. */
#include "check.h"

#include <errno.h>

static uint64_t number(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

struct record {
    uint32_t key, place;
};

enum { COUNT = 30000 };

static EagreFormat records(uint32_t flags) {
    EagreFormat format;
    IS(eagre_format_default(&format, sizeof format), EAGRE_OK);
    format.records = EAGRE_RECORDS_FIXED;
    format.record_size = sizeof(struct record);
    format.keys = "0:u32";
    format.flags = flags;
    return format;
}

static int descending;

/* Stable, as the library's. */
static int compare(const void *a, const void *b) {
    const struct record *x = a, *y = b;
    const int keys = (x->key > y->key) - (x->key < y->key);
    return keys != 0 ? (descending ? -keys : keys) : (x->place > y->place) - (x->place < y->place);
}

/* A boundary is a key as memcmp compares it: most significant byte first. */
static uint32_t key_of(EagreBytes boundary) {
    const unsigned char *bytes = boundary.bytes;
    CHECK(boundary.size == 4);
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void parts(void) {
    static struct record in[COUNT], expected[COUNT], out[COUNT];
    for (descending = 0; descending < 2; descending++) {
        for (uint32_t at = 0; at < COUNT; at++) expected[at] = in[at] = (struct record){(uint32_t)number() % 5000, at};
        qsort(expected, COUNT, sizeof *expected, compare);
        const EagreFormat format = records(descending ? EAGRE_DESCENDING : 0);
        EagreBoundaries *boundaries;
        size_t count = 99, ends[4] = {0};
        IS(eagre_sample_boundaries(in, sizeof in / 3, 4, &format, &boundaries), EAGRE_OK);
        const EagreBytes *keys = eagre_boundaries_keys(boundaries, &count);
        CHECK(keys != NULL && count == 3);
        EagreSortOptions options;
        IS(eagre_sort_options_default(&options, sizeof options), EAGRE_OK);
        options.threads = 2;
        IS(eagre_sort_and_partition(in, sizeof in, keys, count, &format, &options, out, ends), EAGRE_OK);
        CHECK(memcmp(out, expected, sizeof out) == 0 && ends[3] == sizeof out);
        for (size_t part = 0, at = 0; part < 4; part++) {
            CHECK(ends[part] % sizeof *out == 0 && ends[part] - at * sizeof *out > sizeof out / 6);
            for (; at < ends[part] / sizeof *out; at++) {
                const uint32_t key = out[at].key;
                if (part > 0 && (descending ? key > key_of(keys[part - 1]) : key < key_of(keys[part - 1]))) CHECK(!"before its part");
                if (part < 3 && (descending ? key <= key_of(keys[part]) : key >= key_of(keys[part]))) CHECK(!"behind its part");
            }
        }
        /* One part. */
        memset(out, 0, sizeof out);
        IS(eagre_sort_and_partition(in, sizeof in, NULL, 0, &format, NULL, out, ends), EAGRE_OK);
        CHECK(memcmp(out, expected, sizeof out) == 0 && ends[0] == sizeof out);
        eagre_boundaries_close(boundaries);

        IS(eagre_sort_and_partition(in, sizeof in - 1, NULL, 0, &format, NULL, out, ends), EAGRE_MALFORMED);
        IS(eagre_sort_and_partition(in, sizeof in, NULL, 1, &format, NULL, out, ends), EAGRE_INVALID);
        IS(eagre_sort_and_partition(in, sizeof in, NULL, 0, &format, NULL, out, NULL), EAGRE_INVALID);
        IS(eagre_sort_and_partition(in, sizeof in, NULL, 0, &format, NULL, NULL, ends), EAGRE_INVALID);
        IS(eagre_sort_and_partition(in, sizeof in, NULL, 0, &format, NULL, in + 1, ends), EAGRE_INVALID);
        CHECK(strstr(eagre_last_error(), "overlap") != NULL);
        IS(eagre_sort_and_partition(NULL, 0, NULL, 0, &format, NULL, NULL, ends), EAGRE_OK);
        CHECK(ends[0] == 0);
        IS(eagre_sample_boundaries(in, 5, 4, &format, &boundaries), EAGRE_MALFORMED);
        IS(eagre_sample_boundaries(in, sizeof in, 0, &format, &boundaries), EAGRE_INVALID);
        IS(eagre_sample_boundaries(in, sizeof in, 2, &format, NULL), EAGRE_INVALID);
        IS(eagre_sample_boundaries(NULL, 0, 3, &format, &boundaries), EAGRE_OK);
        CHECK(eagre_boundaries_keys(boundaries, &count) != NULL && count == 0);
        eagre_boundaries_close(boundaries);
    }
    CHECK(eagre_boundaries_keys(NULL, &(size_t){0}) == NULL);
    eagre_boundaries_close(NULL);
}

enum { SOURCES = 7 };

/* A source that has its records in pieces of odd sizes, in a buffer that is written over. */
struct source {
    const struct record *records;
    size_t bytes, given;
    char buffer[64];
};

struct merging {
    struct source sources[SOURCES];
    size_t calls;
    int fail_at, answer;
};

static int refill(void *context, size_t number, EagreBytes *rest) {
    struct merging *merging = context;
    struct source *source = &merging->sources[number];
    if (++merging->calls == (size_t)merging->fail_at) return merging->answer;
    size_t more = sizeof source->buffer - rest->size;
    if (more > source->bytes - source->given) more = source->bytes - source->given;
    if (more > 13) more = 13;
    if (more == 0) return 0;
    if (rest->size > 0) memmove(source->buffer, rest->bytes, rest->size);
    memcpy(source->buffer + rest->size, (const char *)source->records + source->given, more);
    source->given += more;
    rest->bytes = source->buffer;
    rest->size += more;
    return 1;
}

static void merges(void) {
    static struct record in[COUNT], expected[COUNT], out[COUNT + 1000];
    for (descending = 0; descending < 2; descending++) {
        for (uint32_t at = 0; at < COUNT; at++) expected[at] = in[at] = (struct record){(uint32_t)number() % 5000, at};
        qsort(expected, COUNT, sizeof *expected, compare);
        const EagreFormat format = records(descending ? EAGRE_DESCENDING : 0);
        EagreBytes empty[SOURCES] = {{NULL, 0}}, whole[SOURCES];
        struct merging merging = {.calls = 0};
        for (size_t at = 0, source = 0; source < SOURCES; source++) {
            /* The second is empty. */
            const size_t end = source == 1 ? at : source == SOURCES - 1 ? COUNT : at + 1 + number() % (COUNT / SOURCES);
            qsort(in + at, end - at, sizeof *in, compare);
            merging.sources[source] = (struct source){.records = in + at, .bytes = (end - at) * sizeof *in};
            whole[source] = (EagreBytes){in + at, (end - at) * sizeof *in};
            at = end;
        }
        const struct merging begin = merging;
        EagreMerge *merge;
        const void *record;
        size_t size, count = 0, copied = 1;

        IS(eagre_merge_open(empty, SOURCES, &format, refill, &merging, &merge), EAGRE_OK);
        for (;;) {
            IS(eagre_merge_next(merge, &record, &size), EAGRE_OK);
            if (record == NULL) break;
            CHECK(size == sizeof *out && count < COUNT);
            memcpy(&out[count++], record, size);
        }
        IS(eagre_merge_next(merge, &record, &size), EAGRE_OK);
        CHECK(record == NULL && count == COUNT && memcmp(out, expected, sizeof expected) == 0);
        eagre_merge_close(merge);

        /* All is there, and comes out in pieces. */
        memset(out, 0, sizeof out);
        IS(eagre_merge_open(whole, SOURCES, &format, NULL, NULL, &merge), EAGRE_OK);
        IS(eagre_merge_copy_out(merge, out, sizeof *out - 1, &copied), EAGRE_TOO_LARGE);
        CHECK(copied == 0);
        count = 0;
        do {
            IS(eagre_merge_copy_out(merge, (char *)out + count, 1001, &copied), EAGRE_OK);
            CHECK(copied % sizeof *out == 0 && count + copied <= sizeof expected);
            count += copied;
        } while (copied > 0 && failures == 0);
        CHECK(count == sizeof expected && memcmp(out, expected, sizeof expected) == 0);
        eagre_merge_close(merge);

        /* A refill that fails, and what is no answer. */
        const struct {
            int answer;
            EagreStatus status;
            const char *words;
        } ends[] = {{-EIO, EAGRE_WRITER_FAILED, "nput/output error"}, {7, EAGRE_WRITER_FAILED, "returned 7"}, {1, EAGRE_INVALID, "no more bytes"}};
        for (size_t at = 0; at < 3; at++) {
            EagreStatus status = EAGRE_OK;
            merging = begin;
            merging.fail_at = 500;
            merging.answer = ends[at].answer;
            IS(eagre_merge_open(empty, SOURCES, &format, refill, &merging, &merge), EAGRE_OK);
            for (record = &record; status == EAGRE_OK && record != NULL;) status = eagre_merge_next(merge, &record, &size);
            CHECK(status == ends[at].status && strstr(eagre_last_error(), ends[at].words) != NULL);
            IS(eagre_merge_next(merge, &record, &size), EAGRE_INVALID);
            eagre_merge_close(merge);
            merging.calls = 0;
            merging.fail_at = 1;
            IS(eagre_merge_open(empty, SOURCES, &format, refill, &merging, &merge), ends[at].status);
            CHECK(merge == NULL);
        }
        whole[2].size--;
        EagreStatus status = eagre_merge_open(whole, SOURCES, &format, NULL, NULL, &merge);
        for (record = &record; status == EAGRE_OK && record != NULL;) status = eagre_merge_next(merge, &record, &size);
        CHECK(status == EAGRE_MALFORMED && strstr(eagre_last_error(), "source 2") != NULL);
        eagre_merge_close(merge);

        IS(eagre_merge_open(NULL, 1, &format, NULL, NULL, &merge), EAGRE_INVALID);
        IS(eagre_merge_open(whole, 65537, &format, NULL, NULL, &merge), EAGRE_INVALID);
        IS(eagre_merge_open(whole, 1, &format, NULL, NULL, NULL), EAGRE_INVALID);
        IS(eagre_merge_open(&(EagreBytes){NULL, 3}, 1, &format, NULL, NULL, &merge), EAGRE_INVALID);
        IS(eagre_merge_open(NULL, 0, NULL, NULL, NULL, &merge), EAGRE_OK);
        IS(eagre_merge_next(merge, &record, &size), EAGRE_OK);
        CHECK(record == NULL && size == 0);
        IS(eagre_merge_next(merge, NULL, &size), EAGRE_INVALID);
        eagre_merge_close(merge);
    }
    IS(eagre_merge_next(NULL, NULL, NULL), EAGRE_INVALID);
    eagre_merge_close(NULL);
}

int main(void) {
    parts();
    merges();
    return report();
}
