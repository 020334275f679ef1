package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Causes of a listing. Shards are listed as "child<parent"; leases stand as "shard<parent=checkpoint", where a
// checkpoint is new, some or end.
func TestPlan(t *testing.T) {
	tests := []struct {
		name     string
		listed   string
		leases   string
		begin    bool
		latest   bool
		disabled bool
		want     string // +created, ?of unknown extent, -removed
	}{
		{name: "a fresh start is at the oldest", listed: "b<a c<b d<b", begin: true, want: "+b"},
		{name: "a fresh start of several lineages", listed: "a b x<w y<x", begin: true, want: "+a +b +x"},
		{name: "a fresh start at the newest", listed: "b<a c<b d<b e<c", begin: true, latest: true, want: "+d@LATEST +e@LATEST"},
		{name: "a fresh start that was interrupted", listed: "a b<a x y<x", leases: "a=some", begin: true, want: "+x"},
		{name: "an interrupted start at the newest", listed: "a b<a c<a d<b", leases: "d<b=some", begin: true, latest: true, want: "+c@LATEST"},
		{name: "an interrupted start with a shard that is listed no more", listed: "b<a d<c x", leases: "a=new", begin: true, want: "+x ?d"},
		{name: "the same at the newest", listed: "b<a d<c e<d x", leases: "a=new", begin: true, latest: true, want: "+x@LATEST ?e"},
		{name: "children wait for their parent", listed: "a b<a", leases: "a=some", want: ""},
		{name: "a child of a parent that ended", listed: "a b<a c<a", leases: "a=end b<a=new", want: "+c"},
		{name: "a child that came late, the parent's lease is gone", listed: "a b<a c<a", leases: "b<a=some", want: "+c"},
		{name: "a parent below a lease is never made", listed: "a b<a c<b", leases: "c<b=some", want: ""},
		{name: "nor by what the lease alone says", listed: "a b<a", leases: "c<b=some", want: ""},
		{name: "the parent of a shard is gone and nobody read it", listed: "c<b d<c", leases: "x=some", want: "?c"},
		{name: "the parent of a shard is gone and was read", listed: "c<b", leases: "b<a=end", want: "+c"},
		{name: "the parent of a shard is gone and is being read", listed: "c<b", leases: "b<a=some", want: ""},
		{name: "ended, and its children moved on", listed: "a b<a c<a", leases: "a=end b<a=some c<a=end", want: "-a"},
		{name: "ended, and one child has not begun", listed: "a b<a c<a", leases: "a=end b<a=some c<a=new", want: ""},
		{name: "ended, its child's lease is gone below another", listed: "a b<a c<b", leases: "a=end c<b=some", want: "-a"},
		{name: "ended without children, and still listed", listed: "a", leases: "a=end", want: ""},
		{name: "ended without children, and listed no more", listed: "b", leases: "a=end b=some", want: "-a"},
		{name: "disabled and read to its end", listed: "a b<a", leases: "a=end b<a=end", disabled: true, want: "-a drained"},
		{name: "disabled, with a tail", listed: "a b<a", leases: "a=end b<a=some", disabled: true, want: "-a"},
		{name: "disabled, and a lease of a shard that is listed no more", listed: "b<a", leases: "a=some b<a=end", disabled: true, want: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := New(Options{ID: "w", Sources: []Source{{Table: "shop"}}})
			if err != nil {
				t.Fatal(err)
			}
			c.now = time.Hour
			for f := range strings.FieldsSeq(tt.leases) {
				shard, at, _ := strings.Cut(f, "=")
				l := leases.Lease{Stream: "arn"}
				var parent string
				if l.Shard, parent, _ = strings.Cut(shard, "<"); parent != "" {
					l.Parents = []string{parent}
				}
				l.Checkpoint = map[string]leases.Checkpoint{"some": leases.After("7"), "end": {Kind: leases.ShardEnd}}[at]
				c.addRow(l).unchangedSince = 0
			}
			var shards []shardreader.Shard
			for f := range strings.FieldsSeq(tt.listed) {
				id, parent, _ := strings.Cut(f, "<")
				shards = append(shards, shardreader.Shard{ID: id, Parent: parent})
			}
			status := shardreader.Enabled
			if tt.disabled {
				status = shardreader.Disabled
			}
			p := c.planLeases("arn", newListing(status, shards), tt.begin, Start{Latest: tt.latest})
			var got []string
			for _, l := range p.create {
				s := "+" + l.Shard
				if l.Checkpoint.Kind != leases.TrimHorizon {
					s += "@" + l.Checkpoint.String()
				}
				got = append(got, s)
			}
			for _, l := range p.createAfterGap {
				got = append(got, "?"+l.Shard)
			}
			for _, r := range p.remove {
				got = append(got, "-"+r.Shard)
			}
			if p.fullyRead {
				got = append(got, "drained")
			}
			if s := fmt.Sprint(strings.Join(got, " ")); s != tt.want {
				t.Errorf("plan is %q, want %q", s, tt.want)
			}
		})
	}
}
