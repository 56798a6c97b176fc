/* Load and sinks for measuring a forwarder of any protocol over loopback. Built and started by `bench.forward.harness`.
 *
 *     load send FD PORT FILE RATE SECONDS     open loop: RATE datagrams a second, whatever becomes of them
 *     load sink FD...                         counts what arrives on these sockets until SIGTERM or SIGINT
 *
 * FD is an inherited UDP socket, so that whoever starts this can join an overlay with it first. FILE holds prepared
 * datagrams, each behind its length (16 bits, big-endian), sent round and round. RATE 0 means as fast as it goes.
 * Prints one JSON line at the end.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { BATCH = 64, SIZE = 65536, SINKS = 64, MOST = 1 << 16 };

static volatile sig_atomic_t ended;

static void end(int signal_number) {
    (void)signal_number;
    ended = 1;
}

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int read_datagrams(const char *path, struct iovec *datagrams) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path);
    int count = 0, high;
    while (count < MOST && (high = fgetc(file)) != EOF) {
        size_t length = (size_t)high << 8 | (size_t)fgetc(file);
        datagrams[count] = (struct iovec){malloc(length + 1), length};
        if (!datagrams[count].iov_base || fread(datagrams[count].iov_base, 1, length, file) != length)
            fail("a datagram is cut short");
        count++;
    }
    fclose(file);
    if (!count)
        fail("no datagrams");
    return count;
}

static int send_load(char **words) {
    int out = atoi(words[0]);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(words[1]))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    static struct iovec datagrams[MOST];
    int count = read_datagrams(words[2], datagrams);
    double rate = atof(words[3]), seconds = atof(words[4]);

    static struct mmsghdr batch[BATCH];
    for (int i = 0; i < BATCH; i++)
        batch[i].msg_hdr = (struct msghdr){.msg_name = &to, .msg_namelen = sizeof to, .msg_iovlen = 1};
    long long sent = 0, bytes = 0, send_errors = 0, next = 0;
    double start = now(), passed;
    while (!ended && (passed = now() - start) < seconds) {
        long long due = rate > 0 ? (long long)(passed * rate) - next : BATCH;
        if (due <= 0) { /* a fifth of a millisecond: short beside any buffer, long beside a system call */
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
            continue;
        }
        int size = due < BATCH ? (int)due : BATCH;
        for (int i = 0; i < size; i++)
            batch[i].msg_hdr.msg_iov = &datagrams[(next + i) % count];
        int done = sendmmsg(out, batch, (unsigned)size, 0);
        for (int i = 0; i < done; i++)
            bytes += (long long)batch[i].msg_hdr.msg_iov->iov_len;
        if (done < 0 && errno != EINTR)
            send_errors++; /* the datagram is skipped: open loop */
        sent += done > 0 ? done : 0;
        next += done > 0 ? done : 1;
    }
    printf("{\"sent\": %lld, \"bytes\": %lld, \"send_errors\": %lld, \"seconds\": %.6f}\n", sent, bytes, send_errors,
           now() - start);
    return 0;
}

static int sink(int count, char **words) {
    struct pollfd sockets[SINKS];
    long long datagrams[SINKS] = {0}, bytes[SINKS] = {0};
    static char data[BATCH][SIZE];
    static struct iovec vectors[BATCH];
    static struct mmsghdr arrivals[BATCH];
    for (int i = 0; i < BATCH; i++) {
        vectors[i] = (struct iovec){data[i], SIZE};
        arrivals[i].msg_hdr = (struct msghdr){.msg_iov = &vectors[i], .msg_iovlen = 1};
    }
    for (int i = 0; i < count; i++)
        sockets[i] = (struct pollfd){.fd = atoi(words[i]), .events = POLLIN};
    while (!ended) {
        if (poll(sockets, (nfds_t)count, 200) <= 0)
            continue;
        for (int i = 0; i < count; i++) {
            if (!sockets[i].revents)
                continue;
            int got = recvmmsg(sockets[i].fd, arrivals, BATCH, MSG_DONTWAIT, NULL);
            for (int j = 0; j < got; j++)
                bytes[i] += arrivals[j].msg_len;
            datagrams[i] += got > 0 ? got : 0;
        }
    }
    printf("{\"datagrams\": [");
    for (int i = 0; i < count; i++)
        printf("%s%lld", i ? ", " : "", datagrams[i]);
    printf("], \"bytes\": [");
    for (int i = 0; i < count; i++)
        printf("%s%lld", i ? ", " : "", bytes[i]);
    printf("]}\n");
    return 0;
}

int main(int count, char **words) {
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    if (count == 7 && !strcmp(words[1], "send"))
        return send_load(words + 2);
    if (count >= 3 && count - 2 <= SINKS && !strcmp(words[1], "sink"))
        return sink(count - 2, words + 2);
    fprintf(stderr, "usage: %s send FD PORT FILE RATE SECONDS | sink FD...\n", words[0]);
    return 2;
}
