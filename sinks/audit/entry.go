package audit

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Kind is what an entry is.
type Kind string

// The kinds of entries.
const (
	Row          Kind = "row"          // a row of a view
	Guard        Kind = "guard"        // the row that an item claims, for a view whose rows are guarded by item
	Claim        Kind = "claim"        // the claim of an item on a row, which has the row or waits, with what it would give the row
	Seat         Kind = "seat"         // which item has a claimed row, by the claims on it
	Contribution Kind = "contribution" // what an item counts for in an aggregate, or which rows it has in a view with for_each
	Group        Kind = "group"        // a row of an aggregate, with its shard
	Document     Kind = "document"     // a document of a search sink
)

// Digest identifies the contents of an entry. Equal contents have equal digests, on every machine and in every version
// of the program, so that a saved one can be compared.
type Digest [16]byte

// Entry is one entry of a sink: what the sink holds, or should hold, at one place. An entry that is not compared, such as
// a tombstone, is none.
type Entry struct {
	Kind Kind
	// Place is unique within the sink and the kind: the state.Row of a row, a seat or a group, the item's key of a guard or a
	// contribution. The place of a claim is made of both, that of a document of its index, its routing and its id.
	Place   string
	Item    item.Key       // the item that the entry belongs to; "" for a group, and if the store does not tell
	Version record.Version // of the change that wrote the entry; zero for an expected entry
	// Digest covers the item and the contents, in a canonical form. What is no function of the item is left out: _tw, and
	// columns with {@time}, {@version}, {@seq} or {@op}.
	Digest Digest
	// Claimed marks an expected row or seat that several items may claim. It is expected of the smallest key among the items that
	// claim the place. With on_collision last the latest claim has the row, and Look decides.
	Claimed bool
	// Share marks what one contribution adds to a group, as Stored yields it. The digests of all shares of a place add up
	// (AddDigests) to the digest of the group that should be there. Shares that add up to the zero Digest need no group.
	Share bool
}
