// Highway's vectorised quicksort, which chooses its instructions when it runs.
#include <hwy/contrib/sort/vqsort.h>

#include <cstddef>
#include <cstdint>

namespace {
template <class Key>
void sort(Key* keys, size_t count) {
    // Its random state, made once: sorting many small pieces should not pay for it each time.
    static const hwy::Sorter sorter;
    sorter(keys, count, hwy::SortAscending());
}
}  // namespace

extern "C" {
void vqsort_u32(uint32_t* keys, size_t count, unsigned) { sort(keys, count); }
void vqsort_u64(uint64_t* keys, size_t count, unsigned) { sort(keys, count); }
void vqsort_f64(double* keys, size_t count, unsigned) { sort(keys, count); }
// A pair is a number of 128 bits, its key the upper half.
void vqsort_u128(hwy::uint128_t* keys, size_t count, unsigned) { sort(keys, count); }
}
