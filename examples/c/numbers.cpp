// Algorithms of the standard library on iterators that span more than memory.
//
//     numbers [BYTES]        default 8 GiB
#include <eagre.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <thread>

int main(int argc, char **argv) try {
    const std::uint64_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : std::uint64_t{8} << 30;
    const std::uint64_t count = bytes / sizeof(std::uint64_t);

    eagre::Options options;
    options.name = "numbers";
    auto pipe = eagre::open(options);
    const auto control = pipe.reader.control();

    std::thread producer([count, writer = std::move(pipe.writer)]() mutable {
        try {
            writer.scope<std::uint64_t>([=](std::uint64_t *to) { std::iota(to, to + count, std::uint64_t{1}); });
            writer.finish_at(count * sizeof(std::uint64_t));
        } catch (const std::exception &error) {
            // The reader hears of it as well: the writer is closed without being finished.
            std::fprintf(stderr, "numbers: writer: %s\n", error.what());
        }
    });
    struct Found {
        std::uint64_t sum = 0;
        bool ascending = true;
    } found;
    std::exception_ptr failure;
    try {
        // One pass: a stream is read once, forward.
        found = pipe.reader.scope<std::uint64_t>([=](const std::uint64_t *from) {
            Found found;
            std::uint64_t last = 0;
            std::for_each(from, from + count, [&](std::uint64_t number) {
                found.ascending &= number > last;
                last = number;
                found.sum += number;
            });
            return found;
        });
    } catch (...) {
        failure = std::current_exception();
        pipe.reader.close();
    }
    producer.join();
    if (failure) std::rethrow_exception(failure);

    const std::uint64_t expected = count % 2 == 0 ? count / 2 * (count + 1) : (count + 1) / 2 * count;
    const auto stats = control.stats();
    std::printf("sum %" PRIu64 ", %" PRIu64 " blocks through %" PRIu64 "\n", found.sum, stats.published, stats.most);
    return found.sum == expected && found.ascending ? 0 : 1;
} catch (const std::exception &error) {
    std::fprintf(stderr, "numbers: %s\n", error.what());
    return 2;
}
