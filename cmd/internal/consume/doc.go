// Package consume is the command consume: a consumer of a table's stream, from its start to its end.
package consume
