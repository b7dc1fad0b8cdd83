/* OpenSSL 3 for Swift. Most of what PushCrypto needs is a function already; the macros Swift cannot import stand below. */
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
#include <openssl/obj_mac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

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

#endif
