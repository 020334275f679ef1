package handoff

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// epoch is the time in the label of the stream, in Unix seconds. The times of a world are relative to it.
const epoch = 1767323045

// image is an item as Go data.
type image struct {
	Type, Status, Email string // "": the attribute is missing
	Total               int
	Lines               []line
}

type line struct {
	SKU string
	Qty int
}

// keyOf returns the partition key of an item. Its sort key is always "o".
func keyOf(item int) string { return "u" + strconv.Itoa(item) }

// attributes returns the image and its key in DynamoDB's form; nil if m is nil.
func (m *image) attributes(item int) sinktest.Item {
	if m == nil {
		return nil
	}
	text := func(s string) sinktest.Attr { return sinktest.Attr{"S": s} }
	number := func(n int) sinktest.Attr { return sinktest.Attr{"N": strconv.Itoa(n)} }
	it := keys(item)
	for name, v := range map[string]string{"Type": m.Type, "Status": m.Status, "Email": m.Email} {
		if v != "" {
			it[name] = text(v)
		}
	}
	it["Total"] = number(m.Total)
	var lines []sinktest.Attr
	for _, l := range m.Lines {
		lines = append(lines, sinktest.Attr{"M": sinktest.Item{"sku": text(l.SKU), "qty": number(l.Qty)}})
	}
	if lines != nil {
		it["Lines"] = sinktest.Attr{"L": lines}
	}
	return it
}

func keys(item int) sinktest.Item {
	return sinktest.Item{"PK": {"S": keyOf(item)}, "SK": {"S": "o"}}
}

// drawImage draws an image from few values, so that items collide and move.
func drawImage(r *rand.Rand) *image {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	m := &image{Type: pick("Order", "Order", "Order", "User"), Status: pick("paid", "paid", "shipped", ""), Email: pick("x", "x", "y", ""), Total: 1 + r.IntN(3)}
	for range r.IntN(3) {
		m.Lines = append(m.Lines, line{SKU: pick("a", "b"), Qty: 1 + r.IntN(3)})
	}
	return m
}

// write is one change of the table.
type write struct {
	item     int
	at       int64 // milliseconds
	stamp    int64 // the time in its record, in seconds
	old, new *image
	ttl      bool
	change   *record.Change
}

func (e write) String() string {
	kind := "MODIFY"
	switch {
	case e.ttl:
		kind = "REMOVE by TTL"
	case e.new == nil:
		kind = "REMOVE"
	case e.old == nil:
		kind = "INSERT"
	}
	return fmt.Sprintf("%s of %s at %.3f, stamped %d: %s -> %s", kind, keyOf(e.item), float64(e.at)/1000, e.stamp, e.old, e.new)
}

// String returns the image as one word; "-" if m is nil.
func (m *image) String() string {
	if m == nil {
		return "-"
	}
	return fmt.Sprintf("%s/%s/%s/%d%v", m.Type, m.Status, m.Email, m.Total, m.Lines)
}

// table is a table with the history of its writes.
type table struct {
	before []*image // the items when the stream began
	now    []*image
	writes []write
}

// state returns the state of an item at a time.
func (t *table) state(item int, at int64) *image {
	is := t.before[item]
	for i := range t.writes {
		if e := &t.writes[i]; e.item == item && e.at <= at {
			is = e.new
		}
	}
	return is
}

// lastWrite returns the last write of an item later than after and not later than to; nil if there is none.
func (t *table) lastWrite(item int, after, to int64) *write {
	var last *write
	for i := range t.writes {
		if e := &t.writes[i]; e.item == item && e.at > after && e.at <= to {
			last = e
		}
	}
	return last
}

// decode sets the change of a write: it decodes the record that the stream has of the write. n is the number of the
// write.
func (e *write) decode(n int, newImages bool) error {
	r := sinktest.Record{EventName: "MODIFY", Keys: keys(e.item), Old: e.old.attributes(e.item), New: e.new.attributes(e.item), TTL: e.ttl, Second: epoch + e.stamp, Sequence: sequence(n)}
	switch {
	case e.new == nil:
		r.EventName = "REMOVE"
	case e.old == nil:
		r.EventName = "INSERT"
	}
	if newImages {
		r.Old, r.ViewType = nil, "NEW_IMAGE"
	}
	c, err := onlyChange(record.NewDecoder(record.DecoderOptions{}).DecodeLines(r.JSON()))
	e.change = c
	return err
}

// sequence returns the sequence number of the n-th write. The numbers between two writes are free.
func sequence(n int) string { return fmt.Sprintf("1%020d", 1000*n) }

// onlyChange returns the only change of a page.
func onlyChange(p *record.Page) (*record.Change, error) {
	if len(p.Errors) > 0 {
		return nil, fmt.Errorf("a record of the world does not decode: %w", p.Errors[0])
	}
	if len(p.Changes) != 1 {
		return nil, fmt.Errorf("a record of the world decoded to %d changes", len(p.Changes))
	}
	return &p.Changes[0], nil
}
