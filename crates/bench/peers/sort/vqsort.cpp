// Highway's vectorised quicksort, compiled for this processor.
#define VQSORT_ONLY_STATIC 1
#include <hwy/contrib/sort/vqsort-inl.h>

#include <cstddef>
#include <cstdint>

namespace {
template <class Key>
void sort(Key* keys, size_t count) {
    hwy::HWY_NAMESPACE::VQSortStatic(keys, count, hwy::SortAscending());
}
}  // namespace

#define STRING(text) #text
#define VERSION(major, minor, patch) STRING(major) "." STRING(minor) "." STRING(patch)

extern "C" {
const char* version() { return VERSION(HWY_MAJOR, HWY_MINOR, HWY_PATCH); }
void vqsort_u32(uint32_t* keys, size_t count, unsigned) { sort(keys, count); }
void vqsort_i32(int32_t* keys, size_t count, unsigned) { sort(keys, count); }
void vqsort_f32(float* keys, size_t count, unsigned) { sort(keys, count); }
void vqsort_u64(uint64_t* keys, size_t count, unsigned) { sort(keys, count); }
void vqsort_i64(int64_t* keys, size_t count, unsigned) { sort(keys, count); }
void vqsort_f64(double* keys, size_t count, unsigned) { sort(keys, count); }
// A pair is a number of 128 bits, its key the upper half.
void vqsort_u128(hwy::uint128_t* keys, size_t count, unsigned) { sort(keys, count); }
}
