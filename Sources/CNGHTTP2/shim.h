/* nghttp2 for Swift: what is a macro, or a union that Swift would copy, stands here as a function. Also epoll and
   the TCP options of the sockets it works on, which Swift's Glibc module leaves out. */
#ifndef FANFARE_CNGHTTP2_SHIM_H
#define FANFARE_CNGHTTP2_SHIM_H

/* No feature macro such as _GNU_SOURCE here: it changes system types, which must be those of Swift's Glibc module. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Frames are unions of structures; these read one member of the right one. */
static inline uint8_t cnghttp2_frame_type(const nghttp2_frame *frame) { return frame->hd.type; }
static inline uint8_t cnghttp2_frame_flags(const nghttp2_frame *frame) { return frame->hd.flags; }
static inline int32_t cnghttp2_frame_stream(const nghttp2_frame *frame) { return frame->hd.stream_id; }
static inline uint32_t cnghttp2_goaway_code(const nghttp2_frame *frame) { return frame->goaway.error_code; }
static inline const uint8_t *cnghttp2_goaway_data(const nghttp2_frame *frame) { return frame->goaway.opaque_data; }
static inline size_t cnghttp2_goaway_length(const nghttp2_frame *frame) { return frame->goaway.opaque_data_len; }

/* A request with a body that `read` brings, or without one if it is NULL. Its method only: Session puts all fields into the frame
   that nghttp2 makes of it. */
static inline int32_t cnghttp2_submit(nghttp2_session *session, nghttp2_data_source_read_callback read, void *slot) {
    static uint8_t name[] = ":method", value[] = "POST";
    const nghttp2_nv method = {name, value, sizeof name - 1, sizeof value - 1,
                               NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
    nghttp2_data_provider body = {{.ptr = slot}, read};
    return nghttp2_submit_request(session, NULL, &method, 1, read == NULL ? NULL : &body, slot);
}

static inline void *cnghttp2_source(const nghttp2_data_source *source) { return source->ptr; }

static inline int cnghttp2_epoll(void) { return epoll_create1(EPOLL_CLOEXEC); }

/* Watches a descriptor, or watches it for something else. `epoll_event` is packed, which Swift does not import. */
static inline int cnghttp2_watch(int poller, int descriptor, uint64_t name, int wants_write) {
    struct epoll_event event = {.events = EPOLLIN | (wants_write ? (uint32_t)EPOLLOUT : 0u), .data.u64 = name};
    if (epoll_ctl(poller, EPOLL_CTL_MOD, descriptor, &event) == 0) return 0;
    return errno == ENOENT ? epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) : -1;
}

/* The names of ready descriptors, at most 64. */
static inline int cnghttp2_wait(int poller, uint64_t *names, int limit, int milliseconds) {
    struct epoll_event events[64];
    int count = epoll_wait(poller, events, limit < 64 ? limit : 64, milliseconds);
    for (int i = 0; i < count; i++) names[i] = events[i].data.u64;
    return count;
}

/* Sleeps until a descriptor is readable or the time, less than a second, is over. By its number, since ppoll is declared for
   _GNU_SOURCE only. */
static inline void cnghttp2_doze(int descriptor, int64_t nanoseconds) {
    struct { int descriptor; short wanted, ready; } watched = {descriptor, EPOLLIN, 0};
    struct { int64_t seconds, nanoseconds; } limit = {0, nanoseconds};
    (void)syscall(SYS_ppoll, &watched, 1, &limit, NULL, 0);
}

/* A TCP socket for many small writes that notices a peer which vanished. */
static inline int cnghttp2_socket(int family, unsigned int user_timeout_milliseconds) {
    int descriptor = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (descriptor < 0) return -1;
    int on = 1, idle = 60, interval = 10;
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_milliseconds,
                     sizeof user_timeout_milliseconds);
    return descriptor;
}

/* What became of a connect that did not wait: 0 if it stands, else an errno. */
static inline int cnghttp2_socket_error(int descriptor) {
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

#endif
