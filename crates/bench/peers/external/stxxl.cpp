// Sorts a file of fixed-size records with STXXL: a stream of runs into a file of its own, and their merge into the output.
//
// stxxl LENGTH IN OUT TEMP MEMORY DIRECT: LENGTH is 100 (keys are the first ten bytes) or 8 (little-endian numbers), MEMORY
// is in bytes, DIRECT is 1 to go past the page cache.

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <memory>
#include <string>

#include <stxxl/io>
#include <stxxl/stream>
#include <stxxl/vector>

struct Record {
    unsigned char bytes[100];
};

static bool less(const Record& a, const Record& b) { return std::memcmp(a.bytes, b.bytes, 10) < 0; }
static bool less(uint64_t a, uint64_t b) { return a < b; }

template <typename T>
static T filled(int byte) {
    T value;
    std::memset(&value, byte, sizeof value);
    return value;
}

template <typename T>
struct Less {
    bool operator()(const T& a, const T& b) const { return less(a, b); }
    T min_value() const { return filled<T>(0); }
    T max_value() const { return filled<T>(0xff); }
};

// Blocks are multiples of a page and of a record, so that a file of blocks is a file of records.
template <typename T, unsigned Block>
static int sort(const char* in, const char* out, size_t memory, bool direct) {
    typedef typename stxxl::VECTOR_GENERATOR<T, 1, 8, Block>::result Vector;
    typedef typename Vector::bufreader_type Reader;
    typedef stxxl::stream::sort<Reader, Less<T>, Block> Sorted;
    const int how = direct ? stxxl::file::DIRECT : 0;
    stxxl::syscall_file from(in, stxxl::file::RDONLY | how);
    stxxl::syscall_file to(out, stxxl::file::RDWR | stxxl::file::CREAT | how);
    const uint64_t records = from.size() / sizeof(T);
    {
        Vector input(&from, records), output(&to, records);
        Reader reader(input.begin(), input.end());
        Sorted sorted(reader, Less<T>(), memory);
        typename Vector::bufwriter_type writer(output.begin());
        for (; !sorted.empty(); ++sorted) writer << *sorted;
        writer.finish();
    }
    const int file = ::open(out, O_RDWR);
    return file < 0 || ::ftruncate(file, off_t(records * sizeof(T))) != 0 || ::fsync(file) != 0;
}

int main(int count, char** words) {
    if (count != 7) return 2;
    const size_t memory = std::strtoull(words[5], nullptr, 10);
    const bool direct = std::string(words[6]) == "1";
    stxxl::disk_config disk(words[4], 0, direct ? "syscall unlink direct=try" : "syscall unlink direct=off");
    stxxl::config::get_instance()->add_disk(disk);
    if (std::string(words[1]) == "8") return sort<uint64_t, 2 << 20>(words[2], words[3], memory, direct);
    return sort<Record, 100 * 4096 * 5>(words[2], words[3], memory, direct);
}
