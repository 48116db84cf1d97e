#include <sqlite3.h>

// SQLITE_TRANSIENT, by which SQLite copies the bytes before the call returns: a cast, which Swift does not
// import as a macro.
static inline sqlite3_destructor_type perdure_sqlite3_transient(void) { return SQLITE_TRANSIENT; }
