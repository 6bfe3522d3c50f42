/* Vectors that grow without copying, from C. */
#include "check.h"

struct record {
    uint64_t number;
    char name[16];
};

static void it_grows_where_it_is(void) {
    enum { COUNT = 300000 };
    EagreVector *vector;
    IS(eagre_vector_open(sizeof(struct record), COUNT, NULL, &vector), EAGRE_OK);
    const struct record *first = eagre_vector_data(vector);
    CHECK(first != NULL && eagre_vector_length(vector) == 0 && eagre_vector_limit(vector) >= COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        struct record record = {.number = i};
        snprintf(record.name, sizeof record.name, "%u", (unsigned)i);
        if (eagre_vector_push(vector, &record) != EAGRE_OK) {
            CHECK(!"push");
            break;
        }
    }
    CHECK(eagre_vector_length(vector) == COUNT && eagre_vector_data(vector) == first);
    CHECK(first[0].number == 0 && first[COUNT - 1].number == COUNT - 1 && strcmp(first[777].name, "777") == 0);

    const size_t capacity = eagre_vector_capacity(vector);
    IS(eagre_vector_set_length(vector, 10), EAGRE_OK);
    CHECK(eagre_vector_capacity(vector) == capacity);
    IS(eagre_vector_shrink_to_fit(vector), EAGRE_OK);
    CHECK(eagre_vector_length(vector) == 10 && eagre_vector_capacity(vector) < capacity && first[9].number == 9);
    eagre_vector_close(vector);
}

static void room_that_is_filled_in_place(void) {
    EagreVector *vector;
    IS(eagre_vector_open(sizeof(uint64_t), 0, NULL, &vector), EAGRE_OK);
    IS(eagre_vector_set_length(vector, 1), EAGRE_INVALID_LENGTH);
    CHECK(strstr(eagre_last_error(), "eagre_vector_reserve") != NULL);
    IS(eagre_vector_reserve(vector, 1000000), EAGRE_OK);
    CHECK(eagre_vector_capacity(vector) >= 1000000);
    uint64_t *numbers = eagre_vector_data(vector);
    for (uint64_t i = 0; i < 1000000; i++) numbers[i] = 1000000 - i;
    IS(eagre_vector_set_length(vector, 1000000), EAGRE_OK);
    const uint64_t more[] = {0, 7};
    IS(eagre_vector_extend(vector, more, 2), EAGRE_OK);
    IS(eagre_sort(eagre_vector_data(vector), eagre_vector_length(vector), EAGRE_KEY_U64, NULL), EAGRE_OK);
    CHECK(numbers[0] == 0 && numbers[7] == 7 && numbers[8] == 7 && numbers[1000001] == 1000000);
    eagre_vector_close(vector);
}

static void limits(void) {
    EagrePool *pool;
    EagreVector *vector, *other;
    static char byte[100];
    IS(eagre_pool_open(64 << 10, 3, EAGRE_TRAP_DEFAULT, EAGRE_MOVER_DEFAULT, &pool), EAGRE_OK);
    IS(eagre_vector_open(100, 0, pool, &vector), EAGRE_OK);
    IS(eagre_vector_open(100, 1, pool, &other), EAGRE_OK);
    /* One block at most, whatever the pool has. */
    IS(eagre_vector_reserve(other, eagre_vector_limit(other) + 1), EAGRE_CAPACITY_EXCEEDED);
    IS(eagre_vector_push(other, byte), EAGRE_OK);
    /* Two blocks are left. */
    IS(eagre_vector_reserve(vector, (2 << 16) / 100), EAGRE_OK);
    IS(eagre_vector_reserve(vector, (2 << 16) / 100 + 1), EAGRE_OUT_OF_BLOCKS);
    eagre_vector_close(other);
    IS(eagre_vector_reserve(vector, (2 << 16) / 100 + 1), EAGRE_OK);
    IS(eagre_vector_reserve(vector, SIZE_MAX), EAGRE_CAPACITY_EXCEEDED);
    eagre_pool_close(pool);
    IS(eagre_vector_push(vector, byte), EAGRE_OK);
    eagre_vector_close(vector);
}

static void misuse(void) {
    EagreVector *vector;
    IS(eagre_vector_open(8, 0, NULL, NULL), EAGRE_INVALID);
    IS(eagre_vector_open(0, 0, NULL, &vector), EAGRE_INVALID);
    CHECK(vector == NULL);
    IS(eagre_vector_open(8, UINT64_MAX, NULL, &vector), EAGRE_RESOURCES);
    IS(eagre_vector_open(8, 10, NULL, &vector), EAGRE_OK);
    IS(eagre_vector_push(vector, NULL), EAGRE_INVALID);
    IS(eagre_vector_extend(vector, NULL, 0), EAGRE_OK);
    eagre_vector_close(vector);
    IS(eagre_vector_push(NULL, "12345678"), EAGRE_INVALID);
    IS(eagre_vector_reserve(NULL, 1), EAGRE_INVALID);
    IS(eagre_vector_set_length(NULL, 0), EAGRE_INVALID);
    IS(eagre_vector_shrink_to_fit(NULL), EAGRE_INVALID);
    CHECK(eagre_vector_data(NULL) == NULL && eagre_vector_length(NULL) == 0);
    CHECK(eagre_vector_capacity(NULL) == 0 && eagre_vector_limit(NULL) == 0);
    eagre_vector_close(NULL);
}

int main(void) {
    it_grows_where_it_is();
    room_that_is_filled_in_place();
    limits();
    misuse();
    return report();
}
