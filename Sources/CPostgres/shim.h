// libpq as its client library documents it; nothing needs wrapping, since libpq has no variadic functions.
#include <libpq-fe.h>
// Wakes a thread that sleeps on a connection's socket; not in Swift's Glibc module.
#include <sys/eventfd.h>
