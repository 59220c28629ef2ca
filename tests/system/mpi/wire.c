/* A network cable that is some kilometres long: takes the Ethernet frames that come out of some interfaces and puts
 * each into the others after a delay, as a switch with the delay in it would; with a rate, each interface's frames
 * leave it one after the other, and wait for that as long as it takes. For kernels without netem, and without a bridge.
 *
 *     wire DELAY_MILLISECONDS[:BYTES_PER_SECOND] INTERFACE...
 *
 * works until its standard input ends, and prints "ready" when it begins.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PORTS = 64, LARGEST_FRAME = 128 << 10, MOST_WAITING = 256 << 20 /* bytes; what is more gets lost */ };

typedef struct frame {
    struct frame *next;
    double due;
    int port; /* it came from */
    size_t bytes;
    unsigned char data[]; /* what the kernel says about checksum and segments, then the frame */
} frame;

typedef struct port {
    int socket;
    bool known;
    unsigned char address[ETH_ALEN]; /* of the one host behind it */
    double free;                     /* when the last frame that came from it has left */
    frame *first, *last;             /* that came from it and are on their way */
} port;

static port ports[PORTS];
static int port_count;
static double delay, rate; /* seconds; bytes a second, 0: without end */
static size_t waiting;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool open_port(const char *name) {
    struct sockaddr_ll where = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    int yes = 1, much = MOST_WAITING;
    where.sll_ifindex = (int)if_nametoindex(name);
    int s = socket(AF_PACKET, SOCK_RAW, 0);
    ports[port_count++].socket = s;
    if (s < 0 || where.sll_ifindex == 0) return false;
    setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &much, sizeof much);
    setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &much, sizeof much);
    /* Frames larger than a packet, and those whose checksum is left to the hardware, go through as they are. */
    return setsockopt(s, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof yes) == 0 &&
           setsockopt(s, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) == 0 &&
           bind(s, (struct sockaddr *)&where, sizeof where) == 0;
}

/* Takes one frame from a port; false: there is none. */
static bool take(int number) {
    static unsigned char data[LARGEST_FRAME];
    port *from = &ports[number];
    ssize_t bytes = recv(from->socket, data, sizeof data, MSG_DONTWAIT);
    if (bytes < (ssize_t)(sizeof(struct virtio_net_hdr) + sizeof(struct ether_header))) return bytes > 0;
    const struct ether_header *header = (const void *)(data + sizeof(struct virtio_net_hdr));
    memcpy(from->address, header->ether_shost, ETH_ALEN);
    from->known = true;
    frame *f = waiting < MOST_WAITING ? malloc(sizeof *f + (size_t)bytes) : NULL;
    if (f == NULL) return true;
    double leaves = now();
    double wired = (double)bytes - (double)sizeof(struct virtio_net_hdr);
    if (rate > 0) leaves = from->free = (from->free > leaves ? from->free : leaves) + wired / rate;
    *f = (frame){.due = leaves + delay, .port = number, .bytes = (size_t)bytes};
    memcpy(f->data, data, (size_t)bytes);
    waiting += f->bytes;
    if (from->first == NULL)
        from->first = f;
    else
        from->last->next = f;
    from->last = f;
    return true;
}

/* To the port of its address, or to all where that is not known. */
static void deliver(const frame *f) {
    const struct ether_header *header = (const void *)(f->data + sizeof(struct virtio_net_hdr));
    int to = 0;
    while (to < port_count && !(ports[to].known && memcmp(ports[to].address, header->ether_dhost, ETH_ALEN) == 0)) ++to;
    for (int i = 0; i < port_count; ++i)
        if (i != f->port && (to == port_count || to == i) && send(ports[i].socket, f->data, f->bytes, 0) < 0 &&
            errno != ENETDOWN && errno != ENOBUFS)
            perror("wire: a frame is lost");
}

/* The port with the frame that is due first; NULL: nothing is on its way. */
static port *find_next(void) {
    port *next = NULL;
    for (int i = 0; i < port_count; ++i)
        if (ports[i].first != NULL && (next == NULL || ports[i].first->due < next->first->due)) next = &ports[i];
    return next;
}

/* Whoever has started it has ended, in whatever way. */
static bool is_alone(void) {
    char byte;
    return read(STDIN_FILENO, &byte, 1) <= 0;
}

int main(int argc, char **argv) {
    if (argc < 3 || argc - 2 > PORTS) {
        fprintf(stderr, "usage: wire DELAY_MILLISECONDS[:BYTES_PER_SECOND] INTERFACE...\n");
        return 2;
    }
    char *more;
    delay = 1e-3 * strtod(argv[1], &more);
    if (*more == ':') rate = strtod(more + 1, NULL);
    struct pollfd wanted[PORTS + 1];
    for (int i = 2; i < argc; ++i) {
        if (!open_port(argv[i])) {
            fprintf(stderr, "wire: %s: %s\n", argv[i], strerror(errno));
            return 1;
        }
        wanted[i - 2] = (struct pollfd){.fd = ports[i - 2].socket, .events = POLLIN};
    }
    wanted[port_count] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        port *next = find_next();
        double rest = next == NULL ? 1 : next->first->due - now();
        struct timespec until = {.tv_sec = (time_t)(rest > 0 ? rest : 0)};
        until.tv_nsec = rest > 0 ? (long)(1e9 * (rest - (double)until.tv_sec)) : 0;
        ppoll(wanted, (nfds_t)port_count + 1, &until, NULL);
        if (wanted[port_count].revents != 0 && is_alone()) return 0;
        for (int i = 0; i < port_count; ++i)
            for (int taken = 0; taken < 64 && take(i); ++taken) {
            }
        double time = now();
        for (next = find_next(); next != NULL && next->first->due <= time; next = find_next()) {
            frame *f = next->first;
            next->first = f->next;
            waiting -= f->bytes;
            deliver(f);
            free(f);
        }
    }
}
