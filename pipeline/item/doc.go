// Package item has the items of a table: the Image of one record, its Values, and the paths, patterns and keys that
// lead into it.
//
// Images and values are ranges of immutable bytes: reading one allocates nothing, and they are safe for concurrent
// use. Read value.go and image.go, then path.go, pattern.go and key.go; diff.go compares two images by meaning.
package item
