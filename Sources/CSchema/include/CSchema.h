#ifndef CSCHEMA_H
#define CSCHEMA_H

#include <stddef.h>

/// The text of schema.sql in UTF-8, without a NUL at its end: valid as long as the program runs.
///
/// A function, since Swift does not import an array of unknown length.
const char *fanfare_schema(void);

/// The length of `fanfare_schema` in bytes.
size_t fanfare_schema_length(void);

#endif
