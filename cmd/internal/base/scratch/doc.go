// Package scratch keeps folio's own files apart from those of others: a cache that
// nobody else can have written, and temporary directories that are gone when folio is,
// however it ends.
package scratch
