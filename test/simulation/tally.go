package simulation

import (
	"fmt"
	"reflect"
	"strings"
)

// Tally counts the events in runs, so that a test can check whether the seeds reached the difficult cases.
type Tally struct {
	// Steps of machines. Delivered records: all of them, those of child shards, those of a stream that replaced another
	// stream, and undecodable ones.
	Steps, Delivered, Children, Followed, Undecodable int
	// Writes that a sink already had, and writes that lost to a newer one. Partitions that were revoked or paused, and
	// drops that took pages back.
	Repeated, Superseded, Revoked, Paused, TakenBack int
	// Events of processes.
	Crashes, Pauses, Stops, Killed, Joins, Deploys int
	StoppedCleanly                                 int
	// Disabled streams, dropped shards, trims that lost records, iterators that were refused for their age.
	Disabled, Dropped, TrimmedUnread, Expired int
	// Leases: created for a shard of an unread stream, taken while free, taken from another consumer, requested, handed
	// over.
	Begun, Took, Replaced, Wanted, HandedOver int
	Ended, Deleted, Conflicts, Drains         int
	// Notes of gaps, and records that were delivered after a gap.
	Gaps, UnknownGaps, StrictGaps, BehindGap int
	// Notes of gaps between two streams, and writes of a table while it had no stream.
	Between, Unstreamed int
	// Worlds in which a shard was stopped permanently.
	StoppedAtGap int
	// Writes to a sink by a process that was gone, paused, or without the lease. Changes of leases that a process lost
	// while it was paused, or soon after.
	ZombieWrites, ZombieSwaps int
	Describes                 int
	// Reports that everything is read: all of them, those with stopped shards, and those while other consumers had
	// shards.
	AtEnd, AtEndStopped, AtEndOfOthers int

	Troubles [troubles]int
}

// Add adds the counts of another run.
func (t *Tally) Add(o Tally) {
	a, b := reflect.ValueOf(t).Elem(), reflect.ValueOf(o)
	for i := range a.NumField() {
		if f := a.Field(i); f.Kind() == reflect.Int {
			f.SetInt(f.Int() + b.Field(i).Int())
		}
	}
	for i := range t.Troubles {
		t.Troubles[i] += o.Troubles[i]
	}
}

// Each calls f with the name and the value of every count.
func (t *Tally) Each(f func(name string, n int)) {
	v := reflect.ValueOf(t).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Int {
			f(v.Type().Field(i).Name, int(v.Field(i).Int()))
		}
	}
	for i, n := range t.Troubles {
		f(Trouble(i).String(), n)
	}
}

// String returns a line for each count.
func (t *Tally) String() string {
	var b strings.Builder
	t.Each(func(name string, n int) { fmt.Fprintf(&b, "%-16s %d\n", name, n) })
	return b.String()
}
