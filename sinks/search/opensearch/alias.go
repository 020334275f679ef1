package opensearch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
)

// The name that an application reads, and that the configuration says, is an alias.
// Behind it is one physical index with the documents and the tombstones; the alias
// has a filter that shows the documents alone. Requests that change documents name the
// alias too, and say that it must be one: an index that somebody deleted is never made
// by the server itself, without its mapping and without its alias.

// The ends of the names of physical indexes.
const (
	physicalEnd = ".tw1"
	hashedEnd   = ".twh1" // of a name that is too long for the other
	maxName     = 255     // bytes of an index name
)

// physical is the name of the index behind an alias: another one for each alias, since
// a hash stands for what is left out.
func physical(alias string) string {
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

// live is the filter that hides tombstones.
const live = `{"bool":{"must_not":{"term":{"_tw.deleted":true}}}}`

// alias is an alias of an index, as the server has it.
type alias struct {
	Filter json.RawMessage `json:"filter"`
	Writes bool            `json:"is_write_index"`
}

// hides tells whether tombstones do not show through the alias.
func (a alias) hides() bool {
	want, err := indexmap.Decode([]byte(live))
	if err != nil {
		return false
	}
	is, err := indexmap.Decode(a.Filter)
	return err == nil && canonicalJSON(is) == canonicalJSON(want)
}
