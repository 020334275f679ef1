package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// A listing answers for shards that it does not have, and so does no listing.
func TestListing_Shards(t *testing.T) {
	l := newListing(shardreader.Enabled, []shardreader.Shard{
		{ID: "a", Parent: "gone", First: "10", Last: "19"},
		{ID: "b", Parent: "a", First: "20"},
		{ID: "c", Parent: "a", First: "19"},
		{ID: "d", Parent: "b"},
	})
	var none *listing
	for shard, parent := range map[string]string{"a": "gone", "b": "a", "d": "b", "gone": "", "": ""} {
		if got := l.parent(shard); got != parent || none.parent(shard) != "" || none.has(shard) {
			t.Errorf("parent of %q is %q, want %q", shard, got, parent)
		}
	}
	if got := l.children["a"]; len(got) != 2 || got[0].ID != "b" || got[1].ID != "c" {
		t.Errorf("children of a: %v", got)
	}
	for shard, above := range map[string]bool{"a": true, "b": true, "c": false, "d": true} {
		if l.aboveParent(l.shard(shard)) != above {
			t.Errorf("%s starts above its parent's last record: %v, want %v", shard, !above, above)
		}
	}
	marked := map[string]bool{}
	l.markAncestors("d", marked)
	if len(marked) != 3 || !marked["b"] || !marked["a"] || !marked["gone"] {
		t.Errorf("ancestors of d: %v", marked)
	}
}

// asker requests listings, and notes their results.
type asker struct {
	unwanted bool
	got      []string
}

func (a *asker) wanted() bool { return !a.unwanted }

func (a *asker) listed(l *listing, err error) {
	if err != nil {
		a.got = append(a.got, err.Error())
		return
	}
	var ids []string
	for _, s := range l.shards {
		ids = append(ids, s.ID)
	}
	a.got = append(a.got, strings.Join(ids, " "))
}

// listerRig answers DescribeStream calls by hand.
type listerRig struct {
	*testing.T
	*Coordinator
}

func newListerRig(t *testing.T) listerRig {
	c, err := New(Options{ID: "a", Sources: []Source{{Table: "shop"}}})
	if err != nil {
		t.Fatal(err)
	}
	return listerRig{t, c}
}

// next is the page that is requested by the only call that waits.
func (r listerRig) next() (after string, done func(shardreader.StreamDescription, error)) {
	r.Helper()
	q := r.quota.queue
	if len(q) != 1 || !q[0].wanted() {
		r.Fatalf("%d calls wait, want one", len(q))
	}
	r.quota.queue = nil
	return q[0].query.After, q[0].done
}

// page answers it.
func (r listerRig) page(want, after string, shards ...string) {
	r.Helper()
	got, done := r.next()
	if got != want {
		r.Errorf("page %q is requested, want %q", got, want)
	}
	var d shardreader.StreamDescription
	d.After = after
	for _, s := range shards {
		d.Shards = append(d.Shards, shardreader.Shard{ID: s})
	}
	done(d, nil)
}

// Those that request a listing before it begins share it. One that is requested later begins later: what was
// listed before the request is not its answer.
func TestStreamLister_SharesAListing(t *testing.T) {
	r := newListerRig(t)
	var first, second, late asker
	r.list("s", first.wanted, first.listed)
	r.page("", "a", "a")
	r.list("s", second.wanted, second.listed)
	r.list("s", late.wanted, late.listed)
	r.page("a", "", "b")
	if !slices.Equal(first.got, []string{"a b"}) || second.got != nil {
		t.Fatalf("listed %v and %v", first.got, second.got)
	}
	r.page("", "", "a", "b", "c")
	if !slices.Equal(second.got, []string{"a b c"}) || !slices.Equal(late.got, second.got) {
		t.Errorf("listed %v and %v", second.got, late.got)
	}
	if len(r.quota.queue) > 0 || r.listers["s"].running {
		t.Error("a listing runs that was not requested")
	}
}

// A listing that is not needed any more ends; a listing that was requested meanwhile begins.
func TestStreamLister_EndsWhenItIsUnwanted(t *testing.T) {
	r := newListerRig(t)
	var first, second asker
	r.list("s", first.wanted, first.listed)
	r.page("", "a", "a")
	r.list("s", second.wanted, second.listed)
	first.unwanted = true
	r.reserveDescribe()
	r.page("", "", "b")
	if first.got != nil || !slices.Equal(second.got, []string{"b"}) {
		t.Errorf("listed %v and %v", first.got, second.got)
	}
}

// A transient error is tried again, with pauses, a few times; any other ends the listing, and so does a page that
// was listed before.
func TestStreamLister_Errors(t *testing.T) {
	busy := pipeline.Transient(errors.New("busy"))
	for name, tt := range map[string]struct {
		errs []error
		want string
	}{
		"denied":    {[]error{errors.New("denied")}, "denied"},
		"transient": {slices.Repeat([]error{busy}, listRetries), "a"},
		"too often": {slices.Repeat([]error{busy}, listRetries+1), busy.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			r := newListerRig(t)
			var a asker
			r.list("s", a.wanted, a.listed)
			for _, err := range tt.errs {
				_, done := r.next()
				done(shardreader.StreamDescription{}, err)
				r.now += time.Minute
				r.runTimers()
			}
			if a.got == nil {
				r.page("", "", "a")
			}
			if !slices.Equal(a.got, []string{tt.want}) {
				t.Errorf("listed %q, want %q", a.got, tt.want)
			}
		})
	}
	t.Run("the same page again", func(t *testing.T) {
		r := newListerRig(t)
		var a asker
		r.list("s", a.wanted, a.listed)
		r.page("", "a", "a")
		r.page("a", "b", "b")
		r.page("b", "a", "c")
		if len(a.got) != 1 || !strings.Contains(a.got[0], "twice") {
			t.Errorf("listed %q", a.got)
		}
	})
}

// A shard is as young as the last listing that lacked it is old. One of the first listing may be of any age.
func TestStreamLister_Lacked(t *testing.T) {
	r := newListerRig(t)
	var a asker
	for i, listed := range [][]string{{"a"}, {"a", "b"}, {"b", "c"}} {
		r.now = time.Duration(i+1) * time.Hour
		r.list("s", a.wanted, a.listed)
		r.now += time.Minute
		r.page("", "", listed...)
	}
	want := map[string]time.Duration{"b": time.Hour, "c": 2 * time.Hour}
	if got := r.listers["s"].lacked; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("lacked %v, want %v", got, want)
	}
}
