// In-place parallel super scalar samplesort.
#include <ips4o.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace {
using Pair = std::array<uint64_t, 2>;

template <class Key>
void sort(Key* keys, size_t count, unsigned threads) {
    if (threads > 1) {
        ips4o::parallel::sort(keys, keys + count, std::less<>(), static_cast<int>(threads));
    } else {
        ips4o::sort(keys, keys + count);
    }
}
}  // namespace

extern "C" {
void ips4o_u32(uint32_t* keys, size_t count, unsigned threads) { sort(keys, count, threads); }
void ips4o_u64(uint64_t* keys, size_t count, unsigned threads) { sort(keys, count, threads); }
void ips4o_f64(double* keys, size_t count, unsigned threads) { sort(keys, count, threads); }
void ips4o_pair(Pair* keys, size_t count, unsigned threads) { sort(keys, count, threads); }
}
