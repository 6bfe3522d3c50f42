// Sorting from C++: the best few, who they are, and a look at how far a long sort has come.
//
//     ranking [RUNNERS]        default 10 million
#include <eagre.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>

int main(int argc, char **argv) try {
    const std::size_t runners = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 10'000'000;

    eagre::vector<double> minutes(runners);
    std::mt19937_64 chance;
    std::normal_distribution<double> marathon(270, 45);
    for (std::size_t runner = 0; runner < runners; ++runner) minutes.push_back(marathon(chance));

    // Who was first, second and third? The times stay where they are.
    const auto places = eagre::argsort(minutes);
    for (std::size_t place = 0; place < std::min<std::size_t>(3, runners); ++place)
        std::printf("%zu. runner %ju in %.1f minutes\n", place + 1, std::uintmax_t{places[place]}, minutes[places[place]]);

    // How long did half of them take?
    eagre::sort(minutes, [](std::uint64_t done, std::uint64_t total) {
        std::fprintf(stderr, "\r%ju %%", std::uintmax_t{100 * done / total});
        return true;
    });
    std::fputc('\n', stderr);
    if (!std::is_sorted(minutes.begin(), minutes.end())) return 1;
    if (runners > 0) std::printf("half of them in %.1f minutes\n", minutes[runners / 2]);
} catch (const std::exception &error) {
    std::fprintf(stderr, "ranking: %s\n", error.what());
    return 2;
}
