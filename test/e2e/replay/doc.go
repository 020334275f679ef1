// Package replay tests `tablewake replay` as users run it. The tests run the real binary over saved records, and
// compare the results of `tablewake query` with an oracle that shares no code with the product. The oracle reads
// records with encoding/json and counts with math/big. It imports nothing of this module.
package replay
