/*
 * The raw benchmark of RDMA: one thread writes blocks of its memory into another thread's with fi_writedata, as fast as libfabric
 * lets it, and nobody looks at a byte. What a stream can reach at most.
 *
 *     cc -O2 -pthread rdma_bare.c -lfabric -o rdma_bare && ./rdma_bare BYTES PROVIDER ADDRESS BLOCK BLOCKS
 *
 * Each side has BLOCKS blocks of BLOCK bytes, registered once. The writer fills a block anew when its write has ended; there are no
 * credits, since nobody reads. It prints the seconds from the first write until the reader has been told of the last one. The
 * provider is tcp or verbs (its ends connect); PROVIDER's device is the one that has ADDRESS.
 */
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { ROOMS = 64, WAIT = 1000 };

static const char *provider, *address;
static size_t bytes, block, blocks;
/* What the writer has to know, once the reader listens. */
static char port[8];
static uint64_t key, base;
static pthread_barrier_t listens, connected;
static struct timespec began;

typedef struct {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_eq *events;
    struct fid_domain *domain;
    struct fid_cq *queue;
    struct fid_mr *region;
    struct fid_ep *end;
    char *memory;
} Side;

static void must(const char *what, long code) {
    if (code < 0) {
        fprintf(stderr, "rdma_bare: %s: %s\n", what, fi_strerror((int)-code));
        exit(2);
    }
}

static void open_side(Side *side, const char *service, uint64_t flags, uint64_t access) {
    struct fi_info *hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_RX_CQ_DATA;
    hints->ep_attr->type = FI_EP_MSG;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->cq_data_size = 4;
    hints->fabric_attr->prov_name = strdup(provider);
    must("fi_getinfo", fi_getinfo(FI_VERSION(1, 14), address, service, flags | FI_NUMERICHOST, hints, &side->info));
    fi_freeinfo(hints);
    struct fi_eq_attr eq = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_cq_attr cq = {.size = 1024, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_UNSPEC};
    must("fi_fabric", fi_fabric(side->info->fabric_attr, &side->fabric, NULL));
    must("fi_eq_open", fi_eq_open(side->fabric, &eq, &side->events, NULL));
    must("fi_domain", fi_domain(side->fabric, side->info, &side->domain, NULL));
    must("fi_cq_open", fi_cq_open(side->domain, &cq, &side->queue, NULL));
    size_t length = block * blocks;
    side->memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (side->memory == MAP_FAILED) must("mmap", -FI_ENOMEM);
    memset(side->memory, 1, length);
    must("fi_mr_reg", fi_mr_reg(side->domain, side->memory, length, access, 0, 1, 0, &side->region, NULL));
}

static void enable(Side *side, struct fi_info *info) {
    must("fi_endpoint", fi_endpoint(side->domain, info, &side->end, NULL));
    must("fi_ep_bind", fi_ep_bind(side->end, &side->events->fid, 0));
    must("fi_ep_bind", fi_ep_bind(side->end, &side->queue->fid, FI_SEND | FI_RECV));
    must("fi_enable", fi_enable(side->end));
}

static struct fi_info *await(Side *side, uint32_t wanted) {
    struct fi_eq_cm_entry entry;
    uint32_t event;
    do {
        must("fi_eq_sread", fi_eq_sread(side->events, &event, &entry, sizeof entry, -1, 0));
    } while (event != wanted);
    return entry.info;
}

/* One completion; waits for it if need be. */
static struct fi_cq_data_entry completion(Side *side) {
    struct fi_cq_data_entry entry;
    long read;
    do {
        read = fi_cq_read(side->queue, &entry, 1);
        if (read == -FI_EAGAIN) read = fi_cq_sread(side->queue, &entry, 1, NULL, WAIT);
    } while (read == -FI_EAGAIN || read == 0);
    must("fi_cq_read", read);
    return entry;
}

static void *reader(void *unused) {
    (void)unused;
    Side side = {0};
    open_side(&side, "0", FI_SOURCE, FI_REMOTE_WRITE);
    struct fid_pep *passive;
    must("fi_passive_ep", fi_passive_ep(side.fabric, side.info, &passive, NULL));
    must("fi_pep_bind", fi_pep_bind(passive, &side.events->fid, 0));
    must("fi_listen", fi_listen(passive));
    unsigned char name[128];
    size_t length = sizeof name;
    must("fi_getname", fi_getname(&passive->fid, name, &length));
    snprintf(port, sizeof port, "%d", name[2] << 8 | name[3]);
    key = fi_mr_key(side.region);
    base = side.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)side.memory : 0;
    pthread_barrier_wait(&listens);
    enable(&side, await(&side, FI_CONNREQ));
    static uint64_t rooms[ROOMS];
    for (int room = 0; room < ROOMS; room++)
        must("fi_recv", fi_recv(side.end, &rooms[room], 8, fi_mr_desc(side.region), FI_ADDR_UNSPEC, &rooms[room]));
    must("fi_accept", fi_accept(side.end, NULL, 0));
    await(&side, FI_CONNECTED);
    pthread_barrier_wait(&connected);
    for (size_t arrived = 0; arrived < (bytes + block - 1) / block;) {
        struct fi_cq_data_entry entry = completion(&side);
        if (entry.flags & FI_REMOTE_CQ_DATA) arrived++;
        /* With some providers the number of a block takes a room. */
        uint64_t *room = entry.op_context;
        if (room >= rooms && room < rooms + ROOMS)
            must("fi_recv", fi_recv(side.end, room, 8, fi_mr_desc(side.region), FI_ADDR_UNSPEC, room));
    }
    return NULL;
}

static void *writer(void *unused) {
    (void)unused;
    Side side = {0};
    pthread_barrier_wait(&listens);
    open_side(&side, port, 0, FI_WRITE);
    enable(&side, side.info);
    must("fi_connect", fi_connect(side.end, side.info->dest_addr, NULL, 0));
    await(&side, FI_CONNECTED);
    pthread_barrier_wait(&connected);
    clock_gettime(CLOCK_MONOTONIC, &began);
    size_t count = (bytes + block - 1) / block, posted = 0, written = 0;
    while (written < count) {
        if (posted < count && posted - written < blocks) {
            size_t place = posted % blocks * block, left = bytes - posted * block;
            long code = fi_writedata(side.end, side.memory + place, left < block ? left : block, fi_mr_desc(side.region),
                                     (uint32_t)posted, FI_ADDR_UNSPEC, base + place, key, NULL);
            if (code == 0) {
                posted++;
                continue;
            }
            if (code != -FI_EAGAIN) must("fi_writedata", code);
        }
        if (completion(&side).flags & FI_WRITE) written++;
    }
    return NULL;
}

int main(int count, char **words) {
    if (count != 6) {
        fprintf(stderr, "usage: rdma_bare BYTES PROVIDER ADDRESS BLOCK BLOCKS\n");
        return 2;
    }
    bytes = strtoull(words[1], NULL, 10);
    provider = words[2];
    address = words[3];
    block = strtoull(words[4], NULL, 10);
    blocks = strtoull(words[5], NULL, 10);
    pthread_t one, other;
    pthread_barrier_init(&listens, NULL, 2);
    pthread_barrier_init(&connected, NULL, 2);
    pthread_create(&one, NULL, reader, NULL);
    pthread_create(&other, NULL, writer, NULL);
    pthread_join(other, NULL);
    pthread_join(one, NULL);
    struct timespec ended;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("%.9f 0\n", (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9);
    return 0;
}
