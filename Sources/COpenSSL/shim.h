/* OpenSSL 3 for Swift. Most of what PushCrypto, HTTP2Engine and SandboxCrypto need is a function already; the macros Swift
   cannot import stand below. */
#ifndef FANFARE_COPENSSL_SHIM_H
#define FANFARE_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/obj_mac.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

/* BIO_get_mem_data is a macro around BIO_ctrl. */
static inline long copenssl_memory(BIO *bio, char **data) {
    return BIO_get_mem_data(bio, data);
}

/* BIO_ctrl makes the buffer forget its bytes without wiping them. */
static inline void copenssl_wipe(BIO *bio) {
    char *data = NULL;
    long count = BIO_get_mem_data(bio, &data);
    if (data != NULL && count > 0) OPENSSL_cleanse(data, (size_t)count);
}

/* A parameter keeps the pointers to its name and its value, which Swift's strings are not there for long enough for. */
static inline int copenssl_set_sha256(EVP_MAC_CTX *context) {
    char digest[] = "SHA256";
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(context, parameters);
}

/* A key on P-256 from its uncompressed point, and from its private half unless that is NULL. NULL if it is none. */
static inline EVP_PKEY *copenssl_p256_key(const unsigned char *point, size_t count, const BIGNUM *secret) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM *parameters = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    if (builder != NULL && context != NULL &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, count) == 1 &&
        (secret == NULL || OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, secret) == 1))
        parameters = OSSL_PARAM_BLD_to_param(builder);
    if (parameters != NULL && EVP_PKEY_fromdata_init(context) == 1)
        EVP_PKEY_fromdata(context, &key, secret == NULL ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR, parameters);
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    EVP_PKEY_CTX_free(context);
    return key;
}

/* The stack functions are macros around casts. */
static inline int copenssl_certificate_count(const STACK_OF(X509) *stack) {
    return stack == NULL ? 0 : sk_X509_num(stack);
}

static inline X509 *copenssl_certificate(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}

static inline void copenssl_certificates_free(STACK_OF(X509) *stack) {
    sk_X509_pop_free(stack, X509_free);
}

/* What every TLS connection of ours has in common. Reads as much as there is at once: servers send many small records. */
static inline int copenssl_client_defaults(SSL_CTX *context) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, 65536);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
}

/* Takes the certificate over. */
static inline int copenssl_add_chain(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add0_chain_cert(context, certificate);
}

static inline int copenssl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

/* A socket BIO like OpenSSL's own, but a peer that is gone is an error and no SIGPIPE. */
static inline int copenssl_socket_write(BIO *bio, const char *bytes, int count) {
    ssize_t sent = send((int)(intptr_t)BIO_get_data(bio), bytes, (size_t)count, MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (sent < 0 && BIO_sock_should_retry(-1)) BIO_set_retry_write(bio);
    return (int)sent;
}

static inline int copenssl_socket_read(BIO *bio, char *bytes, int count) {
    ssize_t got = recv((int)(intptr_t)BIO_get_data(bio), bytes, (size_t)count, 0);
    BIO_clear_retry_flags(bio);
    if (got < 0 && BIO_sock_should_retry(-1)) BIO_set_retry_read(bio);
    if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return (int)got;
}

static inline long copenssl_socket_control(BIO *bio, int command, long number, void *pointer) {
    (void)number;
    (void)pointer;
    if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP;
}

/* Made once for the process. NULL for want of memory. */
static inline BIO_METHOD *copenssl_socket_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    if (method == NULL) return NULL;
    BIO_meth_set_write(method, copenssl_socket_write);
    BIO_meth_set_read(method, copenssl_socket_read);
    BIO_meth_set_ctrl(method, copenssl_socket_control);
    return method;
}

/* A BIO for a socket, which stays the caller's. NULL for want of memory. */
static inline BIO *copenssl_socket(const BIO_METHOD *method, int descriptor) {
    BIO *bio = BIO_new(method);
    if (bio == NULL) return NULL;
    BIO_set_data(bio, (void *)(intptr_t)descriptor);
    BIO_set_init(bio, 1);
    return bio;
}

/* A BIO for a TLS connection, which stays the caller's. NULL for want of memory. */
static inline BIO *copenssl_through(SSL *ssl) {
    BIO *bio = BIO_new(BIO_f_ssl());
    if (bio != NULL) BIO_set_ssl(bio, ssl, BIO_NOCLOSE);
    return bio;
}

#endif
