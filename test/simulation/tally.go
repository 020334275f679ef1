package simulation

import (
	"fmt"
	"reflect"
	"strings"
)

// Tally counts what happened in runs, so that a test can tell whether the seeds went
// where it hurts.
type Tally struct {
	Steps, Delivered, Repeated, Superseded                             int
	Crashes, Pauses, Stops, Killed, Joins, Deploys                     int
	Disabled, Dropped, TrimmedUnread, Expired                          int
	Begun, Took, Replaced, HandedOver, Wanted, Ended, Deleted          int
	Conflicts, Gaps, UnknownGaps, TwoReaders, Describes                int
	Revoked, Drains, Paused, TakenBack, ReadOnBehindGap                int
	StoppedAtGap, ZombieWrites, ZombieSwaps, StoppedInTime, StrictGaps int
	Children, FollowedStream, ReadErrors, Undecodable, Balance         int

	Troubles [troubles]int
}

// Add adds what another run counted.
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

// Each calls f with the name and the count of all there is.
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

// String is a line for each.
func (t *Tally) String() string {
	var b strings.Builder
	t.Each(func(name string, n int) { fmt.Fprintf(&b, "%-16s %d\n", name, n) })
	return b.String()
}
