package record

import (
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Operation says what happened to the item.
type Operation uint8

// The operations. INSERT, MODIFY and REMOVE are the API's (Streams API reference,
// Record: eventName).
const (
	Unknown Operation = iota // an event name that the stream's documentation does not know; see Change.EventName
	Insert
	Modify
	Remove
	Snapshot // a backfilled state of the item: below every write of its stream, raises no events
)

// String is INSERT, MODIFY, REMOVE, SNAPSHOT or UNKNOWN.
func (o Operation) String() string {
	switch o {
	case Insert:
		return "INSERT"
	case Modify:
		return "MODIFY"
	case Remove:
		return "REMOVE"
	case Snapshot:
		return "SNAPSHOT"
	}
	return "UNKNOWN"
}

// ViewType is the StreamViewType: which images a record may hold.
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
	switch t {
	case KeysOnly:
		return "KEYS_ONLY"
	case NewImage:
		return "NEW_IMAGE"
	case OldImage:
		return "OLD_IMAGE"
	case NewAndOldImages:
		return "NEW_AND_OLD_IMAGES"
	}
	return "UNKNOWN"
}

// HasOld tells whether records show the old image.
func (t ViewType) HasOld() bool { return t == OldImage || t == NewAndOldImages }

// HasNew tells whether records show the new image.
func (t ViewType) HasNew() bool { return t == NewImage || t == NewAndOldImages }

// Identity is who made the change, where the record says so: for a TTL delete
// {Service, dynamodb.amazonaws.com}.
type Identity struct {
	Type, PrincipalID string
}

// ttlIdentity is who a TTL delete is made by (Developer Guide, "DynamoDB Streams
// and Time to Live").
var ttlIdentity = Identity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}

// Change is one record of a stream, decoded. It is immutable and safe for
// concurrent use; its strings and images are ranges of the page it came in,
// which it keeps alive. Clone it to keep it beyond its batch.
type Change struct {
	Op        Operation
	ViewType  ViewType // from the record; ViewUnknown where it does not say
	Index     int32    // position of the record in its page, 0-based
	EventName string   // as sent
	Key       item.Key // canonical
	Keys      item.Image
	Old, New  item.Image
	Version   Version
	Sequence  string    // sequence number as sent
	Time      time.Time // approximate creation time, UTC; zero where absent
	EventID   string
	StreamARN string
	Table     string
	Region    string
	Shard     string // "" where the source does not know
	Identity  Identity
	SizeBytes int64  // as the record says
	Raw       []byte // the record as it came, JSON
}

// Removed tells whether the item is gone: REMOVE, or an unknown operation that
// shows an old image and no new one, as DynamoDB Local's TTL deletes do.
func (c *Change) Removed() bool {
	return c.Op == Remove || c.Op == Unknown && c.Old.Exists() && !c.New.Exists()
}

// TTLDelete tells whether DynamoDB's TTL process removed the item in this Region.
func (c *Change) TTLDelete() bool {
	return c.Op == Remove && c.Identity == ttlIdentity
}
