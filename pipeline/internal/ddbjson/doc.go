// Package ddbjson scans DynamoDB's JSON. It knows bytes and indexes: values and images are made of them in pipeline/item.
//
// A Scanner checks a document once and indexes its items. What it passed is then walked without checks, by the
// functions of read.go. Read scan.go, scan_container.go and scan_value.go, then attrs.go; scan_twin.go and
// scan_shape.go predict from the record before, and nothing but speed depends on them.
package ddbjson
