package record

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Operation is what happened to the item.
type Operation uint8

// The operations. INSERT, MODIFY and REMOVE are the API's (Streams API reference,
// Record: eventName).
const (
	Unknown Operation = iota // an event name without documentation; see Change.EventName
	Insert
	Modify
	Remove
	Snapshot // a backfilled state of the item: older than every write of its stream, raises no events
)

// String is INSERT, MODIFY, REMOVE, SNAPSHOT or UNKNOWN.
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

// String is KEYS_ONLY, NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES or UNKNOWN.
func (t ViewType) String() string {
	if int(t) < len(viewTypeNames) {
		return viewTypeNames[t]
	}
	return "UNKNOWN"
}

// ViewTypeOf returns the view type of a name; ViewUnknown for any other text.
func ViewTypeOf(name string) ViewType {
	return ViewType(max(0, slices.Index(viewTypeNames[:], name)))
}

var viewTypeNames = [...]string{"UNKNOWN", "KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"}

// HasOld reports whether records have the old image.
func (t ViewType) HasOld() bool { return t == OldImage || t == NewAndOldImages }

// HasNew reports whether records have the new image.
func (t ViewType) HasNew() bool { return t == NewImage || t == NewAndOldImages }

// Identity is the userIdentity of a record, which says who made the change. For a TTL delete it is
// {Service, dynamodb.amazonaws.com}; most records have none.
type Identity struct {
	Type, PrincipalID string
}

// ttlIdentity is the identity of a TTL delete (Developer Guide, "DynamoDB Streams and Time to Live").
var ttlIdentity = Identity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}

// Change is one decoded record of a stream. It is immutable and safe for concurrent use. Its strings and images are ranges
// of its page and keep the page in memory. Clone a change to keep it longer than its batch.
type Change struct {
	Op        Operation
	ViewType  ViewType // from the record; ViewUnknown if it has none
	Backfill  bool     // from a snapshot: Raw is its line or its item, and no record
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
	SizeBytes int64  // SizeBytes of the record
	Raw       []byte // the record's JSON; see RecordJSON
}

// Removed reports whether the item is gone: a REMOVE, or an unknown operation with an old image and without a new one, as
// TTL deletes of DynamoDB Local are.
func (c *Change) Removed() bool {
	return c.Op == Remove || c.Op == Unknown && c.Old.Exists() && !c.New.Exists()
}

// Inserted reports whether the item did not exist before the change, by the record: an INSERT, or an unknown operation
// without an old image though the records of its stream have old images.
func (c *Change) Inserted() bool {
	return c.Op == Insert || c.Op == Unknown && !c.Old.Exists() && c.ViewType.HasOld()
}

// FoundNoItem reports whether the item certainly did not exist before the change, so that a sink has nothing of it. A sink
// that receives no TTL deletes does not know that of an INSERT: an item with the same key may have expired, and its output
// may be stored, or wait in dead letters.
func (c *Change) FoundNoItem(noTTLDeletes bool) bool {
	return c.Op == Snapshot || c.Inserted() && !noTTLDeletes
}

// CameAndWent reports whether the item existed only within the time of an incremental export, which shows it as a REMOVE
// without images.
func (c *Change) CameAndWent() bool {
	return c.Op == Remove && !c.Old.Exists() && c.ViewType.HasOld()
}

// maxLayerDigits is the length of the longest number of a layer. Sequence numbers of a stream have at least 21 digits.
const maxLayerDigits = 6

// FromSnapshot reports whether the change comes from a snapshot, also if it went through dead letters since then: its
// sequence number is that of a layer ([SnapshotOptions]).
func (c *Change) FromSnapshot() bool { return c.Backfill || len(c.Sequence) <= maxLayerDigits }

// TTLDelete reports whether DynamoDB's TTL process removed the item in this Region.
func (c *Change) TTLDelete() bool {
	return c.Op == Remove && c.Identity == ttlIdentity
}
