/*
 * The one-billion-row challenge and nothing else: what a program reaches that may take everything for granted.
 *
 *     cc -O3 -march=native -pthread onebrc.c -o onebrc && ./onebrc FILE [THREADS]
 *
 * It knows that names have at most 100 bytes, that every line is a row, that a number is -?[0-9]?[0-9].[0-9], and checks
 * none of it. The file is mapped; each thread walks eight places of its share at once, so that the processor always has
 * rows that do not wait for one another; a name is found and compared with 32-byte vectors, a number is read with three
 * multiplications' worth of arithmetic and no branch.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { PLACES = 1 << 14, WALKERS = 8, MOST_THREADS = 64, LONGEST = 100 };

typedef struct {
    __m256i head; /* the first 32 bytes of the name, zeros behind it */
    const char *name;
    int64_t sum;
    uint32_t length, count;
    int32_t min, max;
} Station;

typedef struct {
    const char *from, *to;
    Station *places;
} Share;

static const char MASK[64] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                              -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

static Station *find(Station *places, __m256i head, uint64_t hash, const char *name, uint32_t length) {
    for (uint32_t at = hash >> 50;; at = (at + 1) & (PLACES - 1)) {
        Station *station = &places[at];
        __m256i differ = _mm256_xor_si256(head, station->head);
        if (__builtin_expect(_mm256_testz_si256(differ, differ) && station->length == length, 1) &&
            (length <= 32 || !memcmp(name + 32, station->name + 32, length - 32)))
            return station;
        if (!station->name) {
            *station = (Station){head, name, 0, length, 0, 999, -999};
            return station;
        }
    }
}

/* Takes the row at `at` into account and returns where the next one begins. */
static inline __attribute__((always_inline)) const char *row(const char *at, Station *places) {
    __m256i text = _mm256_loadu_si256((const __m256i *)at);
    uint32_t semicolons = _mm256_movemask_epi8(_mm256_cmpeq_epi8(text, _mm256_set1_epi8(';')));
    uint32_t length;
    if (__builtin_expect(semicolons != 0, 1)) {
        length = __builtin_ctz(semicolons);
        text = _mm256_and_si256(text, _mm256_loadu_si256((const __m256i *)(MASK + 32 - length)));
    } else {
        length = (const char *)memchr(at + 32, ';', LONGEST) - at;
    }
    __m128i low = _mm256_castsi256_si128(text);
    uint64_t first = _mm_cvtsi128_si64(low), second = _mm_extract_epi64(low, 1);
    uint64_t hash = (first ^ (second * 0x9e3779b97f4a7c15u)) * 0xd6e8feb86659fd93u;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93u;
    Station *station = find(places, text, hash, at, length);

    uint64_t word;
    memcpy(&word, at + length + 1, 8);
    int64_t sign = (int64_t)(~word << 59) >> 63; /* bit 4 tells digits from the minus sign */
    int point = __builtin_ctzll(~word & 0x10101000);
    uint64_t digits = ((word & ~(sign & 0xff)) << (28 - point)) & 0x0f000f0f00;
    int64_t value = ((digits * 0x640a0001) >> 32) & 0x3ff;
    value = (value ^ sign) - sign;

    station->sum += value;
    station->count++;
    if (value < station->min) station->min = value;
    if (value > station->max) station->max = value;
    return at + length + 1 + (point >> 3) + 3;
}

static const char *line_after(const char *at, const char *end) {
    const char *newline = at < end ? memchr(at, '\n', end - at) : NULL;
    return newline ? newline + 1 : end;
}

static void *walk(void *argument) {
    Share *share = argument;
    Station *places = share->places;
    const char *at[WALKERS], *end[WALKERS];
    size_t step = (share->to - share->from) / WALKERS;
    for (int i = 0; i < WALKERS; i++) at[i] = i ? line_after(share->from + i * step, share->to) : share->from;
    for (int i = 0; i < WALKERS; i++) end[i] = i + 1 < WALKERS ? at[i + 1] : share->to;
    for (;;) {
        int all = 1;
        for (int i = 0; i < WALKERS; i++) all &= at[i] < end[i];
        if (!all) break;
        for (int i = 0; i < WALKERS; i++) at[i] = row(at[i], places);
    }
    for (int i = 0; i < WALKERS; i++)
        while (at[i] < end[i]) at[i] = row(at[i], places);
    return NULL;
}

static int by_name(const void *a, const void *b) {
    const Station *one = a, *other = b;
    uint32_t shorter = one->length < other->length ? one->length : other->length;
    int order = memcmp(one->name, other->name, shorter);
    return order ? order : (int)one->length - (int)other->length;
}

/* The mean in tenths, halves up. */
static long mean(int64_t sum, int64_t count) {
    int64_t doubled = 2 * sum + count, tenths = doubled / (2 * count);
    return tenths - (doubled % (2 * count) < 0);
}

static void print_tenths(long tenths, char behind) {
    printf("%s%ld.%ld", tenths < 0 ? "-" : "", labs(tenths) / 10, labs(tenths) % 10);
    if (behind) putchar(behind);
}

int main(int count, char **arguments) {
    if (count < 2) return fprintf(stderr, "usage: onebrc FILE [THREADS]\n"), 2;
    int threads = count > 2 ? atoi(arguments[2]) : 1;
    if (threads < 1 || threads > MOST_THREADS) return fprintf(stderr, "onebrc: 1 to 64 threads\n"), 2;
    int file = open(arguments[1], O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status)) return perror(arguments[1]), 2;
    size_t size = status.st_size;
    /* A page behind the file may be read too. */
    char *text = mmap(NULL, size + 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (text == MAP_FAILED || mmap(text, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED)
        return perror("mmap"), 2;
    madvise(text, size, MADV_POPULATE_READ);

    Share shares[MOST_THREADS];
    pthread_t handles[MOST_THREADS];
    for (int i = 0; i < threads; i++) {
        shares[i].from = i ? line_after(text + size / threads * i, text + size) : text;
        shares[i].places = aligned_alloc(64, PLACES * sizeof(Station));
        memset(shares[i].places, 0, PLACES * sizeof(Station));
    }
    for (int i = 0; i < threads; i++) shares[i].to = i + 1 < threads ? shares[i + 1].from : text + size;
    for (int i = 1; i < threads; i++) pthread_create(&handles[i], NULL, walk, &shares[i]);
    walk(&shares[0]);
    for (int i = 1; i < threads; i++) pthread_join(handles[i], NULL);

    static Station all[PLACES];
    int stations = 0;
    for (int i = 0; i < threads; i++)
        for (int place = 0; place < PLACES; place++) {
            Station *part = &shares[i].places[place];
            if (!part->name) continue;
            int known = 0;
            while (known < stations && (all[known].length != part->length || memcmp(all[known].name, part->name, part->length)))
                known++;
            if (known == stations) {
                all[stations++] = *part;
                continue;
            }
            Station *whole = &all[known];
            whole->sum += part->sum;
            whole->count += part->count;
            if (part->min < whole->min) whole->min = part->min;
            if (part->max > whole->max) whole->max = part->max;
        }
    qsort(all, stations, sizeof(Station), by_name);
    putchar('{');
    for (int i = 0; i < stations; i++) {
        printf("%s%.*s=", i ? ", " : "", (int)all[i].length, all[i].name);
        print_tenths(all[i].min, '/');
        print_tenths(mean(all[i].sum, all[i].count), '/');
        print_tenths(all[i].max, 0);
    }
    printf("}\n");
    return 0;
}
