// Sorting and vectors from C++: which types there are, owners, exceptions.
#include <eagre.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

static int failures = 0;

#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, std::fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #condition)))

static_assert(!std::is_copy_constructible_v<eagre::vector<int>> && std::is_nothrow_move_constructible_v<eagre::vector<int>>);

static std::mt19937_64 noise;

template <class T> static void like_std() {
    for (const std::size_t count : {0, 1, 3, 1000, 20'001}) {
        std::vector<T> ours(count);
        for (auto &key : ours) key = static_cast<T>(static_cast<std::int64_t>(noise()));
        auto theirs = ours;
        eagre::sort(ours);
        std::sort(theirs.begin(), theirs.end());
        CHECK(ours == theirs);
    }
}

static void types() {
    like_std<std::uint32_t>();
    like_std<std::int32_t>();
    like_std<float>();
    like_std<unsigned long>();
    like_std<unsigned long long>();
    like_std<long>();
    like_std<long long>();
    like_std<double>();
#ifdef __SIZEOF_INT128__
    like_std<eagre::detail::Unsigned128>();
    like_std<eagre::detail::Signed128>();
#endif
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs(5000);
    for (auto &[first, second] : pairs) first = noise() % 10, second = noise();
    auto stable = pairs, theirs = pairs;
    eagre::sort(pairs);
    std::sort(theirs.begin(), theirs.end());
    CHECK(pairs == theirs);

    theirs = stable;
    eagre::SortOptions by_first;
    by_first.flags = EAGRE_STABLE;
    eagre::sort(stable, by_first);
    std::stable_sort(theirs.begin(), theirs.end(), [](auto a, auto b) { return a.first < b.first; });
    CHECK(stable == theirs);
}

static void ranges() {
    int row[] = {3, 1, 2};
    eagre::sort(row);
    CHECK(row[0] == 1 && row[2] == 3);
    std::array<double, 3> array{3, 1, 2};
    eagre::sort(array);
    CHECK(array[0] == 1 && array[2] == 3);
    eagre::sort(eagre::Span<int>(row, 2));

    std::vector<float> numbers{0.5f, -1, 0.25f, -1};
    CHECK((eagre::argsort(numbers) == std::vector<std::uint64_t>{1, 3, 2, 0}));
    eagre::sort_smallest(numbers, 2);
    CHECK(numbers[0] == -1 && numbers[1] == -1);
    eagre::sort_largest(numbers, 2);
    CHECK(numbers[0] == 0.5f && numbers[1] == 0.25f);
}

static void progress() {
    std::vector<std::uint64_t> keys(1'500'000);
    for (auto &key : keys) key = noise();
    const auto sum = [&] { return std::accumulate(keys.begin(), keys.end(), std::uint64_t{0}); };
    const auto before = sum();
    try {
        eagre::sort(keys, [](std::uint64_t, std::uint64_t) { return false; });
        CHECK(!"cancelled");
    } catch (const eagre::Error &error) {
        CHECK(error.status() == EAGRE_CANCELLED);
    }
    CHECK(sum() == before);
    try {
        eagre::sort(keys, [](std::uint64_t, std::uint64_t) -> bool { throw std::runtime_error("enough"); });
        CHECK(!"thrown");
    } catch (const std::runtime_error &error) {
        CHECK(std::strcmp(error.what(), "enough") == 0);
    }
    std::uint64_t last = 0;
    auto show = [&](std::uint64_t done, std::uint64_t total) {
        CHECK(last <= done && done <= total && total == keys.size());
        last = done;
        return true;
    };
    eagre::sort(keys, show);
    CHECK(last == keys.size() && std::is_sorted(keys.begin(), keys.end()));
}

static void partitions() {
    std::vector<std::uint32_t> keys(100'000);
    for (auto &key : keys) key = static_cast<std::uint32_t>(noise());
    eagre::PartitionOptions options;
    options.ways = 16;
    auto parts = eagre::partition(keys, options);
    CHECK(parts.size() == 16);
    for (std::uint32_t bucket = 0; bucket < 16; ++bucket) {
        std::vector<std::uint32_t> wanted;
        std::copy_if(keys.begin(), keys.end(), std::back_inserter(wanted), [=](auto key) { return key >> 28 == bucket; });
        const auto got = parts[bucket];
        CHECK(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end()));
    }
    try {
        parts[16];
        CHECK(!"out of range");
    } catch (const eagre::Error &error) {
        CHECK(error.status() == EAGRE_INVALID);
    }
}

static void vectors() {
    eagre::vector<std::uint64_t> numbers;
    const auto *first = numbers.data();
    for (std::uint64_t i = 0; i < 1'000'000; ++i) numbers.push_back(i * 0x9e3779b97f4a7c15);
    CHECK(numbers.data() == first && numbers.size() == 1'000'000 && numbers[1] == 0x9e3779b97f4a7c15);
    eagre::sort(numbers);
    CHECK(std::is_sorted(numbers.begin(), numbers.end()));
    numbers.append(std::vector<std::uint64_t>{7, 8});
    CHECK(numbers.back() == 8 && numbers.size() == 1'000'002);
    numbers.resize(3);
    numbers.shrink_to_fit();
    CHECK(numbers.capacity() * sizeof(std::uint64_t) <= 4 << 20 && numbers.size() == 3);
    numbers.resize(5);
    CHECK(numbers[4] == 0);
    eagre::vector<std::uint64_t> moved = std::move(numbers);
    CHECK(moved.size() == 5 && moved.data() == first);

    // What cannot move, and must be destroyed once.
    static int alive = 0;
    struct Pinned {
        explicit Pinned(int number) : number(number), self(this) { ++alive; }
        Pinned(const Pinned &) = delete;
        ~Pinned() { --alive; }
        int number;
        const Pinned *self;
    };
    {
        eagre::vector<Pinned> pinned(100'000);
        for (int i = 0; i < 100'000; ++i) pinned.emplace_back(i);
        CHECK(alive == 100'000);
        CHECK(std::all_of(pinned.begin(), pinned.end(), [](const Pinned &one) { return one.self == &one; }));
        pinned.pop_back();
        CHECK(alive == 99'999);
    }
    CHECK(alive == 0);

    eagre::vector<std::string> texts;
    for (int i = 0; i < 1000; ++i) texts.push_back("a text that is not short " + std::to_string(i));
    texts.resize(1002);
    CHECK(texts[999].back() == '9' && texts[1001].empty());

    eagre::Pool pool(1, 64 << 10);
    eagre::vector<char> small(0, pool.get());
    try {
        small.resize(70'000);
        CHECK(!"out of blocks");
    } catch (const eagre::Error &error) {
        CHECK(error.status() == EAGRE_CAPACITY_EXCEEDED || error.status() == EAGRE_OUT_OF_BLOCKS);
    }
    small.resize(60'000);
    CHECK(small.size() == 60'000 && small[59'999] == 0);
}

int main() {
    types();
    ranges();
    progress();
    partitions();
    vectors();
    if (failures == 0) std::puts("ok");
    return failures == 0 ? 0 : 1;
}
