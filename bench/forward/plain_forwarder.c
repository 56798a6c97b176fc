/* The plain limit that a router is held against: receive datagrams in batches of 64, send each of them on, and nothing
 * else. Built and started by `python -m bench forward`.
 *
 *     plain_forwarder IN_PORT all|one OUT_PORT...
 *
 * Listens on 127.0.0.1:IN_PORT (0: any). Each datagram goes to all out ports, or to one of them in turn. Prints
 * {"port": N} when it listens and, ended by SIGTERM or SIGINT, one JSON line of what it did, with the user and system
 * time of the process in microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { BATCH = 64, SIZE = 2048, OUTS = 64, BUFFER = 4 << 20 };

static volatile sig_atomic_t ended;

static void end(int signal_number) {
    (void)signal_number;
    ended = 1;
}

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static struct sockaddr_in loopback(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static long long microseconds(struct timeval time) { return time.tv_sec * 1000000LL + time.tv_usec; }

int main(int count, char **words) {
    int outs = count - 3;
    if (outs < 1 || outs > OUTS || (strcmp(words[2], "all") && strcmp(words[2], "one"))) {
        fprintf(stderr, "usage: %s IN_PORT all|one OUT_PORT... (at most %d)\n", words[0], OUTS);
        return 2;
    }
    int to_all = !strcmp(words[2], "all");

    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);

    int in = socket(AF_INET, SOCK_DGRAM, 0);
    int out = socket(AF_INET, SOCK_DGRAM, 0);
    if (in < 0 || out < 0)
        fail("socket");
    int buffer = BUFFER;
    setsockopt(in, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    setsockopt(out, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    /* A signal between the test of `ended` and the wait would be missed without a time-out. */
    struct timeval patience = {.tv_usec = 200000};
    setsockopt(in, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    struct sockaddr_in own = loopback(words[1]);
    socklen_t length = sizeof own;
    if (bind(in, (struct sockaddr *)&own, sizeof own))
        fail("bind");
    getsockname(in, (struct sockaddr *)&own, &length);
    printf("{\"port\": %d}\n", ntohs(own.sin_port));
    fflush(stdout);

    struct sockaddr_in to[OUTS];
    for (int i = 0; i < outs; i++)
        to[i] = loopback(words[3 + i]);

    static char data[BATCH][SIZE];
    static struct iovec received[BATCH], forwarded[BATCH];
    static struct mmsghdr arrivals[BATCH], departures[BATCH * OUTS];
    for (int i = 0; i < BATCH; i++) {
        received[i] = (struct iovec){data[i], SIZE};
        arrivals[i].msg_hdr = (struct msghdr){.msg_iov = &received[i], .msg_iovlen = 1};
    }
    long long packets_in = 0, bytes_in = 0, packets_out = 0, send_errors = 0;
    int turn = 0;
    while (!ended) {
        int got = recvmmsg(in, arrivals, BATCH, MSG_WAITFORONE, NULL);
        if (got < 0) {
            if (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)
                continue;
            fail("recvmmsg");
        }
        int ready = 0;
        for (int i = 0; i < got; i++) {
            forwarded[i] = (struct iovec){data[i], arrivals[i].msg_len};
            bytes_in += arrivals[i].msg_len;
            int first = to_all ? 0 : turn, last = to_all ? outs : turn + 1;
            for (int j = first; j < last; j++)
                departures[ready++].msg_hdr = (struct msghdr){
                    .msg_name = &to[j], .msg_namelen = sizeof to[j], .msg_iov = &forwarded[i], .msg_iovlen = 1};
            turn = (turn + 1) % outs;
        }
        packets_in += got;
        for (int done = 0; done < ready;) {
            int sent = sendmmsg(out, departures + done, (unsigned)(ready - done), 0);
            if (sent > 0) {
                packets_out += sent;
                done += sent;
            } else if (errno != EINTR) { /* ECONNREFUSED of an out port that nobody reads, ENOBUFS: count and go on */
                send_errors++;
                done++;
            }
        }
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("{\"packets_in\": %lld, \"packets_out\": %lld, \"bytes_in\": %lld, \"send_errors\": %lld, \"cpu_us\": %lld}\n",
           packets_in, packets_out, bytes_in, send_errors, microseconds(used.ru_utime) + microseconds(used.ru_stime));
    return 0;
}
