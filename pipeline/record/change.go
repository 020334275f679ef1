package record

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Operation is the kind of a change.
type Operation uint8

// The operations. INSERT, MODIFY and REMOVE are the API's (Streams API reference, Record: eventName).
const (
	Unknown Operation = iota // an event name that is not documented; Change.EventName has it
	Insert
	Modify
	Remove
	Snapshot // a backfilled state of the item; it is older than every write in the stream, and raises no events
)

// String returns INSERT, MODIFY, REMOVE, SNAPSHOT or UNKNOWN.
func (o Operation) String() string {
	if int(o) < len(operationNames) {
		return operationNames[o]
	}
	return "UNKNOWN"
}

var operationNames = [...]string{"UNKNOWN", "INSERT", "MODIFY", "REMOVE", "SNAPSHOT"}

// ViewType is the StreamViewType: the images that records have.
type ViewType uint8

// The view types (Streams API reference, StreamRecord: StreamViewType).
const (
	ViewUnknown ViewType = iota
	KeysOnly
	NewImage
	OldImage
	NewAndOldImages
)

// String returns KEYS_ONLY, NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES or UNKNOWN.
func (t ViewType) String() string {
	if int(t) < len(viewTypeNames) {
		return viewTypeNames[t]
	}
	return "UNKNOWN"
}

// ViewTypeOf returns the view type with this name, or ViewUnknown if there is none.
func ViewTypeOf(name string) ViewType {
	return ViewType(max(0, slices.Index(viewTypeNames[:], name)))
}

var viewTypeNames = [...]string{"UNKNOWN", "KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"}

// HasOld reports whether records have the old image.
func (t ViewType) HasOld() bool { return t == OldImage || t == NewAndOldImages }

// HasNew reports whether records have the new image.
func (t ViewType) HasNew() bool { return t == NewImage || t == NewAndOldImages }

// Identity is the userIdentity of a record, which names who made the change. For a TTL delete it is {Service,
// dynamodb.amazonaws.com}. Most records have no userIdentity.
type Identity struct {
	Type, PrincipalID string
}

// ttlIdentity is the identity of a TTL delete (Developer Guide, "DynamoDB Streams and Time to Live").
var ttlIdentity = Identity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}

// Change is one decoded record of a stream. It is immutable and safe for concurrent use. Its strings and images are
// ranges of its page and keep the page in memory. Clone a change to keep it longer than its batch.
type Change struct {
	Op        Operation
	ViewType  ViewType // from the record; ViewUnknown if the record names none
	Backfill  bool     // the change comes from a snapshot; Raw is then a line or an item, not a record
	Index     int32    // position of the record in its page, 0-based
	EventName string   // as sent
	Key       item.Key // canonical
	Keys      item.Image
	Old, New  item.Image
	Version   Version
	Sequence  string    // sequence number as sent
	Time      time.Time // approximate creation time, UTC; zero if absent
	EventID   string
	StreamARN string
	Table     string
	Region    string
	Shard     string // "" if the source does not know it
	Identity  Identity
	SizeBytes int64  // SizeBytes as sent
	Raw       []byte // the record's JSON; see RecordJSON
}

// Removed reports whether the change removed the item. It is a REMOVE, or an unknown operation with an old image and
// without a new one. TTL deletes of DynamoDB Local have an unknown operation.
func (c *Change) Removed() bool {
	return c.Op == Remove || c.Op == Unknown && c.Old.Exists() && !c.New.Exists()
}

// Inserted reports whether the record says that the item did not exist before the change. The change is an INSERT, or
// an unknown operation without an old image in a stream whose records have old images.
func (c *Change) Inserted() bool {
	return c.Op == Insert || c.Op == Unknown && !c.Old.Exists() && c.ViewType.HasOld()
}

// FoundNoItem reports whether the item certainly did not exist before the change, so a sink has no output of it. If the
// sink receives no TTL deletes (noTTLDeletes), an INSERT does not prove that: the sink can still have output of an
// older item with the same key, which expired.
func (c *Change) FoundNoItem(noTTLDeletes bool) bool {
	return c.Op == Snapshot || c.Inserted() && !noTTLDeletes
}

// InsertedAndRemoved reports whether the item was inserted and removed within the time of one incremental export. The
// line of such an item has no images, and becomes a REMOVE without images.
func (c *Change) InsertedAndRemoved() bool {
	return c.Op == Remove && !c.Old.Exists() && c.ViewType.HasOld()
}

// maxLayerDigits is the maximum length of a layer's number. Sequence numbers of a stream have at least 21 digits.
const maxLayerDigits = 6

// FromSnapshot reports whether the change comes from a snapshot. A dead letter does not keep Backfill, so the sequence
// number decides: that of a snapshot is the number of a layer, which is one export in a chain (see [SnapshotOptions]).
func (c *Change) FromSnapshot() bool { return c.Backfill || len(c.Sequence) <= maxLayerDigits }

// TTLDelete reports whether DynamoDB's TTL process removed the item in this Region.
func (c *Change) TTLDelete() bool {
	return c.Op == Remove && c.Identity == ttlIdentity
}
