package handoff

// Rules are the protections of a handoff that a world leaves out. The zero Rules leave out none.
//
// The times of a world: H is the last moment at which a process without the sink acknowledges. The floor is at least
// the slack after H, and the stream's changes made before the floor are dropped. The snapshot is taken at least the
// slack after the floor.
type Rules struct {
	Unconditional bool // a backfilled item is written whatever the sinks have of it
	Head          bool // a backfilled item has the version of the newest change of the stream when it was read, and not 0

	BeforeH         bool // the snapshot is taken before H
	NoWait          bool // a process that has the sinks writes to them up to H, while others acknowledge without them
	NoFloor         bool // old changes that come back are written
	NoSlack         bool // floor and snapshot are at H, although the times of records are not exact
	StampsUnordered bool // a later record of an item can bear an earlier time. This is DynamoDB's promise, and no code's

	StaleScan       bool // the scan reads items as they were up to 20 seconds before
	LayersAtZero    bool // the changes of all layers have the version of the full export
	LayersAsItems   bool // the changes of a layer are backfilled items: they keep their old images, but not their operation
	LayersNewImages bool // the changes of a layer have no old images: a sink that needs them dead-letters the changes
	LayersApart     bool // a layer begins later than the one before it ends

	Purged         bool // tombstones and empty guards are deleted while the backfill still writes
	NoTombstones   bool // the removal of an item that a sink has not seen is not written
	KeepsCounted   bool // an expired item stays counted for what was counted before, and not for its last image
	ClaimsFail     bool // a claim that loses its row to another is a failure of the backfill, too
	ChildFirst     bool // a shard is read before its parent is acknowledged
	Unsettled      bool // the sinks count as complete when the parts are written, and shards are unread
	OtherStream    bool // the backfill goes on although the stream was disabled and enabled again
	SecondBackfill bool // after changes were lost, filled sinks are filled again
}

// ofLayers reports whether the world needs incremental exports.
func (r Rules) ofLayers() bool {
	return r.LayersAtZero || r.LayersAsItems || r.LayersNewImages || r.LayersApart
}

// Slack is how far the times of records and the clocks of processes may be off.
const slack = 3 // seconds: 2 for clocks, and 1 because the times of records are rounded down
