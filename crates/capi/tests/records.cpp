// Sorting files, streams and records in memory from C++: owners, ranges, exceptions.
#include <eagre.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

static int failures = 0;

#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, std::fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #condition)))

template <class Exception, class Call> static std::string thrown(Call &&call) {
    try {
        call();
    } catch (const Exception &exception) {
        return exception.what();
    }
    return "nothing was thrown";
}

static std::mt19937_64 noise;
static std::string from, to;

static std::string contents(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

static void put(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

static std::vector<std::string> lines(std::size_t count) {
    std::vector<std::string> lines(count);
    for (auto &line : lines) line = std::to_string(noise() % (10 * count)) + "\n";
    return lines;
}

static std::string joined(const std::vector<std::string> &lines) {
    std::string text;
    for (const auto &line : lines) text += line;
    return text;
}

/// As the library orders them: without their newlines.
static bool before(const std::string &a, const std::string &b) {
    return a.compare(0, a.size() - 1, b, 0, b.size() - 1) < 0;
}

static void files() {
    auto rows = lines(20'000);
    put(from, joined(rows));
    std::stable_sort(rows.begin(), rows.end(), before);
    CHECK(eagre::sort_file(from, to).records == rows.size());
    CHECK(contents(to) == joined(rows));

    eagre::FileSortOptions options;
    options.memory = 64 << 20;
    options.head = 10;
    std::uint64_t calls = 0;
    eagre::sort_file(
        from, to, eagre::Format::lines().descending(), [&](const char *phase, std::uint64_t, std::uint64_t) { return *phase != 0 && ++calls > 0; },
        options);
    std::reverse(rows.begin(), rows.end());
    CHECK(contents(to) == joined({rows.begin(), rows.begin() + 10}) && calls > 0);

    const auto cancelled = [](const char *, std::uint64_t, std::uint64_t) { return false; };
    CHECK(thrown<eagre::Error>([&] { eagre::sort_file(from, to, eagre::Format(), cancelled); }).find("stopped") != std::string::npos);
    const auto throws = [](const char *, std::uint64_t, std::uint64_t) -> bool { throw std::runtime_error("mine"); };
    CHECK(thrown<std::runtime_error>([&] { eagre::sort_file(from, to, eagre::Format(), throws); }) == "mine");
    CHECK(thrown<eagre::Error>([&] { eagre::sort_file("/nowhere/at all", to); }).find("/nowhere/at all") != std::string::npos);
    put(from, "ab");
    try {
        eagre::sort_file(from, to, eagre::Format::fixed(4));
        CHECK(!"cut short");
    } catch (const eagre::Error &error) {
        CHECK(error.status() == EAGRE_MALFORMED);
    }
}

/// The keys of text belong to the format, and to its copies.
static void text() {
    auto format = std::make_unique<eagre::Format>(eagre::Format::text({std::string("2,2"), "1,1"}, " ", "n"));
    const eagre::Format copy = format->descending().stable();
    format.reset();
    put(from, "1 9\n2 10\n1 10\n");
    eagre::sort_file(from, to, copy);
    CHECK(contents(to) == "2 10\n1 10\n1 9\n");

    eagre::FileSortOptions options;
    options.header = 1;
    options.compression = EAGRE_COMPRESSION_GZIP;
    put(from, "who;what\n\"b;\nc\";1\na;2\n");
    eagre::sort_file(from, to, eagre::Format::csv({"1,1"}, ";"), options);
    CHECK(contents(to).substr(0, 3) == "\x1f\x8b\x08");
    options.compression = EAGRE_COMPRESSION_NONE;
    eagre::sort_file(from, to, eagre::Format::csv({"1,1"}, ";"), options);
    CHECK(contents(to) == "who;what\na;2\n\"b;\nc\";1\n");
    CHECK(thrown<eagre::Error>([] { eagre::sort_file(from, to, eagre::Format::text({"1", "x"})); }).find("text_keys[1]") != std::string::npos);
}

static void indexes() {
    auto rows = lines(20'000);
    put(from, joined(rows));
    std::stable_sort(rows.begin(), rows.end(), before);
    const std::string index = from + ".index";
    std::uint64_t calls = 0;
    const auto count = [&](const char *, std::uint64_t, std::uint64_t) { return ++calls > 0; };
    CHECK(eagre::index_file(from, index, eagre::Format(), count).records == rows.size() && calls > 0);
    CHECK(eagre::gather_file(index, from, to) == rows.size());
    CHECK(contents(to) == joined(rows));
    eagre::GatherOptions options;
    options.start = 10;
    options.end = 30;
    calls = 0;
    CHECK(eagre::gather_file(index, from, to, count, options) == 20 && calls > 0);
    CHECK(contents(to) == joined({rows.begin() + 10, rows.begin() + 30}));
    const auto throws = [](const char *, std::uint64_t, std::uint64_t) -> bool { throw std::runtime_error("mine"); };
    CHECK(thrown<std::runtime_error>([&] { eagre::gather_file(index, from, to, throws); }) == "mine");
    CHECK(thrown<std::runtime_error>([&] { eagre::index_file(from, index, eagre::Format(), throws); }) == "mine");
    CHECK(thrown<eagre::Error>([&] { eagre::gather_file(from, from, to); }).find("not an index") != std::string::npos);
    unlink(index.c_str());
}

static void streams() {
    auto rows = lines(50'000);
    const std::string text = joined(rows);
    std::stable_sort(rows.begin(), rows.end(), before);
    auto [writer, reader] = eagre::sort_stream();
    writer.copy_in(text.data(), text.size());
    writer.finish();
    std::string sorted(text.size() + 1, '\0');
    sorted.resize(reader.copy_out(sorted.data(), sorted.size()));
    CHECK(sorted == joined(rows));
    CHECK(reader.sort_report().records == rows.size());

    auto [unfinished, failing] = eagre::sort_stream(eagre::Format::klv(1, 1));
    unfinished.close();
    CHECK(thrown<eagre::Error>([&failing = failing] { failing.fill(); }).find("dropped before it finished") != std::string::npos);
}

struct Record {
    double value;
    std::uint64_t place;
};

static void parts() {
    std::vector<Record> records(10'000), out(records.size());
    for (std::size_t at = 0; at < records.size(); at++) records[at] = {static_cast<double>(noise() % 1000) - 500, at};
    const auto format = eagre::Format::fixed(sizeof(Record), "0:f64");
    const auto boundaries = eagre::sample_boundaries(records, 3, format);
    CHECK(boundaries.size() == 2 && boundaries[0].size() == 8);
    const auto ends = eagre::sort_and_partition(records, boundaries, out, format);
    CHECK(ends.size() == 3 && ends[2] == out.size() * sizeof(Record) && ends[0] > ends[2] / 5 && ends[1] - ends[0] > ends[2] / 5);
    std::stable_sort(records.begin(), records.end(), [](auto &a, auto &b) { return a.value < b.value; });
    CHECK(std::memcmp(records.data(), out.data(), ends[2]) == 0);
    CHECK(out[ends[0] / sizeof(Record) - 1].value < out[ends[0] / sizeof(Record)].value);

    const std::string text = "pear\nfig\napple\n";
    std::string sorted(text.size(), '\0');
    const std::array<EagreBytes, 1> middle{EagreBytes{"b", 1}};
    CHECK((eagre::sort_and_partition(text, middle, sorted) == std::vector<std::size_t>{6, 15}));
    CHECK(sorted == "apple\nfig\npear\n");
    std::string shorter;
    CHECK(thrown<std::invalid_argument>([&] { eagre::sort_and_partition(text, middle, shorter); }).find("as long") != std::string::npos);
}

static eagre::ConstBytes bytes(const std::string &text) {
    return {reinterpret_cast<const unsigned char *>(text.data()), text.size()};
}

static std::string merged(eagre::Merge merge) {
    std::string text;
    while (const auto record = merge.next()) text.append(record->begin(), record->end());
    return text;
}

static void merges() {
    const std::string first = "a\nd\n", second = "b\n", third = "c\ne\n";
    CHECK(merged(eagre::Merge({bytes(first), bytes(second), {}, bytes(third)})) == "a\nb\nc\nd\ne\n");
    eagre::Merge pieces({bytes(first), bytes(second)});
    std::string room(5, '\0');
    CHECK(pieces.copy_out(room.data(), room.size()) == 4 && room.substr(0, 4) == "a\nb\n");
    CHECK(pieces.copy_out(room.data(), room.size()) == 2 && pieces.copy_out(room.data(), room.size()) == 0);

    // A byte more each time.
    const std::vector<std::string> whole{first, second, third};
    std::vector<std::size_t> given(3), done(3);
    auto refill = [&](std::size_t source, eagre::ConstBytes rest) -> eagre::ConstBytes {
        if (given[source] == whole[source].size()) return rest;
        given[source]++;
        const auto start = given[source] - rest.size() - 1;
        return {reinterpret_cast<const unsigned char *>(whole[source].data()) + start, rest.size() + 1};
    };
    CHECK(merged(eagre::Merge({{}, {}, {}}, refill)) == "a\nb\nc\nd\ne\n");

    int calls = 0;
    auto throws = [&](std::size_t, eagre::ConstBytes rest) -> eagre::ConstBytes {
        if (++calls > 2) throw std::runtime_error("mine");
        return rest;
    };
    CHECK(thrown<std::runtime_error>([&] { merged(eagre::Merge({bytes(first), bytes(second), bytes(third)}, throws)); }) == "mine");
    calls = 2;
    CHECK(thrown<std::runtime_error>([&] { eagre::Merge merge({{}}, throws); }) == "mine");
}

int main() {
    char folder[] = "/tmp/eagre-records-XXXXXX";
    if (mkdtemp(folder) == nullptr) return 2;
    from = folder + std::string("/from");
    to = folder + std::string("/to");
    files();
    text();
    indexes();
    streams();
    parts();
    merges();
    unlink(from.c_str());
    unlink(to.c_str());
    rmdir(folder);
    if (failures == 0) std::puts("ok");
    return failures == 0 ? 0 : 1;
}
