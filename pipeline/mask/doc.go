// Package mask hides sensitive attributes from people, and from sinks that must not have them.
//
// [New] makes a [Mask] from patterns. Each method returns a masked copy of its argument. Read mask.go, then
// mask_state.go, which matches the patterns with the paths of an item.
package mask
