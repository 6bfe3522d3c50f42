// The vectorised quicksort that NumPy uses, with the threads of OpenMP that NumPy leaves out.
#include <omp.h>
#include <x86simdsort-static-incl.h>

#include <cstddef>
#include <cstdint>

namespace {
template <class Key>
void sort(Key* keys, size_t count, unsigned threads) {
    omp_set_num_threads(static_cast<int>(threads));
    x86simdsortStatic::qsort(keys, count);
}
}  // namespace

extern "C" {
void x86simdsort_u32(uint32_t* keys, size_t count, unsigned threads) { sort(keys, count, threads); }
void x86simdsort_i32(int32_t* keys, size_t count, unsigned threads) { sort(keys, count, threads); }
void x86simdsort_f32(float* keys, size_t count, unsigned threads) { sort(keys, count, threads); }
void x86simdsort_u64(uint64_t* keys, size_t count, unsigned threads) { sort(keys, count, threads); }
void x86simdsort_i64(int64_t* keys, size_t count, unsigned threads) { sort(keys, count, threads); }
void x86simdsort_f64(double* keys, size_t count, unsigned threads) { sort(keys, count, threads); }
}
