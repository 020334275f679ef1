package handoff

// Rules are the protections of a handoff that a world leaves out. The zero Rules leave out none.
//
// The times of a world: H is the last moment at which a process without the sink acknowledges. The floor is at least
// the slack after H, and the stream's changes made before the floor are dropped. The snapshot is taken at least the
// slack after the floor.
type Rules struct {
	Head            bool // a backfilled item has the version of the newest change of the stream when it was read, and not 0
	BeforeH         bool // the snapshot is taken before H
	NoFloor         bool // old changes that come back are written
	NoSlack         bool // floor and snapshot are at H, although the times of records are not exact
	LayersAtZero    bool // the changes of all layers have the version of the full export
	LayersAsItems   bool // the changes of a layer are backfilled items: they keep their old images, but not their operation
	LayersNewImages bool // the changes of a layer have no old images: a sink that needs them dead-letters the changes
	Purged          bool // tombstones and empty guards are deleted while the backfill still writes
	NoTombstones    bool // the removal of an item that a sink has not seen is not written
	KeepsCounted    bool // an expired item stays counted for what was counted before, and not for its last image
}

// Slack is how far the times of records and the clocks of processes may be off.
const slack = 3 // seconds: 2 for clocks, and 1 because the times of records are rounded down
