package handoff

// Rules lists the protections of a handoff that a world leaves out. The zero Rules leaves out none. H is the time from
// which all processes write to the added sinks. Before H, they acknowledge records without writing to these sinks. The
// floor is a time not before H. Changes from before the floor are not written.
type Rules struct {
	Unconditional bool // a backfilled item is written even if the sinks have a newer version
	Head          bool // a backfilled item has the version of the newest change of the stream, not of a snapshot

	BeforeH         bool // the snapshot is taken before H
	NoWait          bool // before H, one process writes to the added sinks, while others acknowledge only
	NoFloor         bool // changes from before the floor are written
	NoSlack         bool // floor and snapshot are at H, although the times of records are inexact
	StampsUnordered bool // a later record of an item may have an earlier time. Only DynamoDB prevents this

	StaleScan       bool // the scan returns states of items that are up to 20 seconds old
	LayersAtZero    bool // the changes of all layers have the version of the full export
	LayersAsItems   bool // the changes of a layer become backfilled items with old images: they lose their operation
	LayersNewImages bool // the changes of a layer have no old images: a sink that needs them dead-letters the changes
	LayersApart     bool // a layer begins only some time after the end of the previous layer

	Purged         bool // tombstones and empty guards are deleted while the backfill still writes
	NoTombstones   bool // the removal of an item that a sink has not seen is not written
	KeepsCounted   bool // an expired item keeps the contribution counted last, not that of its last image
	ClaimsFail     bool // a claim of the backfill that loses its row becomes a dead letter
	ChildFirst     bool // a shard is read before its parent is acknowledged
	Unsettled      bool // the sinks count as complete when the parts are written, although shards are unread
	OtherStream    bool // the backfill continues although the stream was disabled and enabled again
	SecondBackfill bool // after changes were lost, filled sinks are filled again

	Repair RepairRules // protections of audits and repairs that a RepairWorld leaves out
}

// RepairRules lists the protections of audits and repairs that a world leaves out.
type RepairRules struct {
	Unwaited    bool // the second look at a place does not wait for the consumers
	ReadOnce    bool // an item is not read again after its places
	Unread      bool // an item is not read again after its repair
	AnyStored   bool // a repair writes even if the stored content has changed
	AnyRevision bool // a repair of a group does not check that the stored revision is the one that it read
	SameVersion bool // a repair keeps the version, so that a write in flight does not notice the repair
	Newer       bool // a repaired entry has the version of the newest change of the stream
	Zero        bool // a repaired entry has the version of a snapshot
	Insists     bool // a repair that lost to a change writes anyway
	OtherBirth  bool // a repaired entry has another birth
	Guards      bool // guards are changed by hand, too
	Late        bool // changes from before the damage of a sink come late
}

// ofLayers reports whether the left-out protection concerns incremental exports, so that the world needs them.
func (r Rules) ofLayers() bool {
	return r.LayersAtZero || r.LayersAsItems || r.LayersNewImages || r.LayersApart
}

// slack is the maximum error of the times of records and of the clocks of processes.
const slack = 3 // seconds: 2 for clocks, and 1 because the times of records are rounded down
