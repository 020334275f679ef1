package pipeline

import "time"

// Operation says what happened to the item.
type Operation uint8

const (
	Unknown Operation = iota // an event name that the stream's documentation does not know; see Change.EventName
	Insert
	Modify
	Remove
	Snapshot // a backfilled state of the item: below every write of its stream, raises no events
)

// String is INSERT, MODIFY, REMOVE, SNAPSHOT or UNKNOWN.
func (o Operation) String() string { return "" }

// ViewType is the StreamViewType: which images a record may hold.
type ViewType uint8

const (
	ViewUnknown ViewType = iota
	KeysOnly
	NewImage
	OldImage
	NewAndOldImages
)

func (t ViewType) String() string { return "" } // KEYS_ONLY, ...
func (t ViewType) HasOld() bool   { return false }
func (t ViewType) HasNew() bool   { return false }

// Identity is who made the change, where the record says so: for a TTL delete
// {Service, dynamodb.amazonaws.com}.
type Identity struct {
	Type, PrincipalID string
}

// Change is one record of a stream, decoded. It is immutable and safe for
// concurrent use; its strings and images are ranges of the page it came in,
// which it keeps alive. Clone it to keep it beyond its batch.
type Change struct {
	Op        Operation
	EventName string // as sent
	Key       Key    // canonical
	Keys      Image
	Old, New  Image
	Version   Version
	Sequence  string    // sequence number as sent
	Time      time.Time // approximate creation time, UTC; zero where absent
	EventID   string
	StreamARN string
	Table     string
	Region    string
	Shard     string   // "" where the source does not know
	ViewType  ViewType // from the record; ViewUnknown where it does not say
	Identity  Identity
	SizeBytes int64  // as the record says
	Raw       []byte // the record as it came, JSON
	Index     int    // position of the record in its page, 0-based
}

// Removed tells whether the item is gone: REMOVE, or an unknown operation that
// shows an old image and no new one.
func (c *Change) Removed() bool { panic("decode") }

// TTLDelete tells whether DynamoDB's TTL process removed the item in this Region.
func (c *Change) TTLDelete() bool { panic("decode") }

// Clone copies the change's bytes, so that its page can be freed.
func (c *Change) Clone() *Change { panic("decode") }
