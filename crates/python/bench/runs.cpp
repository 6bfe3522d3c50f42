// What a cluster sort in C++ does with records of 100 bytes, with the standard library: std::sort, cuts by lower_bound, and a merge
// through a priority queue. A peer of eagre.sort_and_partition and eagre.merge; bench/cluster.py compiles it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <queue>
#include <vector>

struct Record {
    unsigned char key[10];
    unsigned char rest[90];
    bool operator<(const Record &other) const { return std::memcmp(key, other.key, sizeof key) < 0; }
};
static_assert(sizeof(Record) == 100);

// Sorts in place, and says for each boundary (10 bytes) how many records lie before it.
extern "C" void sort_and_partition(Record *records, size_t count, const Record *boundaries, size_t cuts, uint64_t *starts) {
    std::sort(records, records + count);
    for (size_t cut = 0; cut < cuts; ++cut)
        starts[cut] = std::lower_bound(records, records + count, boundaries[cut]) - records;
}

// Merges sorted runs, whose ends are numbers of records, into `out`.
extern "C" void merge(const Record *records, const uint64_t *ends, size_t runs, Record *out) {
    struct Head {
        const Record *at, *end;
        bool operator<(const Head &other) const { return *other.at < *at; }
    };
    std::vector<Head> heads;
    for (size_t run = 0, begin = 0; run < runs; begin = ends[run++])
        if (begin < ends[run])
            heads.push_back({records + begin, records + ends[run]});
    std::priority_queue<Head> queue(std::less<Head>(), std::move(heads));
    while (!queue.empty()) {
        Head head = queue.top();
        queue.pop();
        *out++ = *head.at++;
        if (head.at != head.end)
            queue.push(head);
    }
}
