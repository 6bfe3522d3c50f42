/* Eagre in a program that has names of its own and another library written in Rust (`programs/other.rs`). */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

int sort(int x);
int sort(int x) { return x + 1; }

int other_library(int x);

int main(void) {
    uint64_t keys[] = {3, 1, 2};
    IS(eagre_sort(keys, 3, EAGRE_KEY_U64, NULL), EAGRE_OK);
    CHECK(keys[0] == 1 && keys[1] == 2 && keys[2] == 3);
    CHECK(sort(1) == 2);
    CHECK(other_library(20) == 42);
    return report();
}
