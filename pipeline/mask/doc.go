// Package mask hides sensitive attributes: in what people are shown, and from sinks that are not meant to have them.
//
// Read mask.go, then sight.go, which follows the patterns through an item.
package mask
