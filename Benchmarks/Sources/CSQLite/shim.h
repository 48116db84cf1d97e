#include <sqlite3.h>

// SQLITE_TRANSIENT, which makes SQLite copy the bytes before the call returns. It is a cast, and
// Swift does not import a cast as a macro.
static inline sqlite3_destructor_type perdure_sqlite3_transient(void) { return SQLITE_TRANSIENT; }
