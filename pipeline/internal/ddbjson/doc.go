// Package ddbjson checks and walks DynamoDB JSON. It works on bytes and indexes. Package item makes values and images
// from these bytes and indexes.
//
// A [Scanner] checks an item once and returns the index of the item, which has one [Attr] per attribute. The functions
// of checked_json_walk.go then walk the same bytes without checks.
//
// [Scanner.Item] calls members for the item, readContent for each value, and nestedMap for each map inside the item.
// Read scanner.go, scanner_containers.go and scanner_values.go, then attribute_index.go. image_prediction.go,
// map_prediction.go and page_size_prediction.go predict input from earlier input. Only speed and memory depend on these
// predictions.
package ddbjson
