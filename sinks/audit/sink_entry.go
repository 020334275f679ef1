package audit

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Kind is the kind of an entry, such as Row.
type Kind string

// The kinds of entries.
const (
	Row   Kind = "row"   // a row of a view
	Guard Kind = "guard" // the row that an item claims, for a view whose rows are guarded by item
	Claim Kind = "claim" // the claim of an item on a row, with its columns; it owns the row or waits
	Owner Kind = "seat"  // the owner of a claimed row, according to the claims on it; stored names say seat
	// Contribution is the contribution of an item to an aggregate, or the rows of an item in a view with for_each.
	Contribution Kind = "contribution"
	Group        Kind = "group"    // a row of an aggregate, with its shard
	Document     Kind = "document" // a document of a search sink
)

// Digest identifies the contents of an entry. Equal contents have equal digests, on every machine and in every version
// of the program. So a saved digest can be compared later.
type Digest [16]byte

// Entry is one entry of a sink at one place. It is either stored, or required: the sink should have it. Tombstones and
// other things that are not compared are not entries.
type Entry struct {
	Kind Kind
	// Place identifies the entry within its sink and kind. For a row, an owner or a group it is the state.Row. For a
	// guard or a contribution it is the item's key. For a claim it is the row and the item's key. For a document it is
	// the index, the routing and the id.
	Place   string
	Item    item.Key       // the item that the entry belongs to; "" for a group, and if the store does not have the key
	Version record.Version // version of the change that wrote the entry; zero for a required entry
	// Digest covers the item and the contents, in a canonical form. It leaves out the parts that do not depend on the
	// item alone: the field _tw, and columns with {@time}, {@version}, {@seq} or {@op}.
	Digest Digest
	// Claimed marks a required row or owner that several items may claim. Of the items that claim the row, the one with
	// the smallest key should own it, unless LatestOwns is set.
	Claimed bool
	// LatestOwns marks a Claimed entry of a sink with on_collision last: the latest claim should own the row, and only
	// Compare finds out which item that is.
	LatestOwns bool
	// Share marks an entry that is only a part of a group: the part that one contribution adds. The digests of all
	// parts of a group, added up by AddDigests, give the digest of the required group. If the sum is the zero Digest,
	// the group should not exist.
	Share bool
}
