/* A vector that grows without copying, sorted in place: what is the middle of many numbers?
 *
 *     median [COUNT]        default 100 million
 */
#define _POSIX_C_SOURCE 200809L
#include <eagre.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int fail(const char *what) {
    fprintf(stderr, "median: %s: %s\n", what, eagre_last_error());
    return 2;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Multiples of an odd number go round through all numbers of 64 bits: no two of these are the same. */
static uint64_t number(uint64_t i) {
    return i * UINT64_C(0x9e3779b97f4a7c15);
}

int main(int argc, char **argv) {
    const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 100 * 1000 * 1000;
    EagreVector *vector;
    if (count == 0 || eagre_vector_open(sizeof(uint64_t), count, NULL, &vector) != EAGRE_OK) return fail("open");
    const uint64_t *numbers = eagre_vector_data(vector); /* here they are, however many they become */

    for (uint64_t i = 0; i < count; i++) {
        const uint64_t next = number(i);
        if (eagre_vector_push(vector, &next) != EAGRE_OK) return fail("push");
    }
    const double start = now();
    if (eagre_sort(eagre_vector_data(vector), count, EAGRE_KEY_U64, NULL) != EAGRE_OK) return fail("sort");
    const double seconds = now() - start;

    for (uint64_t i = 1; i < count; i++) {
        if (numbers[i - 1] >= numbers[i]) {
            fprintf(stderr, "median: number %" PRIu64 " is out of order\n", i);
            return 1;
        }
    }
    printf("median %" PRIu64 " of %" PRIu64 " numbers, sorted in %.3f s\n", numbers[count / 2], count, seconds);
    eagre_vector_close(vector);
    return 0;
}
