// Package replay holds the tests of `tablewake replay` as its users run it: the
// real binary over saved records, and what `tablewake query` finds afterwards,
// against an oracle that shares no code with the product. The oracle reads records
// by encoding/json and counts by math/big; nothing of this module is imported.
package replay
