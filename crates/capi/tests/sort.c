/* Sorting from C: every type against qsort, every way it can end. */
#include "check.h"

#include <inttypes.h>
#include <math.h>

static uint64_t state = 88172645463325252u;

static uint64_t number(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

#define COMPARE(name, type) \
    static int name(const void *a, const void *b) { \
        const type x = *(const type *)a, y = *(const type *)b; \
        return (x > y) - (x < y); \
    }
COMPARE(by_u32, uint32_t)
COMPARE(by_i32, int32_t)
COMPARE(by_f32, float)
COMPARE(by_u64, uint64_t)
COMPARE(by_i64, int64_t)
COMPARE(by_f64, double)
#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;
__extension__ typedef __int128 signed_wide;
COMPARE(by_u128, wide)
COMPARE(by_i128, signed_wide)
#endif

struct small_pair {
    uint32_t first, second;
};
struct pair {
    uint64_t first, second;
};

static int by_small_pair(const void *a, const void *b) {
    const struct small_pair *x = a, *y = b;
    return x->first != y->first ? by_u32(&x->first, &y->first) : by_u32(&x->second, &y->second);
}

static int by_pair(const void *a, const void *b) {
    const struct pair *x = a, *y = b;
    return x->first != y->first ? by_u64(&x->first, &y->first) : by_u64(&x->second, &y->second);
}

static void *memory(size_t size) {
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL) abort();
    return memory;
}

/* Noise, sorted by the library and by qsort. Bytes of floating-point numbers are turned into numbers first. */
static void like_qsort(EagreKey key, size_t width, int (*compare)(const void *, const void *)) {
    const size_t sizes[] = {0, 1, 2, 100, 5000, 70001};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t count = sizes[i], bytes = count * width;
        char *ours = memory(bytes + 8), *theirs = memory(bytes + 8);
        for (size_t at = 0; at < bytes; at += 8) {
            uint64_t noise = number();
            if (key == EAGRE_KEY_F64) memcpy(&noise, &(double){(double)(int64_t)noise / 3}, 8);
            if (key == EAGRE_KEY_F32) memcpy(&noise, (float[2]){(float)(int32_t)noise / 3, (float)(noise >> 40)}, 8);
            if (key == EAGRE_KEY_U32U32) noise &= ~UINT32_C(0xfffffff0);
            memcpy(ours + at, &noise, 8);
        }
        memcpy(theirs, ours, bytes);
        IS(eagre_sort(ours, count, key, NULL), EAGRE_OK);
        qsort(theirs, count, width, compare);
        CHECK(memcmp(ours, theirs, bytes) == 0);
        free(ours);
        free(theirs);
    }
}

