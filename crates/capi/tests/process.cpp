// Streams between processes in C++: a forked child is the other one. Run under every trap and mover.
#include <eagre.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>

static int failures = 0;

#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, std::fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #condition)))

static_assert(!std::is_copy_constructible_v<eagre::Connection> && std::is_nothrow_move_constructible_v<eagre::Connection>);
static_assert(!std::is_copy_constructible_v<eagre::ProcessListener> && std::is_nothrow_move_constructible_v<eagre::ProcessListener>);

template <class Call> static EagreStatus status_of(Call call) {
    try {
        call();
        return EAGRE_OK;
    } catch (const eagre::Error &error) {
        CHECK(std::strlen(error.what()) > 0);
        return error.status();
    }
}

// Runs `work` in a child; returns what waits for it.
template <class Work> static pid_t in_child(Work work) {
    const pid_t child = fork();
    if (child == 0) {
        const EagreStatus status = status_of(work);
        _exit(status == EAGRE_OK && failures == 0 ? 0 : 1);
    }
    return child;
}

static void succeeds(pid_t child) {
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static std::vector<std::uint64_t> numbers() {
    std::vector<std::uint64_t> numbers(1'000'003);
    std::iota(numbers.begin(), numbers.end(), 5u);
    return numbers;
}

static void send(eagre::Writer writer) {
    const auto all = numbers();
    writer.copy_in(all.data(), all.size() * sizeof all[0]);
    writer.finish();
}

static void receive(eagre::Reader reader) {
    std::vector<std::uint64_t> all(numbers().size());
    CHECK(reader.copy_out(all.data(), all.size() * sizeof all[0]) == all.size() * sizeof all[0] && all == numbers());
    reader.finish();
}

static void both_ways() {
    eagre::Options options;
    options.block_size = 64 << 10;
    auto [ours, theirs] = eagre::Connection::pair();
    pid_t child = in_child([&, &ours = ours, &theirs = theirs] {
        ours.close();
        receive(std::move(theirs).join_reader());
    });
    theirs.close();
    send(std::move(ours).make_writer(options));
    succeeds(child);

    auto [mine, yours] = eagre::Connection::pair();
    child = in_child([&, &mine = mine, &yours = yours] {
        mine.close();
        send(std::move(yours).join_writer());
    });
    yours.close();
    receive(std::move(mine).make_reader());
    succeeds(child);
}

static void by_name() {
    CHECK(status_of([] { eagre::Connection::connect("numbers"); }) == EAGRE_UNAVAILABLE);
    const eagre::ProcessListener listener("numbers");
    CHECK(status_of([&] { listener.accept(std::chrono::nanoseconds(1)); }) == EAGRE_TIMED_OUT);
    const pid_t child = in_child([] { send(eagre::Connection::connect("numbers").make_writer()); });
    receive(listener.accept().join_reader());
    succeeds(child);
}

static void gone() {
    auto [ours, theirs] = eagre::Connection::pair();
    const int number = ours.descriptor();
    const pid_t child = in_child([&, &ours = ours, &theirs = theirs] {
        ours.close();
        std::move(theirs).join_reader().fill();
    });
    theirs.close();
    auto writer = std::move(ours).make_writer();
    CHECK(ours.descriptor() == -1);
    const std::vector<char> piece(1 << 20);
    EagreStatus status = EAGRE_OK;
    while (status == EAGRE_OK) status = status_of([&] { writer.copy_in(piece.data(), piece.size()); });
    CHECK(status == EAGRE_READER_GONE);
    succeeds(child);
    writer.close();
    CHECK(fcntl(number, F_GETFD) == -1);
}

int main() {
    char folder[] = "names-XXXXXX", path[4096];
    if (mkdtemp(folder) == nullptr || realpath(folder, path) == nullptr) return 2;
    setenv("XDG_RUNTIME_DIR", path, 1);
    both_ways();
    by_name();
    gone();
    if (failures == 0) std::printf("ok\n");
    return failures == 0 ? 0 : 1;
}
