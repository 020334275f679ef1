package opensearch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
)

// Applications and the configuration name an index by an alias. The alias points to one physical index, which holds the
// documents and the tombstones. The alias has a filter that shows only the documents. Requests that change documents
// also name the alias, and require that the name is an alias. Otherwise the server would recreate a deleted index by
// itself, without mapping and alias.

// The endings of the names of physical indexes.
const (
	physicalEnd = ".tw1"
	hashedEnd   = ".twh1" // ending of names that are too long for physicalEnd
	maxName     = 255     // maximum bytes of an index name
)

// physicalName returns the name of the index of an alias. Different aliases have different indexes. If a name is too
// long, it is cut, and a hash of the whole alias is added.
func physicalName(alias string) string {
	if len(alias)+len(physicalEnd) <= maxName {
		return alias + physicalEnd
	}
	sum := sha256.Sum256([]byte(alias))
	digest := hex.EncodeToString(sum[:])
	keep := maxName - len(hashedEnd) - len(digest) - 1
	for !utf8.RuneStart(alias[keep]) {
		keep--
	}
	return alias[:keep] + "-" + digest + hashedEnd
}

// liveFilter is the filter that hides tombstones.
const liveFilter = `{"bool":{"must_not":{"term":{"_tw.deleted":true}}}}`

// alias is an alias of an index in the server's form.
type alias struct {
	Filter json.RawMessage `json:"filter"`
	Writes bool            `json:"is_write_index"`
}

// hidesTombstones reports whether the alias has the filter liveFilter.
func (a alias) hidesTombstones() bool {
	want, err := indexmap.Decode([]byte(liveFilter))
	if err != nil {
		return false
	}
	filter, err := indexmap.Decode(a.Filter)
	return err == nil && canonicalJSON(filter) == canonicalJSON(want)
}
