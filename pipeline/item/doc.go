// Package item has the types of a table's items: an Image in a record, its Values, and their paths, patterns and keys.
//
// Images and values are ranges of immutable bytes. So most getters allocate nothing, and all getters are safe for
// concurrent use. A decoder makes images with [Indexed]; [Parse] and [ParseValue] read JSON.
//
// Read attribute_value.go and image.go, then attribute_path.go, path_pattern.go and canonical_key.go.
// image_difference.go compares two images by meaning, with the iterators of differing_pairs.go. path_comparison.go
// compares two images at the paths that match patterns.
package item
