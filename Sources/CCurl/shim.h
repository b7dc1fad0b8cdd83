/* libcurl for Swift: setopt and getinfo are variadic (and macros with type checks), which Swift cannot call. One wrapper
   stands here for each type of argument. Also memfd and TCP_USER_TIMEOUT, which Swift's
   Glibc module leaves out. */
#ifndef FANFARE_CCURL_SHIM_H
#define FANFARE_CCURL_SHIM_H

/* No feature macro such as _GNU_SOURCE here: it changes system types, which must be those of Swift's Glibc module. */
#include <curl/curl.h>
#include <linux/memfd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CCURL_SETOPT(suffix, type)                                                              \
    static inline CURLcode ccurl_setopt_##suffix(CURL *easy, CURLoption option, type value) {   \
        return curl_easy_setopt(easy, option, value);                                           \
    }

CCURL_SETOPT(long, long)
CCURL_SETOPT(offset, curl_off_t)
CCURL_SETOPT(string, const char *)
CCURL_SETOPT(pointer, void *)

static inline CURLcode ccurl_setopt_headers(CURL *easy, struct curl_slist *list) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
}

/* libcurl copies the bytes. */
static inline CURLcode ccurl_setopt_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}

/* libcurl copies the bytes, of which there may be none. */
static inline CURLcode ccurl_setopt_body(CURL *easy, const void *bytes, size_t count) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
    return code ? code : curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes ? bytes : "");
}

static inline CURLcode ccurl_setopt_read(CURL *easy, size_t (*callback)(char *, size_t, size_t, void *)) {
    return curl_easy_setopt(easy, CURLOPT_READFUNCTION, callback);
}

static inline CURLcode ccurl_setopt_write(CURL *easy, size_t (*callback)(char *, size_t, size_t, void *)) {
    return curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
}

static inline CURLcode ccurl_setopt_header(CURL *easy, size_t (*callback)(char *, size_t, size_t, void *)) {
    return curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
}

static inline CURLcode ccurl_setopt_seek(CURL *easy, int (*callback)(void *, curl_off_t, int)) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, callback);
}

static inline CURLcode ccurl_setopt_prerequest(CURL *easy, int (*callback)(void *, char *, char *, int, int)) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}

static inline CURLcode ccurl_setopt_opensocket(
    CURL *easy, curl_socket_t (*callback)(void *, curlsocktype, struct curl_sockaddr *)) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

/* The address in curl_sockaddr is a sockaddr by type and a sockaddr_storage by size. Returns 4 or 6 with the address in
   network byte order, 0 for other families. */
static inline int ccurl_address(const struct curl_sockaddr *address, unsigned char bytes[16]) {
    if (address->family == AF_INET && address->addrlen >= sizeof(struct sockaddr_in)) {
        __builtin_memcpy(bytes, &((const struct sockaddr_in *)&address->addr)->sin_addr, 4);
        return 4;
    }
    if (address->family == AF_INET6 && address->addrlen >= sizeof(struct sockaddr_in6)) {
        __builtin_memcpy(bytes, &((const struct sockaddr_in6 *)&address->addr)->sin6_addr, 16);
        return 6;
    }
    return 0;
}

static inline CURLcode ccurl_getinfo_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_getinfo_string(CURL *easy, CURLINFO info, const char **value) {
    return curl_easy_getinfo(easy, info, (char **)value);
}

static inline CURLcode ccurl_getinfo_private(CURL *easy, void **value) {
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, value);
}

static inline CURLMcode ccurl_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode ccurl_multi_setopt_socket(
    CURLM *multi, int (*callback)(CURL *, curl_socket_t, int, void *, void *), void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
    return code ? code : curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

static inline CURLMcode ccurl_multi_setopt_timer(
    CURLM *multi, int (*callback)(CURLM *, long, void *), void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
    return code ? code : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

static inline CURLSHcode ccurl_share_sessions(CURLSH *share) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

/* The union in CURLMsg has no name that Swift could use. */
static inline CURLcode ccurl_message_result(const CURLMsg *message) {
    return message->data.result;
}

static inline int ccurl_set_user_timeout(int socket, unsigned int milliseconds) {
    return setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

/* Of OpenSSL, by which libcurl speaks TLS, so little that its headers are not needed: what tells of each record. */
struct ssl_st;
struct ssl_ctx_st;
typedef void (*ccurl_record_callback)(int, int, int, const void *, size_t, struct ssl_st *, void *);
extern void SSL_CTX_set_msg_callback(struct ssl_ctx_st *, ccurl_record_callback);
extern long SSL_CTX_ctrl(struct ssl_ctx_st *, int, long, void *);
extern const char *OpenSSL_version(int);

/* SSL3_RT_HEADER: the five bytes in front of a record. */
enum { CCURL_RECORD_HEADER = 0x100 };

/* Whether libcurl's OpenSSL is this process's, as far as their versions tell (OPENSSL_VERSION_STRING). */
static inline int ccurl_shares_openssl(const curl_version_info_data *version) {
    const char prefix[] = "OpenSSL/";
    return version->ssl_version && __builtin_strncmp(version->ssl_version, prefix, sizeof prefix - 1) == 0
        && __builtin_strcmp(version->ssl_version + sizeof prefix - 1, OpenSSL_version(6)) == 0;
}

static inline CURLcode ccurl_setopt_tls_context(CURL *easy, CURLcode (*callback)(void *, void *, void *)) {
    return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, (curl_ssl_ctx_callback)callback);
}

/* The second one is SSL_CTX_set_msg_callback_arg. */
static inline void ccurl_count_records(void *tls, ccurl_record_callback callback, void *context) {
    SSL_CTX_set_msg_callback((struct ssl_ctx_st *)tls, callback);
    SSL_CTX_ctrl((struct ssl_ctx_st *)tls, 16, 0, context);
}

/* glibc declares it under _GNU_SOURCE only, which would give fd_set another shape than Swift's Glibc module knows. */
extern int memfd_create(const char *name, unsigned int flags);

static inline int ccurl_memory_file(const char *name) {
    return (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC);
}

#endif
