// libpq as its client library documents it; nothing needs wrapping, since libpq has no variadic functions.
#include <libpq-fe.h>
