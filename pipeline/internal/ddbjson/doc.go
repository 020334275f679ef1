// Package ddbjson checks and walks DynamoDB JSON. It works on bytes and indexes; package item makes values and images
// from them.
//
// A [Scanner] checks an item once and returns its index: one [Attr] per attribute. The functions of walk.go then walk
// the same bytes without checks.
//
// [Scanner.Item] calls members for the item, content for each value and nestedMap for each map inside the item. Read
// scan.go, scan_container.go and scan_value.go, then attrs.go. The predictions from earlier input are in
// previous_image.go, previous_map.go and page_stats.go; only speed and memory depend on them.
package ddbjson
