#include "CSchema.h"

// Swift's compiler takes minutes and gigabytes for an array of these bytes, which is what SwiftPM's .embedInCode makes of a file.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const char text[] = {
#embed "schema.sql"
};

const char *fanfare_schema(void) { return text; }

size_t fanfare_schema_length(void) { return sizeof text; }