static void every_type(void) {
    like_qsort(EAGRE_KEY_U32, 4, by_u32);
    like_qsort(EAGRE_KEY_I32, 4, by_i32);
    like_qsort(EAGRE_KEY_F32, 4, by_f32);
    like_qsort(EAGRE_KEY_U64, 8, by_u64);
    like_qsort(EAGRE_KEY_I64, 8, by_i64);
    like_qsort(EAGRE_KEY_F64, 8, by_f64);
#ifdef __SIZEOF_INT128__
    like_qsort(EAGRE_KEY_U128, 16, by_u128);
    like_qsort(EAGRE_KEY_I128, 16, by_i128);
#endif
    like_qsort(EAGRE_KEY_U32U32, 8, by_small_pair);
    like_qsort(EAGRE_KEY_U64U64, 16, by_pair);

    double odd[] = {NAN, 1, INFINITY, 0.0, -0.0, -INFINITY, -NAN};
    IS(eagre_sort(odd, 7, EAGRE_KEY_F64, NULL), EAGRE_OK);
    CHECK(isnan(odd[0]) && signbit(odd[0]) && odd[1] == -INFINITY && signbit(odd[2]) && !signbit(odd[3]));
    CHECK(odd[4] == 1 && odd[5] == INFINITY && isnan(odd[6]));

    EagreSortOptions options;
    IS(eagre_sort_options_default(&options, sizeof options), EAGRE_OK);
    options.flags = EAGRE_NAN_LAST | EAGRE_SORT_DESCENDING;
    IS(eagre_sort(odd, 7, EAGRE_KEY_F64, &options), EAGRE_OK);
    CHECK(odd[0] == INFINITY && odd[1] == 1 && odd[2] == 0 && odd[3] == 0 && odd[4] == -INFINITY && isnan(odd[5]) && isnan(odd[6]));
    uint64_t places[7];
    IS(eagre_argsort(odd, 7, EAGRE_KEY_F64, &options, places), EAGRE_OK);
    CHECK(memcmp(places, (uint64_t[]){0, 1, 2, 3, 4, 5, 6}, sizeof places) == 0);
    options.flags = EAGRE_NAN_LAST;
    IS(eagre_sort_largest(odd, 7, EAGRE_KEY_F64, 7, &options), EAGRE_OK);
    CHECK(odd[0] == INFINITY && odd[4] == -INFINITY && isnan(odd[5]) && isnan(odd[6]));
    options.flags = EAGRE_SORT_DESCENDING;
    IS(eagre_sort_smallest(odd, 7, EAGRE_KEY_F64, 1, &options), EAGRE_INVALID);
}

static void with_options(void) {
    enum { COUNT = 200000 };
    EagreSortOptions options;
    IS(eagre_sort_options_default(&options, sizeof options), EAGRE_OK);
    CHECK(options.size == sizeof options && options.version == EAGRE_SORT_OPTIONS_VERSION);
    CHECK(options.slack == EAGRE_SLACK_DEFAULT && options.progress == NULL);

    struct pair *pairs = memory(COUNT * sizeof *pairs);
    for (size_t i = 0; i < COUNT; i++) pairs[i] = (struct pair){number() % 100, COUNT - i};
    options.flags = EAGRE_STABLE;
    options.threads = 2;
    options.slack = 64 << 20;
    IS(eagre_sort(pairs, COUNT, EAGRE_KEY_U64U64, &options), EAGRE_OK);
    for (size_t i = 1; i < COUNT; i++) {
        const struct pair a = pairs[i - 1], b = pairs[i];
        if (a.first > b.first || (a.first == b.first && a.second < b.second)) {
            CHECK(!"stable");
            break;
        }
    }
    IS(eagre_sort_smallest(pairs, COUNT, EAGRE_KEY_U64U64, 1, &options), EAGRE_INVALID);
    free(pairs);

    uint64_t side_by_side[] = {5, 3, 0, 0};
    IS(eagre_argsort(side_by_side, 2, EAGRE_KEY_U64, NULL, side_by_side + 2), EAGRE_OK);
    CHECK(side_by_side[2] == 1 && side_by_side[3] == 0);
    uint64_t few[] = {5, 3, 9, 1, 7}, places[5];
    IS(eagre_argsort(few, 5, EAGRE_KEY_U64, NULL, places), EAGRE_OK);
    CHECK(memcmp(places, (uint64_t[]){3, 1, 0, 4, 2}, sizeof places) == 0 && few[0] == 5);
    IS(eagre_sort_largest(few, 5, EAGRE_KEY_U64, 2, NULL), EAGRE_OK);
    CHECK(few[0] == 9 && few[1] == 7);
    IS(eagre_sort_smallest(few, 5, EAGRE_KEY_U64, 2, NULL), EAGRE_OK);
    CHECK(few[0] == 1 && few[1] == 3);
    IS(eagre_sort_smallest(few, 5, EAGRE_KEY_U64, 99, NULL), EAGRE_OK);
    CHECK(memcmp(few, (uint64_t[]){1, 3, 5, 7, 9}, sizeof few) == 0);
}

struct watch {
    uint64_t last, total, calls, stop_at;
};

