package simulation

import (
	"fmt"
	"reflect"
	"strings"
)

// Tally counts the events in runs, so that a test can check whether the seeds reached the difficult cases.
type Tally struct {
	Steps, Delivered, Children, Followed, Undecodable int // steps of machines; records, those of children, of a stream that replaced another, of a wrong shape
	Repeated, Superseded, Revoked, Paused, TakenBack  int // writes that a sink already had, writes that lost to a newer one; partitions
	Crashes, Pauses, Stops, Killed, Joins, Deploys    int // of processes
	StoppedCleanly                                    int
	Disabled, Dropped, TrimmedUnread, Expired         int // streams, shards, trims that lost something, iterators refused for their age
	Begun, Took, Replaced, Wanted, HandedOver         int // leases: that streams begin with, free ones taken, taken from a dead consumer, requested, released
	Ended, Deleted, Conflicts, Drains                 int
	Gaps, UnknownGaps, StrictGaps, BehindGap          int // notes of gaps; records delivered behind one
	Between, Unstreamed                               int // notes of gaps between two streams; writes while there was none
	StoppedAtGap                                      int // worlds in which a shard was stopped permanently
	ZombieWrites, ZombieSwaps                         int // writes of processes that are gone or frozen, conditional ones that a frozen process lost
	Describes                                         int
	AtEnd, AtEndStopped, AtEndOfOthers                int // words of workers that all is read: where shards stopped, while others read some

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
