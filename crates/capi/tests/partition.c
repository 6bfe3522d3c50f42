/* Partitioning from C: buckets against a loop over all keys, every way to say what goes where. */
#include "check.h"

enum { COUNT = 50000 };

static uint64_t keys[COUNT];

static uint64_t number(uint64_t i) {
    return (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static void is_right(const EagrePartitionOptions *options, size_t ways, size_t (*bucket_of)(uint64_t)) {
    EagrePartition *partition;
    IS(eagre_partition(keys, COUNT, EAGRE_KEY_U64, options, &partition), EAGRE_OK);
    CHECK(eagre_partition_ways(partition) == ways);
    const uint64_t *end = NULL;
    for (size_t bucket = 0; bucket < ways; bucket++) {
        size_t count, at = 0;
        const uint64_t *got = eagre_partition_bucket(partition, bucket, &count);
        CHECK(got != NULL && (options == NULL || options->flags != EAGRE_DENSE || end == NULL || got == end));
        end = got + count;
        int same = 1;
        for (size_t i = 0; i < COUNT; i++)
            if (bucket_of(keys[i]) == bucket) same &= at < count && got[at++] == keys[i];
        CHECK(same && at == count);
    }
    eagre_partition_close(partition);
}

static size_t by_highest(uint64_t key) {
    return key >> 56;
}
static size_t by_two_bits(uint64_t key) {
    return key >> 3 & 3;
}
static size_t by_boundaries(uint64_t key) {
    return key < 100 ? 0 : key < UINT64_C(1) << 62 ? 1 : 2;
}

static void every_way(void) {
    is_right(NULL, 256, by_highest);
    EagrePartitionOptions options;
    IS(eagre_partition_options_default(&options, sizeof options), EAGRE_OK);
    CHECK(options.ways == 256 && options.slack == EAGRE_SLACK_DEFAULT);
    options.flags = EAGRE_DENSE;
    options.threads = 2;
    is_right(&options, 256, by_highest);
    options.bits = 2;
    options.shift = 3;
    is_right(&options, 4, by_two_bits);
    const uint64_t boundaries[] = {100, UINT64_C(1) << 62};
    options.boundaries = boundaries;
    options.boundary_count = 2;
    options.flags = 0;
    is_right(&options, 3, by_boundaries);
}

static void other_types(void) {
    struct pair {
        uint32_t first, second;
    } pairs[] = {{5, 1}, {900, 2}, {5, 3}, {0, 4}};
    const uint32_t middle = 100;
    EagrePartitionOptions options;
    EagrePartition *partition;
    size_t count;
    IS(eagre_partition_options_default(&options, sizeof options), EAGRE_OK);
    options.boundaries = &middle;
    options.boundary_count = 1;
    IS(eagre_partition(pairs, 4, EAGRE_KEY_U32U32, &options, &partition), EAGRE_OK);
    const struct pair *low = eagre_partition_bucket(partition, 0, &count);
    CHECK(count == 3 && low[0].second == 1 && low[1].second == 3 && low[2].second == 4);
    eagre_partition_close(partition);

    const double numbers[] = {-1.5, 2, -0.0, 0.0, -7}, zero = 0;
    options.boundaries = &zero;
    IS(eagre_partition(numbers, 5, EAGRE_KEY_F64, &options, &partition), EAGRE_OK);
    const double *negative = eagre_partition_bucket(partition, 0, &count);
    CHECK(count == 3 && negative[0] == -1.5 && negative[2] == -7);
    eagre_partition_close(partition);
}

static void misuse(void) {
    EagrePartition *partition;
    EagrePartitionOptions options;
    size_t count;
    IS(eagre_partition(keys, COUNT, EAGRE_KEY_U64, NULL, NULL), EAGRE_INVALID);
    IS(eagre_partition(NULL, COUNT, EAGRE_KEY_U64, NULL, &partition), EAGRE_INVALID);
    CHECK(partition == NULL);
    IS(eagre_partition(keys, COUNT / 2, EAGRE_KEY_U128, NULL, &partition), EAGRE_INVALID);
    IS(eagre_partition(keys, COUNT, 0, NULL, &partition), EAGRE_INVALID);
    IS(eagre_partition_options_default(&options, sizeof options), EAGRE_OK);
    options.ways = 1;
    IS(eagre_partition(keys, COUNT, EAGRE_KEY_U64, &options, &partition), EAGRE_INVALID);
    options.bits = 11;
    IS(eagre_partition(keys, COUNT, EAGRE_KEY_U64, &options, &partition), EAGRE_INVALID);
    const uint64_t backwards[] = {2, 1};
    options.boundaries = backwards;
    options.boundary_count = 2;
    IS(eagre_partition(keys, COUNT, EAGRE_KEY_U64, &options, &partition), EAGRE_INVALID);
    CHECK(partition == NULL && strstr(eagre_last_error(), "sort the boundaries") != NULL);

    options.boundaries = NULL;
    options.bits = 0;
    options.ways = 256;
    IS(eagre_partition(keys, COUNT, EAGRE_KEY_U64, &options, &partition), EAGRE_INVALID);
    CHECK(partition == NULL && strstr(eagre_last_error(), "boundary_count is 2") != NULL);

    IS(eagre_partition(NULL, 0, EAGRE_KEY_U64, NULL, &partition), EAGRE_OK);
    CHECK(eagre_partition_bucket(partition, 255, &count) != NULL && count == 0);
    CHECK(eagre_partition_bucket(partition, 256, &count) == NULL && eagre_last_status() == EAGRE_INVALID);
    CHECK(eagre_partition_bucket(partition, 0, NULL) == NULL);
    eagre_partition_close(partition);
    CHECK(eagre_partition_ways(NULL) == 0 && eagre_partition_bucket(NULL, 0, &count) == NULL);
    eagre_partition_close(NULL);
}

int main(void) {
    for (uint64_t i = 0; i < COUNT; i++) keys[i] = number(i) >> (i % 3 == 0 ? 40 : 0);
    every_way();
    other_types();
    misuse();
    return report();
}