static int watch(void *context, uint64_t done, uint64_t total) {
    struct watch *watch = context;
    CHECK(done >= watch->last && done <= total);
    watch->last = done;
    watch->total = total;
    return ++watch->calls == watch->stop_at;
}

static void progress_and_an_end_before_the_end(void) {
    enum { COUNT = 1500000 };
    uint64_t *keys = memory(COUNT * sizeof *keys);
    uint64_t sum = 0;
    for (size_t i = 0; i < COUNT; i++) sum += keys[i] = number() >> 8;
    struct watch watched = {0};
    EagreSortOptions options;
    IS(eagre_sort_options_default(&options, sizeof options), EAGRE_OK);
    options.progress = watch;
    options.context = &watched;
    watched.stop_at = 2;
    IS(eagre_sort(keys, COUNT, EAGRE_KEY_U64, &options), EAGRE_CANCELLED);
    CHECK(watched.calls == 2 && strcmp(eagre_last_error(), "sort: cancelled") == 0);
    uint64_t still = 0;
    for (size_t i = 0; i < COUNT; i++) still += keys[i];
    CHECK(still == sum);

    watched = (struct watch){0};
    IS(eagre_sort(keys, COUNT, EAGRE_KEY_U64, &options), EAGRE_OK);
    CHECK(watched.calls > 0 && watched.last == COUNT && watched.total == COUNT);
    int sorted = 1;
    for (size_t i = 1; i < COUNT; i++) sorted &= keys[i - 1] <= keys[i];
    CHECK(sorted);
    free(keys);
}

static void misuse(void) {
    uint64_t keys[4] = {2, 1, 4, 3}, places[4];
    IS(eagre_sort(NULL, 3, EAGRE_KEY_U64, NULL), EAGRE_INVALID);
    IS(eagre_sort(NULL, 0, EAGRE_KEY_U64, NULL), EAGRE_OK);
    IS(eagre_sort(keys, 4, 0, NULL), EAGRE_INVALID);
    IS(eagre_sort(keys, 4, 11, NULL), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "EagreKey, 1 to 10") != NULL);
    IS(eagre_sort((char *)keys + 4, 2, EAGRE_KEY_U64, NULL), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "a multiple of 8") != NULL);
    IS(eagre_sort(keys, SIZE_MAX / 4, EAGRE_KEY_U64, NULL), EAGRE_INVALID);
    IS(eagre_argsort(keys, 4, EAGRE_KEY_U64, NULL, NULL), EAGRE_INVALID);
    IS(eagre_argsort(NULL, 4, EAGRE_KEY_U64, NULL, places), EAGRE_INVALID);
    IS(eagre_argsort(keys, 4, EAGRE_KEY_U64, NULL, keys), EAGRE_INVALID);
    CHECK(strstr(eagre_last_error(), "overlap") != NULL);
    IS(eagre_argsort(keys, 2, EAGRE_KEY_U64, NULL, keys + 1), EAGRE_INVALID);
    IS(eagre_argsort(keys, 2, EAGRE_KEY_U64U64, NULL, keys + 3), EAGRE_INVALID);
    EagreSortOptions options;
    IS(eagre_sort_options_default(NULL, sizeof options), EAGRE_INVALID);
    IS(eagre_sort_options_default(&options, 3), EAGRE_WRONG_VERSION);
    IS(eagre_sort_options_default(&options, sizeof options), EAGRE_OK);
    options.version = 9;
    IS(eagre_sort(keys, 4, EAGRE_KEY_U64, &options), EAGRE_WRONG_VERSION);
    options.version = 1;
    options.flags = 8;
    IS(eagre_sort(keys, 4, EAGRE_KEY_U64, &options), EAGRE_INVALID);
    CHECK(keys[0] == 2 && keys[1] == 1 && keys[2] == 4 && keys[3] == 3);
}

int main(void) {
    every_type();
    with_options();
    progress_and_an_end_before_the_end();
    misuse();
    return report();
}
