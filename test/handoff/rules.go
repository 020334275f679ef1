package handoff

// Rules lists the protections of a handoff that a world leaves out. The zero Rules leaves out none.
type Rules struct {
	Unconditional bool // a backfilled item is written even if the sinks have a newer version
	Head          bool // a backfilled item has the version of the newest change of the stream when it was read, and not 0

	BeforeH         bool // the snapshot is taken before H
	NoWait          bool // a process that has the sinks writes to them up to H, while others acknowledge without them
	NoFloor         bool // old changes that are delivered again are written
	NoSlack         bool // floor and snapshot are at H, although the times of records are inexact
	StampsUnordered bool // a later record of an item can bear an earlier time. This is DynamoDB's promise, and no code's

	StaleScan       bool // the scan reads items in a state of up to 20 seconds before
	LayersAtZero    bool // the changes of all layers have the version of the full export
	LayersAsItems   bool // the changes of a layer are backfilled items: they keep their old images, but not their operation
	LayersNewImages bool // the changes of a layer have no old images: a sink that needs them dead-letters the changes
	LayersApart     bool // a layer begins later than the one before it ends

	Purged         bool // tombstones and empty guards are deleted while the backfill still writes
	NoTombstones   bool // the removal of an item that a sink has not seen is not written
	KeepsCounted   bool // an expired item keeps its former contribution, instead of that of its last image
	ClaimsFail     bool // a claim that loses its row also counts as a failure of the backfill
	ChildFirst     bool // a shard is read before its parent is acknowledged
	Unsettled      bool // the sinks count as complete when the parts are written, although shards are unread
	OtherStream    bool // the backfill continues although the stream was disabled and enabled again
	SecondBackfill bool // after changes were lost, filled sinks are filled again

	Repair RepairRules // of a world in which sinks are audited and repaired
}

// RepairRules lists the protections of audit and repair that a world leaves out.
type RepairRules struct {
	Unwaited    bool // the second look at a place does not wait for the consumers
	ReadOnce    bool // an item is not read again after its places
	Unread      bool // an item is not read again after its repair
	AnyStored   bool // a repair writes even if the stored content has changed
	AnyShares   bool // a repair of a contribution does not expect the shares that it read
	AnyRevision bool // a repair of a group does not expect the revision that it read
	SameVoid    bool // a repair leaves Void as it is, so that a write of the stream in flight does not notice it
	Newer       bool // a repaired entry has the version of the newest change of the stream
	Zero        bool // a repaired entry has the version of a snapshot
	Insists     bool // a repair that lost to a change writes anyway
	OtherBirth  bool // a repaired entry has another birth
	Guards      bool // guards are changed by hand, too. An audit does not compare a claim that waits for a row that is as it should be
	Late        bool // changes from before the damage of a sink come late
}

// ofLayers reports whether the world needs incremental exports.
func (r Rules) ofLayers() bool {
	return r.LayersAtZero || r.LayersAsItems || r.LayersNewImages || r.LayersApart
}

// Slack is the maximum error of the times of records and the clocks of processes.
const slack = 3 // seconds: 2 for clocks, and 1 because the times of records are rounded down
