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
	KeepsCounted   bool // an expired item keeps its former contribution, and not that of its last image
	ClaimsFail     bool // a claim that loses its row to another is a failure of the backfill, too
	ChildFirst     bool // a shard is read before its parent is acknowledged
	Unsettled      bool // the sinks count as complete when the parts are written, and shards are unread
	OtherStream    bool // the backfill continues although the stream was disabled and enabled again
	SecondBackfill bool // after changes were lost, filled sinks are filled again

	Repair RepairRules // of a world that audits and repairs its sinks
}

// RepairRules are the protections of audit and repair that a world leaves out.
type RepairRules struct {
	Unwaited    bool // the second look at a place does not wait for the consumers
	ReadOnce    bool // an item is not read again after its places
	Unread      bool // an item is not read again after its repair
	AnyStored   bool // a repair writes whatever is stored by then
	AnyShares   bool // a repair of a contribution does not expect the shares that it read
	AnyRevision bool // a repair of a group does not expect the revision that it read
	SameVoid    bool // a repair leaves Void as it is, so that a write of the stream in flight does not notice it
	Newer       bool // what is repaired has the version of the newest change of the stream
	Zero        bool // what is repaired has the version of a snapshot
	Insists     bool // a repair that lost to a change writes all the same
	OtherBirth  bool // what is repaired has another birth
	Guards      bool // guards are changed by hand, too. An audit does not compare a claim that waits for a row that is as it should be
	Late        bool // changes made before what damaged a sink come late
}

// ofLayers reports whether the world needs incremental exports.
func (r Rules) ofLayers() bool {
	return r.LayersAtZero || r.LayersAsItems || r.LayersNewImages || r.LayersApart
}

// Slack is how far the times of records and the clocks of processes may be off.
const slack = 3 // seconds: 2 for clocks, and 1 because the times of records are rounded down
