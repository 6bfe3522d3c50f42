// Boost.Sort: a radix and comparison hybrid, a quicksort that defeats patterns, and a parallel one in place.
#include <boost/sort/sort.hpp>
#include <boost/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace {
using Pair = std::array<uint64_t, 2>;

template <class Key>
void block_indirect(Key* keys, size_t count, unsigned threads) {
    boost::sort::block_indirect_sort(keys, keys + count, std::less<Key>(), threads);
}

// By the first part alone: what is equal there keeps its order.
bool first_less(const Pair& a, const Pair& b) { return a[0] < b[0]; }
}  // namespace

extern "C" {
const char* version() { return "Boost " BOOST_LIB_VERSION; }

void spreadsort_u32(uint32_t* keys, size_t count, unsigned) { boost::sort::spreadsort::integer_sort(keys, keys + count); }
void spreadsort_u64(uint64_t* keys, size_t count, unsigned) { boost::sort::spreadsort::integer_sort(keys, keys + count); }
void spreadsort_f64(double* keys, size_t count, unsigned) { boost::sort::spreadsort::float_sort(keys, keys + count); }

void pdqsort_u32(uint32_t* keys, size_t count, unsigned) { boost::sort::pdqsort_branchless(keys, keys + count); }
void pdqsort_u64(uint64_t* keys, size_t count, unsigned) { boost::sort::pdqsort_branchless(keys, keys + count); }
void pdqsort_f64(double* keys, size_t count, unsigned) { boost::sort::pdqsort_branchless(keys, keys + count); }
void pdqsort_pair(Pair* keys, size_t count, unsigned) { boost::sort::pdqsort_branchless(keys, keys + count); }

void block_indirect_u64(uint64_t* keys, size_t count, unsigned threads) { block_indirect(keys, count, threads); }

void spinsort_pair(Pair* keys, size_t count, unsigned) { boost::sort::spinsort(keys, keys + count, first_less); }
}
