package view_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// A row guards itself if its key can be decoded to the item's key. Otherwise the item guards the row.
func TestGuard(t *testing.T) {
	const (
		self      = ""
		many      = "several items may have this key"
		run       = "parts of this key could run together, so several items may have it"
		missing   = "not every key attribute of the item is in this key, so several items may have it"
		tables    = "items of several tables may have this key"
		oneTable  = false
		allTables = true
	)
	for _, c := range []struct {
		pk, sk string
		tables bool // the pipeline reads several tables
		want   string
	}{
		{"{@key}", "", oneTable, self},
		{"{@key}", "", allTables, self},
		{"STATUS#{Status}", "{@key}", oneTable, self},
		{"STATUS#{Status}", "{CreatedAt}#{@key}", oneTable, self},
		{"{Status}#{Email}#{@key}", "", oneTable, self}, // {@key} can be cut off, whatever text is before it
		{"{Status}#{Email}", "{@key}", oneTable, self},
		{"{Status}{@key}", "", oneTable, run},

		{"{PK|esc}#{SK|esc}", "", oneTable, self},
		{"{PK|esc}", "{SK|esc}", oneTable, self},
		{"{Status}", "{SK|esc}/{PK|esc}", oneTable, self},
		{"{PK}", "{SK}", oneTable, self},
		{"{PK|esc}", `{["SK"]}`, oneTable, self},
		{"{PK|esc}", "{SK|esc}", allTables, tables},
		{"{PK|esc}{Status}", "{SK|esc}", oneTable, run},
		{"{PK|esc}#{Status}#{Email}", "{SK|esc}", oneTable, run},
		{"{PK|esc}", "USER", oneTable, missing},
		{"{PK|esc}", "{SK|lower}", oneTable, missing},
		{"{PK|esc}", "{Address.SK|esc}", oneTable, missing},
		{"{Email|esc}", "", oneTable, missing},

		{"EMAIL#{Email|lower}", "USER", oneTable, many},
		{"{PK}#{SK}", "", oneTable, run},
		{"{Address.PK|esc}", "{Address.SK|esc}", oneTable, many},
		{"{PK|lower|esc}", "{SK|hash}", oneTable, many},
		{"{@key|hash}", "", oneTable, many},
		{"ALL", "", oneTable, many},
	} {
		o := byStatus(t, nil)
		o.PK, o.SK = attribute(t, "PK="+c.pk), view.Attribute{}
		if c.sk != "" {
			o.SK = attribute(t, "SK="+c.sk)
		}
		it := itemOf("Type=Order", "Status=paid", "Email=e", "CreatedAt=c")
		it["Address"] = sinktest.Attr{"M": itemOf()}
		page := record.NewDecoder(record.DecoderOptions{TableInKey: c.tables}).DecodeLines(
			sinktest.Record{EventName: "INSERT", Keys: itemOf(), New: it, Sequence: "123456789012345678901"}.JSON())
		d := pipeline.Delivery{Change: &page.Changes[0]}
		s := newSink(t, o)
		if err := s.Plan(&d); err != nil {
			t.Errorf("{%s, %s}: %v", c.pk, c.sk, err)
			continue
		}
		g := s.GuardMode(d.Change)
		if _, claims := d.Ops[0].(*view.ClaimOp); g.ByItem != (c.want != self) || c.want != self && g.Why != c.want || claims != g.ByItem || g.Why == "" {
			t.Errorf("{%s, %s} several tables %t: guarded by item %t, because %q, planned as a claim %t; want %q",
				c.pk, c.sk, c.tables, g.ByItem, g.Why, claims, c.want)
		}
	}
}

// For some views only the first change shows whether rows guard themselves. New cannot check the store of such a view,
// so Write checks it.
func TestWriteNeedsAnItemStoreWhereItemsGuard(t *testing.T) {
	o := byStatus(t, &memory{})
	o.SK = attribute(t, "SK={Status|esc}")
	s := newSink(t, o)
	if err := s.Write(t.Context(), deliveries(t, s, life(t)...)); !pipeline.IsFatal(err) {
		t.Errorf("got %v, want a fatal error", err)
	}
}

func TestItemsGuardWithoutOldImages(t *testing.T) {
	o := byStatus(t, nil)
	o.SK = attribute(t, "SK=ORDER")
	if got := newSink(t, o).Requires(); got != (pipeline.Needs{New: true}) {
		t.Errorf("Requires: got %+v, want the new image alone", got)
	}
	o.PK, o.When = attribute(t, "PK=ALL"), nil
	o.Attributes = nil
	if got := newSink(t, o).Requires(); got != (pipeline.Needs{}) {
		t.Errorf("Requires without a placeholder: got %+v, want no image", got)
	}
	if !newSink(t, o).Guarded() || !newSink(t, o).KeepsKeyOrder() {
		t.Error("versions must decide")
	}
}

// The text of a collision error is for the dead letter, and the redacted text is for the log.
func TestCollisionErrorSaysWhatAndWhere(t *testing.T) {
	err := error(&view.CollisionError{View: "user_by_email", Row: `PK="EMAIL#a@b" SK="USER"`, Owner: "first", Source: "second"})
	const want = `view "user_by_email": the item first holds the row PK="EMAIL#a@b" SK="USER", which the item second claims too: ` +
		`it has the row once the other leaves it; change one of the two, or let on_collision say keep_first or last`
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	redacted, _ := errors.AsType[redact.Redacted](err)
	if got, want := redacted.Redacted(), `view "user_by_email": two items claim one row; the dead letter names them`; got != want {
		t.Errorf("for logs: got %s, want %s", got, want)
	}
	if _, again := pipeline.Retryable(err); again || pipeline.IsFatal(err) {
		t.Error("it is not permanent")
	}
	for at, want := range map[state.Row]bool{"": true, "a row of an element": false} { // with for_each, only dead_letter is accepted
		err := &view.CollisionError{View: "lines", Row: `PK="ORDER#7"`, Owner: "first", Source: "second", NotIdentified: true, RowKey: at}
		if strings.Contains(err.Error(), "on_collision") != want {
			t.Errorf("%v: on_collision is named, want %v", err, want)
		}
	}
}
