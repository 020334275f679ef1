// Package adopt has the commands adopt and purge. adopt accepts a store that differs from the records in the state.
// purge removes old tombstones of search indexes.
package adopt
